// Programs as tools: the document they are given, their answers, times, ends, and what they leave.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>
#include <signal.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/workers/ports/few_descriptors.hpp"
#include "tests/workers/ports/tool_trial.hpp"
#include "workers/ports/failures.hpp"
#include "workers/ports/tool_process.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;
using namespace testing;
using Reply = LoopbackServer::Reply;

TEST_F(Programs, get_the_document_on_stdin_and_answer_on_stdout) {
  const Json document = outputs_of(run("cat", {{"path", "a.txt"}}));
  const Json expected = {{"run", "0198c3f2-0000-7000-8000-000000000001"},
                         {"step", 3},
                         {"sub_goal", "g"},
                         {"attempt", 1},
                         {"key", "0198c3f2-0000-7000-8000-000000000001/3"},
                         {"inputs", {{"path", "a.txt"}}}};
  EXPECT_EQ(document, expected);
}

TEST_F(Programs, a_megabyte_goes_through_both_ways) {
  const std::string text(1'000'000, 'x');
  EXPECT_EQ(outputs_of(run("cat", {{"text", text}}))["inputs"]["text"], text);
}

TEST_F(Programs, what_is_no_json_object_is_bad_output) {
  for (const char* script : {"echo garbage", "echo '[1]'", "echo 5", "echo null", "echo '{} {}'", "echo '{\"a\":'",
                             "printf '{\"a\":\"\\377\"}'", "printf '{\"a\":1,\"a\":2}'"}) {
    const Failure failure = failure_of(run(script));
    EXPECT_EQ(failure.error, "bad_output") << script;
    EXPECT_FALSE(failure.retryable) << script;
    EXPECT_TRUE(says(failure, "\"script\"")) << failure.message;
    EXPECT_NO_THROW(static_cast<void>(canonical(failure.message))) << script;
  }
  EXPECT_TRUE(says(failure_of(run("echo garbage")), "garbage"));
}

TEST_F(Programs, saying_nothing_is_bad_output) {
  const Failure failure = failure_of(run("exit 0"));
  EXPECT_EQ(failure.error, "bad_output");
  EXPECT_TRUE(says(failure, "nothing"));
}

TEST_F(Programs, a_non_zero_exit_fails_with_the_last_line_of_stderr) {
  const Failure failure = failure_of(run("echo first >&2; echo 'last words' >&2; echo >&2; exit 3"));
  EXPECT_EQ(failure.error, "error");
  EXPECT_EQ(failure.message, "last words");
  EXPECT_FALSE(failure.retryable);
}

TEST_F(Programs, a_silent_failure_is_told_by_its_status) {
  EXPECT_EQ(failure_of(run("exit 4")).message, "exit status 4");
}

TEST_F(Programs, exit_75_says_that_another_attempt_is_worth_it) {
  EXPECT_TRUE(failure_of(run("exit 75")).retryable);
  EXPECT_FALSE(failure_of(run("exit 74")).retryable);
}

TEST_F(Programs, death_by_signal_is_an_error) {
  const Failure failure = failure_of(run("kill -SEGV $$"));
  EXPECT_EQ(failure.error, "error");
  EXPECT_EQ(failure.message, "killed by signal 11");
  EXPECT_FALSE(failure.retryable);
}

TEST_F(Programs, only_the_end_of_a_long_stderr_is_kept) {
  EXPECT_EQ(failure_of(run("head -c 3000000 /dev/zero >&2; echo >&2; echo end >&2; exit 1")).message, "end");
}

TEST_F(Programs, a_program_that_never_ends_is_killed_with_its_group) {
  const Failure failure = failure_of(run("sleep 1000 & echo $! > " + pid_file() + "; wait", {}, 300));
  EXPECT_EQ(failure.error, "timeout");
  EXPECT_TRUE(failure.retryable);
  const pid_t grandchild = written_pid();
  EXPECT_TRUE(comes_true([&] { return !is_running(grandchild); }));
}

TEST_F(Programs, a_program_that_ignores_every_signal_is_killed) {
  const Failure failure = failure_of(run("trap '' TERM INT HUP; while :; do sleep 1; done", {}, 100));
  EXPECT_EQ(failure.error, "timeout");
}

TEST_F(Programs, a_program_that_floods_is_killed) {
  const Failure failure = failure_of(run("cat /dev/zero & echo $! > " + pid_file() + "; cat /dev/zero"));
  EXPECT_EQ(failure.error, "bad_output");
  EXPECT_FALSE(failure.retryable);
  const pid_t grandchild = written_pid();
  EXPECT_TRUE(comes_true([&] { return !is_running(grandchild); }));
}

