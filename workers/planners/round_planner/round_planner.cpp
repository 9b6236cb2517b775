// Planning in rounds: the goal is understood, a round of sub-goals is planned, the engine admits and dispatches them,
// their results are joined, and the next round is planned, until the planner says done or failed and the answer is
// written. The tools that do the sub-goals' work are what the document calls workers.
#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <map>
#include <utility>
#include <vector>

#include "workers/handlers/model_call.hpp"
#include "workers/handlers/shown_values.hpp"
#include "workers/handlers/step_fields.hpp"
#include "workers/planners/planners.hpp"
#include "workers/planners/round_planner/policy.hpp"
#include "workers/planners/round_planner/prompts.hpp"
#include "workers/ports/failures.hpp"
#include "workers/tools/data/metadata.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;
using Role = RoundRole;

// One value in a prompt, and all of them. metadata_results keep to metadata_bytes_max by themselves.
constexpr std::size_t shown_bytes_max = metadata_bytes_max + 1024;
constexpr std::size_t shown_together_bytes_max = 3 * shown_bytes_max;
constexpr int repairs_max = 1;

// --- asking the model ------------------------------------------------------------------------------------------------
ModelRequest request_of(const StepInput& input, Role role, Json data, const std::string& fault) {
  ModelRequest request = request_for(input);
  request.messages = round_prompt(role, std::move(data), fault);
  request.schema = round_reply_schema(role);
  request.schema_name = to_string(role);
  return request;
}

// --- results in a prompt ---------------------------------------------------------------------------------------------
class LatestFirst {
 public:
  explicit LatestFirst(const StepInput& input) {
    for (std::size_t i = 0; i < input.plan.size(); ++i) places_[input.plan[i].id] = i + 1;
  }
  // REQUIRES: the value outlives show(), in its place.
  void add(const std::string& sub_goal, Json& value) {
    const auto found = places_.find(sub_goal);
    values_.emplace_back(found == places_.end() ? 0 : found->second, &value);
  }
  void show() {
    std::stable_sort(values_.begin(), values_.end(),
                     [](const auto& one, const auto& other) { return one.first > other.first; });
    std::vector<Json*> in_order;
    for (const auto& [place, value] : values_) in_order.push_back(value);
    show_together(in_order, shown_bytes_max, shown_together_bytes_max);
  }

 private:
  std::map<std::string, std::size_t> places_;
  std::vector<std::pair<std::size_t, Json*>> values_;
};

// --- understanding the goal (F01) ------------------------------------------------------------------------------------
// All that was asked back, each {"asked", "said"}: the list so far, and the answer that has come since.
Json clarifications_of(const StepInput& input) {
  Json all = channel(input, "clarifications", Json::array());
  if (const std::string said = text_of(input.data, "clarification"); !said.empty())
    all.push_back({{"asked", channel(input, "answer")}, {"said", said}});
  return all;
}

// The basis of later nodes: facts that hold, and references to resolve; null where there is none.
Outcome understood(const StepInput& input, const ModelReply& reply) {
  const Json& read = reply.value;
  const std::string kind = text_of(read, "kind");
  const bool asks_data = kind != "general" && kind != "ambiguous";
  Json clarifications = clarifications_of(input);
  const std::string said = said_in(clarifications);
  Json analysis = read;  // with the question itself: the query is made with the data's names at hand
  if (text_of(read, "question").empty())
    analysis["question"] = text_of(input.data, "question") + (said.empty() ? "" : " " + said);
  Json facts = Json::object();
  if (kind == "general") facts["common_question"] = true;
  if (kind == "ambiguous") facts["ambiguous"] = true;
  if (read.value("wants_analysis", false)) facts["wants_analysis"] = true;
  Json goal = {{"question", channel(input, "question")},
               {"facts", facts},
               {"analysis_result", asks_data ? std::move(analysis) : Json()},
               {"references", asks_data && !read["references"].empty() ? read["references"] : Json()}};
  if (!said.empty()) goal["clarification"] = said;
  Outcome outcome{"ready", Json::object(), {}};
  outcome.patch = {{"main_goal", std::move(goal)}, {"facts", std::move(facts)}, {"round", channel(input, "round", 1)}};
  if (!said.empty()) outcome.patch["clarifications"] = std::move(clarifications);
  if (!text_of(input.data, "clarification").empty()) outcome.patch["clarification"] = nullptr;
  if (!input.data.contains("round")) outcome.facts.emplace_back(PlanCreated{1, text_of(input.data, "question"), {}});
  outcome.facts.emplace_back(record(RecordKind::decision_proposed, {{"action", kind},
                                                                    {"target", read["references"]},
                                                                    {"reason", text_of(read, "reason")},
                                                                    {"source", source_of(reply)}}));
  return outcome;
}

