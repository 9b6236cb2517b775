// The seven-node agent: one responsibility a node. The orchestrator lays the context out, five nodes ask the model, and
// the tools run as the sub-goals of a map between the query planner and the reflector.
#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <utility>
#include <vector>

#include "engine/text.hpp"
#include "workers/handlers/model_call.hpp"
#include "workers/handlers/shown_values.hpp"
#include "workers/handlers/step_fields.hpp"
#include "workers/planners/planners.hpp"
#include "workers/planners/seven_node/prompts.hpp"
#include "workers/planners/seven_node/raw_data.hpp"
#include "workers/ports/failures.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;
using Role = SevenNodeRole;

constexpr std::size_t keep_last_default = 5;
constexpr std::size_t result_bytes_max = 32 * 1024;
constexpr std::size_t results_bytes_max = 3 * result_bytes_max;  // in one prompt

// --- asking the model ------------------------------------------------------------------------------------------------
using Read = StepResult (*)(const StepInput&, const ModelReply&);

ModelRequest request_of(const StepInput& input, Role role, Json data) {
  ModelRequest request = request_for(input);
  request.messages = prompt_messages(role, channel(input, "context", Json::object()), std::move(data), input.fault);
  request.schema = reply_schema(role, input.with.value("tools", Json::object()));
  request.schema_name = to_string(role);
  return request;
}

asio::awaitable<StepResult> ask(StepInput input, Ports& ports, ModelRequest request, Read read) {
  const ReadReply read_with_input = [&input, read](const ModelReply& reply) { return read(input, reply); };
  co_return co_await ask_model_counted(std::move(request), ports, read_with_input);
}

Record decision(const ModelReply& reply, const std::string& action, const Json& target, const std::string& reason) {
  return record(RecordKind::decision_proposed,
                {{"action", action}, {"target", target}, {"reason", reason}, {"source", source_of(reply)}});
}

// --- orchestrator ----------------------------------------------------------------------------------------------------
// The turns that earlier runs of the conversation left.
Json earlier_turns(const Json& history) {
  const Json turns = history.is_object() ? history.value("turns", Json::array()) : Json::array();
  return turns.is_array() ? turns : Json::array();
}

Json last_of(const Json& turns, std::size_t count) {
  const std::size_t first = turns.size() > count ? turns.size() - count : 0;
  return Json::array_t(turns.begin() + static_cast<std::ptrdiff_t>(first), turns.end());
}

Json first_of(const Json& turns, std::size_t count_left_out) {
  const std::size_t count = turns.size() > count_left_out ? turns.size() - count_left_out : 0;
  return Json::array_t(turns.begin(), turns.begin() + static_cast<std::ptrdiff_t>(count));
}

// Lays the context out: the last `keep_last` turns stay as they are, older ones go into `summary`, once.
StepResult orchestrate(const StepInput& input) {
  const std::string repository = text_of(input.data, "repository");
  const std::string question = text_of(input.data, "question");
  if (repository.empty() || question.empty()) {
    return invalid_input("Expected the input {\"repository\": PATH, \"question\": TEXT} with both, but got " +
                         excerpt(input.data, 200) + ".");
  }
  const std::size_t keep_last = input.with.value("keep_last", keep_last_default);
  Json history = channel(input, "history", Json::object());
  const Json turns = earlier_turns(history);
  const std::string summary = summarise(text_of(history, "summary"), first_of(turns, keep_last));
  Json context = {{"system", system_context(repository)}, {"summary", summary}, {"turns", last_of(turns, keep_last)}};
  Outcome outcome{"ready", Json::object(), {}};
  outcome.patch = {{"context", std::move(context)}, {"summary", summary}, {"iteration", 0}, {"results", Json::array()}};
  if (turns.size() > keep_last) {
    history["turns"] = last_of(turns, keep_last);
    outcome.patch["history"] = std::move(history);
  }
  return outcome;
}

