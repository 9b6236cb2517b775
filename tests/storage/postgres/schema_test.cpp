// The schema as the catalogues show it, migrations, and views.
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <thread>

#include "engine/event.hpp"
#include "storage/migration/migrator.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "tests/paths.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/storage/test_runs.hpp"

namespace cairn {
namespace {

using namespace test;

std::string lines_of(const std::string& dsn, const std::string& sql) {
  const PgResult rows = ask(dsn, sql);
  std::string lines;
  for (int row = 0; row < rows.rows(); ++row) lines += std::string(rows.text(row, 0)) + "\n";
  return lines;
}

std::string schema_listing(const std::string& dsn) {
  return lines_of(
             dsn,
             "select case c.relkind when 'v' then 'view ' else 'table ' end || c.relname || '.' || a.attname || ' ' "
             "|| format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then ' not null' else '' end "
             "from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped "
             "where c.relnamespace = 'cairn'::regnamespace and c.relkind in ('r', 'v') "
             "order by c.relkind, c.relname collate \"C\", a.attnum") +
         lines_of(dsn,
                  "select 'options ' || relname || ' ' || array_to_string(reloptions, ' ') from pg_class "
                  "where relnamespace = 'cairn'::regnamespace and relkind = 'r' and reloptions is not null "
                  "order by relname collate \"C\"") +
         lines_of(dsn, "select indexdef from pg_indexes where schemaname = 'cairn' order by indexname collate \"C\"") +
         lines_of(dsn,
                  "select 'check ' || conrelid::regclass || ' ' || pg_get_constraintdef(oid) from pg_constraint "
                  "where connamespace = 'cairn'::regnamespace and contype <> 'p' "
                  "order by conrelid::regclass::text collate \"C\", conname collate \"C\"") +
         lines_of(dsn,
                  "select 'grant ' || grantee || ' ' || table_name || ' ' "
                  "|| string_agg(privilege_type, ' ' order by privilege_type collate \"C\") "
                  "from information_schema.role_table_grants where table_schema = 'cairn' and grantee like 'cairn%' "
                  "group by grantee, table_name order by grantee collate \"C\", table_name collate \"C\"");
}

Result<std::unique_ptr<Store>> open_store(const std::string& dsn) {
  PostgresOptions options;
  options.dsn = dsn;
  return open_postgres_store(options);
}

TEST(Schema, is_the_golden_one) {
  const std::string path = testing::source_dir() + "/tests/golden/schema.txt";
  const std::string found = schema_listing(new_database(1));
  if (std::getenv("CAIRN_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << found;
  std::stringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(found, golden.str()) << "run again with CAIRN_UPDATE_GOLDEN=1 and look at the difference";
}

TEST(Schema, has_no_foreign_keys_sequences_triggers_or_functions) {
  const std::string dsn = new_database(1);
  EXPECT_EQ(ask_number(dsn, "select count(*) from pg_constraint where contype = 'f'"), 0);
  EXPECT_EQ(ask_number(dsn, "select count(*) from pg_class where relkind = 'S'"), 0);
  EXPECT_EQ(ask_number(dsn, "select count(*) from pg_trigger"), 0);
  EXPECT_EQ(ask_number(dsn, "select count(*) from pg_proc where pronamespace = 'cairn'::regnamespace"), 0);
}

TEST(Schema, no_index_has_a_column_that_a_step_changes) {
  EXPECT_EQ(
      lines_of(new_database(1),
               "select distinct c.relname || '.' || a.attname from pg_index i join pg_class c on c.oid = i.indrelid "
               "join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = i.indexrelid and d.refobjid = c.oid "
               "join pg_attribute a on a.attrelid = c.oid and a.attnum = d.refobjsubid "
               "where c.relname in ('run', 'job') and a.attname in ('head', 'chain_hash', 'status', 'waiting', "
               "'updated_at', 'reason', 'step', 'attempt', 'session', 'epoch', 'deadline', 'timeout_ms')"),
      "");
}

TEST(Migrate, again_changes_nothing_and_says_so) {
  const std::string dsn = new_empty_database();
  Result<MigrateReport> report = migrate(dsn, 3);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->from, 0);
  EXPECT_EQ(report->to, newest_schema());
  EXPECT_EQ(report->shards, 3);
  for (const std::int32_t shards : {0, 3}) {
    report = migrate(dsn, shards);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->from, newest_schema());
    EXPECT_EQ(report->shards, 3);
  }
  EXPECT_EQ(migrate(dsn, 4).error().code, Code::conflict);
  EXPECT_EQ((*open_store(dsn))->shards(), 3);
}

TEST(Migrate, several_at_once_make_one_schema) {
  const std::string dsn = new_empty_database();
  std::vector<std::thread> threads;
  std::vector<std::string> faults(4);
  for (std::string& fault : faults) {
    threads.emplace_back([&] {
      const Result<MigrateReport> report = migrate(dsn, 2);
      if (!report) fault = report.error().message;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& fault : faults) EXPECT_EQ(fault, "");
  EXPECT_EQ(ask_number(dsn, "select count(*) from cairn.migration"), newest_schema());
}

TEST(Migrate, a_newer_schema_is_unsupported) {
  const std::string dsn = new_database(1);
  ask(dsn, "insert into cairn.migration (number, name, shards) values (999, 'later', 1)");
  EXPECT_EQ(migrate(dsn, 0).error().code, Code::unsupported);
  EXPECT_EQ(open_store(dsn).error().code, Code::unsupported);
}

TEST(Migrate, a_database_in_another_encoding_than_UTF8_is_refused_and_left_alone) {
  ask(cluster_dsn(), "create database latin encoding 'LATIN1' template template0 lc_collate 'C' lc_ctype 'C'");
  const std::string dsn = cluster_dsn() + " dbname=latin";
  const Result<MigrateReport> report = migrate(dsn, 1);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Code::invalid);
  EXPECT_EQ(report.error().message, "Expected a database in the encoding UTF8, but it is in LATIN1.");
  EXPECT_EQ(ask_number(dsn, "select count(*) from pg_namespace where nspname = 'cairn'"), 0);
  ask(cluster_dsn(), "drop database latin");
}

TEST(Migrate, an_unreachable_database_is_unavailable) {
  EXPECT_EQ(migrate("host=/nowhere dbname=x", 1).error().code, Code::unavailable);
}

TEST(Migrate, a_login_that_may_not_make_roles_goes_on_without) {
  const std::string dsn = new_empty_database();
  ask(dsn, "drop role if exists bob");
  ask(dsn, "create role bob login");
  ask(dsn, "grant all on database " + ask_text(dsn, "select current_database()") + " to bob");
  const Result<MigrateReport> report = migrate(with_user(dsn, "bob"), 1);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(migrate(dsn, 0)) << "the superuser may migrate after him";
  ask(dsn, "drop owned by bob");
  ask(dsn, "drop role bob");
}

// The operator makes the schema for a login that may not; it was refused as that of others.
TEST(Migrate, an_empty_schema_that_was_made_for_us_is_taken) {
  const std::string ours = new_database(1);
  const std::string dsn = new_empty_database();
  ask(dsn, "create role carol login");
  ask(dsn, "create schema cairn authorization carol");
  EXPECT_EQ(open_store(dsn).error().code, Code::not_found);
  const Result<MigrateReport> report = migrate(with_user(dsn, "carol"), 2);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->from, 0);
  EXPECT_EQ((*open_store(with_user(dsn, "carol")))->shards(), 2);
  EXPECT_EQ(schema_listing(dsn), schema_listing(ours));
  ask(dsn, "drop owned by carol");
  ask(dsn, "drop role carol");
}

TEST(Migrate, a_schema_with_anything_of_others_in_it_is_refused) {
  for (const char* thing : {"table cairn.stone (n int)", "type cairn.kind as enum ('slate')",
                            "function cairn.one() returns int language sql as 'select 1'"}) {
    const std::string dsn = new_empty_database();
    ask(dsn, "create schema cairn");
    ask(dsn, std::string("create ") + thing);
    EXPECT_EQ(migrate(dsn, 1).error().code, Code::conflict) << thing;
    EXPECT_EQ(open_store(dsn).error().code, Code::conflict) << thing;
  }
}

TEST(Views, name_every_event_type) {
  const std::string dsn = new_database(1);
  std::string expected;
  for (std::int16_t number = 0; number < 200; ++number) {
    const auto name = event_type_name(number);
    if (!name) continue;
    expected += std::string(*name) + "\n";
    ask(dsn,
        "insert into cairn.event (shard, run_id, seq, at, commit, type, version, step, chain_hash, actor, payload) "
        "values (0, '00000000-0000-0000-0000-000000000000', " +
            std::to_string(number) + ", 0, 0, " + std::to_string(number) + ", 1, 0, '', '', '{}')");
  }
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(lines_of(dsn, "select type from cairn.events order by seq"), expected);
}

TEST(Views, show_payloads_as_jsonb_and_survive_what_jsonb_cannot_hold) {
  const std::string dsn = new_database(1);
  const auto insert = [&](int seq, const std::string& payload) {
    ask(dsn,
        "insert into cairn.event (shard, run_id, seq, at, commit, type, version, step, chain_hash, actor, payload) "
        "values (0, '00000000-0000-0000-0000-000000000000', " +
            std::to_string(seq) + ", 1700000000000000, 0, 1, 1, 0, '', '', '" + payload + "')");
  };
  insert(1, R"({"a": {"b": 7}})");
  insert(2, R"({"a": "\u0000"})");
  insert(3, "nonsense");
  EXPECT_EQ(lines_of(dsn, "select coalesce(payload -> 'a' ->> 'b', 'null') from cairn.events order by seq"),
            "7\nnull\nnull\n");
  EXPECT_EQ(ask_text(dsn, "select at from cairn.events where seq = 1"), "2023-11-14 22:13:20+00");
}

TEST(Views, of_model_calls_bear_facts_of_any_form) {
  const std::string dsn = new_database(1);
  const auto store = open_store(dsn);
  TestRun run(**store);
  run.start(job_of(1, 1));
  int seq = 100;
  for (const char* payload : {
           R"({"model": 5, "tokens_in": "x", "tokens_out": [1], "cost": "free", "latency_ms": {}, "ok": "maybe"})",
           R"({"tokens_in": 1e300, "tokens_out": -7, "cost": -1, "latency_ms": 1e300, "ok": 1})",
           R"({"tokens_in": 2.5, "tokens_out": 3, "cost": 0.5, "latency_ms": 1500, "ok": true})",
           R"({"tokens_in": null})",
       })
    ask(dsn,
        "insert into cairn.event (shard, run_id, seq, at, commit, type, version, step, chain_hash, actor, payload) "
        "values (0, '" +
            to_string(run.id()) + "', " + std::to_string(seq++) + ", 0, 0, 110, 1, 1, '', '', '" + payload + "')");
  EXPECT_EQ(lines_of(dsn,
                     "select concat_ws(' ', tokens_in, tokens_out, cost::float8, extract(epoch from latency)::float8, "
                     "ok) from cairn.model_calls order by seq"),
            "0 0 0 0\n1000000000000000 0 0 1000000000000\n2 3 0.5 1.5 t\n0 0 0 0\n");
  EXPECT_EQ(ask_text(dsn, "select concat_ws(' ', calls, tokens_in, cost::float8) from cairn.costs"),
            "4 1000000000000002 0.5");
}

TEST(Views, show_jobs_and_runs_with_times) {
  const std::string dsn = new_database(1);
  const auto store = open_store(dsn);
  TestRun run(**store);
  run.row.waiting = true;
  run.start(job_of(1, 1, never_us));
  EXPECT_EQ(ask_text(dsn, "select run_at from cairn.jobs"), "infinity");
  EXPECT_EQ(ask_text(dsn, "select status from cairn.runs"), "waiting");
}

}  // namespace
}  // namespace cairn
