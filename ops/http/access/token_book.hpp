// The tokens that the API accepts: those of the database, read again every second, so that what another process adds or
// revokes counts soon, and the one in CAIRN_TOKEN. Only hashes are kept. Safe from any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/requests/access.hpp"
#include "storage/data/tokens.hpp"
#include "workers/runtime/periodic_thread.hpp"

namespace cairn {

// A client as the API knows it.
struct Caller {
  std::string actor;  // in the events of what it does: "token:NAME"; "api" where no token is asked
  std::string token;  // the name; "": none
  Access access;
};
using CallerRef = std::shared_ptr<const Caller>;  // shared: requests and streams outlive a reading of the table

class TokenBook {
 public:
  // Reads the table at once. `environment`: the token in CAIRN_TOKEN, which is named "environment" and may everything;
  // "": none. `dsn` "": there is no table. Refuses `unavailable`: the table cannot be read.
  static Result<std::unique_ptr<TokenBook>> open(const std::string& dsn, const std::string& environment);

  // A token was ever made, or is in the environment: from then on one is asked of everyone.
  bool asks() const;
  // The owner of the secret; null if there is none, or its token is revoked. In constant time for each known token.
  CallerRef find(std::string_view secret) const;
  // Its token is not revoked. True for a caller without one.
  bool knows(const Caller& caller) const;
  // The table is read again within a tenth of a second.
  void refresh_soon() { is_wanted_ = true; }

 private:
  struct Entry {
    Hash hash{};
    CallerRef caller;
  };
  TokenBook(const std::string& dsn, const std::string& environment);
  Status read();
  long read_if_due();

  Tokens tokens_;
  std::optional<Entry> environment_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // of the table, not revoked
  bool has_rows_ = false;
  std::atomic<bool> is_wanted_ = false;
  std::int64_t ticks_ = 0;  // since the last reading
  std::unique_ptr<PeriodicThread> reader_;
};

// CAIRN_TOKEN; "": there is none.
std::string token_of_environment();

}  // namespace cairn
