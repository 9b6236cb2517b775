#include "workers/tools/corpus/documents.hpp"

#include <algorithm>
#include <array>
#include <boost/asio.hpp>
#include <exception>
#include <filesystem>

#include "engine/text.hpp"
#include "workers/ports/text_file.hpp"
#include "workers/ports/tool_process.hpp"
#include "workers/ports/untrusted_text.hpp"
#include "workers/tools/corpus/markup.hpp"
#include "workers/tools/corpus/sentences.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;
namespace asio = boost::asio;

constexpr std::size_t source_bytes_max = 1000;
constexpr std::size_t passage_bytes_wanted = 800;
constexpr std::size_t heading_bytes_max = 300;  // each passage repeats it
constexpr std::size_t corpus_name_bytes_max = 63;
constexpr std::int64_t program_timeout_ms = 60'000;
constexpr std::size_t unread_named_max = 3;  // in a refusal

// The text of a heading; "" if the line is none.
std::string_view heading_in(std::string_view line) {
  const std::size_t marks = line.find_first_not_of('#');
  const bool is_heading = marks != std::string_view::npos && marks >= 1 && marks <= 6 && line[marks] == ' ';
  return is_heading ? trimmed(line.substr(marks)) : std::string_view();
}

bool is_item(std::string_view line) {
  return line.starts_with("- ") || line.starts_with("* ") || line.starts_with("|");
}

// Gathers paragraphs into passages; each begins with the heading above it.
class PassageMaker {
 public:
  void add_line(std::string_view line) {
    line = trimmed(line);
    const std::string_view heading = heading_in(line);
    if (line.empty() || !heading.empty() || is_item(line)) end_paragraph();
    if (!heading.empty()) {
      end_passage();
      heading_ = readable_line(heading, heading_bytes_max);
      if (title.empty()) title = heading_;
      return;
    }
    if (line.empty()) return;
    if (!paragraph_.empty()) paragraph_ += " ";
    paragraph_ += line;
  }

  std::vector<std::string> passages() {
    end_paragraph();
    end_passage();
    return std::move(passages_);
  }

  std::string title;

 private:
  void end_paragraph() {
    if (paragraph_.empty()) return;
    if (passage_.size() + paragraph_.size() > passage_bytes_wanted) end_passage();
    if (paragraph_.size() <= passage_bytes_max) {
      append("\n\n", paragraph_);
    } else {
      for (const std::string& sentence : sentences_of(paragraph_)) {
        if (passage_.size() + sentence.size() > passage_bytes_wanted) end_passage();
        append(" ", readable_line(sentence, passage_bytes_max));
      }
    }
    paragraph_.clear();
  }

  void append(std::string_view between, std::string_view text) {
    if (!passage_.empty()) passage_ += between;
    passage_ += text;
  }

  void end_passage() {
    if (passage_.empty()) return;
    const bool has_own_heading = !heading_.empty() && heading_ != title;
    passages_.push_back((has_own_heading ? heading_ + "\n\n" : std::string()) + passage_);
    passage_.clear();
  }

  std::string heading_;
  std::string paragraph_;
  std::string passage_;
  std::vector<std::string> passages_;
};

std::string ending_of(const fs::path& path) { return lowered(path.extension().string()); }

bool is_document(const fs::path& path) {
  constexpr std::array<std::string_view, 8> endings = {".txt", ".md",  ".markdown", ".html",
                                                       ".htm", ".csv", ".pdf",      ".docx"};
  return std::find(endings.begin(), endings.end(), ending_of(path)) != endings.end();
}

// A link may lead out of the folder, to what its giver may not read.
bool lies_below(const fs::path& path, const fs::path& directory) {
  std::error_code fault;
  const fs::path way = fs::canonical(path, fault).lexically_relative(directory);
  return !fault && !way.empty() && *way.begin() != "..";
}

