// The page agent's judgement: the result of the last action, whether the page changed so much that the plan must be
// checked, and the plan after that check.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "storage/chain.hpp"
#include "workers/handlers/step_fields.hpp"
#include "workers/planners/page_agent/page_agent.hpp"
#include "workers/planners/page_agent/prompts.hpp"
#include "workers/tools/page/action.hpp"
#include "workers/tools/page/dom.hpp"

namespace cairn::page_agent {
namespace {

constexpr std::int64_t velocity_limit_default = 5;
constexpr double similarity_min_default = 0.7;
constexpr double sub_task_confidence_min = 0.7;
constexpr std::size_t lines_max = 60;
constexpr std::size_t seen_pages_max = 200;

Json page_of(const StepInput& input, const char* name) { return channel(input, name, Json::object()); }

bool is_reopened(const Json& page) { return page.value("reopened", false); }

Record recorded(const std::string& target, bool ok, const std::string& says) {
  return record(RecordKind::verification_recorded, {{"target", target}, {"ok", ok}, {"says", says}});
}

std::string hash_of(const Json& page) { return hex(sha256(text_of(page, "url") + "\n" + text_of(page, "dom"))); }

bool is_reading(const std::string& text) {
  const Result<PageAction> action = parse_action(text);
  return action && action->kind == PageAction::Kind::extract;
}

// --- the verification ------------------------------------------------------------------------------------------------
// The consequences of a verdict for the run, gathered step by step.
class Verification {
 public:
  Verification(const StepInput& input, Json said) : input_(input), said_(std::move(said)) {
    succeeded_ = said_.value("action_succeeded", false);
    completed_ = succeeded_ && said_.value("task_completed", false);
    outcome_.patch["verification"] = said_;
  }

  Outcome outcome(const std::string& source) && {
    const Json executed = channel(input_, "executed", Json::object());
    const std::string target = text_of(executed, "step").empty() ? "action" : text_of(executed, "step");
    const bool counts = executed.value("counts", true);
    outcome_.facts.emplace_back(recorded(counts || !succeeded_ ? target : "action", succeeded_, explanation()));
    close_sub_task();
    count_successes();
    outcome_.label = label(source);
    return std::move(outcome_);
  }

 private:
  std::string explanation() const {
    const std::string reason = text_of(said_, "reason");
    return !reason.empty() ? reason : succeeded_ ? "The action did what was expected." : "The action failed.";
  }

  void close_sub_task() {
    Json hierarchy = channel(input_, "hierarchy");
    if (!hierarchy.is_object()) return;
    Json& tasks = hierarchy["sub_tasks"];
    auto current = hierarchy["current"].get<std::size_t>();
    if (current >= tasks.size()) return;
    const bool is_said = said_.contains("sub_task_completed") && said_["sub_task_completed"].is_boolean();
    const std::string id = text_of(tasks[current], "id");
    if (is_said && said_["sub_task_completed"] == false && !succeeded_) {
      outcome_.facts.emplace_back(recorded(id, false, "The sub-task failed."));
      return;
    }
    const bool advances =
        is_said && said_["sub_task_completed"] == true && said_.value("confidence", 0.0) >= sub_task_confidence_min;
    if (!advances) return;
    sub_task_done_ = true;
    tasks[current]["result"] = said_.value("outputs", Json::object());
    hierarchy["outputs"].update(said_.value("outputs", Json::object()));
    hierarchy["current"] = ++current;
    hierarchy["first_action"] = channel(input_, "actions", Json::array()).size();
    if (current < tasks.size()) tasks[current]["given"] = hierarchy["outputs"];
    completed_ = completed_ || current == tasks.size();
    outcome_.facts.emplace_back(recorded(id, true, "The sub-task is complete."));
    outcome_.patch["hierarchy"] = std::move(hierarchy);
  }

