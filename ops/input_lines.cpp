#include "ops/input_lines.hpp"

#include <fcntl.h>
#include <fstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/chain.hpp"

namespace cairn {
namespace {

Error unreadable(const std::string& path) {
  return {Code::not_found, "Expected inputs in the file " + path + ", but it cannot be read."};
}

Result<Json> input_of(std::int64_t line, const std::string& text) {
  const std::string what = "line " + std::to_string(line);
  Result<Json> input = parse_json(text, what);
  if (input && !input->is_object())
    return Error{Code::invalid, "Expected an input object on " + what + ", but found " + excerpt(*input, 60) + "."};
  return input;
}

}  // namespace

Status for_each_input(const std::string& path, const std::function<Status(std::int64_t line, Json input)>& take) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return unreadable(path);
  std::string text;
  for (std::int64_t line = 1; std::getline(file, text); ++line) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
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

}  // namespace cairn
