#include "workers/ports/own_process.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <limits>
#include <span>
#include <sstream>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace cairn {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool is_inspected = true;
#elif defined(__has_feature)
constexpr bool is_inspected = __has_feature(address_sanitizer);
#else
constexpr bool is_inspected = false;
#endif

constexpr std::int64_t address_space_mib_min = 192;  // for stacks and arenas of the threads, and what they do

// The bytes that the process was started with, as /proc shows them: variables that were replaced since lie there, too.
std::span<char> first_environment() {
  std::ifstream file("/proc/self/stat");
  const std::string line(std::istreambuf_iterator<char>(file), {});
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  constexpr int env_start = 50 - 2;  // proc(5) counts from the process and its name
  std::vector<std::uintptr_t> bounds;
  std::string field;
  for (int at = 1; fields >> field; ++at)
    if (at == env_start || at == env_start + 1) bounds.push_back(std::stoull(field));
  if (bounds.size() != 2 || bounds[0] == 0 || bounds[1] <= bounds[0]) return {};
  return {reinterpret_cast<char*>(bounds[0]), bounds[1] - bounds[0]};
}

std::int64_t soft_limit() {
  rlimit files{};
  return ::getrlimit(RLIMIT_NOFILE, &files) == 0 ? static_cast<std::int64_t>(files.rlim_cur) : 1024;
}

// Without a limit, more than there are.
std::int64_t address_space_left() {
  rlimit space{};
  std::int64_t pages = 0;
  std::ifstream file("/proc/self/statm");
  const bool is_limited = ::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY && file >> pages;
  return is_limited ? static_cast<std::int64_t>(space.rlim_cur) - pages * ::sysconf(_SC_PAGESIZE)
                    : std::numeric_limits<std::int64_t>::max();
}

}  // namespace

std::int64_t open_files_at_start() {
  static const std::int64_t files = soft_limit();
  return files;
}

void expect_address_space(const std::string& who) {
  const std::int64_t left = address_space_left() >> 20;
  if (left < address_space_mib_min)
    throw std::system_error(ENOMEM, std::generic_category(),
                            who + " needs " + std::to_string(address_space_mib_min) + " MiB of address space, and " +
                                std::to_string(left) + " are left");
}

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void occupy_standard_streams() {
  for (int file = ::open("/dev/null", O_PATH); file >= 0; file = ::open("/dev/null", O_PATH)) {
    if (file <= STDERR_FILENO) continue;
    ::close(file);
    return;
  }
}

void raise_open_files() {
  open_files_at_start();
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);  // refused: it stays as it is
}

void hide_from_other_processes() {
  // The address sanitizer looks for leaks as a debugger would.
  if (!is_inspected) ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  // Never destroyed: libraries call getenv() when the process ends, after all destructors.
  static auto& texts = *new std::vector<std::string>();
  static auto& pointers = *new std::vector<char*>();
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) texts.emplace_back(*entry);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    ::explicit_bzero(*entry, std::strlen(*entry));
  const std::span<char> first = first_environment();
  if (!first.empty()) ::explicit_bzero(first.data(), first.size());
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  environ = pointers.data();
}

}  // namespace cairn
