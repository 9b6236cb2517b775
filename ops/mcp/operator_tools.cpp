#include "ops/mcp/operator_tools.hpp"

#include <array>

#include "ops/mcp/host.hpp"

namespace cairn {
namespace {

using Query = std::vector<std::pair<std::string, std::string>>;

std::string run_argument_of(const Json& arguments) { return arguments.at("run").get<std::string>(); }

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// The arguments of these names as a query.
Query query_of_arguments(const Json& arguments, std::initializer_list<const char*> names) {
  Query query;
  for (const char* name : names)
    if (arguments.contains(name)) query.emplace_back(name, text_of(arguments[name]));
  return query;
}

// The arguments but the run, as a body.
Json body_of(Json arguments) {
  arguments.erase("run");
  return arguments;
}

ApiRequest list_runs_request(const Json& arguments) {
  Query query = query_of_arguments(arguments, {"graph", "status", "since", "until", "limit", "after"});
  if (!arguments.contains("limit")) query.emplace_back("limit", "20");
  if (arguments.contains("tags"))
    for (const auto& [key, value] : arguments["tags"].items()) query.emplace_back("tag", key + "=" + text_of(value));
  return api_get({"runs"}, std::move(query));
}

ApiRequest show_request(const Json& arguments) {
  return api_get({"runs", run_argument_of(arguments)}, query_of_arguments(arguments, {"at", "channel"}));
}

ApiRequest events_request(const Json& arguments) {
  Query query = query_of_arguments(arguments, {"from", "limit"});
  if (!arguments.contains("limit")) query.emplace_back("limit", "100");
  return api_get({"runs", run_argument_of(arguments), "events"}, std::move(query));
}

ApiRequest explain_request(const Json& arguments) { return api_get({"runs", run_argument_of(arguments), "explain"}); }

ApiRequest diff_request(const Json& arguments) {
  return api_get({"runs", run_argument_of(arguments), "diff"},
                 query_of_arguments(arguments, {"with", "at", "with_at"}));
}

ApiRequest answer_request(const Json& arguments) {
  return api_post({"runs", run_argument_of(arguments), "answers"}, body_of(arguments));
}

ApiRequest retry_request(const Json& arguments) {
  return api_post({"runs", run_argument_of(arguments), "retry"}, body_of(arguments));
}

ApiRequest cancel_request(const Json& arguments) {
  return api_post({"runs", run_argument_of(arguments), "cancel"}, body_of(arguments));
}

ApiRequest fork_request(const Json& arguments) {
  return api_post({"runs", run_argument_of(arguments), "fork"}, body_of(arguments));
}

ApiRequest verify_request(const Json& arguments) { return api_get({"runs", run_argument_of(arguments), "verify"}); }

constexpr std::string_view only_run = R"({"run": {"type": "string", "description": "The run's id."}})";
constexpr std::string_view needs_run = R"(["run"])";

constexpr std::array<OperatorTool, 10> own_tools = {{
    {"cairn_list_runs", "Lists runs, newest first: id, graph, status, times, tags and why they ended.", ApiRole::read,
     R"({"graph": {"type": "string", "description": "Only runs of this graph."},
         "status": {"type": "string", "description": "running, waiting, paused, done, failed or aborted."},
         "since": {"type": "string", "description": "Started at or after this time, or within a duration such as 2h."},
         "until": {"type": "string", "description": "Started before this time."},
         "tags": {"type": "object", "additionalProperties": {"type": "string"}},
         "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 20},
         "after": {"type": "string", "description": "The next of the page before."}})",
     "[]", true, false, true, list_runs_request, "runs"},
    {"cairn_show_run",
     "Shows a run: status, input, channels, open steps, plan, questions and output; with at, as it was then.",
     ApiRole::read,
     R"({"run": {"type": "string", "description": "The run's id."},
         "at": {"type": ["string", "integer"], "description": "An event's number, or a time (RFC 3339)."},
         "channel": {"type": "string", "description": "This channel alone."}})",
     needs_run, true, false, true, show_request, ""},
    {"cairn_events", "Lists what happened in a run, event by event.", ApiRole::read,
     R"({"run": {"type": "string", "description": "The run's id."},
         "from": {"type": "integer", "minimum": 1, "description": "The first event's number."},
         "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}})",
     needs_run, true, false, true, events_request, "events"},
    {"cairn_explain", "Says why a run is where it is: what each open step waits for, or why the run ended.",
     ApiRole::read, only_run, needs_run, true, false, true, explain_request, ""},
    {"cairn_diff", "Compares two runs, or one run at two moments: the first difference, channels, cost, output.",
     ApiRole::read,
     R"({"run": {"type": "string", "description": "The run's id."},
         "with": {"type": "string", "description": "The other run; the run itself without it."},
         "at": {"type": ["string", "integer"], "description": "The moment of the run."},
         "with_at": {"type": ["string", "integer"], "description": "The moment of the other one."}})",
     needs_run, true, false, true, diff_request, ""},
    {"cairn_answer", "Answers an open question of a run. The first answer counts, and the run goes on with it.",
     ApiRole::answer,
     R"({"run": {"type": "string", "description": "The run's id."},
         "question": {"type": "string", "description": "Its id; not needed if only one is open."},
         "value": {"description": "The answer, which must fit the question's schema."},
         "by": {"type": "string", "description": "The person who answers."}})",
     R"(["run", "value"])", false, false, false, answer_request, ""},
    {"cairn_retry", "Tries the failed steps of a failed run again; the answer names the run that goes on.",
     ApiRole::operate,
     R"({"run": {"type": "string", "description": "The run's id."},
         "reason": {"type": "string", "description": "For those who look at it later."}})",
     needs_run, false, false, false, retry_request, ""},
    {"cairn_cancel", "Cancels a run, which ends as aborted after its graph's cleanup.", ApiRole::operate,
     R"({"run": {"type": "string", "description": "The run's id."},
         "reason": {"type": "string", "description": "For those who look at it later."},
         "now": {"type": "boolean", "description": "Without the cleanup."}})",
     needs_run, false, true, true, cancel_request, ""},
    {"cairn_fork", "Starts a new run that goes on from an event of this one, with other values; the run itself stays.",
     ApiRole::run,
     R"({"run": {"type": "string", "description": "The run's id."},
         "at": {"type": "integer", "minimum": 1, "description": "The last event that both share."},
         "set": {"type": "object", "description": "Channels to set."},
         "answer": {"type": "object", "description": "Answers to questions that were open then, by id."},
         "tags": {"type": "object", "additionalProperties": {"type": "string"}}})",
     R"(["run", "at"])", false, false, false, fork_request, ""},
    {"cairn_verify", "Checks the record of a run: the chain of its events' hashes, and that each event can follow.",
     ApiRole::read, only_run, needs_run, true, false, true, verify_request, ""},
}};

}  // namespace

