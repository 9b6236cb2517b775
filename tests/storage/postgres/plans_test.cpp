// Hot statements take the planned index in a fresh, never analysed database with very many waiting jobs.
#include <functional>
#include <gtest/gtest.h>
#include <map>

#include "storage/postgres/connection.hpp"
#include "storage/postgres/connection_pool.hpp"
#include "storage/postgres/single_row.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/storage/test_runs.hpp"

namespace cairn {
namespace {

using namespace test;

class Plans : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    dsn_ = new_database(1);
    ask(dsn_, "alter table cairn.job set (autovacuum_enabled = off)");
    ask(dsn_, "alter table cairn.run set (autovacuum_enabled = off)");
    ask(dsn_, "alter table cairn.event set (autovacuum_enabled = off)");
    ask(dsn_,
        "insert into cairn.run (shard, run_id, waiting, head, started_at, updated_at, chain_hash, status, graph, "
        "version, "
        "reason, tags) select 0, md5(n::text)::uuid, false, 1, n, n, '', 'running', 'g', 'v', '', '{}' "
        "from generate_series(1, 200000) n");
    ask(dsn_,
        "insert into cairn.job (shard, run_id, branch, step, attempt, priority, run_at, epoch, deadline, timeout_ms, "
        "queue) "
        "select 0, md5(n::text)::uuid, 1, 1, 1, n % 3, n, 1, 0, 0, 'default' from generate_series(1, 1000000) n");
    ask(dsn_,
        "insert into cairn.event (shard, run_id, seq, at, commit, type, version, step, chain_hash, actor, payload) "
        "select 0, md5(n::text)::uuid, 1, n, n, 1, 1, 0, '', '', '{}' from generate_series(1, 1000000) n");
  }

  // The plan that a hot connection makes for the statement, whatever its parameters are.
  static std::string plan_of(const std::string& name, const std::string& dsn = dsn_) {
    return plan_of(statement(name), dsn);
  }
  static std::string plan_of(const PgStatement& statement, const std::string& dsn = dsn_) {
    PgConnection connection({dsn, "test", false});
    connection.execute(std::string(hot_settings));
    connection.execute("PREPARE wanted AS " + statement.text);
    std::string nulls;
    for (int n = 1; statement.text.find("$" + std::to_string(n)) != std::string::npos; ++n) {
      nulls += (n == 1 ? "" : ", ") + std::string("null");
    }
    const PgResult rows =
        connection.query({"explain", "EXPLAIN EXECUTE wanted" + (nulls.empty() ? "" : "(" + nulls + ")")});
    std::string plan;
    for (int row = 0; row < rows.rows(); ++row) plan += std::string(rows.text(row, 0)) + "\n";
    return plan;
  }

  // How many pages of jobs and of the index of due jobs are read by `use`; its writes are rolled back.
  static std::int64_t pages_read(const std::function<void(PgConnection&)>& use) {
    PostgresPool pool({dsn_, "test", true}, 1);
    const PgStatement sql{"pages",
                          "select (pg_stat_get_xact_blocks_fetched('cairn.job'::regclass) + "
                          "pg_stat_get_xact_blocks_fetched('cairn.job_due'::regclass))::bigint"};
    return pool.run([&](PgConnection& connection) {
      connection.execute("BEGIN");
      use(connection);
      const std::int64_t fetched = connection.query(sql).int8(0, 0);
      connection.execute("ROLLBACK");
      return fetched;
    });
  }

  static std::string dsn_;
};

std::string Plans::dsn_;

TEST_F(Plans, nothing_was_analysed) {
  EXPECT_EQ(ask_number(dsn_, "select count(*) from pg_statistic where starelid = 'cairn.job'::regclass"), 0);
}

