// The page agent's plan: what is found out before it, how it is made, and the sub-tasks of a large one.
#include <algorithm>
#include <set>
#include <utility>

#include "workers/handlers/step_fields.hpp"
#include "workers/handlers/tool_call.hpp"
#include "workers/planners/page_agent/page_agent.hpp"
#include "workers/planners/page_agent/prompts.hpp"

namespace cairn::page_agent {
namespace {

constexpr std::size_t steps_flat_max = 5;
constexpr double confidence_min = 0.7;  // of the model's own knowledge, else a search tool is asked

std::vector<PlanChild> children_of(const Json& plan) {
  std::vector<PlanChild> children;
  for (const Json& step : plan.at("steps")) {
    PlanChild child{text_of(step, "id"), text_of(step, "description"), {}, step};
    if (!children.empty()) child.after = {children.back().id};
    children.push_back(std::move(child));
  }
  return children;
}

bool is_large(const Json& plan) {
  std::set<std::string> phases;
  for (const Json& step : plan.at("steps")) phases.insert(text_of(step, "phase"));
  return plan.at("steps").size() > steps_flat_max || phases.size() > 1;
}

Json context_of(const StepInput& input) { return channel(input, "task", Json::object()); }

Json planning_data(const StepInput& input) {
  const Json page = channel(input, "page", Json::object());
  return {{"goal", channel(input, "goal")},
          {"url", text_of(page, "url")},
          {"dom", text_of(page, "dom")},
          {"rag_chunks", channel(input, "rag_chunks", Json::array())},
          {"has_org_knowledge", channel(input, "has_org_knowledge", false)},
          {"web_search_result", channel(input, "web_search_result")},
          {"context", context_of(input)},
          {"actions_so_far", channel(input, "actions", Json::array()).size()}};
}

StepResult read_plan(const StepInput& input, const ModelReply& reply) {
  const std::int64_t version = channel(input, "plan_version", 0).get<std::int64_t>() + 1;
  const Json plan = numbered_plan(reply.value, version, counted(channel(input, "actions", Json::array())));
  Json turn = channel(input, "turn", Json::object());
  turn["index"] = 0;
  Outcome outcome{is_large(plan) ? "large" : "planned", Json::object(), {}};
  outcome.patch = {{"plan", plan}, {"plan_version", version}, {"turn", std::move(turn)}, {"repeats", 0}};
  outcome.facts.emplace_back(PlanCreated{version, text_of(input.data, "goal"), children_of(plan)});
  return outcome;
}

StepResult read_sub_tasks(const StepInput& input, const ModelReply& reply) {
  const std::string version = std::to_string(channel(input, "plan_version", 1).get<std::int64_t>());
  Json tasks = Json::array();
  TaskDecomposed decomposed;
  decomposed.mode = "sequential";
  decomposed.depth = 1;
  for (const Json& proposed : reply.value.at("sub_tasks")) {
    Json task = proposed;
    task["id"] = version + ".t" + std::to_string(tasks.size() + 1);
    PlanChild child{text_of(task, "id"), text_of(task, "name"), {}, task};
    if (!decomposed.children.empty()) child.after = {decomposed.children.back().id};
    decomposed.children.push_back(std::move(child));
    tasks.push_back(std::move(task));
  }
  Outcome outcome{"decomposed", Json::object(), {}};
  outcome.patch["hierarchy"] = {{"goal", text_of(input.data, "goal")},
                                {"sub_tasks", std::move(tasks)},
                                {"current", 0},
                                {"outputs", Json::object()},
                                {"first_action", channel(input, "actions", Json::array()).size()}};
  outcome.facts.emplace_back(std::move(decomposed));
  return outcome;
}

}  // namespace

Status check_given_plan(const Json& plan) {
  const Json steps = plan.is_object() ? plan.value("steps", Json()) : Json();
  const auto is_step = [](const Json& step) { return step.is_object() && !text_of(step, "description").empty(); };
  const bool fits = steps.is_array() && !steps.empty() && std::all_of(steps.begin(), steps.end(), is_step);
  const Json index = fits ? plan.value("current_step_index", Json(0)) : Json();
  if (fits && index.is_number_integer() && index >= 0 && plan.value("contingencies", Json::array()).is_array())
    return Done{};
  return Error{Code::invalid,
               "Expected the plan of the input to be {\"steps\": [{\"description\": TEXT}], "
               "\"current_step_index\"?: 0, \"contingencies\"?: []}, but it is " +
                   excerpt(plan, 200) + "."};
}

Json numbered_plan(Json plan, std::int64_t version, std::int64_t base) {
  std::size_t place = 0;
  for (Json& step : plan["steps"]) {
    ++place;
    if (text_of(step, "id").empty()) step["id"] = std::to_string(version) + "." + std::to_string(place);
  }
  plan["version"] = version;
  plan["made_as"] = version;
  plan["base"] = base;
  plan["steps_made"] = place;
  if (!plan.contains("current_step_index")) plan["current_step_index"] = 0;
  if (!plan.contains("contingencies")) plan["contingencies"] = Json::array();
  return plan;
}

std::int64_t counted(const Json& actions) {
  return std::count_if(actions.begin(), actions.end(), [](const Json& action) { return action.value("counts", true); });
}

std::int64_t current_index(const Json& plan, const Json& actions, std::int64_t repeats) {
  if (!plan.is_object()) return 0;
  return plan.value("current_step_index", std::int64_t{0}) + counted(actions) - plan.value("base", std::int64_t{0}) -
         repeats;
}

// --- before the plan -------------------------------------------------------------------------------------------------
Waiting analyse_context(StepInput input, Ports& ports) {
  ModelRequest request = request_of(input, Role::context_analysis, planning_data(input));
  return ask_model_counted(std::move(request), ports, [](const ModelReply& reply) -> StepResult {
    const bool searches = reply.value.at("needs_search").get<bool>();
    Outcome outcome{searches ? "search" : "enough", {{"context_analysis", reply.value}}, {}};
    outcome.facts.emplace_back(record(RecordKind::decision_proposed, {{"action", searches ? "search_web" : "plan"},
                                                                      {"target", text_of(reply.value, "query")},
                                                                      {"reason", text_of(reply.value, "reason")},
                                                                      {"source", source_of(reply)}}));
    return outcome;
  });
}

// The input's search tool is asked when what the organisation and the model know does not suffice; otherwise the model
// grounds the plan itself: its prompt asks for that, and the options of its endpoint may let it search.
Waiting search(StepInput input, Ports& ports) {
  const Json analysis = channel(input, "context_analysis", Json::object());
  const Json configured = channel(input, "search", Json::object());
  const std::string tool = text_of(configured, "tool");
  const bool is_known =
      analysis.value("rag_sufficient", false) && analysis.value("grounding_confidence", 0.0) >= confidence_min;
  if (tool.empty() || is_known) {
    Outcome outcome{"grounded", {{"grounded", true}}, {}};
    outcome.facts.emplace_back(record(RecordKind::decision_enforced, {{"action", "ground_plan"}, {"target", "model"}}));
    co_return outcome;
  }
  ToolCall call;
  call.tool = tool;
  call.inputs = configured.value("inputs", Json::object());
  call.inputs["query"] = text_of(analysis, "query");
  if (configured.contains("domains")) call.inputs["domains"] = configured["domains"];
  co_return co_await call_tool(input, ports, std::move(call), [](Json found) -> StepResult {
    return Outcome{"searched", {{"web_search_result", std::move(found)}}, {}};
  });
}

// --- the plan --------------------------------------------------------------------------------------------------------
// Only where there is none: a plan is made once and kept until replanning drops it.
Waiting make_plan(StepInput input, Ports& ports) {
  if (channel(input, "plan").is_object()) co_return Outcome{"reused", Json::object(), {}};
  Json data = planning_data(input);
  data["grounded"] = channel(input, "grounded", false);
  ModelRequest request = request_of(input, Role::planning, std::move(data));
  co_return co_await ask_model_counted(std::move(request), ports,
                                       [&input](const ModelReply& reply) { return read_plan(input, reply); });
}

Waiting decompose_plan(StepInput input, Ports& ports) {
  Json steps = Json::array();
  for (const Json& step : channel(input, "plan", Json::object()).value("steps", Json::array())) {
    steps.push_back({{"description", text_of(step, "description")}, {"phase", text_of(step, "phase")}});
  }
  ModelRequest request =
      request_of(input, Role::decompose_plan, {{"goal", channel(input, "goal")}, {"steps", std::move(steps)}});
  co_return co_await ask_model_counted(std::move(request), ports,
                                       [&input](const ModelReply& reply) { return read_sub_tasks(input, reply); });
}

}  // namespace cairn::page_agent
