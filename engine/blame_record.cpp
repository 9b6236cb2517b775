#include "engine/blame_record.hpp"

#include <algorithm>
#include <utility>

#include "engine/bounds.hpp"
#include "engine/graph_uses.hpp"
#include "engine/json_scan.hpp"
#include "engine/references.hpp"

namespace cairn {

BlameRecord::BlameRecord(const RunId& run, const Graphs& graphs, ReadsOf reads, std::size_t dependences_most)
    : names{""}, graphs_(graphs), reads_(std::move(reads)), dependences_most_(dependences_most) {
  state.id = run;
}

// --- points, versions, names -----------------------------------------------------------------------------------------

BlameNameId BlameRecord::named(std::string_view name) {
  if (name.empty()) return 0;
  const std::string shown = recordable(std::string(name), Blame::name_shown_max);
  const auto [known, is_new] = known_names_.try_emplace(shown, static_cast<BlameNameId>(names.size()));
  if (is_new) names.push_back(shown);
  return known->second;
}

BlamePointId BlameRecord::new_point(std::int64_t seq, StepId step, BlameKind kind, bool is_shown) {
  const auto id = static_cast<BlamePointId>(points.size());
  BlamePoint& point = points.emplace_back();
  point.seq = seq;
  point.step = step;
  point.kind = kind;
  point.is_shown = is_shown;
  if (const Step* at = find_step(state, step); at != nullptr) point.node = named(state.node(*at).name);
  if (seq != 0) by_seq_[seq] = id;
  return id;
}

void BlameRecord::count_one() { is_too_large = ++dependences_ > dependences_most_; }

void BlameRecord::depend(BlamePointId point, BlameDependence on) {
  if (on.point < 0 && on.version < 0) return;
  count_one();
  if (!is_too_large) points[static_cast<std::size_t>(point)].on.push_back(on);
}

void BlameRecord::depend_on_all(BlamePointId point, const Dependences& all) {
  for (const BlameDependence& one : all) depend(point, one);
}

BlameVersionId BlameRecord::version_of(BlamePointId point, BlameVersionId before) {
  count_one();
  versions.push_back({point, before, -1});
  return static_cast<BlameVersionId>(versions.size()) - 1;
}

BlameVersionId BlameRecord::joined(BlameVersionId one, BlameVersionId other) {
  if (one < 0 || other < 0) return std::max(one, other);
  count_one();
  versions.push_back({-1, one, other});
  return static_cast<BlameVersionId>(versions.size()) - 1;
}

// --- data and plan ---------------------------------------------------------------------------------------------------

void BlameRecord::write(BranchId branch, std::string_view channel, BlamePointId point) {
  named(channel);
  BlameVersionId& now = branches_[branch].channels.try_emplace(std::string(channel), -1).first->second;
  now = version_of(point, state.graph->reducer(channel) == Reducer::last ? -1 : now);
}

void BlameRecord::write_patch(BranchId branch, const JsonText& patch, BlamePointId point) {
  if (const auto keys = keys_of(patch)) {
    for (const std::string_view key : *keys) write(branch, key, point);
    return;
  }
  const Json object = parse_stored_object(patch);
  for (const auto& [key, value] : object.items()) write(branch, key, point);
}

void BlameRecord::write_plan(BranchId branch, BlamePointId point) {
  BlameVersionId& plan = branches_[branch].plan;
  plan = version_of(point, plan);
}

// As find_channel reads it: an ancestor's patches count up to the nearest that replaces them.
void BlameRecord::read_channel(Dependences& into, BranchId branch, std::string_view channel, bool is_certain) const {
  for (; branch != 0; branch = branches_.at(branch).parent) {
    const BranchTrace& part = branches_.at(branch);
    const auto written = part.channels.find(channel);
    if (written == part.channels.end()) continue;
    const auto name = known_names_.find(channel);
    into.push_back({.version = written->second,
                    .way = BlameWay::channel,
                    .is_certain = is_certain,
                    .name = name == known_names_.end() ? 0 : name->second});
    if (state.graph->reducer(channel) == Reducer::last) return;
  }
}

void BlameRecord::read_all(Dependences& into, BranchId branch, bool is_certain) const {
  std::set<std::string_view> seen;
  for (BranchId part = branch; part != 0; part = branches_.at(part).parent)
    for (const auto& [channel, version] : branches_.at(part).channels)
      if (seen.insert(channel).second) read_channel(into, branch, channel, is_certain);
}

void BlameRecord::read_plan(Dependences& into, BranchId branch, bool is_certain) const {
  for (; branch != 0; branch = branches_.at(branch).parent)
    into.push_back({.version = branches_.at(branch).plan, .way = BlameWay::plan, .is_certain = is_certain});
}

void BlameRecord::read_setting(Dependences& into, BranchId branch, const Json& setting) {
  std::set<std::string, std::less<>> seen;
  each_reference(setting, [&](std::string_view reference, bool) {
    const std::string_view channel = reference.substr(0, reference.find('/'));
    if (!seen.emplace(channel).second) return;
    const std::size_t before = into.size();
    read_channel(into, branch, channel, true);
    if (channel == "error" && into.size() == before && state.language > 1) into.push_back(on_cause(branch));
  });
}

// The failure that "$error" reads.
BlameDependence BlameRecord::on_cause(BranchId branch) const {
  const CauseOfFailure* cause = find_cause(state, branch);
  if (cause == nullptr) return {};
  return {.point = closed_point(cause->step), .way = BlameWay::failure};
}

// The writers of a branch come after those of its parent; of a channel that keeps the last value they take their place.
void BlameRecord::merge(BranchTrace& parent, BranchId part) {
  const auto found = branches_.find(part);
  if (found == branches_.end()) return;
  for (const auto& [channel, version] : found->second.channels) {
    BlameVersionId& now = parent.channels.try_emplace(channel, -1).first->second;
    now = state.graph->reducer(channel) == Reducer::last ? version : joined(now, version);
  }
  parent.plan = joined(parent.plan, found->second.plan);
  branches_.erase(found);
}

// As Fold::gather: before a cleanup all branches become one, and an open map gives what it has so far.
void BlameRecord::gather(BranchId into) {
  const auto branch = state.branches.find(into);
  if (branch == state.branches.end()) return;
  if (const Step* open = find_step(state, branch->second.step); open != nullptr && !open->map.items.is_null())
    write_results(*open, trace_of(*open));
  for (const BranchId part : std::exchange(branches_[into].fan, {})) {
    gather(part);
    merge(branches_[into], part);
  }
}

// --- steps -----------------------------------------------------------------------------------------------------------

// Settings of a handler are read when it is run; those of the other verbs when the step opens.
bool BlameRecord::is_read_when_opened(const Step& step) const {
  return step.goal < 0 && work_of(state, step) == nullptr;
}

BlameRecord::Dependences BlameRecord::reads_when_opened(const Step& step) {
  Dependences reads;
  const Node& node = state.node(step);
  if (const CallNode* call = call_of(state, step)) {
    read_setting(reads, step.branch, call->with);
    return reads;
  }
  if (const MapNode::Items* items = node.items()) {
    read_setting(reads, step.branch, items->over);
    return reads;
  }
  each_setting(node, [&](const Json& setting, bool) { read_setting(reads, step.branch, setting); });
  return reads;
}

// REQUIRES: a handler executes the step.
BlameRecord::Dependences BlameRecord::reads_of_work(const Step& step) {
  Dependences reads;
  const DoNode& work = *work_of(state, step);
  const HandlerReads handler = reads_(work.handler);
  read_setting(reads, step.branch, work.with);
  for (const std::string& channel : handler.channels) read_channel(reads, step.branch, channel, true);
  if (handler.plan) read_plan(reads, step.branch, !handler.all);
  if (handler.given && !step.given.is_null())
    reads.push_back({.point = closed_point(steps_[step.id].from), .way = BlameWay::given});
  if (handler.all) read_all(reads, step.branch, false);
  return reads;
}

BlameRecord::Dependences BlameRecord::reads_of_end(const EndNode& end, BranchId branch, bool is_done) {
  Dependences reads;
  read_setting(reads, branch, end.reason);
  if (end.output) read_setting(reads, branch, *end.output);
  if (!end.output && is_done) read_all(reads, branch, true);
  return reads;
}

// Backward from the steps before: a step that decided nothing hands over to those that decided that it was reached.
std::vector<StepId> BlameRecord::choices_of(const std::vector<StepId>& before, const GraphRef& graph, NodeIndex node) {
  std::vector<StepId> choices;
  std::set<StepId> seen;
  std::vector<StepId> open = before;
  while (!open.empty()) {
    const StepId id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) continue;
    const auto found = steps_.find(id);
    if (id == 0 || found == steps_.end()) {
      choices.push_back(id);
      continue;
    }
    const StepTrace& step = found->second;
    const bool is_same = step.graph == graph;
    const NodeIndex reached = is_same || step.graph == nullptr ? node : step.graph->find(graph->node(node).name);
    const std::string& label = names[static_cast<std::size_t>(step.label)];
    if (step.graph == nullptr || reached < 0 || choices_.decides(step.graph, step.node, label, reached))
      choices.push_back(id);
    else
      open.insert(open.end(), step.choices.begin(), step.choices.end());
  }
  std::sort(choices.begin(), choices.end());
  return choices;
}