TEST_F(Programs, the_shorter_of_both_timeouts_holds) {
  const auto tools = tools_of("sleep 1000", 60'000);
  ToolCall call = call_of("script");
  call.timeout_ms = 50;
  EXPECT_EQ(failure_of(testing::run(io_, tools->call(call))).error, "timeout");
}

TEST_F(Programs, one_that_closes_stdin_early_does_not_kill_us) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(outputs_of(run("exec 0<&-; echo '{}'", {{"text", std::string(300'000, 'x')}})), Json::object());
  }
}

TEST_F(Programs, a_daemon_that_keeps_stdout_open_does_not_hold_the_answer) {
  const Json outputs = outputs_of(run("setsid sleep 1000 & echo \"{\\\"pid\\\": $!}\""));
  const auto daemon = outputs.value("pid", 0);
  ASSERT_GT(daemon, 1);
  EXPECT_FALSE(is_running(daemon));
}

TEST_F(Programs, what_is_left_of_the_group_dies_with_the_program) {
  const Json outputs = outputs_of(run("sleep 1000 & echo \"{\\\"pid\\\": $!}\""));
  const auto rest = outputs.value("pid", 0);
  ASSERT_GT(rest, 1);
  EXPECT_TRUE(comes_true([&] { return !is_running(rest); }));
}

TEST_F(Programs, one_that_does_not_exist_is_not_started) {
  ToolSpec spec;
  spec.name = "gone";
  spec.does = ToolSpec::Exec{{"no-such-program-here"}};
  const auto tools = make_tools({spec}, 1);
  const Failure failure = failure_of(testing::run(tools->call(call_of("gone"))));
  EXPECT_EQ(failure.error, "not_started");
  EXPECT_FALSE(failure.retryable);
  EXPECT_TRUE(says(failure, "no-such-program-here")) << failure.message;
}

// D5: a worker that was short of descriptors failed other people's runs.
TEST(ToolsShortOfDescriptors, D5_throw_for_every_kind_of_tool_instead_of_failing_the_attempt) {
  if (testing::needs_descriptors_itself) {
    std::cout << "skipped: the sanitizer of this build needs descriptors itself\n";
    return;
  }
  LoopbackServer server([](const LoopbackServer::Request&) { return Reply{.body = "{}"}; });
  std::vector<ToolSpec> specs(3);
  specs[0].name = "program";
  specs[0].does = ToolSpec::Exec{{"sh", "-c", "echo '{}'"}};
  specs[1].name = "url";
  specs[1].does = ToolSpec::Http{server.url("/")};
  specs[2].name = "native";
  specs[2].does = NativeTool([](const ToolCall&) -> ToolAnswer {
    return Json{{"is_empty", std::filesystem::is_empty("/")}};  // opens it
  });
  const auto tools = make_tools(std::move(specs), 1);
  asio::io_context io;
  for (const char* name : {"program", "url", "native"}) {
    EXPECT_TRUE(testing::run(io, tools->call(call_of(name)))) << name;  // also opens what is opened once
    const testing::FewDescriptors few;
    try {
      const ToolAnswer answer = testing::run(io, tools->call(call_of(name)));
      ADD_FAILURE() << name << (answer ? " succeeded" : " failed: " + answer.error().message);
    } catch (const std::system_error& fault) {
      EXPECT_TRUE(is_shortage(fault.code())) << fault.what();
      EXPECT_NE(std::string(fault.what()).find("Too many open files"), std::string::npos) << fault.what();
    }
  }
}

TEST_F(Programs, inherit_three_descriptors_and_no_other) {
  int leaky[2];
  ASSERT_EQ(::pipe(leaky), 0);
  const ProcessEnd end = testing::run(io_, run_process({"ls", "-1", "/proc/self/fd"}, "", {}));
  ::close(leaky[0]);
  ::close(leaky[1]);
  EXPECT_EQ(end.out, "0\n1\n2\n3\n") << "3 is the folder that ls reads";
}

TEST_F(Programs, run_in_a_group_of_their_own_and_with_default_signals) {
  ::signal(SIGPIPE, SIG_IGN);
  const ProcessEnd end = testing::run(
      io_, run_process({"/bin/sh", "-c", "ps -o pid=,pgid= -p $$; grep -E 'SigBlk|SigIgn' /proc/self/status"}, "", {}));
  std::istringstream words(end.out);
  int pid = 0;
  int group = 0;
  std::string name;
  std::uint64_t blocked = 1;
  std::uint64_t ignored = 1;
  words >> pid >> group >> name >> std::hex >> blocked >> name >> ignored;
  EXPECT_EQ(pid, group);
  EXPECT_NE(group, ::getpgrp());
  EXPECT_EQ(blocked, 0u);
  EXPECT_EQ(ignored & 0x7fffffffu, 0u) << "signals 32 and 33 are the C library's own";
}

TEST_F(Programs, leave_neither_descriptors_nor_zombies) {
  static_cast<void>(run("echo '{}'"));
  const std::size_t before = open_descriptors();
  for (const char* script : {"echo '{}'", "exit 1", "kill -9 $$", "sleep 1000", "cat /dev/zero", "exec 0<&-; echo"}) {
    static_cast<void>(run(script, {{"text", std::string(100'000, 'x')}}, 200));
  }
  testing::run(io_, run_process({"no-such-program-here"}, "", {}));
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(Programs, die_with_the_coroutine_that_runs_them) {
  const auto tools = tools_of("echo $$ > " + pid_file() + "; sleep 1000", 60'000);
  pid_t pid = 0;
  {
    asio::io_context io;
    auto work = tools->call(call_of("script"));
    asio::co_spawn(io, std::move(work), asio::detached);
    const auto has_pid = [&] { return (std::ifstream(pid_file()) >> pid) && pid > 0; };
    while (!has_pid()) io.run_one_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(is_running(pid));
  }
  EXPECT_FALSE(is_running(pid));
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), -1) << "it is reaped";
}

TEST_F(Programs, many_run_side_by_side) {
  const auto tools = tools_of("cat", 60'000);
  int good = 0;
  const auto take = [&good](std::exception_ptr error, const ToolAnswer& answer) {
    if (!error && answer) ++good;
  };
  for (int i = 0; i < 50; ++i) {
    auto work = tools->call(call_of("script", {{"i", i}}));
    asio::co_spawn(io_, std::move(work), take);
  }
  io_.run();
  EXPECT_EQ(good, 50);
}

}  // namespace
}  // namespace cairn
