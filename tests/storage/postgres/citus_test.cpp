// The behaviour that only a Citus cluster shows: shards that move, limits across nodes, statements that stay on one
// node. `ops/cluster test` starts the nodes; without them there are no such tests.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <thread>
#include <unistd.h>

#include "engine/event_types.hpp"
#include "storage/migration/distribution.hpp"
#include "storage/migration/migrator.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection_pool.hpp"
#include "storage/postgres/placements.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "storage/proof/run_records.hpp"
#include "tests/storage/set_limits.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/storage/test_runs.hpp"
#include "tests/waiting.hpp"

namespace cairn::test {
namespace {

using Kind = Verdict::Kind;
constexpr std::int32_t shards = 8;

class CitusTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    dsn_ = new_distributed_database(shards);
    store_ = store_on(dsn_);
  }

  // The Citus shard of `run` that has our shard, and the port of its node.
  std::int64_t citus_shard_of(Shard shard) const {
    return ask_number(dsn_, "select get_shard_id_for_distribution_column('cairn.run', " + std::to_string(shard) + ")");
  }
  std::string port_of(Shard shard) const {
    return ask_text(dsn_,
                    "select n.nodeport from pg_dist_placement p join pg_dist_node n using (groupid) where shardid = " +
                        std::to_string(citus_shard_of(shard)));
  }
  std::string other_port(Shard shard) const {
    return ask_text(dsn_,
                    "select min(nodeport) from pg_dist_node where shouldhaveshards and nodeport <> " + port_of(shard));
  }
  // Again for a while where the cluster cannot remove yet what an earlier move has left.
  void move(Shard shard, const std::string& mode) const {
    const std::string host = ask_text(dsn_, "select min(nodename) from pg_dist_node");
    PgConnection connection({dsn_, "mover", false});
    connection.limit_silence(120'000);
    const std::string statement = "select citus_move_shard_placement(" + std::to_string(citus_shard_of(shard)) + ", '" +
                                  host + "', " + port_of(shard) + ", '" + host + "', " + other_port(shard) + ", '" +
                                  mode + "')";
    for (int tries = 20;; --tries) {
      try {
        return connection.execute(statement);
      } catch (const PostgresError& refused) {
        if (tries == 0 || std::string_view(refused.what()).find("leftover from the previous move") == std::string::npos)
          throw;
        std::this_thread::sleep_for(std::chrono::seconds(1));
      }
    }
  }

  // How many statements Citus has planned on each node, the DSN's first; after count_plans().
  std::vector<std::int64_t> planned() const {
    std::vector<std::int64_t> counts;
    for (const std::string& node : on_each_node(dsn_)) counts.push_back(planned_on(node));
    return counts;
  }
  void count_plans() const {
    for (const std::string& node : on_each_node(dsn_)) {
      PgConnection admin({node, "test", false});
      admin.execute("alter system set citus.enable_stat_counters = on");
      admin.execute("select pg_reload_conf()");
    }
    for (const std::string& node : on_each_node(dsn_)) {
      const std::int64_t before = planned_on(node);
      EXPECT_TRUE(wait_until([&] {
        ask(node, "select count(*) from cairn.run");
        return planned_on(node) > before;
      })) << "what Citus plans is counted on "
          << node;
    }
  }
  static std::int64_t planned_on(const std::string& node) {
    return ask_number(node,
                      "select coalesce(sum(query_execution_single_shard + query_execution_multi_shard), 0) "
                      "from citus_stat_counters((select oid from pg_database where datname = current_database()))");
  }

  // The run's last event, as the cluster says once it answers.
  std::int64_t stored_head(const RunId& run) const {
    std::int64_t head = 0;
    EXPECT_TRUE(wait_until([&] {
      try {
        const std::optional<RunRow> row = store_->run(run);
        head = row ? row->head : 0;
        return true;
      } catch (const StoreUnavailable&) {
        return false;
      }
    }));
    return head;
  }

  std::string dsn_;
  std::unique_ptr<Store> store_;
};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CitusTest);
INSTANTIATE_TEST_SUITE_P(Cluster, CitusTest,
                         ::testing::ValuesIn(has_citus_cluster() ? std::vector<const char*>{"citus"}
                                                                 : std::vector<const char*>{}),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(CitusTest, the_shards_are_spread_evenly_and_distributing_again_changes_nothing) {
  std::map<std::string, int> count;
  for (Shard shard = 0; shard < shards; ++shard) ++count[port_of(shard)];
  ASSERT_EQ(count.size(), 2u);
  EXPECT_LE(std::abs(count.begin()->second - count.rbegin()->second), 1);
  const Result<DistributeReport> again = distribute(dsn_);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->tables.empty());
  EXPECT_EQ(again->moved, 0);
}

