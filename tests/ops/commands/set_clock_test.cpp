// The program on a database whose clock is set, forward and back: libfaketime gives the server another time. (It does
// not start in this program, whose allocator it disturbs.)
#include <csignal>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/ops/program.hpp"

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

}  // namespace
}  // namespace cairn
