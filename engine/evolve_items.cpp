#include <utility>

#include "engine/fold.hpp"

namespace cairn {
namespace {

bool is_place(std::int32_t place, const Json& list) {
  return place >= 0 && static_cast<std::size_t>(place) < list.size();
}

}  // namespace

// The list is fixed when the map opens: a later change of the channel is not seen.
void Fold::take_items(Step& map, const MapNode::Items& settings) {
  Result<Json> items = resolved(state_, map.branch, settings.over);
  if (!items) return make_unfit(map, items.error().message);
  if (!items->is_array()) return make_unfit(map, "Expected a list to map over, but found " + excerpt(*items, 60) + ".");
  if (items->size() > map_items_max)
    return make_unfit(map, "Expected at most " + std::to_string(map_items_max) + " items to map over, but found " +
                               std::to_string(items->size()) + ".");
  map.map.results = Json::array();
  map.map.results.get_ref<Json::array_t&>().resize(items->size());
  map.map.items = *std::move(items);
  open_items(map.id);
}

// As many as may be open at once.
void Fold::open_items(StepId id) {
  Step& map = state_.steps.at(id);
  const MapNode::Items* settings = state_.node(map).items();
  const std::int32_t open_max = settings == nullptr ? 1 : settings->concurrency;
  while (map.map.open_items < open_max && static_cast<std::size_t>(map.map.next_item) < map.map.items.size())
    open_item(map.branch, map);
}

void Fold::open_item(BranchId in, Step& map) {
  const std::int32_t place = map.map.next_item++;
  ++map.map.open_items;
  const BranchId id = ++state_.last_branch;
  Branch& part = state_.branches[id];
  part.id = id;
  part.parent = in;
  part.place = place;
  part.data.set({{"item", map.map.items[static_cast<std::size_t>(place)]}, {"index", place}}, *state_.graph);
  Step& step = new_step(part, map.node);
  step.item = place;
  charge(step, state_.node(step));
  for (const auto& [name, use] : state_.budgets) step.budgets[name] = use.used;
}

// The result of an item is what it left: a handler's patch, a run's output.
void Fold::item_succeeded(const StepSucceeded& succeeded) {
  const Step item = open_step();
  if (call_of(state_, item) == nullptr) return close_item(item, parse_stored_object(succeeded.patch), "", "");
  if (succeeded.label == "done") return close_item(item, item.brought.value_or(Json()), "", "");
  close_item(item, std::nullopt, succeeded.label, item.message);
}

// Without a result it failed. The next item opens in its place.
void Fold::close_item(const Step& item, std::optional<Json> result, std::string error, std::string message) {
  const BranchId in = branch(item.branch).parent;
  const auto map_step = state_.steps.find(branch(in).step);
  if (map_step == state_.steps.end() || !is_place(item.item, map_step->second.map.items))
    corrupt("step " + std::to_string(item.id) + " is an item of no open map");
  MapProgress& map = map_step->second.map;
  if (result)
    map.results[static_cast<std::size_t>(item.item)] = *std::move(result);
  else
    map.failed[item.item] = {item.item, std::move(error), std::move(message)};
  --map.open_items;
  state_.branches.erase(item.branch);
  state_.steps.erase(event_.step);
  touch(item.branch);
  touch(in);
  open_items(map_step->first);
}

// The channels that a map over items writes when it closes.
Json Fold::mapped_patch(const Step& map) const {
  Json patch = Json::object();
  const Node& node = state_.node(map);
  if (!node.into.empty()) patch[node.into] = map.map.results;
  if (node.items() == nullptr || node.items()->failures.empty()) return patch;
  Json& failures = patch[node.items()->failures] = Json::array();
  for (const auto& [place, failed] : map.map.failed)
    failures.push_back({{"index", place}, {"error", failed.error}, {"message", failed.message}});
  return patch;
}

std::string Fold::failed_items(const Step& map) const {
  const FailedItem& first = map.map.failed.begin()->second;
  return std::to_string(map.map.failed.size()) + " of " + std::to_string(map.map.items.size()) +
         " items failed; the first was item " + std::to_string(first.id) + ": " + first.error + ": " + first.message;
}

}  // namespace cairn