  // A success that leads to a page that was not there yet is progress; so is what was read.
  void count_successes() {
    const bool is_over = !succeeded_ || completed_ || sub_task_done_;
    Json seen = is_over ? Json::array() : channel(input_, "seen_pages", Json::array());
    if (seen.empty()) seen.push_back(hash_of(page_of(input_, "before")));
    const Json now = hash_of(page_of(input_, "page"));
    const bool was_seen = std::find(seen.begin(), seen.end(), now) != seen.end();
    if (!was_seen) seen.push_back(now);
    if (seen.size() > seen_pages_max) seen.erase(seen.begin());
    streak_ = channel(input_, "successes_without_completion", 0).get<std::int64_t>();
    if (is_over || !was_seen) {
      streak_ = 0;
    } else if (!is_reading(text_of(channel(input_, "executed", Json::object()), "action"))) {
      ++streak_;
    }
    outcome_.patch["successes_without_completion"] = streak_;
    outcome_.patch["seen_pages"] = std::move(seen);
  }

  std::string label(const std::string& source) {
    if (completed_) {
      const std::string message = "The goal is achieved: " + explanation();
      outcome_.facts.emplace_back(
          record(RecordKind::decision_enforced,
                 {{"action", "goal_achieved"}, {"target", "goal"}, {"reason", message}, {"source", source}}));
      outcome_.patch["outcome"] = "achieved";
      outcome_.patch["message"] = message;
      const Json extracted = channel(input_, "extracted", Json::array());
      outcome_.patch["answer"] = extracted.empty() ? Json(message) : extracted.back().value("value", Json());
      return "achieved";
    }
    const std::int64_t limit = setting(input_, "velocity_limit", velocity_limit_default);
    if (streak_ >= limit) {
      const std::string message =
          std::to_string(streak_) +
          " actions in a row succeeded, the page is no further, and the goal is still not achieved; the same seems to "
          "happen over and over, so the agent stops to think again.";
      outcome_.facts.emplace_back(
          record(RecordKind::loop_detected, {{"says", message}, {"kind", "velocity"}, {"count", streak_}}));
      outcome_.patch["outcome"] = "looping";
      outcome_.patch["message"] = message;
      return "looping";
    }
    return succeeded_ || is_reopened(page_of(input_, "page")) ? "passed" : "failed";
  }

