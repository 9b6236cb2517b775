// Bodies and queries of requests as the options of commands. Whatever is wrong with one throws CLI::ValidationError
// with one sentence, as arguments do: names, keys and tags of more than 1,000 bytes, and more than 100 tags, too. Safe
// from any thread.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "ops/answers/run_json.hpp"
#include "ops/commands.hpp"
#include "ops/http/message.hpp"

namespace cairn {

using FieldNames = std::initializer_list<std::string_view>;

StartOptions start_body(const ApiRequest& request);
ForkRunOptions fork_body(const ApiRequest& request);   // without the run
AnswerOptions answer_body(const ApiRequest& request);  // without the run
SignalOptions signal_body(const ApiRequest& request);  // without the run
std::string reason_body(const ApiRequest& request);    // {"reason"?}
void no_body(const ApiRequest& request);               // {} or nothing
Json graph_body(const ApiRequest& request);            // any JSON; whether it is a graph, others say
Json json_body(const ApiRequest& request);             // any JSON

void only_query(const ApiRequest& request, FieldNames known);              // each at most once, but for `tag`
std::string query_text(const ApiRequest& request, std::string_view name);  // "": it has none
bool query_flag(const ApiRequest& request, std::string_view name);         // true or false

RunFilter filter_query(const ApiRequest& request);
Moment moment_query(const ApiRequest& request);
// From `from`, or behind the header Last-Event-ID.
EventsWanted events_query(const ApiRequest& request);

}  // namespace cairn
