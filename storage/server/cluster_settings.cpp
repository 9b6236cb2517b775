#include "storage/server/cluster_settings.hpp"

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>

#include "engine/id.hpp"
#include "engine/text.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

// Written at each start into a file that postgresql.conf includes; settings after the include there win.
constexpr std::string_view settings =
    "listen_addresses = ''\n"
    "unix_socket_permissions = 0700\n"
    "max_connections = 100\n"
    "shared_buffers = 256MB\n"
    "effective_cache_size = 1GB\n"
    "maintenance_work_mem = 128MB\n"
    "max_wal_size = 4GB\n"
    "min_wal_size = 256MB\n"
    "checkpoint_completion_target = 0.9\n"
    "wal_buffers = 16MB\n"
    "wal_compression = off\n"
    "fsync = on\n"
    "synchronous_commit = on\n"
    "autovacuum_naptime = 10s\n"
    "autovacuum_vacuum_cost_limit = 2000\n"
    "jit = off\n"
    "timezone = 'UTC'\n"
    "log_timezone = 'UTC'\n"
    "logging_collector = off\n";

std::string setting(std::string_view text) {
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') quoted += letter;
    quoted += letter;
  }
  return quoted + "'";
}

// A path as the only element of a list.
std::string list_setting(const fs::path& path) {
  std::string element = "\"";
  for (const char letter : path.string()) {
    if (letter == '"') element += letter;
    element += letter;
  }
  return setting(element + "\"");
}

// As a word of the shell in restore_command, where %% stands for %.
std::string restore_word(const std::string& text) {
  std::string escaped;
  for (const char letter : text) escaped.append(letter == '%' ? 2 : 1, letter);
  return shell_quoted(escaped);
}

// "2026-11-28 09:30:00.000000+00": the abbreviation Z is not known yet when this setting is read.
std::string recovery_time(TimeUs at_us) {
  std::string text = time_text(at_us);
  std::replace(text.begin(), text.end(), 'T', ' ');
  std::replace(text.begin(), text.end(), 'Z', '+');
  return text + "00";
}

}  // namespace

bool write_server_file(const ServerAccount& account, const fs::path& path, const std::string& text) {
  const fs::path next = path.string() + ".next";
  std::error_code fault;
  fs::remove(next, fault);
  const int file = open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return false;
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(file) == 0;
  close(file);
  if (!written || !give_to(account, next)) return false;
  fs::rename(next, path, fault);
  return !fault;
}

bool write_entrance(const fs::path& directory, const ServerAccount& account) {
  const std::string owner(cluster_owner), how = fs::exists(directory / password_name) ? "scram-sha-256" : "trust";
  return write_server_file(
      account, data_of(directory) / "cairn_hba.conf",
      "local all " + owner + " " + how + "\nlocal replication " + owner + " " + how + "\nlocal all all trust\n");
}

bool write_settings(const fs::path& directory, const fs::path& socket, const ServerAccount& account) {
  const fs::path data = data_of(directory);
  return write_server_file(account, data / "cairn.conf",
                           std::string(settings) + "port = " + std::to_string(cluster_port) +
                               "\nunix_socket_directories = " + list_setting(socket) +
                               "\nhba_file = " + setting((data / "cairn_hba.conf").string()) + "\n") &&
         write_entrance(directory, account);
}

std::vector<std::string> server_command(const fs::path& programs, const fs::path& data,
                                        const std::optional<Recovery>& recovery) {
  std::vector<std::string> command = {(programs / "postgres").string(), "-D", data.string()};
  const auto set = [&command](const std::string& setting) { command.insert(command.end(), {"-c", setting}); };
  if (!recovery) return command;
  set("archive_mode=off");
  if (recovery->wal.empty()) return command;
  set("hot_standby=off");
  set("restore_command=cp " + restore_word(recovery->wal) + "/%f \"%p\"");
  set("recovery_target_action=promote");
  if (recovery->until_us) set("recovery_target_time=" + recovery_time(*recovery->until_us));
  return command;
}

}  // namespace cairn
