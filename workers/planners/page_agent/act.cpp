// The page agent's actions: a step of the plan turned into one, one made without a plan, and what is done when one
// failed: the plan's own contingencies first, the model's correction after them.
#include <algorithm>
#include <optional>
#include <utility>

#include "engine/text.hpp"
#include "workers/handlers/step_fields.hpp"
#include "workers/planners/page_agent/page_agent.hpp"
#include "workers/planners/page_agent/prompts.hpp"
#include "workers/ports/failures.hpp"
#include "workers/tools/page/action.hpp"
#include "workers/tools/page/dom.hpp"

namespace cairn::page_agent {
namespace {

constexpr std::size_t window_default = 10;

Recent recent_of(const StepInput& input) {
  const std::size_t first = channel(input, "hierarchy", Json::object()).value("first_action", std::size_t{0});
  return recent_actions(channel(input, "actions", Json::array()), first, setting(input, "window", window_default));
}

// The current sub-task as a prompt shows it: its objective, and the outputs of earlier ones.
void add_sub_task(const StepInput& input, Json& data) {
  const Json hierarchy = channel(input, "hierarchy");
  if (!hierarchy.is_object()) return;
  const auto current = hierarchy.at("current").get<std::size_t>();
  if (current >= hierarchy.at("sub_tasks").size()) return;
  const Json& task = hierarchy["sub_tasks"][current];
  data["sub_task"] = {
      {"name", text_of(task, "name")}, {"objective", text_of(task, "objective")}, {"inputs", hierarchy.at("outputs")}};
}

Json acting_data(const StepInput& input, const Recent& recent) {
  const Json page = channel(input, "page", Json::object());
  Json data = {{"goal", channel(input, "goal")},
               {"url", text_of(page, "url")},
               {"dom", text_of(page, "dom")},
               {"previous_actions", recent.actions}};
  add_sub_task(input, data);
  return data;
}

const Json& current_step(const StepInput& input, std::int64_t index) {
  static const Json none;
  const auto plan = input.data.find("plan");
  if (plan == input.data.end() || !plan->is_object()) return none;
  const Json& steps = plan->at("steps");
  return index >= 0 && static_cast<std::size_t>(index) < steps.size() ? steps[static_cast<std::size_t>(index)] : none;
}

std::int64_t index_of(const StepInput& input) {
  return channel(input, "turn", Json::object()).value("index", std::int64_t{0});
}

// Only what this run's page can take, and only secrets that the run's input names.
Result<PageAction> aimed(const StepInput& input, const std::string& text) {
  Result<PageAction> action = parse_action(text);
  if (!action) return action;
  const std::vector<std::string> verbs = verbs_for(input);
  const std::string verb(verb_of(action->kind));
  if (std::find(verbs.begin(), verbs.end(), verb) == verbs.end())
    return Error{Code::invalid,
                 "Expected one of the actions " + canonical(Json(verbs)) + ", but it is " + action_text(*action) + "."};
  const Json secrets = channel(input, "secrets", Json::array());
  if (action->kind == PageAction::Kind::set_secret &&
      std::find(secrets.begin(), secrets.end(), Json(action->value)) == secrets.end())
    return Error{Code::invalid,
                 "Expected one of the secrets " + canonical(secrets) + ", but it is " + action_text(*action) + "."};
  return aimed_action(*std::move(action), read_page(text_of(channel(input, "page", Json::object()), "dom")));
}

struct Proposal {
  std::string label;
  PageAction action;
  std::string source;  // plan, generation, contingency, correction
  std::string thought;
  Json step;
  bool counts = true;  // as a step done
};

StepResult proposed(const StepInput& input, Proposal made, const std::string& by) {
  const PageElements page = read_page(text_of(channel(input, "page", Json::object()), "dom"));
  const auto signed_as = [&page](std::int64_t number) {
    const PageElement* element = number == 0 ? nullptr : find_element(page, number);
    return element == nullptr ? std::string() : signature(*element);
  };
  Json pending = {{"action", action_text(made.action)},
                  {"source", made.source},
                  {"thought", made.thought},
                  {"of", made.step},
                  {"step", text_of(made.step, "id")},
                  {"description", text_of(made.step, "description")},
                  {"expected", text_of(made.step, "expected_outcome")},
                  {"element", signed_as(made.action.number)},
                  {"counts", made.counts}};
  Outcome outcome{std::move(made.label), Json::object(), {}};
  outcome.facts.emplace_back(record(RecordKind::decision_proposed, {{"action", text_of(pending, "action")},
                                                                    {"target", text_of(pending, "step")},
                                                                    {"index", index_of(input)},
                                                                    {"reason", made.thought},
                                                                    {"source", by}}));
  if (made.action.to != 0) pending["to"] = signed_as(made.action.to);
  outcome.patch["pending"] = std::move(pending);
  return outcome;
}

// --- contingencies ---------------------------------------------------------------------------------------------------
bool contains(std::string_view text, const std::string& part) {
  const auto same = [](char a, char b) { return lowered(a) == lowered(b); };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

// Whether the element at that place has the text; for a field, which has no inside, whether its surroundings have it.
bool has_text(const PageElements& page, std::size_t place, const std::string& match) {
  if (contains(page[place].label(), match)) return true;
  const bool is_on_top = page[place].parent == 0;
  const std::size_t outer = is_field(page[place]) && !is_on_top ? page[place].parent - 1 : place;
  for (std::size_t other = 0; other < page.size(); ++other) {
    const bool is_near = is_inside(page, other, outer) || (is_field(page[place]) && is_on_top);
    if (is_near && contains(page[other].text, match)) return true;
  }
  return false;
}

// Whether an element for which `is_it` holds has the text to be matched.
template <class Is>
bool any_says(const PageElements& page, const std::string& match, Is is_it) {
  for (std::size_t place = 0; place < page.size(); ++place)
    if (is_it(page[place]) && (match.empty() || has_text(page, place, match))) return true;
  return false;
}

bool is_popup(const PageElement& element) {
  return element.tag == "dialog" || element.attribute("role") == "dialog" ||
         element.attribute("role") == "alertdialog" || element.attribute("aria-modal") == "true";
}

bool shows_error(const PageElement& element) { return element.attribute("role") == "alert" && !element.text.empty(); }

bool is_invalid(const PageElement& element) {
  return is_field(element) && (element.has("invalid") || element.attribute("aria-invalid") == "true");
}

bool matches(const Json& contingency, const StepInput& input, const PageElements& page) {
  const std::string type = text_of(contingency, "type");
  const std::string match = text_of(contingency, "match");
  const Json now = channel(input, "page", Json::object());
  if (type == "POPUP_DETECTED") return any_says(page, match, is_popup);
  if (type == "ERROR_DISPLAYED") return any_says(page, match, shows_error);
  if (type == "FORM_VALIDATION") return any_says(page, match, is_invalid);
  if (type == "ELEMENT_MISSING") {
    return match.empty() ? text_of(now.value("fault", Json::object()), "kind") == "element_missing"
                         : find_labelled(page, match) == nullptr;
  }
  const std::string url = text_of(now, "url");
  return type == "URL_CHANGED" && url != text_of(channel(input, "before", Json::object()), "url") &&
         contains(url, match);
}

// The first in the plan's order that matches and whose action the page allows.
struct Matched {
  Json contingency;
  PageAction action;
};
std::optional<Matched> matched(const StepInput& input) {
  const PageElements page = read_page(text_of(channel(input, "page", Json::object()), "dom"));
  const Json plan = channel(input, "plan", Json::object());
  for (const Json& contingency : plan.value("contingencies", Json::array())) {
    if (!contingency.is_object() || !matches(contingency, input, page)) continue;
    Result<PageAction> action = aimed(input, text_of(contingency, "action"));
    if (action) return Matched{contingency, *std::move(action)};
  }
  return std::nullopt;
}

// A failed sub-task: the rest is planned again once; the second time the run fails.
StepResult sub_task_failed(const StepInput& input) {
  const bool was = channel(input, "sub_task_failures", 0).get<int>() > 0;
  Outcome outcome{was ? "given_up" : "replan", {{"sub_task_failures", 1}}, {}};
  const std::string reason = was ? "A sub-task failed again after the plan was made anew." : "A sub-task failed.";
  outcome.facts.emplace_back(
      record(RecordKind::replan_decided,
             {{"action", was ? "give_up" : "regenerate"}, {"reason", reason}, {"cause", "sub_task_failed"}}));
  if (was) {
    outcome.patch["message"] = reason;
    return outcome;
  }
  outcome.patch["plan"] = nullptr;
  outcome.patch["hierarchy"] = nullptr;
  return outcome;
}

}  // namespace

// --- refinement ------------------------------------------------------------------------------------------------------
// A reply that is no action on this page is not asked for again: action_generation has more to go by.
Waiting refine_step(StepInput input, Ports& ports) {
  const Json& step = current_step(input, index_of(input));
  if (step.is_null()) co_return Outcome{"fallback", Json::object(), {}};
  const Recent recent = recent_of(input);
  Json data = acting_data(input, recent);
  data["step"] = step;
  const auto read = [&](const ModelReply& reply) -> StepResult {
    const bool is_server = text_of(reply.value, "tool_type") == "SERVER";
    const std::string text = text_of(reply.value, "action");
    const Result<PageAction> action =
        is_server ? Error{Code::invalid, "It wants a tool of the server."} : aimed(input, text);
    if (action) {
      return proposed(input, {"refined", *action, "plan", text_of(reply.value, "thought"), step, true},
                      source_of(reply));
    }
    Outcome outcome{"fallback", Json::object(), {}};
    outcome.facts.emplace_back(record(RecordKind::decision_rewritten, {{"rule", "an_action_on_this_page"},
                                                                       {"order", 1},
                                                                       {"from", text},
                                                                       {"to", "action_generation"},
                                                                       {"reason", action.error().message}}));
    return outcome;
  };
  StepResult result = co_await ask_model_counted(
      request_of(input, Role::step_refinement, std::move(data), recent.summary), ports, read);
  if (result || result.error().error != "bad_reply") co_return result;
  co_return Outcome{"fallback", Json::object(), std::move(result.error().facts)};
}

Waiting generate_action(StepInput input, Ports& ports) {
  const Recent recent = recent_of(input);
  Json data = acting_data(input, recent);
  const Json& step = current_step(input, index_of(input));
  if (!step.is_null()) data["step"] = step;
  const auto read = [&](const ModelReply& reply) -> StepResult {
    const Result<PageAction> action = aimed(input, text_of(reply.value, "action"));
    if (!action) return bad_reply(action.error().message);
    return proposed(input, {"generated", *action, "generation", text_of(reply.value, "thought"), step, true},
                    source_of(reply));
  };
  co_return co_await ask_model_counted(request_of(input, Role::action_generation, std::move(data), recent.summary),
                                       ports, read);
}

// --- after a failure -------------------------------------------------------------------------------------------------
// The failed action did not do its step: if it counted, its step is repeated.
StepResult check_contingencies(const StepInput& input) {
  const Json executed = channel(input, "executed", Json::object());
  const std::int64_t repeats =
      channel(input, "repeats", 0).get<std::int64_t>() + (executed.value("counts", false) ? 1 : 0);
  const Json failed_step = executed.value("of", Json::object());
  if (const std::optional<Matched> found = matched(input)) {
    const bool skips = found->contingency.value("skip_correction", false);
    const std::string type = text_of(found->contingency, "type");
    StepResult result = proposed(input,
                                 {skips ? "handled" : "simplified", found->action, "contingency",
                                  "It is what the plan says for " + type + ".", failed_step, false},
                                 "rule");
    Outcome& outcome = *result;
    outcome.facts.insert(outcome.facts.begin(), record(RecordKind::contingency_matched,
                                                       {{"condition", type}, {"action", action_text(found->action)}}));
    outcome.patch["repeats"] = repeats;
    if (!skips) outcome.patch["suggestion"] = action_text(found->action);
    return result;
  }
  const Json verification = channel(input, "verification", Json::object());
  const bool is_failed = verification.contains("sub_task_completed") && verification["sub_task_completed"] == false;
  if (is_failed && channel(input, "hierarchy").is_object()) return sub_task_failed(input);
  return Outcome{"none", {{"repeats", repeats}, {"suggestion", nullptr}}, {}};
}

Waiting correct(StepInput input, Ports& ports) {
  const Recent recent = recent_of(input);
  const Json executed = channel(input, "executed", Json::object());
  Json data = acting_data(input, recent);
  data["failed_action"] = executed.value("action", Json());
  data["fault"] = channel(input, "page", Json::object()).value("fault", Json());
  data["verification"] = channel(input, "verification");
  const Json step = executed.value("of", Json::object());
  data["step"] = step;
  const Json suggestion = channel(input, "suggestion");
  if (!suggestion.is_null()) data["suggestion"] = suggestion;
  const auto read = [&](const ModelReply& reply) -> StepResult {
    const Result<PageAction> action = aimed(input, text_of(reply.value, "action"));
    if (!action) return bad_reply(action.error().message);
    return proposed(input, {"corrected", *action, "correction", text_of(reply.value, "thought"), step, true},
                    source_of(reply));
  };
  co_return co_await ask_model_counted(request_of(input, Role::correction, std::move(data), recent.summary), ports,
                                       read);
}

}  // namespace cairn::page_agent
