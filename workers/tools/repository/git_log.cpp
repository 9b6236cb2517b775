#include "workers/tools/repository/git_log.hpp"

#include <boost/asio.hpp>
#include <charconv>
#include <exception>
#include <optional>
#include <system_error>

#include "workers/ports/tool_process.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;

constexpr std::size_t complaint_bytes_max = 4096;

// git must not ask, fetch, lock, or read configuration of anyone but the repository.
ProcessSetting git_setting() {
  return {
      .environment = {},
      .user = {},
      .variables = {"LC_ALL=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ALLOW_PROTOCOL=none",
                    "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0"}};
}

// Options that hold for every call. A repository may belong to another user than the worker. Its configuration may
// neither name files that git reads, nor change what is read here.
std::vector<std::string> git_command(const std::string& repository, std::vector<std::string> arguments) {
  std::vector<std::string> command = {"git", "--no-pager", "-C", repository};
  for (const char* setting :
       {"safe.directory=*", "core.fsmonitor=false", "core.attributesFile=/dev/null", "core.bigFileThreshold=16m",
        "mailmap.file=", "log.follow=false", "log.showRoot=true", "diff.algorithm=myers", "diff.renameLimit=1000",
        "diff.ignoreSubmodules=none", "diff.orderFile=/dev/null", "diff.relative=false"})
    command.insert(command.end(), {"-c", setting});
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

Result<std::string> run_git(const std::string& repository, std::vector<std::string> arguments,
                            std::int64_t timeout_ms) {
  ProcessLimits limits;
  limits.timeout_ms = timeout_ms;
  limits.output_bytes_max = history_bytes_max;
  ProcessEnd end;
  std::exception_ptr fault;
  asio::io_context io;
  asio::co_spawn(io, run_process(git_command(repository, std::move(arguments)), "", limits, git_setting()),
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
      return Error{Code::limit,
                   "Expected at most " + std::to_string(history_bytes_max) + " bytes of history, but git prints more."};
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

Result<CodeCommit> parse_commit(std::string_view record) {
  CodeCommit commit;
  record.remove_prefix(1);
  commit.id = cut(record, field_mark);
  commit.author = cut(record, field_mark);
  commit.date = cut(record, field_mark);
  commit.subject = cut(record, field_mark);
  const std::optional<TimeUs> at = parse_time(commit.date);
  if (!at)
    return Error{Code::invalid, "Expected commit " + commit.id + " to have a date, but it has " + commit.date + "."};
  commit.at_us = *at;
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
    commit.files.push_back({std::string(cut(rest, '\0')), 0, 0});
    change.path = cut(rest, '\0');
  }
  commit.files.push_back(std::move(change));
}

}  // namespace

Result<std::vector<CodeCommit>> parse_git_log(std::string_view text) {
  std::vector<CodeCommit> commits;
  while (!text.empty()) {
    std::string_view record = cut(text, '\0');
    while (!record.empty() && record.front() == '\n') record.remove_prefix(1);
    if (record.empty()) continue;
    if (record.front() == commit_mark) {
      Result<CodeCommit> commit = parse_commit(record);
      if (!commit) return commit.error();
      commits.push_back(std::move(*commit));
    } else if (commits.empty()) {
      return Error{Code::invalid, "Expected a git log to begin with a commit, but it does not."};
    } else {
      parse_change(record, text, commits.back());
    }
  }
  std::erase_if(commits, [](const CodeCommit& commit) { return commit.files.empty(); });
  return commits;
}

Result<std::vector<std::string>> git_files(const std::string& repository, std::int64_t timeout_ms) {
  Result<std::string> text =
      run_git(repository, {"ls-tree", "-r", "-z", "--full-tree", "--name-only", "HEAD"}, timeout_ms);
  if (!text) return text.error();
  std::vector<std::string> files;
  std::string_view rest = *text;
  while (!rest.empty()) files.emplace_back(cut(rest, '\0'));
  return files;
}

Result<std::vector<CodeCommit>> git_commits(const std::string& repository, const std::string& path, FilesOf files,
                                            std::int64_t timeout_ms) {
  std::vector<std::string> arguments = {"log",
                                        "-z",
                                        "--numstat",
                                        "-M",
                                        "--full-history",
                                        "--no-merges",
                                        "--no-ext-diff",
                                        "--no-textconv",
                                        "--no-show-signature",
                                        "--no-color",
                                        "--no-relative",
                                        "--encoding=UTF-8",
                                        "--format=%x1e%h%x1f%aN%x1f%aI%x1f%s%x1f"};
  if (files == FilesOf::commit) arguments.emplace_back("--full-diff");
  arguments.insert(arguments.end(), {"HEAD", "--"});
  if (!path.empty()) arguments.push_back(":(top,literal)" + path);
  Result<std::string> text = run_git(repository, std::move(arguments), timeout_ms);
  if (!text) return text.error();
  return parse_git_log(*text);
}

}  // namespace cairn
