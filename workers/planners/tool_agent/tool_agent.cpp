// The handlers of tool_agent's first graph, which had its own where there are built-in ones now. Runs that were begun
// with it go on with it.
#include <boost/asio/awaitable.hpp>
#include <utility>

#include "workers/planners/planners.hpp"

namespace cairn {
namespace {

Json settings_of(const StepInput& input) {
  Json with = {{"messages", input.data.value("messages", Json())},
               {"tools", input.data.value("tools", Json())},
               {"append_to", "messages"}};
  for (const char* name : {"model", "options"})
    if (input.with.contains(name)) with[name] = input.with[name];
  return with;
}

StepResult hear(const StepInput& input) {
  if (!input.given.is_string()) return Outcome{"end", Json::object(), {}};
  Outcome outcome{"message", Json::object(), {}};
  outcome.patch["messages"] = Json::array({{{"role", "user"}, {"content", input.given}}});
  return outcome;
}

}  // namespace

void add_tool_agent(HandlerTable& table) {
  const EffectHandler chat = std::get<EffectHandler>(table.find("model.chat")->run);
  const PureHandler results = std::get<PureHandler>(table.find("tool.results")->run);
  const EffectHandler turn = [chat](StepInput input, Ports& ports) {
    input.with = settings_of(input);
    return chat(std::move(input), ports);
  };
  const PureHandler collect = [results](StepInput input) {
    input.with = {{"messages", input.data.value("messages", Json())}};
    StepResult result = results(input);
    if (result) result->label = "collected";
    return result;
  };
  table.add("tool_agent", {{"turn", {"tools", "message"}, {"messages", "tools"}, turn},
                           {"collect", {"collected"}, {"messages"}, collect, reads_the_plan},
                           {"hear", {"message", "end"}, {}, PureHandler(hear)}});
}

}  // namespace cairn
