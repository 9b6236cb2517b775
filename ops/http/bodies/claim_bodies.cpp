#include "ops/http/bodies/claim_bodies.hpp"

#include <algorithm>
#include <set>

#include "engine/codec.hpp"
#include "engine/event_types.hpp"
#include "ops/http/bodies/fact_fields.hpp"
#include "ops/http/bodies/fields.hpp"
#include "workers/schemas/schema_check.hpp"

namespace cairn {
namespace {

constexpr std::int64_t version_max = 1'000'000'000;
constexpr std::size_t schema_bytes_max = 16u << 10;
constexpr std::int16_t types_max = 200;

// --- facts ----------------------------------------------------------------------------------------------------------

std::optional<EventType> type_named(const std::string& name) {
  for (std::int16_t number = 1; number < types_max; ++number)
    if (const std::optional<EventType> type = event_type_numbered(number); type && type->name == name) return type;
  return std::nullopt;
}

template <class Body>
std::optional<Fact> as_fact(Body body) {
  if constexpr (std::is_constructible_v<Fact, Body>)
    return Fact(std::move(body));
  else
    return std::nullopt;
}

// {"type", ...}: as the event of that type, without its envelope.
Result<Fact> fact_of(Json given) {
  const Json type = given.value("type", Json());
  if (!type.is_string()) return bad_request("Expected the type of a fact, but found " + excerpt(given, 60) + ".");
  const std::optional<EventType> named = type_named(type);
  given.erase("type");
  const Result<EventBody> body =
      named ? decode_payload(named->number, named->version, canonical(given)) : Result<EventBody>(Error{});
  std::optional<Fact> fact;
  if (body) fact = std::visit([](const auto& one) { return as_fact(one); }, *body);
  const auto* record = fact ? std::get_if<Record>(&*fact) : nullptr;
  const Status checked = record != nullptr ? check_record(record->kind, given) : Status(Done{});
  if (!checked) return bad_request("In a fact " + type.get<std::string>() + ": " + checked.error().message);
  if (fact) return *std::move(fact);
  if (named && !body) return bad_request("In a fact " + type.get<std::string>() + ": " + body.error().message);
  return bad_request(
      "Expected a fact that a handler may record (model_called, tool_called, sub_goal_opened ...), but "
      "found " +
      excerpt(type, 60) + ".");
}

std::vector<Fact> facts_of(Fields& fields) {
  std::vector<Fact> facts;
  for (Json& one : fields.objects("facts")) {
    Result<Fact> fact = fact_of(std::move(one));
    if (!fact) {
      fields.refuse(fact.error());
      break;
    }
    facts.push_back(*std::move(fact));
  }
  return facts;
}

// --- reports --------------------------------------------------------------------------------------------------------

bool is_word(const std::string& text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_';
  });
}

// Refuses fields that go with another kind of report: they would be passed over in silence.
void expect_alone(Fields& fields, const char* kind, FieldNames others) {
  for (const std::string_view other : others)
    if (fields.has(std::string(other).c_str()))
      return fields.refuse(
          bad_request("Expected one report of a claim: label and patch, outputs, error or release, but "
                      "found " +
                      std::string(other) + " beside " + kind + "."));
}

Outcome outcome_of(Fields& fields) {
  if (fields.has("outputs")) expect_alone(fields, "outputs", {"label", "patch"});
  Outcome outcome;
  outcome.label = fields.name("label");
  outcome.patch = fields.object(fields.has("outputs") ? "outputs" : "patch");
  outcome.facts = facts_of(fields);
  return outcome;
}

// "error" is the word by which edges and retries go; a sentence in its place is the message.
Failure failure_of(Fields& fields) {
  Failure failure;
  const std::string error = fields.needed_text("error");
  const bool is_named = is_word(error);
  failure.error = is_named ? error : "error";
  failure.message = fields.has("message") ? fields.text("message") : is_named ? "" : error;
  failure.retryable = !fields.has("again") || fields.flag("again");
  failure.pause_ms = fields.number_between("retry_ms", 0, pause_ms_max, 0);
  failure.facts = facts_of(fields);
  return failure;
}

