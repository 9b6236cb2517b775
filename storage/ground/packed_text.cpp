#include "storage/ground/packed_text.hpp"

#include <memory>
#include <optional>
#include <zstd.h>

#include "engine/result.hpp"
#include "storage/ground/base64.hpp"

namespace cairn {
namespace {

constexpr std::string_view mark = "zstd:";
constexpr std::size_t unpacked_bytes_max = std::size_t{1} << 30;  // as PostgreSQL's own of a value

struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

}  // namespace

std::string packed_text(std::string_view text) {
  if (text.size() < packed_bytes_min) return std::string(text);
  const std::unique_ptr<ZSTD_CCtx, FreeCompressor> context(ZSTD_createCCtx());
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, 1);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string bytes(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ZSTD_compress2(context.get(), bytes.data(), bytes.size(), text.data(), text.size());
  CHECK(ZSTD_isError(size) == 0);
  std::string packed = std::string(mark) + base64(std::string_view(bytes).substr(0, size));
  return packed.size() < text.size() ? packed : std::string(text);
}

std::string unpacked_text(std::string_view stored) {
  if (!stored.starts_with(mark)) return std::string(stored);
  const std::optional<std::string> bytes = parse_base64(stored.substr(mark.size()));
  if (!bytes) return std::string(stored);
  const unsigned long long size = ZSTD_getFrameContentSize(bytes->data(), bytes->size());
  if (size > unpacked_bytes_max) return std::string(stored);  // also those that say: not known, or damaged
  std::string text(static_cast<std::size_t>(size), '\0');
  const std::size_t read = ZSTD_decompress(text.data(), text.size(), bytes->data(), bytes->size());
  return ZSTD_isError(read) != 0 || read != text.size() ? std::string(stored) : text;
}

}  // namespace cairn
