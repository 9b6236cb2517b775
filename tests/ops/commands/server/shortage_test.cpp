// The program where the machine gives it too little: descriptors, threads, memory.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <utility>
#include <vector>

#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn {
namespace {

using namespace program;

std::string one_goal(const std::string& tool) {
  return Json{{"goal", "g"}, {"sub_goals", {{{"id", "a"}, {"tool", tool}, {"inputs", Json::object()}}}}}.dump();
}

// Arguments of /bin/sh. A command that has enough memory goes on, is asked to end after `seconds`, and is killed twenty
// later.
Arguments within(int megabytes, int seconds, const Arguments& command) {
  const std::string limits = "ulimit -v " + std::to_string(megabytes * 1000) +
                             "; exec timeout --preserve-status --signal TERM --kill-after 20 " +
                             std::to_string(seconds) + " \"$0\" \"$@\"";
  Arguments arguments = {"-c", limits, testing::cairn_program()};
  arguments.insert(arguments.end(), command.begin(), command.end());
  arguments.insert(arguments.end(), {"--dsn", owner_dsn()});
  return arguments;
}

Ran run_within(int megabytes, const Arguments& command) {
  return run_program("/bin/sh", within(megabytes, 10, command));
}

// A worker that was short of descriptors failed 39 of 40 runs that a healthy one shared with it, and its log had no
// line.
TEST(Shortage, D5_a_worker_without_descriptors_fails_nobodys_step_and_says_so_once_a_second) {
  constexpr rlim_t few = 4;  // it has more open already
  const std::string data = directory() / "shortage";
  const std::string tools = write_file("shortage.json", R"({"tools": {"quick": {"exec": ["sh", "-c", "echo '{}'"]}}})");
  cairn_ok({"runs", "--data", data});
  Beside worker({"work", "--data", data, "--tools", tools});
  ASSERT_TRUE(wait_until([&] { return worker.out().find("ready") != std::string::npos; }));
  const std::string pid = std::to_string(worker.pid());
  ASSERT_TRUE(wait_until([&] { return cairn({"workers", "--data", data}).out.find(pid) != std::string::npos; }));
  rlimit before{};
  ASSERT_EQ(prlimit(worker.pid(), RLIMIT_NOFILE, nullptr, &before), 0);
  const rlimit short_of{few, before.rlim_max};
  const auto began = std::chrono::steady_clock::now();
  ASSERT_EQ(prlimit(worker.pid(), RLIMIT_NOFILE, &short_of, nullptr), 0);
  std::vector<std::string> runs;
  for (int n = 0; n < 8; ++n)
    runs.push_back(cairn_ok({"start", "plan_runner", "--input", one_goal("quick"), "--no-work", "--json", "--data",
                             data, "--tools", tools})
                       .json()["run"]);
  const auto told = [&] {
    const std::string log = worker.err();
    std::ptrdiff_t lines = 0;
    for (std::size_t at = 0; (at = log.find("Too many open files", at)) != std::string::npos; ++at) ++lines;
    return lines;
  };
  EXPECT_TRUE(wait_until([&] { return told() >= 3; })) << worker.err();
  const auto lines = static_cast<double>(told());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  EXPECT_LE(lines, took.count() + 1) << "one line a second";
  ASSERT_EQ(prlimit(worker.pid(), RLIMIT_NOFILE, &before, nullptr), 0);
  for (const std::string& run : runs) {
    EXPECT_TRUE(wait_until([&] {
      return cairn({"show", run, "--json", "--data", data}).json()["status"] == "done";
    })) << run;
    const std::string events = cairn_ok({"events", run, "--json", "--data", data}).out;
    EXPECT_EQ(events.find("step_failed"), std::string::npos) << events;
  }
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0);
  cairn_ok({"down", "--data", data});
}

// Each waited for ever, was terminated, or broke in its allocator: `serve` after it had said where it listens.
TEST(Shortage, D13_a_program_with_too_little_memory_or_threads_says_so_and_exits_with_1) {
  const std::string goal = one_goal("echo");
  const std::vector<int> some = {60, 80, 100, 120, 140, 160, 180, 200, 220, 240, 600};
  for (const auto& [command, sizes] : std::vector<std::pair<Arguments, std::vector<int>>>{
           {{"start", "plan_runner", "--input", goal, "--wait"},
            {60, 70, 80, 100, 120, 140, 160, 180, 200, 240, 280, 320, 400, 500, 600}},
           {{"work"}, some},
           {{"serve", "--listen", "127.0.0.1:0"}, some}}) {
    std::size_t refused = 0;
    for (const int megabytes : sizes) {
      const Ran ran = run_within(megabytes, command);
      SCOPED_TRACE(command.front() + " with " + std::to_string(megabytes) + " MB: exit " + std::to_string(ran.exit) +
                   " " + ran.out + ran.err);
      if (ran.exit == 0) continue;
      ++refused;
      EXPECT_EQ(ran.exit, 1);
      EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1);
      EXPECT_NE(ran.err.find("cairn: Expected"), std::string::npos);
    }
    EXPECT_GT(refused, 0u) << command.front();
    EXPECT_LT(refused, sizes.size()) << command.front();
  }
}

// A thread's first allocation read a null pointer where the allocator had no room for another arena: at a few sizes,
// and only while other processes kept the machine busy.
TEST(Shortage, D13_no_size_of_memory_ends_it_by_a_signal) {
  constexpr int least = 60, most = 300, step = 4;  // MB
  constexpr int at_once = 4;
  const std::string goal = one_goal("echo");
  for (const Arguments& command : {Arguments{"work"}, Arguments{"start", "plan_runner", "--input", goal, "--wait"}}) {
    int refused = 0;
    for (int first = least; first <= most; first += at_once * step) {
      std::vector<std::pair<int, Beside>> under_way;
      for (int megabytes = first; megabytes <= std::min(most, first + (at_once - 1) * step); megabytes += step)
        under_way.emplace_back(megabytes, Beside("/bin/sh", within(megabytes, 2, command)));
      for (auto& [megabytes, process] : under_way) {
        const int exit = process.wait();
        refused += exit == 1 ? 1 : 0;
        EXPECT_TRUE(exit <= 128 || exit == 128 + SIGTERM)  // asked to end before it could listen
            << command.front() << " with " << megabytes << " MB: exit " << exit << " " << process.err();
      }
    }
    EXPECT_GT(refused, 0) << command.front();
  }
}

}  // namespace
}  // namespace cairn