asio::awaitable<StepResult> understand_goal(StepInput input, Ports& ports) {
  const Json question = channel(input, "question");
  if (!question.is_string() || question.get_ref<const std::string&>().empty()) {
    co_return invalid_input("Expected the input {\"question\": TEXT}, but got " + excerpt(input.data, 200) + ".");
  }
  Json data = {{"question", question}};
  if (Json clarifications = clarifications_of(input); !clarifications.empty())
    data["clarifications"] = std::move(clarifications);
  ModelRequest request = request_of(input, Role::goal_analysis, data, input.fault);
  const ReadReply read = [&input](const ModelReply& reply) { return understood(input, reply); };
  co_return co_await ask_model_counted(std::move(request), ports, read);
}

// --- planning a round (F02) ------------------------------------------------------------------------------------------
struct Decided {
  std::string action;  // continue, done, failed
  std::string reasoning;
};

std::int64_t round_of(const StepInput& input) { return channel(input, "round", 1).get<std::int64_t>(); }

// The patch and facts that every decision leaves.
Outcome decided(const StepInput& input, std::string label, const Decided& decision, Json trail) {
  Outcome outcome{std::move(label), Json::object(), {}};
  const char* status = decision.action == "continue" ? "executing" : decision.action.c_str();
  outcome.patch["status"] = status;
  outcome.patch["planner_reasoning"] =
      Json::array({{{"round", round_of(input)}, {"action", decision.action}, {"reasoning", decision.reasoning}}});
  outcome.facts.emplace_back(
      record(RecordKind::decision_enforced, {{"action", decision.action}, {"trail", std::move(trail)}}));
  return outcome;
}

Outcome failed(const StepInput& input, const std::string& reason, Json trail) {
  const bool at_once = text_of(input.with, "on_failed") == "end";
  Outcome outcome = decided(input, at_once ? "given_up" : "failed", {"failed", reason}, std::move(trail));
  outcome.patch["reason"] = reason;
  return outcome;
}

Record rewritten(const std::string& rule, const std::string& from, const std::string& to) {
  return record(RecordKind::decision_rewritten, {{"rule", rule}, {"order", 1}, {"from", from}, {"to", to}});
}

int repairs_of(const StepInput& input) {
  const Json repair = channel(input, "repair");
  return repair.is_object() ? repair.value("tried", 0) : 0;
}

// A decision without effect: the planner gets one repair; the second one ends the run.
Outcome repair(const StepInput& input, const std::string& rule, const std::string& action, const std::string& says) {
  if (repairs_of(input) >= repairs_max) {
    Outcome outcome = failed(input, rule + ": " + says, {action, rule, "failed"});
    outcome.facts.insert(outcome.facts.begin(), rewritten(rule, action, "failed"));
    return outcome;
  }
  Outcome outcome{"repair", {{"repair", {{"rule", rule}, {"says", says}, {"tried", repairs_of(input) + 1}}}}, {}};
  outcome.facts.emplace_back(rewritten(rule, action, "repair"));
  return outcome;
}

std::string joined(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += (text.empty() ? "" : " ") + sentence;
  return text;
}

