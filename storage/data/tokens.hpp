// The API's tokens in PostgreSQL: a random secret that only its owner has, and a row with its hash, name, roles, scopes
// and quotas. Uses an Administration of its own, opened at the first use. Safe from any thread (one lock).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/id.hpp"
#include "engine/result.hpp"
#include "storage/digest.hpp"

namespace cairn {

class SharedAdministration;

struct TokenRow {
  std::string name;
  Hash hash{};                     // SHA-256 of the secret
  std::vector<std::string> roles;  // the texts of ops/requests/access.hpp
  std::vector<std::string> scopes;
  std::vector<std::string> quotas;
  TimeUs created_at = 0;
  std::string created_by;
  std::optional<TimeUs> revoked_at = {};
};

// 256 bits from the system's source, as "cairn_" and hexadecimal digits.
std::string new_secret();

class Tokens {
 public:
  explicit Tokens(std::string dsn);
  ~Tokens();
  Tokens(const Tokens&) = delete;
  Tokens& operator=(const Tokens&) = delete;

  // Every function refuses `unavailable` (no database, or a login without the right).
  // `created_at` and `revoked_at` are not read. Refuses `conflict`: the name was used, even if that token is revoked.
  Status add(const TokenRow& token);
  // Revoked ones too, oldest first.
  Result<std::vector<TokenRow>> list();
  // Again changes nothing. Refuses `not_found`.
  Status revoke(const std::string& name);

 private:
  std::unique_ptr<SharedAdministration> database_;
};

}  // namespace cairn
