#include "workers/ports/local_process.hpp"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

namespace cairn {
namespace {

std::string read_machine_id() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id") >> std::ws, boot);
  std::error_code fault;
  const std::string space = std::filesystem::read_symlink("/proc/self/ns/pid", fault).string();
  return boot.empty() || space.empty() ? "" : boot + " " + space;
}

// Ended, but not reaped yet. In /proc/PID/stat the state follows the name in parentheses.
bool is_zombie(std::int64_t pid) {
  std::string stat;
  std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/stat"), stat);
  const std::size_t name_end = stat.rfind(") ");
  return name_end != std::string::npos && name_end + 2 < stat.size() && stat[name_end + 2] == 'Z';
}

}  // namespace

const std::string& machine_id() {
  static const std::string id = read_machine_id();
  return id;
}

bool is_gone(std::int64_t pid) {
  if (pid <= 0) return false;
  if (kill(static_cast<pid_t>(pid), 0) != 0) return errno == ESRCH;
  return is_zombie(pid);
}

}  // namespace cairn
