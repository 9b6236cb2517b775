#include "storage/data/tokens.hpp"

#include <array>
#include <span>
#include <sys/random.h>

#include "engine/json.hpp"
#include "storage/postgres/shared_administration.hpp"

namespace cairn {
namespace {

std::vector<std::string> texts_of(const std::string& stored) { return parse_stored(stored); }

TokenRow token_of(const AdminRows& rows, std::size_t row) {
  TokenRow token;
  token.name = rows.text(row, 0);
  const std::optional<Hash> hash = parse_hash(rows.text(row, 1));
  CHECK(hash.has_value());
  token.hash = *hash;
  token.roles = texts_of(rows.text(row, 2));
  token.scopes = texts_of(rows.text(row, 3));
  token.quotas = texts_of(rows.text(row, 4));
  token.created_at = rows.number(row, 5);
  token.created_by = rows.text(row, 6);
  if (!rows.is_null(row, 7)) token.revoked_at = rows.number(row, 7);
  return token;
}

}  // namespace

std::string new_secret() {
  std::array<std::uint8_t, 32> bytes{};
  CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return "cairn_" + hex(bytes);
}

Tokens::Tokens(std::string dsn)
    : database_(std::make_unique<SharedAdministration>([dsn = std::move(dsn)]() -> Result<std::string> { return dsn; },
                                                       "cairn tokens", "the tokens", opening_limit_ms)) {}
Tokens::~Tokens() = default;

Status Tokens::add(const TokenRow& token) {
  return database_->use([&](Administration& database) -> Status {
    const AdminRows added =
        database.query("add_token", {token.name, hex(token.hash), Json(token.roles).dump(), Json(token.scopes).dump(),
                                     Json(token.quotas).dump(), token.created_by});
    if (added.size() == 1) return Done{};
    return Error{Code::conflict, "Expected a name that no token had before, but " + token.name + " was used."};
  });
}

Result<std::vector<TokenRow>> Tokens::list() {
  return database_->use([&](Administration& database) -> Result<std::vector<TokenRow>> {
    const AdminRows rows = database.query("tokens");
    rows.expect_columns({"name", "hash", "roles", "scopes", "quotas", "created_at", "created_by", "revoked_at"});
    std::vector<TokenRow> found;
    for (std::size_t row = 0; row < rows.size(); ++row) found.push_back(token_of(rows, row));
    return found;
  });
}

Status Tokens::revoke(const std::string& name) {
  return database_->use([&](Administration& database) -> Status {
    if (database.query("revoke_token", {name}).size() == 1) return Done{};
    return Error{Code::not_found, "Expected a token named " + name + ", but there is none: see `cairn token list`."};
  });
}

}  // namespace cairn
