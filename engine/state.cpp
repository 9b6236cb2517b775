#include "engine/state.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "engine/codec.hpp"
#include "engine/plain_json.hpp"

namespace cairn {
namespace {

bool fits_64_bits(const Json& number) {
  return number.is_number_unsigned() ? number.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max()
                                     : number.is_number_integer();
}

Json sum_of(const Json& left, const Json& right) {
  if (fits_64_bits(left) && fits_64_bits(right)) {
    std::int64_t sum = 0;
    if (!__builtin_add_overflow(left.get<std::int64_t>(), right.get<std::int64_t>(), &sum)) return sum;
  }
  return left.get<double>() + right.get<double>();
}

// What the channel holds after `patch`; what does not fit replaces, so that folding is total.
Json reduced(Reducer reducer, Json before, const Json& patch) {
  switch (reducer) {
    case Reducer::last:
      break;
    case Reducer::append:
      if (!before.is_array() || !patch.is_array()) break;
      before.insert(before.end(), patch.begin(), patch.end());
      return before;
    case Reducer::merge:
      if (!before.is_object() || !patch.is_object()) break;
      before.update(patch);
      return before;
    case Reducer::sum:
      if (before.is_number() && patch.is_number()) return sum_of(before, patch);
      break;
    case Reducer::max:
      if (before.is_number() && patch.is_number()) return before < patch ? patch : before;
      break;
  }
  return patch;
}

std::string unfit_sentence(std::string_view channel, std::string_view expected, const Json& found) {
  return "Expected channel " + std::string(channel) + " to be given " + std::string(expected) + ", but the patch has " +
         excerpt(found, 60) + ".";
}

std::optional<std::string> channel_fault(Reducer reducer, const std::string& channel, const Json& before,
                                         const Json& patch) {
  switch (reducer) {
    case Reducer::last:
      return std::nullopt;
    case Reducer::append:
      if (!patch.is_array()) return unfit_sentence(channel, "an array to append", patch);
      return std::nullopt;
    case Reducer::merge:
      if (!patch.is_object()) return unfit_sentence(channel, "an object to merge", patch);
      return std::nullopt;
    case Reducer::max:
      if (!patch.is_number()) return unfit_sentence(channel, "a number", patch);
      return std::nullopt;
    case Reducer::sum:
      if (!patch.is_number()) return unfit_sentence(channel, "a number to add", patch);
      if (before.is_number_integer() && patch.is_number_integer() && !sum_of(before, patch).is_number_integer())
        return unfit_sentence(channel, "a number whose sum fits 64 bits", patch);
      return std::nullopt;
  }
  return std::nullopt;
}

const Branch& branch_of(const RunState& state, BranchId id) {
  const auto found = state.branches.find(id);
  CHECK(found != state.branches.end());
  return found->second;
}

// From the root down to the branch.
std::vector<const Branch*> lineage(const RunState& state, BranchId id) {
  std::vector<const Branch*> path;
  for (; id != 0; id = path.back()->parent) path.push_back(&branch_of(state, id));
  std::reverse(path.begin(), path.end());
  return path;
}

bool is_reference(const Json& value) {
  return value.is_object() && value.size() == 2 && value.contains("from_sub_goal") && value.contains("slot") &&
         value["from_sub_goal"].is_string() && value["slot"].is_string();
}

Result<Json> resolved(const RunState& state, BranchId branch, const Json& value) {
  if (is_reference(value)) {
    const std::string& id = value["from_sub_goal"].get_ref<const std::string&>();
    const std::string& slot = value["slot"].get_ref<const std::string&>();
    const SubGoal* goal = find_goal(state, branch, id);
    if (goal != nullptr && goal->outputs.is_object() && goal->outputs.contains(slot)) return goal->outputs[slot];
    return Error{Code::not_found, "Expected sub-goal " + id + " to have left a slot " + slot + ", but it left " +
                                      (goal == nullptr ? "nothing" : excerpt(goal->outputs, 80)) + "."};
  }
  if (!value.is_structured()) return value;
  Json copy = value;
  for (Json& part : copy) {
    Result<Json> inner = resolved(state, branch, part);
    if (!inner) return inner.error();
    part = *std::move(inner);
  }
  return copy;
}

// --- patches that nobody needs to read ------------------------------------------------------------------------------

// Behind the value that begins at `at`; the end of the text if there is none.
std::size_t behind_value(std::string_view text, std::size_t at) {
  int open = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      at = behind_string(text, at + 1) - 1;
    } else if (c == '{' || c == '[') {
      ++open;
    } else if (c == '}' || c == ']') {
      if (--open < 0) return at;
    } else if (c == ',' && open == 0) {
      return at;
    }
  }
  return text.size();
}

