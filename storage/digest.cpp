#include "storage/digest.hpp"

#include <openssl/evp.h>

namespace cairn {
namespace {

struct Free {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, Free>;

}  // namespace

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
