#include "storage/server/cluster.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <pwd.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "storage/chain.hpp"
#include "storage/data/dataset.hpp"
#include "storage/migration/migrator.hpp"
#include "storage/postgres/connection.hpp"
#include "storage/server/server_process.hpp"
#include "tests/storage/server_programs.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/waiting.hpp"

namespace cairn {
namespace {

using namespace test;
namespace fs = std::filesystem;

// A directory of its own; what runs there is stopped at the end.
class ClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ = scratch_directory() + "/" + info->name();
  }
  void TearDown() override {
    if (find_cluster(directory_)) {
      EXPECT_TRUE(stop_cluster(directory_));
    }
  }
  fs::path data() const { return directory_ + "/data"; }
  std::string directory_;
};

TEST_F(ClusterTest, starts_is_found_stops_and_starts_again_with_its_data) {
  EXPECT_EQ(find_cluster(directory_).error().code, Code::not_found);
  EXPECT_EQ(stop_cluster(directory_).error().code, Code::not_found);
  const Result<Cluster> started = start_cluster(directory_);
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_TRUE(started->started);
  ask(started->owner_dsn, "create table kept (n int)");
  EXPECT_EQ(ask_text(started->owner_dsn, "select current_database()"), "cairn");
  EXPECT_EQ(ask_text(started->owner_dsn, "select current_setting('listen_addresses')"), "");
  EXPECT_EQ(ask_text(started->owner_dsn, "select current_setting('fsync') || current_setting('synchronous_commit')"),
            "onon");
  EXPECT_EQ(ask_text(started->owner_dsn, "select current_setting('server_encoding')"), "UTF8");

  const Result<Cluster> again = start_cluster(directory_);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->started);
  EXPECT_EQ(again->owner_dsn, started->owner_dsn);
  EXPECT_EQ(find_cluster(directory_)->owner_dsn, started->owner_dsn);

  ASSERT_TRUE(stop_cluster(directory_));
  EXPECT_EQ(find_cluster(directory_).error().code, Code::not_found);
  EXPECT_EQ(stop_cluster(directory_).error().code, Code::not_found);
  ASSERT_TRUE(start_cluster(directory_));
  EXPECT_EQ(ask_number(started->owner_dsn, "select count(*) from kept"), 0);
}

