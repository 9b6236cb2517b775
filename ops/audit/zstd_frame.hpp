// A Zstandard frame, written or read piece by piece (streaming). Not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "engine/result.hpp"

namespace cairn {

// True for the first bytes of a frame.
bool is_zstd(std::string_view first_bytes);

class ZstdWriter {
 public:
  using Sink = std::function<void(std::string_view)>;
  explicit ZstdWriter(Sink sink);
  ~ZstdWriter();

  void write(std::string_view bytes);
  void end();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

class ZstdReader {
 public:
  using Source = std::function<std::size_t(char* into, std::size_t size)>;  // 0: no more
  explicit ZstdReader(Source source);
  ~ZstdReader();

  // The next bytes, valid until the next call; none at the end. Refuses `invalid`: no frame, a truncated one, or one
  // that needs a window above 8 MiB to be read.
  Result<std::string_view> read();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