std::span<const OperatorTool> operator_tools() { return own_tools; }

const OperatorTool* operator_tool(std::string_view name) {
  for (const OperatorTool& tool : own_tools)
    if (tool.name == name) return &tool;
  return nullptr;
}

Json input_schema(const OperatorTool& tool) {
  Json schema = {{"type", "object"}, {"properties", parse_stored(tool.inputs)}, {"additionalProperties", false}};
  if (tool.required != "[]") schema["required"] = parse_stored(tool.required);
  return schema;
}

Json tool_json(const OperatorTool& tool) {
  return {{"name", tool.name},
          {"description", tool.description},
          {"inputSchema", input_schema(tool)},
          {"annotations",
           {{"readOnlyHint", tool.is_read_only},
            {"destructiveHint", tool.is_destructive},
            {"idempotentHint", tool.is_idempotent},
            {"openWorldHint", false}}}};
}

std::string next_cursor(const ApiResponse& response) {
  for (const auto& [name, link] : response.headers) {
    if (name != "Link") continue;
    const std::size_t begin = link.find('<'), end = link.find('>');
    if (begin == std::string::npos || end == std::string::npos) return "";
    const Result<ApiRequest> next = request_of("GET", "/" + link.substr(begin + 1, end - begin - 1));
    if (!next) return "";
    for (const auto& [key, value] : next->query)
      if (key == "after" || key == "from") return value;
  }
  return "";
}

Json answer_value(const OperatorTool& tool, const ApiResponse& response) {
  Json value = parse_stored(response.body);
  if (tool.list.empty()) return value;
  Json named = {{std::string(tool.list), std::move(value)}};
  if (const std::string next = next_cursor(response); !next.empty()) named["next"] = next;
  return named;
}

}  // namespace cairn
