// Native tools and the built-in ones.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

#include "tests/workers/ports/tool_trial.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;
using namespace testing;

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
