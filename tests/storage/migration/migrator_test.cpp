// A schema that moves forward while others use it: a migration that waits for a lock keeps no writer waiting, and an
// index is built while its table is written.
#include "storage/migration/migrator.hpp"

#include <fstream>
#include <future>
#include <gtest/gtest.h>
#include <iterator>
#include <utility>

#include "storage/postgres/administration.hpp"
#include "storage/postgres/schema.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "tests/paths.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/waiting.hpp"

namespace cairn {
namespace {

using namespace test;

std::string database_of_the_first_release() {
  const std::string dsn = new_empty_database();
  std::ifstream file(testing::source_dir() + "/tests/golden/release_1/database.sql.golden", std::ios::binary);
  Administration(dsn, "test").execute({std::istreambuf_iterator<char>(file), {}});
  return dsn;
}

// A transaction that has read a table, and stays open.
class OpenReader {
 public:
  OpenReader(const std::string& dsn, const std::string& table) : connection_({dsn, "a report", false}) {
    connection_.execute("BEGIN");
    connection_.execute("LOCK TABLE " + table + " IN ACCESS SHARE MODE");
  }
  void end() { connection_.execute("COMMIT"); }

 private:
  PgConnection connection_;
};

bool waits_for_a_lock(const std::string& dsn) {
  return ask_number(dsn,
                    "select count(*) from pg_locks l join pg_stat_activity a using (pid) where not l.granted "
                    "and a.application_name = 'cairn migrate' and a.datname = current_database()") > 0;
}

// As the first release counts a session's heartbeats, and commits to a run.
void write(const std::string& dsn) {
  ask(dsn + " options='-c statement_timeout=20s'", "update cairn.worker set counter = counter + 1");
  ask(dsn + " options='-c statement_timeout=20s'", "update cairn.run set updated_at = updated_at + 1");
}

TEST(Migrator, an_older_server_is_refused_by_its_version) {
  EXPECT_TRUE(check_server_version(150'000));
  EXPECT_TRUE(check_server_version(180'001));
  for (const auto& [number, name] : {std::pair(140'009, "14.9."), {100'023, "10.23."}, {90'624, "9.6."}}) {
    const Status refused = check_server_version(number);
    ASSERT_FALSE(refused) << number;
    EXPECT_EQ(refused.error().code, Code::unavailable);
    EXPECT_EQ(refused.error().message, std::string("Expected a server of PostgreSQL 15 or newer, but found ") + name);
  }
}

TEST(Migrator, a_check_names_what_would_run_and_writes_nothing) {
  const std::string dsn = database_of_the_first_release();
  const Result<MigrationCheck> check = check_migrations(dsn);
  ASSERT_TRUE(check) << check.error().message;
  EXPECT_EQ(check->version, 1);
  EXPECT_EQ(check->newest, newest_schema());
  ASSERT_EQ(std::ssize(check->missing), std::ssize(migrations()) - 1);
  EXPECT_EQ(check->missing.front().name, "permit");
  EXPECT_EQ(ask_number(dsn, "select count(*) from cairn.migration"), 1);
  ASSERT_TRUE(migrate(dsn, 0));
  EXPECT_TRUE(check_migrations(dsn)->missing.empty());
}

TEST(Migrator, a_check_of_an_empty_database_leaves_it_empty) {
  const std::string dsn = new_empty_database();
  const Result<MigrationCheck> check = check_migrations(dsn);
  ASSERT_TRUE(check) << check.error().message;
  EXPECT_EQ(check->version, 0);
  EXPECT_EQ(check->missing.size(), migrations().size());
  EXPECT_EQ(ask_number(dsn, "select count(*) from pg_namespace where nspname = 'cairn'"), 0);
}

TEST(Migrator, a_check_refuses_a_newer_schema) {
  const std::string dsn = new_database(1);
  ask(dsn, "insert into cairn.migration (number, name, shards) values (999, 'later', 1)");
  EXPECT_EQ(check_migrations(dsn).error().code, Code::unsupported);
}

// ALTER TABLE queued up behind the report, and every writer behind ALTER TABLE.
TEST(Migrator, writers_pass_while_a_migration_waits_for_a_report) {
  const std::string dsn = database_of_the_first_release();
  OpenReader report(dsn, "cairn.run");
  auto migrated = std::async(std::launch::async, [&] { return migrate(dsn, 0); });
  EXPECT_TRUE(wait_until([&] { return waits_for_a_lock(dsn); }));
  for (int times = 0; times < 3; ++times) EXPECT_NO_THROW(write(dsn));
  EXPECT_EQ(migrated.wait_for(std::chrono::seconds(0)), std::future_status::timeout) << "the report is still open";
  report.end();
  const Result<MigrateReport> done = migrated.get();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->from, 1);
  EXPECT_TRUE(check_migrations(dsn)->missing.empty());
}

TEST(Migrator, a_lock_that_cannot_be_had_is_told_with_its_holder_and_the_rest_goes_on_later) {
  const std::string dsn = database_of_the_first_release();
  OpenReader report(dsn, "cairn.run");
  const Result<MigrateReport> refused = migrate(dsn, 0, {.each_ms = 20, .all_ms = 100});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unavailable);
  EXPECT_NE(refused.error().message.find("(a report) has been in a transaction"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(check_migrations(dsn)->version, 4) << "the first that needs the lock of `run` is the fifth";
  report.end();
  ASSERT_TRUE(migrate(dsn, 0));
  EXPECT_TRUE(check_migrations(dsn)->missing.empty());
}

TEST(Migrator, several_at_once_move_one_schema_forward) {
  const std::string dsn = database_of_the_first_release();
  std::vector<std::future<Result<MigrateReport>>> all;
  for (int count = 0; count < 4; ++count)
    all.push_back(std::async(std::launch::async, [&] { return migrate(dsn, 0); }));
  for (auto& one : all) {
    const Result<MigrateReport> report = one.get();
    EXPECT_TRUE(report) << report.error().message;
  }
  EXPECT_EQ(ask_number(dsn, "select count(*) from cairn.migration"), std::ssize(migrations()));
  EXPECT_TRUE(open_postgres_store({.dsn = dsn}));
}

}  // namespace
}  // namespace cairn