Outcome continued(const StepInput& input, const ToolTable& tools, const Json& reply) {
  const RoundView view{input, tools, round_of(input), input.with.value("retries", std::int64_t{2})};
  Proposals proposals = propose(view, reply.value("sub_goals", Json::array()));
  Outcome outcome;
  if (proposals.opened == 0) {
    const std::string why = proposals.reasons.empty() ? "there is none." : joined(proposals.reasons);
    outcome = repair(input, "no_progress", "continue", "Expected a sub-goal that can be dispatched, but " + why);
  } else {
    outcome = decided(input, "continue", {"continue", text_of(reply, "reasoning")}, {"continue"});
    outcome.patch["planned_round"] = round_of(input);
    outcome.patch["deliverables"] = std::move(proposals.deliverables);
    outcome.patch["retries"] = std::move(proposals.retries);
  }
  if (reply.contains("facts")) {
    Json facts = Json::object();
    for (const auto& [name, holds] : reply["facts"].items())
      if (holds == true) facts[name] = true;
    outcome.patch["facts"] = std::move(facts);
  }
  for (Fact& fact : proposals.facts) outcome.facts.push_back(std::move(fact));
  return outcome;
}

Outcome done(const StepInput& input, const Json& reply) {
  const Json inputs = reply.value("synthesis_inputs", Json::object());
  if (const Status resolved = check_synthesis_inputs(input, inputs); !resolved)
    return repair(input, "synthesis_inputs", "done", resolved.error().message);
  // Repeated, `done` stands: to accept a part of the answer is the planner's to decide.
  const Status complete = check_deliverables(input, channel(input, "deliverables", Json::array()));
  if (!complete && repairs_of(input) == 0) return repair(input, "deliverables", "done", complete.error().message);
  Outcome outcome = decided(input, "done", {"done", text_of(reply, "reasoning")}, {"done"});
  outcome.patch["synthesis_inputs"] = inputs;
  return outcome;
}

Outcome planned(const StepInput& input, const ToolTable& tools, const ModelReply& reply) {
  const std::string action = text_of(reply.value, "action");
  Json target = Json::array();
  for (const Json& goal : reply.value.value("sub_goals", Json::array())) target.push_back(goal["id"]);
  const Record proposed = record(RecordKind::decision_proposed, {{"action", action},
                                                                 {"target", target},
                                                                 {"reason", text_of(reply.value, "reasoning")},
                                                                 {"source", source_of(reply)}});
  Outcome outcome = action == "continue" ? continued(input, tools, reply.value)
                    : action == "done"   ? done(input, reply.value)
                                         : failed(input, text_of(reply.value, "reasoning"), {"failed"});
  outcome.facts.insert(outcome.facts.begin(), proposed);
  return outcome;
}

// The ends that leave nothing to plan: a model that failed for good, a round that was not dispatched, a repair that did
// not help.
std::optional<Outcome> nothing_to_plan(const StepInput& input) {
  if (input.given.is_object() && input.given.contains("error")) {
    Outcome outcome =
        failed(input, "The step " + text_of(input.given, "node") + " failed: " + text_of(input.given, "message"),
               {"step_failed", "failed"});
    outcome.patch["step_failed"] = true;
    return outcome;
  }
  if (channel(input, "planned_round") == round_of(input))
    return failed(input, "max_rounds: the rounds are used up, and there was more to do.", {"max_rounds", "failed"});
  if (repairs_of(input) > repairs_max)
    return failed(input, "no_progress: " + text_of(channel(input, "repair"), "says"), {"no_progress", "failed"});
  return std::nullopt;
}

asio::awaitable<StepResult> plan_round(StepInput input, Ports& ports) {
  if (std::optional<Outcome> outcome = nothing_to_plan(input)) co_return *std::move(outcome);
  const ToolTable& tools = ports.tools().table();
  Json outputs = channel(input, "completed_outputs", Json::object());
  Json failures = channel(input, "failed_sub_goals", Json::array());
  LatestFirst values(input);
  for (Json& failure : failures) values.add(text_of(failure, "id"), failure["message"]);
  for (const auto& [id, slots] : outputs.items())
    for (Json& value : slots) values.add(id, value);
  values.show();
  const Json data = {{"main_goal", channel(input, "main_goal", Json::object())},
                     {"worker_registry", worker_registry(tools)},
                     {"completed_outputs", std::move(outputs)},
                     {"failed_sub_goals", std::move(failures)},
                     {"round", round_of(input)}};
  const std::string fault =
      input.fault.empty() ? text_of(channel(input, "repair", Json::object()), "says") : input.fault;
  ModelRequest request = request_of(input, Role::round_plan, data, fault);
  const ReadReply read = [&](const ModelReply& reply) { return planned(input, tools, reply); };
  co_return co_await ask_model_counted(std::move(request), ports, read);
}