// The statements that run for each step, and the indexes that each must use.
const std::map<std::string, std::vector<std::string>> indexes_of_hot_statements{
    {"lock_runs", {"run_pkey"}},
    {"run_heads", {"run_pkey"}},
    {"lock_jobs", {"job_pkey"}},
    {"landed", {"event_pkey"}},
    {"update_runs", {"run_pkey"}},
    {"delete_runs", {"run_pkey"}},
    {"keep_jobs", {"job_pkey"}},
    {"adjust_jobs", {"job_pkey"}},
    {"drop_jobs", {"job_pkey"}},
    {"offer_jobs", {"job_pkey", "home_pkey"}},
    {"insert_runs", {"run_pkey"}},
    {"insert_events", {}},
    {"hold_jobs", {}},
    {"delete_questions", {"question_pkey"}},
    {"release_jobs", {"job_pkey", "run_pkey"}},
    {"holds_standing", {"job_pkey"}},
    {"holds_begun", {"job_pkey", "worker_pkey"}},
    {"set_begun", {"worker_pkey"}},
    {"check_fences", {"job_pkey"}},
    {"claim", {"job_due", "job_pkey"}},
    {"claim_of_runs", {"job_pkey", "home_pkey"}},
    {"claim_hinted", {"job_pkey", "home_pkey"}},
    {"claimed", {"run_pkey", "event_pkey"}},
    {"begin_claim", {"queue_pkey"}},
    {"lock_queues", {"queue_pkey"}},
    {"retire_permits", {"permit_pkey", "job_pkey"}},
    {"claim_limited", {"queue_pkey", "permit_pkey", "job_due", "job_pkey"}},
    {"claim_limited_of_runs", {"queue_pkey", "permit_pkey", "job_pkey"}},
    {"claim_limited_given", {"job_due", "job_pkey"}},
    {"claim_limited_of_runs_given", {"job_pkey", "home_pkey"}},
    {"claim_of_keys", {"job_due_of_key", "job_pkey"}},
    {"claim_of_keys_of_runs", {"job_pkey", "home_pkey"}},
    {"waiting_keys", {"job_due_of_key", "key_turn_pkey"}},
    {"waiting_keys_of_runs", {"job_pkey", "home_pkey", "key_turn_pkey"}},
    {"keys_of_run", {"job_pkey"}},
    {"key_uses", {"permit_pkey", "rate_pkey"}},
    {"take_starts", {"rate_pkey"}},
    {"key_jobs", {"job_due", "job_pkey", "home_pkey", "run_pkey", "event_pkey", "queue_pkey"}},
    {"queue_rates", {"rate_pkey"}},
    {"budget_uses", {"budget_use_pkey"}},
    {"budget_uses_of_keys", {"budget_use_pkey"}},
    {"forget_rates", {"rate_pkey", "Tid Scan"}},
    {"forget_budget_uses", {"budget_use_pkey", "Tid Scan"}},
    {"pass_turns", {"key_turn_pkey", "job_due_of_key", "Tid Scan"}},
    {"forget_key", {"rate_pkey", "budget_use_pkey"}},
    {"count_budgets", {"job_pkey", "queue_pkey", "budget_use_pkey"}},
    {"others_wait", {"job_due_of_key"}},
    {"permit_held", {"queue_pkey"}},
    {"jobs_before", {"job_due"}},
    {"run", {"run_pkey"}},
    {"events", {"event_pkey"}},
    {"snapshot", {"snapshot_pkey"}},
    {"jobs", {"job_pkey"}},
    {"put_progress", {"progress_pkey", "job_pkey"}},
    {"progress", {"progress_pkey", "job_pkey"}},
    {"recorded_runs", {"event_pkey", "run_pkey", "job_pkey", "question_pkey", "snapshot_pkey"}},
    {"last_recorded_run", {"event_pkey", "run_pkey", "job_pkey", "question_pkey", "snapshot_pkey"}},
    {"run_records", {"run_pkey"}},
    {"jobs_of_runs", {"job_pkey"}},
    {"lock_jobs_of_run", {"job_pkey"}},
    {"all_questions_of_runs", {"question_pkey"}},
    {"snapshots_of_runs", {"snapshot_pkey"}},
    {"events_of_runs", {"event_pkey"}},
    {"missed_events", {"event_pkey"}},
    {"delete_leftovers", {"event_pkey", "run_pkey", "job_pkey", "question_pkey", "snapshot_pkey"}},
    {"last_event", {"event_pkey"}},
    {"delete_jobs", {"job_pkey"}},
    {"delete_questions_of_run", {"question_pkey"}},
    {"delete_snapshots", {"snapshot_pkey"}},
    {"put_snapshot", {"snapshot_pkey", "run_pkey"}},
    {"drop_snapshots", {"snapshot_pkey"}},
    {"runs", {"run_started_at"}},
    {"runs_tagged", {"run_tags"}},
    {"runs_tagged_lately", {"run_started_at"}},
    {"runs_of_graph", {"run_graph"}},
    {"window_of_runs", {"run_started_at"}},
    {"window_of_graph", {"run_graph"}},
    {"run_counts", {"run_started_at"}},
    {"run_place", {"run_started_at"}},
    {"job_part", {"job_pkey"}},
    {"oldest_jobs", {"job_due", "home_pkey", "job_pkey"}},
    {"archive_due", {"run_graph", "import_pkey"}},
    {"archive_candidates_tagged", {"run_tags", "run_pkey"}},
    {"kept_for_open_runs", {"run_continues", "run_origin"}},
    {"runs_called", {"event_pkey", "run_pkey"}},
    {"runs_coming_from", {"run_continues", "run_origin"}},
    {"orphans", {"run_open_child_of", "run_pkey"}},
    {"loose_ends", {"run_loose_end", "run_pkey"}},
    {"tie_ends", {"run_pkey"}},
    {"questions", {"question_asked_at"}},
    {"offer_stranded", {"job_pkey"}},
    {"beat", {"worker_pkey"}},
    {"set_home", {"home_pkey"}},
    {"leave_home", {"home_pkey"}},
    {"number_feed", {"feed_fresh", "feed_position", "feed_pkey"}},
    {"feed_ends", {"feed_position"}},
    {"feed_batches", {"feed_position"}},
    {"feed_events", {"run_pkey", "event_pkey"}},
    {"feed_history", {"event_pkey", "run_pkey"}},
    {"put_feed_places", {"feed_place_pkey", "feed_consumer_pkey"}},
    {"move_feed_places", {"feed_place_pkey", "feed_consumer_pkey", "feed_position"}},
    {"feed_standing", {"feed_place_pkey", "feed_position"}},
    {"feed_waiting", {"feed_position", "feed_fresh"}},
    {"trim_feed", {"feed_position", "feed_place_pkey", "feed_consumer_pkey"}},
};

