#include "workers/tools/corpus/vectors.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

namespace cairn {
namespace {

constexpr std::string_view vectors_mark = "cairn-vectors 1\n";
constexpr std::size_t key_bytes = std::tuple_size_v<Hash>;

template <class Number>
void put(std::string& bytes, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) bytes += static_cast<char>((number >> (8 * i)) & 0xFFU);
}

// Takes a number from the front; nothing if the bytes are too few.
template <class Number>
std::optional<Number> get(std::string_view& bytes) {
  if (bytes.size() < sizeof(Number)) return std::nullopt;
  Number number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    number |= static_cast<Number>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  bytes.remove_prefix(sizeof(Number));
  return number;
}

std::string_view sealed_part(std::string_view bytes) {
  if (bytes.size() < vectors_mark.size() + key_bytes || !bytes.starts_with(vectors_mark)) return {};
  const std::string_view body = bytes.substr(0, bytes.size() - key_bytes);
  const Hash hash = sha256(body);
  if (std::memcmp(hash.data(), bytes.data() + body.size(), key_bytes) != 0) return {};
  return body.substr(vectors_mark.size());
}

}  // namespace

std::string encode_vectors(const std::string& source, const Vectors& vectors) {
  const std::size_t parts = vectors.empty() ? 0 : vectors.begin()->second.size();
  std::string bytes(vectors_mark);
  bytes.reserve(bytes.size() + source.size() + 64 + vectors.size() * (key_bytes + parts * sizeof(float)));
  put(bytes, std::uint64_t{source.size()});
  bytes += source;
  put(bytes, static_cast<std::uint32_t>(parts));
  put(bytes, std::uint64_t{vectors.size()});
  for (const auto& [key, vector] : vectors) {
    bytes.append(reinterpret_cast<const char*>(key.data()), key.size());
    for (const float part : vector) put(bytes, std::bit_cast<std::uint32_t>(part));
  }
  const Hash hash = sha256(bytes);
  bytes.append(reinterpret_cast<const char*>(hash.data()), hash.size());
  return bytes;
}

std::optional<Vectors> decode_vectors(const std::string& source, std::string_view bytes) {
  std::string_view rest = sealed_part(bytes);
  const auto length = get<std::uint64_t>(rest);
  if (!length || *length != source.size() || !rest.starts_with(source)) return std::nullopt;
  rest.remove_prefix(source.size());
  const auto parts = get<std::uint32_t>(rest);
  const auto count = get<std::uint64_t>(rest);
  if (!parts || !count || *parts == 0 || *parts > vector_size_max) return std::nullopt;
  const std::size_t row = key_bytes + *parts * sizeof(float);
  if (*count != rest.size() / row || rest.size() % row != 0) return std::nullopt;
  Vectors vectors;
  while (!rest.empty()) {
    Hash key{};
    std::memcpy(key.data(), rest.data(), key_bytes);
    rest.remove_prefix(key_bytes);
    Vector vector(*parts);
    for (float& part : vector) part = std::bit_cast<float>(*get<std::uint32_t>(rest));
    vectors.emplace_hint(vectors.end(), key, std::move(vector));
  }
  return vectors;
}

}  // namespace cairn
