#include "workers/ports/own_process.hpp"

#include <cstring>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
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

std::int64_t soft_limit() {
  rlimit files{};
  return ::getrlimit(RLIMIT_NOFILE, &files) == 0 ? static_cast<std::int64_t>(files.rlim_cur) : 1024;
}

}  // namespace

std::int64_t open_files_at_start() {
  static const std::int64_t files = soft_limit();
  return files;
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
  static std::vector<std::string> texts;  // until the process ends: getenv() points into them
  static std::vector<char*> pointers;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) texts.emplace_back(*entry);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    ::explicit_bzero(*entry, std::strlen(*entry));
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  environ = pointers.data();
}

}  // namespace cairn