TEST_P(CitusTest, tables_that_are_in_use_are_not_distributed_while_a_worker_is_at_work) {
  const std::string dsn = new_distributed_database(shards);
  SessionRow session;
  session.id = 7;
  store_on(dsn)->sessions().open(session);
  store_on(dsn)->sessions().beat(7);
  PgConnection owner({dsn, "test", false});
  owner.execute("create table cairn.not_known (shard int)");
  owner.execute("drop table cairn.not_known");
  owner.execute("select undistribute_table('cairn.passage')");
  owner.execute("insert into cairn.passage (position, corpus, source, title, text) values (0, 'c', 's', '', 't')");
  const Result<DistributeReport> refused = distribute(dsn);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::conflict) << refused.error().message;
  store_on(dsn)->sessions().close(7);
  const Result<DistributeReport> done = distribute(dsn);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->tables, std::vector<std::string>{"passage"});
}

// As one that a migration has added: the schema had moved on, and then it was refused while workers were at work.
TEST_P(CitusTest, a_table_without_rows_is_distributed_while_workers_are_at_work) {
  const std::string dsn = new_distributed_database(shards);
  const std::unique_ptr<Store> store = store_on(dsn);
  SessionRow session;
  session.id = 7;
  store->sessions().open(session);
  store->sessions().beat(7);
  ask(dsn, "select undistribute_table('cairn.passage')");
  EXPECT_EQ(*undistributed_tables(dsn), std::vector<std::string>{"passage"});
  const Result<DistributeReport> done = distribute(dsn);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->tables, std::vector<std::string>{"passage"});
  EXPECT_TRUE(undistributed_tables(dsn)->empty());
}

// A cluster as release 27 of the schema left it, with its tables distributed.
void return_to_release_27(const std::string& dsn) {
  for (const char* table : {"rate", "key_turn", "queue_change", "hook", "hook_note", "hook_delivery", "start_key",
                            "waiting_start", "budget_use"})
    ask(dsn, std::string("drop table cairn.") + table);
  for (const char* column : {"limits", "revision", "change_began", "before_revision", "before_concurrency",
                             "before_paused", "before_limits"})
    ask(dsn, std::string("alter table cairn.queue drop column ") + column);
  ask(dsn, "drop index cairn.job_due_of_key");
  ask(dsn, "alter table cairn.job drop column limit_key");
  ask(dsn, "alter table cairn.permit drop column key");
  ask(dsn, "alter table cairn.worker drop column begun");
  ask(dsn, "delete from cairn.migration where number > 27");
}

// The text of several statements was refused by the nodes as soon as one of them changed a table that was distributed:
// no cluster could be migrated.
TEST_P(CitusTest, a_cluster_of_an_older_release_is_migrated_and_its_runs_go_on) {
  std::vector<TestRun> runs;
  for (Shard shard = 0; shard < shards; ++shard) {
    runs.emplace_back(*store_, shard);
    ASSERT_EQ(runs.back().start(job_of(1, 1)).kind, Kind::committed);
  }
  store_.reset();
  return_to_release_27(dsn_);
  const Result<MigrateReport> migrated = migrate(dsn_, 0);
  ASSERT_TRUE(migrated) << migrated.error().message;
  EXPECT_EQ(migrated->from, 27);
  const Result<DistributeReport> distributed = distribute(dsn_);
  ASSERT_TRUE(distributed) << distributed.error().message;
  EXPECT_EQ(distributed->tables.size(), 9u);
  EXPECT_EQ(distributed->moved, 0);
  const std::unique_ptr<Store> store = store_on(dsn_);
  ASSERT_TRUE(set_limits(*store, {.name = "few", .concurrency = 1, .rate = StartRate{1, 1'000'000, 1}}));
  for (Shard shard = 0; shard < shards; ++shard) {
    EXPECT_EQ(store->claim(claim_request(9, 10, shard)).jobs.size(), 1u) << shard;
    EXPECT_EQ(store->run(runs[static_cast<std::size_t>(shard)].id())->head, 1);
  }
}

