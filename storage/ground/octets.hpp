// Text as the bytes that OpenSSL takes. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>

namespace cairn {

inline const unsigned char* octets(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
inline unsigned char* octets(std::string& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

}  // namespace cairn
