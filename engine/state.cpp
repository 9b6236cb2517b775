#include "engine/state.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "engine/json_scan.hpp"

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

// The channel's value after `patch`. A patch that does not fit its reducer replaces it, so that folding is total.
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

Error unfit(std::string_view channel, std::string_view expected, const Json& found) {
  return {Code::invalid, "Expected channel " + std::string(channel) + " to be given " + std::string(expected) +
                             ", but the patch has " + excerpt(found, 60) + "."};
}

Status check_channel(Reducer reducer, const std::string& channel, const Json& before, const Json& patch) {
  switch (reducer) {
    case Reducer::last:
      return Done{};
    case Reducer::append:
      if (!patch.is_array()) return unfit(channel, "an array to append", patch);
      return Done{};
    case Reducer::merge:
      if (!patch.is_object()) return unfit(channel, "an object to merge", patch);
      return Done{};
    case Reducer::max:
      if (!patch.is_number()) return unfit(channel, "a number", patch);
      return Done{};
    case Reducer::sum:
      if (!patch.is_number()) return unfit(channel, "a number to add", patch);
      if (before.is_number_integer() && patch.is_number_integer() && !sum_of(before, patch).is_number_integer())
        return unfit(channel, "a number whose sum fits 64 bits", patch);
      if (before.is_number() && !std::isfinite(sum_of(before, patch).get<double>()))
        return unfit(channel, "a number whose sum is finite", patch);
      return Done{};
  }
  return Done{};
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

// The slot that the reference names.
Result<const Json*> slot_of(const RunState& state, BranchId branch, const Json& value) {
  const std::string& id = value["from_sub_goal"].get_ref<const std::string&>();
  const std::string& slot = value["slot"].get_ref<const std::string&>();
  const SubGoal* goal = find_goal(state, branch, id);
  if (goal != nullptr && goal->outputs.is_object() && goal->outputs.contains(slot)) return &goal->outputs[slot];
  return Error{Code::not_found, "Expected sub-goal " + id + " to have left a slot " + slot + ", but it left " +
                                    (goal == nullptr ? "nothing" : excerpt(goal->outputs, 80)) + "."};
}

Status check_slots(const RunState& state, BranchId branch, const Json& value) {
  if (is_reference(value)) {
    const Result<const Json*> slot = slot_of(state, branch, value);
    return slot ? Status(Done{}) : Status(slot.error());
  }
  if (!value.is_structured()) return Done{};
  for (const Json& part : value)
    if (Status found = check_slots(state, branch, part); !found) return found;
  return Done{};
}

Result<Json> resolved(const RunState& state, BranchId branch, const Json& value, CompositionBound& bound, int level) {
  if (is_reference(value)) {
    const Result<const Json*> slot = slot_of(state, branch, value);
    if (!slot) return slot.error();
    if (Status fits = bound.add(**slot, level); !fits) return fits.error();
    return **slot;
  }
  if (!value.is_structured()) return value;
  Json copy = value;
  for (Json& part : copy) {
    Result<Json> inner = resolved(state, branch, part, bound, level + 1);
    if (!inner) return inner.error();
    part = *std::move(inner);
  }
  return copy;
}

// The cost of a copy of a value, by its texts.
std::size_t weight_of(const Json& value) {
  constexpr std::size_t of_small = 8;
  if (value.is_string()) return of_small + value.get_ref<const std::string&>().size();
  std::size_t weight = of_small;
  if (value.is_structured())
    for (const Json& part : value) weight += weight_of(part);
  return weight;
}

// --- patches that need not be read ----------------------------------------------------------------------------------

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

Status check_patch(const Json& data, const Json& patch, const Graph& graph) {
  if (!patch.is_object())
    return Error{Code::invalid, "Expected a patch to be an object of channels, but found " + excerpt(patch, 60) + "."};
  for (const auto& [channel, value] : patch.items()) {
    static const Json none;
    const auto before = data.find(channel);
    const Status fits = check_channel(graph.reducer(channel), channel, before == data.end() ? none : *before, value);
    if (!fits) return fits;
  }
  return Done{};
}

void Data::add(JsonText patch, const Graph& graph) {
  constexpr std::size_t unread_max = 64;
  constexpr std::size_t unread_bytes_max = 64 << 10;
  if (patch == "{}") return;
  pending_bytes_ += patch.size();
  pending_.push_back(std::move(patch));
  if (pending_.size() >= unread_max || pending_bytes_ >= unread_bytes_max) composed(graph);
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
  pending_bytes_ = 0;
  return composed_;
}

// --- reading ------------------------------------------------------------------------------------------------------

std::optional<Json> find_channel(const RunState& state, BranchId branch, std::string_view channel) {
  std::optional<Json> value;
  for (const Branch* part : lineage(state, branch)) {
    const Json& patch = part->data.composed(*state.graph);
    if (const auto found = patch.find(channel); found != patch.end())
      value = reduced(state.graph->reducer(channel), value ? *std::move(value) : Json(), *found);
  }
  return value;
}

Json read_channel(const RunState& state, BranchId branch, std::string_view channel) {
  return find_channel(state, branch, channel).value_or(Json());
}

const CauseOfFailure* find_cause(const RunState& state, BranchId branch) {
  for (; branch != 0; branch = branch_of(state, branch).parent)
    if (const auto& cause = branch_of(state, branch).cause) return &*cause;
  return nullptr;
}

Result<Json> resolved(const RunState& state, BranchId branch, const Json& setting) {
  state.referred_bytes += weight_of(setting);
  const auto read = [&](std::string_view channel) -> std::optional<Json> {
    std::optional<Json> value = find_channel(state, branch, channel);
    if (value) state.referred_bytes += weight_of(*value);
    const CauseOfFailure* cause =
        value || channel != "error" || state.language < 2 ? nullptr : find_cause(state, branch);
    if (cause == nullptr) return value;
    return cause_json(*cause);
  };
  Result<Json> found = resolve_references(setting, read, state.language);
  const bool is_too_large = !found && found.error().code == Code::limit;
  state.referred_bytes += found ? weight_of(*found) : is_too_large ? composed_bytes_max : 0;
  return found;
}

Json read_channels(const RunState& state, BranchId branch) {
  Json all = Json::object();
  for (const Branch* part : lineage(state, branch)) apply_patch(all, part->data.composed(*state.graph), *state.graph);
  return all;
}

Status check_sums(const RunState& state, BranchId branch, const Data& part) {
  Json before = Json::object();
  Json sums = Json::object();
  for (const auto& [channel, reducer] : state.graph->channels) {
    if (reducer != Reducer::sum) continue;
    const Json& patch = part.composed(*state.graph);
    const auto found = patch.find(channel);
    if (found == patch.end() || !found->is_number()) continue;
    before[channel] = read_channel(state, branch, channel);
    sums[channel] = *found;
  }
  return check_patch(before, sums, *state.graph);
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

namespace {

// Equal values have equal hashes, as those of the JSON library have not: 5 read from a text differs there from 5
// counted.
std::size_t hash_of(const Json& value) {
  if (value.is_number()) return std::hash<double>{}(value.get<double>());
  if (!value.is_structured()) return std::hash<Json>{}(value);
  std::size_t hash = value.size();
  for (auto part = value.begin(); part != value.end(); ++part) {
    hash = hash * 31 + hash_of(*part);
    if (value.is_object()) hash = hash * 31 + std::hash<std::string>{}(part.key());
  }
  return hash;
}

std::size_t digest_of(const std::string& tool, const Json& inputs) {
  return std::hash<std::string>{}(tool) ^ (hash_of(inputs) * 31);
}

// In plan order: ancestors' first.
EarlierSuccesses earlier_successes(const RunState& state, BranchId branch, StepId map, const auto& inputs_of) {
  EarlierSuccesses earlier;
  for (const Branch* part : lineage(state, branch)) {
    for (std::int32_t at = 0; at < std::ssize(part->plan.goals); ++at) {
      const SubGoal& goal = part->plan.goals[static_cast<std::size_t>(at)];
      if (goal.status != GoalStatus::succeeded || goal.map >= map) continue;
      if (const Result<Json> inputs = inputs_of(goal))
        earlier.by_digest[digest_of(goal.tool, *inputs)].push_back({part->id, at});
    }
  }
  return earlier;
}

}  // namespace

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
  CompositionBound bound;
  return resolved(state, branch_of(state, step.branch).parent, goal_of(state, step).inputs, bound, 0);
}

Status check_slots(const RunState& state, const Step& step) {
  return check_slots(state, branch_of(state, step.branch).parent, goal_of(state, step).inputs);
}

const SubGoal* find_same_success(const RunState& state, const Step& step) {
  const BranchId branch = branch_of(state, step.branch).parent;
  const SubGoal& wanted = goal_of(state, step);
  const auto inputs_of = [&](const SubGoal& goal) {
    CompositionBound bound;
    return resolved(state, branch, goal.inputs, bound, 0);
  };
  const Step* map = find_step(state, wanted.map);
  const Result<Json> inputs = inputs_of(wanted);
  if (map == nullptr || !inputs) return nullptr;
  std::shared_ptr<const EarlierSuccesses>& earlier = map->map.earlier;  // no more are added while the map is open
  if (earlier == nullptr)
    earlier = std::make_shared<const EarlierSuccesses>(earlier_successes(state, branch, wanted.map, inputs_of));
  const auto found = earlier->by_digest.find(digest_of(wanted.tool, *inputs));
  if (found == earlier->by_digest.end()) return nullptr;
  for (const EarlierSuccesses::Place& place : found->second) {
    const SubGoal& goal = branch_of(state, place.branch).plan.goals[static_cast<std::size_t>(place.goal)];
    if (goal.tool != wanted.tool) continue;
    if (const Result<Json> same = inputs_of(goal); same && *same == *inputs) return &goal;
  }
  return nullptr;
}

const Step* find_step(const RunState& state, StepId step) {
  const auto found = state.steps.find(step);
  return found == state.steps.end() ? nullptr : &found->second;
}

namespace {

// The step's node if its verb is what the step does, whether for itself or for an item.
const Node* executed_at(const RunState& state, const Step& step) {
  const Node& node = state.node(step);
  const bool is_executed = step.goal < 0 && (step.item >= 0 || node.verb() != Verb::map);
  return is_executed ? &node : nullptr;
}

}  // namespace

const DoNode* work_of(const RunState& state, const Step& step) {
  const Node* node = executed_at(state, step);
  return node == nullptr ? nullptr : node->work();
}

bool may_open_again(const RunState& state, const Step& step) {
  if (step.exhausted) {
    const auto found = state.budgets.find(state.node(step).spends);
    return found != state.budgets.end() && found->second.used < found->second.cap;
  }
  const bool is_empty = step.map.items.is_null() && step.map.open_goals == 0 && step.map.open_items == 0;
  return step.unfit && step.goal < 0 && step.item < 0 && is_empty && !state.node(step).join;
}

bool may_not_be_lost(const RunState& state, const Step& step) { return state.node(step).retry.lost == 0; }

const CallNode* call_of(const RunState& state, const Step& step) {
  const Node* node = executed_at(state, step);
  return node == nullptr ? nullptr : node->call();
}

std::optional<TimeUs> due_of_run(const RunState& state) {
  if (is_ended(state.status) || state.graph == nullptr || state.graph->ms_max == 0 || state.is_overdue)
    return std::nullopt;
  return state.counted_from + state.graph->ms_max * 1'000;
}

bool is_waiting(const RunState& state) {
  if (state.status != RunStatus::running) return false;
  return std::none_of(state.steps.begin(), state.steps.end(), [&](const auto& entry) {
    const Step& step = entry.second;
    return step.goal >= 0 || work_of(state, step) != nullptr;
  });
}

}  // namespace cairn
