#include "workers/ports/tools.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>
#include <mutex>
#include <set>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "tests/workers/ports/loopback.hpp"
#include "workers/ports/failures.hpp"
#include "workers/ports/own_process.hpp"
#include "workers/ports/tool_process.hpp"
#include "workers/ports/tools_file.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;
using testing::LoopbackServer;
using testing::TemporaryFolder;
using Reply = LoopbackServer::Reply;

ToolCall call_of(const std::string& tool, Json inputs = Json::object()) {
  ToolCall call;
  call.run = *parse_run_id("0198c3f2-0000-7000-8000-000000000001");
  call.step = 3;
  call.sub_goal = "g";
  call.tool = tool;
  call.attempt = 1;
  call.key = "0198c3f2-0000-7000-8000-000000000001/3";
  call.inputs = std::move(inputs);
  return call;
}

Json outputs_of(const ToolAnswer& answer) {
  if (answer) return *answer;
  ADD_FAILURE() << answer.error().error << ": " << answer.error().message;
  return {};
}

Failure failure_of(const ToolAnswer& answer) {
  if (!answer) return answer.error();
  ADD_FAILURE() << "it succeeded: " << *answer;
  return {};
}

bool says(const Failure& failure, const std::string& part) { return failure.message.find(part) != std::string::npos; }

