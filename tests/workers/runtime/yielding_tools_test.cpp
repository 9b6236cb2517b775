// Tools that leave a call to a worker which has the means for it.
#include "workers/runtime/yielding_tools.hpp"

#include <boost/asio.hpp>
#include <gtest/gtest.h>
#include <optional>

#include "storage/clock.hpp"
#include "workers/ports/tools.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;

constexpr TimeUs long_us = 60'000'000;

ToolSpec reading(const char* name, const char* kind, const char* input) {
  ToolSpec spec{name, ToolSpec::Instant{[](const ToolCall&) -> ToolAnswer { return Json{{"by", "this one"}}; }}, 0, {}};
  spec.reach = {kind, input};
  return spec;
}

class YieldingToolsTest : public ::testing::Test {
 protected:
  // `{"by": "this one"}`, the error, or "left: NEED".
  std::string asked(const std::string& tool, const Json& inputs, TimeUs patience_us = long_us) {
    const auto yielding = make_yielding_tools(*tools_, {{"read", "echo"}, {"corpus a"}}, others_, patience_us);
    asio::io_context io;
    ToolCall call;
    call.tool = tool;
    call.inputs = inputs;
    std::optional<std::string> end;
    asio::co_spawn(io, yielding->call(call), [&](const std::exception_ptr& thrown, ToolAnswer answer) {
      try {
        if (thrown) std::rethrow_exception(thrown);
        end = answer ? answer->dump() : answer.error().error;
      } catch (const MeansAreElsewhere& elsewhere) {
        end = "left: " + elsewhere.lacking;
      }
    });
    while (!end) {
      io.run_one();
      if (looks_ && others_.is_scan_wanted()) others_.learn(steady_us(), found_);
    }
    return *end;
  }

  std::unique_ptr<Tools> tools_ = make_tools({reading("read", "corpus", "corpus"), builtin_tools().front()}, 1);
  MeansOfOthers others_;
  bool looks_ = true;
  std::vector<Means> found_;  // by the next reading
};

TEST_F(YieldingToolsTest, what_this_worker_has_the_means_for_is_done_here_without_a_look) {
  looks_ = false;
  EXPECT_EQ(asked("read", {{"corpus", "a"}}), R"({"by":"this one"})");
  EXPECT_EQ(asked("read", {{"corpus", 7}}), R"({"by":"this one"})") << "no form that needs anything";
}

TEST_F(YieldingToolsTest, another_that_is_known_to_have_the_means_gets_it_at_once) {
  looks_ = false;
  others_.learn(1, {{{"machine"}, {"corpus *"}}});
  EXPECT_EQ(asked("read", {{"corpus", "b"}}), "left: corpus b");
  EXPECT_EQ(asked("machine", {}), "left: tool machine");
}

TEST_F(YieldingToolsTest, a_new_look_comes_before_a_refusal_however_new_the_last_one_is) {
  others_.learn(steady_us(), {});
  found_ = {{{"machine"}, {"corpus b"}}};
  EXPECT_EQ(asked("machine", {}), "left: tool machine");
  EXPECT_EQ(asked("read", {{"corpus", "b"}}), "left: corpus b");
}

TEST_F(YieldingToolsTest, what_no_other_has_is_answered_here) {
  found_ = {{{"read", "echo"}, {"corpus a"}}, {{}, {}}};
  EXPECT_EQ(asked("machine", {}), "unknown_tool");
  EXPECT_EQ(asked("read", {{"corpus", "b"}}), R"({"by":"this one"})") << "the tool itself says no";
}

TEST_F(YieldingToolsTest, without_a_look_nothing_is_refused) {
  looks_ = false;
  EXPECT_EQ(asked("machine", {}, 1), "left: tool machine");
}

}  // namespace
}  // namespace cairn
