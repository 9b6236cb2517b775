#include "workers/handlers/chat_calls.hpp"

#include <algorithm>
#include <map>
#include <optional>
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

// A value that is read from an earlier sub-goal's outputs where the plan resolves it.
bool takes_a_slot(const Json& value) {
  if (!value.is_structured()) return false;
  if (value.is_object() && value.contains("from_sub_goal")) return true;
  return std::any_of(value.begin(), value.end(), takes_a_slot);
}

constexpr const char* not_run = "Error: The call was not run.";

// The answers of a map over calls, by the ids of the calls; gathered once, as there may be as many as calls.
class AnswersById {
 public:
  explicit AnswersById(const MappedAnswers& mapped) : results_(mapped.results) {
    for (std::size_t at = 0; at < mapped.calls.size(); ++at) places_.try_emplace(text_of(mapped.calls[at], "id"), at);
    for (const Json& failure : mapped.failures)
      if (const Json index = failure.is_object() ? failure.value("index", Json()) : Json(); index.is_number_integer())
        failures_.try_emplace(index.get<std::size_t>(), &failure);
  }

  // Nothing: the map did not have that call.
  std::optional<std::string> of(const std::string& id) const {
    const auto found = places_.find(id);
    if (found == places_.end()) return std::nullopt;
    const std::size_t at = found->second;
    if (at < results_.size() && !results_[at].is_null()) return shown_content(results_[at]);
    const auto failure = failures_.find(at);
    if (failure == failures_.end()) return not_run;
    return "Error: " + failure->second->value("message", std::string("It failed."));
  }

  bool has(const std::string& id) const { return places_.contains(id); }

 private:
  const Json& results_;
  std::map<std::string, std::size_t> places_;
  std::map<std::size_t, const Json*> failures_;
};

// The answers to each call, by its id.
class AnswersOfTurn {
 public:
  AnswersOfTurn(const StepInput& input, const CallAnswers& answers) : own_(answers.own), asked_(answers.asked) {
    for (const RejectedView& goal : input.rejected) rejected_.try_emplace(goal.id, &goal);
    for (const GoalView& goal : input.plan) goals_.try_emplace(goal.id, &goal);
  }

  // A rejected one comes before the plan's: its id may be that of an earlier call, where messages were taken back.
  std::string of(const std::string& id, const Json& call) const {
    const Result<Json> arguments = arguments_of(call);
    if (!arguments) return "Error: " + arguments.error().message;
    if (std::optional<std::string> own = own_.of(id)) return *std::move(own);
    if (const auto goal = rejected_.find(id); goal != rejected_.end()) return "Error: " + goal->second->reason;
    const auto goal = goals_.find(id);
    if (goal == goals_.end()) return not_run;
    std::optional<std::string> again = asks_a_person(*goal->second) ? asked_.of(id) : std::nullopt;
    return again ? *std::move(again) : shown_content(*goal->second);
  }

  // The sub-goal of a call whose tool asks a person and has not got an answer; null: it is another call.
  const GoalView* waiting_for_a_person(const std::string& id, const Json& call) const {
    if (!arguments_of(call) || own_.has(id) || rejected_.contains(id) || asked_.has(id)) return nullptr;
    const auto goal = goals_.find(id);
    const bool waits = goal != goals_.end() && asks_a_person(*goal->second) && !takes_a_slot(goal->second->inputs);
    return waits ? goal->second : nullptr;
  }

 private:
  static bool asks_a_person(const GoalView& goal) {
    return goal.status == GoalStatus::failed && goal.error == "input_required";
  }

  AnswersById own_;
  AnswersById asked_;
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

Json calls_that_ask(const Json& messages, const StepInput& input, const CallAnswers& answers) {
  const Json calls = calls_of(messages.back());
  const AnswersOfTurn turn(input, answers);
  Json asking = Json::array();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::string id = sub_goal_id(messages.size() - 1, i);
    if (const GoalView* goal = turn.waiting_for_a_person(id, calls[i]))
      asking.push_back({{"id", id}, {"tool", goal->tool}, {"inputs", goal->inputs}});
  }
  return asking;
}

Json results_of_calls(const Json& messages, const StepInput& input, const CallAnswers& answers) {
  const Json calls = calls_of(messages.back());
  const AnswersOfTurn turn(input, answers);
  Json results = Json::array();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    results.push_back({{"role", "tool"},
                       {"tool_call_id", calls[i]["id"]},
                       {"name", calls[i]["function"]["name"]},
                       {"content", turn.of(sub_goal_id(messages.size() - 1, i), calls[i])}});
  }
  return results;
}

}  // namespace cairn
