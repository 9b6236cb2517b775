#include "workers/handlers/chat_calls.hpp"

#include <algorithm>
#include <utility>

#include "workers/ports/failures.hpp"

namespace cairn {
namespace {

bool is_call(const Json& call) {
  return call.is_object() && call.contains("id") && call["id"].is_string() && call.contains("function") &&
         call["function"].is_object() && call["function"].contains("name") && call["function"]["name"].is_string() &&
         !call["function"]["name"].get_ref<const std::string&>().empty();
}

// The arguments are a text that the model wrote; for a function without parameters often none.
Result<Json> arguments_of(const Json& call) {
  const Json text = call["function"].value("arguments", Json());
  if (text.is_object()) return text;
  if (text.is_null() || text == "") return Json::object();
  if (!text.is_string()) return Error{Code::invalid, "Expected the arguments to be a text, but they are not."};
  Result<Json> arguments = parse_json(text.get_ref<const std::string&>(), "the arguments");
  if (arguments && !arguments->is_object()) {
    return Error{Code::invalid,
                 "Expected the arguments to be a JSON object, but they are " + excerpt(*arguments, 100) + "."};
  }
  return arguments;
}

std::string sub_goal_id(std::size_t message, std::size_t call) {
  return std::to_string(message + 1) + "." + std::to_string(call + 1);
}

bool is_offered(const std::string& tool, const Json& offered) {
  if (offered.is_null()) return true;
  return std::any_of(offered.begin(), offered.end(), [&tool](const Json& schema) {
    const Json function = schema.is_object() ? schema.value("function", Json()) : Json();
    return function.is_object() && function.value("name", Json()) == tool;
  });
}

std::string not_offered(const std::string& tool) {
  return "Expected a tool that the run offers, but " + excerpt(tool, 100) + " is not among them.";
}

std::string content_of(const GoalView& goal) {
  if (goal.status != GoalStatus::succeeded) return "Error: " + (goal.message.empty() ? goal.error : goal.message);
  const auto content = goal.outputs.find("content");
  const bool is_text = content != goal.outputs.end() && content->is_string();
  return is_text ? content->get<std::string>() : canonical(goal.outputs);
}

// A rejected one comes first: its id may be that of an earlier call, where messages were taken back.
std::string content_of(const StepInput& input, const std::string& id, const Json& call) {
  const Result<Json> arguments = arguments_of(call);
  if (!arguments) return "Error: " + arguments.error().message;
  for (const RejectedView& goal : input.rejected) {
    if (goal.id == id) return "Error: " + goal.reason;
  }
  for (const GoalView& goal : input.plan) {
    if (goal.id == id) return content_of(goal);
  }
  return "Error: The call was not run.";
}

}  // namespace

Json calls_of(const Json& message) {
  Json calls = message.is_object() ? message.value("tool_calls", Json()) : Json();
  return calls.is_null() ? Json::array() : calls;
}

Result<std::vector<Fact>, Failure> opened_calls(const Json& message, std::size_t place, const Json& offered) {
  const Json calls = calls_of(message);
  if (!calls.is_array()) return bad_reply("Expected tool_calls to be a list, but they are not.");
  std::vector<Fact> facts;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!is_call(calls[i]))
      return bad_reply("Expected a tool call to have an id and to name a function, but it is " +
                       excerpt(calls[i], 200) + ".");
    Result<Json> arguments = arguments_of(calls[i]);
    if (!arguments) continue;  // its result says why
    std::string tool = calls[i]["function"]["name"].get<std::string>();
    if (!is_offered(tool, offered)) {
      facts.emplace_back(SubGoalRejected{sub_goal_id(place, i), tool, not_offered(tool), {}});
      continue;
    }
    SubGoalOpened goal;
    goal.sub_goal = sub_goal_id(place, i);
    goal.tool = std::move(tool);
    goal.inputs = *std::move(arguments);
    facts.emplace_back(std::move(goal));
  }
  return facts;
}

Json results_of_calls(const Json& messages, const StepInput& input) {
  const Json calls = calls_of(messages.back());
  Json results = Json::array();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    results.push_back({{"role", "tool"},
                       {"tool_call_id", calls[i]["id"]},
                       {"name", calls[i]["function"]["name"]},
                       {"content", content_of(input, sub_goal_id(messages.size() - 1, i), calls[i])}});
  }
  return results;
}

}  // namespace cairn
