// The tool calls of a chat message, in the form of chat completions: calls become sub-goals, and the sub-goals' results
// become messages. Pure functions, safe from any thread.
#pragma once

#include <vector>

#include "workers/handlers/handler.hpp"

namespace cairn {

// The message's "tool_calls"; empty if it has none.
Json calls_of(const Json& message);

// The functions that a model may call. `tools`: function schemas and names of the graph's own functions, or null, which
// offers every tool of the worker; `functions`: {NAME: {"description", "parameters"}}, those of the graph.
struct Offer {
  Json tools;
  Json functions = Json::object();
};

// The function schemas of an offer, as a request has them; null as it stands. Refuses `invalid`: no list, a name that
// is no function of the graph, another form of these.
Result<Json> schemas_of(const Offer& offer);

// The calls of a message at position `place`, from 0, of its conversation. Each has the id "N.M", message and call
// counted from 1.
struct OpenedCalls {
  std::vector<Fact> facts;   // a sub-goal for each call of a tool
  Json own = Json::array();  // calls of the graph's functions: [{"id", "name", "arguments"}]
};

// The tool of a sub-goal is the function's name, its inputs the parsed arguments. Arguments that are no JSON object
// open nothing. A call of a function that is not offered is a rejected sub-goal. Fails with `bad_reply`: calls that are
// no list, a call without an id or without a function's name.
Result<OpenedCalls, Failure> opened_calls(const Json& message, std::size_t place, const Offer& offer);

// The answers to calls that a map over items made: what it left, by their places.
struct MappedAnswers {
  Json calls = Json::array();     // the items, each with its "id"
  Json results = Json::array();   // null where one failed
  Json failures = Json::array();  // [{"index", "error", "message"}]
};

// The answers to calls of a conversation's last message that are no sub-goal's.
struct CallAnswers {
  MappedAnswers own;    // of the graph's functions
  MappedAnswers asked;  // of the tools that asked a person, made again
};

// The calls of the conversation's last message that are to be made again so that a person is asked, in their order:
// those whose sub-goal failed because its tool asks a person, and that `asked` does not have:
// [{"id", "tool", "inputs"}]. A call whose inputs take slots of other sub-goals is not among them: outside the plan
// they would be another call. REQUIRES: opened_calls accepts the last message.
Json calls_that_ask(const Json& messages, const StepInput& input, const CallAnswers& answers);

// A message of role `tool` for each call of the conversation's last message, in their order. Its content is the
// outputs' `content` if that is a text, else the outputs as JSON; "Error: " and the reason if there are none. REQUIRES:
// opened_calls accepts the last message.
Json results_of_calls(const Json& messages, const StepInput& input, const CallAnswers& answers = {});

}  // namespace cairn