// --- guardrail -------------------------------------------------------------------------------------------------------
StepResult read_guardrail(const StepInput&, const ModelReply& reply) {
  const bool on_topic = reply.value.at("on_topic").get<bool>();
  const std::string reason = text_of(reply.value, "reason");
  Outcome outcome{on_topic ? "on_topic" : "off_topic", {{"guardrail", reply.value}}, {}};
  outcome.facts.emplace_back(decision(reply, on_topic ? "let_pass" : "block", "question", reason));
  if (!on_topic) outcome.facts.emplace_back(record(RecordKind::guardrail_blocked, {{"reason", reason}}));
  return outcome;
}

asio::awaitable<StepResult> guardrail(StepInput input, Ports& ports) {
  ModelRequest request = request_of(
      input, Role::guardrail, {{"repository", channel(input, "repository")}, {"question", channel(input, "question")}});
  return ask(std::move(input), ports, std::move(request), read_guardrail);
}

// --- intent parser ---------------------------------------------------------------------------------------------------
StepResult read_intent(const StepInput&, const ModelReply& reply) {
  const std::string intent = text_of(reply.value, "intent");
  Outcome outcome{intent == "ambiguous" ? "ambiguous" : "clear", {{"intent", reply.value}}, {}};
  outcome.facts.emplace_back(decision(reply, intent, reply.value.at("entities"), text_of(reply.value, "reason")));
  return outcome;
}

asio::awaitable<StepResult> parse_intent(StepInput input, Ports& ports) {
  ModelRequest request =
      request_of(input, Role::intent_parser,
                 {{"repository", channel(input, "repository")}, {"question", channel(input, "question")}});
  return ask(std::move(input), ports, std::move(request), read_intent);
}

// --- results ---------------------------------------------------------------------------------------------------------
Json result_row(const GoalView& goal) {
  Json row = {{"sub_goal", goal.id}, {"tool", goal.tool}, {"inputs", goal.inputs}};
  row["status"] = goal.status == GoalStatus::succeeded ? "ok" : "error";
  if (goal.status == GoalStatus::succeeded) {
    row["outputs"] = goal.outputs;
  } else {
    row["message"] = goal.message.empty() ? goal.error : goal.message;
  }
  return row;
}

// Every call of the run in plan order, then those that were not admitted.
Json results_of(const StepInput& input) {
  Json results = Json::array();
  for (const GoalView& goal : input.plan) results.push_back(result_row(goal));
  for (const RejectedView& goal : input.rejected) {
    results.push_back({{"sub_goal", goal.id}, {"tool", goal.tool}, {"status", "error"}, {"message", goal.reason}});
  }
  return results;
}

// As a prompt may hold them: what the tools said is cut where it is too much, the latest least.
Json results_for_prompt(Json results) {
  std::vector<Json*> says;
  for (Json& row : results) says.push_back(&row[row.contains("outputs") ? "outputs" : "message"]);
  std::reverse(says.begin(), says.end());
  show_together(says, result_bytes_max, results_bytes_max);
  return results;
}

bool is_ok(const Json& row) { return row.at("status") == "ok"; }

// Calls that failed and were not made good by the same call later.
std::vector<Json> failures_of(const Json& results) {
  std::vector<Json> failures;
  for (const Json& row : results) {
    const auto same = [&row](const Json& other) {
      return is_ok(other) && other.at("tool") == row.at("tool") &&
             other.value("inputs", Json()) == row.value("inputs", Json());
    };
    if (!is_ok(row) && std::none_of(results.begin(), results.end(), same)) failures.push_back(row);
  }
  return failures;
}

// --- query planner ---------------------------------------------------------------------------------------------------
SubGoalOpened sub_goal_of(const Json& call, std::string id, const std::string& repository) {
  SubGoalOpened goal;
  goal.sub_goal = std::move(id);
  goal.tool = text_of(call, "tool");
  goal.title = text_of(call, "why");
  goal.inputs = call.at("inputs");
  goal.inputs["repository"] = repository;
  return goal;
}

