// A pool of a few connections, shared by all threads of a process, with retries: backoff with jitter, up to a limit.
// Safe from any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <vector>

#include "storage/postgres/connection.hpp"

namespace cairn {

// Settings of every pooled connection. The planner may have no statistics of our tables and must use the intended
// indexes all the same; and a process that stops inside a transaction (stopped, swapped out) must not keep its locks.
inline constexpr std::string_view hot_settings =
    "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off; "
    "SET enable_mergejoin = off; SET enable_bitmapscan = off; SET enable_sort = off; SET jit = off; "
    "SET idle_in_transaction_session_timeout = '5s'";

// Begins a transaction in which the planner may read whole tables.
inline constexpr std::string_view begin_widely =
    "BEGIN; SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_bitmapscan = on; "
    "SET LOCAL enable_sort = on";

// Exponential backoff with jitter, until `patience_ms` of waiting are used up.
class Patience {
 public:
  explicit Patience(std::int64_t patience_ms) : patience_ms_(patience_ms) {}

  // Sleeps, or throws StoreUnavailable with the failure's text when no patience is left.
  void wait(const PostgresError& failure);

 private:
  const std::int64_t patience_ms_;
  std::int64_t waited_ms_ = 0;
  std::int64_t next_ms_ = 5;
  std::optional<std::mt19937_64> random_;  // made at the first wait: expensive, and rarely needed
};

class PostgresPool {
 public:
  PostgresPool(PgConnectOptions options, int connections_max, std::int64_t patience_ms = 10'000);

  // Lends a connection to one call of `use`, and calls it again after a transient failure. REQUIRES: `use` may be
  // repeated. Throws StoreUnavailable, or PostgresError for a failure that another attempt would not cure.
  template <class Use>
  auto run(Use&& use) {
    Patience patience(patience_ms_);
    for (;;) {
      try {
        const Loan loan(*this);
        return use(loan.connection());
      } catch (const PostgresError& failure) {
        if (!failure.is_transient()) throw;
        patience.wait(failure);
      }
    }
  }

  PgResult query(std::string_view name, const PgParameters& parameters = {}) {
    return run([&](PgConnection& connection) { return connection.query(statement(name), parameters); });
  }

  // Like run(), inside a transaction for statements that read a whole table: it allows plans that are forbidden to the
  // other statements.
  template <class Use>
  auto run_widely(Use&& use) {
    return run([&](PgConnection& connection) {
      connection.execute(begin_widely);
      auto result = use(connection);
      connection.execute("COMMIT");
      return result;
    });
  }
  PgResult query_widely(std::string_view name, const PgParameters& parameters = {}) {
    return run_widely([&](PgConnection& connection) { return connection.query(statement(name), parameters); });
  }

  const PgConnectOptions& options() const { return options_; }

 private:
  // Returns a clean connection to the pool and closes any other.
  class Loan {
   public:
    explicit Loan(PostgresPool& pool);
    ~Loan();
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    PgConnection& connection() const { return *connection_; }

   private:
    PostgresPool& pool_;
    std::unique_ptr<PgConnection> connection_;
  };

  std::unique_ptr<PgConnection> take();
  void give_back(std::unique_ptr<PgConnection> connection);
  std::unique_ptr<PgConnection> open() const;

  const PgConnectOptions options_;
  const int connections_max_;
  const std::int64_t patience_ms_;
  std::mutex mutex_;
  std::condition_variable returned_;
  int lent_ = 0;
  std::vector<std::unique_ptr<PgConnection>> idle_;
};

}  // namespace cairn
