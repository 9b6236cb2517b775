// The plain agent loop: all messages to the model, its tool calls as sub-goals, their results back as messages, until
// it answers without a call and a person says what comes next.
#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <utility>

#include "workers/model_call.hpp"
#include "workers/planners/planners.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;

Failure malformed(std::string message) { return {"invalid", std::move(message), false, {}}; }

std::string input_fault(const Json& messages, const Json& tools) {
  const auto is_message = [](const Json& message) { return message.is_object() && message.contains("role"); };
  if (!messages.is_array() || messages.empty() || !std::all_of(messages.begin(), messages.end(), is_message)) {
    return "Expected the input to have a list of chat messages as messages, but it is " + excerpt(messages, 100) + ".";
  }
  if (!tools.is_null() && !tools.is_array()) {
    return "Expected the input to have a list of function schemas as tools, but it is " + excerpt(tools, 100) + ".";
  }
  return "";
}

Json calls_of(const Json& message) {
  Json calls = message.value("tool_calls", Json::array());
  return calls.is_null() ? Json::array() : calls;
}

std::string call_fault(const Json& call) {
  const bool has_name = call.is_object() && call.contains("id") && call["id"].is_string() &&
                        call.contains("function") && call["function"].is_object() &&
                        call["function"].contains("name") && call["function"]["name"].is_string() &&
                        !call["function"]["name"].get<std::string>().empty();
  return has_name ? ""
                  : "Expected a tool call to have an id and to name a function, but it is " + excerpt(call, 200) + ".";
}

// The arguments are a text that the model wrote.
Result<Json> arguments_of(const Json& call) {
  const Json text = call["function"].value("arguments", Json("{}"));
  if (text.is_object()) return text;
  if (!text.is_string()) return Error{Code::invalid, "Expected the arguments to be a text, but they are not."};
  Result<Json> arguments = parse_json(text.get_ref<const std::string&>(), "the arguments");
  if (arguments && !arguments->is_object()) {
    return Error{Code::invalid,
                 "Expected the arguments to be a JSON object, but they are " + excerpt(*arguments, 100) + "."};
  }
  return arguments;
}

// The sub-goal of a call: the place of its message in the conversation, and its own place there.
std::string sub_goal_id(std::size_t message, std::size_t call) {
  return std::to_string(message + 1) + "." + std::to_string(call + 1);
}

// --- turn ------------------------------------------------------------------------------------------------------------
StepResult read_reply(const StepInput& input, const ModelReply& reply) {
  const Json calls = calls_of(reply.message);
  if (!calls.is_array()) return Failure{"bad_reply", "Expected tool_calls to be a list, but they are not.", true, {}};
  const Json content = reply.message.value("content", Json(nullptr));
  Outcome outcome{calls.empty() ? "message" : "tools", Json::object(), {}};
  outcome.patch["messages"] = Json::array({reply.message});
  outcome.patch["reply"] = content.is_null() ? Json("") : content;
  const std::size_t position = input.data.at("messages").size();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (std::string fault = call_fault(calls[i]); !fault.empty())
      return Failure{"bad_reply", std::move(fault), true, {}};
    const Result<Json> arguments = arguments_of(calls[i]);
    if (!arguments) continue;  // collect tells the model
    SubGoalOpened goal;
    goal.sub_goal = sub_goal_id(position, i);
    goal.tool = calls[i]["function"]["name"].get<std::string>();
    goal.inputs = *arguments;
    outcome.facts.emplace_back(std::move(goal));
  }
  return outcome;
}

asio::awaitable<StepResult> turn(StepInput input, Ports& ports) {
  const Json messages = input.data.value("messages", Json());
  const Json tools = input.data.value("tools", Json());
  if (std::string fault = input_fault(messages, tools); !fault.empty()) co_return malformed(std::move(fault));
  ModelRequest request;
  if (input.with.contains("model") && input.with["model"].is_string())
    request.model = input.with["model"].get<std::string>();
  request.messages = messages;
  request.tools = tools;
  request.key = input.key;
  request.node = input.node;
  const auto read = [&input](const ModelReply& reply) { return read_reply(input, reply); };
  co_return co_await ask_model(std::move(request), ports, read);
}

// --- collect ---------------------------------------------------------------------------------------------------------
std::string content_of(const GoalView& goal) {
  if (goal.status != GoalStatus::succeeded) return "Error: " + (goal.message.empty() ? goal.error : goal.message);
  const auto content = goal.outputs.find("content");
  const bool is_text = content != goal.outputs.end() && content->is_string();
  return is_text ? content->get<std::string>() : canonical(goal.outputs);
}

std::string content_of(const StepInput& input, const std::string& id, const Json& call) {
  const Result<Json> arguments = arguments_of(call);
  if (!arguments) return "Error: " + arguments.error().message;
  for (const GoalView& goal : input.plan) {
    if (goal.id == id) return content_of(goal);
  }
  for (const RejectedView& goal : input.rejected) {
    if (goal.id == id) return "Error: " + goal.reason;
  }
  return "Error: The call was not run.";
}

// The results of the last message's calls, in their order.
StepResult collect(const StepInput& input) {
  const Json& messages = input.data.at("messages");
  const Json calls = calls_of(messages.back());
  Json results = Json::array();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    results.push_back({{"role", "tool"},
                       {"tool_call_id", calls[i]["id"]},
                       {"name", calls[i]["function"]["name"]},
                       {"content", content_of(input, sub_goal_id(messages.size() - 1, i), calls[i])}});
  }
  Outcome outcome{"collected", Json::object(), {}};
  outcome.patch["messages"] = std::move(results);
  return outcome;
}

// --- hear ------------------------------------------------------------------------------------------------------------
StepResult hear(const StepInput& input) {
  if (!input.given.is_string()) return Outcome{"end", Json::object(), {}};
  Outcome outcome{"message", Json::object(), {}};
  outcome.patch["messages"] = Json::array({{{"role", "user"}, {"content", input.given}}});
  return outcome;
}

void add(HandlerTable& table, std::string name, std::vector<std::string> labels, std::vector<std::string> reads,
         std::variant<PureHandler, EffectHandler> run) {
  Handler handler;
  handler.name = "tool_agent." + std::move(name);
  handler.labels = std::move(labels);
  handler.reads = std::move(reads);
  handler.reads_plan = handler.name == "tool_agent.collect";
  handler.run = std::move(run);
  table.add(std::move(handler));
}

}  // namespace

void add_tool_agent(HandlerTable& table) {
  add(table, "turn", {"tools", "message"}, {"messages", "tools"}, EffectHandler(turn));
  add(table, "collect", {"collected"}, {"messages"}, PureHandler(collect));
  add(table, "hear", {"message", "end"}, {}, PureHandler(hear));
}

}  // namespace cairn
