// The page agent: plans, acts on a web page one action at a time, and judges each before the next. This file has the
// course of a turn: the first observation, the task, what the next turn begins with, and what ends it.
#include "workers/planners/page_agent/page_agent.hpp"

#include <algorithm>
#include <utility>

#include "workers/handlers/step_fields.hpp"
#include "workers/handlers/tool_call.hpp"
#include "workers/planners/page_agent/prompts.hpp"
#include "workers/planners/planners.hpp"
#include "workers/ports/failures.hpp"
#include "workers/tools/page/action.hpp"
#include "workers/tools/page/dom.hpp"

namespace cairn {
namespace page_agent {
namespace {

bool is_client(const StepInput& input) { return channel(input, "client", false) == true; }

Status check_input(const StepInput& input) {
  const auto refused = [](const std::string& but) {
    return Error{Code::invalid,
                 "Expected the input {\"goal\": TEXT, \"url\": PLACE} or {\"goal\": TEXT, \"client\": true, "
                 "\"url\": PLACE, \"dom\": TEXT}, but " +
                     but};
  };
  const Json goal = channel(input, "goal");
  if (!goal.is_string() || goal.get_ref<const std::string&>().empty()) return refused("it has no goal.");
  if (!channel(input, "client", false).is_boolean()) return refused("client is no truth value.");
  if (text_of(input.data, "url").empty()) return refused("it has no url.");
  if (is_client(input) && !channel(input, "dom").is_string()) return refused("the client's dom is missing.");
  for (const char* names : {"secrets", "client_actions"}) {
    const Json list = channel(input, names, Json::array());
    const auto is_text = [](const Json& one) { return one.is_string(); };
    if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_text))
      return refused(std::string(names) + " is no list of names.");
  }
  if (const Json schema = channel(input, "answer_schema"); !schema.is_null() && !schema.is_object())
    return refused("answer_schema is no schema.");
  const Json plan = channel(input, "plan");
  return plan.is_null() ? Status(Done{}) : check_given_plan(plan);
}

Outcome observed(Json page) {
  return {"observed", {{"page", page}, {"before", page}, {"start", std::move(page)}, {"dom", nullptr}}, {}};
}

// A picture after each act is evidence, never part of a prompt: it has a channel of its own.
void ask_for_picture(const StepInput& input, ToolCall& call) {
  const Json settings = channel(input, "settings", Json::object());
  if (settings.is_object() && settings.value("screenshots", Json()) == true) call.inputs["screenshot"] = true;
}

Json picture_of(Json& page, const std::string& action) {
  if (!page.contains("screenshot")) return nullptr;
  Json picture = {{"action", action}, {"jpeg", std::move(page["screenshot"])}};
  page.erase("screenshot");
  return picture;
}

// --- the first observation -------------------------------------------------------------------------------------------
Waiting observe(StepInput input, Ports& ports) {
  if (Status fits = check_input(input); !fits) co_return failure_of(fits.error());
  const std::string url = text_of(input.data, "url");
  if (is_client(input)) co_return observed({{"url", url}, {"dom", channel(input, "dom")}});
  ToolCall call;
  call.tool = "page.observe";
  call.inputs = {{"url", url}, {"dialogs", "ask"}};
  ask_for_picture(input, call);
  co_return co_await call_tool(input, ports, std::move(call), [](Json page) -> StepResult {
    const Json picture = picture_of(page, "open");
    Outcome outcome = observed(std::move(page));
    if (!picture.is_null()) outcome.patch["screenshot"] = picture;
    return outcome;
  });
}

// --- the task --------------------------------------------------------------------------------------------------------
// The run's tags name the person whose task it is; a turn that names another one is refused by the question's schema.
StepResult create_task(const StepInput& input) {
  Json task = {{"id", to_string(input.run)}, {"goal", channel(input, "goal")}};
  Json required = {"dom", "url"};
  for (const char* name : {"tenant", "user", "session"}) {
    const auto tag = input.tags.find(name);
    if (tag == input.tags.end()) continue;
    task[name] = tag->second;
    required.push_back(name);
  }
  Outcome outcome{"created", {{"task", task}, {"required", std::move(required)}}, {}};
  const Json brought = channel(input, "plan");
  const Json plan = brought.is_object() ? numbered_plan(brought, 1, 0) : Json();
  outcome.patch["turn"] = {{"number", 1}, {"index", current_index(plan, Json::array(), 0)}};
  if (!plan.is_object()) return outcome;
  PlanCreated created{1, text_of(input.data, "goal"), {}};
  for (const Json& step : plan["steps"])
    created.children.push_back({text_of(step, "id"), text_of(step, "description"), {}, step});
  outcome.patch["plan"] = plan;
  outcome.patch["plan_version"] = 1;
  outcome.facts.emplace_back(std::move(created));
  return outcome;
}

// --- a turn's beginning ----------------------------------------------------------------------------------------------
// The action that was under way has been executed; how many have been since the plan was made is the next step's index.
StepResult load_context(const StepInput& input) {
  const Json page = channel(input, "page", Json::object());
  const Json pending = channel(input, "pending", Json::object());
  const bool is_performed = page.value("performed", true);
  Json executed = pending;
  executed["counts"] = is_performed && pending.value("counts", true);
  Json actions = channel(input, "actions", Json::array());
  Outcome outcome{"loaded", Json::object(), {}};
  if (is_performed) {
    Json done = {{"action", pending.value("action", Json())},
                 {"description", pending.value("description", Json())},
                 {"source", pending.value("source", Json())},
                 {"counts", pending.value("counts", true)},
                 {"version", channel(input, "plan_version", 0)}};
    actions.push_back(done);
    outcome.patch["actions"] = Json::array({std::move(done)});
  }
  const std::int64_t number = channel(input, "turn", Json::object()).value("number", std::int64_t{1}) + 1;
  const std::int64_t repeats = channel(input, "repeats", 0).get<std::int64_t>();
  outcome.patch["turn"] = {{"number", number}, {"index", current_index(channel(input, "plan"), actions, repeats)}};
  outcome.patch["executed"] = std::move(executed);
  outcome.patch["verification"] = nullptr;
  return outcome;
}

// --- a turn's end ----------------------------------------------------------------------------------------------------
StepResult predict_outcome(const StepInput& input) {
  Json pending = channel(input, "pending", Json::object());
  if (text_of(pending, "expected").empty()) pending["expected"] = "The page shows that the action was taken.";
  return Outcome{"predicted", {{"pending", std::move(pending)}}, {}};
}

StepResult finalize(const StepInput& input) {
  if (!text_of(input.data, "outcome").empty()) return Outcome{"over", Json::object(), {}};
  const Json pending = channel(input, "pending", Json::object());
  const Result<PageAction> action = parse_action(text_of(pending, "action"));
  const bool reads = action && action->kind == PageAction::Kind::extract;  // which is no act of the client's either
  Outcome outcome{is_client(input) && !reads ? "ask" : "act", {{"before", channel(input, "page")}}, {}};
  outcome.patch["prompt"] = {{"action", text_of(pending, "action")},
                             {"step", text_of(pending, "description")},
                             {"expected", text_of(pending, "expected")}};
  outcome.facts.emplace_back(record(RecordKind::decision_enforced, {{"action", text_of(pending, "action")},
                                                                    {"target", text_of(pending, "step")},
                                                                    {"trail", {text_of(pending, "source")}}}));
  return outcome;
}

// The step's key goes along: the browser performs an action at most once for it.
Waiting act(StepInput input, Ports& ports) {
  const Json pending = channel(input, "pending", Json::object());
  const Result<PageAction> action = parse_action(text_of(pending, "action"));
  if (!action) co_return invalid_input(action.error().message);
  if (action->kind == PageAction::Kind::extract) co_return co_await extract(std::move(input), ports, action->value);
  const std::string text = text_of(pending, "action");
  ToolCall call;
  call.tool = "page.act";
  call.inputs = {{"url", text_of(channel(input, "page", Json::object()), "url")},
                 {"action", text},
                 {"element", text_of(pending, "element")},
                 {"dialogs", "ask"}};
  if (pending.contains("to")) call.inputs["to"] = text_of(pending, "to");
  ask_for_picture(input, call);
  co_return co_await call_tool(input, ports, std::move(call), [&text](Json page) -> StepResult {
    const Json picture = picture_of(page, text);
    Outcome outcome{"acted", {{"page", std::move(page)}}, {}};
    if (!picture.is_null()) outcome.patch["screenshot"] = picture;
    return outcome;
  });
}

// A step before failed for good; its sentence is the run's.
StepResult give_up(const StepInput& input) {
  Outcome outcome{"given_up", {{"outcome", "failed"}}, {}};
  const std::string says = text_of(input.given, "message");
  if (!says.empty()) outcome.patch["message"] = "Step " + text_of(input.given, "node") + " failed: " + says;
  return outcome;
}

StepResult run_out(const StepInput&) {
  return Outcome{"run_out",
                 {{"outcome", "stopped"},
                  {"message", "The run's budget of turns or corrections is used up, or no client answered."}},
                 {}};
}

// The browser of a run is not needed any longer; one that cannot be closed ends with its worker.
Waiting close_page(StepInput input, Ports& ports) {
  const std::string how = text_of(input.data, "outcome");
  const std::string label = how == "achieved" || how == "failed" ? how : "stopped";
  if (is_client(input)) co_return Outcome{label, Json::object(), {}};
  ToolCall call;
  call.tool = "page.close";
  StepResult result = co_await call_tool(input, ports, std::move(call), [&label](const Json&) -> StepResult {
    return Outcome{label, Json::object(), {}};
  });
  if (!result) co_return Outcome{label, Json::object(), std::move(result.error().facts)};
  co_return result;
}

}  // namespace

}  // namespace page_agent

