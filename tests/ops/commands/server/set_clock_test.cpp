// Clocks that are set, forward and back. libfaketime gives the server another time; a worker, whose allocator that
// library disturbs, gets another one from tests/ops/moved_clock.cpp.
#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/postgres/connection.hpp"
#include "tests/ops/api_client.hpp"
#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn {
namespace {

using namespace program;
namespace fs = std::filesystem;

constexpr const char* library = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

// A private server with a clock of its own.
class ServerWithClock {
 public:
  ServerWithClock() : data_(directory() / "clock"), clock_(directory() / "clock.time") {
    dsn_ = cairn({"doctor", "--json", "--data", data_}).json().at("dsn");
    cairn_ok({"down", "--data", data_});
    set("+0");
    start();
  }
  ~ServerWithClock() { cairn({"down", "--data", data_}); }
  ServerWithClock(const ServerWithClock&) = delete;
  ServerWithClock& operator=(const ServerWithClock&) = delete;

  // Seconds from the real time. In one move, so that no half of it is read.
  void set(const std::string& by) { fs::rename(write_file("clock.next", by + "\n"), clock_); }
  const std::string& dsn() const { return dsn_; }

 private:
  void start() {
    struct stat owner {};
    ASSERT_EQ(stat((data_ + "/data").c_str(), &owner), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      if (geteuid() == 0 && (setgid(owner.st_gid) != 0 || setuid(owner.st_uid) != 0)) _exit(126);
      setenv("LD_PRELOAD", library, 1);
      setenv("FAKETIME_TIMESTAMP_FILE", clock_.c_str(), 1);
      setenv("FAKETIME_NO_CACHE", "1", 1);
      setenv("FAKETIME_DONT_FAKE_MONOTONIC", "1", 1);
      const std::string log = data_ + "/log_of_clock";
      execl("/usr/lib/postgresql/15/bin/pg_ctl", "pg_ctl", "-s", "-w", "-D", (data_ + "/data").c_str(), "-l",
            log.c_str(), "start", nullptr);
      _exit(127);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    ASSERT_EQ(status, 0) << "pg_ctl";
  }

  std::string data_;
  fs::path clock_;
  std::string dsn_;
};

TEST(SetClock, A17_D9_neither_direction_fails_a_step_lapses_a_hold_or_stops_a_worker) {
  ASSERT_TRUE(fs::exists(library)) << "its Debian package is faketime";
  ServerWithClock server;
  const auto start = [&](const std::string& tool, const Json& inputs) {
    const Json plan = {{"goal", "g"}, {"sub_goals", {{{"id", "a"}, {"tool", tool}, {"inputs", inputs}}}}};
    return std::string(
        cairn_ok({"start", "plan_runner", "--json", "--input", plan.dump(), "--dsn", server.dsn()}).json().at("run"));
  };
  const auto status = [&](const std::string& run) {
    return std::string(cairn_ok({"show", run, "--json", "--dsn", server.dsn()}).json().at("status"));
  };
  Beside worker({"work", "--dsn", server.dsn()});
  const auto tells = [&](const std::string& how) { return worker.err().find("set " + how) != std::string::npos; };
  const std::string sleeping = start("sleep", {{"ms", 25'000}});
  EXPECT_TRUE(wait_until([&] { return worker.out().find("ready") != std::string::npos; }));
  const auto is_held = [&] {  // only then the worker has seen the clock as it was
    return cairn_ok({"explain", sleeping, "--json", "--dsn", server.dsn()}).out.find("\"held\"") != std::string::npos;
  };
  EXPECT_TRUE(wait_until(is_held));
  server.set("+3600");
  EXPECT_TRUE(wait_until([&] { return tells("forward"); })) << worker.err();
  const std::string ahead = start("echo", {{"x", 1}});
  EXPECT_TRUE(wait_until([&] { return status(ahead) == "done"; }));
  server.set("+0");
  EXPECT_TRUE(wait_until([&] { return tells("back"); })) << worker.err();
  const std::string after = start("echo", {{"x", 1}});
  EXPECT_TRUE(wait_until([&] { return status(after) == "done"; }));
  EXPECT_TRUE(wait_until([&] { return status(sleeping) != "running"; }));
  EXPECT_EQ(status(sleeping), "done");
  const Ran events = cairn_ok({"events", sleeping, "--json", "--dsn", server.dsn()});
  EXPECT_EQ(events.out.find("step_failed"), std::string::npos) << events.out;
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0);
  cairn_ok({"verify", "--all", "--dsn", server.dsn()});
}

// The times of the notes of one kind.
std::vector<std::string> noted(const std::string& dsn, const std::string& schedule, const std::string& kind) {
  std::vector<std::string> times;
  for (const Json& note :
       cairn_ok({"schedule", "history", schedule, "--limit", "1000", "--json", "--dsn", dsn}).lines())
    if (note["kind"] == kind) times.push_back(note["at"]);
  return times;
}

TEST(SetClock, schedules_follow_the_servers_clock_and_start_nothing_twice) {
  ASSERT_TRUE(fs::exists(library)) << "its Debian package is faketime";
  ServerWithClock server;
  const Arguments what = {"--graph", "plan_runner", "--input", R"({"goal": "g", "sub_goals": []})",
                          "--dsn",   server.dsn()};
  const auto add = [&](Arguments more) {
    more.insert(more.end(), what.begin(), what.end());
    cairn_ok(more);
  };
  add({"schedule", "add", "often", "--every", "1s", "--overlap", "allow_all", "--catch-up", "10s"});
  add({"schedule", "add", "hourly", "--every", "1h", "--catch-up", "10s"});
  const Beside worker({"work", "--dsn", server.dsn()});
  const auto started = [&] { return noted(server.dsn(), "often", "started"); };
  ASSERT_TRUE(wait_until([&] { return started().size() >= 2; }));
  server.set("+7200");
  ASSERT_TRUE(wait_until([&] { return !noted(server.dsn(), "hourly", "missed").empty(); }));
  ASSERT_TRUE(wait_until([&] { return !noted(server.dsn(), "often", "missed").empty(); }));
  server.set("+0");
  const std::size_t ahead = started().size();
  server.set("+7260");
  ASSERT_TRUE(wait_until([&] { return started().size() > ahead; }));
  const std::vector<std::string> times = started();
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
  EXPECT_EQ(std::adjacent_find(times.begin(), times.end()), times.end()) << "no time twice";
  cairn_ok({"schedule", "pause", "often", "--dsn", server.dsn()});
}

// The number of seconds that MOVED_CLOCK names. Lives as long as the programs that read it.
class MovedClock {
 public:
  MovedClock() : path_(write_file("moved_clock", std::string(sizeof(std::int64_t), '\0'))) {
    const int file = open(path_.c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_GE(file, 0);
    mapped_ = mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    EXPECT_NE(mapped_, MAP_FAILED);
  }
  ~MovedClock() { munmap(mapped_, sizeof(std::int64_t)); }
  MovedClock(const MovedClock&) = delete;
  MovedClock& operator=(const MovedClock&) = delete;

  void set(std::int64_t seconds) { *static_cast<volatile std::int64_t*>(mapped_) = seconds; }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  void* mapped_ = nullptr;
};

TEST(SetClock, A17_that_of_a_worker_neither_fails_a_step_nor_stands_in_the_history) {
  const std::string dsn = new_database();
  MovedClock clock;
  const auto worker_with_clock = [&] {
    const Variable preload("LD_PRELOAD", testing::moved_clock());
    const Variable moved("MOVED_CLOCK", clock.path());
    const Variable order("ASAN_OPTIONS", "verify_asan_link_order=0");
    return Beside({"work", "--dsn", dsn});
  };
  const auto start = [&dsn](const std::string& tool, const Json& inputs) {
    const Json plan = {{"goal", "g"}, {"sub_goals", {{{"id", "a"}, {"tool", tool}, {"inputs", inputs}}}}};
    return std::string(
        cairn_ok({"start", "plan_runner", "--no-work", "--json", "--input", plan.dump(), "--dsn", dsn}).json()["run"]);
  };
  const auto is_done = [&dsn](const std::string& run) {
    return cairn_ok({"show", run, "--json", "--dsn", dsn}).json()["status"] == "done";
  };
  clock.set(-7'200);  // from the beginning
  Beside worker = worker_with_clock();
  const std::string sleeping = start("sleep", {{"ms", 6'000}});
  for (const std::int64_t by : {3'600, -3'600, 86'400, 0}) {
    clock.set(by);
    const std::string run = start("echo", {{"x", by}});
    EXPECT_TRUE(wait_until([&] { return is_done(run); })) << by << " " << worker.err();
  }
  EXPECT_TRUE(wait_until([&] { return is_done(sleeping); }));
  EXPECT_EQ(cairn_ok({"events", sleeping, "--json", "--dsn", dsn}).out.find("step_failed"), std::string::npos);
  PgConnection database({dsn, "test", false});
  EXPECT_EQ(database
                .query({"",
                        "select count(*) from cairn.event where at > (extract(epoch from clock_timestamp()) * "
                        "1000000)::bigint or at < (extract(epoch from clock_timestamp() - interval '30 min') * "
                        "1000000)::bigint"})
                .int8(0, 0),
            0);
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0);
  cairn_ok({"verify", "--all", "--dsn", dsn});
}

}  // namespace
}  // namespace cairn