TEST_F(Plans, hot_statements_never_scan_a_table_nor_hash_nor_merge) {
  for (const auto& [name, indexes] : indexes_of_hot_statements) {
    const std::string plan = plan_of(name);
    SCOPED_TRACE(name + "\n" + plan);
    for (const char* bad : {"Seq Scan", "Hash Join", "Merge Join", "JIT"})
      EXPECT_EQ(plan.find(bad), std::string::npos) << bad;
    for (const std::string& index : indexes) EXPECT_NE(plan.find(index), std::string::npos) << index;
  }
}

// The newest of a graph's runs, or the oldest, without those of all other graphs or a sort.
TEST_F(Plans, runs_of_a_graph_come_in_the_order_of_their_index_and_within_a_limit) {
  for (const char* name : {"runs_of_graph", "window_of_graph", "archive_due"}) {
    const std::string plan = plan_of(name);
    EXPECT_EQ(plan.find("Sort"), std::string::npos) << plan;
    EXPECT_NE(plan.find("Limit"), std::string::npos) << plan;
    EXPECT_NE(plan.find("Index Cond: ((ROW(graph, started_at"), std::string::npos) << plan;
  }
}

// It took the order of all runs, and walked a million of others for the five of a graph.
TEST_F(Plans, runs_of_a_graph_are_found_by_their_index_where_statistics_say_that_most_are_of_one) {
  const std::string dsn = new_database(1);
  ask(dsn,
      "insert into cairn.run (shard, run_id, waiting, head, started_at, updated_at, chain_hash, status, graph, "
      "version, "
      "reason, tags) select 0, md5(n::text)::uuid, false, 1, n, n, '', 'done', 'g', 'v', '', '{}' "
      "from generate_series(1, 20000) n");
  ask(dsn, "analyze cairn.run");
  for (const char* name : {"runs_of_graph", "window_of_graph", "archive_due"}) {
    const std::string plan = plan_of(name, dsn);
    EXPECT_NE(plan.find("run_graph"), std::string::npos) << plan;
    EXPECT_EQ(plan.find("run_started_at"), std::string::npos) << plan;
  }
}

