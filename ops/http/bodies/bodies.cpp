#include "ops/http/bodies/bodies.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

#include "engine/bounds.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/budget_arguments.hpp"
#include "ops/requests/feed_arguments.hpp"
#include "ops/requests/run_filter.hpp"

namespace cairn {
namespace {

Result<std::int64_t> number_of(const std::string& text, std::string_view name, std::int64_t least, std::int64_t most) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc{} || read.ptr != end || number < least || number > most)
    return bad_request("Expected a number from " + std::to_string(least) + " to " + std::to_string(most) + " as " +
                       std::string(name) + ", but found \"" + text + "\".");
  return number;
}

constexpr std::int64_t seq_max = std::numeric_limits<std::int64_t>::max() - 1;

Status add_tag(RunQuery& query, const std::string& text) {
  const Result<Tags> tags = tags_argument({text});
  if (!tags) return tags.error();
  for (const auto& [key, tag] : *tags)
    if (const Status added = add_term(query, "tag." + key, tag); !added) return added;
  return Done{};
}

Status set_limit(std::int32_t& limit, const std::string& text, std::int64_t most) {
  const Result<std::int64_t> number = number_of(text, "limit", 1, most);
  if (!number) return number.error();
  limit = static_cast<std::int32_t>(*number);
  return Done{};
}

}  // namespace