Result<Ask::Report> report_of(Json given) {
  const FieldNames known = {"claim", "label",   "patch", "facts",    "outputs",
                            "error", "message", "again", "retry_ms", "release"};
  Fields fields(known_fields(std::move(given), known));
  const Result<ClaimId> claim = parse_claim_id(fields.needed_text("claim"));
  Ask::Report report;
  if (fields.flag("release")) {
    expect_alone(fields, "release", {"label", "patch", "facts", "outputs", "error", "message", "again"});
    report.is_release = true;
    report.pause_ms = fields.number_between("retry_ms", 0, pause_ms_max, 0);
  } else if (fields.has("error")) {
    expect_alone(fields, "error", {"label", "patch", "outputs"});
    report.result = failure_of(fields);
  } else {
    expect_alone(fields, "an outcome", {"message", "again", "retry_ms"});
    report.has_outputs = fields.has("outputs");
    report.result = outcome_of(fields);
  }
  if (!claim) fields.refuse(bad_request(claim.error().message));
  if (claim) report.claim = *claim;
  return fields.result(std::move(report));
}

// --- what a worker says of itself -----------------------------------------------------------------------------------

// A name alone, or an object.
Json named(const Json& given) { return given.is_string() ? Json{{"name", given}} : given; }

Json schema_of(Fields& fields) {
  Json schema = fields.object("schema");
  if (!fields.has("schema")) return {};
  if (canonical(schema).size() > schema_bytes_max)
    fields.refuse(bad_request("Expected a schema of at most " + std::to_string(schema_bytes_max) +
                              " bytes, but found a larger one."));
  else if (const Status usable = check_schema(schema); !usable)
    fields.refuse(bad_request(usable.error().message));
  return schema;
}

Result<RemoteHandler> handler_of(const Json& given) {
  Fields fields(known_fields(named(given), {"name", "version", "labels", "reads", "plan", "schema"}));
  RemoteHandler handler;
  handler.name = fields.needed_name("name");
  handler.version = static_cast<std::int32_t>(fields.number_between("version", 1, version_max, 1));
  handler.labels = fields.names("labels");
  handler.reads = fields.names("reads");
  handler.reads_plan = fields.flag("plan");
  handler.schema = schema_of(fields);
  return fields.result(std::move(handler));
}

Result<RemoteTool> tool_of(const Json& given) {
  Fields fields(known_fields(named(given), {"name", "queue", "about", "schema"}));
  RemoteTool tool;
  tool.name = fields.needed_name("name");
  tool.queue = fields.name("queue");
  tool.about = fields.text("about");
  tool.schema = schema_of(fields);
  if (tool.about.size() > about_bytes_max)
    fields.refuse(bad_request("Expected at most " + std::to_string(about_bytes_max) + " bytes as about, but found " +
                              std::to_string(tool.about.size()) + "."));
  return fields.result(std::move(tool));
}

template <class T>
std::vector<T> declared(Fields& fields, const char* name, Result<T> (*read)(const Json&)) {
  std::vector<T> all;
  if (!fields.has(name)) return all;
  const Json& given = fields.value(name);
  std::set<std::string> names;
  if (!given.is_array() || given.size() > declared_max) {
    fields.refuse(bad_request("Expected a list of at most " + std::to_string(declared_max) + " as " + name +
                              ", but found " + excerpt(given, 60) + "."));
    return all;
  }
  for (const Json& one : given) {
    Result<T> read_one = read(one);
    if (!read_one) fields.refuse(read_one.error());
    if (!read_one) break;
    if (!names.insert(read_one->name).second)
      fields.refuse(bad_request("Expected each name once in " + std::string(name) + ", but found " +
                                excerpt(Json(read_one->name), 60) + " again."));
    else
      all.push_back(*std::move(read_one));
  }
  return all;
}

