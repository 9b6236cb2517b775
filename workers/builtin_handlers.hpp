// Handlers of no planner in particular: with them a graph is composed without C++. Safe from any thread.
//
//   model.chat    {"prompt" | "messages", "system"?, "model"?, "into"?: "reply"}           -> ok
//                 asks the model; the reply's text goes to the channel `into`
//   model.decide  {"prompt" | "messages", "schema", "system"?, "model"?, "into"?: "decision", "label_field"?}
//                 the same with a value of that JSON Schema; leaves by the string in the value's `label_field`,
//                 by ok without one. The node declares its "labels".
//   tool.call     {"tool", "inputs"?, "into"?: "result"}                                   -> ok
//                 one attempt is one call; the outputs go to the channel `into`
//   data.set      {"set": {CHANNEL: value}}                                                -> ok
//   data.pick     {"value", "labels"?: {TEXT: LABEL}, "default"?: LABEL}
//                 leaves by the label of the value's text (a string itself, else its JSON); without "labels" by the
//                 text of a string. The node declares its "labels".
//
// These are the node's "with"; "$channel" stands for data as everywhere. "prompt" is a text or a list of parts that are
// joined. After a bad reply the next attempt's messages end with what was wrong.
#pragma once

#include "workers/handler.hpp"

namespace cairn {

void add_builtin_handlers(HandlerTable& table);

}  // namespace cairn