// --- joining a round (F13) -------------------------------------------------------------------------------------------
Json failed_row(const GoalView& goal) {
  return {{"id", goal.id},
          {"worker", goal.tool},
          {"error", goal.error},
          {"message", goal.message},
          {"attempts", goal.attempts}};
}

// The results since the last join, in plan order whatever the order of completion.
StepResult join_reduce(const StepInput& input) {
  const auto merged = channel(input, "merged", Json::array({0, 0})).get<std::pair<std::size_t, std::size_t>>();
  Json completed = Json::object();
  Json failures = Json::array();
  for (std::size_t i = merged.first; i < input.plan.size(); ++i) {
    const GoalView& goal = input.plan[i];
    if (goal.status == GoalStatus::succeeded)
      completed[goal.id] = goal.outputs;
    else
      failures.push_back(failed_row(goal));
  }
  std::vector<std::string> reasons;
  for (std::size_t i = merged.second; i < input.rejected.size(); ++i) {
    const RejectedView& goal = input.rejected[i];
    failures.push_back(failed_row({goal.id, goal.tool, {}, GoalStatus::failed, {}, "rejected", goal.reason, 0}));
    reasons.push_back(goal.reason);
  }
  Outcome outcome{"handed_back", Json::object(), {}};
  outcome.patch = {{"completed_outputs", std::move(completed)},
                   {"failed_sub_goals", std::move(failures)},
                   {"round", round_of(input) + 1},
                   {"merged", Json::array({input.plan.size(), input.rejected.size()})},
                   {"repair", nullptr}};
  if (merged.first == input.plan.size()) {
    const std::string says = "Expected a sub-goal that can be dispatched, but none was admitted. " + joined(reasons);
    outcome.patch["repair"] = {{"rule", "no_progress"}, {"says", says}, {"tried", repairs_of(input) + 1}};
    outcome.facts.emplace_back(rewritten("no_progress", "continue", "repair"));
  }
  return outcome;
}

// --- writing the answer (F14) ----------------------------------------------------------------------------------------
bool is_clarification(const Json& results) {
  return std::any_of(results.begin(), results.end(), [](const Json& result) {
    return result["value"].is_object() && result["value"].contains("asks");
  });
}

// The results to answer with: those that the planner named, or, when it failed, the deliverables that succeeded.
Json results_of(const StepInput& input) {
  if (channel(input, "status") == "done") return resolved_inputs_of(input, channel(input, "synthesis_inputs"));
  const std::vector<std::string> wanted = channel(input, "deliverables", Json::array()).get<std::vector<std::string>>();
  Json results = Json::object();
  for (const GoalView& goal : input.plan) {
    const bool is_wanted = std::find(wanted.begin(), wanted.end(), goal.id) != wanted.end();
    if (!is_wanted || goal.status != GoalStatus::succeeded) continue;
    for (const auto& [slot, value] : goal.outputs.items())
      if (slot != "tone") results[slot] = {{"value", value}, {"tone", goal.outputs.value("tone", Json("sure"))}};
  }
  return results;
}

std::string outcome_of(const StepInput& input, const Json& results, const Json& missing) {
  if (channel(input, "status") != "done") return "failed";
  if (is_clarification(results)) return "clarification";
  return missing.empty() ? "answered" : "partial";
}

std::string without_end(std::string sentence) {
  while (!sentence.empty() && (sentence.back() == '.' || sentence.back() == ' ')) sentence.pop_back();
  return sentence;
}