// A claim looks for jobs without keys: all waiting jobs of the shard were scanned, and all got theirs at once.
TEST_F(Plans, keys_of_jobs_are_found_in_the_order_of_an_index_and_within_a_limit) {
  const std::string plan = plan_of("key_jobs");
  EXPECT_NE(plan.find("Limit"), std::string::npos) << plan;
  EXPECT_NE(plan.find("ROW(priority, run_at"), std::string::npos) << plan;
}

// Where one key floods a queue, statistics say that each job is of that key: the jobs of all queues' keys in their
// order were walked for each other key, and a claim took half a second.
TEST_F(Plans, a_key_is_looked_up_in_the_index_of_keys_where_statistics_say_that_all_jobs_are_of_one) {
  const std::string dsn = new_database(1);
  ask(dsn,
      "insert into cairn.job (shard, run_id, branch, step, attempt, priority, run_at, epoch, deadline, timeout_ms, "
      "queue, limit_key) select 0, md5(n::text)::uuid, 1, 1, 1, 0, n, 1, 0, 0, 'default', 'flood' "
      "from generate_series(1, 20000) n");
  ask(dsn, "vacuum analyze cairn.job");
  for (const char* name : {"waiting_keys", "claim_of_keys", "pass_turns"}) {
    const std::string plan = plan_of(name, dsn);
    SCOPED_TRACE(name + ("\n" + plan));
    EXPECT_NE(plan.find("using job_due_of_key on job"), std::string::npos);
    for (const char* bad : {"using job_due on job", "Seq Scan on job", "Filter: (limit_key", "AND (limit_key = "})
      EXPECT_EQ(plan.find(bad), std::string::npos) << bad;
  }
}

// A session asks for orphans every two seconds.
TEST_F(Plans, A19_orphans_are_looked_for_in_the_order_of_an_index_and_within_a_limit) {
  const std::string plan = plan_of("orphans");
  EXPECT_EQ(plan.find("Sort"), std::string::npos) << plan;
  EXPECT_NE(plan.find("Limit"), std::string::npos) << plan;
}

TEST_F(Plans, statements_of_one_row_take_the_same_indexes_and_unpack_no_array) {
  const std::map<std::string, std::string> expected{
      {"update_runs", "run_pkey"},
      {"insert_runs", "run_pkey"},
      {"insert_events", ""},
      {"keep_jobs", "job_pkey"},
      {"adjust_jobs", "job_pkey"},
      {"drop_jobs", "job_pkey"},
      {"check_fences", "job_pkey"},
      {"offer_jobs", "job_pkey"},
      {"hold_jobs", ""},
      {"permit_held", "queue_pkey"},
      {"insert_questions", "question_pkey"},
      {"delete_questions", "question_pkey"},
  };
  for (const auto& [name, index] : expected) {
    const std::string plan = plan_of(statement_of_one(name));
    SCOPED_TRACE(name + "\n" + plan);
    for (const char* bad : {"Seq Scan", "Hash Join", "Merge Join", "JIT", "Function Scan", "Nested Loop"})
      EXPECT_EQ(plan.find(bad), std::string::npos) << bad;
    EXPECT_NE(plan.find(index), std::string::npos) << index;
  }
}

