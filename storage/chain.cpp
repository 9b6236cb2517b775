#include "storage/chain.hpp"

#include <openssl/evp.h>

#include "storage/layout.hpp"

namespace cairn {
namespace {

// One digest context per thread: fetching the algorithm costs more than hashing an event.
class QuickDigest {
 public:
  QuickDigest() : algorithm_(EVP_MD_fetch(nullptr, "SHA256", nullptr)), context_(EVP_MD_CTX_new()) {
    CHECK(algorithm_ != nullptr && context_ != nullptr);
  }
  ~QuickDigest() {
    EVP_MD_CTX_free(context_);
    EVP_MD_free(algorithm_);
  }
  QuickDigest(const QuickDigest&) = delete;
  QuickDigest& operator=(const QuickDigest&) = delete;

  Hash of(std::string_view bytes) {
    Hash hash{};
    CHECK(EVP_DigestInit_ex2(context_, algorithm_, nullptr) == 1);
    CHECK(EVP_DigestUpdate(context_, bytes.data(), bytes.size()) == 1);
    CHECK(EVP_DigestFinal_ex(context_, hash.data(), nullptr) == 1);
    return hash;
  }

 private:
  EVP_MD* algorithm_;
  EVP_MD_CTX* context_;
};

std::optional<std::uint8_t> nibble(char digit) {
  if (digit >= '0' && digit <= '9') return static_cast<std::uint8_t>(digit - '0');
  if (digit >= 'a' && digit <= 'f') return static_cast<std::uint8_t>(digit - 'a' + 10);
  if (digit >= 'A' && digit <= 'F') return static_cast<std::uint8_t>(digit - 'A' + 10);
  return std::nullopt;
}

}  // namespace

std::string hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    text.push_back(digits[byte >> 4]);
    text.push_back(digits[byte & 15]);
  }
  return text;
}

std::optional<Hash> parse_hash(std::string_view hexadecimal) {
  Hash hash{};
  if (hexadecimal.size() != hash.size() * 2) return std::nullopt;
  for (std::size_t at = 0; at < hash.size(); ++at) {
    const auto high = nibble(hexadecimal[at * 2]);
    const auto low = nibble(hexadecimal[at * 2 + 1]);
    if (!high || !low) return std::nullopt;
    hash[at] = static_cast<std::uint8_t>(*high << 4 | *low);
  }
  return hash;
}

Hash sha256(std::string_view bytes) {
  thread_local QuickDigest digest;
  return digest.of(bytes);
}

Hash chain_start(const RunId& run, std::string_view graph_version) {
  Layout layout("CAIRN-RUN-1");
  layout.raw(run.bytes).text(graph_version);
  return sha256(layout.bytes());
}

Hash chain_next(const Hash& previous, Shard shard, const RunId& run, const EventRow& event) {
  return chain_next(previous, shard, run, event, event.commit);
}

Hash chain_next(const Hash& previous, Shard shard, const RunId& run, const EventRow& event, std::int64_t commit) {
  Layout layout("CAIRN-EVT-1");
  layout.number(static_cast<std::uint32_t>(shard), 4)
      .raw(run.bytes)
      .number(static_cast<std::uint64_t>(event.seq), 8)
      .number(static_cast<std::uint64_t>(event.at_us), 8)
      .number(static_cast<std::uint16_t>(event.type), 2)
      .number(static_cast<std::uint16_t>(event.version), 2)
      .number(static_cast<std::uint64_t>(commit), 8)
      .number(static_cast<std::uint32_t>(event.step), 4)
      .text(event.actor)
      .raw(sha256(event.payload))
      .raw(previous);
  return sha256(layout.bytes());
}

std::string graph_version(std::string_view canonical_text) { return hex(sha256(canonical_text)); }

}  // namespace cairn
