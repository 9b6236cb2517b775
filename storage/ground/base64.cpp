#include "storage/ground/base64.hpp"

#include <openssl/evp.h>

#include "storage/ground/octets.hpp"

namespace cairn {
std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // with the zero that OpenSSL ends it with
  EVP_EncodeBlock(octets(text), octets(bytes), static_cast<int>(bytes.size()));
  text.pop_back();
  return text;
}

std::optional<std::string> parse_base64(std::string_view text) {
  std::string bytes(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(octets(bytes), octets(text), static_cast<int>(text.size()));
  if (size != static_cast<int>(bytes.size())) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  bytes.resize(bytes.size() - padding);
  if (base64(bytes) != text) return std::nullopt;  // OpenSSL takes white space and stray bits
  return bytes;
}

}  // namespace cairn
