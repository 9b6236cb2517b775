#include "ops/audit/export_reader.hpp"

#include "engine/json_scan.hpp"

namespace cairn {
namespace {

constexpr std::size_t piece_bytes = 256 * 1024;
constexpr std::size_t short_line_bytes = 64 * 1024;  // whatever stands in it, it takes little memory
constexpr int fields_max = 32;

// A line of an export is an object of texts and numbers. Anything else that is long could take thirty times its bytes
// when it is parsed.
bool is_flat(std::string_view line) {
  int fields = 0;
  for (std::size_t at = 0; at < line.size() && fields <= fields_max;) {
    const char here = line[at++];
    if (here == '"') at = after_string(line, at);
    if (here == ':') ++fields;
  }
  return fields <= fields_max && levels_of(line) <= 1;
}

}  // namespace

ExportReader::ExportReader(const std::string& path) : path_(path), file_(path, std::ios::binary) {
  char first[4] = {};
  file_.read(first, sizeof first);
  const bool compressed = is_zstd({first, static_cast<std::size_t>(file_.gcount())});
  file_.clear(file_.rdstate() & ~(std::ios::eofbit | std::ios::failbit));
  file_.seekg(0);
  if (!compressed) return;
  zstd_ = std::make_unique<ZstdReader>([this](char* into, std::size_t size) {
    file_.read(into, static_cast<std::streamsize>(size));
    return static_cast<std::size_t>(file_.gcount());
  });
}

// At least one more byte, or `is_over_`.
Status ExportReader::more() {
  bytes_.erase(0, at_);
  at_ = 0;
  if (zstd_ != nullptr) {
    const Result<std::string_view> read = zstd_->read();
    if (!read) return read.error();
    bytes_ += *read;
    is_over_ = read->empty();
    return Done{};
  }
  const std::size_t before = bytes_.size();
  bytes_.resize(before + piece_bytes);
  file_.read(bytes_.data() + before, piece_bytes);
  bytes_.resize(before + static_cast<std::size_t>(file_.gcount()));
  is_over_ = bytes_.size() == before;
  return Done{};
}

Result<std::optional<std::string>> ExportReader::next_line() {
  for (std::size_t scanned = 0;;) {
    const std::size_t end = bytes_.find('\n', at_ + scanned);
    if (end != std::string::npos) {
      std::string line = bytes_.substr(at_, end - at_);
      at_ = end + 1;
      return std::optional(std::move(line));
    }
    scanned = bytes_.size() - at_;
    if (is_over_ && scanned == 0) return std::optional<std::string>();
    if (is_over_)
      return Error{Code::invalid, "Expected line " + std::to_string(line_ + 1) + " of " + path_ +
                                      " to have an end, but the file is cut off there."};
    if (scanned > json_bytes_max)
      return Error{Code::limit, "Expected lines of at most " + std::to_string(json_bytes_max) + " bytes in " + path_ +
                                    ", but line " + std::to_string(line_ + 1) + " has more."};
    if (Status read = more(); !read) return read.error();
  }
}

Result<std::optional<Json>> ExportReader::next() {
  if (line_ == 0 && !file_)
    return Error{Code::not_found, "Expected an export in " + path_ + ", but there is no file that can be read."};
  hash_before_ = digest_.hash();
  Result<std::optional<std::string>> text = next_line();
  if (!text) return text.error();
  if (!*text) return std::optional<Json>();
  ++line_;
  digest_.add(**text);
  digest_.add("\n");
  if ((*text)->size() > short_line_bytes && !is_flat(**text))
    return Error{Code::invalid, "Expected texts and numbers in line " + std::to_string(line_) + " of " + path_ +
                                    ", but found something else."};
  Result<Json> read = parse_json(**text, "line " + std::to_string(line_) + " of " + path_);
  if (!read) return read.error();
  if (!read->is_object())
    return Error{Code::invalid, "Expected an object in line " + std::to_string(line_) + " of " + path_ +
                                    ", but found " + excerpt(*read, 100) + "."};
  return std::optional(*std::move(read));
}

}  // namespace cairn
