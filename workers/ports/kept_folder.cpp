#include "workers/ports/kept_folder.hpp"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "storage/digest.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

class OpenFile {
 public:
  explicit OpenFile(int file) : file_(file) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (file_ >= 0) ::close(file_);
  }
  int get() const { return file_; }

 private:
  int file_;
};

// No other user could have written it.
bool is_own(const struct ::stat& of, mode_t type) {
  return (of.st_mode & S_IFMT) == type && of.st_uid == ::geteuid() && (of.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool is_own_folder(const std::string& directory) {
  struct ::stat of {};
  return ::lstat(directory.c_str(), &of) == 0 && is_own(of, S_IFDIR);
}

std::optional<std::string> read_own_file(const std::string& name, std::size_t bytes_max) {
  const OpenFile file(::open(name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct ::stat of {};
  if (file.get() < 0 || ::fstat(file.get(), &of) != 0 || !is_own(of, S_IFREG)) return std::nullopt;
  if (of.st_size < 0 || static_cast<std::size_t>(of.st_size) > bytes_max) return std::nullopt;
  std::string text(static_cast<std::size_t>(of.st_size), '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + filled, text.size() - filled);
    if (got <= 0) return std::nullopt;
    filled += static_cast<std::size_t>(got);
  }
  return text;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fsync(file) == 0;
}

bool replace_file(const std::string& name, std::string_view text) {
  std::string other = name + ".XXXXXX";
  const OpenFile file(::mkostemp(other.data(), O_CLOEXEC));  // 0600
  if (file.get() < 0) return false;
  if (write_all(file.get(), text) && ::rename(other.c_str(), name.c_str()) == 0) return true;
  ::unlink(other.c_str());
  return false;
}

}  // namespace

KeptFolder::KeptFolder(std::string directory, std::string ending, std::size_t bytes_max)
    : directory_(std::move(directory)), ending_(std::move(ending)), bytes_max_(bytes_max) {}

std::string KeptFolder::file_of(const std::string& source) const {
  return directory_ + "/" + hex(sha256(source)).substr(0, 32) + ending_;
}

std::optional<std::string> KeptFolder::read(const std::string& source, std::size_t bytes_max) const {
  if (directory_.empty() || !is_own_folder(directory_)) return std::nullopt;
  const std::string name = file_of(source);
  std::optional<std::string> bytes = read_own_file(name, bytes_max);
  if (bytes) ::utimensat(AT_FDCWD, name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);  // it was used
  return bytes;
}

void KeptFolder::write(const std::string& source, std::string_view bytes) const {
  if (directory_.empty()) return;
  std::error_code fault;
  const fs::path above = fs::path(directory_).parent_path();
  if (!above.empty()) fs::create_directories(above, fault);
  ::mkdir(directory_.c_str(), 0700);
  if (!is_own_folder(directory_) || bytes.size() > bytes_max_) return;
  make_room(bytes.size());
  replace_file(file_of(source), bytes);
}

void KeptFolder::make_room(std::size_t bytes) const {
  struct Kept {
    fs::file_time_type used;
    fs::path path;
    std::size_t size;
  };
  std::vector<Kept> kept;
  std::size_t sum = bytes;
  std::error_code fault;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory_, fault)) {
    std::error_code unknown;
    if (!entry.is_regular_file(unknown) || entry.path().string().find(ending_) == std::string::npos) continue;
    kept.push_back({entry.last_write_time(unknown), entry.path(), static_cast<std::size_t>(entry.file_size(unknown))});
    sum += kept.back().size;
  }
  std::sort(kept.begin(), kept.end(), [](const Kept& a, const Kept& b) { return a.used < b.used; });
  for (const Kept& oldest : kept) {
    if (sum <= bytes_max_) return;
    fs::remove(oldest.path, fault);
    sum -= oldest.size;
  }
}

}  // namespace cairn