// Each commit of a wide run sorted all that waited of it: with 9,000 sub-goals on eight processes it took half of the
// server's time.
TEST_F(Plans, A7_a_commit_that_claims_reads_few_of_a_wide_runs_jobs) {
  const std::string dsn = new_database(1);
  ask(dsn,
      "insert into cairn.job (shard, run_id, branch, step, attempt, priority, run_at, epoch, deadline, timeout_ms, "
      "queue) select 0, md5('wide')::uuid, n, n, 1, 0, 5000 - n, 1, 0, 0, 'default' from generate_series(1, 5000) n");
  PgConnection connection({dsn, "test", false});
  connection.execute(std::string(hot_settings));
  connection.execute("PREPARE wanted AS " + statement("claim_of_runs").text);
  const auto most_rows = [&](const std::string& ordered) {
    const PgResult lines = connection.query(
        {"analyze",
         "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE wanted(0, '{default}', 3, 9000, 7, 0, 0, array["
         "md5('wide')::uuid], " +
             ordered + ")"});
    int most = 0;
    int seen = 0;
    for (int line = 0; line < lines.rows(); ++line) {
      const std::string text(lines.text(line, 0));
      const std::size_t at = text.find("actual rows=");
      if (at == std::string::npos) continue;
      ++seen;
      most = std::max(most, std::atoi(text.c_str() + at + std::string("actual rows=").size()));
    }
    EXPECT_GT(seen, 3);
    return most;
  };
  EXPECT_EQ(most_rows("70"), 70);
  EXPECT_EQ(ask_number(dsn, "select count(*) from cairn.job where session = 7"), 3);
  EXPECT_EQ(ask_number(dsn, "select min(branch) from cairn.job where session = 7"), 68) << "the oldest of those 70";
  EXPECT_EQ(most_rows("null"), 4'997);
  EXPECT_EQ(ask_number(dsn, "select max(branch) from cairn.job where session = 7"), 5'000) << "the oldest of all";
}

// A plan is made once a connection, perhaps while the table is empty, and then serves for hours: one that led with the
// table read all runs of the shard for every batch.
TEST_F(Plans, made_on_an_empty_database_look_keys_up) {
  const std::string empty = new_database(1);
  for (const char* name : {"lock_runs",
                           "run_heads",
                           "lock_jobs",
                           "update_runs",
                           "keep_jobs",
                           "adjust_jobs",
                           "drop_jobs",
                           "release_jobs",
                           "holds_begun",
                           "holds_standing",
                           "count_budgets",
                           "claim",
                           "claim_of_runs",
                           "claim_of_keys_of_runs",
                           "claim_limited",
                           "claim_limited_of_runs",
                           "claim_limited_given",
                           "claim_limited_of_runs_given",
                           "claimed",
                           "retire_permits",
                           "run_records",
                           "jobs_of_runs",
                           "all_questions_of_runs",
                           "snapshots_of_runs"}) {
    const std::string plan = plan_of(name, empty);
    EXPECT_NE(plan.find(" AND (run_id = "), std::string::npos) << name << "\n" << plan;
    EXPECT_EQ(plan.find("Index Cond: (shard = $1)\n"), std::string::npos) << name << "\n" << plan;
  }
}

// Where all but a few rows have died and cannot be cleared away, all indexes look alike to the planner. It took job_due
// for keys, and job_pkey for claims, the whole of it for each row: a commit took seconds. And it made a bitmap for each
// key, which takes three times as long as to look it up.
TEST_F(Plans, made_on_a_table_of_dead_rows_take_the_right_index) {
  const std::string dsn = new_database(1);
  ask(dsn, "alter table cairn.job set (autovacuum_enabled = off)");
  PgConnection reader({dsn, "test", false});
  reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ");
  reader.execute("SELECT count(*) FROM cairn.job");
  const auto fill = [&](int rows) {
    ask(dsn,
        "insert into cairn.job (shard, run_id, branch, step, attempt, priority, run_at, epoch, deadline, timeout_ms, "
        "queue) select 0, md5(n::text)::uuid, 1, 1, 1, 0, n, 1, 0, 0, 'default' from generate_series(1, " +
            std::to_string(rows) + ") n");
  };
  for (const int dead : {10, 100, 1'000, 100'000}) {
    ask(dsn, "delete from cairn.job");
    fill(dead);
    for (const int live : {0, 1, 10, 300}) {
      SCOPED_TRACE(std::to_string(dead) + " dead, " + std::to_string(live) + " live");
      ask(dsn, "delete from cairn.job");
      fill(live);
      ask(dsn, "vacuum analyze cairn.job");
      for (const char* name :
           {"lock_jobs", "keep_jobs", "adjust_jobs", "drop_jobs", "check_fences", "release_jobs", "holds_standing",
            "holds_begun", "count_budgets", "claim_of_runs", "claim_of_keys_of_runs", "claim_limited_of_runs",
            "claim_limited_of_runs_given", "claim_hinted", "retire_permits", "jobs", "jobs_of_runs", "lock_jobs_of_run",
            "delete_jobs"}) {
        const std::string plan = plan_of(name, dsn);
        EXPECT_EQ(plan.find("job_due"), std::string::npos) << name << "\n" << plan;
        EXPECT_EQ(plan.find("Join Filter: ((j.shard"), std::string::npos) << name << "\n" << plan;
        EXPECT_EQ(plan.find("Bitmap"), std::string::npos) << name << "\n" << plan;
      }
      for (const char* name : {"keep_jobs", "adjust_jobs", "drop_jobs", "check_fences"})
        EXPECT_EQ(plan_of(statement_of_one(name), dsn).find("job_due"), std::string::npos) << name << " of one";
      for (const char* name : {"claim", "claim_limited", "claim_limited_given"}) {
        const std::string plan = plan_of(name, dsn);
        EXPECT_EQ(plan.find("Index Cond: (shard = $1)\n"), std::string::npos) << name << "\n" << plan;
        EXPECT_EQ(plan.find("Join Filter: ((j.shard"), std::string::npos) << name << "\n" << plan;
      }
    }
  }
}

TEST_F(Plans, claims_walk_the_index_in_its_order_and_stop_at_the_limit) {
  for (const char* name : {"claim", "claim_limited", "claim_limited_given"}) {
    const std::string plan = plan_of(name);
    SCOPED_TRACE(plan);
    EXPECT_EQ(plan.find("Bitmap Heap Scan on job"), std::string::npos);
    const std::size_t lock = plan.find("LockRows");
    ASSERT_NE(lock, std::string::npos);
    const std::size_t scan = plan.find("job_due", lock);
    ASSERT_NE(scan, std::string::npos);
    EXPECT_EQ(plan.substr(lock, scan - lock).find("Sort"), std::string::npos)
        << "what is locked must not be sorted first";
    EXPECT_NE(plan.find("(queue = ", lock), std::string::npos);
  }
}

TEST_F(Plans, what_is_due_of_many_schedules_is_found_in_the_order_of_an_index) {
  const std::string dsn = new_database(1);
  for (const char* name : {"lock_due_schedules", "next_schedule_due"}) {
    const std::string plan = plan_of(name, dsn);
    SCOPED_TRACE(plan);
    EXPECT_NE(plan.find("using schedule_due"), std::string::npos);
    EXPECT_EQ(plan.find("Sort"), std::string::npos);
    EXPECT_EQ(plan.find("Seq Scan"), std::string::npos);
  }
  for (const char* name : {"lock_schedules", "put_schedules", "schedule"}) {
    const std::string plan = plan_of(name, dsn);
    SCOPED_TRACE(plan);
    EXPECT_NE(plan.find("schedule_pkey"), std::string::npos);
    EXPECT_EQ(plan.find("Seq Scan"), std::string::npos);
  }
}

TEST_F(Plans, what_is_due_of_many_notices_of_hooks_is_found_in_the_order_of_an_index) {
  const std::string dsn = new_database(1);
  const std::string plan = plan_of("claim_hook_deliveries", dsn);
  SCOPED_TRACE(plan);
  const std::size_t lock = plan.find("LockRows"), scan = plan.find("using hook_delivery_due", lock);
  ASSERT_NE(lock, std::string::npos);
  ASSERT_NE(scan, std::string::npos);
  EXPECT_EQ(plan.substr(lock, scan - lock).find("Sort"), std::string::npos) << "no sort below a lock";
  const std::map<std::string, std::string> indexes = {{"settle_hook_delivery", "hook_delivery_pkey"},
                                                      {"put_hook_deliveries", "hook_pkey"},
                                                      {"trim_hook_deliveries", "hook_delivery_over"},
                                                      {"count_hook_waiting", "hook_delivery"},
                                                      {"any_hook_parked", "hook_delivery_parked"},
                                                      {"resend_parked_deliveries", "hook_delivery_p"},
                                                      {"resend_hook_delivery", "hook_delivery_pkey"},
                                                      {"remove_hook_deliveries", "hook_delivery_pkey"},
                                                      {"hook_delivery", "hook_delivery_pkey"},
                                                      {"hook_deliveries", "hook_delivery_noted"},
                                                      {"hook_lasts", "hook_delivery_noted"},
                                                      {"hook_notes", "hook_note_pkey"},
                                                      {"stalled_runs", "run_pkey"}};
  for (const auto& [name, index] : indexes) {
    const std::string found = plan_of(name, dsn);
    EXPECT_NE(found.find("using " + index), std::string::npos) << name << "\n" << found;
    EXPECT_EQ(found.find("Seq Scan"), std::string::npos) << name << "\n" << found;
  }
}

TEST_F(Plans, the_last_notices_of_hooks_are_found_in_the_order_of_an_index) {
  const std::string dsn = new_database(1);
  for (const char* name : {"hook_deliveries", "hook_lasts"}) {
    const std::string plan = plan_of(name, dsn);
    EXPECT_NE(plan.find("Scan Backward using hook_delivery_noted"), std::string::npos) << name << "\n" << plan;
    EXPECT_EQ(plan.find("Sort"), std::string::npos) << name << "\n" << plan;
  }
}

TEST_F(Plans, keys_of_starts_and_the_starts_that_wait_are_found_by_indexes) {
  const std::string dsn = new_database(1);
  for (const char* name : {"lock_due_start_keys", "next_start_due"}) {
    const std::string plan = plan_of(name, dsn);
    EXPECT_NE(plan.find("using start_key_due"), std::string::npos) << plan;
    EXPECT_EQ(plan.find("Sort"), std::string::npos) << plan;
  }
  const std::map<std::string, std::string> indexes = {
      {"lock_start_keys", "start_key_pkey"},   {"put_start_keys", "start_key_pkey"},
      {"remove_start_keys", "start_key_pkey"}, {"first_starts", "waiting_start_pkey"},
      {"remove_starts", "waiting_start_pkey"}, {"refuse_starts", "waiting_start_pkey"},
      {"starts", "waiting_start_pkey"},        {"start_of_run", "waiting_start_run"},
      {"start_keys", "start_key_pkey"},        {"forget_refused_starts", "waiting_start_refused"}};
  for (const auto& [name, index] : indexes) {
    const std::string found = plan_of(name, dsn);
    EXPECT_NE(found.find("using " + index), std::string::npos) << name << "\n" << found;
    EXPECT_EQ(found.find("Seq Scan"), std::string::npos) << name << "\n" << found;
  }
}

TEST_F(Plans, counts_and_delays_of_hooks_read_their_notices_by_the_indexes_of_those_that_are_counted) {
  const std::string dsn = new_database(1);
  for (const char* name : {"hook_counts", "hook_delays"}) {
    const std::string plan = plan_of(name, dsn);
    EXPECT_EQ(plan.find("Seq Scan on hook_delivery"), std::string::npos) << name << "\n" << plan;
    for (const char* index : {"hook_delivery_due", "hook_delivery_over"})
      EXPECT_NE(plan.find(std::string("using ") + index), std::string::npos) << name << "\n" << plan;
  }
}

TEST_F(Plans, a_claim_among_many_touches_few_pages) {
  PgArray queues(PgType::text), above(PgType::int8), below(PgType::int8);
  queues.add("default");
  above.add(std::int64_t{-1});
  below.add(std::int64_t{100});
  PgParameters parameters;
  parameters.add(std::int32_t{0}).add(std::int32_t{10}).add(noon).add(std::int64_t{7});
  parameters.add(std::int64_t{0}).add(std::int64_t{0}).add(PgArray(PgType::text)).add(PgArray(PgType::int4));
  parameters.add(PgArray(PgType::int8)).add(PgArray(PgType::uuid));
  parameters.add(std::move(queues)).add(std::move(above)).add(std::move(below)).add(std::int32_t{10});
  parameters.add(PgArray(PgType::uuid));
  const std::int64_t pages = pages_read(
      [&](PgConnection& connection) { EXPECT_EQ(connection.query(statement("claim"), parameters).rows(), 10); });
  EXPECT_LT(pages, 400);
}

PgParameters oldest_parameters(TimeUs now_us, std::int32_t priorities_max, std::int32_t entries_max) {
  return PgParameters().add(now_us).add(priorities_max).add(entries_max);
}

// The age of a queue, which autoscalers ask, was read of all jobs.
TEST_F(Plans, the_oldest_of_many_jobs_is_found_in_few_pages) {
  const std::int64_t pages = pages_read([](PgConnection& connection) {
    const PgResult rows = connection.query(statement("oldest_jobs"), oldest_parameters(noon, 1'000, 10'000));
    ASSERT_EQ(rows.rows(), 1);
    EXPECT_EQ(rows.text(0, 0), "default");
    EXPECT_EQ(rows.int8(0, 1), 1);
  });
  EXPECT_GT(pages, 0);
  EXPECT_LT(pages, 200);
}

// Its plan is made once a connection, too, perhaps while the table is empty.
TEST_F(Plans, the_oldest_jobs_are_found_by_hops_along_the_index_of_due_jobs_without_a_sort) {
  for (const std::string& dsn : {dsn_, new_database(1)}) {
    const std::string plan = plan_of("oldest_jobs", dsn);
    SCOPED_TRACE(plan);
    EXPECT_NE(plan.find("Index Cond: (ROW(shard, queue, priority) > ROW("), std::string::npos);
    EXPECT_NE(plan.find("(queue = l_1.queue) AND (priority = l_1.priority) AND (run_at <= $1)"), std::string::npos);
    EXPECT_NE(plan.find(" AND (run_id = "), std::string::npos);
    for (const char* bad : {"Sort", "Seq Scan", "job_due_of_key"}) EXPECT_EQ(plan.find(bad), std::string::npos) << bad;
  }
}

// Held jobs keep their entries in the index, and a queue may have as many priorities as jobs.
TEST_F(Plans, the_oldest_job_is_looked_for_among_so_many_entries_and_priorities) {
  const std::string dsn = new_database(1);
  const std::string columns =
      "insert into cairn.job (shard, run_id, branch, step, attempt, epoch, deadline, timeout_ms, queue, priority, "
      "run_at, session) select 0, md5('r' || n)::uuid, 1, 1, 1, 1, 0, 0, ";
  ask(dsn, columns + "'held', 0, n, case when n <= 10 then 7 end from generate_series(1, 20) n");
  ask(dsn, columns + "'next', 0, n, null from generate_series(50, 60) n");
  ask(dsn, columns + "'many', n, 1000 - n, null from generate_series(101, 105) n");
  ask(dsn, columns + "'taken', 0, n, 7 from generate_series(201, 203) n");
  ask(dsn, columns + "'to_come', 0, 100000 + n, null from generate_series(301, 303) n");
  PgConnection connection({dsn, "test", false});
  const auto oldest = [&](std::int32_t priorities_max, std::int32_t entries_max) {
    const PgResult rows =
        connection.query(statement("oldest_jobs"), oldest_parameters(2'000, priorities_max, entries_max));
    std::map<std::string, TimeUs> found;
    for (int row = 0; row < rows.rows(); ++row) found[std::string(rows.text(row, 0))] = rows.int8(row, 1);
    return found;
  };
  using Oldest = std::map<std::string, TimeUs>;
  EXPECT_EQ(oldest(100, 100), (Oldest{{"held", 11}, {"next", 50}, {"many", 895}}));
  EXPECT_EQ(oldest(2, 100), (Oldest{{"held", 11}, {"next", 50}, {"many", 898}})) << "and goes on with other queues";
  EXPECT_EQ(oldest(100, 5), (Oldest{{"held", 5}, {"next", 50}, {"many", 895}})) << "that of a held one, which is older";
}

}  // namespace
}  // namespace cairn
