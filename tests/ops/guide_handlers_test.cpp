// The handlers of ops/guide/handlers.md, compiled and run as they stand there: each ```cpp block of the page is a part
// of this file, which a test below holds.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <gtest/gtest.h>

#include "engine/state.hpp"
#include "tests/ops/program.hpp"
#include "tests/paths.hpp"
#include "workers/handlers/handler.hpp"
#include "workers/handlers/tool_call.hpp"
#include "workers/models/models.hpp"
#include "workers/ports/ports.hpp"
#include "workers/ports/tools.hpp"

namespace cairn {
namespace {

using boost::asio::awaitable;

StepResult route(const StepInput& input) {
  const Json total = input.data.value("total", Json(0));
  if (!total.is_number()) return Failure{"invalid", "Expected total to be a number.", false, {}};
  return Outcome{total > 100 ? "large" : "small", {{"routed", true}}, {}};
}

awaitable<StepResult> brew(StepInput input, Ports& ports) {
  ToolCall call;
  call.tool = "echo";
  call.inputs = {{"size", input.with.value("size", "small")}};
  const auto read = [](Json outputs) -> StepResult { return Outcome{"ok", {{"cup", std::move(outputs)}}, {}}; };
  co_return co_await call_tool(std::move(input), ports, std::move(call), read);
}

void add_coffee(HandlerTable& table) {
  Handler pure;
  pure.name = "coffee.route";
  pure.labels = {"large", "small"};
  pure.reads = {"total"};  // the channels it may see; "*": all
  pure.run = PureHandler(route);
  table.add(std::move(pure));

  Handler effect;
  effect.name = "coffee.brew";
  effect.labels = {"ok"};
  effect.run = EffectHandler(brew);
  table.add(std::move(effect));
}

StepInput input_with(const Json& data) {
  StepInput input;
  input.data = data;
  input.with = Json::object();
  return input;
}

TEST(GuideHandlers, a_pure_one_routes_by_its_data) {
  const StepResult small = route(input_with({{"total", 5}}));
  EXPECT_EQ(small->label, "small");
  const StepResult large = route(input_with({{"total", 500}}));
  EXPECT_EQ(large->label, "large");
  EXPECT_EQ(large->patch, Json({{"routed", true}}));
  EXPECT_EQ(route(input_with({{"total", "much"}})).error().error, "invalid");
}

TEST(GuideHandlers, an_effect_calls_a_tool_through_its_ports) {
  const std::unique_ptr<Tools> tools = make_tools(builtin_tools(), 1);
  const std::unique_ptr<Model> model =
      make_rule_model(rule_book_name, [](const ModelRequest&) { return ModelAnswer(); });
  Ports ports(*model, *tools);
  boost::asio::io_context context;
  std::optional<Outcome> outcome;
  StepInput input = input_with(Json::object());
  input.with = {{"size", "large"}};
  const auto ended = [&outcome](const std::exception_ptr& fault, StepResult result) {
    if (!fault && result) outcome = *std::move(result);
  };
  boost::asio::co_spawn(context, brew(std::move(input), ports), ended);
  context.run();
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->patch["cup"], Json({{"size", "large"}}));
  EXPECT_FALSE(outcome->facts.empty()) << "the call is on record";
}

TEST(GuideHandlers, a_graph_may_name_them_once_they_are_in_the_table) {
  HandlerTable table;
  add_coffee(table);
  const Json graph = Json::parse(R"({"name": "coffee", "start": "route", "limits": {"steps": 9}, "nodes": {
    "route": {"do": "coffee.route", "on": {"large": "brew", "small": "brew"}},
    "brew": {"do": "coffee.brew", "with": {"size": "large"}, "on": {"ok": "over"}}, "over": {"end": "done"}}})");
  EXPECT_EQ(graph_faults(graph, table.labels()), std::vector<std::string>{});
}

TEST(GuideHandlers, are_the_code_of_the_page) {
  const std::filesystem::path root = testing::source_dir();
  const std::string page = program::read_file(root / "ops/guide/handlers.md");
  const std::string source = program::read_file(root / "tests/ops/guide_handlers_test.cpp");
  int blocks = 0;
  for (std::size_t at = page.find("```cpp\n"); at != std::string::npos; at = page.find("```cpp\n", at)) {
    at += 7;
    const std::string code = page.substr(at, page.find("```", at) - at);
    EXPECT_NE(source.find(code), std::string::npos) << code;
    ++blocks;
  }
  EXPECT_EQ(blocks, 3);
}

}  // namespace
}  // namespace cairn