TEST_F(ClusterTest, several_callers_start_one_server) {
  std::vector<std::thread> threads;
  std::vector<int> started(3);
  std::vector<std::string> faults(3);
  for (std::size_t n = 0; n < started.size(); ++n) {
    threads.emplace_back([&, n] {
      const Result<Cluster> cluster = start_cluster(directory_);
      if (cluster) {
        started[n] = cluster->started ? 1 : 0;
      } else {
        faults[n] = cluster.error().message;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& fault : faults) EXPECT_EQ(fault, "");
  EXPECT_EQ(started[0] + started[1] + started[2], 1);
}

TEST_F(ClusterTest, a_long_path_gets_its_socket_elsewhere) {
  directory_ += "/" + std::string(60, 'a') + "/" + std::string(60, 'b');
  const Result<Cluster> cluster = start_cluster(directory_);
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(ask_number(cluster->owner_dsn, "select 1"), 1);
  EXPECT_EQ(find_cluster(directory_)->owner_dsn, cluster->owner_dsn);
}

TEST_F(ClusterTest, a_path_with_a_space_and_a_quote_works) {
  directory_ += " it's";
  const Result<Cluster> cluster = start_cluster(directory_);
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(ask_number(cluster->owner_dsn, "select 1"), 1);
}

TEST_F(ClusterTest, a_server_that_was_killed_is_started_again) {
  const Result<Cluster> cluster = start_cluster(directory_);
  ASSERT_TRUE(cluster) << cluster.error().message;
  ask(cluster->owner_dsn, "create table kept (n int)");
  ASSERT_EQ(kill(server_of(data()).value(), SIGKILL), 0);
  const Result<Cluster> again = start_cluster(directory_);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(ask_number(again->owner_dsn, "select count(*) from kept"), 0);
}

TEST_F(ClusterTest, a_server_recovers_as_long_as_its_file_says_that_it_starts) {
  fs::create_directories(data());
  EXPECT_FALSE(is_recovering(data()));
  const std::string seven_lines = "1\n/data\n1764270000\n5432\n/socket\n\n  5432001         1\n";
  std::ofstream(data() / "postmaster.pid") << seven_lines;
  EXPECT_FALSE(is_recovering(data()));
  std::ofstream(data() / "postmaster.pid") << seven_lines << "starting\n";
  EXPECT_TRUE(is_recovering(data()));
  std::ofstream(data() / "postmaster.pid") << seven_lines << "ready   \n";
  EXPECT_FALSE(is_recovering(data()));
}

TEST_F(ClusterTest, a_directory_that_holds_something_else_is_refused) {
  fs::create_directories(directory_);
  std::ofstream(directory_ + "/letter.txt") << "mine";
  const Result<Cluster> cluster = start_cluster(directory_);
  ASSERT_FALSE(cluster);
  EXPECT_EQ(cluster.error().code, Code::invalid);
  EXPECT_NE(cluster.error().message.find("letter.txt"), std::string::npos);
  EXPECT_TRUE(fs::exists(directory_ + "/letter.txt"));
  EXPECT_FALSE(fs::exists(directory_ + "/data"));
  EXPECT_FALSE(fs::exists(directory_ + "/cairn.lock"));
}

// After a full disk, or a kill in the middle of it, the directory was refused for ever.
TEST_F(ClusterTest, an_attempt_that_did_not_come_to_its_end_is_made_again) {
  setenv("CAIRN_PG_BIN", "/nowhere", 1);
  EXPECT_FALSE(start_cluster(directory_));
  unsetenv("CAIRN_PG_BIN");
  std::ofstream(directory_ + "/CAIRN") << "A private PostgreSQL cluster of cairn, being made.\n";
  std::ofstream(directory_ + "/cairn.out") << "No space left on device\n";
  fs::create_directories(directory_ + "/data/base");
  const Result<Cluster> cluster = start_cluster(directory_);
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(ask_text(cluster->owner_dsn, "select current_database()"), "cairn");
}

TEST_F(ClusterTest, a_file_is_refused) {
  std::ofstream file(directory_);
  EXPECT_EQ(start_cluster(directory_).error().code, Code::invalid);
}

TEST_F(ClusterTest, data_of_another_major_version_is_unsupported) {
  ASSERT_TRUE(start_cluster(directory_));
  ASSERT_TRUE(stop_cluster(directory_));
  std::ofstream(directory_ + "/data/PG_VERSION") << "9\n";
  EXPECT_EQ(start_cluster(directory_).error().code, Code::unsupported);
}

TEST_F(ClusterTest, without_the_programs_it_is_unavailable) {
  setenv("CAIRN_PG_BIN", "/nowhere", 1);
  const Result<Cluster> cluster = start_cluster(directory_);
  unsetenv("CAIRN_PG_BIN");
  EXPECT_EQ(cluster.error().code, Code::unavailable);
}

TEST_F(ClusterTest, a_server_that_cannot_start_says_why) {
  ASSERT_TRUE(start_cluster(directory_));
  ASSERT_TRUE(stop_cluster(directory_));
  std::ofstream(directory_ + "/data/postgresql.conf", std::ios::app) << "shared_buffers = nonsense\n";
  const Result<Cluster> cluster = start_cluster(directory_);
  ASSERT_FALSE(cluster);
  EXPECT_EQ(cluster.error().code, Code::unavailable);
  EXPECT_NE(cluster.error().message.find("shared_buffers"), std::string::npos) << cluster.error().message;
}

// --- whose process, whose folder
// --------------------------------------------------------------------------------------

// A process of the server's user that has nothing to do with it.
class Stranger {
 public:
  explicit Stranger(const ServerAccount& account) : pid_(fork()) {
    if (pid_ != 0) return;
    if (geteuid() == 0 && (setgid(account.group) != 0 || setuid(account.user) != 0)) _exit(1);
    execl("/bin/sleep", "sleep", "300", nullptr);
    _exit(127);
  }
  ~Stranger() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

// The shutdown of a server that was not there any more killed the process that had its number since.
TEST_F(ClusterTest, D10_a_stale_pid_file_names_a_stranger_who_is_left_alone) {
  ASSERT_TRUE(start_cluster(directory_));
  ASSERT_TRUE(stop_cluster(directory_));
  const Stranger stranger(*server_account(data()));
  std::ofstream(data() / "postmaster.pid") << stranger.pid() << "\n" << data().string() << "\n1\n5432\n\n\n0\nready\n";
  EXPECT_EQ(stop_cluster(directory_).error().code, Code::not_found);
  EXPECT_EQ(find_cluster(directory_).error().code, Code::not_found);
  const Result<Cluster> again = start_cluster(directory_);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(ask_number(again->owner_dsn, "select 1"), 1);
  EXPECT_NE(server_of(data()), stranger.pid());
  EXPECT_TRUE(is_running(stranger.pid()));
}

TEST_F(ClusterTest, D10_an_empty_pid_file_does_not_keep_a_server_from_starting) {
  ASSERT_TRUE(start_cluster(directory_));
  ASSERT_TRUE(stop_cluster(directory_));
  std::ofstream(data() / "postmaster.pid").flush();
  EXPECT_EQ(stop_cluster(directory_).error().code, Code::not_found);
  const Result<Cluster> again = start_cluster(directory_);
  ASSERT_TRUE(again) << again.error().message;
}

TEST_F(ClusterTest, H14_the_server_inherits_no_secret) {
  setenv("CAIRN_MODEL_KEY", "sesame", 1);
  const Result<Cluster> cluster = start_cluster(directory_);
  unsetenv("CAIRN_MODEL_KEY");
  ASSERT_TRUE(cluster) << cluster.error().message;
  const std::string entries = read_text("/proc/" + std::to_string(server_of(data()).value()) + "/environ");
  EXPECT_NE(entries.find("PATH="), std::string::npos);
  EXPECT_EQ(entries.find("sesame"), std::string::npos);
  EXPECT_EQ(entries.find("CAIRN_"), std::string::npos);
}

// pg_ctl starts the server by a line for the shell.
TEST_F(ClusterTest, D15_a_path_means_nothing_to_a_shell) {
  directory_ += R"( "$(touch /tmp/sesame)` $HOME)";
  const Result<Cluster> cluster = start_cluster(directory_);
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(ask_number(cluster->owner_dsn, "select 1"), 1);
  EXPECT_EQ(ask_text(cluster->owner_dsn, "select current_setting('data_directory')"), data().string());
  ASSERT_TRUE(stop_cluster(directory_));
}

TEST_F(ClusterTest, D15_a_server_that_cannot_start_is_told_by_whole_lines_of_its_log) {
  ASSERT_TRUE(start_cluster(directory_));
  ASSERT_TRUE(stop_cluster(directory_));
  std::ofstream(directory_ + "/data/postgresql.conf", std::ios::app) << "shared_buffers = nonsense\n";
  const std::string says = start_cluster(directory_).error().message;
  EXPECT_TRUE(says.starts_with("Expected the database server to start, but: 20")) << says;
  EXPECT_EQ(says.find("shut down"), std::string::npos) << "a line of the start before: " << says;
  EXPECT_EQ(last_lines("one\ntwo\nthree\n", 9), "two three");
  EXPECT_EQ(last_lines("one\ntwo\nthree\n", 8), "three");
  EXPECT_EQ(last_lines("one\ntwo\nthree\n", 2), "three");
  EXPECT_EQ(last_lines("one\ntwo\n", 100), "one two");
  EXPECT_EQ(last_lines("\n", 1), "");
}

TEST_F(ClusterTest, H15_a_socket_folder_that_others_made_is_refused) {
  directory_ += "/" + std::string(60, 'a') + "/" + std::string(60, 'b');
  fs::create_directories(directory_);
  const std::string target = scratch_directory() + "/target";
  fs::create_directories(target);
  fs::permissions(target, fs::perms(0755));
  const fs::path folder = "/tmp/cairn-" + hex(sha256(fs::weakly_canonical(directory_).string())).substr(0, 16);
  const auto refuses = [&](const char* why) {
    const Result<Cluster> cluster = start_cluster(directory_);
    ASSERT_FALSE(cluster) << why;
    EXPECT_EQ(cluster.error().code, Code::unavailable) << why;
    EXPECT_NE(cluster.error().message.find(folder.string()), std::string::npos) << cluster.error().message;
  };
  fs::create_directory_symlink(target, folder);
  refuses("a link");
  struct stat found {};
  ASSERT_EQ(stat(target.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0755u) << "what a link leads to is left as it is";
  EXPECT_EQ(found.st_uid, geteuid());
  fs::remove(folder);
  ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
  fs::permissions(folder, fs::perms(0777));
  refuses("a folder that everybody may write in");
  if (geteuid() == 0) {
    fs::permissions(folder, fs::perms(0700));
    ASSERT_EQ(chown(folder.c_str(), 65534, 65534), 0);
    refuses("another user's folder");
  }
  fs::remove(folder);
  const Result<Cluster> cluster = start_cluster(directory_);
  ASSERT_TRUE(cluster) << cluster.error().message;
  ASSERT_EQ(lstat(folder.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0700u);
  EXPECT_EQ(found.st_uid, server_account(data())->user);
  fs::permissions(folder, fs::perms(0755));
  EXPECT_EQ(find_cluster(directory_).error().code, Code::unavailable);
  fs::permissions(folder, fs::perms(0700));
}

TEST_F(ClusterTest, H21_nobody_else_reads_the_log) {
  const mode_t before = umask(0);
  const Result<Cluster> cluster = start_cluster(directory_);
  umask(before);
  ASSERT_TRUE(cluster) << cluster.error().message;
  for (const char* name : {"server.log", "owner.pass", "cairn.out"}) {
    struct stat found {};
    ASSERT_EQ(stat((directory_ + "/" + name).c_str(), &found), 0) << name;
    EXPECT_EQ(found.st_mode & 0077, 0u) << name;
  }
}

// --- who comes in
// -----------------------------------------------------------------------------------------------------

TEST_F(ClusterTest, H10_commands_come_in_by_a_login_that_owns_nothing_and_the_owner_needs_a_password) {
  const Result<Cluster> cluster = start_cluster(directory_);
  ASSERT_TRUE(cluster) << cluster.error().message;
  ASSERT_TRUE(migrate(cluster->owner_dsn, 1));
  ASSERT_TRUE(let_commands_in(*cluster));
  ASSERT_TRUE(let_commands_in(*cluster));
  EXPECT_EQ(ask_text(cluster->dsn,
                     "select current_user || ' ' || (select rolsuper or rolcreaterole or rolcreatedb "
                     "from pg_roles where rolname = current_user)"),
            "cairn false");
  EXPECT_THROW(ask(cluster->dsn, "update cairn.event set seq = 1"), PostgresError);
  EXPECT_THROW(ask(cluster->dsn, "set session_replication_role = replica"), PostgresError);
  EXPECT_THROW(ask(cluster->dsn, "set role postgres"), PostgresError);
  EXPECT_THROW(ask(cluster->dsn, "copy (select 1) to program 'true'"), PostgresError);
  EXPECT_THROW(ask(cluster->dsn + " user=postgres", "select 1"), PostgresError) << "without the password";
  EXPECT_EQ(ask_number(cluster->owner_dsn, "select 1"), 1);
}

TEST_F(ClusterTest, H13_who_reads_the_sample_may_not_change_its_limits_write_wal_or_take_locks) {
  const Result<Cluster> cluster = start_cluster(directory_);
  ASSERT_TRUE(cluster) << cluster.error().message;
  ASSERT_TRUE(migrate(cluster->owner_dsn, 1));
  ASSERT_TRUE(let_commands_in(*cluster));
  ASSERT_TRUE(load_sample(cluster->owner_dsn));
  const auto query = [&](const std::string& text) {
    return run_bounded({cluster->dsn, sample_login, sample_schema, text, 0}, {});
  };
  EXPECT_TRUE(query("select count(*) from orders"));
  for (const char* text :
       {"select set_config('work_mem', '1GB', false)", "select pg_logical_emit_message(false, 'x', repeat('x', 1000))",
        "select pg_advisory_lock(4702111234474983745)", "select pg_try_advisory_xact_lock_shared(1, 2)",
        "select lo_from_bytea(0, 'x')", "select query_to_xml('select lo_creat(-1)', true, true, '')"}) {
    const Result<QueryRows> rows = query(text);
    ASSERT_FALSE(rows) << text;
    EXPECT_EQ(rows.error().code, Code::closed) << rows.error().message;
  }
  EXPECT_EQ(ask_text(cluster->dsn, "select set_config('work_mem', '5MB', false)"), "5MB") << "Cairn itself may";
  EXPECT_EQ(ask_text(cluster->owner_dsn,
                     "select array_to_string(setconfig, ' ') from pg_db_role_setting "
                     "where setrole = 'cairn_data'::regrole"),
            "default_transaction_read_only=on temp_file_limit=1GB");
}

TEST_F(ClusterTest, H13_a_query_gets_no_more_memory_and_files_than_it_may) {
  const Result<Cluster> cluster = start_cluster(directory_);
  ASSERT_TRUE(cluster) << cluster.error().message;
  ASSERT_TRUE(migrate(cluster->owner_dsn, 1));
  ASSERT_TRUE(let_commands_in(*cluster));
  ASSERT_TRUE(load_sample(cluster->owner_dsn));
  const PgConnection query({.dsn = cluster->dsn});
  const std::string limits = read_text(fs::path("/proc") / std::to_string(query.backend()) / "limits");
  EXPECT_NE(limits.find("Max data size             " + std::to_string(server_memory_max)), std::string::npos) << limits;
  ask(cluster->owner_dsn, "alter role cairn_data set temp_file_limit = '1MB'");
  const Result<QueryRows> sorted = run_bounded(
      {cluster->dsn, sample_login, sample_schema, "select n from generate_series(1, 1000000) n order by n % 7", 0}, {});
  ASSERT_FALSE(sorted);
  EXPECT_EQ(sorted.error().code, Code::limit) << sorted.error().message;
}

// By the owner of the server's files, as even root may lack the right where it may become another user.
bool bound_memory(const fs::path& data, pid_t server, rlim_t bytes) {
  struct stat owner {};
  if (stat(data.c_str(), &owner) != 0) return false;
  const rlimit little{bytes, server_memory_max};
  const pid_t child = fork();
  if (child == 0) {
    const bool is_owner = geteuid() != 0 || (setgid(owner.st_gid) == 0 && setuid(owner.st_uid) == 0);
    _exit(is_owner && prlimit(server, RLIMIT_DATA, &little, nullptr) == 0 ? 0 : 1);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Eight such columns took 2 GB of the machine's memory. The bound is lowered for what the server starts from now on, so
// that this asks little of the machine; the test above holds what it is.
TEST_F(ClusterTest, H13_a_query_that_needs_more_memory_is_refused_and_the_server_goes_on) {
  const Result<Cluster> cluster = start_cluster(directory_);
  ASSERT_TRUE(cluster) << cluster.error().message;
  ASSERT_TRUE(migrate(cluster->owner_dsn, 1));
  ASSERT_TRUE(let_commands_in(*cluster));
  ASSERT_TRUE(load_sample(cluster->owner_dsn));
  const pid_t server = server_of(data()).value();
  ASSERT_TRUE(bound_memory(data(), server, 600ull << 20));
  std::string columns, lengths = "0";
  for (char name = 'a'; name <= 'h'; ++name) {
    columns += std::string(name == 'a' ? "" : ", ") + "repeat('a', 250000000) || random() as " + name;
    lengths += std::string(" + length(") + name + ")";
  }
  const auto query = [&](const std::string& text) {
    return run_bounded({cluster->dsn, sample_login, sample_schema, text, 0}, {});
  };
  for (const std::string& text :  // all eight are there at once, the second time for an answer of a few bytes
       {"select " + columns, "select " + lengths + " from (select " + columns + " offset 0) as wide"}) {
    const Result<QueryRows> rows = query(text);
    ASSERT_FALSE(rows) << text;
    EXPECT_EQ(rows.error().code, Code::limit) << rows.error().message;
    EXPECT_NE(rows.error().message.find("out of memory"), std::string::npos) << rows.error().message;
  }
  EXPECT_TRUE(query("select count(*) from orders"));
  EXPECT_EQ(server_of(data()), server);
}

// Checkpoints and their key lie there as soon as a database that a DSN names is signed: `up` and the quickstart then
// refused the directory.
TEST_F(ClusterTest, checkpoints_of_another_database_may_lie_there_first) {
  fs::create_directories(fs::path(directory_) / "checkpoints" / "of_another");
  std::ofstream(fs::path(directory_) / "checkpoints_signing_key.pem") << "key";
  const Result<Cluster> cluster = start_cluster(directory_);
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_TRUE(fs::exists(fs::path(directory_) / "checkpoints" / "of_another"));
}

// A cluster of an older release asks for no password, and goes on to do so until its server is started again.
TEST_F(ClusterTest, H10_a_cluster_without_a_password_for_its_owner_gets_one) {
  const Result<Cluster> cluster = start_cluster(directory_);
  ASSERT_TRUE(cluster) << cluster.error().message;
  ask(cluster->owner_dsn, "create table kept (n int)");
  ASSERT_TRUE(stop_cluster(directory_));
  fs::remove(directory_ + "/owner.pass");
  const Result<Cluster> again = start_cluster(directory_);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(fs::exists(directory_ + "/owner.pass"));
  EXPECT_EQ(ask_number(again->owner_dsn, "select count(*) from kept"), 0);
  EXPECT_TRUE(test::wait_until([&] {
    try {
      ask(again->dsn + " user=postgres", "select 1");
      return false;
    } catch (const PostgresError&) {
      return true;
    }
  }));
}

// --- programs that were replaced
// ---------------------------------------------------------------------------------------

// After an upgrade of the package a server could not load what it had not loaded yet, and no command worked.
TEST_F(ClusterTest, D6_a_server_older_than_its_programs_is_started_again_when_nobody_works_on_it) {
  const fs::path programs = copy_programs(scratch_directory() + "/replaced");
  setenv("CAIRN_PG_BIN", programs.c_str(), 1);
  const Result<Cluster> cluster = start_cluster(directory_);
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_FALSE(has_older_programs(directory_));
  replace_server_program(programs);
  EXPECT_TRUE(has_older_programs(directory_));
  {
    const PgConnection busy({cluster->owner_dsn, "a worker", false});
    const Result<Cluster> again = start_cluster(directory_);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_FALSE(again->started);
    EXPECT_TRUE(has_older_programs(directory_));
  }
  EXPECT_TRUE(test::wait_until([&] { return start_cluster(directory_)->started; }));
  EXPECT_FALSE(has_older_programs(directory_));
  ASSERT_TRUE(stop_cluster(directory_));
  unsetenv("CAIRN_PG_BIN");
}

// After an upgrade of the package to another major version any command stopped the server, which then did not start.
TEST_F(ClusterTest, a_server_goes_on_when_the_programs_that_are_there_do_not_fit_its_data) {
  const fs::path programs = copy_programs(scratch_directory() + "/another_major");
  setenv("CAIRN_PG_BIN", programs.c_str(), 1);
  ASSERT_TRUE(start_cluster(directory_));
  const pid_t server = server_of(data()).value();
  put_programs(programs, "99.1");
  EXPECT_TRUE(has_older_programs(directory_));
  const Result<Cluster> again = start_cluster(directory_);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(again->started);
  EXPECT_NE(again->not_renewed.find("are of version 99: CAIRN_PG_BIN may name"), std::string::npos)
      << again->not_renewed;
  EXPECT_EQ(server_of(data()), server);
  fs::remove(programs / "initdb");
  EXPECT_NE(start_cluster(directory_)->not_renewed, "");
  EXPECT_EQ(server_of(data()), server);
  ASSERT_TRUE(stop_cluster(directory_));
  put_programs(programs, "99.1");
  const Result<Cluster> refused = start_cluster(directory_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unsupported);
  EXPECT_EQ(refused.error().message, again->not_renewed);
  unsetenv("CAIRN_PG_BIN");
}

// The newest programs were taken, so that data of an older version were refused with their programs installed.
TEST_F(ClusterTest, data_get_the_programs_of_their_version_and_new_data_the_newest) {
  const char* given = std::getenv("CAIRN_PG_BIN");
  const std::string kept = given != nullptr ? given : "";
  unsetenv("CAIRN_PG_BIN");
  for (const char* version : {"14", "15", "17"}) put_programs(directory_ + "/" + version + "/bin", version);
  EXPECT_EQ(programs_for(15, directory_)->string(), directory_ + "/15/bin");
  EXPECT_EQ(programs_for(14, directory_)->string(), directory_ + "/14/bin");
  EXPECT_EQ(programs_for(17, directory_)->string(), directory_ + "/17/bin");
  EXPECT_EQ(programs_for(16, directory_)->string(), directory_ + "/17/bin") << "which is refused with both versions";
  EXPECT_EQ(programs_for(0, directory_)->string(), directory_ + "/17/bin");
  setenv("CAIRN_PG_BIN", (directory_ + "/14/bin").c_str(), 1);
  EXPECT_EQ(programs_for(15, directory_)->string(), directory_ + "/14/bin");
  setenv("CAIRN_PG_BIN", "/nowhere", 1);
  EXPECT_EQ(programs_for(15, directory_).error().code, Code::unavailable);
  kept.empty() ? unsetenv("CAIRN_PG_BIN") : setenv("CAIRN_PG_BIN", kept.c_str(), 1);
}

}  // namespace
}  // namespace cairn
