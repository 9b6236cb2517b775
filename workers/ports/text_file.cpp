#include "workers/ports/text_file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <unistd.h>

#include "engine/json.hpp"

namespace cairn {
namespace {

Error unreadable(const std::string& what, int number) {
  return {Code::not_found, "Expected " + what + ", but it cannot be read: " + std::strerror(number) + "."};
}

}  // namespace

Result<std::string> read_text(int file, const std::string& what) {
  std::string text;
  std::array<char, 64 * 1024> block;
  for (;;) {
    const ssize_t bytes = ::read(file, block.data(), block.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return unreadable(what, errno);
    if (bytes == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(bytes));
    if (text.size() > json_bytes_max)
      return Error{Code::limit, "Expected " + what + " to have at most " + std::to_string(json_bytes_max) +
                                    " bytes, but it has more."};
  }
}

Result<std::string> read_text_file(const std::string& path, const std::string& what) {
  const std::string named = what + " at " + path;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return unreadable(named, errno);
  Result<std::string> text = read_text(file, named);
  ::close(file);
  return text;
}

Status write_text_file(const std::string& path, const std::string& text, const std::string& what) {
  const std::string part = path + ".part";
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file.good() && std::rename(part.c_str(), path.c_str()) == 0) return Done{};
  std::remove(part.c_str());
  return Error{Code::unavailable, "Expected to write " + what + " to " + path + ", but it cannot be written."};
}

Result<Json> read_json_file(const std::string& path, const std::string& what) {
  const Result<std::string> text = read_text_file(path, what);
  if (!text) return text.error();
  return parse_json(*text, what + " at " + path);
}

}  // namespace cairn