void BlameRecord::depend_on_choices(BlamePointId point, const std::vector<StepId>& choices) {
  for (const StepId id : choices) {
    const auto found = steps_.find(id);
    const BlameNameId label = found == steps_.end() ? 0 : found->second.label;
    depend(point, {.point = closed_point(id), .way = BlameWay::edge, .name = label});
  }
}

// -1 if the step is not closed. A step that this record does not have is its origin's.
BlamePointId BlameRecord::closed_point(StepId step) const {
  if (const auto found = steps_.find(step); found != steps_.end()) return found->second.closed;
  if (!state.forked_from) return -1;
  const auto origin = steps_.find(0);
  return origin == steps_.end() ? -1 : origin->second.closed;
}

BlameRecord::StepTrace& BlameRecord::trace_of(const Step& step) { return steps_[step.id]; }

// REQUIRES: the step is open, and no item's and no sub-goal's.
void BlameRecord::close(const Step& step, BlamePointId point, const std::string& label,
                        const std::vector<std::string>& next) {
  StepTrace& trace = trace_of(step);
  trace.closed = point;
  trace.graph = state.graph;
  trace.node = step.node;
  trace.label = named(label);
  if (next.empty()) return;
  trace.reads.clear();
  branches_[step.branch].last = {step.id};
}

void BlameRecord::close_item(const Step& step, BlamePointId point, bool has_failed) {
  trace_of(step).closed = point;
  const Step* map = find_step(state, state.branches.at(state.branches.at(step.branch).parent).step);
  if (map == nullptr) return;
  StepTrace& of_map = trace_of(*map);
  of_map.results = version_of(point, of_map.results);
  if (has_failed) of_map.failures = version_of(point, of_map.failures);
}

// The channels of a map over items: all of its results, or those that it has so far.
void BlameRecord::write_results(const Step& map, const StepTrace& trace) {
  const BlamePointId results = new_point(0, map.id, BlameKind::engine, false);
  depend(results, {.version = trace.results});
  depend(results, {.point = trace.list});
  depend(results, {.point = trace.opened});
  const Node& node = state.node(map);
  if (!node.into.empty()) write(map.branch, node.into, results);
  if (node.items() != nullptr && !node.items()->failures.empty()) write(map.branch, node.items()->failures, results);
}

}  // namespace cairn
