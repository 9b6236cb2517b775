// The confinement of programs as tools: their environment, their limits, and the end of all that they started.
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>
#include <set>
#include <signal.h>
#include <sstream>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/thread_seconds.hpp"
#include "tests/workers/ports/tool_trial.hpp"
#include "workers/ports/own_process.hpp"
#include "workers/ports/tool_process.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;
using namespace testing;

// H5: a list of what is allowed, because secrets have any name.
TEST_F(Programs, H5_see_the_variables_that_are_allowed_and_no_other) {
  const std::pair<const char*, const char*> variables[] = {
      {"CAIRN_MODEL_KEY", "s1"},  {"CAIRN_DSN", "s2"}, {"PGPASSWORD", "s3"}, {"AWS_SECRET_ACCESS_KEY", "s4"},
      {"OPENAI_API_KEY", "s5"},   {"PLAIN_WORD", "x"}, {"NAMED", "seen"},    {"LC_TIME", "C"},
      {"TZ", "Europe/Stockholm"}, {"TMPDIR", "/tmp"}};
  for (const auto& [name, value] : variables) ::setenv(name, value, 1);
  ProcessSetting setting;
  setting.environment = {"NAMED", "NOT_SET"};
  const ProcessEnd end = testing::run(io_, run_process({"/usr/bin/env"}, "", {}, setting));
  for (const auto& [name, value] : variables) ::unsetenv(name);
  std::set<std::string> names;
  std::istringstream lines(end.out);
  for (std::string line; std::getline(lines, line);) names.insert(line.substr(0, line.find('=')));
  for (const char* optional : {"LANG", "LC_ALL", "HOME"}) names.erase(optional);
  EXPECT_EQ(names, (std::set<std::string>{"LC_TIME", "NAMED", "PATH", "TMPDIR", "TZ"})) << end.out;
}

std::string with_pid_file(const std::string& script, const std::string& file) {
  return "setsid sh -c 'echo $$ > " + file + ".new; mv " + file + ".new " + file + "; exec sleep 1000' & " +
         "while [ ! -e " + file + " ]; do sleep 0.01; done; " + script;
}

// H5, D12: a session of its own, and a parent that is gone.
TEST_F(Programs, H5_a_grandchild_in_a_session_of_its_own_is_gone_when_the_program_succeeds) {
  EXPECT_EQ(outputs_of(run(with_pid_file("echo '{}'", pid_file()))), Json::object());
  EXPECT_FALSE(is_running(written_pid()));
}

TEST_F(Programs, H5_a_grandchild_in_a_session_of_its_own_is_gone_after_the_timeout) {
  EXPECT_EQ(failure_of(run(with_pid_file("sleep 1000", pid_file()), {}, 400)).error, "timeout");
  EXPECT_FALSE(is_running(written_pid()));
}

TEST_F(Programs, D12_a_daemon_whose_parents_are_gone_ends_with_the_program) {
  const std::string daemon = "(setsid sh -c 'sleep 1000 & echo $! > " + pid_file() + "' &); ";
  EXPECT_EQ(outputs_of(run(daemon + "while [ ! -s " + pid_file() + " ]; do sleep 0.01; done; echo '{}'")),
            Json::object());
  EXPECT_FALSE(is_running(written_pid()));
}

