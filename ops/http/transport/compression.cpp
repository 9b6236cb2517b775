#include "ops/http/transport/compression.hpp"

#include <algorithm>
#include <zlib.h>

#include "engine/result.hpp"
#include "engine/text.hpp"

namespace cairn {
namespace {

constexpr int level = 1;              // JSON becomes a sixth or less; level 6 takes 2.7 times as long (decision 0084)
constexpr int gzip_window = 15 + 16;  // the largest window, in gzip's frame
constexpr int memory_level = 8;       // zlib's default

bool is_packed(const ApiResponse& response) {
  return std::any_of(response.headers.begin(), response.headers.end(),
                     [](const auto& header) { return header.first == "Content-Encoding"; });
}

bool is_compressible(const ApiResponse& response) {
  return response.body.size() >= compressed_bytes_min && !is_packed(response) &&
         (response.type.starts_with("application/") || response.type.starts_with("text/") ||
          response.type == "image/svg+xml");
}

// "gzip;q=0.5" as its name and whether its weight is above 0.
bool allows_gzip(std::string item) {
  std::erase_if(item, [](char c) { return c == ' ' || c == '\t'; });
  item = lowered(item);
  const std::size_t end = std::min(item.find(';'), item.size());
  const std::string name = item.substr(0, end);
  const std::string weight = item.substr(end);
  const bool is_none = weight.starts_with(";q=0") && weight.find_first_not_of("0.", 3) == std::string::npos;
  return (name == "gzip" || name == "x-gzip" || name == "*") && !is_none;
}

}  // namespace

bool accepts_gzip(std::string_view list) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (allows_gzip(std::string(list.substr(0, end)))) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

std::string gzipped(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, gzip_window, memory_level, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib does not write there
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int ended = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  CHECK(ended == Z_STREAM_END);
  return packed;
}

ApiResponse compressed_response(const ApiRequest& request, ApiResponse response) {
  if (!is_compressible(response)) return response;
  response.headers.emplace_back("Vary", "Accept-Encoding");
  if (!accepts_gzip(request.header("accept-encoding"))) return response;
  response.body = gzipped(response.body);
  response.headers.emplace_back("Content-Encoding", "gzip");
  for (auto& [name, value] : response.headers)
    if (name == "ETag") value = "W/" + value;
  return response;
}

}  // namespace cairn