  const StepInput& input_;
  Json said_;
  Outcome outcome_;
  bool succeeded_ = false;
  bool completed_ = false;
  bool sub_task_done_ = false;
  std::int64_t streak_ = 0;
};

Json verifying_data(const StepInput& input) {
  const Json page = page_of(input, "page");
  // A page that was opened again is compared with how it was at the beginning: what it has more is the run's doing.
  const Json before = page_of(input, is_reopened(page) ? "start" : "before");
  const PageElements now = read_page(text_of(page, "dom"));
  const PageElements then = read_page(text_of(before, "dom"));
  const Json executed = channel(input, "executed", Json::object());
  Json data = {{"goal", channel(input, "goal")},
               {"action", executed.value("action", Json())},
               {"element", executed.value("element", Json())},
               {"expected", executed.value("expected", Json())},
               {"performed", page.value("performed", true)},
               {"reopened", is_reopened(page)},
               {"url", text_of(page, "url")},
               {"previous_url", text_of(before, "url")},
               {"appeared", only_in(now, then, lines_max)},
               {"gone", only_in(then, now, lines_max)},
               {"dom", text_of(page, "dom")}};
  const Json extracted = channel(input, "extracted", Json::array());
  if (!extracted.empty()) data["extracted"] = extracted;
  if (page.contains("fault")) data["fault"] = page["fault"];
  const Json hierarchy = channel(input, "hierarchy");
  if (!hierarchy.is_object()) return data;
  const auto current = hierarchy.at("current").get<std::size_t>();
  if (current < hierarchy.at("sub_tasks").size())
    data["sub_task_objective"] = text_of(hierarchy["sub_tasks"][current], "objective");
  return data;
}

// --- the plan's health -----------------------------------------------------------------------------------------------
struct Change {
  std::string cause;  // "": none
  double similarity = 1;
  std::vector<std::string> lost;
};

Change change_of(const StepInput& input) {
  const Json page = page_of(input, "page");
  const Json before = page_of(input, "before");
  const PageElements now = read_page(text_of(page, "dom"));
  const PageElements then = read_page(text_of(before, "dom"));
  Change change;
  change.similarity = page_similarity(then, now);
  change.lost = lost_structures(then, now);
  if (is_reopened(page)) {
    change.cause = "session_lost";
  } else if (text_of(page, "url") != text_of(before, "url")) {
    change.cause = "url_change";
  } else if (change.similarity < setting(input, "similarity_min", similarity_min_default).get<double>()) {
    change.cause = "similarity";
  } else if (!change.lost.empty()) {
    change.cause = "structure";
  }
  return change;
}

enum class Way : std::uint8_t { go_on, modify, regenerate };

struct Replan {
  Way way = Way::go_on;
  Json plan;  // as modified
  Json changes = Json::array();
  std::map<std::string, std::size_t> inserted = {};  // the new steps: before which one that was shown
};

// The step that was shown at `index`; the end if it was skipped before.
Json::iterator step_shown_at(std::size_t index, const Json& shown, Json& steps) {
  if (index >= shown.size()) return steps.end();
  return std::find_if(steps.begin(), steps.end(),
                      [&](const Json& one) { return one.at("id") == shown[index].value("id", Json()); });
}

// Whether a step stands after what is inserted now before the step that was shown at `index`: that one or a later one,
// or a new one before a later one, whatever was skipped or inserted first.
bool stands_after(const Json& one, std::size_t index, const Replan& replan) {
  const std::string id = text_of(one, "id");
  if (const auto made = replan.inserted.find(id); made != replan.inserted.end()) return made->second > index;
  const Json& shown = replan.plan.at("steps");
  return std::any_of(shown.begin() + static_cast<std::ptrdiff_t>(std::min(index, shown.size())), shown.end(),
                     [&id](const Json& each) { return text_of(each, "id") == id; });
}

// One of the model's changes to the remaining steps; false if it names none of them. `index` is of the plan as it was
// shown, so that several changes do not move one another's steps.
bool apply_change(const Json& change, std::size_t first, Json& steps, Replan& replan) {
  const std::string op = text_of(change, "op");
  const Json& index = change.at("index");
  const Json step = change.value("step", Json());
  const Json& shown = replan.plan.at("steps");
  const bool is_there = index.is_number_integer() && index >= first && index < shown.size() + (op == "insert" ? 1 : 0);
  if (!is_there || (op != "skip" && !step.is_object())) return false;
  const auto place = index.get<std::size_t>();
  const Json old = place < shown.size() ? shown[place] : Json::object();
  const auto at = op == "insert" ? std::find_if(steps.begin(), steps.end(),
                                                [&](const Json& one) { return stands_after(one, place, replan); })
                                 : step_shown_at(place, shown, steps);
  if (at == steps.end() && op != "insert") return false;  // it was skipped before
  if (op == "skip") {
    steps.erase(at);
    replan.changes.push_back({{"op", "remove"}, {"id", old["id"]}});
    return true;
  }
  Json made = step;
  if (op == "replace") {
    made["id"] = old["id"];
    *at = made;
    replan.changes.push_back({{"op", "update"}, {"id", old["id"]}, {"title", text_of(made, "description")}});
    return true;
  }
  const auto number = replan.plan.value("steps_made", steps.size()) + 1;
  replan.plan["steps_made"] = number;
  made["id"] = std::to_string(replan.plan.value("made_as", std::int64_t{1})) + "." + std::to_string(number);
  replan.inserted[text_of(made, "id")] = place;
  Json after = Json::array();
  if (at != steps.begin()) after.push_back((at - 1)->at("id"));
  replan.changes.push_back(
      {{"op", "add"}, {"id", made["id"]}, {"title", text_of(made, "description")}, {"after", after}});
  steps.insert(at, std::move(made));
  return true;
}

// Continue, modify or regenerate: by the flags and the changes alone, never by what `reason` says.
Replan replan_of(const StepInput& input, const Json& said) {
  Replan replan;
  replan.plan = channel(input, "plan", Json::object());
  if (said.at("valid").get<bool>()) return replan;
  const Json changes = said.value("suggested_changes", Json::array());
  const bool is_minor = !said.at("needs_full_replan").get<bool>() && !changes.empty();
  const auto first = static_cast<std::size_t>(
      std::max<std::int64_t>(0, channel(input, "turn", Json::object()).value("index", std::int64_t{0})));
  Json steps = replan.plan.value("steps", Json::array());
  const bool applied = is_minor && std::all_of(changes.begin(), changes.end(), [&](const Json& change) {
                         return apply_change(change, first, steps, replan);
                       });
  replan.way = applied ? Way::modify : Way::regenerate;
  if (applied) replan.plan["steps"] = std::move(steps);
  return replan;
}

const char* word_of(Way way) { return way == Way::go_on ? "continue" : way == Way::modify ? "modify" : "regenerate"; }

Outcome replanned(const StepInput& input, Replan replan, const Json& said) {
  const Json change = channel(input, "change", Json::object());
  const Json result = {{"triggered", true},
                       {"plan_valid", replan.way == Way::go_on},
                       {"reason", text_of(said, "reason")},
                       {"plan_regenerated", replan.way == Way::regenerate},
                       {"suggested_changes", said.value("suggested_changes", Json::array())},
                       {"minor_modifications_only", replan.way == Way::modify}};
  Outcome outcome{"decided", {{"replan", result}}, {}};
  Json fields = change;
  fields.update({{"action", word_of(replan.way)}, {"reason", text_of(said, "reason")}});
  outcome.facts.emplace_back(record(RecordKind::replan_decided, fields));
  if (result["plan_regenerated"] == true) {
    outcome.patch["plan"] = nullptr;
    outcome.patch["hierarchy"] = nullptr;
  } else if (result["minor_modifications_only"] == true) {
    const std::int64_t version = channel(input, "plan_version", 0).get<std::int64_t>() + 1;
    outcome.facts.emplace_back(PlanRevised{version, change.value("cause", ""), std::move(replan.changes)});
    outcome.patch["plan"] = std::move(replan.plan);
    outcome.patch["plan"]["version"] = version;
    outcome.patch["plan_version"] = version;
  }
  return outcome;
}

}  // namespace

// An action that was not performed has failed; no model is asked about that.
Waiting verify(StepInput input, Ports& ports) {
  const Json page = page_of(input, "page");
  if (!page.value("performed", true) && !is_reopened(page)) {
    const std::string says = text_of(page.value("fault", Json::object()), "says");
    const Json said = {{"action_succeeded", false}, {"task_completed", false}, {"confidence", 1}, {"reason", says}};
    co_return Verification(input, said).outcome("rule");
  }
  ModelRequest request = request_of(input, Role::verification, verifying_data(input));
  co_return co_await ask_model_counted(std::move(request), ports, [&input](const ModelReply& reply) -> StepResult {
    return Verification(input, reply.value).outcome(source_of(reply));
  });
}

StepResult detect_change(const StepInput& input) {
  const Change change = change_of(input);
  const bool has_plan = channel(input, "plan").is_object();
  const bool is_triggered = has_plan && !change.cause.empty();
  Outcome outcome{is_triggered ? "triggered" : "quiet", Json::object(), {}};
  outcome.patch["change"] = {{"cause", change.cause}, {"similarity", change.similarity}, {"lost", change.lost}};
  outcome.patch["replan"] = {{"triggered", is_triggered}};
  return outcome;
}

Waiting replan(StepInput input, Ports& ports) {
  const Json page = page_of(input, "page");
  const Json plan = channel(input, "plan", Json::object());
  const std::int64_t index = channel(input, "turn", Json::object()).value("index", std::int64_t{0});
  Json remaining = Json::array();
  const Json steps = plan.value("steps", Json::array());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (static_cast<std::int64_t>(i) < index) continue;
    remaining.push_back({{"index", i},
                         {"description", text_of(steps[i], "description")},
                         {"expected_outcome", text_of(steps[i], "expected_outcome")}});
  }
  ModelRequest request = request_of(input, Role::replanning,
                                    {{"goal", channel(input, "goal")},
                                     {"change", channel(input, "change", Json::object())},
                                     {"remaining_steps", std::move(remaining)},
                                     {"url", text_of(page, "url")},
                                     {"dom", text_of(page, "dom")}});
  co_return co_await ask_model_counted(std::move(request), ports, [&input](const ModelReply& reply) -> StepResult {
    return replanned(input, replan_of(input, reply.value), reply.value);
  });
}

// The model could not be asked.
StepResult replan_by_rule(const StepInput& input) {
  const std::string cause = text_of(channel(input, "change", Json::object()), "cause");
  Replan replan;
  replan.way = cause == "url_change" || cause == "session_lost" ? Way::regenerate : Way::go_on;
  const std::string reason = "The plan could not be checked: " + text_of(input.given, "message");
  return replanned(input, std::move(replan), {{"reason", reason}});
}

}  // namespace cairn::page_agent