// Names in the answer every missing part that the model did not name.
std::string with_missing(std::string answer, const Json& missing) {
  for (const Json& part : missing) {
    const std::string worker = text_of(part, "worker");
    if (answer.find(worker) != std::string::npos) continue;
    answer += "\n\nMissing: what " + worker + " was to give (" + without_end(text_of(part, "error")) + ").";
  }
  return answer;
}

StepResult synthesized(const StepInput& input, const std::string& how, const Json& missing, const ModelReply& reply) {
  std::string answer = text_of(reply.value, "answer");
  if (answer.find_first_not_of(" \t\r\n") == std::string::npos)
    return bad_reply("Expected an answer, but it is empty.");
  if (how == "clarification" && answer.find('?') == std::string::npos)
    return bad_reply("Expected a question that clarifies, but got a statement: " + answer);
  const bool asks_back = how == "clarification" && text_of(input.with, "clarify") == "ask";
  Outcome outcome{asks_back ? "clarify" : how == "failed" ? "failed" : "answered", Json::object(), {}};
  if (asks_back) outcome.patch["facts"] = {{"ambiguous", nullptr}};
  outcome.patch["answer"] = with_missing(std::move(answer), missing);
  outcome.patch["outcome"] = how;
  outcome.patch["missing"] = missing;
  return outcome;
}

// The model is not asked to apologise for the model.
Outcome apology(const StepInput& input, const Json& results, const Json& missing) {
  std::string answer = "I am sorry: I could not finish. " + text_of(input.data, "reason");
  for (const Json& result : results)
    if (result["value"].is_string()) answer += "\n\n" + result["value"].get<std::string>();
  Outcome outcome{"failed", Json::object(), {}};
  outcome.patch = {{"answer", with_missing(std::move(answer), missing)}, {"outcome", "failed"}, {"missing", missing}};
  return outcome;
}

asio::awaitable<StepResult> synthesize(StepInput input, Ports& ports) {
  const Json results = results_of(input);
  const Json retries = channel(input, "retries", Json::object());
  const Json missing = channel(input, "status") == "done"
                           ? missing_when_done(input, retries, channel(input, "deliverables", Json::array()))
                           : missing_parts(input, retries);
  if (channel(input, "step_failed") == true) co_return apology(input, results, missing);
  const std::string how = outcome_of(input, results, missing);
  Json shown = results;
  Json shown_missing = missing;
  LatestFirst values(input);
  for (Json& part : shown_missing) values.add(text_of(part, "id"), part["error"]);
  const Json named = channel(input, "synthesis_inputs", Json::object());
  for (const auto& [name, result] : shown.items())
    values.add(text_of(named.value(name, Json()), "from_sub_goal"), result["value"]);
  values.show();
  const Json data = {{"question", channel(input, "question")},
                     {"status", channel(input, "status")},
                     {"reason", channel(input, "reason", "")},
                     {"results", std::move(shown)},
                     {"missing", std::move(shown_missing)}};
  ModelRequest request = request_of(input, Role::synthesis, data, input.fault);
  show_progress(request, ports, "answer");
  const ReadReply read = [&](const ModelReply& reply) { return synthesized(input, how, missing, reply); };
  co_return co_await ask_model_counted(std::move(request), ports, read);
}

}  // namespace

void add_round_planner(HandlerTable& table) {
  table.add("round_planner",
            {{"understand_goal",
              {"ready"},
              {"question", "clarification", "clarifications", "answer", "round"},
              EffectHandler(understand_goal)},
             {"plan_round",
              {"continue", "repair", "done", "failed", "given_up"},
              {"main_goal", "completed_outputs", "failed_sub_goals", "round", "planned_round", "facts", "retries",
               "repair", "deliverables"},
              EffectHandler(plan_round),
              reads_the_plan},
             {"join_reduce", {"handed_back"}, {"round", "merged", "repair"}, PureHandler(join_reduce), reads_the_plan},
             {"synthesize",
              {"answered", "failed", "clarify"},
              {"question", "status", "reason", "step_failed", "synthesis_inputs", "deliverables", "retries"},
              EffectHandler(synthesize),
              reads_the_plan}});
}

}  // namespace cairn
