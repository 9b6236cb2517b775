// Placements: where the rows of runs are. On one server there is one placement, the database. On a Citus cluster whose
// tables `cairn distribute` has distributed by `shard`, each Citus shard is one: its rows lie in tables of their own
// (`cairn.run_102008`) on one node. Statements about one of our shards go straight to that node and name those tables,
// so that it plans and executes them as one server would (decision 0076); questions about all runs are asked of each
// placement, and the caller joins the answers. Everything that is not of a run (graphs, queues, sessions, tokens) is
// reached through the node that the DSN names. Safe from any thread.
//
// A placement may move to another node (citus_move_shard_placement), and a node may get another address. Each
// transaction begins with `cairn.hold_shard`, which keeps its placement where it is until the transaction ends, and
// refuses (`shard_is_elsewhere`) if it is no longer there: then the placements are read again.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "storage/postgres/connection_pool.hpp"
#include "storage/postgres/shard_tables.hpp"

namespace cairn {

// While it lives, the connection's statements are about the tables of one shard.
class AboutShard {
 public:
  AboutShard(PgConnection& connection, const ShardTables& tables) : connection_(connection) {
    connection_.speak_of(&tables);
  }
  ~AboutShard() { connection_.speak_of(nullptr); }
  AboutShard(const AboutShard&) = delete;
  AboutShard& operator=(const AboutShard&) = delete;

 private:
  PgConnection& connection_;
};

class Placements {
 public:
  // `options`, `connections_max` and so on of each node: see PostgresPool. Nothing is asked before the first use, which
  // throws PostgresError if a cluster does not say where its shards are.
  Placements(PgConnectOptions options, int connections_max, std::int64_t patience_ms = 10'000,
             std::int64_t silence_min_ms = 1'000);

  // For what is not of a run.
  PostgresPool& whole() {
    are_distributed();  // its connections are set accordingly
    return whole_;
  }
  // Whether there is more than the one database: rows of two shards may lie on two nodes.
  bool are_distributed();

  // Lends a connection to the node of the shard to one call of `use`, as PostgresPool::run.
  template <class Use>
  auto run(Shard shard, Use&& use) {
    return at(
        shard, [&](PostgresPool& pool, const auto& bound) { return pool.run(bound); }, use);
  }
  template <class Use>
  auto run_widely(Shard shard, Use&& use) {
    return at(
        shard, [&](PostgresPool& pool, const auto& bound) { return pool.run_widely(bound); }, use);
  }
  PgResult query(Shard shard, std::string_view name, const PgParameters& parameters = {}) {
    return run(shard, [&](PgConnection& connection) { return connection.query(statement(name), parameters); });
  }
  PgResult query_widely(Shard shard, std::string_view name, const PgParameters& parameters = {}) {
    return run_widely(shard, [&](PgConnection& connection) { return connection.query(statement(name), parameters); });
  }

  // The same question to each placement, one after another: all rows of all runs.
  std::vector<PgResult> query_each(std::string_view name, const PgParameters& parameters = {});
  std::vector<PgResult> query_each_widely(std::string_view name, const PgParameters& parameters = {});
  // One of our shards for each placement: `run` with each of them reaches all rows.
  std::vector<Shard> one_shard_of_each();

  // Where notifications are sent and listened to: the whole's node, and each other node that has a placement.
  std::vector<PgConnectOptions> listened_to();

  // As PostgresPool::expect_identity, of each node. Called before the first use.
  void expect_identity(const std::string& identity);

  void give_up();

 private:
  struct Placement {
    PostgresPool* pool = nullptr;
    std::unique_ptr<ShardTables> tables;
  };

  template <class Lend, class Use>
  std::invoke_result_t<Use&, PgConnection&> at(Shard shard, const Lend& lend, Use& use) {
    if (!are_distributed()) return lend(whole_, use);
    for (Moves moves;;) {
      const std::shared_ptr<const Placement> placement = placement_of(shard);
      try {
        return lend(*placement->pool, [&](PgConnection& connection) {
          const AboutShard about(connection, *placement->tables);
          return use(connection);
        });
      } catch (const PostgresError& refused) {
        if (!moves.is_one_more(refused)) throw;
      } catch (const StoreUnavailable&) {
        read_again();  // its node may have got another address: the caller's next attempt finds it there
        throw;
      }
      read_again();
    }
  }

  // How often one call has followed its shard.
  class Moves {
   public:
    bool is_one_more(const PostgresError& refused);

   private:
    int count_ = 0;
  };

  std::shared_ptr<const Placement> placement_of(Shard shard);
  void read();
  void read_again();  // keeps what is known if the cluster does not answer
  PostgresPool& pool_of(const std::string& host, const std::string& port);

  const PgConnectOptions options_;
  const int connections_max_;
  const std::int64_t patience_ms_;
  const std::int64_t silence_min_ms_;
  PostgresPool whole_;
  enum class Kind : std::uint8_t { unknown, one_database, cluster };
  std::atomic<Kind> kind_{Kind::unknown};
  std::mutex asking_;
  std::int32_t shards_ = 1;  // of a cluster
  std::mutex mutex_;
  bool has_given_up_ = false;
  std::string identity_;  // that each node is expected to have; "": any
  std::map<std::pair<std::string, std::string>, std::unique_ptr<PostgresPool>> pools_;  // by host and port
  std::vector<std::shared_ptr<const Placement>> by_shard_;
};

}  // namespace cairn