Result<std::vector<fs::path>> files_below(const fs::path& directory) {
  std::error_code fault;
  const fs::path whole = fs::canonical(directory, fault);
  std::vector<fs::path> files;
  fs::recursive_directory_iterator entry(directory, fault);
  if (fault)
    return Error{Code::not_found, "Expected a folder at " + directory.string() + ", but: " + fault.message() + "."};
  for (; entry != fs::recursive_directory_iterator(); entry.increment(fault)) {
    if (fault) break;
    const bool is_hidden = entry->path().filename().string().starts_with(".");
    if (is_hidden) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file(fault) && is_document(entry->path()) &&
               (!entry->is_symlink() || lies_below(entry->path(), whole))) {
      files.push_back(entry->path());
    }
  }
  if (fault)
    return Error{Code::not_found,
                 "Expected to read the folder " + directory.string() + ", but: " + fault.message() + "."};
  std::sort(files.begin(), files.end());
  return files;
}

Error unreadable(const std::string& why) { return {Code::invalid, why}; }

// The whole stdout of a program that reads one file; it may write nothing and has a minute.
Result<std::string> printed_by(std::vector<std::string> argv) {
  const std::string program = argv[0];
  ProcessLimits limits;
  limits.timeout_ms = program_timeout_ms;
  limits.output_bytes_max = document_bytes_max;
  ProcessEnd end;
  std::exception_ptr fault;
  asio::io_context io;
  asio::co_spawn(io, run_process(std::move(argv), "", limits, {}), [&](std::exception_ptr thrown, ProcessEnd ended) {
    fault = std::move(thrown);
    end = std::move(ended);
  });
  io.run();
  if (fault) std::rethrow_exception(fault);
  switch (end.kind) {
    case ProcessEnd::Kind::not_started:
      return unreadable("Expected the program " + program + ", but it cannot be started here.");
    case ProcessEnd::Kind::timed_out:
      return unreadable("Expected " + program + " to end in a minute, but it did not.");
    case ProcessEnd::Kind::flooded:
      return unreadable("Expected a text of at most " + std::to_string(document_bytes_max) +
                        " bytes, but it has more.");
    case ProcessEnd::Kind::exited:
    case ProcessEnd::Kind::signalled:
      break;
  }
  if (end.kind == ProcessEnd::Kind::exited && end.number == 0) return std::move(end.out);
  return unreadable("Expected a file that " + program +
                    " can read, but it says: " + readable_line(last_line(end.err), 200));
}

Status check_size(const fs::path& path, std::size_t most) {
  std::error_code fault;
  const std::uintmax_t bytes = fs::file_size(path, fault);
  if (fault || bytes <= most) return Done{};
  return Error{Code::limit,
               "Expected at most " + std::to_string(most) + " bytes, but it has " + std::to_string(bytes) + "."};
}

// For unzip, which takes *, ? and [ in a file's name, but not in its folder's, for signs of a pattern.
std::string as_pattern(const fs::path& file) {
  std::string pattern = (file.parent_path() / "").string();
  for (const char c : file.filename().string())
    pattern += c == '*' || c == '?' || c == '[' ? std::string("[") + c + "]" : std::string(1, c);
  return pattern;
}