// The keys of an object as we write it, unread; nothing if it is written otherwise.
std::optional<std::vector<std::string_view>> keys_of(std::string_view text) {
  std::vector<std::string_view> keys;
  for (std::size_t at = 0; at + 1 < text.size() && text[at + 1] == '"';) {
    const std::size_t begin = at + 2;
    const std::size_t end = text.find_first_of("\"\\", begin);
    if (end == std::string_view::npos || text.substr(end, 2) != "\":") return std::nullopt;
    keys.push_back(text.substr(begin, end - begin));
    at = behind_value(text, end + 2);
    if (at + 1 == text.size() && text[at] == '}') return keys;
    if (at < text.size() && text[at] != ',') return std::nullopt;
  }
  return std::nullopt;
}

// A patch whose every channel keeps the last value and is set again by a later patch.
void leave_out_superseded(std::vector<JsonText>& patches, const Graph& graph) {
  if (patches.size() < 2) return;
  std::set<std::string_view> later;
  std::vector<bool> is_needed(patches.size(), true);
  for (std::size_t at = patches.size(); at-- > 0;) {
    const auto keys = keys_of(patches[at]);
    if (!keys) continue;
    is_needed[at] = std::any_of(keys->begin(), keys->end(), [&](std::string_view key) {
      return !later.contains(key) || graph.reducer(key) != Reducer::last;
    });
    later.insert(keys->begin(), keys->end());
  }
  std::vector<JsonText> needed;
  for (std::size_t at = 0; at < patches.size(); ++at)
    if (is_needed[at]) needed.push_back(std::move(patches[at]));
  patches = std::move(needed);
}

}  // namespace

// --- data ---------------------------------------------------------------------------------------------------------

void apply_patch(Json& data, const Json& patch, const Graph& graph) {
  for (const auto& [channel, value] : patch.items()) {
    Json& now = data[channel];
    now = reduced(graph.reducer(channel), std::move(now), value);
  }
}

std::optional<std::string> patch_fault(const Json& data, const Json& patch, const Graph& graph) {
  if (!patch.is_object()) return "Expected a patch to be an object of channels, but found " + excerpt(patch, 60) + ".";
  for (const auto& [channel, value] : patch.items()) {
    const Json before = data.value(channel, Json());
    if (auto fault = channel_fault(graph.reducer(channel), channel, before, value)) return fault;
  }
  return std::nullopt;
}

void Data::add(JsonText patch) {
  if (patch != "{}") pending_.push_back(std::move(patch));
}

void Data::add(const Json& patch, const Graph& graph) {
  composed(graph);
  apply_patch(composed_, patch, graph);
}

void Data::set(const Json& channels, const Graph& graph) {
  composed(graph);
  composed_.update(channels);
}

void Data::absorb(Data&& later, const Graph& graph) {
  later.composed(graph);
  add(later.composed_, graph);
}

const Json& Data::composed(const Graph& graph) const {
  leave_out_superseded(pending_, graph);
  for (const JsonText& patch : pending_) apply_patch(composed_, parse_stored_object(patch), graph);
  pending_.clear();
  return composed_;
}

