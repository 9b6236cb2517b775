// The built-in handlers: those of no planner in particular, from which a graph is composed without C++, as
// engine/graphs/tool_agent.json is. Safe from any thread.
#pragma once

#include <string_view>

#include "workers/handlers/handler.hpp"

namespace cairn {

//   model.chat    {"prompt" | "messages", "system"?, "model"?, "into"?: "reply", "append_to"?}       -> ok
//                 asks the model; the reply's text goes to the channel `into`, its whole message unchanged, as a list
//                 of one, to the channel `append_to`, where a message without a role is a bad reply, and so is an
//                 empty one, there and where "tools" are offered
//                 {"messages", "tools", ...}                                           -> tools | message
//                 with "tools", a list of function schemas or null, the reply may call tools: each call becomes a
//                 sub-goal that a `map` executes, and the node is left by tools; by message without a call. The node
//                 declares these "labels". A sub-goal is named by the position of its message in the conversation.
//                 {"messages", "tools", "functions", "calls_into"?: "calls", ...}     -> tools | functions | message
//                 "functions", {NAME: {"description", "parameters"}}, are those that the graph answers itself, for
//                 example by a run of another graph. One is offered if "tools" names it, by its name alone; its calls
//                 go to the channel `calls_into`, [{"id", "name", "arguments"}], and the node is left by functions.
//   model.decide  {"prompt" | "messages", "schema", "system"?, "model"?, "into"?: "decision", "label_field"?}
//                 the same with a value of that JSON Schema; leaves by the string in the value's `label_field`,
//                 by ok without one. The node declares its "labels".
//   model.extract {"text", "schema", ...}                                              -> ok     model_extract.hpp
//   http.call     {"url", ...}                                                         -> ok     http_call.hpp
//   tool.call     {"tool", "inputs"?, "into"?: "result"}                               -> ok
//                 one attempt is one call; the outputs go to the channel `into`
//   tool.results  {"messages", "into"?: "messages", "calls"?, "results"?, "failures"?}  -> ok
//                 the results of the calls in the last message: for each, in their order, a message of role tool, as
//                 a list to the channel `into`. Its content is the outputs' "content" if that is a text, else the
//                 outputs as JSON; "Error: " and the reason for a call that failed or was not run. Calls of the graph's
//                 functions are `calls`; `results` and `failures` are what a map over them left.
//                 {..., "asked_into", "asked": {"calls"?, "results"?, "failures"?}}    -> ok | asks
//                 while the tool of a call asks a person (its sub-goal failed with input_required), "asked_into"
//                 names the channel that gets those calls, [{"id", "tool", "inputs"}], and the node is left by asks:
//                 a map makes them again by runs of the graph mcp_call. "asked" gives that channel and the results of
//                 the map, which become the messages of those calls. The node declares these "labels".
//   data.set      {"set": {CHANNEL: value}}                                            -> ok
//   data.pick     {"value", "labels"?: {TEXT: LABEL}, "default"?: LABEL}
//                 leaves by the label of the value's text (a string itself, else its JSON); without "labels" by the
//                 text of a string. The node declares its "labels".
//   data.test     {"if": CONDITION}                                                    -> true | false
//                 {"cases": [{"if": CONDITION, "label"}, ...], "default"?: LABEL}
//                 leaves by the label of the first case that holds. The node declares its "labels".
//   data.compute  {"set": {CHANNEL: OPERATION}}                                        -> ok
//   data.map      {"over": list, "take"?: POINTER | {NAME: POINTER}, "default"?, "where"?, "into"?: "result"} -> ok
//                 one value for each element that is kept. CONDITION, OPERATION and `where`: data_logic.hpp
//
// The objects above are the node's "with"; "$channel" is replaced by data as everywhere. "prompt" is a text or a list
// of parts that are joined. After a bad reply the next attempt's messages end with the reason; with "tools" they are
// repeated unchanged.
// `calls_urls`: http.call is executed here, not only known.
void add_builtin_handlers(HandlerTable& table, bool calls_urls = false);

// The handlers that only look at data, data.*: pure, and nothing else is needed to run them again.
bool is_builtin_logic(std::string_view handler);

}  // namespace cairn
