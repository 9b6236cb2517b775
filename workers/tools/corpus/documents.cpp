#include "workers/tools/corpus/documents.hpp"

#include <algorithm>
#include <filesystem>

#include "workers/ports/text_file.hpp"
#include "workers/ports/untrusted_text.hpp"
#include "workers/tools/corpus/sentences.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t source_bytes_max = 1000;
constexpr std::size_t passage_bytes_wanted = 800;
constexpr std::size_t corpus_name_bytes_max = 63;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") + 1 - first);
}

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
      heading_ = heading;
      if (title.empty()) title = heading;
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

bool is_document(const fs::path& path) {
  const std::string ending = path.extension().string();
  return ending == ".txt" || ending == ".md" || ending == ".markdown";
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

Result<std::string> read_document(const fs::path& path) {
  const std::string name = readable_line(path.string(), source_bytes_max);
  std::error_code fault;
  const std::uintmax_t bytes = fs::file_size(path, fault);
  if (!fault && bytes > document_bytes_max)
    return Error{Code::limit, "Expected a document of at most " + std::to_string(document_bytes_max) + " bytes, but " +
                                  name + " has " + std::to_string(bytes) + "."};
  Result<std::string> text = read_text_file(path.string(), "the document");
  if (!text) return text;
  if (!is_utf8(*text) || text->find('\0') != std::string::npos || !is_utf8(path.string()))
    return Error{Code::invalid, "Expected UTF-8 text, but " + name + " is not."};
  return text;
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
  document.title = maker.title.empty() ? fs::path(source).stem().string() : maker.title;
  document.source = std::move(source);
  return document;
}

Result<Folder> read_documents(const std::string& directory) {
  const fs::path root = fs::path(directory).lexically_normal();
  const Result<std::vector<fs::path>> files = files_below(root);
  if (!files) return files.error();
  std::error_code fault;
  const fs::path whole = fs::weakly_canonical(root, fault);
  Folder folder{(whole.has_filename() ? whole.filename() : whole.parent_path().filename()).string(), {}};
  if (folder.name.empty()) folder.name = "root";
  std::size_t bytes = 0;
  for (const fs::path& file : *files) {
    const Result<std::string> text = read_document(file);
    if (!text) return text.error();
    bytes += text->size();
    if (bytes > folder_bytes_max)
      return Error{Code::limit, "Expected at most " + std::to_string(folder_bytes_max) + " bytes of documents, but " +
                                    directory + " has more."};
    const std::string source = folder.name + "/" + file.lexically_relative(root).generic_string();
    if (source.size() > source_bytes_max)
      return Error{Code::limit, "Expected paths of at most " + std::to_string(source_bytes_max) + " bytes, but " +
                                    readable_line(source, 100) + " is longer."};
    Document document = document_of(source, *text);
    if (!document.passages.empty()) folder.documents.push_back(std::move(document));
  }
  if (folder.documents.empty())
    return Error{Code::invalid, "Expected text or Markdown files (.txt, .md) below " + directory + ", but found none."};
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
