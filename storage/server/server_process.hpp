// The processes of a private PostgreSQL server: its programs, run as an unprivileged account, without a shell and
// without our environment; and the one process that is the server of a data directory. Safe from any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "engine/result.hpp"

namespace cairn {

// The account that runs the server and owns its files.
struct ServerAccount {
  uid_t user = 0;
  gid_t group = 0;
};

// Our own account; for root, who may not run the server, the owner of the data, else the user `postgres`. Refuses
// `unavailable`: there is no such user.
Result<ServerAccount> server_account(const std::filesystem::path& data);

// True if the path is the account's now. Only root can change that; a link is not followed.
bool give_to(const ServerAccount& account, const std::filesystem::path& path);

struct ProgramRun {
  int exit = 0;      // 127: it could not be started
  std::string says;  // both streams
};

// Runs a program to its end. It gets the words as they are, and of our environment only PATH, LANG, TMPDIR and
// LD_LIBRARY_PATH: a server lives long, and its account may read what it was started with.
ProgramRun run_program(const ServerAccount& account, const std::vector<std::string>& command,
                       const std::filesystem::path& output);

inline constexpr std::uint64_t server_memory_max = 4ull << 30;

// Starts a program in a session of its own, with the log as its output (made 0600); it outlives us and is not our
// child. It and each process that it starts get at most `server_memory_max` of memory of their own. Refuses
// `unavailable`.
Result<pid_t> start_program(const ServerAccount& account, const std::vector<std::string>& command,
                            const std::filesystem::path& log);

// False for a process that has ended, also if its exit code was not asked for yet.
bool is_running(pid_t pid);

// The running server of the data directory. The number in its postmaster.pid is believed only if that process is a
// `postgres` at work in the directory: a stale file may name anybody's process.
std::optional<pid_t> server_of(const std::filesystem::path& data);

// True if the server of the data directory has said in its postmaster.pid that it starts, and not yet that it is ready.
bool is_recovering(const std::filesystem::path& data);

// True if the program that the server was started from is gone from the disk or was replaced there.
bool is_program_replaced(pid_t server);

// True if any process works in the directory, as the server and its children do.
bool is_in_use(const std::filesystem::path& data);

// Removes a lock file of the server (postmaster.pid, or that of its socket) that would keep it from starting: an empty
// one, or one with the number of a process that is not the server. One whose process is gone is left to the server,
// which looks at more than the number. REQUIRES: server_of() finds nothing, and is_in_use() is false.
void remove_stale_lock(const std::filesystem::path& lock_file);

// Whole lines from the end of the text, in one line and at most `bytes_max` long unless the last one alone is longer.
std::string last_lines(const std::string& text, std::size_t bytes_max = 600);

std::string read_text(const std::filesystem::path& path);

}  // namespace cairn
