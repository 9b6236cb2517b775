#include "workers/tools/repository/git_log.hpp"

#include <algorithm>
#include <boost/asio.hpp>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

#include "storage/clock.hpp"
#include "workers/ports/tool_process.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

constexpr std::size_t complaint_bytes_max = 4096;
constexpr std::int64_t seconds_max = 253'402'300'799;  // the year 9999

// git must not ask, fetch, lock, or read configuration of anyone but the repository.
ProcessSetting git_setting() {
  return {.environment = {},
          .user = {},
          .variables = {"LC_ALL=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
                        "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1",
                        "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0"}};
}

// Options that hold for every call. A repository may belong to another user than the worker. Its configuration may
// neither name files that git reads, nor change what is read here.
std::vector<std::string> git_command(const std::string& repository, std::vector<std::string> arguments) {
  std::vector<std::string> command = {"git", "--no-pager", "-C", repository};
  for (const char* setting :
       {"safe.directory=*", "core.fsmonitor=false", "core.attributesFile=/dev/null", "core.bigFileThreshold=16m",
        "mailmap.file=", "log.follow=false", "log.showRoot=true", "diff.algorithm=myers", "diff.renameLimit=1000",
        "diff.ignoreSubmodules=none", "diff.orderFile=/dev/null", "diff.relative=false", "core.packedGitWindowSize=32m",
        "core.packedGitLimit=256m", "core.deltaBaseCacheLimit=96m"})
    command.insert(command.end(), {"-c", setting});
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

struct GitCall {
  std::vector<std::string> arguments;
  std::string input = {};
  std::int64_t timeout_ms = 0;
  std::size_t output_bytes_max = history_bytes_max;
};

Result<std::string> run_git(const std::string& repository, GitCall call) {
  ProcessLimits limits;
  limits.timeout_ms = std::max<std::int64_t>(call.timeout_ms, 1);
  limits.output_bytes_max = call.output_bytes_max;
  ProcessEnd end;
  std::exception_ptr fault;
  asio::io_context io;
  asio::co_spawn(
      io, run_process(git_command(repository, std::move(call.arguments)), std::move(call.input), limits, git_setting()),
      [&](std::exception_ptr thrown, ProcessEnd ended) {
        fault = std::move(thrown);
        end = std::move(ended);
      });
  io.run();
  if (fault) std::rethrow_exception(fault);
  switch (end.kind) {
    case ProcessEnd::Kind::not_started:
      return Error{Code::unavailable, "Expected to run the program git, but it cannot be started here."};
    case ProcessEnd::Kind::timed_out:
      return Error{Code::unavailable, "Expected git to answer in time, but it did not."};
    case ProcessEnd::Kind::flooded:
      return Error{Code::limit, "Expected at most " + std::to_string(call.output_bytes_max) +
                                    " bytes of history, but git prints more."};
    case ProcessEnd::Kind::exited:
    case ProcessEnd::Kind::signalled:
      break;
  }
  if (end.kind == ProcessEnd::Kind::exited && end.number == 0) return std::move(end.out);
  return Error{Code::invalid, "Expected a git repository with commits at " + repository +
                                  ", but git says: " + readable_line(last_line(end.err), complaint_bytes_max)};
}

// --- parsing --------------------------------------------------------------------------------------------------------
constexpr char commit_mark = '\x1e';
constexpr char field_mark = '\x1f';

// Cuts the next part off `text`, up to `mark` or the end.
std::string_view cut(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return part;
}

std::int64_t count_of(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;  // "-", a binary file: 0
}

// A date that cannot be read is 1970: one odd commit must not hide all others.
CodeCommit parse_commit(std::string_view record) {
  CodeCommit commit;
  record.remove_prefix(1);
  commit.id = cut(record, field_mark);
  commit.author = cut(record, field_mark);
  commit.email = cut(record, field_mark);
  commit.committed_us = std::clamp<std::int64_t>(count_of(cut(record, field_mark)), 0, seconds_max) * 1'000'000;
  commit.date = cut(record, field_mark);
  commit.subject = cut(record, field_mark);
  commit.at_us = parse_time(commit.date).value_or(0);
  return commit;
}

// "added TAB deleted TAB path"; a rename's path is empty and its two paths are the next two records.
void parse_change(std::string_view record, std::string_view& rest, CodeCommit& commit) {
  FileChange change;
  change.added = count_of(cut(record, '\t'));
  change.deleted = count_of(cut(record, '\t'));
  if (!record.empty()) {
    change.path = record;
  } else {
    change.from = cut(rest, '\0');
    change.path = cut(rest, '\0');
  }
  commit.files.push_back(std::move(change));
}

std::vector<std::string> lines_in_text(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) lines.emplace_back(cut(text, '\n'));
  return lines;
}

std::string joined_lines(std::span<const std::string> lines) {
  std::string text;
  for (const std::string& line : lines) text.append(line).append("\n");
  return text;
}

