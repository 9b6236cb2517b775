// The channels that a node of a graph reads and writes, as far as its text and its handler show. Pure functions, safe
// from any thread.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "engine/graph.hpp"
#include "engine/graph_check.hpp"
#include "engine/value_space.hpp"

namespace cairn {

struct ChannelWrite {
  std::string channel;
  ValueSpace space = {};
  bool is_sure = false;     // each time that the node succeeds; else the channel may stay as it was
  std::string copied = {};  // the channel whose value it is; "": another value
};

// Calls `see` for each channel that the node writes; false if it may write others, too.
bool each_write(const Node& node, const Handlers& handlers, const std::function<void(const ChannelWrite&)>& see);

// Calls `see` for each setting of the node that may hold references, and says whether those are of an item, too.
void each_setting(const Node& node, const std::function<void(const Json& setting, bool of_item)>& see);

// Channels that a map sets for each item.
bool is_channel_of_item(std::string_view channel);

// Adds the channels that the graph declares, that its input describes, or that a node writes; false if a node may write
// others, too.
using ChannelNames = std::set<std::string, std::less<>>;
bool filled_channels(const Graph& graph, const Handlers& handlers, ChannelNames& channels);

// False if the graph has a handler whose settings are not declared: it may read and write any channel.
bool are_all_settings_declared(const Graph& graph, const Handlers& handlers);

// Null if it is no object or lacks the key.
const Json* find_member(const Json& object, std::string_view key);

// The channel whose value stands for the setting, as "$channel" does; "" if it is another value or may be missing.
std::string whole_channel(const Json& setting);

// A text that stands for itself; null if it is something else, or known only when the step runs.
const std::string* constant_text(const Json* value);

}  // namespace cairn
