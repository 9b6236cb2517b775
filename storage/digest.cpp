#include "storage/digest.hpp"

#include <openssl/evp.h>

#include "engine/result.hpp"
#include "engine/text.hpp"

namespace cairn {
namespace {

// A digest context that a thread keeps: fetching the algorithm costs more than hashing an event.
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

struct Free {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, Free>;

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
    const int high = hex_digit(hexadecimal[at * 2]);
    const int low = hex_digit(hexadecimal[at * 2 + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    hash[at] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return hash;
}

Hash sha256(std::string_view bytes) {
  thread_local QuickDigest digest;
  return digest.of(bytes);
}

struct Digest::Parts {
  Context context{EVP_MD_CTX_new()};
};

Digest::Digest() : parts_(std::make_unique<Parts>()) {
  CHECK(EVP_DigestInit_ex2(parts_->context.get(), EVP_sha256(), nullptr) == 1);
}
Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;

void Digest::add(std::string_view bytes) {
  CHECK(EVP_DigestUpdate(parts_->context.get(), bytes.data(), bytes.size()) == 1);
}

Hash Digest::hash() const {
  const Context copy(EVP_MD_CTX_new());
  Hash hash{};
  CHECK(EVP_MD_CTX_copy_ex(copy.get(), parts_->context.get()) == 1);
  CHECK(EVP_DigestFinal_ex(copy.get(), hash.data(), nullptr) == 1);
  return hash;
}

}  // namespace cairn
