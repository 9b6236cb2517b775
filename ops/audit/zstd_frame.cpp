#include "ops/audit/zstd_frame.hpp"

#include <string>
#include <zstd.h>

namespace cairn {
namespace {

struct Free {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

constexpr int window_log_max = 23;  // 8 MiB; the writer's window is 2 MiB
constexpr std::string_view magic = "\x28\xb5\x2f\xfd";

}  // namespace

bool is_zstd(std::string_view first_bytes) { return first_bytes.starts_with(magic); }

struct ZstdWriter::Parts {
  Sink sink;
  std::unique_ptr<ZSTD_CCtx, Free> context{ZSTD_createCCtx()};
  std::string out = std::string(ZSTD_CStreamOutSize(), '\0');

  void push(std::string_view bytes, ZSTD_EndDirective directive) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (;;) {
      ZSTD_outBuffer made{out.data(), out.size(), 0};
      const std::size_t left = ZSTD_compressStream2(context.get(), &made, &in, directive);
      CHECK(ZSTD_isError(left) == 0);
      if (made.pos > 0) sink({out.data(), made.pos});
      if (directive == ZSTD_e_end ? left == 0 : in.pos == in.size) return;
    }
  }
};

ZstdWriter::ZstdWriter(Sink sink) : parts_(std::make_unique<Parts>()) {
  parts_->sink = std::move(sink);
  ZSTD_CCtx_setParameter(parts_->context.get(), ZSTD_c_checksumFlag, 1);
}
ZstdWriter::~ZstdWriter() = default;
void ZstdWriter::write(std::string_view bytes) { parts_->push(bytes, ZSTD_e_continue); }
void ZstdWriter::end() { parts_->push({}, ZSTD_e_end); }

struct ZstdReader::Parts {
  Source source;
  std::unique_ptr<ZSTD_DCtx, Free> context{ZSTD_createDCtx()};
  std::string in = std::string(ZSTD_DStreamInSize(), '\0');
  std::string out = std::string(ZSTD_DStreamOutSize(), '\0');
  ZSTD_inBuffer given{in.data(), 0, 0};
  bool is_open = true;  // the frame has not ended
};

ZstdReader::ZstdReader(Source source) : parts_(std::make_unique<Parts>()) {
  parts_->source = std::move(source);
  ZSTD_DCtx_setParameter(parts_->context.get(), ZSTD_d_windowLogMax, window_log_max);
}
ZstdReader::~ZstdReader() = default;

Result<std::string_view> ZstdReader::read() {
  Parts& at = *parts_;
  for (;;) {
    if (at.given.pos == at.given.size) at.given = {at.in.data(), at.source(at.in.data(), at.in.size()), 0};
    const bool is_over = at.given.size == 0;
    if (is_over && !at.is_open) return std::string_view();
    ZSTD_outBuffer made{at.out.data(), at.out.size(), 0};
    const std::size_t left = ZSTD_decompressStream(at.context.get(), &made, &at.given);
    if (ZSTD_isError(left) != 0 || (is_over && made.pos == 0))
      return Error{Code::invalid, "Expected one whole Zstandard frame, but it is broken or cut off."};
    at.is_open = left != 0;
    if (made.pos > 0) return std::string_view(at.out.data(), made.pos);
  }
}

}  // namespace cairn
