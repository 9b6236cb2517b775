#include "storage/ground/private_file.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace cairn {
namespace {

constexpr int others_max = 100;  // that end while one part is opened

// False if the writer before has given the file its name, or removed it, after it was opened here.
bool is_still_named(int file, const std::string& path) {
  struct stat opened {};
  struct stat named {};
  return fstat(file, &opened) == 0 && stat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

}  // namespace

bool make_private_file(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const bool is_private = fchmod(file, 0600) == 0;
  close(file);
  return is_private;
}

PrivatePart::PrivatePart(std::string path) : path_(std::move(path)), state_(open_alone()) {
  if (state_ == State::there || file_ < 0) return;
  close(file_);
  file_ = -1;
}

// A file system without locks leaves it to its users that one writes at a time.
PrivatePart::State PrivatePart::open_alone() {
  for (int others = 0; others < others_max; ++others) {
    file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file_ < 0) return State::unwritable;
    if (flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return State::taken;
    if (is_still_named(file_, path_))
      return fchmod(file_, 0600) == 0 && ftruncate(file_, 0) == 0 ? State::there : State::unwritable;
    close(std::exchange(file_, -1));
  }
  return State::taken;
}

PrivatePart::~PrivatePart() {
  if (file_ < 0) return;
  unlink(path_.c_str());
  close(file_);
}

bool PrivatePart::become(const std::string& whole) {
  if (std::rename(path_.c_str(), whole.c_str()) != 0) return false;
  close(std::exchange(file_, -1));
  return true;
}

}  // namespace cairn
