// A pool of a few connections, shared by all threads of a process, with retries: backoff with jitter, up to a limit of
// time that counts everything: waits for a connection, opening it, attempts, and pauses. Safe from any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "storage/another_database.hpp"
#include "storage/ground/jitter.hpp"
#include "storage/postgres/connection.hpp"

namespace cairn {

struct ServerLine;

// Settings of the connections of a pool to one database, together with commits_are_synced.sql; behind a pooler each
// transaction has them (local_settings.sql). The planner may have no statistics of our tables and must use the intended
// indexes all the same; a process that stops inside a transaction (stopped, swapped out) must not keep its locks; a
// statement whose client has given it up must not wait on; and whatever the database or the role has set, each
// statement must see what was committed before it (behind a pooler another isolation is refused), and warnings must
// arrive.
inline constexpr std::string_view hot_settings =
    "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off; "
    "SET enable_mergejoin = off; SET enable_bitmapscan = off; SET enable_sort = off; SET jit = off; "
    "SET idle_in_transaction_session_timeout = '5s'; SET client_connection_check_interval = '2s'; "
    "SET default_transaction_isolation = 'read committed'; SET client_min_messages = 'warning'; ";

// In place of them where Citus plans: it cannot plan for values that it does not see. A pool finds out by its first
// connection which of them are its own.
inline constexpr std::string_view citus_settings =
    "SET jit = off; SET idle_in_transaction_session_timeout = '5s'; SET client_connection_check_interval = '2s'; "
    "SET default_transaction_isolation = 'read committed'; SET client_min_messages = 'warning'; ";

// Begins a transaction in which the planner may read whole tables.
inline constexpr std::string_view begin_widely =
    "BEGIN; SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_bitmapscan = on; "
    "SET LOCAL enable_sort = on";

// Exponential backoff with jitter, until `patience_ms` have passed since it was made.
class Patience {
 public:
  explicit Patience(std::int64_t patience_ms);

  // Sleeps, or throws StoreUnavailable with the failure's text when no patience is left.
  void wait(const PostgresError& failure);
  std::int64_t left_ms() const;  // never below 0

 private:
  const std::int64_t patience_ms_;
  const std::int64_t until_us_;  // steady
  BackoffPauses pauses_;
};

class PostgresPool {
 public:
  // `silence_min_ms`: a statement has so long at least, whatever is left of the patience.
  PostgresPool(PgConnectOptions options, int connections_max, std::int64_t patience_ms = 10'000,
               std::int64_t silence_min_ms = 1'000);

  // From now on each new connection, and each transaction that passes a pooler, must lead to the database of this
  // identity, or AnotherDatabase is thrown. REQUIRES: no other thread asks meanwhile; no connection was lent yet.
  void expect_identity(std::string identity) { identity_ = std::move(identity); }

  // Lends a connection to one call of `use`, and calls it again after a transient failure. REQUIRES: `use` may be
  // repeated. Throws StoreUnavailable, and as StoreUnfit what no attempt cures by its place: another database, a pooler
  // of another mode; or PostgresError for another failure that an attempt would not cure.
  template <class Use>
  auto run(Use&& use) {
    return run_silent(0, std::forward<Use>(use));
  }

  PgResult query(std::string_view name, const PgParameters& parameters = {}) {
    return run([&](PgConnection& connection) { return connection.query(statement(name), parameters); });
  }

  // Like run(), inside a transaction for statements that read a whole table: it allows plans that are forbidden to the
  // other statements, and a longer silence of the server.
  template <class Use>
  auto run_widely(Use&& use) {
    return run_silent(wide_silence_ms, [&](PgConnection& connection) {
      connection.execute(begin_widely);
      auto result = use(connection);
      connection.execute("COMMIT");
      return result;
    });
  }
  PgResult query_widely(std::string_view name, const PgParameters& parameters = {}) {
    return run_widely([&](PgConnection& connection) { return connection.query(statement(name), parameters); });
  }

  // Other settings than those that the database asks for. REQUIRES: constant text; no connection was lent yet.
  void set_settings(std::string_view settings) { settings_ = settings; }

  // True where a Citus cluster has the tables of runs on its nodes. Throws as run().
  bool leads_to_cluster();

  // Calls under way and later ones fail at once, for good: the process ends, and the database may never answer.
  void give_up() { is_given_up_ = true; }

  const PgConnectOptions& options() const { return options_; }

 private:
  // A silent server has what is left of the patience to answer, and `silence_ms` or the pool's least if that is more.
  template <class Use>
  std::invoke_result_t<Use&, PgConnection&> run_silent(std::int64_t silence_ms, Use&& use) {
    Patience patience(patience_ms_);
    for (bool is_doubtful = false;;) {
      if (is_given_up_) throw StoreUnavailable("Expected to ask the database, but this process ends.");
      try {
        const Loan loan(*this, patience);
        loan.connection().limit_silence(std::max({patience.left_ms(), silence_ms, silence_min_ms_}));
        if (is_doubtful) loan.connection().query(statement("wait_for_standbys"));
        return use(loan.connection());
      } catch (const PostgresError& failure) {
        if (failure.sqlstate() == database_is_another) throw AnotherDatabase(failure.what());
        if (failure.sqlstate() == pooler_is_unfit) throw StoreUnfit(failure.what());
        if (failure.is_about_prepared()) throw StoreUnfit(prepared_elsewhere);
        if (!failure.is_transient()) throw;
        is_doubtful = is_doubtful || failure.sqlstate() == completion_unknown;
        if (!is_given_up_) patience.wait(failure);
      }
    }
  }

  // Returns a clean connection to the pool and closes any other.
  class Loan {
   public:
    Loan(PostgresPool& pool, const Patience& patience);
    ~Loan();
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    PgConnection& connection() const { return *connection_; }

   private:
    PostgresPool& pool_;
    std::unique_ptr<PgConnection> connection_;
  };

  std::unique_ptr<PgConnection> take(const Patience& patience);
  void give_back(std::unique_ptr<PgConnection> connection);
  std::unique_ptr<PgConnection> open(const Patience& patience);
  void check_identity(PgConnection& connection) const;
  void note_line(const ServerLine& met) const;
  bool is_cluster_there(PgConnection& connection);

  static constexpr const char* prepared_elsewhere =
      "Expected a prepared statement to stay with its connection, but a pooler has changed the connection: "
      "CAIRN_POOLER=transaction works behind it.";
  static constexpr std::int64_t wide_silence_ms = 60'000;

  std::atomic<bool> is_given_up_{false};
  const PgConnectOptions options_;
  const int connections_max_;
  const std::int64_t patience_ms_;
  const std::int64_t silence_min_ms_;
  std::string identity_;  // "": any
  std::mutex mutex_;
  std::optional<std::string_view> settings_;
  std::optional<bool> is_cluster_;
  std::condition_variable returned_;
  int lent_ = 0;
  std::vector<std::unique_ptr<PgConnection>> idle_;
};

}  // namespace cairn