void add_page_agent(HandlerTable& table) {
  using namespace page_agent;
  const std::vector<std::string> seen = {"goal",      "page",         "plan",   "turn",           "actions",
                                         "hierarchy", "verification", "client", "client_actions", "secrets"};
  const auto with = [&seen](std::vector<std::string> more) {
    more.insert(more.end(), seen.begin(), seen.end());
    return more;
  };
  const std::vector<std::string> planning = with({"rag_chunks", "has_org_knowledge", "web_search_result", "grounded",
                                                  "task", "plan_version", "context_analysis", "search"});
  table.add("page_agent",
            {{"observe",
              {"observed"},
              {"goal", "url", "client", "dom", "plan", "secrets", "client_actions", "answer_schema", "settings"},
              EffectHandler(observe)},
             {"context_analysis", {"search", "enough"}, planning, EffectHandler(analyse_context)},
             {"web_search", {"searched", "grounded"}, planning, EffectHandler(search)},
             {"create_task", {"created"}, {"goal", "plan"}, PureHandler(create_task)},
             {"planning", {"planned", "reused", "large"}, planning, EffectHandler(make_plan)},
             {"decompose_plan", {"decomposed"}, planning, EffectHandler(page_agent::decompose_plan)},
             {"step_refinement", {"refined", "fallback"}, seen, EffectHandler(refine_step)},
             {"action_generation", {"generated"}, seen, EffectHandler(generate_action)},
             {"outcome_prediction", {"predicted"}, {"pending"}, PureHandler(predict_outcome)},
             {"finalize", {"act", "ask", "over"}, {"client", "page", "pending", "outcome"}, PureHandler(finalize)},
             {"act", {"acted"}, with({"pending", "settings", "answer_schema"}), EffectHandler(act)},
             {"load_context",
              {"loaded"},
              {"page", "pending", "actions", "plan", "plan_version", "turn", "repeats"},
              PureHandler(load_context)},
             {"verification",
              {"passed", "failed", "achieved", "looping"},
              with({"before", "start", "executed", "successes_without_completion", "seen_pages", "extracted"}),
              EffectHandler(verify)},
             {"detect_change", {"quiet", "triggered"}, {"page", "before", "plan"}, PureHandler(detect_change)},
             {"replanning", {"decided"}, with({"change", "plan_version"}), EffectHandler(replan)},
             {"replan_by_rule", {"decided"}, with({"change", "plan_version"}), PureHandler(replan_by_rule)},
             {"check_contingencies",
              {"handled", "simplified", "none", "replan", "given_up"},
              with({"before", "executed", "repeats", "sub_task_failures"}),
              PureHandler(check_contingencies)},
             {"correction", {"corrected"}, with({"executed", "suggestion"}), EffectHandler(correct)},
             {"give_up", {"given_up"}, {}, PureHandler(give_up)},
             {"run_out", {"run_out"}, {}, PureHandler(run_out)},
             {"close_page", {"achieved", "stopped", "failed"}, {"client", "outcome"}, EffectHandler(close_page)}});
}

}  // namespace cairn