namespace {

// The header says what `key` says; as a structured field it stands in quotes (the IETF's draft of this header).
Result<std::string> idempotency_key(const ApiRequest& request) {
  std::string key = request.header("idempotency-key");
  if (key.empty() && request.headers.contains("idempotency-key"))
    return bad_request("Expected an Idempotency-Key of visible ASCII letters, but found an empty one.");
  const bool is_quoted = key.size() > 2 && key.starts_with('"') && key.ends_with('"');
  if (is_quoted) key = key.substr(1, key.size() - 2);
  const auto is_plain = [](char c) { return c > ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (!std::all_of(key.begin(), key.end(), is_plain))
    return bad_request("Expected an Idempotency-Key of visible ASCII letters, but found others.");
  if (const Status fits = check_name_here(key, "the Idempotency-Key"); !fits) return fits.error();
  return key;
}

Status take_key(std::string& key, const ApiRequest& request, const char* as) {
  const Result<std::string> header = idempotency_key(request);
  if (!header) return header.error();
  if (!header->empty() && !key.empty() && key != *header)
    return bad_request("Expected one " + std::string(as) + ", but found " + excerpt(Json(key), 60) +
                       " in the body and " + excerpt(Json(*header), 60) + " as Idempotency-Key.");
  if (key.empty()) key = *header;
  return Done{};
}

}  // namespace

Result<StartRequest> start_body(const ApiRequest& request) {
  Fields body(request, {"graph", "input", "key", "tags", "options", "continues"});
  StartRequest start;
  start.graph = body.needed_name("graph");
  start.input = body.object("input");
  if (body.has("key")) start.key = body.needed_name("key");
  start.tags = body.tags();
  start.options = body.options();
  start.continues = body.name("continues");
  if (const Status taken = take_key(start.key, request, "key of the run"); !taken) body.refuse(taken.error());
  return body.result(std::move(start));
}

bool has_runs(const ApiRequest& request) {
  const Result<Json> body = json_body(request);
  return body && body->is_object() && body->contains("runs");
}

namespace {

Result<StartRequest> start_of(const Json& item, const StartRequest& common) {
  Fields fields(known_fields(item, {"input", "key", "tags"}));
  StartRequest start = common;
  start.input = fields.object("input");
  if (fields.has("key")) start.key = fields.needed_name("key");
  for (auto& [name, value] : fields.tags()) start.tags[name] = value;
  return fields.result(std::move(start));
}

}  // namespace

Result<std::vector<StartRequest>> starts_body(const ApiRequest& request) {
  if (request.headers.contains("idempotency-key"))
    return bad_request("Expected a key for each of several runs, but found an Idempotency-Key for all of them.");
  Fields body(request, {"graph", "tags", "options", "runs"});
  StartRequest common;
  common.graph = body.needed_name("graph");
  common.tags = body.tags();
  common.options = body.options();
  const Json runs = body.needed("runs");
  if (const auto read = body.result(Done{}); !read) return read.error();
  if (!runs.is_array() || runs.empty() || runs.size() > starts_max)
    return bad_request("Expected a list of 1 to " + std::to_string(starts_max) + " runs, but found " +
                       (runs.is_array() ? std::to_string(runs.size()) : excerpt(runs, 60)) + ".");
  std::vector<StartRequest> starts;
  for (const Json& item : runs) {
    Result<StartRequest> start = start_of(item, common);
    if (!start) return bad_request("Run " + std::to_string(starts.size() + 1) + ": " + start.error().message);
    starts.push_back(*std::move(start));
  }
  return starts;
}

Result<ForkRequest> fork_body(const ApiRequest& request) {
  Fields body(request, {"at", "set", "answer", "graph", "tags", "recorded", "reason"});
  ForkRequest fork;
  fork.at = body.number("at");
  fork.edit = body.object("set");
  const Json answers = body.object("answer");
  for (const auto& [question, value] : answers.items()) fork.answers[question] = value;
  if (body.has("graph")) fork.graph = body.needed("graph");
  fork.tags = body.tags();
  fork.recorded = body.flag("recorded");
  fork.reason = body.text("reason");
  return body.result(std::move(fork));
}

Result<AnswerRequest> answer_body(const ApiRequest& request) {
  Fields body(request, {"question", "value", "by"});
  AnswerRequest answer;
  answer.question = body.name("question");
  answer.value = body.needed("value");
  answer.by = body.name("by");
  return body.result(std::move(answer));
}

Result<SignalRequest> signal_body(const ApiRequest& request) {
  Fields body(request, {"name", "value", "id"});
  SignalRequest signal;
  signal.name = body.needed_name("name");
  signal.value = body.needed("value");
  signal.id = body.name("id");
  if (const Status taken = take_key(signal.id, request, "id of the signal"); !taken) return taken.error();
  return body.result(std::move(signal));
}

Result<ControlRequest> cancel_body(const ApiRequest& request) {
  Fields body(request, {"reason", "now"});
  ControlRequest cancel{.kind = ControlRequest::Kind::cancel, .reason = body.text("reason"), .now = body.flag("now")};
  return body.result(std::move(cancel));
}

Result<ControlRequest> reason_body(const ApiRequest& request, ControlRequest::Kind kind) {
  Fields body(request, {"reason"});
  ControlRequest control{.kind = kind, .reason = body.text("reason")};
  return body.result(std::move(control));
}

Result<ControlRequest> reset_body(const ApiRequest& request) {
  Fields body(request, {"to", "reason"});
  ControlRequest reset{
      .kind = ControlRequest::Kind::reset, .reason = body.text("reason"), .to = body.needed_name("to")};
  return body.result(std::move(reset));
}

namespace {

// The name is checked here, because it is looked up in the database; the client checks the rest.
Result<Json> named_graph(Json graph) {
  if (!graph.is_object() || !graph.contains("name") || !graph["name"].is_string()) return graph;
  if (const Status fine = check_name_here(graph["name"], "the name of a graph"); !fine) return fine.error();
  return graph;
}

}  // namespace

Result<MoveBody> move_body(const ApiRequest& request) {
  Fields body(request, {"graph", "reason"});
  Result<MoveBody> move = body.result(MoveBody{body.needed("graph"), body.text("reason")});
  if (!move) return move;
  if (const Result<Json> named = named_graph(move->graph); !named) return named.error();
  return move;
}

namespace {

constexpr std::int64_t queue_count_max = 1'000'000;
constexpr std::int64_t queue_ms_max = 366LL * 24 * 3'600 * 1'000;

// A rate that is null shall be none.
Result<RateChange> rate_of(Fields& body, const Json& given, const char* name) {
  RateChange change{.is_gone = given.contains(name) && !body.has(name)};
  if (!body.has(name)) return change;
  Fields rate(known_fields(body.object(name), {"n", "per_ms", "burst"}));
  if (rate.has("n")) change.n = rate.number_between("n", 1, queue_count_max, 1);
  if (rate.has("per_ms")) change.per_ms = rate.number_between("per_ms", 1, queue_ms_max, 1);
  if (rate.has("burst")) change.burst = rate.number_between("burst", 1, queue_count_max, 1);
  return rate.result(change);
}

std::optional<int> count_of(Fields& body, const char* name) {
  if (!body.has(name)) return std::nullopt;
  return static_cast<int>(body.number_between(name, 1, queue_count_max, 1));
}

// The limits of keys.
Status read_keys(Fields& body, const Json& given, QueueChange& change) {
  change.is_key_gone = given.contains("key") && !body.has("key");
  if (body.has("key")) change.key = body.text("key");
  change.is_key_limit_given = given.contains("key_concurrency");
  change.key_concurrency = count_of(body, "key_concurrency");
  const Result<RateChange> rate = rate_of(body, given, "key_rate");
  if (!rate) return rate.error();
  change.key_rate = *rate;
  if (!body.has("weights")) return Done{};
  const Json given_weights = body.object("weights");
  for (const auto& [key, weight] : given_weights.items()) {
    if (!weight.is_null() && (!weight.is_number_integer() || weight < 1 || weight > 1'000))
      return bad_request("Expected weights from 1 to 1000 or null, but found " + excerpt(weight, 60) + ".");
    change.weights[key] = weight.is_null() ? 0 : weight.get<std::int32_t>();
  }
  return Done{};
}

Status read_budgets(const Json& given, QueueChange& change) {
  for (const auto& [name, to] :
       {std::pair("budgets", &change.budgets), std::pair("key_budgets", &change.key_budgets)}) {
    if (!given.contains(name)) continue;
    Result<std::vector<UnitBudget>> budgets = read_budgets_body(given[name], name);
    if (!budgets) return bad_request(budgets.error().message);
    *to = *std::move(budgets);
  }
  if (!given.contains("reserve")) return Done{};
  Result<Reserves> reserves = read_reserves_body(given["reserve"], "reserve");
  if (!reserves) return bad_request(reserves.error().message);
  change.reserves = *std::move(reserves);
  return Done{};
}

}  // namespace

Result<QueueChange> queue_body(const ApiRequest& request) {
  const Result<Json> given =
      object_body(request, {"concurrency", "rate", "budgets", "reserve", "key", "key_concurrency", "key_rate",
                            "key_budgets", "weights", "ageing_ms", "paused", "revision"});
  if (!given) return given.error();
  Fields body(*given);
  QueueChange change{.queue = {}, .is_limit_given = given->contains("concurrency")};
  change.concurrency = count_of(body, "concurrency");
  const Result<RateChange> rate = rate_of(body, *given, "rate");
  if (!rate) return rate.error();
  change.rate = *rate;
  if (const Status fine = read_budgets(*given, change); !fine) return fine.error();
  if (const Status fine = read_keys(body, *given, change); !fine) return fine.error();
  change.is_ageing_gone = given->contains("ageing_ms") && !body.has("ageing_ms");
  if (body.has("ageing_ms")) change.ageing_ms = body.number_between("ageing_ms", 1, queue_ageing_ms_max, 1);
  if (body.has("paused")) change.paused = body.flag("paused");
  if (body.has("revision"))
    change.revision = body.number_between("revision", 0, std::numeric_limits<std::int64_t>::max(), 0);
  if (change.is_empty()) body.refuse(bad_request("Expected a limit or \"paused\" in the body, but found neither."));
  return body.result(std::move(change));
}

Result<ReplayRequest> replay_body(const ApiRequest& request) {
  Fields body(request, {"graph", "handlers"});
  ReplayRequest replay{.graph = {}, .handlers = body.flag("handlers")};
  if (body.has("graph")) {
    Result<Json> graph = named_graph(body.value("graph"));
    if (!graph) return graph.error();
    replay.graph = *std::move(graph);
  }
  return body.result(std::move(replay));
}

namespace {

void add_only(BulkRequest& bulk, Fields& body) {
  constexpr std::size_t only_max = 1'000;
  if (!body.has("only")) return;
  const std::vector<std::string> ids = body.texts("only");
  if (ids.empty() || ids.size() > only_max)
    body.refuse(bad_request("Expected 1 to 1000 runs in only, but found " + std::to_string(ids.size()) + "."));
  if (body.has("after") || body.has("limit"))
    body.refuse(bad_request("Expected either only or after and limit, but found both."));
  for (const std::string& id : ids) {
    if (const std::optional<RunId> run = parse_run_id(id))
      bulk.only.insert(*run);
    else
      body.refuse(bad_request("Expected ids of runs in only, but \"" + id + "\" is none."));
  }
}

// A field that one command takes alone is refused in the body of another one.
Status check_taken(const Fields& body, ControlRequest::Kind kind, const std::string& command) {
  using Kind = ControlRequest::Kind;
  if (kind == Kind::reset && (!body.has("to") || body.value("to") == ""))
    return bad_request("Expected to in the body of a reset, but it is missing.");
  if (kind == Kind::move && !body.has("graph"))
    return bad_request("Expected graph in the body of a move, but it is missing.");
  if (kind != Kind::move && body.has("graph"))
    return bad_request("Expected a graph in the body of a move alone, but found one in that of a " + command + ".");
  const std::string found = " alone, but found it in that of a " + command + ".";
  if (kind != Kind::cancel && body.has("now")) return bad_request("Expected now in the body of a cancel" + found);
  if (kind != Kind::reset && body.has("to")) return bad_request("Expected to in the body of a reset" + found);
  return Done{};
}

}  // namespace

Result<BulkRequest> bulk_body(const ApiRequest& request) {
  using Kind = ControlRequest::Kind;
  static const std::map<std::string, Kind> kinds = {{"cancel", Kind::cancel}, {"pause", Kind::pause},
                                                    {"resume", Kind::resume}, {"retry", Kind::retry},
                                                    {"reset", Kind::reset},   {"move", Kind::move}};
  constexpr std::int64_t runs_max = 10'000;
  Fields body(request,
              {"command", "where", "after", "limit", "only", "list", "reason", "now", "to", "graph", "dry_run"});
  BulkRequest bulk;
  const std::string command = body.needed_name("command");
  bulk.control.reason = body.text("reason");
  bulk.control.now = body.flag("now");
  bulk.control.to = body.name("to");
  bulk.control.dry_run = body.flag("dry_run");
  bulk.where.filter.limit = 1'000;
  if (body.has("limit")) bulk.where.filter.limit = static_cast<std::int32_t>(std::min(body.number("limit"), runs_max));
  if (body.has("graph")) bulk.graph = body.needed("graph");
  bulk.lists = body.flag("list");
  add_only(bulk, body);
  const Json where = body.object("where");
  const std::string after = body.text("after");
  if (const auto read = body.result(Done{}); !read) return read.error();
  const auto kind = kinds.find(command);
  if (kind == kinds.end())
    return bad_request("Expected a command cancel, pause, resume, retry, reset or move, but found \"" + command +
                       "\".");
  bulk.control.kind = kind->second;
  if (const Status taken = check_taken(body, kind->second, command); !taken) return taken.error();
  if (const Status fits = check_reason_of(bulk.control); !fits) return bad_request(fits.error().message);
  if (where.empty()) return bad_request("Expected a filter as where, but found none.");
  for (const auto& [key, value] : where.items()) {
    if (!value.is_string())
      return bad_request("Expected texts in where, but found " + excerpt(value, 60) + " as " + key + ".");
    if (const Status added = add_term(bulk.where, key, value); !added) return bad_request(added.error().message);
  }
  if (bulk.graph)
    if (const Result<Json> named = named_graph(*bulk.graph); !named) return named.error();
  if (after.empty()) return bulk;
  const Status added = add_cursor(bulk.where.filter, after);
  return added ? Result<BulkRequest>(bulk) : Result<BulkRequest>(bad_request(added.error().message));
}

Status no_body(const ApiRequest& request) { return Fields(request, {}).result(Done{}); }

Result<Json> graph_body(const ApiRequest& request) {
  Result<Json> graph = json_body(request);
  return graph ? named_graph(*std::move(graph)) : graph;
}

Status only_query(const ApiRequest& request, FieldNames known) {
  for (auto at = request.query.begin(); at != request.query.end(); ++at) {
    const std::string& name = at->first;
    if (!is_one_of(name, known))
      return bad_request("Expected " + joined(known) + " in the query, but found \"" + name + "\".");
    const auto is_again = [&name](const auto& other) { return other.first == name; };
    if (name != "tag" && std::any_of(request.query.begin(), at, is_again))
      return bad_request("Expected \"" + name + "\" once in the query, but found it twice.");
  }
  return Done{};
}

std::string query_text(const ApiRequest& request, std::string_view name) {
  for (const auto& [given, value] : request.query)
    if (given == name) return value;
  return "";
}

Result<bool> query_flag(const ApiRequest& request, std::string_view name) {
  const std::string text = query_text(request, name);
  if (!text.empty() && text != "true" && text != "false")
    return bad_request("Expected " + std::string(name) + " to be true or false, but found \"" + text + "\".");
  return text == "true";
}

Result<std::int64_t> number_query(const ApiRequest& request, std::string_view name, Between range) {
  const std::string text = query_text(request, name);
  if (text.empty()) return range.least;
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec == std::errc() && read.ptr == text.data() + text.size() && number >= range.least && number <= range.most)
    return number;
  return bad_request("Expected " + std::string(name) + " to be a number from " + std::to_string(range.least) + " to " +
                     std::to_string(range.most) + ", but found " + excerpt(Json(text), 60) + ".");
}

constexpr std::int64_t lines_max = 1'000;  // of a page

Result<PageWanted> page_query(const ApiRequest& request, FieldNames known_names) {
  if (const Status known = only_query(request, known_names); !known) return known.error();
  PageWanted wanted{.after = query_text(request, "after")};
  const std::string limit = query_text(request, "limit");
  if (limit.empty()) return wanted;
  const Status set = set_limit(wanted.limit.emplace(), limit, lines_max);
  return set ? Result<PageWanted>(wanted) : Result<PageWanted>(set.error());
}

Result<std::int32_t> limit_query(const ApiRequest& request, std::int32_t limit_max) {
  if (query_text(request, "limit").empty()) return history_limit;
  const Result<std::int64_t> limit = number_query(request, "limit", {1, limit_max});
  return limit ? Result<std::int32_t>(static_cast<std::int32_t>(*limit)) : limit.error();
}

Result<HistoryPage> history_query(const ApiRequest& request, std::int32_t limit_max) {
  if (const Status known = only_query(request, {"limit", "before"}); !known) return known.error();
  HistoryPage page;
  const Result<std::int32_t> limit = limit_query(request, limit_max);
  if (!limit) return limit.error();
  page.limit = *limit;
  if (query_text(request, "before").empty()) return page;
  const Result<std::int64_t> before = number_query(request, "before", {1, page.before});
  if (!before) return before.error();
  page.before = *before;
  page.is_first = false;
  return page;
}

Result<RunQuery> filter_query(const ApiRequest& request) {
  const Status known = only_query(request, {"graph", "version", "status", "tag", "since", "until", "lasted", "reason",
                                            "error", "node", "tool", "parent", "lineage", "limit", "after"});
  if (!known) return known.error();
  RunQuery query;
  for (const auto& [name, value] : request.query) {
    const Status added = name == "limit"   ? set_limit(query.filter.limit, value, lines_max)
                         : name == "after" ? add_cursor(query.filter, value)
                         : name == "tag"   ? add_tag(query, value)
                                           : add_term(query, name, value);
    if (!added) return added.error();
  }
  return query;
}

Result<std::string> cursor_body(const ApiRequest& request) {
  Fields body(request, {"cursor"});
  const std::string cursor = body.needed_text("cursor");
  return body.result(cursor);
}

Result<ConsumerRequest> consumer_body(const ApiRequest& request) {
  Fields body(request, {"name", "from", "graph", "tags", "types"});
  ConsumerRequest asked;
  asked.consumer.name = body.needed_name("name");
  const std::string from = body.text("from");
  asked.consumer.filter.graph = body.name("graph");
  asked.consumer.filter.tags = body.tags();
  const std::vector<std::string> types = body.texts("types");
  if (const auto read = body.result(true); !read) return read.error();
  if (const auto name = consumer_name_argument(asked.consumer.name); !name) return name.error();
  Result<std::vector<std::string>> known = event_types_argument(types);
  if (!known) return known.error();
  asked.consumer.filter.types = *std::move(known);
  if (from.empty()) return asked;
  const Result<FeedStart> start = feed_start_argument(from);
  if (!start) return start.error();
  asked.from = *start;
  return asked;
}

Result<FeedQuery> feed_query(const ApiRequest& request) {
  if (const Status known = only_query(request, {"consumer", "after", "limit", "follow"}); !known) return known.error();
  FeedQuery query{.consumer = query_text(request, "consumer"), .after = query_text(request, "after")};
  const std::string limit = query_text(request, "limit");
  if (!limit.empty())
    if (const Status set = set_limit(query.limit, limit, feed_page_max); !set) return set.error();
  const Result<bool> follow = query_flag(request, "follow");
  if (!follow) return follow.error();
  query.follow = *follow || request.header("accept").find("text/event-stream") != std::string::npos;
  const std::string last = request.header("last-event-id");
  if (query.follow && !last.empty()) query.after = last;
  return query;
}

Result<Moment> moment_query(const ApiRequest& request) {
  const std::string at = query_text(request, "at");
  return at.empty() ? Moment{} : moment_argument(at);
}

Result<EventsWanted> events_query(const ApiRequest& request) {
  if (const Status known = only_query(request, {"from", "limit", "follow", "raw", "progress"}); !known)
    return known.error();
  EventsWanted wanted;
  const Result<bool> raw = query_flag(request, "raw");
  if (!raw) return raw.error();
  wanted.raw = *raw;
  if (const std::string limit = query_text(request, "limit"); !limit.empty())
    if (const Status set = set_limit(wanted.limit, limit, events_page); !set) return set.error();
  const std::string seen = request.header("last-event-id");
  const std::string from = query_text(request, "from");
  if (seen.empty() && from.empty()) return wanted;
  const Result<std::int64_t> seq =
      seen.empty() ? number_of(from, "from", 0, seq_max) : number_of(seen, "Last-Event-ID", 0, seq_max);
  if (!seq) return seq.error();
  wanted.after = seen.empty() ? std::max<std::int64_t>(*seq, 1) - 1 : *seq;
  return wanted;
}

}  // namespace cairn
