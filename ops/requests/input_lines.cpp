#include "ops/requests/input_lines.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "storage/chain.hpp"

namespace cairn {
namespace {

constexpr std::uint64_t inputs_bytes_max = std::uint64_t{8} * 1024 * 1024 * 1024;  // that a pipe may bring

Error unreadable(const std::string& path) {
  return {Code::not_found, "Expected inputs in the file " + path + ", but it cannot be read."};
}

bool read_line(std::ifstream& file, std::vector<char>& room) {
  file.getline(room.data(), static_cast<std::streamsize>(room.size()));
  return file.gcount() > 0;
}

// The line just read, or as much of it as there was room for.
std::string_view line_of(const std::ifstream& file, const std::vector<char>& room) {
  const auto taken = static_cast<std::size_t>(file.gcount());
  return {room.data(), file.good() ? taken - 1 : taken};
}

Error too_long(const std::string& what, std::uint64_t bytes_max) {
  return {Code::limit,
          "Expected " + what + " to have at most " + std::to_string(bytes_max) + " bytes, but it has more."};
}

Result<Json> input_of(std::int64_t line, std::string_view text) {
  const std::string what = "line " + std::to_string(line);
  if (text.size() > json_bytes_max) return too_long(what, json_bytes_max);
  Result<Json> input = parse_json(text, what);
  if (input && !input->is_object())
    return Error{Code::invalid, "Expected an input object on " + what + ", but found " + excerpt(*input, 60) + "."};
  return input;
}

// As much as lines of inputs may be: what never ends fills no disk.
Status copy_lines(std::istream& from, std::ostream& to) {
  std::vector<char> block(std::size_t{64} * 1024);
  std::int64_t line = 1;
  std::size_t length = 0;
  for (std::uint64_t bytes = 0;
       from.read(block.data(), static_cast<std::streamsize>(block.size())), from.gcount() > 0;) {
    const std::string_view text(block.data(), static_cast<std::size_t>(from.gcount()));
    bytes += text.size();
    for (const char c : text) {
      length = c == '\n' ? 0 : length + 1;
      line += c == '\n' ? 1 : 0;
      if (length > json_bytes_max) return too_long("line " + std::to_string(line), json_bytes_max);
    }
    if (bytes > inputs_bytes_max) return too_long("inputs by a pipe", inputs_bytes_max);
    to.write(text.data(), static_cast<std::streamsize>(text.size()));
  }
  return Done{};
}

}  // namespace

Status for_each_input(const std::string& path, const std::function<Status(std::int64_t line, Json input)>& take) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return unreadable(path);
  std::vector<char> room(json_bytes_max + 2);  // the longest line that may be, and a bit: longer ones are not kept
  for (std::int64_t line = 1; read_line(file, room); ++line) {
    const std::string_view text = line_of(file, room);
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    Result<Json> input = input_of(line, text);
    if (!input) return input.error();
    if (Status taken = take(line, *std::move(input)); !taken) return taken;
  }
  if (file.bad()) return unreadable(path);
  return Done{};
}

Result<std::string> file_digest(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat found {};
  const bool readable = file >= 0 && fstat(file, &found) == 0;
  const std::size_t bytes = readable ? static_cast<std::size_t>(found.st_size) : 0;
  void* text = bytes == 0 ? nullptr : mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  if (file >= 0) close(file);
  if (!readable || text == MAP_FAILED) return unreadable(path);
  const Hash hash = sha256({static_cast<const char*>(text), bytes});
  if (text != nullptr) munmap(text, bytes);
  return hex(hash);
}

Result<std::string> readable_again(const std::string& path) {
  const bool is_stdin = path == "-";
  struct stat found {};
  const bool is_known = (is_stdin ? fstat(STDIN_FILENO, &found) : stat(path.c_str(), &found)) == 0;
  if (is_known && S_ISREG(found.st_mode) && !is_stdin) return path;
  const std::filesystem::path source = is_stdin ? "/dev/stdin" : path;
  std::ifstream from(source, std::ios::binary);
  std::string name = (std::filesystem::temp_directory_path() / "cairn-inputs-XXXXXX").string();
  const int copy = from ? mkostemp(name.data(), O_CLOEXEC) : -1;
  if (copy < 0) return unreadable(is_stdin ? "stdin" : path);
  unlink(name.c_str());
  const std::string again = "/proc/self/fd/" + std::to_string(copy);
  std::ofstream to(again, std::ios::binary);
  if (const Status copied = copy_lines(from, to); !copied) return copied.error();
  if (to.flush() && !from.bad()) return again;
  return unreadable(is_stdin ? "stdin" : path);
}

}  // namespace cairn
