#include "workers/handlers/chat_calls.hpp"

#include <algorithm>
#include <optional>
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
    return schema == tool || (function.is_object() && function.value("name", Json()) == tool);
  });
}

// A function of the graph that its list of tools names.
bool is_own(const std::string& function, const Offer& offer) {
  return offer.tools.is_array() && std::find(offer.tools.begin(), offer.tools.end(), function) != offer.tools.end() &&
         offer.functions.contains(function);
}

std::string not_offered(const std::string& tool) {
  return "Expected a tool that the run offers, but " + excerpt(tool, 100) + " is not among them.";
}

std::string content_of(const Json& outputs) {
  const auto content = outputs.find("content");
  const bool is_text = content != outputs.end() && content->is_string();
  return is_text ? content->get<std::string>() : canonical(outputs);
}

std::string content_of(const GoalView& goal) {
  if (goal.status != GoalStatus::succeeded) return "Error: " + (goal.message.empty() ? goal.error : goal.message);
  return content_of(goal.outputs);
}

// Nothing: it is no call of a function of the graph.
std::optional<std::string> content_of(const OwnAnswers& own, const std::string& id) {
  for (std::size_t i = 0; i < own.calls.size(); ++i) {
    if (own.calls[i].value("id", Json()) != id) continue;
    if (i < own.results.size() && !own.results[i].is_null()) return content_of(own.results[i]);
    for (const Json& failure : own.failures) {
      if (failure.value("index", Json()) == i) return "Error: " + failure.value("message", std::string("It failed."));
    }
    return "Error: The call was not run.";
  }
  return std::nullopt;
}

// A rejected one comes first: its id may be that of an earlier call, where messages were taken back.
std::string content_of(const StepInput& input, const OwnAnswers& own, const std::string& id, const Json& call) {
  const Result<Json> arguments = arguments_of(call);
  if (!arguments) return "Error: " + arguments.error().message;
  if (std::optional<std::string> content = content_of(own, id)) return *std::move(content);
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

Result<Json> schemas_of(const Offer& offer) {
  if (offer.tools.is_null()) return offer.tools;
  const auto refused = [](const Json& found) {
    return Error{Code::invalid,
                 "Expected a list of function schemas, or of names of the graph's functions, or null, as "
                 "\"tools\", but found " +
                     excerpt(found, 200) + "."};
  };
  if (!offer.tools.is_array()) return refused(offer.tools);
  Json schemas = Json::array();
  for (const Json& tool : offer.tools) {
    if (!tool.is_string()) {
      schemas.push_back(tool);
      continue;
    }
    const auto name = tool.get<std::string>();
    if (!offer.functions.contains(name) || !offer.functions[name].is_object()) return refused(tool);
    Json function = offer.functions[name];
    function["name"] = name;
    schemas.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return schemas;
}

Result<OpenedCalls, Failure> opened_calls(const Json& message, std::size_t place, const Offer& offer) {
  const Json calls = calls_of(message);
  if (!calls.is_array()) return bad_reply("Expected tool_calls to be a list, but they are not.");
  OpenedCalls opened;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!is_call(calls[i]))
      return bad_reply("Expected a tool call to have an id and to name a function, but it is " +
                       excerpt(calls[i], 200) + ".");
    Result<Json> arguments = arguments_of(calls[i]);
    if (!arguments) continue;  // its result says why
    std::string tool = calls[i]["function"]["name"].get<std::string>();
    if (is_own(tool, offer)) {
      opened.own.push_back({{"id", sub_goal_id(place, i)}, {"name", tool}, {"arguments", *std::move(arguments)}});
      continue;
    }
    if (!is_offered(tool, offer.tools)) {
      opened.facts.emplace_back(SubGoalRejected{sub_goal_id(place, i), tool, not_offered(tool), {}});
      continue;
    }
    SubGoalOpened goal;
    goal.sub_goal = sub_goal_id(place, i);
    goal.tool = std::move(tool);
    goal.inputs = *std::move(arguments);
    opened.facts.emplace_back(std::move(goal));
  }
  return opened;
}

Json results_of_calls(const Json& messages, const StepInput& input, const OwnAnswers& own) {
  const Json calls = calls_of(messages.back());
  Json results = Json::array();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    results.push_back({{"role", "tool"},
                       {"tool_call_id", calls[i]["id"]},
                       {"name", calls[i]["function"]["name"]},
                       {"content", content_of(input, own, sub_goal_id(messages.size() - 1, i), calls[i])}});
  }
  return results;
}

}  // namespace cairn