// The text of a file in the form that document_of reads.
Result<std::string> read_document(const fs::path& path) {
  const std::string ending = ending_of(path);
  const bool is_packed = ending == ".pdf" || ending == ".docx";
  if (const Status fits = check_size(path, is_packed ? packed_bytes_max : document_bytes_max); !fits)
    return fits.error();
  if (!is_utf8(path.string())) return unreadable("Expected a file name in UTF-8, but it is not.");
  const std::string file = fs::absolute(path).string();  // begins with a slash, so that it is no option
  Result<std::string> text = ending == ".pdf" ? printed_by({"pdftotext", "-enc", "UTF-8", file, "-"})
                             : ending == ".docx"
                                 ? printed_by({"unzip", "-p", as_pattern(fs::path(file)), "word/document.xml"})
                                 : read_text_file(path.string(), "the document");
  if (!text) return text;
  if (!is_utf8(*text) || text->find('\0') != std::string::npos)
    return unreadable("Expected UTF-8 text, but it is not.");
  if (ending == ".pdf")
    return "# " + readable_line(path.stem().string(), source_bytes_max) + "\n" + text_of_pages(*text);
  if (ending == ".docx") return text_of_word(*text);
  if (ending == ".csv") {
    std::string rows = text_of_csv(*text);
    if (rows.size() <= table_text_bytes_max) return rows;
    return unreadable("Expected a table whose rows are at most " + std::to_string(table_text_bytes_max) +
                      " bytes of text with the names of its columns, but they are more.");
  }
  if (ending == ".html" || ending == ".htm") return text_of_html(*text);
  return text;
}

Error nothing_read(const std::string& directory, const std::vector<UnreadFile>& unread_files) {
  if (unread_files.empty())
    return {Code::invalid,
            "Expected text, Markdown, HTML, CSV, PDF or DOCX files below " + directory + ", but found none."};
  std::string names;
  for (std::size_t i = 0; i < std::min(unread_files.size(), unread_named_max); ++i)
    names += " " + readable_line(unread_files[i].source, 200) + ": " + unread_files[i].reason;
  return {Code::invalid, "Expected documents below " + directory + ", but none of its files can be read." + names};
}

}  // namespace

Document document_of(std::string source, std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  PassageMaker maker;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    maker.add_line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  Document document;
  document.passages = maker.passages();
  document.title =
      maker.title.empty() ? readable_line(fs::path(source).stem().string(), heading_bytes_max) : maker.title;
  document.source = std::move(source);
  return document;
}

Result<Folder> read_documents(const std::string& directory) {
  const fs::path root = fs::path(directory).lexically_normal();
  const Result<std::vector<fs::path>> files = files_below(root);
  if (!files) return files.error();
  std::error_code fault;
  const fs::path whole = fs::weakly_canonical(root, fault);
  Folder folder{(whole.has_filename() ? whole.filename() : whole.parent_path().filename()).string(), {}, {}};
  if (folder.name.empty()) folder.name = "root";
  std::size_t bytes = 0;
  for (const fs::path& file : *files) {
    std::string source = folder.name + "/" + file.lexically_relative(root).generic_string();
    if (source.size() > source_bytes_max)
      return Error{Code::limit, "Expected paths of at most " + std::to_string(source_bytes_max) + " bytes, but " +
                                    readable_line(source, 100) + " is longer."};
    const Result<std::string> text = read_document(file);
    if (!text) {
      folder.unread.push_back({readable_line(source, source_bytes_max), text.error().message});
      continue;
    }
    bytes += text->size();
    if (bytes > folder_bytes_max)
      return Error{Code::limit, "Expected at most " + std::to_string(folder_bytes_max) + " bytes of documents, but " +
                                    directory + " has more."};
    const bool is_packed = ending_of(file) == ".pdf" || ending_of(file) == ".docx";
    Document document = document_of(std::move(source), *text);
    if (!document.passages.empty())
      folder.documents.push_back(std::move(document));
    else if (is_packed)
      folder.unread.push_back({document.source, "Expected text, but there is none: its pages may be pictures."});
  }
  if (folder.documents.empty()) return nothing_read(directory, folder.unread);
  return folder;
}

Status check_corpus_name(const std::string& name) {
  const auto is_inner = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-'; };
  const bool fits = !name.empty() && name.size() <= corpus_name_bytes_max && name[0] >= 'a' && name[0] <= 'z' &&
                    std::all_of(name.begin(), name.end(), is_inner);
  if (fits) return Done{};
  return Error{Code::invalid,
               "Expected a corpus's name of lower-case letters, digits, _ and -, a letter first, but it is \"" +
                   readable_line(name, 100) + "\"."};
}

}  // namespace cairn