// `cairn serve` has no session, and went on with plans of the tables as they were.
TEST_P(CitusTest, tables_that_are_in_use_are_not_distributed_while_another_program_is_connected) {
  const std::string dsn = new_distributed_database(shards);
  ask(dsn, "select undistribute_table('cairn.passage')");
  ask(dsn, "insert into cairn.passage (position, corpus, source, title, text) values (0, 'c', 's', '', 't')");
  auto serving = std::make_unique<PgConnection>(PgConnectOptions{dsn, "cairn", false});
  const Result<DistributeReport> refused = distribute(dsn);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::conflict);
  EXPECT_NE(refused.error().message.find("end `cairn serve`"), std::string::npos) << refused.error().message;
  serving.reset();
  const Result<DistributeReport> done = distribute(dsn);
  EXPECT_TRUE(done) << done.error().message;
}

TEST(Distribution, sees_programs_that_are_connected_and_not_itself) {
  const std::string dsn = new_database(1);
  Administration database(dsn, "cairn distribute");
  const Administration migrating(dsn, "cairn migrate");
  const PgConnection other({dsn, "psql", false});
  EXPECT_EQ(database.query("programs_connected").size(), 0u);
  const PgConnection serving({dsn, "cairn", false});
  const PgConnection sending({dsn, "traces of cairn", false});
  const AdminRows seen = database.query("programs_connected");
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen.text(0, 0), "cairn");
  EXPECT_EQ(seen.number(0, 1), 1);
}

// A step's way (claim, commit, history) plans nothing by Citus: its counters stay where they are on every node.
TEST_P(CitusTest, a_step_is_planned_by_its_node_alone) {
  count_plans();
  std::vector<TestRun> runs;
  for (Shard shard = 0; shard < shards; ++shard) {
    runs.emplace_back(*store_, shard);
    ASSERT_EQ(runs.back().start(job_of(1, 1)).kind, Kind::committed);
  }
  const std::vector<std::int64_t> before = planned();
  for (Shard shard = 0; shard < shards; ++shard) {
    const std::vector<HeldJob> held = store_->claim(claim_request(9, 10, shard)).jobs;
    ASSERT_EQ(held.size(), 1u);
    EXPECT_EQ(store_->events(held[0].run, 0, 10).size(), 1u);
    TestRun& run = runs[static_cast<std::size_t>(shard)];
    Entry entry = run.entry();
    entry.fences = {fence_of(held[0])};
    entry.jobs = {drop(1)};
    EXPECT_EQ(run.commit(entry).kind, Kind::committed);
  }
  EXPECT_EQ(planned(), before);
}

