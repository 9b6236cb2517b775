#include "ops/http/access/token_book.hpp"

#include <algorithm>
#include <cstdlib>
#include <spdlog/spdlog.h>

namespace cairn {
namespace {

constexpr long tick_ms = 100;
constexpr std::int64_t ticks_between_readings = 10;

// Looks at every byte, so that the time does not reveal the first difference.
bool is_same_hash(const Hash& one, const Hash& other) {
  volatile unsigned differences = 0;
  for (std::size_t i = 0; i < one.size(); ++i) differences = differences | static_cast<unsigned>(one[i] ^ other[i]);
  return differences == 0;
}

CallerRef caller_named(const std::string& name, Access access) {
  return std::make_shared<Caller>(Caller{"token:" + name, name, std::move(access)});
}

}  // namespace

std::string token_of_environment() {
  const char* token = std::getenv("CAIRN_TOKEN");
  return token == nullptr ? "" : token;
}

TokenBook::TokenBook(const std::string& dsn, const std::string& environment) : tokens_(dsn) {
  if (!environment.empty())
    environment_ = Entry{sha256(environment), caller_named("environment", {{ApiRole::admin}, {}, {}})};
}

Result<std::unique_ptr<TokenBook>> TokenBook::open(const std::string& dsn, const std::string& environment) {
  std::unique_ptr<TokenBook> book(new TokenBook(dsn, environment));
  if (dsn.empty()) return book;
  if (const Status read = book->read(); !read) return read.error();
  book->reader_ = std::make_unique<PeriodicThread>([raw = book.get()] { return raw->read_if_due(); });
  return book;
}

long TokenBook::read_if_due() {
  const bool is_wanted = is_wanted_.exchange(false);
  if (++ticks_ < ticks_between_readings && !is_wanted) return tick_ms;
  ticks_ = 0;
  if (const Status done = read(); !done) spdlog::debug("The tokens stay as they were: {}", done.error().message);
  return tick_ms;
}

Status TokenBook::read() {
  const Result<std::vector<TokenRow>> rows = tokens_.list();
  if (!rows) return rows.error();
  std::vector<Entry> entries;
  for (const TokenRow& row : *rows) {
    if (row.revoked_at) continue;
    Result<Access> access = access_of(row.roles, row.scopes, row.quotas);
    if (access)
      entries.push_back({row.hash, caller_named(row.name, *std::move(access))});
    else
      spdlog::warn("Token {} is not accepted: {}", row.name, access.error().message);
  }
  const std::lock_guard lock(mutex_);
  entries_ = std::move(entries);
  has_rows_ = !rows->empty();
  return Done{};
}

bool TokenBook::asks() const {
  const std::lock_guard lock(mutex_);
  return environment_.has_value() || has_rows_;
}

CallerRef TokenBook::find(std::string_view secret) const {
  const Hash hash = sha256(secret);
  CallerRef found;
  if (environment_ && is_same_hash(hash, environment_->hash)) found = environment_->caller;
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_)
    if (is_same_hash(hash, entry.hash)) found = entry.caller;
  return found;
}

bool TokenBook::knows(const Caller& caller) const {
  if (caller.token.empty()) return true;
  if (environment_ && caller.token == environment_->caller->token) return true;
  const std::lock_guard lock(mutex_);
  return std::any_of(entries_.begin(), entries_.end(),
                     [&caller](const Entry& entry) { return entry.caller->token == caller.token; });
}

}  // namespace cairn