// Waits for what another process will do soon.
bool comes_true(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

bool is_running(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(file, stat);
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.size() > name_end + 2 && stat[name_end + 2] != 'Z';
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

// --- programs -------------------------------------------------------------------------------------------------------

class Programs : public ::testing::Test {
 protected:
  Programs() { ::signal(SIGPIPE, SIG_DFL); }

  // A tool "script" that runs this text with /bin/sh.
  ToolAnswer run(const std::string& script, Json inputs = Json::object(), std::int64_t timeout_ms = 20'000) {
    const auto tools = tools_of(script, timeout_ms);
    ToolCall call = call_of("script", std::move(inputs));
    return testing::run(io_, tools->call(call));
  }

  std::unique_ptr<Tools> tools_of(const std::string& script, std::int64_t timeout_ms) {
    ToolSpec spec;
    spec.name = "script";
    spec.does = ToolSpec::Exec{{"/bin/sh", folder_.write("script.sh", script)}};
    spec.timeout_ms = timeout_ms;
    return make_tools({spec}, 1);
  }

  pid_t written_pid() {
    pid_t pid = 0;
    const auto path = folder_.path() / "pid";
    EXPECT_TRUE(comes_true([&] { return (std::ifstream(path) >> pid) && pid > 0; }));
    return pid;
  }

  std::string pid_file() const { return (folder_.path() / "pid").string(); }

  TemporaryFolder folder_;
  asio::io_context io_;
};

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
class FewDescriptors {  // while it lives, this process opens none
 public:
  FewDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::dup(STDIN_FILENO);
    ::close(next);
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(next);
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

// The undefined behaviour sanitizer opens a pipe to look at an exception.
#if defined(__has_feature)
constexpr bool needs_descriptors_itself = __has_feature(undefined_behavior_sanitizer);
#else
constexpr bool needs_descriptors_itself = false;
#endif

TEST(ToolsShortOfDescriptors, D5_throw_for_every_kind_of_tool_instead_of_failing_the_attempt) {
  if (needs_descriptors_itself) {
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
    const FewDescriptors few;
    try {
      const ToolAnswer answer = testing::run(io, tools->call(call_of(name)));
      ADD_FAILURE() << name << (answer ? " succeeded" : " failed: " + answer.error().message);
    } catch (const std::system_error& fault) {
      EXPECT_TRUE(is_shortage(fault.code())) << fault.what();
      EXPECT_NE(std::string(fault.what()).find("Too many open files"), std::string::npos) << fault.what();
    }
  }
}

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
  if (!keeps_signals_inside()) {
    std::cout << "skipped: the kernel is older than 6.12\n";
    return;
  }
  const std::string kill = "kill -KILL $PPID; kill -KILL $(cut -d' ' -f4 /proc/$PPID/stat); ";
  EXPECT_EQ(failure_of(run(with_pid_file(kill + "sleep 1000", pid_file()), {}, 600)).error, "timeout");
  EXPECT_FALSE(is_running(written_pid()));
}

TEST_F(Programs, H5_a_program_may_end_what_it_started_itself) {
  EXPECT_EQ(outputs_of(run("setsid sleep 1000 & kill -KILL $! && wait; echo '{}'", {}, 5'000)), Json::object());
}

// H5: a program of the same user finds nothing in /proc/PID of a worker. A process of its own, because it is for good.
TEST_F(Programs, H5_find_nothing_in_the_environment_of_a_worker) {
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
  const ProcessEnd busy = testing::run(io_, run_process({"sh", "-c", "while :; do :; done"}, "", limits));
  EXPECT_EQ(busy.kind, ProcessEnd::Kind::signalled);
  EXPECT_EQ(busy.number, SIGXCPU);
  const std::string file = (folder_.path() / "long").string();
  const ProcessEnd writes = testing::run(io_, run_process({"sh", "-c", "yes > " + file}, "", limits));
  EXPECT_EQ(std::filesystem::file_size(file), 4096u);
  EXPECT_NE(writes.number, 0);
  const ProcessEnd shows = testing::run(io_, run_process({"sh", "-c", "ulimit -n; ulimit -c"}, "", limits));
  EXPECT_EQ(shows.out, "20\n0\n");
}

TEST_F(Programs, H5_run_as_a_user_of_their_own_where_one_is_configured) {
  const Result<ProcessUser> user = find_user("nobody");
  if (::geteuid() != 0) {
    EXPECT_NE(user.error().message.find("is not root"), std::string::npos) << user.error().message;
    return;
  }
  ProcessSetting setting;
  setting.user = *user;
  const ProcessEnd end = testing::run(io_, run_process({"sh", "-c", "id -un; id -G; echo $HOME"}, "", {}, setting));
  EXPECT_EQ(end.out, "nobody\n" + std::to_string(user->gid) + "\n" + user->home + "\n") << end.err;
  EXPECT_NE(find_user("no-such-user-here").error().message.find("there is no"), std::string::npos);
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

// --- URLs -----------------------------------------------------------------------------------------------------------

ToolAnswer call_url(const std::string& url, std::int64_t timeout_ms = 20'000) {
  ToolSpec spec;
  spec.name = "remote";
  spec.does = ToolSpec::Http{url};
  spec.timeout_ms = timeout_ms;
  const auto tools = make_tools({spec}, 1);
  return testing::run(tools->call(call_of("remote", {{"x", 1}})));
}

ToolAnswer call_server(const Reply& reply, std::int64_t timeout_ms = 20'000) {
  const LoopbackServer server([reply](const LoopbackServer::Request&) { return reply; });
  return call_url(server.url("/tool"), timeout_ms);
}

TEST(UrlTools, get_the_document_as_body_and_the_key_as_header) {
  const LoopbackServer server([](const LoopbackServer::Request& request) { return Reply{200, request.body()}; });
  const Json document = outputs_of(call_url(server.url("/tool")));
  EXPECT_EQ(document["inputs"], (Json{{"x", 1}}));
  EXPECT_EQ(document["step"], 3);
  const auto request = server.requests().at(0);
  EXPECT_EQ(request["content-type"], "application/json");
  EXPECT_EQ(request["idempotency-key"], "0198c3f2-0000-7000-8000-000000000001/3");
  EXPECT_EQ(request.method_string(), "POST");
}

TEST(UrlTools, a_status_of_400_or_more_fails_with_the_body) {
  struct Row {
    unsigned status;
    bool retryable;
  };
  for (const Row& row : {Row{400, false}, Row{404, false}, Row{429, true}, Row{500, true}, Row{503, true}}) {
    const Failure failure = failure_of(call_server({row.status, "no\nluck", false}));
    EXPECT_EQ(failure.error, "error");
    EXPECT_EQ(failure.message, "no luck");
    EXPECT_EQ(failure.retryable, row.retryable) << row.status;
  }
  EXPECT_EQ(failure_of(call_server({500, "", false})).message, "status 500");
}

TEST(UrlTools, F29_the_pause_that_the_server_asks_for_comes_along) {
  const auto pause_of = [](unsigned status, const std::string& retry_after) {
    Reply reply{status, "busy", false};
    reply.retry_after = retry_after;
    return failure_of(call_server(reply)).pause_ms;
  };
  EXPECT_EQ(pause_of(503, "3"), 3'000);
  EXPECT_EQ(pause_of(429, "0"), 0);
  EXPECT_EQ(pause_of(503, ""), 0);
  EXPECT_EQ(pause_of(503, "soon"), 0);
  EXPECT_EQ(pause_of(503, "-5"), 0);
  EXPECT_EQ(pause_of(503, "99999999999999999999"), 0) << "no number of 64 bits";
  EXPECT_EQ(pause_of(503, "86400"), pause_ms_max) << "an hour at most";
  EXPECT_EQ(pause_of(503, "Wed, 21 Oct 2015 07:28:00 GMT"), 0) << "that is past";
  EXPECT_EQ(pause_of(503, "Wed, 21 Oct 2199 07:28:00 GMT"), pause_ms_max);
}

TEST(UrlTools, garbage_is_bad_output) {
  for (const char* body : {"", "garbage", "[]", "{} {}", "{\"a\":\"\xFF\"}"}) {
    const Failure failure = failure_of(call_server({200, body, false}));
    EXPECT_EQ(failure.error, "bad_output") << body;
    EXPECT_FALSE(failure.retryable);
  }
}

TEST(UrlTools, a_body_beyond_the_limit_is_bad_output) {
  EXPECT_EQ(failure_of(call_server({200, std::string(json_bytes_max + 1, 'x'), false})).error, "bad_output");
}

TEST(UrlTools, a_slow_one_times_out) {
  const Failure failure = failure_of(call_server({200, "", true}, 50));
  EXPECT_EQ(failure.error, "timeout");
  EXPECT_TRUE(failure.retryable);
}

TEST(UrlTools, one_that_nobody_serves_is_unreachable) {
  const Failure failure = failure_of(call_url("http://127.0.0.1:" + std::to_string(testing::closed_port()) + "/x"));
  EXPECT_EQ(failure.error, "unreachable");
  EXPECT_TRUE(failure.retryable);
}

// --- native ---------------------------------------------------------------------------------------------------------

ToolSpec native(NativeTool tool, std::int64_t timeout_ms = 20'000) {
  ToolSpec spec;
  spec.name = "native";
  spec.does = std::move(tool);
  spec.timeout_ms = timeout_ms;
  return spec;
}

// Opens for all who wait, once.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

TEST(NativeTools, run_in_a_bounded_pool_and_answer_on_the_callers_thread) {
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  std::atomic<bool> in_pool = true;
  const auto caller = std::this_thread::get_id();
  const auto tools = make_tools({native([&](const ToolCall& call) -> ToolAnswer {
                                  const int now = ++running;
                                  int before = most;
                                  while (before < now && !most.compare_exchange_weak(before, now)) {
                                  }
                                  if (std::this_thread::get_id() == caller) in_pool = false;
                                  --running;
                                  return call.inputs;
                                })},
                                2);
  asio::io_context io;
  int good = 0;
  const auto take = [&](std::exception_ptr, const ToolAnswer& answer) {
    if (std::this_thread::get_id() == caller && answer) ++good;
  };
  for (int i = 0; i < 200; ++i) {
    auto work = tools->call(call_of("native"));
    asio::co_spawn(io, std::move(work), take);
  }
  io.run();
  EXPECT_EQ(good, 200);
  EXPECT_LE(most, 2);
  EXPECT_TRUE(in_pool);
}

TEST(NativeTools, an_exception_is_a_failure) {
  const auto tools =
      make_tools({native([](const ToolCall&) -> ToolAnswer { throw std::runtime_error("broken\nglass"); })}, 1);
  const Failure failure = failure_of(testing::run(tools->call(call_of("native"))));
  EXPECT_EQ(failure.error, "error");
  EXPECT_EQ(failure.message, "broken glass");
}

TEST(NativeTools, what_is_no_object_is_bad_output) {
  const auto tools = make_tools({native([](const ToolCall&) -> ToolAnswer { return Json(5); })}, 1);
  EXPECT_EQ(failure_of(testing::run(tools->call(call_of("native")))).error, "bad_output");
}

TEST(NativeTools, one_that_never_ends_is_left_behind) {
  Gate gate;
  const auto tools = make_tools({native(
                                    [&gate](const ToolCall& call) -> ToolAnswer {
                                      gate.pass();
                                      return call.inputs;
                                    },
                                    30)},
                                1);
  EXPECT_EQ(failure_of(testing::run(tools->call(call_of("native")))).error, "timeout");
  gate.open();
}

TEST(NativeTools, waiting_in_line_is_not_counted_as_time) {
  Gate gate;
  const auto tools = make_tools({native(
                                    [&gate](const ToolCall& call) -> ToolAnswer {
                                      if (call.inputs.contains("blocks")) gate.pass();
                                      return call.inputs;
                                    },
                                    300)},
                                1);
  asio::io_context io;
  std::vector<ToolAnswer> answers;
  const auto take = [&answers](std::exception_ptr, ToolAnswer answer) { answers.push_back(std::move(answer)); };
  auto first = tools->call(call_of("native", {{"blocks", true}}));
  auto second = tools->call(call_of("native"));
  asio::co_spawn(io, std::move(first), take);
  asio::co_spawn(io, std::move(second), take);
  while (answers.empty()) io.run_one();  // the first one's timeout; the second has waited as long
  gate.open();
  io.run();
  EXPECT_EQ(failure_of(answers.at(0)).error, "timeout");
  EXPECT_EQ(outputs_of(answers.at(1)), Json::object());
}

TEST(NativeTools, one_may_end_after_everyone_left) {
  Gate started;
  Gate gate;
  const auto tools = make_tools({native([&](const ToolCall& call) -> ToolAnswer {
                                  started.open();
                                  gate.pass();
                                  return call.inputs;
                                })},
                                1);
  {
    asio::io_context io;
    auto work = tools->call(call_of("native"));
    asio::co_spawn(io, std::move(work), asio::detached);
    io.poll();
    started.pass();
  }
  gate.open();
}

// --- built in -------------------------------------------------------------------------------------------------------

ToolAnswer call_builtin(ToolCall call) {
  const auto tools = make_tools(builtin_tools(), 2);
  return testing::run(tools->call(std::move(call)));
}

TEST(BuiltinTools, echo_returns_its_inputs) {
  EXPECT_EQ(outputs_of(call_builtin(call_of("echo", {{"a", 1}}))), (Json{{"a", 1}}));
}

TEST(BuiltinTools, sleep_waits_without_a_thread) {
  const auto tools = make_tools(builtin_tools(), 1);
  asio::io_context io;
  int good = 0;
  const auto take = [&good](std::exception_ptr, const ToolAnswer& answer) {
    if (*answer == Json{{"slept_ms", 100}}) ++good;
  };
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 1'000; ++i) {
    auto work = tools->call(call_of("sleep", {{"ms", 100}}));
    asio::co_spawn(io, std::move(work), take);
  }
  io.run();
  EXPECT_EQ(good, 1'000);
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(100));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

TEST(BuiltinTools, sleep_ends_at_the_callers_timeout) {
  ToolCall call = call_of("sleep", {{"ms", 60'000}});
  call.timeout_ms = 20;
  EXPECT_EQ(failure_of(call_builtin(call)).error, "timeout");
}

TEST(BuiltinTools, sleep_wants_a_number) {
  for (const Json& inputs :
       {Json::object(), Json{{"ms", -1}}, Json{{"ms", "1"}}, Json{{"ms", 1e30}}, Json{{"ms", 1ull << 63}}}) {
    EXPECT_EQ(failure_of(call_builtin(call_of("sleep", inputs))).error, "invalid") << inputs;
  }
}

TEST(BuiltinTools, fail_fails_as_often_as_asked) {
  ToolCall call = call_of("fail", {{"message", "as asked"}, {"times", 2}});
  for (call.attempt = 1; call.attempt <= 2; ++call.attempt) {
    const Failure failure = failure_of(call_builtin(call));
    EXPECT_EQ(failure.message, "as asked");
    EXPECT_TRUE(failure.retryable);
  }
  EXPECT_EQ(outputs_of(call_builtin(call)), call.inputs);
  call.inputs.erase("times");
  call.attempt = 1'000;
  EXPECT_EQ(failure_of(call_builtin(call)).error, "error");
  call.inputs["times"] = "two";
  EXPECT_EQ(failure_of(call_builtin(call)).error, "invalid");
}

TEST(BuiltinTools, an_unknown_tool_is_named) {
  const Failure failure = failure_of(call_builtin(call_of("nothing_here")));
  EXPECT_EQ(failure.error, "unknown_tool");
  EXPECT_FALSE(failure.retryable);
  EXPECT_TRUE(says(failure, "nothing_here"));
}

TEST(BuiltinTools, later_specs_replace_earlier_ones) {
  std::vector<ToolSpec> specs = builtin_tools();
  ToolSpec mine = native([](const ToolCall&) -> ToolAnswer { return Json{{"mine", true}}; });
  mine.name = "echo";
  mine.facts.queue = "mine";
  specs.push_back(mine);
  const auto tools = make_tools(std::move(specs), 1);
  EXPECT_EQ(outputs_of(testing::run(tools->call(call_of("echo")))), (Json{{"mine", true}}));
  EXPECT_EQ(tools->table().find("echo")->second.queue, "mine");
  EXPECT_EQ(tools->table().count("sleep"), 1u);
}

}  // namespace
}  // namespace cairn