bool is_id(std::string_view text) {
  return text.size() >= 40 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// A name that `git check-mailmap` takes as one line "NAME <EMAIL>".
bool is_contact(const CommitLog::Author& author) {
  return (author.name + author.email).find_first_of("<>\n") == std::string::npos && !author.email.empty();
}

// A repository without any configuration over the objects of another. `git blame` reads the files that a
// configuration names, and no option takes that back.
class BareCopy {
 public:
  BareCopy(const std::string& objects, const std::string& head) {
    std::string name = (fs::temp_directory_path() / "cairn_bare_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), "Expected to make a folder for git");
    directory_ = name;
    fs::create_directories(directory_ / "refs");
    fs::create_directories(directory_ / "objects/info");
    std::ofstream(directory_ / "HEAD") << head << "\n";
    std::ofstream(directory_ / "objects/info/alternates") << objects << "\n";
    const bool is_sha256 = head.size() > 40;
    std::ofstream(directory_ / "config") << "[core]\nrepositoryformatversion = " << (is_sha256 ? 1 : 0)
                                         << "\nbare = true\n"
                                         << (is_sha256 ? "[extensions]\nobjectformat = sha256\n" : "");
  }
  BareCopy(const BareCopy&) = delete;
  BareCopy& operator=(const BareCopy&) = delete;
  ~BareCopy() {
    std::error_code fault;
    fs::remove_all(directory_, fault);
  }
  std::string directory() const { return directory_.string(); }

 private:
  fs::path directory_;
};

// Reads what `git blame --incremental` prints.
std::vector<BlamedLines> blamed_lines(std::string_view rest) {
  std::map<std::string, BlamedLines, std::less<>> by_commit;
  BlamedLines* commit = nullptr;
  while (!rest.empty()) {
    std::string_view line = cut(rest, '\n');
    const std::string word(cut(line, ' '));
    if (is_id(word)) {
      commit = &by_commit[word];
      cut(line, ' ');
      cut(line, ' ');
      commit->lines += static_cast<std::size_t>(std::max<std::int64_t>(count_of(line), 0));
    } else if (commit != nullptr && word == "author") {
      commit->author = line;
    } else if (commit != nullptr && word == "author-mail") {
      commit->email = line.starts_with('<') && line.ends_with('>') ? line.substr(1, line.size() - 2) : line;
    } else if (commit != nullptr && word == "author-time") {
      commit->at_s = count_of(line);
    }
  }
  std::map<std::string, BlamedLines, std::less<>> by_author;
  for (const auto& [id, blamed] : by_commit) {
    BlamedLines& author = by_author[blamed.author + '\n' + blamed.email];
    author.author = blamed.author;
    author.email = blamed.email;
    author.at_s = std::max(author.at_s, blamed.at_s);
    author.lines += blamed.lines;
  }
  std::vector<BlamedLines> authors;
  for (auto& [name, blamed] : by_author) authors.push_back(std::move(blamed));
  return authors;
}

}  // namespace

Result<std::vector<CodeCommit>> parse_git_log(std::string_view text) {
  std::vector<CodeCommit> commits;
  while (!text.empty()) {
    std::string_view record = cut(text, '\0');
    while (!record.empty() && record.front() == '\n') record.remove_prefix(1);
    if (record.empty()) continue;
    if (record.front() == commit_mark) {
      commits.push_back(parse_commit(record));
    } else if (commits.empty()) {
      return Error{Code::invalid, "Expected a git log to begin with a commit, but it does not."};
    } else {
      parse_change(record, text, commits.back());
    }
  }
  return commits;
}

Result<GitState> git_state(const std::string& repository, std::int64_t timeout_ms) {
  Result<std::string> text =
      run_git(repository,
              {{"rev-parse", "--absolute-git-dir", "--is-shallow-repository", "HEAD^{commit}", "--"}, {}, timeout_ms});
  if (!text) return text.error();
  const std::vector<std::string> lines = lines_in_text(*text);
  if (lines.size() < 3 || !is_id(lines[lines.size() - 2])) {
    return Error{Code::invalid, "Expected a git repository with commits at " + repository + ", but it has none."};
  }
  return GitState{lines[0], lines[lines.size() - 2], lines[1] == "true"};
}

Result<std::vector<std::string>> git_files(const std::string& repository, std::int64_t timeout_ms) {
  Result<std::string> text =
      run_git(repository, {{"ls-tree", "-r", "-z", "--full-tree", "--name-only", "HEAD"}, {}, timeout_ms});
  if (!text) return text.error();
  std::vector<std::string> files;
  std::string_view rest = *text;
  while (!rest.empty()) files.emplace_back(cut(rest, '\0'));
  return files;
}

Result<std::vector<std::string>> git_commit_ids(const std::string& repository, const std::string& head,
                                                const std::string& known, std::int64_t timeout_ms) {
  std::vector<std::string> arguments = {"rev-list", "--no-merges", head};
  if (!known.empty()) arguments.push_back("^" + known);
  arguments.emplace_back("--");
  Result<std::string> text = run_git(repository, {std::move(arguments), {}, timeout_ms});
  if (!text) return text.error();
  return lines_in_text(*text);
}

bool git_came_from(const std::string& repository, const std::string& head, const std::string& known,
                   std::int64_t timeout_ms) {
  const Result<std::string> text =
      run_git(repository, {{"rev-list", "--max-count=1", known, "^" + head, "--"}, {}, timeout_ms});
  return text.ok() && text->empty();
}

Result<std::vector<CodeCommit>> git_commits(const std::string& repository, std::span<const std::string> ids,
                                            std::int64_t timeout_ms) {
  const std::int64_t until = steady_us() + timeout_ms * 1000;
  Result<std::string> text =
      run_git(repository, {{"log", "--no-walk=unsorted", "--stdin", "-z", "--numstat", "-M", "--no-ext-diff",
                            "--no-textconv", "--no-show-signature", "--no-color", "--no-relative", "--encoding=UTF-8",
                            "--format=%x1e%H%x1f%an%x1f%ae%x1f%ct%x1f%aI%x1f%s%x1f"},
                           joined_lines(ids),
                           timeout_ms,
                           git_output_bytes_max});
  if (text) return parse_git_log(*text);
  if (text.error().code != Code::limit) return text.error();
  if (ids.size() == 1) {
    CodeCommit without_files;
    without_files.id = ids.front();
    return std::vector<CodeCommit>{without_files};
  }
  std::vector<CodeCommit> commits;
  for (const std::span<const std::string> half : {ids.first(ids.size() / 2), ids.subspan(ids.size() / 2)}) {
    Result<std::vector<CodeCommit>> read = git_commits(repository, half, (until - steady_us()) / 1000);
    if (!read) return read.error();
    std::move(read->begin(), read->end(), std::back_inserter(commits));
  }
  return commits;
}

Result<std::vector<std::string>> git_names(const std::string& repository, const std::vector<CommitLog::Author>& authors,
                                           std::int64_t timeout_ms) {
  std::vector<std::string> names;
  std::string contacts;
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < authors.size(); ++i) {
    names.push_back(authors[i].name);
    if (!is_contact(authors[i])) continue;
    contacts += authors[i].name + " <" + authors[i].email + ">\n";
    asked.push_back(i);
  }
  if (asked.empty()) return names;
  const Result<std::string> text = run_git(repository, {{"check-mailmap", "--stdin"}, std::move(contacts), timeout_ms});
  if (!text) return text.error();
  const std::vector<std::string> mapped = lines_in_text(*text);
  for (std::size_t i = 0; i < std::min(mapped.size(), asked.size()); ++i) {
    const std::size_t end = mapped[i].rfind(" <");
    if (end != std::string::npos && end > 0) names[asked[i]] = mapped[i].substr(0, end);
  }
  return names;
}

