// `cairn backup` and `cairn restore`: the embedded database with its proof in one folder, taken while workers are at
// work; made again elsewhere, where no session of that past is honoured; and each thing that they refuse.
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "storage/postgres/connection.hpp"
#include "storage/server/cluster.hpp"
#include "tests/ops/api_client.hpp"
#include "tests/ops/program.hpp"
#include "tests/ops/small_disk.hpp"

namespace cairn {
namespace {

using namespace program;
namespace fs = std::filesystem;

std::string place(const std::string& name) { return (directory() / name).string(); }

std::string plan(const std::string& tool, const Json& inputs) {
  return Json({{"goal", "g"}, {"sub_goals", Json::array({{{"id", "a"}, {"tool", tool}, {"inputs", inputs}}})}}).dump();
}

std::string done_run(const std::string& data) {
  const Ran ran =
      cairn_ok({"start", "plan_runner", "--wait", "--json", "--input", plan("echo", {{"n", 1}}), "--data", data});
  return ran.json().at("run");
}

std::int64_t asked(const std::string& data, const std::string& question) {
  PgConnection owner({owner_dsn(data), "test", false});
  return owner.query({"asked", question}).int8(0, 0);
}

// One database with a run, and its backup, for the tests that only read them.
class Backup : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    run_ = done_run(data());
    cairn_ok({"backup", kept(), "--data", data()});
  }
  static void TearDownTestSuite() { cairn_ok({"down", "--data", data()}); }
  static std::string data() { return place("backed_up"); }
  static std::string kept() { return place("kept"); }
  static inline std::string run_;
};

