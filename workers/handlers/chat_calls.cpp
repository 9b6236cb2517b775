#include "workers/handlers/chat_calls.hpp"

#include <map>
#include <set>
#include <utility>

#include "workers/handlers/step_fields.hpp"
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

// The names of an offer, gathered once: a reply may have as many calls as an offer has tools.
class OfferedNames {
 public:
  explicit OfferedNames(const Offer& offer) : functions_(offer.functions), has_all_(offer.tools.is_null()) {
    for (const Json& schema : offer.tools) {
      if (schema.is_string()) listed_.insert(schema.get<std::string>());
      const Json* function = schema.is_object() && schema.contains("function") ? &schema["function"] : nullptr;
      if (function != nullptr) described_.insert(text_of(*function, "name"));
    }
  }

  bool has(const std::string& tool) const { return has_all_ || listed_.contains(tool) || described_.contains(tool); }
  // A function of the graph that its list of tools names.
  bool is_own(const std::string& function) const { return listed_.contains(function) && functions_.contains(function); }

 private:
  const Json& functions_;
  bool has_all_;
  std::set<std::string> listed_;     // by their name alone
  std::set<std::string> described_;  // by a schema
};

std::string not_offered(const std::string& tool) {
  return "Expected a tool that the run offers, but " + excerpt(tool, 100) + " is not among them.";
}

std::string shown_content(const Json& outputs) {
  const auto content = outputs.find("content");
  const bool is_text = content != outputs.end() && content->is_string();
  return is_text ? content->get<std::string>() : canonical(outputs);
}

std::string shown_content(const GoalView& goal) {
  if (goal.status != GoalStatus::succeeded) return "Error: " + (goal.message.empty() ? goal.error : goal.message);
  return shown_content(goal.outputs);
}

// The answers to each call, by its id; gathered once, as there may be as many answers as calls.
class CallAnswers {
 public:
  CallAnswers(const StepInput& input, const OwnAnswers& own) : results_(own.results) {
    for (std::size_t at = 0; at < own.calls.size(); ++at) own_.try_emplace(text_of(own.calls[at], "id"), at);
    for (const Json& failure : own.failures)
      if (const Json index = failure.is_object() ? failure.value("index", Json()) : Json(); index.is_number_integer())
        failures_.try_emplace(index.get<std::size_t>(), &failure);
    for (const RejectedView& goal : input.rejected) rejected_.try_emplace(goal.id, &goal);
    for (const GoalView& goal : input.plan) goals_.try_emplace(goal.id, &goal);
  }

  // A rejected one comes before the plan's: its id may be that of an earlier call, where messages were taken back.
  std::string of(const std::string& id, const Json& call) const {
    const Result<Json> arguments = arguments_of(call);
    if (!arguments) return "Error: " + arguments.error().message;
    if (const auto own = own_.find(id); own != own_.end()) return of_own(own->second);
    if (const auto goal = rejected_.find(id); goal != rejected_.end()) return "Error: " + goal->second->reason;
    if (const auto goal = goals_.find(id); goal != goals_.end()) return shown_content(*goal->second);
    return not_run;
  }

 private:
  static constexpr const char* not_run = "Error: The call was not run.";

  std::string of_own(std::size_t at) const {
    if (at < results_.size() && !results_[at].is_null()) return shown_content(results_[at]);
    const auto failure = failures_.find(at);
    if (failure == failures_.end()) return not_run;
    return "Error: " + failure->second->value("message", std::string("It failed."));
  }

  const Json& results_;
  std::map<std::string, std::size_t> own_;  // the places of calls of the graph's functions
  std::map<std::size_t, const Json*> failures_;
  std::map<std::string, const RejectedView*> rejected_;
  std::map<std::string, const GoalView*> goals_;
};

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
  const OfferedNames names(offer);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!is_call(calls[i]))
      return bad_reply("Expected a tool call to have an id and to name a function, but it is " +
                       excerpt(calls[i], 200) + ".");
    Result<Json> arguments = arguments_of(calls[i]);
    if (!arguments) continue;  // its result says why
    std::string tool = calls[i]["function"]["name"].get<std::string>();
    if (names.is_own(tool)) {
      opened.own.push_back({{"id", sub_goal_id(place, i)}, {"name", tool}, {"arguments", *std::move(arguments)}});
      continue;
    }
    if (!names.has(tool)) {
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
  const CallAnswers answers(input, own);
  Json results = Json::array();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    results.push_back({{"role", "tool"},
                       {"tool_call_id", calls[i]["id"]},
                       {"name", calls[i]["function"]["name"]},
                       {"content", answers.of(sub_goal_id(messages.size() - 1, i), calls[i])}});
  }
  return results;
}

}  // namespace cairn