Result<std::optional<std::string>> git_text(const std::string& repository, const std::string& path,
                                            std::size_t bytes_max, std::int64_t timeout_ms) {
  const std::int64_t until = steady_us() + timeout_ms * 1000;
  Result<std::string> entry =
      run_git(repository, {{"ls-tree", "-l", "-z", "--full-tree", "HEAD", "--", path}, {}, timeout_ms});
  if (!entry) return entry.error();
  std::string_view rest = *entry;  // MODE SP TYPE SP ID SP+ SIZE TAB PATH
  const std::string_view mode = cut(rest, ' ');
  const std::string_view type = cut(rest, ' ');
  const std::string id(cut(rest, ' '));
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const std::int64_t size = count_of(cut(rest, '\t'));
  if (type != "blob" || !mode.starts_with("100") || !is_id(id) || size > static_cast<std::int64_t>(bytes_max))
    return std::optional<std::string>();
  Result<std::string> text =
      run_git(repository, {{"cat-file", "blob", id}, {}, (until - steady_us()) / 1000, bytes_max + 1});
  if (!text) return text.error();
  return std::optional<std::string>(*std::move(text));
}

Result<std::vector<BlamedLines>> git_blame(const std::string& repository, const std::string& head,
                                           const std::string& path, std::int64_t timeout_ms) {
  const std::int64_t until = steady_us() + timeout_ms * 1000;
  const Result<std::string> objects =
      run_git(repository, {{"rev-parse", "--path-format=absolute", "--git-path", "objects"}, {}, timeout_ms});
  if (!objects) return objects.error();
  const BareCopy copy(lines_in_text(*objects).front(), head);
  const Result<std::string> text = run_git(
      copy.directory(), {{"blame", "--incremental", "--no-textconv", "-w", "-M", "--encoding=UTF-8", head, "--", path},
                         {},
                         (until - steady_us()) / 1000,
                         git_output_bytes_max});
  if (!text) return text.error();
  return blamed_lines(*text);
}

}  // namespace cairn