// --- reading ------------------------------------------------------------------------------------------------------

Json read_channel(const RunState& state, BranchId branch, std::string_view channel) {
  Json value;
  for (const Branch* part : lineage(state, branch)) {
    const Json& patch = part->data.composed(*state.graph);
    if (const auto found = patch.find(channel); found != patch.end())
      value = reduced(state.graph->reducer(channel), std::move(value), *found);
  }
  return value;
}

Json read_channels(const RunState& state, BranchId branch) {
  Json all = Json::object();
  for (const Branch* part : lineage(state, branch)) apply_patch(all, part->data.composed(*state.graph), *state.graph);
  return all;
}

const SubGoal* find_goal(const RunState& state, BranchId branch, std::string_view id) {
  while (branch != 0) {
    const Branch& part = branch_of(state, branch);
    if (const auto found = part.plan.by_id.find(id); found != part.plan.by_id.end())
      return &part.plan.goals[static_cast<std::size_t>(found->second)];
    branch = part.parent;
  }
  return nullptr;
}

std::vector<const SubGoal*> plan_of(const RunState& state, BranchId branch) {
  std::vector<const SubGoal*> goals;
  for (const Branch* part : lineage(state, branch))
    for (const SubGoal& goal : part->plan.goals) goals.push_back(&goal);
  return goals;
}

std::vector<const RejectedGoal*> rejected_of(const RunState& state, BranchId branch) {
  std::vector<const RejectedGoal*> goals;
  for (const Branch* part : lineage(state, branch))
    for (const RejectedGoal& goal : part->plan.rejected) goals.push_back(&goal);
  return goals;
}

const CachedOutcome* find_cached(const RunState& state, BranchId branch, std::string_view key) {
  while (branch != 0) {
    const Branch& part = branch_of(state, branch);
    if (const auto found = part.cache.find(key); found != part.cache.end()) return &found->second;
    branch = part.parent;
  }
  return nullptr;
}

const SubGoal& goal_of(const RunState& state, const Step& step) {
  CHECK(step.goal >= 0);
  const Branch& map_branch = branch_of(state, branch_of(state, step.branch).parent);
  return map_branch.plan.goals[static_cast<std::size_t>(step.goal)];
}

Result<Json> resolved_inputs(const RunState& state, const Step& step) {
  return resolved(state, branch_of(state, step.branch).parent, goal_of(state, step).inputs);
}

const SubGoal* find_same_success(const RunState& state, const Step& step) {
  const BranchId branch = branch_of(state, step.branch).parent;
  const SubGoal& wanted = goal_of(state, step);
  const Result<Json> inputs = resolved(state, branch, wanted.inputs);
  if (!inputs) return nullptr;
  for (const SubGoal* goal : plan_of(state, branch)) {
    const bool may = goal->status == GoalStatus::succeeded && goal->tool == wanted.tool && goal->map < wanted.map;
    if (!may) continue;
    if (const Result<Json> same = resolved(state, branch, goal->inputs); same && *same == *inputs) return goal;
  }
  return nullptr;
}

const Step* find_step(const RunState& state, StepId step) {
  const auto found = state.steps.find(step);
  return found == state.steps.end() ? nullptr : &found->second;
}

bool is_waiting(const RunState& state) {
  if (state.status != RunStatus::running) return false;
  return std::none_of(state.steps.begin(), state.steps.end(), [&](const auto& entry) {
    const Step& step = entry.second;
    return step.goal >= 0 || state.graph->nodes[static_cast<std::size_t>(step.node)].verb == Verb::do_;
  });
}

// --- show ---------------------------------------------------------------------------------------------------------

