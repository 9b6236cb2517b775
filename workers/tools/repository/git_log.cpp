#include "workers/tools/repository/git_log.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t complaint_bytes_max = 4096;

struct Pipe {
  int read_end = -1;
  int write_end = -1;
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) == 0) {
      read_end = ends[0];
      write_end = ends[1];
    }
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_end(read_end);
    close_end(write_end);
  }
  static void close_end(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
};

// git must not ask, fetch, lock, or read configuration of anyone but the repository.
std::vector<std::string> git_environment() {
  const char* path = std::getenv("PATH");
  return {std::string("PATH=") + (path ? path : "/usr/local/bin:/usr/bin:/bin"),
          "LC_ALL=C.UTF-8",
          "GIT_CONFIG_NOSYSTEM=1",
          "GIT_CONFIG_GLOBAL=/dev/null",
          "GIT_ALLOW_PROTOCOL=none",
          "GIT_NO_LAZY_FETCH=1",
          "GIT_OPTIONAL_LOCKS=0",
          "GIT_TERMINAL_PROMPT=0"};
}

// Options that hold for every call. A repository may belong to another user than the worker.
std::vector<std::string> git_command(const std::string& repository, std::vector<std::string> arguments) {
  std::vector<std::string> command = {"git", "--no-pager",           "-c", "safe.directory=*",
                                      "-c",  "core.fsmonitor=false", "-C", repository};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

// The child's process id, or nothing if it could not be started.
std::optional<pid_t> spawn(std::vector<std::string> command, const Pipe& output, const Pipe& complaint) {
  std::vector<std::string> environment = git_environment();
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output.write_end, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, complaint.write_end, STDERR_FILENO);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = 0;
  const int fault =
      ::posix_spawnp(&child, "git", &files, &attributes, pointers(command).data(), pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return fault == 0 ? std::optional(child) : std::nullopt;
}

// Appends what is there to read; false at the end of the stream.
bool take(int end, std::string& into) {
  std::array<char, 65536> bytes{};
  const ssize_t count = ::read(end, bytes.data(), bytes.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  into.append(bytes.data(), static_cast<std::size_t>(count));
  return count > 0;
}

struct Streams {
  std::string output;
  std::string complaint;
};

// Reads both streams to their ends. Refuses when time or size is used up.
Result<Streams> read_streams(Pipe& output, Pipe& complaint, Clock::time_point deadline) {
  Streams streams;
  while (output.read_end >= 0 || complaint.read_end >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return Error{Code::unavailable, "Expected git to answer in time, but it did not."};
    std::array<pollfd, 2> ends = {pollfd{output.read_end, POLLIN, 0}, pollfd{complaint.read_end, POLLIN, 0}};
    if (::poll(ends.data(), ends.size(), static_cast<int>(left)) < 0 && errno != EINTR) {
      return Error{Code::unavailable, std::string("Expected to read from git, but poll says: ") + std::strerror(errno)};
    }
    if (ends[0].revents != 0 && !take(output.read_end, streams.output)) Pipe::close_end(output.read_end);
    if (ends[1].revents != 0 && !take(complaint.read_end, streams.complaint)) Pipe::close_end(complaint.read_end);
    if (streams.complaint.size() > complaint_bytes_max)
      streams.complaint.erase(0, streams.complaint.size() - complaint_bytes_max);
    if (streams.output.size() > history_bytes_max) {
      return Error{Code::limit,
                   "Expected at most " + std::to_string(history_bytes_max) + " bytes of history, but git prints more."};
    }
  }
  return streams;
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

Result<std::string> run_git(const std::string& repository, std::vector<std::string> arguments,
                            std::int64_t timeout_ms) {
  Pipe output;
  Pipe complaint;
  if (output.read_end < 0 || complaint.read_end < 0) {
    return Error{Code::unavailable, "Expected to open a pipe to git, but this process has too many open files."};
  }
  const std::optional<pid_t> child = spawn(git_command(repository, std::move(arguments)), output, complaint);
  if (!child) return Error{Code::unavailable, "Expected to run the program git, but it cannot be started here."};
  Pipe::close_end(output.write_end);
  Pipe::close_end(complaint.write_end);
  Result<Streams> streams = read_streams(output, complaint, Clock::now() + std::chrono::milliseconds(timeout_ms));
  if (!streams) ::kill(-*child, SIGKILL);
  const int status = wait_for(*child);
  if (!streams) return streams.error();
  if (status == 0) return std::move(streams->output);
  return Error{Code::invalid, "Expected a git repository with commits at " + repository + ", but git says: " +
                                  readable_line(last_line(streams->complaint), complaint_bytes_max)};
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
                                        "--format=%x1e%h%x1f%aN%x1f%aI%x1f%s%x1f"};
  if (files == FilesOf::commit) arguments.emplace_back("--full-diff");
  arguments.insert(arguments.end(), {"HEAD", "--"});
  if (!path.empty()) arguments.push_back(":(top,literal)" + path);
  Result<std::string> text = run_git(repository, std::move(arguments), timeout_ms);
  if (!text) return text.error();
  return parse_git_log(*text);
}

}  // namespace cairn