TEST_F(Programs, H5_programs_end_with_a_worker_that_is_killed) {
  const pid_t worker = ::fork();
  if (worker == 0) {
    static_cast<void>(run(with_pid_file("sleep 1000", pid_file()), {}, 60'000));
    ::_exit(0);
  }
  const pid_t grandchild = written_pid();
  EXPECT_TRUE(is_running(grandchild));
  ::kill(worker, SIGKILL);
  ::waitpid(worker, nullptr, 0);
  EXPECT_TRUE(comes_true([&] { return !is_running(grandchild); }));
}

TEST_F(Programs, H5_a_program_that_stops_its_keeper_is_ended_all_the_same) {
  EXPECT_EQ(failure_of(run("kill -STOP $PPID; sleep 1000", {}, 300)).error, "timeout");
}

// By the kernel's Landlock from its sixth version on.
bool keeps_signals_inside() {
  constexpr unsigned asks_version = 1;
  return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, asks_version) >= 6;
}

TEST_F(Programs, H5_a_program_that_may_kill_its_keeper_dies_with_it) {
  const Failure failure = failure_of(run("kill -KILL $PPID; sleep 1000", {}, 400));
  EXPECT_EQ(failure.message == "killed by signal 9", !keeps_signals_inside()) << failure.message;
}

TEST_F(Programs, H5_a_program_may_not_kill_its_keeper_or_worker_and_ends_with_all_that_it_started) {
  if (!keeps_signals_inside()) GTEST_SKIP() << "the kernel is older than Linux 6.12";
  const std::string kill = "kill -KILL $PPID; kill -KILL $(cut -d' ' -f4 /proc/$PPID/stat); ";
  EXPECT_EQ(failure_of(run(with_pid_file(kill + "sleep 1000", pid_file()), {}, 600)).error, "timeout");
  EXPECT_FALSE(is_running(written_pid()));
}

TEST_F(Programs, H5_a_program_may_end_what_it_started_itself) {
  EXPECT_EQ(outputs_of(run("setsid sleep 1000 & kill -KILL $! && wait; echo '{}'", {}, 5'000)), Json::object());
}

// H5: a program of the same user finds nothing in /proc/PID of a worker. A process of its own, because it is for good.
TEST_F(Programs, H5_find_nothing_in_the_environment_of_a_worker) {
  if (test::is_thread_sanitized) {
    std::cout << "skipped: the thread sanitizer follows no process that forks with threads\n";
    return;
  }
  ::setenv("CAIRN_MODEL_KEY", "secret", 1);
  ToolSpec spec;
  spec.name = "script";
  const std::string look = "printf '{\"found\": %d}' $(tr -d '\\000' < /proc/$1/environ | wc -c)";
  const std::string script = folder_.write("look.sh", look);
  const std::string say = folder_.write("say.sh", "exec /bin/sh " + script + " $(cut -d' ' -f4 /proc/$PPID/stat)");
  spec.does = ToolSpec::Exec{{"/bin/sh", say}, {}, {}};
  const auto found_by_tool = [&] {
    asio::io_context io;
    const auto tools = make_tools({spec}, 1);
    return outputs_of(testing::run(io, tools->call(call_of("script"))))["found"].get<int>();
  };
  const pid_t worker = ::fork();
  if (worker == 0) {
    hide_from_other_processes();
    const bool is_kept = std::string(std::getenv("CAIRN_MODEL_KEY")) == "secret";
    ::_exit(is_kept && found_by_tool() == 0 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(worker, &status, 0);
  ::unsetenv("CAIRN_MODEL_KEY");
  EXPECT_EQ(status, 0);
  EXPECT_GT(found_by_tool(), 0) << "that of a process that does not hide it";
}

TEST_F(Programs, H5_a_memory_bomb_is_a_failed_attempt) {
  ToolSpec spec;
  spec.name = "bomb";
  ToolSpec::Exec exec{{"python3", "-c", "bytearray(1 << 30); print('{}')"}, {}, {}};
  exec.limits.memory_bytes = 200 << 20;
  spec.does = exec;
  const auto tools = make_tools({spec}, 1);
  const Failure failure = failure_of(testing::run(io_, tools->call(call_of("bomb"))));
  EXPECT_EQ(failure.error, "error");
  EXPECT_EQ(failure.message, "MemoryError");
}

TEST_F(Programs, H5_run_under_limits_of_processor_time_files_and_descriptors) {
  ProcessLimits limits;
  limits.cpu_seconds = 1;
  limits.file_bytes = 4096;
  limits.open_files = 20;
  limits.processes = 1'234;
  const ProcessEnd busy = testing::run(io_, run_process({"sh", "-c", "while :; do :; done"}, "", limits));
  EXPECT_EQ(busy.kind, ProcessEnd::Kind::signalled);
  EXPECT_EQ(busy.number, SIGXCPU);
  const std::string file = (folder_.path() / "long").string();
  const ProcessEnd writes = testing::run(io_, run_process({"sh", "-c", "yes > " + file}, "", limits));
  EXPECT_EQ(std::filesystem::file_size(file), 4096u);
  EXPECT_NE(writes.number, 0);
  const ProcessEnd shows = testing::run(io_, run_process({"sh", "-c", "ulimit -n; ulimit -c"}, "", limits));
  EXPECT_EQ(shows.out, "20\n0\n");
  const ProcessEnd counts = testing::run(io_, run_process({"grep", "Max processes", "/proc/self/limits"}, "", limits));
  EXPECT_NE(counts.out.find(" 1234 "), std::string::npos) << counts.out << counts.err;
}

TEST_F(Programs, H5_run_as_a_user_of_their_own_where_one_is_configured) {
  const Result<ProcessUser> user = find_user("nobody");
  EXPECT_TRUE(user || user.error().message.find("is not root") != std::string::npos) << user.error().message;
  if (geteuid() != 0) GTEST_SKIP() << "running as another user needs root";
  ASSERT_TRUE(user);
  ProcessSetting setting;
  setting.user = *user;
  const ProcessEnd end = testing::run(io_, run_process({"sh", "-c", "id -un; id -G; echo $HOME"}, "", {}, setting));
  EXPECT_EQ(end.out, "nobody\n" + std::to_string(user->gid) + "\n" + user->home + "\n") << end.err;
  EXPECT_NE(find_user("no-such-user-here").error().message.find("there is no"), std::string::npos);
}

}  // namespace
}  // namespace cairn