TEST_F(Backup, is_one_folder_for_its_owner_alone_and_becomes_the_database_again) {
  EXPECT_EQ(fs::status(kept()).permissions(), fs::perms(0700));
  EXPECT_FALSE(fs::exists(kept() + ".partial"));
  const std::string to = place("restored");
  const Ran ran = cairn_ok({"restore", kept(), "--data", to});
  EXPECT_NE(ran.out.find("Restored into " + to), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("1 run, "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("nothing found."), std::string::npos) << ran.out;
  EXPECT_FALSE(fs::exists(to + "/restoring"));
  EXPECT_EQ(cairn_ok({"show", run_, "--json", "--data", to}).out,
            cairn_ok({"show", run_, "--json", "--data", data()}).out);
  EXPECT_TRUE(fs::exists(fs::path(to) / "checkpoints_signing_key.pem"));
  done_run(to);
  EXPECT_NE(cairn_ok({"verify", "--all", "--data", to}).out.find("2 runs"), std::string::npos);
  cairn_ok({"down", "--data", to});
}

TEST_F(Backup, refuses_what_would_overwrite_and_leaves_it_alone) {
  expect_refused(cairn({"backup", kept(), "--data", data()}), 4, "to be free, but it is not");
  expect_refused(cairn({"restore", kept(), "--data", data()}), 4, "to be free, but it holds ");
  fs::create_directories(place("other.partial"));
  expect_refused(cairn({"backup", place("other"), "--data", data()}), 4, "of an interrupted attempt");
  EXPECT_TRUE(fs::exists(place("other.partial")));
  expect_refused(cairn({"backup", data() + "/data/kept", "--data", data()}), 4, "outside of the server's data");
  EXPECT_FALSE(fs::exists(data() + "/data/kept.partial"));
  cairn_ok({"verify", "--all", "--data", data()});
}

TEST_F(Backup, refuses_what_is_no_backup_or_is_not_as_it_was_copied) {
  expect_refused(cairn({"restore", place("nowhere"), "--data", place("to")}), 3, "there is no");
  fs::create_directories(place("empty"));
  expect_refused(cairn({"restore", place("empty"), "--data", place("to")}), 4, "Expected a whole backup");
  const fs::path copy = place("damaged");
  fs::copy(kept(), copy, fs::copy_options::recursive);
  const std::string file = "damaged/data/global/pg_filenode.map";
  std::string bytes = read_file(directory() / file);
  bytes[100] = static_cast<char>(bytes[100] ^ 1);
  write_file(file, bytes);
  expect_refused(cairn({"restore", copy, "--data", place("to")}), 4, "pg_filenode.map");
  fs::copy(kept() + "/data/global/pg_filenode.map", directory() / file, fs::copy_options::overwrite_existing);
  Json note = Json::parse(read_file(copy / "cairn_backup.json"));
  note["postgres"] = 9;
  write_file("damaged/cairn_backup.json", note.dump());
  expect_refused(cairn({"restore", copy, "--data", place("to")}), 4, "but it is of version 9");
  note["schema"] = 9'999;
  write_file("damaged/cairn_backup.json", note.dump());
  expect_refused(cairn({"restore", copy, "--data", place("to")}), 4, "a newer program restores it");
  EXPECT_FALSE(fs::exists(place("to/data")));
  EXPECT_FALSE(fs::exists(place("to/restoring")));
}

// The server of the copy was started before its password was refused.
TEST_F(Backup, whose_restoration_fails_leaves_neither_a_server_nor_a_folder) {
  const fs::path copy = place("other_password"), to = place("no_entry");
  fs::copy(kept(), copy, fs::copy_options::recursive);
  write_file("other_password/owner.pass", "*:*:*:postgres:another\n");
  expect_refused(cairn({"restore", copy, "--data", to}), 5, "authentication failed");
  EXPECT_TRUE(fs::exists(to));
  EXPECT_TRUE(fs::is_empty(to)) << fs::directory_iterator(to)->path();
}

TEST_F(Backup, is_restored_by_a_second_try_where_the_proof_found_no_place) {
  const std::string to = place("second_try");
  write_file("no_folder", "");
  {
    const Variable checkpoints("CAIRN_CHECKPOINTS", place("no_folder/checkpoints"));
    expect_refused(cairn({"restore", kept(), "--data", to}), 5, "Expected to copy");
  }
  const Variable checkpoints("CAIRN_CHECKPOINTS", place("its/own/checkpoints"));
  cairn_ok({"restore", kept(), "--data", to});
  EXPECT_FALSE(fs::is_empty(place("its/own/checkpoints")));
  EXPECT_FALSE(fs::exists(place("its/own/checkpoints.partial")));
  cairn_ok({"down", "--data", to});
}

TEST_F(Backup, is_of_an_embedded_database_alone) {
  expect_refused(cairn({"backup", place("never"), "--dsn", "host=" + data() + " user=cairn dbname=cairn"}), 4,
                 "Expected an embedded PostgreSQL to back up");
  EXPECT_FALSE(fs::exists(place("never")));
}

TEST_F(Backup, says_before_it_begins_that_the_disk_is_too_small) {
  const SmallDisk disk("backup_disk", 8);
  if (!disk.is_there()) GTEST_SKIP() << "a small disk: mounting one of its own needs root";
  const std::string to = (disk.place() / "kept").string();
  expect_refused(cairn({"backup", to, "--data", data()}), 4, "MiB of space for " + to);
  EXPECT_FALSE(fs::exists(to + ".partial"));
}

TEST(Embedded, says_when_it_is_started_that_the_disk_is_nearly_full) {
  const SmallDisk disk("nearly_full", 300);
  if (!disk.is_there()) GTEST_SKIP() << "a small disk: mounting one of its own needs root";
  const std::string data = (disk.place() / "data").string();
  const Ran first = cairn_ok({"runs", "--data", data});
  EXPECT_NE(first.err.find(" MB are free at " + data), std::string::npos) << first.err;
  EXPECT_EQ(cairn_ok({"runs", "--data", data}).err, "");
  cairn_ok({"down", "--data", data});
  const std::string roomy = place("roomy");
  EXPECT_EQ(cairn_ok({"runs", "--data", roomy}).err.find("MB are free"), std::string::npos);
  cairn_ok({"down", "--data", roomy});
}

// A fence that names the session or the epoch of before is refused, whichever comes first: the holder or a sweep.
TEST(Restore, gives_every_hold_to_a_session_that_never_was_under_the_next_epoch) {
  const std::string data = place("held");
  cairn_ok({"start", "plan_runner", "--input", plan("sleep", {{"ms", 60'000}}), "--data", data});
  Beside worker({"work", "--data", data});
  ASSERT_TRUE(wait_until([&] { return asked(data, "select count(*) from cairn.job where session > 0") == 1; }));
  const std::int64_t session = asked(data, "select session from cairn.job where session is not null");
  const std::int64_t epoch = asked(data, "select epoch from cairn.job where session is not null");
  const std::string kept = place("kept_held"), to = place("held_again");
  cairn_ok({"backup", kept, "--data", data});
  cairn_ok({"restore", kept, "--data", to});
  EXPECT_EQ(asked(to, "select count(*) from cairn.worker"), 0);
  EXPECT_EQ(asked(to, "select session from cairn.job where session is not null"), -session);
  EXPECT_EQ(asked(to, "select epoch from cairn.job where session is not null"), epoch + 1);
  EXPECT_EQ(asked(data, "select session from cairn.job where session is not null"), session);
  cairn_ok({"down", "--data", to});
  cairn_ok({"down", "--data", data});
}

// The worker holds a step when the backup is made, ends it in a present that is lost, and lives on when that past is
// back in its place.
TEST(Restore, honours_no_hold_of_the_past_under_a_worker_that_still_runs) {
  const std::string data = place("past");
  const std::string run =
      cairn_ok({"start", "plan_runner", "--input", plan("sleep", {{"ms", 12'000}}), "--data", data}).out.substr(0, 36);
  const std::string held = "select count(*) from cairn.job where session > 0";
  Beside worker({"work", "--data", data});
  ASSERT_TRUE(wait_until([&] { return asked(data, held) == 1; }));
  const std::string kept = place("kept_past");
  cairn_ok({"backup", kept, "--data", data});
  cairn_ok({"down", "--data", data});
  fs::rename(data, data + "_lost");
  const Ran restored = cairn_ok({"restore", kept, "--data", data, "--json"});
  const Json first = Json::parse(restored.out.substr(0, restored.out.find('\n')));
  EXPECT_EQ(first["sessions"], 1) << restored.out;
  EXPECT_EQ(first["holds"], 1) << restored.out;
  const auto shown = [&] { return cairn({"show", run, "--json", "--data", data}).json(); };
  ASSERT_TRUE(wait_until([&] { return shown()["status"] == "done"; }, std::chrono::seconds(100))) << worker.err();
  const std::string events = cairn_ok({"events", run, "--data", data}).out;
  EXPECT_NE(events.find("error=lost"), std::string::npos) << events << worker.err();
  EXPECT_EQ(asked(data, held), 0);
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0) << worker.err();
  cairn_ok({"verify", "--all", "--data", data});
  cairn_ok({"down", "--data", data});
}

// They are signed in a present that is lost.
TEST(Restore, names_the_run_that_newer_checkpoints_know) {
  const std::string data = place("rolled_back"), lost = data + "_lost", kept = place("kept_early");
  done_run(data);
  cairn_ok({"backup", kept, "--data", data});
  const std::string later = done_run(data);
  cairn_ok({"down", "--data", data});
  fs::rename(data, lost);
  fs::create_directory(data);
  for (const char* part : {"checkpoints", "checkpoints_signing_key.pem"})
    fs::rename(lost + "/" + part, data + "/" + part);
  const Ran restored = cairn({"restore", kept, "--data", data});
  EXPECT_EQ(restored.exit, 1) << restored.err;
  EXPECT_NE(restored.out.find(later), std::string::npos) << restored.out;
  cairn_ok({"down", "--data", data});
}

// The server of the copy writes WAL under the names of the original.
TEST(Restore, archives_nothing) {
  const std::string data = place("archived"), kept = place("kept_archived"), to = place("archived_again");
  const fs::path archived = fs::path(data) / "data" / "archived";
  done_run(data);
  cairn_ok({"down", "--data", data});
  std::ofstream(fs::path(data) / "data" / "postgresql.conf", std::ios::app)
      << "archive_mode = on\narchive_command = 'echo %f >> " << archived.string() << "'\n";
  done_run(data);
  cairn_ok({"backup", kept, "--data", data});
  cairn_ok({"down", "--data", data});
  const std::string before = read_file(archived);
  EXPECT_FALSE(before.empty());
  cairn_ok({"restore", kept, "--data", to});
  EXPECT_EQ(read_file(archived), before);
  cairn_ok({"down", "--data", to});
}

// A database whose WAL is archived: a run before the backup, one after it, a moment, and one after that.
class RestoreToMoment : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    first_ = done_run(data());
    set("alter system set archive_mode = on");
    set("alter system set archive_command = 'mkdir -p ../wal && cp %p ../wal/%f'");
    cairn_ok({"down", "--data", data()});
    cairn_ok({"backup", kept(), "--data", data()});
    second_ = done_run(data());
    moment_ = now();
    third_ = done_run(data());
    cairn_ok({"down", "--data", data()});  // which archives what is left
  }
  static void set(const std::string& statement) {
    PgConnection owner({owner_dsn(data()), "test", false});
    owner.query({"set", statement});
  }
  static std::string now() {
    PgConnection owner({owner_dsn(data()), "test", false});
    return std::string(
        owner.query({"now", "select to_char(clock_timestamp(), 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"}).text(0, 0));
  }
  static std::string data() { return place("with_wal"); }
  static std::string kept() { return place("kept_with_wal"); }
  static std::string wal() { return data() + "/wal"; }
  static inline std::string first_, second_, moment_, third_;
};

TEST_F(RestoreToMoment, has_what_came_before_it_and_names_what_came_after) {
  const std::string to = place("at_moment");
  const Variable newer("CAIRN_CHECKPOINTS", data() + "/checkpoints");
  const Ran restored = cairn({"restore", kept(), "--wal", wal(), "--until", moment_, "--data", to});
  EXPECT_EQ(restored.exit, 1) << restored.out << restored.err;
  EXPECT_NE(restored.out.find(third_), std::string::npos) << restored.out;
  EXPECT_EQ(restored.out.find(second_), std::string::npos) << restored.out;
  for (const std::string& run : {first_, second_}) cairn_ok({"show", run, "--data", to});
  EXPECT_EQ(cairn({"show", third_, "--data", to}).exit, 3);
  done_run(to);
  cairn_ok({"down", "--data", to});
}

TEST_F(RestoreToMoment, without_one_is_to_the_end_of_the_wal) {
  const std::string to = place("at_the_end");
  const Ran restored = cairn_ok({"restore", kept(), "--wal", wal(), "--data", to});
  EXPECT_NE(restored.out.find("3 runs, "), std::string::npos) << restored.out;
  EXPECT_NE(restored.out.find("nothing found."), std::string::npos) << restored.out;
  cairn_ok({"down", "--data", to});
}

TEST_F(RestoreToMoment, works_in_folders_whose_names_a_shell_would_take_apart) {
  const fs::path odd = place("it's 100%f \"$HOME\"");
  fs::create_directories(odd);
  fs::copy(wal(), odd / "wal");
  fs::permissions(odd / "wal", fs::perms(0755));  // the server's own were copied by another user
  for (const auto& file : fs::directory_iterator(odd / "wal")) fs::permissions(file, fs::perms(0644));
  const std::string to = place("out_of_odd");
  EXPECT_NE(cairn_ok({"restore", kept(), "--wal", odd / "wal", "--data", to}).out.find("3 runs, "), std::string::npos);
  cairn_ok({"down", "--data", to});
}

TEST_F(RestoreToMoment, refuses_one_that_the_wal_does_not_have) {
  const std::string to = place("no_moment");
  const auto restore = [&](const std::string& wal, const std::string& until) {
    return cairn({"restore", kept(), "--wal", wal, "--until", until, "--data", to});
  };
  expect_refused(restore(wal(), "2099-01-01T00:00:00Z"), 5, "recovery ended before configured recovery target");
  expect_refused(restore(wal(), "2026-01-01"), 4, "Expected a moment after the backup began at 20");
  expect_refused(restore(place("no_wal"), moment_), 3, "Expected a folder with archived WAL, but there is no");
  expect_refused(restore(wal(), "yesterday"), 4, "Expected a time like");
  EXPECT_EQ(cairn({"restore", kept(), "--until", moment_, "--data", to}).exit, 2);
  EXPECT_FALSE(fs::exists(fs::path(to) / "restoring"));
  EXPECT_FALSE(fs::exists(fs::path(to) / "data"));
}

TEST_F(RestoreToMoment, refuses_wal_that_the_server_may_not_read) {
  if (geteuid() != 0) GTEST_SKIP() << "files of another user: the server's user is one's own";
  const std::string closed = place("closed_wal"), to = place("unread");
  fs::copy(wal(), closed);
  expect_refused(cairn({"restore", kept(), "--wal", closed, "--data", to}), 5, "but it is not: " + closed);
  EXPECT_FALSE(fs::exists(fs::path(to) / "data"));
}

}  // namespace
}  // namespace cairn