SessionId session_of(Fields& fields) {
  if (!fields.has("session")) return 0;
  const Result<SessionId> session = parse_session_id(fields.text("session"));
  if (!session) fields.refuse(bad_request(session.error().message));
  return session ? *session : 0;
}

}  // namespace

Result<Ask> claims_body(const ApiRequest& request, const std::string& caller) {
  Fields fields(request,
                {"worker", "session", "queues", "handlers", "tools", "max", "wait_ms", "finished", "blobs", "close"});
  Ask ask;
  ask.by_reference = fields.flag("blobs");
  ask.caller = caller;
  ask.session = session_of(fields);
  RemoteWorkerSays says;
  says.name = fields.needed_name("worker");
  says.caller = caller;
  says.queues = fields.names("queues");
  if (says.queues.empty()) says.queues = {"default"};
  if (std::set<std::string>(says.queues.begin(), says.queues.end()).size() < says.queues.size())
    fields.refuse(bad_request("Expected each name once in queues, but found one again."));
  says.handlers = declared<RemoteHandler>(fields, "handlers", handler_of);
  says.tools = declared<RemoteTool>(fields, "tools", tool_of);
  ask.max = static_cast<std::int32_t>(fields.number_between("max", 0, claims_max, 1));
  ask.wait_us = fields.number_between("wait_ms", 0, claim_wait_ms_max, 0) * 1'000;
  ask.closes = fields.flag("close");
  std::vector<Json> finished = fields.objects("finished");
  if (finished.size() > claims_max)
    fields.refuse(bad_request("Expected at most " + std::to_string(claims_max) + " reports in finished, but found " +
                              std::to_string(finished.size()) + "."));
  for (Json& one : finished) {
    Result<Ask::Report> report = report_of(std::move(one));
    if (!report) fields.refuse(report.error());
    if (!report) break;
    ask.finished.push_back(*std::move(report));
  }
  Result<Ask> read = fields.result(std::move(ask));
  if (read) read->worker = std::make_shared<RemoteWorker>(std::move(says));
  return read;
}

Result<Completed> complete_body(const ApiRequest& request, const ClaimId& claim) {
  Fields fields(request, {"label", "patch", "facts", "outputs", "blobs"});
  Completed completed{{claim, outcome_of(fields)}, fields.flag("blobs")};
  completed.report.has_outputs = fields.has("outputs");
  return fields.result(std::move(completed));
}

Result<Ask::Report> fail_body(const ApiRequest& request, const ClaimId& claim) {
  Fields fields(request, {"error", "message", "again", "retry_ms", "facts"});
  return fields.result(Ask::Report{claim, failure_of(fields)});
}

Result<Ask::Report> release_body(const ApiRequest& request, const ClaimId& claim) {
  Fields fields(request, {"retry_ms"});
  Ask::Report report{claim, Outcome{}};
  report.is_release = true;
  report.pause_ms = fields.number_between("retry_ms", 0, pause_ms_max, 0);
  return fields.result(std::move(report));
}

Result<ClaimsHeard> heartbeat_body(const ApiRequest& request) {
  Fields fields(request, {"session", "claims", "progress"});
  ClaimsHeard heard;
  fields.needed_text("session");
  heard.session = session_of(fields);
  for (const std::string& text : fields.texts("claims")) {
    const Result<ClaimId> claim = parse_claim_id(text);
    if (!claim) fields.refuse(bad_request(claim.error().message));
    if (claim) heard.claims.push_back(*claim);
  }
  const Json progress = fields.object("progress");
  for (const auto& [claim, text] : progress.items()) {
    if (const Result<ClaimId> known = parse_claim_id(claim); !known) fields.refuse(bad_request(known.error().message));
    if (!text.is_string())
      fields.refuse(bad_request("Expected a text as the progress of a claim, but found " + excerpt(text, 60) + "."));
    else
      heard.progress[claim] = text;
  }
  return fields.result(std::move(heard));
}

}  // namespace cairn
