#include "storage/data/link_key.hpp"

#include <array>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include "storage/postgres/shared_administration.hpp"

namespace cairn {
namespace {

std::string new_key() {
  std::array<std::uint8_t, 32> bytes{};
  CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return hex(bytes);
}

}  // namespace

Hash hmac_sha256(std::string_view key, std::string_view bytes) {
  Hash code{};
  unsigned size = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), data, bytes.size(), code.data(), &size);
  CHECK(size == code.size());
  return code;
}

bool is_same_code(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

LinkKey::LinkKey(std::string dsn)
    : database_(std::make_unique<SharedAdministration>([dsn = std::move(dsn)]() -> Result<std::string> { return dsn; },
                                                       "cairn links", "the key of links", opening_limit_ms)) {}
LinkKey::~LinkKey() = default;

Result<std::string> LinkKey::read() {
  return database_->use([&](Administration& database) -> Result<std::string> {
    AdminRows rows = database.query("link_key");
    if (rows.size() == 0) {
      database.query("put_link_key", {new_key()});
      rows = database.query("link_key");
    }
    rows.expect_columns({"key"});
    const std::optional<Hash> key = parse_hash(rows.text(0, 0));
    CHECK(key.has_value());
    return std::string(key->begin(), key->end());
  });
}

}  // namespace cairn
