// The check of a graph before it is accepted: finds every fault of its text at once, so that no fault is left for a run
// to meet. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/json.hpp"
#include "engine/result.hpp"
#include "engine/value_space.hpp"

namespace cairn {

// A part of a handler's settings, and the kinds (JsonKinds) that it must be of when the step runs.
struct ValuePart {
  std::string of;  // the operation, as sentences name it
  Json setting;
  std::uint8_t kinds = JsonKinds::any;
};

// One key of a handler's "with".
struct HandlerSetting {
  enum class Means : std::uint8_t {
    value,        // anything
    channel,      // the channel that is written
    channels,     // {CHANNEL: value}: channels that are written
    tool,         // the name of a tool
    inputs,       // of that tool
    schema,       // a JSON Schema
    label,        // a label that the node may be left by
    labels,       // {TEXT: LABEL}
    cases,        // [{"if", "label"}]
    picked,       // the value that is a TEXT of `labels`, or a label itself; if it is neither, `label` counts
    label_field,  // the member of a reply of `schema` that is a label
  };
  std::string name;
  Means means = Means::value;
  bool is_required = false;
  std::string otherwise = {};                    // the channel if the key is missing; "": none
  Status (*check)(const Json& value) = nullptr;  // of a value without references; null: anything
  bool is_constant = false;                      // it stands in the graph: a run's data may not choose it
  // The values of the channel after each success, if the handler always writes it; null: anything, or nothing new.
  // `value`: that of the setting; of `channels` the one for the channel.
  ValueSpace (*gives)(const Json& with, const Json& value) = nullptr;
  bool is_copied = false;  // `channels`: each channel gets the value that stands there
};

// A handler as the check sees it.
struct HandlerLabels {
  std::set<std::string> labels;   // that it may leave by
  bool declared_by_node = false;  // a node's own "labels" are the list; `labels` if it has none
  bool is_pure = true;            // only a pure handler may be cached
  // All keys of its "with"; it then writes no channel but those they name. Nothing: any key, any channel.
  std::optional<std::vector<HandlerSetting>> settings = {};
  Status (*check)(const Json& with) = nullptr;  // of the settings together, whose values may be references
  Json schema = {};                             // JSON Schema of its "with", as a worker declares it; null: none
  std::vector<std::string> (*doubts)(const Json& with) = nullptr;  // sentences about what is likely meant otherwise
  std::vector<ValuePart> (*parts)(const Json& with) = nullptr;     // of settings that pass `check`
  std::string need = {};  // what a worker that lacks it needs, as the end of a sentence
};
using Handlers = std::map<std::string, HandlerLabels, std::less<>>;

// The faults of a graph, one plain sentence each, in the order of the text, as Findings lists them; empty if it may
// run. Known handlers are those of `handlers`; a `do` with any other must declare its labels in the graph.
std::vector<std::string> graph_faults(const Json& graph, const Handlers& handlers);

}  // namespace cairn