StepResult read_plan(const StepInput& input, const ModelReply& reply) {
  const std::int64_t iteration = channel(input, "iteration", 0).get<std::int64_t>() + 1;
  const Json& calls = reply.value.at("calls");
  Outcome outcome{calls.empty() ? "none" : "tools", {{"iteration", iteration}}, {}};
  Json tools = Json::array();
  for (const Json& call : calls) tools.push_back(call.at("tool"));
  outcome.facts.emplace_back(decision(reply, calls.empty() ? "call_no_tool" : "call_tools", tools,
                                      "Iteration " + std::to_string(iteration) + "."));
  for (std::size_t i = 0; i < calls.size(); ++i) {
    outcome.facts.emplace_back(sub_goal_of(calls[i], std::to_string(iteration) + "." + std::to_string(i + 1),
                                           text_of(input.data, "repository")));
  }
  return outcome;
}

asio::awaitable<StepResult> plan_query(StepInput input, Ports& ports) {
  const Json reflection = channel(input, "reflection", Json::object());
  Json data = {{"repository", channel(input, "repository")},
               {"question", channel(input, "question")},
               {"intent", channel(input, "intent")},
               {"tools", input.with.value("tools", Json::object())}};
  if (reflection.contains("gap")) {
    data["gap"] = reflection["gap"];
    data["results"] = results_for_prompt(results_of(input));
  }
  ModelRequest request = request_of(input, Role::query_planner, std::move(data));
  return ask(std::move(input), ports, std::move(request), read_plan);
}

// --- reflector -------------------------------------------------------------------------------------------------------
StepResult read_reflection(const StepInput& input, const ModelReply& reply) {
  const std::string verdict = text_of(reply.value, "verdict");
  const std::string gap = text_of(reply.value, "gap");
  Outcome outcome{verdict == "error" ? "given_up" : verdict, {{"reflection", reply.value}}, {}};
  outcome.patch["results"] = results_of(input);
  outcome.facts.emplace_back(decision(reply, verdict, "results", gap));
  outcome.facts.emplace_back(
      record(RecordKind::verification_recorded, {{"target", "results"}, {"ok", verdict == "complete"}, {"says", gap}}));
  return outcome;
}

asio::awaitable<StepResult> reflect(StepInput input, Ports& ports) {
  ModelRequest request = request_of(input, Role::reflector,
                                    {{"question", channel(input, "question")},
                                     {"intent", channel(input, "intent")},
                                     {"iteration", channel(input, "iteration")},
                                     {"results", results_for_prompt(results_of(input))}});
  return ask(std::move(input), ports, std::move(request), read_reflection);
}

// --- response generator ----------------------------------------------------------------------------------------------
// The node whose model call failed for good and so led here; "" if none did.
std::string failed_node(const StepInput& input) {
  return input.given.is_object() && input.given.contains("error") ? text_of(input.given, "node") : std::string();
}

std::string outcome_of(const StepInput& input, const Json& results) {
  const bool has_result = std::any_of(results.begin(), results.end(), is_ok);
  const std::string verdict = text_of(channel(input, "reflection", Json::object()), "verdict");
  const bool is_short = verdict == "need_more" || verdict == "error" || !failures_of(results).empty();
  if (!failed_node(input).empty()) return has_result ? "partial" : "failed";
  if (text_of(channel(input, "intent", Json::object()), "intent") == "ambiguous") return "clarification";
  if (!is_short) return "answered";
  return has_result ? "partial" : "failed";
}

bool mentions(std::string_view text, std::string_view word) { return lowered(text).find(word) != std::string::npos; }

std::string without_end(std::string sentence) {
  while (!sentence.empty() && (sentence.back() == '.' || sentence.back() == ' ')) sentence.pop_back();
  return sentence;
}