namespace {

// What an open step waits for, as far as the state alone tells: the words of `cairn explain`, and "worker".
std::string_view waits_for(const RunState& state, const Step& step) {
  const Node& node = state.graph->nodes[static_cast<std::size_t>(step.node)];
  if (step.goal < 0) {
    if (node.verb == Verb::ask) return "question";
    if (node.verb == Verb::wait) return node.spec.contains("signal") ? "signal" : "timer";
    if (node.verb == Verb::map) return "map";
    if (node.verb == Verb::call) return "child";
  }
  return step.run_at > state.last_at ? "retry" : "worker";
}

Json step_json(const RunState& state, const Step& step) {
  Json shown = {{"step", step.id},
                {"branch", step.branch},
                {"node", state.graph->nodes[static_cast<std::size_t>(step.node)].name},
                {"attempt", step.attempt},
                {"waits_for", waits_for(state, step)},
                {"opened_at", time_text(step.opened_at)}};
  if (step.goal >= 0) shown["sub_goal"] = goal_of(state, step).id;
  if (step.run_at > step.opened_at) shown["run_at"] = time_text(step.run_at);
  if (step.due) shown["due"] = time_text(*step.due);
  if (!step.error.empty()) shown["error"] = Json{{"error", step.error}, {"message", step.message}};
  if (!step.question.empty()) shown["question"] = step.question;
  if (!step.child.is_nil()) shown["child"] = to_string(step.child);
  if (step.open_goals > 0) shown["open_sub_goals"] = step.open_goals;
  return shown;
}

Json goal_json(const SubGoal& goal) {
  Json shown = {{"id", goal.id}, {"status", to_string(goal.status)}};
  if (!goal.tool.empty()) {
    shown["tool"] = goal.tool;
    shown["inputs"] = goal.inputs;
  }
  if (!goal.title.empty()) shown["title"] = goal.title;
  if (!goal.parent.empty()) shown["parent"] = goal.parent;
  if (!goal.after.empty()) shown["after"] = goal.after;
  if (!goal.outputs.is_null()) shown["outputs"] = goal.outputs;
  if (!goal.error.empty()) shown["error"] = Json{{"error", goal.error}, {"message", goal.message}};
  if (goal.step != 0) shown["step"] = goal.step;
  return shown;
}

Json question_json(const Question& question) {
  Json shown = {{"id", question.id}, {"step", question.step}, {"kind", question.kind}, {"prompt", question.prompt}};
  if (!question.schema.is_null()) shown["schema"] = question.schema;
  if (question.fallback) shown["default"] = *question.fallback;
  if (question.expires_at) shown["expires_at"] = time_text(*question.expires_at);
  return shown;
}

Json plan_json(const RunState& state) {
  Json plan = Json::array();
  for (const auto& [id, branch] : state.branches) {
    for (const SubGoal& goal : branch.plan.goals) plan.push_back(goal_json(goal));
    for (const RejectedGoal& goal : branch.plan.rejected)
      plan.push_back(Json{{"id", goal.id}, {"tool", goal.tool}, {"status", "rejected"}, {"reason", goal.reason}});
  }
  return plan;
}

}  // namespace

Json state_json(const RunState& state) {
  Json shown = {{"run", to_string(state.id)},        {"graph", state.graph->name}, {"version", state.graph->version},
                {"status", to_string(state.status)}, {"seq", state.seq},           {"steps", Json::array()},
                {"plan", plan_json(state)},          {"budgets", Json::object()},  {"questions", Json::array()}};
  if (is_waiting(state)) shown["status"] = "waiting";
  if (state.forked_from)
    shown["forked_from"] = Json{{"run", to_string(state.forked_from->run)}, {"seq", state.forked_from->seq}};
  shown["channels"] = read_channels(state, root_branch);
  for (const auto& [id, step] : state.steps) shown["steps"].push_back(step_json(state, step));
  for (const auto& [name, use] : state.budgets) shown["budgets"][name] = Json{{"cap", use.cap}, {"used", use.used}};
  for (const auto& [id, question] : state.questions) shown["questions"].push_back(question_json(question));
  if (is_ended(state.status)) {
    shown["reason"] = state.reason;
    shown["output"] = state.output;
  }
  return shown;
}

}  // namespace cairn
