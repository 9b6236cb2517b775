#include "engine/graph_uses.hpp"

#include <algorithm>

#include "engine/references.hpp"

namespace cairn {
namespace {

using SeeWrite = std::function<void(const ChannelWrite&)>;

ChannelWrite write_of(const std::string& channel, const HandlerSetting& setting, const Json& with, const Json& value) {
  if (setting.gives == nullptr) return {channel};
  return {channel, setting.gives(with, value), true, setting.is_copied ? whole_channel(value) : ""};
}

// False if it may write other channels.
bool each_write_of(const HandlerSetting& setting, const Json& with, const SeeWrite& see) {
  const Json* value = find_member(with, setting.name);
  const std::string* channel = constant_text(value);
  if (setting.means == HandlerSetting::Means::channels && value != nullptr && value->is_object() &&
      !value->contains("$")) {
    for (const auto& [name, what] : value->items()) see(write_of(name, setting, with, what));
    return true;
  }
  if (channel != nullptr) {
    see(write_of(*channel, setting, with, *value));
    return true;
  }
  if (value != nullptr && !value->is_null()) return false;
  if (!setting.otherwise.empty()) see(write_of(setting.otherwise, setting, with, Json()));
  return true;
}

ValueSpace space_of_answers(const AskNode& ask) {
  const bool may_be_anything = has_reference(ask.schema) || (ask.fallback && has_reference(*ask.fallback));
  return may_be_anything ? ValueSpace{} : space_of_schema(ask.schema);
}

const ValueSpace list_of_items{JsonKinds::list, {}};

}  // namespace

const Json* find_member(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string whole_channel(const Json& setting) {
  const bool is_object = setting.is_object() && setting.size() == 1 && setting.contains("$");
  const Json& named = is_object ? setting["$"] : setting;
  if (!named.is_string() || !has_reference(setting)) return "";
  const auto& text = named.get_ref<const std::string&>();
  const bool is_marked = is_object || (text.starts_with('$') && !text.starts_with("$$"));
  if (!is_marked || text.find('/') != std::string::npos) return "";
  return is_object ? text : text.substr(1);
}

const std::string* constant_text(const Json* value) {
  const bool is_constant = value != nullptr && value->is_string() && !has_reference(*value);
  return is_constant ? &value->get_ref<const std::string&>() : nullptr;
}

bool is_channel_of_item(std::string_view channel) { return channel == "item" || channel == "index"; }

bool each_write(const Node& node, const Handlers& handlers, const SeeWrite& see) {
  const MapNode::Items* items = node.items();
  const auto* ask = node.as<AskNode>();
  if (!node.into.empty() && items != nullptr)
    see({node.into, list_of_items, true});
  else if (!node.into.empty() && ask != nullptr)
    see({node.into, space_of_answers(*ask), true});
  else if (!node.into.empty())
    see({node.into});
  if (items != nullptr && !items->failures.empty()) see({items->failures, list_of_items, true});
  const auto* work = node.as<DoNode>();
  if (work == nullptr) return true;
  const auto known = handlers.find(work->handler);
  if (known == handlers.end() || !known->second.settings) return false;
  bool are_all = true;
  for (const HandlerSetting& setting : *known->second.settings)
    if (setting.means == HandlerSetting::Means::channel || setting.means == HandlerSetting::Means::channels)
      are_all = each_write_of(setting, work->with, see) && are_all;
  return are_all;
}

void each_setting(const Node& node, const std::function<void(const Json& setting, bool of_item)>& see) {
  const MapNode::Items* items = node.items();
  if (items != nullptr) see(items->over, false);
  if (node.work() != nullptr) see(node.work()->with, items != nullptr);
  if (node.call() != nullptr) see(node.call()->with, items != nullptr);
  if (const auto* wait = node.as<WaitNode>(); wait != nullptr && wait->due) see(wait->due->value, false);
  if (const auto* end = node.as<EndNode>()) {
    see(end->reason, false);
    if (end->output) see(*end->output, false);
  }
  if (const auto* ask = node.as<AskNode>()) {
    see(ask->prompt, false);
    see(ask->schema, false);
    if (ask->fallback) see(*ask->fallback, false);
    if (ask->expires) see(ask->expires->value, false);
  }
}

bool filled_channels(const Graph& graph, const Handlers& handlers, ChannelNames& channels) {
  for (const auto& [channel, reducer] : graph.channels) channels.insert(channel);
  if (const Json* properties = find_member(graph.input, "properties"); properties != nullptr && properties->is_object())
    for (const auto& [channel, schema] : properties->items()) channels.insert(channel);
  bool are_all = true;
  for (const Node& node : graph.nodes)
    are_all = each_write(node, handlers, [&](const ChannelWrite& write) { channels.insert(write.channel); }) && are_all;
  return are_all;
}

bool are_all_settings_declared(const Graph& graph, const Handlers& handlers) {
  return std::all_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    const auto known = node.work() == nullptr ? handlers.end() : handlers.find(node.handler());
    return node.work() == nullptr || (known != handlers.end() && known->second.settings);
  });
}

}  // namespace cairn