// An apology that names each failed tool, unless the answer has it already.
std::string with_apology(std::string answer, const Json& results) {
  const bool has_apology = mentions(answer, "sorry") || mentions(answer, "apolog");
  for (const Json& row : failures_of(results)) {
    const std::string tool = row.at("tool").get<std::string>();
    if (has_apology && answer.find(tool) != std::string::npos) continue;
    const std::string place = text_of(row.value("inputs", Json::object()), "path");
    answer += "\n\nI am sorry: the tool " + tool + " failed" + (place.empty() ? "" : " for " + place) + ": " +
              without_end(text_of(row, "message")) + ".";
  }
  return answer;
}

Outcome answered(const StepInput& input, std::string answer, const std::string& how, Json results) {
  Json turn = {{"question", channel(input, "question")}, {"answer", answer}};
  Outcome outcome{"answered", Json::object(), {}};
  outcome.patch["answer"] = std::move(answer);
  outcome.patch["outcome"] = how;
  outcome.patch["results"] = std::move(results);
  outcome.patch["turns"] = Json::array({std::move(turn)});
  return outcome;
}

StepResult read_response(const StepInput& input, const ModelReply& reply) {
  std::string answer = text_of(reply.value, "answer");
  Json results = results_of(input);
  const std::string how = outcome_of(input, results);
  if (answer.find_first_not_of(" \t\r\n") == std::string::npos)
    return bad_reply("Expected an answer, but it is empty.");
  if (is_raw(answer)) return bad_reply("Expected an answer that explains the data, but got the data: " + answer);
  if (how == "clarification" && answer.find('?') == std::string::npos) {
    return bad_reply("Expected a question that clarifies, but got a statement: " + answer);
  }
  answer = with_apology(std::move(answer), results);
  return answered(input, std::move(answer), how, std::move(results));
}

// The model is not asked to apologise for the model.
Outcome apology(const StepInput& input) {
  Json results = results_of(input);
  const std::string how = outcome_of(input, results);
  std::string answer = "I am sorry: I could not finish, because the language model failed in the step " +
                       failed_node(input) + ": " + without_end(text_of(input.given, "message")) + ".";
  if (how == "partial") answer += " What the tools found until then is in the results.";
  answer = with_apology(std::move(answer), results);
  return answered(input, std::move(answer), how, std::move(results));
}

asio::awaitable<StepResult> respond(StepInput input, Ports& ports) {
  if (!failed_node(input).empty()) co_return apology(input);
  const Json results = results_of(input);
  Json data = {{"question", channel(input, "question")},
               {"outcome", outcome_of(input, results)},
               {"intent", channel(input, "intent")},
               {"results", results_for_prompt(results)}};
  const Json reflection = channel(input, "reflection", Json::object());
  if (reflection.contains("gap")) data["gap"] = reflection["gap"];
  ModelRequest request = request_of(input, Role::response_generator, std::move(data));
  show_progress(request, ports, "answer");
  co_return co_await ask(std::move(input), ports, std::move(request), read_response);
}

}  // namespace

void add_seven_node(HandlerTable& table) {
  table.add(
      "seven_node",
      {{"orchestrator", {"ready"}, {"repository", "question", "history"}, PureHandler(orchestrate)},
       {"guardrail", {"on_topic", "off_topic"}, {"repository", "question", "context"}, EffectHandler(guardrail)},
       {"intent_parser", {"clear", "ambiguous"}, {"repository", "question", "context"}, EffectHandler(parse_intent)},
       {"query_planner",
        {"tools", "none"},
        {"repository", "question", "context", "intent", "iteration", "reflection"},
        EffectHandler(plan_query),
        reads_the_plan},
       {"reflector",
        {"complete", "need_more", "given_up"},
        {"question", "context", "intent", "iteration"},
        EffectHandler(reflect),
        reads_the_plan},
       {"response_generator",
        {"answered"},
        {"question", "context", "intent", "reflection"},
        EffectHandler(respond),
        reads_the_plan}});
}

}  // namespace cairn
