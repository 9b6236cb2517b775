// The embedded database under commands: what they write there, who may migrate it, and who brings its server back.
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "ops/service/embedded_database.hpp"
#include "ops/service/watched_server.hpp"
#include "storage/postgres/connection.hpp"
#include "storage/server/cluster.hpp"
#include "storage/server/server_process.hpp"
#include "tests/ops/api_client.hpp"
#include "tests/ops/program.hpp"
#include "tests/ops/small_disk.hpp"
#include "tests/storage/server_programs.hpp"

namespace cairn {
namespace {

using namespace program;
namespace fs = std::filesystem;

std::int64_t next_transaction(PgConnection& connection) {
  return connection.query({"next", "select txid_current()::bigint"}).int8(0, 0);
}

// Each command ran roles.sql: 97 rows of the catalogue, and it waited for anybody's open GRANT.
TEST(Embedded, D6_a_command_on_a_database_that_is_current_writes_nothing_and_waits_for_nobody) {
  PgConnection owner({owner_dsn(), "test", false});
  owner.execute("BEGIN");
  owner.execute("GRANT SELECT ON cairn.run, cairn.event, cairn.job TO cairn_read");
  const Ran ran = cairn({"runs"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  owner.execute("COMMIT");
  EXPECT_TRUE(wait_until([&] {
    const std::int64_t before = next_transaction(owner);
    cairn_ok({"runs"});
    return next_transaction(owner) == before + 1;  // autovacuum may have had one
  }));
}

TEST(Embedded, A18_is_not_migrated_by_the_way_under_a_worker_of_an_older_program) {
  const std::string data = directory() / "older_worker";
  const std::string owner = owner_dsn(data);
  Beside worker({"work", "--data", data});
  PgConnection connection({owner, "test", false});
  EXPECT_TRUE(wait_until([&] {
    return connection.query({"sessions", "select count(*) from cairn.worker"}).int8(0, 0) == 1;
  }));
  connection.execute("ALTER TABLE cairn.job DROP COLUMN on_release");
  connection.execute("ALTER TABLE cairn.run DROP COLUMN caller_knows");
  connection.execute("ALTER TABLE cairn.tombstone DROP COLUMN file, DROP COLUMN erased_by");
  connection.execute("ALTER TABLE cairn.blob DROP COLUMN put_at");
  connection.execute(
      "ALTER TABLE cairn.worker DROP COLUMN alone, DROP COLUMN has_model, DROP COLUMN allows, DROP COLUMN feeds, "
      "DROP COLUMN caller, DROP COLUMN declares, DROP COLUMN begun");
  connection.execute("DROP TABLE cairn.import, cairn.token, cairn.erasing, cairn.home, cairn.progress");
  connection.execute(
      "DROP TABLE cairn.feed, cairn.feed_consumer, cairn.feed_place, cairn.schedule, cairn.schedule_note");
  connection.execute(
      "DROP TABLE cairn.saved_view, cairn.link_key, cairn.rate, cairn.key_turn, cairn.queue_change, cairn.budget_use");
  connection.execute(
      "ALTER TABLE cairn.queue DROP COLUMN limits, DROP COLUMN revision, DROP COLUMN change_began, "
      "DROP COLUMN before_revision, DROP COLUMN before_concurrency, DROP COLUMN before_paused, DROP COLUMN "
      "before_limits");
  connection.execute(
      "DROP TABLE cairn.hook, cairn.hook_note, cairn.hook_delivery, cairn.start_key, cairn.waiting_start");
  connection.execute("ALTER TABLE cairn.job DROP COLUMN limit_key");
  connection.execute("ALTER TABLE cairn.permit DROP COLUMN key");
  connection.execute("ALTER TABLE cairn.graph DROP COLUMN at, DROP COLUMN actor");
  connection.execute("DROP INDEX cairn.checkpoint_at");
  connection.execute("DELETE FROM cairn.migration WHERE number >= 11");
  const Ran ran = cairn({"runs", "--data", data});
  expect_refused(ran, 4, "(process " + std::to_string(worker.pid()) + " on ");
  EXPECT_NE(ran.err.find("`cairn migrate` migrates beside it"), std::string::npos) << ran.err;
  cairn_ok({"migrate", "--data", data});
  cairn_ok({"runs", "--data", data});
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0);
  cairn_ok({"down", "--data", data});
}

// Its worker said "permission denied for table worker" for ever, and its `start` broke.
TEST(Embedded, D8a_a_login_that_may_only_read_is_told_once) {
  PgConnection owner({owner_dsn(), "test", false});
  owner.execute("CREATE ROLE reader LOGIN IN ROLE cairn_read");
  const std::string dsn = "host=" + (directory() / "data").string() + " user=reader dbname=cairn";
  expect_refused(cairn({"work", "--dsn", dsn}), 4, "lacks insert on blob, insert on event");
  expect_refused(cairn({"start", "plan_runner", "--dsn", dsn, "--input", R"({"goal": "g", "sub_goals": []})"}), 4,
                 "permission denied");
  cairn_ok({"runs", "--dsn", dsn});
  owner.execute("DROP ROLE reader");
}

TEST(Embedded, H21_an_archive_is_for_its_owner_alone) {
  const std::string data = directory() / "archived_privately";
  cairn_ok({"start", "plan_runner", "--input", R"({"goal": "g", "sub_goals": []})", "--wait", "--data", data});
  const mode_t before = umask(0);
  const fs::path out = directory() / "private.zst";
  cairn_ok({"archive", "--older-than", "0s", "--out", out, "--data", data});
  umask(before);
  EXPECT_EQ(fs::status(out).permissions(), fs::perms(0600));
  cairn_ok({"down", "--data", data});
}

TEST(Embedded, D10_up_brings_its_server_back_and_leaves_one_that_was_stopped_on_purpose) {
  const std::string data = directory() / "watched";
  const auto server = [&] { return server_of(fs::path(data) / "data"); };
  Beside up({"up", "--workers", "1", "--data", data});
  EXPECT_TRUE(wait_until([&] { return up.out().find("Ctrl-C") != std::string::npos; }));
  const pid_t first = server().value();
  ASSERT_EQ(kill(first, SIGKILL), 0);
  EXPECT_TRUE(wait_until([&] { return server() && server() != first; }));
  cairn_ok({"down", "--data", data});
  EXPECT_TRUE(was_stopped(data));
  EXPECT_FALSE(wait_until([&] { return server().has_value(); }, std::chrono::seconds(3))) << "three looks of `up`";
  cairn_ok({"runs", "--data", data});
  EXPECT_FALSE(was_stopped(data));
  up.signal(SIGTERM);
  EXPECT_EQ(up.wait(), 0);
  cairn_ok({"down", "--data", data});
}

// Only a command looked, and under `up` there may be none for weeks: a server whose programs were replaced could not
// load what it had not loaded yet.
TEST(Embedded, D6_up_starts_a_server_again_whose_programs_were_replaced_and_its_workers_go_on) {
  const std::string data = directory() / "renewed";
  const fs::path programs = test::copy_programs(directory() / "renewed_programs");
  const Variable place("CAIRN_PG_BIN", programs.string());
  const auto server = [&] { return server_of(fs::path(data) / "data"); };
  Beside up({"up", "--workers", "1", "--listen", "127.0.0.1:0", "--data", data});
  EXPECT_TRUE(wait_until([&] { return up.out().find("Ctrl-C") != std::string::npos; })) << up.err();
  const pid_t first = server().value();
  test::replace_server_program(programs);
  EXPECT_TRUE(wait_until([&] { return server() && server() != first; }, std::chrono::seconds(60))) << up.err();
  const std::string plan = R"({"goal": "g", "sub_goals": [{"id": "a", "tool": "echo", "inputs": {}}]})";
  cairn_ok({"start", "plan_runner", "--wait", "--no-work", "--input", plan, "--data", data});
  const std::string said = up.err(), sentence = "were replaced; it is started again from the new ones.";
  EXPECT_NE(said.find(sentence), std::string::npos) << said;
  EXPECT_EQ(said.find(sentence), said.rfind(sentence)) << said;
  EXPECT_EQ(said.find("another takes its place"), std::string::npos) << said;
  up.signal(SIGTERM);
  EXPECT_EQ(up.wait(), 0);
  cairn_ok({"down", "--data", data});
}

TEST(Embedded, up_leaves_a_server_alone_that_the_new_programs_would_not_start) {
  const std::string data = directory() / "not_renewed";
  const fs::path programs = test::copy_programs(directory() / "not_renewed_programs");
  const Variable place("CAIRN_PG_BIN", programs.string());
  Beside up({"up", "--workers", "1", "--data", data});
  EXPECT_TRUE(wait_until([&] { return up.out().find("Ctrl-C") != std::string::npos; })) << up.err();
  const std::optional<pid_t> first = server_of(fs::path(data) / "data");
  test::put_programs(programs, "99.1");
  const Ran ran = cairn_ok({"runs", "--data", data});
  EXPECT_NE(ran.err.find("would not start again: Expected programs of PostgreSQL "), std::string::npos) << ran.err;
  EXPECT_TRUE(wait_until([&] { return up.err().find("goes on without its programs") != std::string::npos; },
                         std::chrono::seconds(60)))
      << up.err();
  EXPECT_EQ(server_of(fs::path(data) / "data"), first);
  up.signal(SIGTERM);
  EXPECT_EQ(up.wait(), 0);
  cairn_ok({"down", "--data", data});
}

// `up` was silent while the disk filled, as only the command that starts the server looked.
TEST(Embedded, little_space_is_said_once_and_again_when_it_was_enough_meanwhile) {
  const SmallDisk disk("filling_disk", 2'000);
  if (!disk.is_there()) GTEST_SKIP() << "a small disk: mounting one needs root";
  SpaceWatch space(disk.place());
  EXPECT_EQ(space.check(), std::nullopt);
  disk.grow(900);
  EXPECT_NE(space.check().value_or("").find("MB are free at " + disk.place().string()), std::string::npos);
  EXPECT_EQ(space.check(), std::nullopt) << "it is known";
  disk.grow(1'100);
  EXPECT_EQ(space.check(), std::nullopt);
  disk.grow(900);
  EXPECT_EQ(space.check(), std::nullopt) << "a little more for a while is not enough";
  disk.grow(2'000);
  EXPECT_EQ(space.check(), std::nullopt);
  disk.grow(900);
  EXPECT_NE(space.check(), std::nullopt);
}

TEST(Embedded, the_watch_of_up_over_its_server_says_that_the_disk_fills) {
  const SmallDisk disk("watched_disk", 300);
  if (!disk.is_there()) GTEST_SKIP() << "a small disk: mounting one needs root";
  const std::string data = (disk.place() / "data").string();
  cairn_ok({"runs", "--data", data});
  WatchedServer server(data, std::chrono::milliseconds(0));
  ::testing::internal::CaptureStderr();
  const Status checked = server.check();
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(checked);
  EXPECT_NE(said.find("MB are free at " + data), std::string::npos) << said;
  cairn_ok({"down", "--data", data});
}

TEST(Embedded, D10_up_ends_when_the_data_was_removed_under_it) {
  const std::string data = directory() / "removed";
  Beside up({"up", "--workers", "1", "--data", data});
  EXPECT_TRUE(wait_until([&] { return up.out().find("Ctrl-C") != std::string::npos; }));
  const pid_t server = server_of(fs::path(data) / "data").value();
  EXPECT_TRUE(wait_until([&] {  // the server may put a file there meanwhile
    std::error_code ignored;
    fs::remove_all(data, ignored);
    return !fs::exists(data);
  }));
  EXPECT_EQ(up.wait(), 3);
  kill(server, SIGKILL);
}

// The next command makes an empty cluster in its place, which has none of the runs that the worker knows.
TEST(Embedded, D10_a_worker_whose_data_were_removed_and_made_again_ends_and_verify_tells) {
  const std::string data = directory() / "made_again";
  setenv("CAIRN_CHECKPOINTS", (directory() / "made_again_checkpoints").c_str(), 1);
  Beside worker({"work", "--data", data});
  const Json plan = {{"goal", "g"}, {"sub_goals", {{{"id", "a"}, {"tool", "echo"}, {"inputs", Json::object()}}}}};
  const Ran ran = cairn_ok({"start", "plan_runner", "--wait", "--json", "--input", plan.dump(), "--data", data});
  EXPECT_EQ(ran.json().at("status"), "done");
  const pid_t server = server_of(fs::path(data) / "data").value();
  kill(server, SIGQUIT);
  EXPECT_TRUE(wait_until([&] { return kill(server, 0) != 0; }));
  fs::remove_all(data);
  EXPECT_EQ(cairn_ok({"runs", "--json", "--data", data}).out, "");
  EXPECT_EQ(worker.wait(), 5) << worker.err();
  const std::string said = worker.err();
  EXPECT_NE(said.find("\ncairn: Expected to find database "), std::string::npos) << said;
  EXPECT_NE(said.find(" again, but there is database "), std::string::npos) << said;
  const Ran verified = cairn({"verify", "--all", "--data", data});
  EXPECT_EQ(verified.exit, 1) << verified.out;
  EXPECT_NE(verified.out.find("another database may stand in its place"), std::string::npos) << verified.out;
  cairn_ok({"down", "--data", data});
  unsetenv("CAIRN_CHECKPOINTS");
}

// In /proc no file can be made, also by root. Its workers say so when there is something to sign.
TEST(Embedded, up_says_before_it_works_which_folder_cannot_be_written) {
  const std::string data = directory() / "unsigned";
  const Variable checkpoints("CAIRN_CHECKPOINTS", "/proc/cairn/checkpoints");
  Beside up({"up", "--workers", "1", "--data", data});
  EXPECT_TRUE(wait_until([&] { return up.out().find("Ctrl-C") != std::string::npos; }));
  EXPECT_NE(up.err().find("cairn: Expected to write checkpoints in /proc/cairn/checkpoints, but: "), std::string::npos)
      << up.err();
  EXPECT_EQ(up.err().find("to write the database in"), std::string::npos) << up.err();
  EXPECT_EQ(up.err().find("to write logs in"), std::string::npos) << up.err();
  up.signal(SIGTERM);
  EXPECT_EQ(up.wait(), 0);
  cairn_ok({"down", "--data", data});
}

TEST(Embedded, a_directory_that_cannot_be_made_says_why) {
  expect_refused(cairn({"runs", "--data", "/proc/no/such/place"}), 4,
                 "there is none and none can be made: No such file");
}

}  // namespace
}  // namespace cairn
