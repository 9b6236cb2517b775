// The fixed binary layout of everything that is hashed or signed: a mark with the kind and version, then integers
// big-endian, and text as u32 length and bytes. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cairn {

class Layout {
 public:
  explicit Layout(std::string_view mark) { bytes_.append(mark); }

  Layout& number(std::uint64_t value, int width) {
    for (int shift = (width - 1) * 8; shift >= 0; shift -= 8) bytes_.push_back(static_cast<char>(value >> shift));
    return *this;
  }
  Layout& raw(std::span<const std::uint8_t> bytes) {
    bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return *this;
  }
  Layout& text(std::string_view text) {
    number(text.size(), 4);
    bytes_.append(text);
    return *this;
  }
  std::string_view bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace cairn