// The nodes of the shards plan nothing by Citus for it either. The DSN's node plans the lock of the queue for a claim,
// and nothing for what comes after it.
TEST_P(CitusTest, a_step_of_a_limited_queue_is_planned_by_its_node_but_for_the_lock_of_the_queue) {
  count_plans();
  ASSERT_TRUE(set_limits(
      *store_, {.name = "few", .concurrency = 100, .budgets = {{BudgetUnit::tokens, BudgetWindow::month, 1'000}}}));
  std::vector<TestRun> runs;
  for (Shard shard = 0; shard < shards; ++shard) {
    runs.emplace_back(*store_, shard);
    ASSERT_EQ(runs.back().start(job_of(1, 1, noon, "few")).kind, Kind::committed);
  }
  const auto claim_all = [&] {
    std::vector<HeldJob> all;
    for (Shard shard = 0; shard < shards; ++shard) {
      ClaimRequest request = claim_request(9, 10, shard);
      request.queues = {"few"};
      for (HeldJob& held : store_->claim(request).jobs) all.push_back(std::move(held));
    }
    return all;
  };
  const auto on_nodes_of_shards = [](std::vector<std::int64_t> counts) {
    counts.erase(counts.begin());
    return counts;
  };
  const std::vector<std::int64_t> before = planned();
  const std::vector<HeldJob> held = claim_all();
  ASSERT_EQ(held.size(), std::size_t{shards});
  const std::vector<std::int64_t> claimed = planned();
  EXPECT_EQ(on_nodes_of_shards(claimed), on_nodes_of_shards(before));

  for (const HeldJob& job : held) {
    const std::vector<std::pair<RunId, Fence>> hold{{job.run, fence_of(job)}};
    EXPECT_FALSE(store_->limits().others_wait("few", shard_of(job.run, shards), std::nullopt, noon));
    EXPECT_EQ(store_->jobs().standing_begun(hold), std::vector{HoldStanding::unsaid});
    EXPECT_EQ(store_->jobs().release_unbegun(hold, noon), 1u);
  }
  EXPECT_EQ(planned(), claimed);

  const std::vector<HeldJob> again = claim_all();
  ASSERT_EQ(again.size(), std::size_t{shards});
  const std::vector<std::int64_t> claimed_again = planned();
  EXPECT_EQ(on_nodes_of_shards(claimed_again), on_nodes_of_shards(before));
  for (const HeldJob& job : again) {
    TestRun& run = runs[static_cast<std::size_t>(shard_of(job.run, shards))];
    Entry entry = run.entry();
    entry.events[0].type = static_cast<std::int16_t>(first_record + static_cast<int>(RecordKind::model_called));
    entry.events[0].step = job.job.step;
    entry.events[0].payload = R"({"cost":0,"tokens_in":2,"tokens_out":3})";
    entry.fences = {fence_of(job)};
    entry.jobs = {drop(1)};
    EXPECT_EQ(run.commit(entry).kind, Kind::committed);
  }
  EXPECT_EQ(planned(), claimed_again);
  const std::vector<UnitUse> used = store_->limits().queue_uses({"few"}).at("few").budgets;
  ASSERT_EQ(used.size(), 1u);
  EXPECT_EQ(used[0].used, 5 * shards) << "each commit has counted its step";
}

TEST_P(CitusTest, runs_go_on_while_their_shard_moves_and_nothing_is_lost) {
  const Shard shard = 3;
  const std::string from = port_of(shard);
  TestRun run(*store_, shard);
  ASSERT_EQ(run.start(job_of(1, 1)).kind, Kind::committed);
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> committed{1};
  std::string fault;
  std::thread writer([&] {
    try {
      while (!stop)
        if (run.commit(run.entry()).kind == Kind::committed) ++committed;
    } catch (const std::exception& failure) {
      fault = failure.what();
    }
    stop = true;
  });
  for (int moves = 0; moves < 3; ++moves) {
    move(shard, "force_logical");
    const std::int64_t until = committed + 5;
    while (committed < until && !stop) std::this_thread::yield();
  }
  stop = true;
  writer.join();
  EXPECT_EQ(fault, "");
  EXPECT_NE(port_of(shard), from);
  EXPECT_EQ(std::ssize(store_->events(run.id(), 0, 1'000'000)), committed);
  EXPECT_EQ(store_->run(run.id())->head, committed);
  const RunRecord record = RunRecords(dsn_, shards, 1).record(run.id(), 1);
  EXPECT_EQ(record.run->head, committed);
}

TEST_P(CitusTest, a_placement_that_was_left_behind_is_not_written) {
  const Shard shard = 5;
  const std::string node = dsn_ + " port=" + port_of(shard);
  const std::string number = std::to_string(citus_shard_of(shard));
  ask(node, "select cairn.hold_shard(" + number + ")");
  move(shard, "block_writes");
  try {
    ask(node, "select cairn.hold_shard(" + number + ")");
    ADD_FAILURE() << "the shard is held where it is no more";
  } catch (const PostgresError& refused) {
    EXPECT_EQ(refused.sqlstate(), shard_is_elsewhere);
  }
  TestRun run(*store_, shard);  // the store was opened before the move
  EXPECT_EQ(run.start(job_of(1, 1)).kind, Kind::committed);
}

TEST_P(CitusTest, a_queue_holds_no_more_than_its_concurrency_over_all_nodes) {
  std::vector<TestRun> runs;
  for (Shard shard = 0; shard < shards; ++shard)
    for (int n = 0; n < 3; ++n) {
      runs.emplace_back(*store_, shard);
      ASSERT_EQ(runs.back().start(job_of(1, 1, noon, "few")).kind, Kind::committed);
    }
  const auto claim = [&](Shard shard) {
    ClaimRequest request = claim_request(9, 10, shard);
    request.queues = {"few"};
    return store_->claim(request).jobs;
  };
  // Held before there is a limit: they count as well.
  ASSERT_EQ(claim(0).size(), 3u);
  ASSERT_TRUE(set_limits(*store_, {.name = "few", .concurrency = 5}));
  std::vector<HeldJob> held;
  std::atomic<int> taken{0};
  std::vector<std::thread> claimers;
  for (Shard shard = 1; shard < shards; ++shard)
    claimers.emplace_back([&, shard] { taken += static_cast<int>(claim(shard).size()); });
  for (std::thread& claimer : claimers) claimer.join();
  EXPECT_EQ(taken, 2);
  ASSERT_TRUE(set_limits(*store_, {.name = "few", .concurrency = 7, .paused = true}));
  for (Shard shard = 1; shard < shards; ++shard) EXPECT_TRUE(claim(shard).empty()) << "it is paused";
  ASSERT_TRUE(set_limits(*store_, {.name = "few"}));
  EXPECT_EQ(claim(7).size() + claim(6).size() + claim(5).size() + claim(4).size() + claim(3).size() + claim(2).size() +
                claim(1).size(),
            19u);
}

// Only the column said so, and a queue with a rate was claimed from under its old limits meanwhile.
TEST_P(CitusTest, a_queue_with_a_rate_is_paused_too_while_what_is_held_is_counted) {
  for (Shard shard = 0; shard < shards; ++shard) {
    TestRun run(*store_, shard);
    ASSERT_EQ(run.start(job_of(1, 1, noon, "few")).kind, Kind::committed);
  }
  const auto claim = [&](Shard shard) {
    ClaimRequest request = claim_request(9, 10, shard);
    request.queues = {"few"};
    return std::ssize(store_->claim(request).jobs);
  };
  const StartRate rate{100'000, 1'000'000, 100'000};
  ASSERT_TRUE(set_limits(*store_, {.name = "few", .concurrency = 5, .rate = rate}));
  EXPECT_EQ(claim(0), 1);
  const std::string copies = "cairn.queue_" + ask_text(dsn_,
                                                       "select shardid from pg_dist_shard "
                                                       "where logicalrelid = 'cairn.queue'::regclass");
  std::vector<std::unique_ptr<PgConnection>> under_way;  // a claim on each node
  for (const std::string& node : on_each_node(dsn_)) {
    under_way.push_back(std::make_unique<PgConnection>(PgConnectOptions{node, "a claim", false}));
    under_way.back()->execute("set citus.enable_manual_changes_to_shards = on; begin; lock table " + copies +
                              " in row share mode");
  }
  auto change = std::async(std::launch::async,
                           [&] { return set_limits(*store_, {.name = "few", .concurrency = 2, .rate = rate}); });
  EXPECT_TRUE(wait_until([&] { return store_->limits().queue_limits().at(0).paused; }));
  for (Shard shard = 1; shard < shards; ++shard) EXPECT_EQ(claim(shard), 0);
  under_way.clear();
  EXPECT_TRUE(change.get());
  std::ptrdiff_t claimed = 0;
  for (Shard shard = 1; shard < shards; ++shard) claimed += claim(shard);
  EXPECT_EQ(claimed, 1);
}

TEST_P(CitusTest, a_queue_gets_back_what_it_had_if_a_change_of_its_limits_fails) {
  ask(dsn_,
      "create function public.no_record() returns trigger language plpgsql as $$ begin raise 'the disk is full'; end "
      "$$");
  ask(dsn_, "create trigger no_record before insert on cairn.queue_change for each row execute function no_record()");
  EXPECT_ANY_THROW((void)set_limits(*store_, {.name = "few", .concurrency = 5}));
  for (const QueueLimits& limits : store_->limits().queue_limits()) EXPECT_EQ(limits, QueueLimits{.name = "few"});
  ask(dsn_, "drop trigger no_record on cairn.queue_change");
  ASSERT_TRUE(set_limits(*store_, {.name = "few", .concurrency = 5}));
  const std::vector<QueueLimits> before = store_->limits().queue_limits();
  ask(dsn_, "create trigger no_record before insert on cairn.queue_change for each row execute function no_record()");
  EXPECT_ANY_THROW((void)set_limits(*store_, {.name = "few", .concurrency = 2}));
  EXPECT_EQ(store_->limits().queue_limits(), before);
}

// Its process died between pausing the queue and putting the change on record: the queue stayed paused for good.
TEST_P(CitusTest, a_pause_that_was_left_is_ended_by_the_next_pass_or_the_next_change) {
  ASSERT_TRUE(set_limits(*store_, {.name = "few", .concurrency = 5}));
  const std::vector<QueueLimits> before = store_->limits().queue_limits();
  const auto leave = [&] {
    ask(dsn_,
        "update cairn.queue set change_began = 1, before_revision = revision, before_concurrency = concurrency, "
        "before_paused = paused, concurrency = 2, paused = true");
  };
  const auto pass = [&] {
    for (SpentMark mark; store_->limits().forget_spent(mark, noon, 1'000);) continue;
  };
  leave();
  const std::int64_t now = ask_number(dsn_, "extract(epoch from clock_timestamp()) * 1000000");
  ask(dsn_, "update cairn.queue set change_began = " + std::to_string(now));
  pass();
  EXPECT_TRUE(store_->limits().queue_limits().at(0).paused) << "its process may still live";
  ask(dsn_, "update cairn.queue set change_began = 1");
  pass();
  EXPECT_EQ(store_->limits().queue_limits(), before);

  leave();
  ask(dsn_,
      "create function public.no_record() returns trigger language plpgsql as $$ begin raise 'the disk is full'; end "
      "$$");
  ask(dsn_, "create trigger no_record before insert on cairn.queue_change for each row execute function no_record()");
  EXPECT_ANY_THROW((void)set_limits(*store_, {.name = "few", .concurrency = 3}));
  EXPECT_EQ(store_->limits().queue_limits(), before) << "not what was left";
  ask(dsn_, "drop trigger no_record on cairn.queue_change");
  leave();
  ASSERT_TRUE(set_limits(*store_, {.name = "few", .concurrency = 3}));
  EXPECT_FALSE(store_->limits().queue_limits().at(0).paused);
  pass();
  EXPECT_EQ(store_->limits().queue_limits().at(0).concurrency, 3);
}

TEST_P(CitusTest, a_list_of_runs_is_joined_from_all_nodes_newest_first) {
  std::vector<RunId> ids;
  for (Shard shard = 0; shard < shards; ++shard) {
    TestRun run(*store_, shard);
    ASSERT_EQ(run.start(job_of(1, 1)).kind, Kind::committed);
    ids.push_back(run.id());
  }
  RunFilter filter;
  filter.limit = 5;
  const std::vector<RunRow> first = store_->runs(filter);
  ASSERT_EQ(first.size(), 5u);
  filter.after = std::pair(first.back().started_at, first.back().id);
  const std::vector<RunRow> rest = store_->runs(filter);
  EXPECT_EQ(rest.size(), 3u);
  std::set<RunId> found;
  for (const auto* page : {&first, &rest})
    for (const RunRow& row : *page) found.insert(row.id);
  EXPECT_EQ(found, std::set<RunId>(ids.begin(), ids.end()));
  EXPECT_EQ(store_->all_runs().count(filter, 100), 8);
}

TEST_P(CitusTest, a_member_of_cairn_app_works_on_all_nodes_and_others_may_hold_no_shard) {
  for (const char* name : {"ann", "stranger"})
    ask(dsn_, std::string("do $$ begin if to_regrole('") + name + "') is null then create role " + name +
                  " login; end if; end $$");
  ask(dsn_, "grant cairn_app to ann");
  ask(dsn_, "grant usage on schema cairn to stranger");
  const auto opened = open_postgres_store({.dsn = with_user(dsn_, "ann"), .notify = false});
  ASSERT_TRUE(opened) << opened.error().message;
  Store& store = **opened;
  for (Shard shard = 0; shard < shards; ++shard) {
    TestRun run(store, shard);
    ASSERT_EQ(run.start(job_of(1, 1)).kind, Kind::committed);
    EXPECT_EQ(store.claim(claim_request(7, 10, shard)).jobs.size(), 1u);
    EXPECT_EQ(store.events(run.id(), 0, 10).size(), 1u);
  }
  EXPECT_EQ(store.runs({}).size(), std::size_t{shards});
  const std::string shard = std::to_string(citus_shard_of(0));
  for (const std::string& node : on_each_node(dsn_))
    EXPECT_THROW(ask(with_user(node, "stranger"), "select cairn.hold_shard(" + shard + ")"), PostgresError) << node;
}

TEST_P(CitusTest, the_views_of_auditors_have_the_runs_of_all_nodes) {
  for (Shard shard = 0; shard < shards; ++shard) {
    TestRun run(*store_, shard);
    ASSERT_EQ(run.commit(run.entry(2)).kind, Kind::committed);
  }
  PgConnection database({dsn_, "auditor", false});
  const PgResult views = database.query({"", "select viewname::text from pg_views where schemaname = 'cairn'"});
  EXPECT_GE(views.rows(), 10);
  for (int row = 0; row < views.rows(); ++row) {
    const std::string view(views.text(row, 0));
    EXPECT_NO_THROW(ask_number(dsn_, "select count(*) from cairn." + view)) << view;
  }
  EXPECT_EQ(ask_number(dsn_, "select count(*) from cairn.runs"), shards);
  EXPECT_EQ(ask_number(dsn_, "select count(*) from cairn.events"), 2 * shards);
}

// A node at another address: as when a standby of it was promoted, which Citus learns by citus_update_node.
TEST_P(CitusTest, a_node_that_was_replaced_is_found_at_its_new_address) {
  const std::string port = port_of(0);
  const std::string of_node = " from pg_dist_node where nodeport = " + port;
  const std::string host = ask_text(dsn_, "select nodename" + of_node);
  const auto put_at = [&](const std::string& name) {
    const std::filesystem::path place = std::filesystem::path(host) / (name + std::to_string(getpid()));
    std::filesystem::create_directory(place);
    const std::string socket = ".s.PGSQL." + port;
    std::filesystem::create_symlink(std::filesystem::path(host) / socket, place / socket);
    ask(dsn_, "select citus_update_node((select nodeid" + of_node + "), '" + place.string() + "', " + port + ")");
    return place;
  };
  const std::filesystem::path before = put_at("before");
  const auto opened = open_postgres_store({.dsn = dsn_, .notify = false, .patience_ms = 300});
  ASSERT_TRUE(opened) << opened.error().message;
  TestRun run(**opened, 0);
  ASSERT_EQ(run.commit(run.entry()).kind, Kind::committed);

  std::filesystem::remove_all(before);
  const std::filesystem::path after = put_at("after");
  for (const std::string& node : on_each_node(dsn_))
    ask(node, "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'cairn'");
  EXPECT_TRUE(wait_until([&] {
    try {
      return run.commit(run.entry()).kind == Kind::committed;
    } catch (const StoreUnavailable&) {
      return false;
    }
  }));
  EXPECT_EQ((*opened)->run(run.id())->head, 2);
  ask(dsn_, "select citus_update_node((select nodeid" + of_node + "), '" + host + "', " + port + ")");
  std::filesystem::remove_all(after);
}

// A node of the cluster, by the folder of its data.
class KilledNode {
 public:
  explicit KilledNode(std::filesystem::path data) : data_(std::move(data)) {}

  void kill() const {
    std::ifstream file(data_ / "postmaster.pid");
    pid_t pid = 0;
    ASSERT_TRUE(file >> pid);
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
  }
  // Its backends may take a moment to notice that their parent is gone.
  void start() const {
    const bool is_root = geteuid() == 0;
    const std::string user = is_root ? "setpriv --reuid=postgres --regid=postgres --clear-groups " : "";
    const std::string command = user + "/usr/lib/postgresql/15/bin/pg_ctl --silent --wait --pgdata '" + data_.string() +
                                "' --log '" + data_.string() + ".log' start >/dev/null 2>&1";
    ASSERT_TRUE(wait_until([&] { return std::system(command.c_str()) == 0; }));
  }

 private:
  const std::filesystem::path data_;
};

// Commits to one run until it is stopped. An entry whose commit is in doubt goes again, as the same bytes.
void write_until(const std::atomic<bool>& stops, Store& store, TestRun& run, Shard shard) {
  while (!stops) {
    Entry entry = run.entry(2);
    for (;;) {
      try {
        const Verdict verdict = store.commit(shard, std::span(&entry, 1), {}).at(0);
        ASSERT_EQ(verdict.kind, Kind::committed);
        run.moved(entry, verdict);
        break;
      } catch (const StoreUnavailable&) {
        entry.in_doubt = true;
      }
    }
  }
}

TEST_P(CitusTest, nodes_that_are_killed_under_writers_lose_nothing_and_stop_none_for_good) {
  std::atomic<bool> stops{false};
  std::vector<std::unique_ptr<Store>> stores;
  std::vector<std::unique_ptr<TestRun>> runs;
  std::vector<std::thread> writers;
  for (Shard shard = 0; shard < shards; ++shard) {
    auto store = open_postgres_store({.dsn = dsn_, .notify = false, .patience_ms = 500});
    ASSERT_TRUE(store);
    runs.push_back(std::make_unique<TestRun>(*stores.emplace_back(*std::move(store)), shard));
  }
  for (Shard shard = 0; shard < shards; ++shard)
    writers.emplace_back(
        [&, shard, at = static_cast<std::size_t>(shard)] { write_until(stops, *stores[at], *runs[at], shard); });
  const std::filesystem::path sockets = ask_text(dsn_, "select min(nodename) from pg_dist_node");
  const auto are_all_past = [&](const std::vector<std::int64_t>& heads) {
    return wait_until([&] {
      for (std::size_t shard = 0; shard < runs.size(); ++shard)
        if (stored_head(runs[shard]->id()) <= heads[shard]) return false;
      return true;
    });
  };
  for (const char* name : {"east", "west", "coordinator", "east"}) {
    std::vector<std::int64_t> heads;
    for (const auto& run : runs) heads.push_back(stored_head(run->id()));
    EXPECT_TRUE(are_all_past(heads));
    const KilledNode node(sockets / name);
    node.kill();
    node.start();
  }
  std::vector<std::int64_t> heads;
  for (const auto& run : runs) heads.push_back(stored_head(run->id()));
  EXPECT_TRUE(are_all_past(heads));
  stops = true;
  for (std::thread& writer : writers) writer.join();
  for (const auto& run : runs) {
    EXPECT_EQ(stored_head(run->id()), run->head);
    EXPECT_EQ(chain_fault(*store_, run->id()), "");
  }
}

}  // namespace
}  // namespace cairn::test
