#include "storage/proof/checkpoint_files.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ending = ".jsonl";

Error cannot(const std::string& path) {
  return {Code::unavailable, "Expected to append a checkpoint to " + path + ", but: " + std::strerror(errno) + "."};
}

bool write_whole(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// A new file's name is on disk only when its folder is.
bool keep_folder(const std::string& folder) {
  const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) return false;
  const bool kept = fsync(handle) == 0;
  ::close(handle);
  return kept;
}

}  // namespace

CheckpointFiles::CheckpointFiles(std::string folder, std::string database)
    : folder_(std::move(folder)), database_(std::move(database)) {}

std::string CheckpointFiles::path(std::int64_t process) const {
  return folder_ + "/" + database_ + "/" + std::to_string(process) + std::string(ending);
}

Status CheckpointFiles::append(const Checkpoint& checkpoint) {
  const std::string file = path(checkpoint.process);
  std::error_code ignored;  // a failure shows when the file is opened
  fs::create_directories(folder_ + "/" + database_, ignored);
  const int handle = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (handle < 0) return cannot(file);
  const off_t before = ::lseek(handle, 0, SEEK_END);
  const bool written = write_whole(handle, checkpoint_line(checkpoint, database_) + "\n") && fdatasync(handle) == 0 &&
                       (checkpoint.n > 1 || keep_folder(folder_ + "/" + database_));
  const Error fault = cannot(file);
  if (!written && before >= 0 && ::ftruncate(handle, before) != 0) ::fsync(handle);
  ::close(handle);
  if (!written) return fault;
  return Done{};
}

std::vector<std::string> CheckpointFiles::other_databases() const {
  std::vector<std::string> found;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, none)) {
    const std::string name = entry.path().filename().string();
    if (name != database_ && !CheckpointFiles(folder_, name).processes().empty()) found.push_back(name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::int64_t> CheckpointFiles::processes() const {
  std::vector<std::int64_t> found;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_ + "/" + database_, none)) {
    const std::string name = entry.path().filename().string();
    std::int64_t process = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), process);
    if (read.ec == std::errc{} && std::string_view(read.ptr) == ending) found.push_back(process);
  }
  std::sort(found.begin(), found.end());
  return found;
}

CheckpointReader::CheckpointReader(const CheckpointFiles& files, std::int64_t process)
    : database_(files.database()), file_(files.path(process)) {}

// A last line without its newline was cut off by a crash: it was never acknowledged, and is not read.
std::optional<Checkpoint> CheckpointReader::next() {
  std::string line;
  if (is_broken_ || !std::getline(file_, line) || file_.eof()) return std::nullopt;
  ++line_;
  std::optional<Checkpoint> read = parse_checkpoint_line(line, database_);
  is_broken_ = !read;
  return read;
}

}  // namespace cairn
