#include "workers/ports/log_file.hpp"

#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace cairn {

LogFile::LogFile(std::string path, std::size_t bytes_max) : path_(std::move(path)), bytes_max_(bytes_max) { open(); }

LogFile::~LogFile() {
  if (handle_ >= 0) close(handle_);
}

bool LogFile::write(std::string_view lines) {
  if (lines.size() > bytes_max_) lines = lines.substr(0, bytes_max_);
  if (!open()) return false;
  rotate_if_full(lines.size());
  if (!open()) return false;
  return ::write(handle_, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size());
}

// Again if another process has renamed the file, or the file was removed.
bool LogFile::open() {
  struct stat here {
  }, there{};
  if (handle_ >= 0 && fstat(handle_, &here) == 0 && stat(path_.c_str(), &there) == 0 && here.st_ino == there.st_ino &&
      here.st_dev == there.st_dev)
    return true;
  if (handle_ >= 0) close(handle_);
  handle_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  return handle_ >= 0;
}

void LogFile::rotate_if_full(std::size_t bytes) {
  struct stat here {};
  if (fstat(handle_, &here) != 0 || static_cast<std::size_t>(here.st_size) + bytes <= bytes_max_) return;
  std::rename(path_.c_str(), (path_ + ".1").c_str());
}

}  // namespace cairn
