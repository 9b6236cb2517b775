#include "ops/http/read_routes.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "ops/answers/answer_room.hpp"
#include "ops/answers/bounded_state.hpp"
#include "ops/answers/called_runs.hpp"
#include "ops/answers/explain_facts.hpp"
#include "ops/answers/graph_formats.hpp"
#include "ops/answers/plan_status.hpp"
#include "ops/answers/queues.hpp"
#include "ops/answers/sessions.hpp"
#include "ops/answers/step_progress.hpp"
#include "ops/audit/auditor.hpp"
#include "ops/audit/diff.hpp"
#include "ops/audit/exporter.hpp"
#include "ops/http/bodies/bodies.hpp"
#include "ops/http/bodies/fields.hpp"
#include "ops/http/covered_runs.hpp"
#include "ops/http/description_route.hpp"
#include "ops/http/list_page.hpp"
#include "ops/http/metrics.hpp"
#include "ops/http/streams/event_stream.hpp"
#include "ops/http/transport/entity_tag.hpp"
#include "ops/metrics/exposition.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/scheduling/waiting_starts.hpp"
#include "storage/digest.hpp"
#include "storage/limit_book.hpp"
#include "storage/proof/run_records.hpp"

namespace cairn {
namespace {

constexpr std::size_t progress_shown_max = 4u << 20;  // with a run's state
constexpr std::int64_t plan_lines_max = 1'000'000'000;

Result<GraphRef> covered_graph(const RouteCall& call) {
  Result<GraphRef> graph = find_graph(call.client, call.name);
  if (call.scope().covers_graph(graph ? (*graph)->name : call.name)) return graph;
  return no_such_graph(call.name);
}

// The session with the queues that the scope covers; nothing if it serves none of them.
std::optional<SessionRow> covered_session(SessionRow session, const Scope& scope) {
  if (scope.queues.empty()) return session;
  std::erase_if(session.queues, [&scope](const std::string& queue) { return !scope.covers_queue(queue); });
  if (session.queues.empty()) return {};
  return session;
}

// A number whose order as text is its own.
std::string in_order(std::int64_t number) {
  const std::string text = std::to_string(number);
  return std::string(text.size() < 20 ? 20 - text.size() : 0, '0') + text;
}

}  // namespace

RouteReply list_runs(RouteCall& call) {
  const Result<RunFilter> filter = filter_asked(call, call.request);
  if (!filter) return filter.error();
  const std::vector<RunRow> rows = covered_runs(call, *filter);
  std::vector<Json> lines;
  for (const RunRow& row : rows) lines.push_back(run_json(row));
  RouteReply reply = list_response(call.request, lines);
  const bool may_be_more = static_cast<std::int64_t>(rows.size()) == filter->limit;
  if (reply && may_be_more)
    std::get<ApiResponse>(*reply).headers.emplace_back("Link", next_link(call.request, cursor_of(rows.back())));
  return reply;
}

Result<std::int64_t> wait_asked(const ApiRequest& request) {
  constexpr std::int64_t wait_ms_max = 60'000;
  return number_query(request, "wait_ms", {0, wait_ms_max});
}

ApiLater once_it_has_ended(const RouteCall& call, const RunId& run, std::int64_t wait_ms, bool is_to_begin) {
  RunWatch& watch = call.side.watch;
  const auto id = std::make_shared<RunWatch::WaitId>();
  ApiLater later;
  later.begin = [&watch, id, run, wait_ms, is_to_begin](ApiLater::OnAnswer answer) {
    *id = watch.wait(
        run, std::chrono::milliseconds(wait_ms), [answer = std::move(answer)] { answer({}); }, is_to_begin);
  };
  later.hurry = [&watch, id] { watch.hurry(*id); };
  later.gone = [&watch, id] { watch.forget(*id); };
  return later;
}

namespace {

// The list goes on where the children that a run is shown with end.
std::string link_to_children(const ApiRequest& request, const RunId& run, const RunRow& last) {
  return (request.started.empty() ? "<../runs" : "<runs") +
         query_of(
             {{"parent", to_string(run)}, {"limit", std::to_string(called_runs_max)}, {"after", cursor_of(last)}}) +
         ">; rel=\"next\"";
}

RouteReply run_to_come_or(const RouteCall& call, const RunId& run, const Error& refusal) {
  const bool is_missing = refusal.code == Code::not_found;
  const std::optional<FoundStart> start = is_missing ? start_to_come(call.store(), run) : std::nullopt;
  const GraphRef graph = start ? call.client.graphs().current(start->of.graph) : nullptr;
  if (graph == nullptr) return refusal;
  return json_response(run_to_come_json(*start, graph->version));
}

}  // namespace

RouteReply show_run(RouteCall& call) {
  if (const Status known = only_query(call.request, {"at", "raw", "channel", "wait_ms"}); !known) return known.error();
  const Result<RunId> run = run_of(call);
  if (!run) return run.error();
  const Result<std::int64_t> wait_ms = wait_asked(call.request);
  if (!wait_ms) return wait_ms.error();
  if (*wait_ms > 0 && !call.request.has_waited) {
    const std::optional<RunHead> head = call.store().all_runs().heads({&*run, 1}).front();
    const bool is_to_begin = !head && start_to_come(call.store(), *run);
    if (is_to_begin || (head && !is_ended(head->status))) return once_it_has_ended(call, *run, *wait_ms, is_to_begin);
  }
  return state_response(call, *run);
}

RouteReply state_response(RouteCall& call, const RunId& run) {
  const Result<Moment> at = moment_query(call.request);
  if (!at) return at.error();
  const Result<RunState> state = state_at(call.client, run, *at);
  if (!state) return run_to_come_or(call, run, state.error());
  const Result<bool> raw = query_flag(call.request, "raw");
  if (!raw) return raw.error();
  const std::string channel = query_text(call.request, "channel");
  Result<Json> shown = channel.empty() ? bounded_state(call.client, *state, call.shard(run), *raw)
                                       : bounded_channel(call.client, *state, call.shard(run), channel);
  if (!shown) return shown.error();
  const std::optional<RunFilter> calls = channel.empty() ? called_filter(*state) : std::nullopt;
  const std::vector<RunRow> called = calls ? covered_runs(call, *calls) : std::vector<RunRow>();
  if (!called.empty()) (*shown)["children"] = called_json(called);
  const bool has_more_children = std::ssize(called) > called_runs_max;
  if (channel.empty() && query_text(call.request, "at").empty() && !is_ended(state->status)) {
    Json progress = progress_json(call.store().progress().of(run), progress_shown_max);
    if (!progress.empty()) (*shown)["progress"] = std::move(progress);
  }
  ApiResponse response = json_response(*shown);
  if (has_more_children)
    response.headers.emplace_back("Link", link_to_children(call.request, run, called[called_runs_max - 1]));
  return response;
}

namespace {

// The pages that follow are of the same moment, whatever becomes of the plan meanwhile.
std::string link_to_rest(const RunState& state, std::int32_t limit, std::size_t after) {
  return "<" +
         query_of(
             {{"at", std::to_string(state.seq)}, {"limit", std::to_string(limit)}, {"after", std::to_string(after)}}) +
         ">; rel=\"next\"";
}

}  // namespace

RouteReply show_plan(RouteCall& call) {
  const Result<PageWanted> wanted = page_query(call.request, {"at", "limit", "after"});
  if (!wanted) return wanted.error();
  const Result<std::int64_t> after = number_query(call.request, "after", {0, plan_lines_max});
  if (!after) return after.error();
  const Result<RunId> run = run_of(call);
  if (!run) return run.error();
  const Result<Moment> at = moment_query(call.request);
  if (!at) return at.error();
  Result<RunState> state = state_at(call.client, *run, *at);
  if (!state) return state.error();
  if (const Status known = project_plan_status(call.client, *state); !known) return known.error();
  const PlanPart part{static_cast<std::size_t>(*after), wanted->limit};
  const Result<PlanPage> page = bounded_plan(call.client, *state, call.shard(*run), part);
  if (!page) return page.error();
  ApiResponse response = json_response(page->lines);
  if (page->next) response.headers.emplace_back("Link", link_to_rest(*state, *wanted->limit, *page->next));
  return response;
}

RouteReply explain_run(RouteCall& call) {
  if (const Status known = only_query(call.request, {}); !known) return known.error();
  const Result<RunId> run = run_of(call);
  if (!run) return run.error();
  const Result<Explained> seen = read_explained(call.client, call.store(), call.side.opened.dsn, *run);
  if (!seen) return seen.error();
  return json_response(explained_json(*seen));
}

namespace {

Result<DiffSide> side_of(const RouteCall& call, const Result<RunId>& run, const char* moment) {
  if (!run) return run.error();
  if (const Status covered = check_run(call, *run); !covered) return covered.error();
  const std::string at = query_text(call.request, moment);
  const Result<Moment> asked = at.empty() ? Moment{} : moment_argument(at);
  if (!asked) return asked.error();
  Result<RunState> state = state_at(call.client, *run, *asked);
  if (!state) return state.error();
  return diff_side(call.client, *std::move(state));
}

}  // namespace

RouteReply diff_run(RouteCall& call) {
  if (const Status known = only_query(call.request, {"with", "at", "with_at"}); !known) return known.error();
  const std::string with = query_text(call.request, "with");
  if (with.empty() && query_text(call.request, "at").empty())
    return bad_request("Expected ?with=RUN, or ?at= for another moment of the run itself, but found neither.");
  const Result<RunId> run = run_of(call);
  const Result<DiffSide> a = side_of(call, run, "at");
  if (!a) return a.error();
  const Result<DiffSide> b = side_of(call, with.empty() ? run : run_named(call, with), "with_at");
  if (!b) return b.error();
  ApiResponse response = json_response(diff_json(*a, *b));
  if (response.body.size() <= answer_bytes_max) return response;
  return Error{Code::limit, "Expected a difference of at most " + std::to_string(answer_bytes_max) +
                                " bytes, but it takes more: `cairn diff` prints it."};
}

namespace {

constexpr std::size_t export_bytes_max = 32u << 20;

struct ExportTooLong {};  // thrown by the sink

}  // namespace

RouteReply export_run(RouteCall& call) {
  if (const Status known = only_query(call.request, {}); !known) return known.error();
  const Result<RunId> run = run_of(call);
  if (!run) return run.error();
  const std::optional<RunRow> row = call.store().run(*run);
  if (!row) return no_such_run(call.name);
  ApiResponse response{200, "", "application/x-ndjson"};
  std::string left_out;
  try {
    ExportWriter writer(
        [&response](std::string_view bytes) {
          if (response.body.size() + bytes.size() > export_bytes_max) throw ExportTooLong{};
          response.body += bytes;
        },
        ExportForm::plain);
    Exporter exporter(call.store(), writer, call.caller->actor, Exporter::Purpose::copy);
    exporter.add({&*row, 1}, [&left_out](const RunId&, const std::string& says) { left_out = says; });
    CheckpointTable checkpoints(call.side.opened.dsn, call.store().shards());
    const bool has_checkpoints = call.scope().covers_all_runs() && !call.parts.is_in_memory();
    exporter.end(has_checkpoints ? &checkpoints : nullptr);
  } catch (const ExportTooLong&) {
    return Error{Code::limit, "Expected an export of at most " + std::to_string(export_bytes_max) + " bytes, but run " +
                                  to_string(*run) + " has more: `cairn export` writes it."};
  }
  if (!left_out.empty()) return Error{Code::corrupt, left_out};
  response.headers.emplace_back("Content-Disposition", "attachment; filename=\"" + to_string(*run) + ".jsonl\"");
  return response;
}

RouteReply verify_run(RouteCall& call) {
  if (const Status known = only_query(call.request, {}); !known) return known.error();
  const Result<RunId> run = run_of(call);
  if (!run) return run.error();
  RunRecords records(call.side.opened.dsn, call.store().shards(), 1);
  Auditor auditor(call.store(), records, Auditor::Extent::with_values_and_origin);
  const Audited audited = auditor.audit(RunPlace{*run, call.shard(*run)});
  Json findings = Json::array();
  for (const Finding& finding : audited.findings) findings.push_back(finding_json(finding));
  if (const std::optional<RunRow> row = call.store().run(*run))
    for (const Finding& finding : graph_findings(call.store().graphs().of(std::vector{row->version})))
      findings.push_back(finding_json(finding));
  return json_response({{"run", to_string(*run)},
                        {"events", audited.events},
                        {"sound", findings.empty()},
                        {"findings", std::move(findings)}});
}

RouteReply list_graphs(RouteCall& call) {
  std::vector<KeyedLine> lines;
  for (const GraphRow& row : call.store().graphs().names())
    if (call.scope().covers_graph(row.name))
      lines.push_back({row.name + "." + row.version, graph_json(row, *call.side.opened.catalogue)});
  return page_response(call.request, std::move(lines));
}

RouteReply show_graph(RouteCall& call) {
  if (const Status known = only_query(call.request, {"format"}); !known) return known.error();
  const std::string format = query_text(call.request, "format");
  if (!format.empty() && !is_one_of(format, {"json", "mermaid", "dot", "svg", "openapi"}))
    return Error{Code::invalid, "Expected a format json, mermaid, dot, svg or openapi, but found \"" + format + "\"."};
  call.client.load_graphs();
  const Result<GraphRef> graph = covered_graph(call);
  if (!graph) return graph.error();
  if (format.empty() || format == "json")
    return tagged_response(call.request, (*graph)->version, json_response(parse_stored((*graph)->text)));
  if (format == "openapi") {
    ApiResponse described = json_response(graph_description(**graph));
    const std::string tag = hex(sha256(described.body));
    return tagged_response(call.request, tag, std::move(described));
  }
  Result<std::string> text = graph_as(**graph, format);
  if (!text && text.error().code == Code::limit) return later_response(503, 5, text.error().message);
  if (!text) return text.error();
  const std::string tag = hex(sha256(*text));
  const char* type = format == "svg" ? "image/svg+xml" : "text/plain; charset=utf-8";
  return tagged_response(call.request, tag, {200, *std::move(text), type});
}

RouteReply list_queues(RouteCall& call) {
  std::vector<KeyedLine> lines;
  for (const auto& [name, line] : queue_lines(call.store()))
    if (call.scope().covers_queue(name)) lines.push_back({name, limits_seen(call, queue_json(name, line))});
  return page_response(call.request, std::move(lines));
}

RouteReply show_queue_age(RouteCall& call) {
  if (const Status known = only_query(call.request, {}); !known) return known.error();
  return json_response(call.parts.queue_ages.of(call.name, call.scope().covers_queue(call.name)));
}

// The keys are of anybody's inputs: only a token that may see all runs sees them.
RouteReply budgets_of_queue(RouteCall& call) {
  if (const Status known = only_query(call.request, {"limit", "after"}); !known) return known.error();
  const Result<std::int32_t> limit = limit_query(call.request, budget_keys_max);
  if (!limit) return limit.error();
  const Result<std::int64_t> after = number_query(call.request, "after", {0, budget_keys_max});
  if (!after) return after.error();
  if (!call.scope().covers_queue(call.name))
    return Error{Code::not_found, "Expected a queue named " + call.name + ", but there is none."};
  const KeyPlaces keys{static_cast<std::int32_t>(*after), call.scope().covers_all_runs() ? *limit : 0};
  const Result<BudgetPage> page = budget_page(call.store(), call.name, keys);
  if (!page) return page.error();
  std::vector<Json> lines;
  for (const BudgetLine& line : page->lines) lines.push_back(budget_line_json(line));
  if (!page->next) return list_response(call.request, lines);
  return linked_response(call.request, lines, next_link(call.request, std::to_string(*page->next)));
}

RouteReply history_of_queue(RouteCall& call) {
  constexpr std::int32_t changes_max = 10'000;
  const Result<HistoryPage> page = history_query(call.request, changes_max);
  if (!page) return page.error();
  if (!call.scope().covers_queue(call.name))
    return Error{Code::not_found, "Expected a queue named " + call.name + ", but there is none."};
  const std::vector<LimitChangeRow> changes =
      call.store().limits().limit_changes(call.name, page->before, page->limit + 1);
  std::vector<KeyedLine> lines;
  for (const LimitChangeRow& change : changes)
    lines.push_back({std::to_string(change.limits.revision), limits_seen(call, limit_change_json(change))});
  return history_response(call.request, std::move(lines), page->limit);
}

// The keys are of anybody's inputs: only a token that may see all runs sees them.
RouteReply list_starts(RouteCall& call) {
  constexpr std::int32_t start_keys_max = 10'000;
  const Result<PageWanted> wanted = page_query(call.request);
  if (!wanted) return wanted.error();
  const Result<StartKey> after = wanted->after.empty() ? StartKey() : start_cursor(wanted->after, "after");
  if (!after) return after.error();
  const auto limit = static_cast<std::size_t>(wanted->limit.value_or(start_keys_max));
  std::vector<Json> lines;
  StartKey last;
  bool goes_on = false;
  if (call.scope().covers_all_runs())
    for (auto& [of, line] : start_key_lines(call.store(), "", static_cast<std::int32_t>(limit) + 1, *after)) {
      goes_on = lines.size() == limit;
      if (goes_on) break;
      lines.push_back(std::move(line));
      last = of;
    }
  if (!goes_on) return list_response(call.request, lines);
  return linked_response(call.request, lines, next_link(call.request, last.graph + " " + last.key));
}

RouteReply list_workers(RouteCall& call) {
  const TimeUs now_us = call.store().database_time();
  std::vector<KeyedLine> lines;
  std::map<SessionId, std::int64_t> held = call.store().sessions().held_counts();
  for (const SessionRow& row : call.store().sessions().all())
    if (const auto session = covered_session(row, call.scope()))
      lines.push_back(
          {in_order(row.started_at) + "." + std::to_string(row.id), session_json(*session, held[row.id], now_us)});
  return page_response(call.request, std::move(lines));
}

namespace {

// In a list: it names no run, since that of the last one may lie beyond the caller's scope.
std::string place_of(const HeldJob& held) {
  return hex(sha256(to_string(held.run) + "." + std::to_string(held.job.branch)));
}

// Those after `after`, by their places; one more than `limit`.
std::map<std::string, HeldJob> held_after(Store& store, SessionId session, const std::string& after,
                                          std::int32_t limit) {
  std::map<std::string, HeldJob> held;
  for (HeldJob& one : store.sessions().held_by(session, held_read_max, {}))
    if (std::string place = place_of(one); place > after) held.emplace(std::move(place), std::move(one));
  while (std::ssize(held) > limit + 1) held.erase(std::prev(held.end()));
  return held;
}

}  // namespace

RouteReply show_worker(RouteCall& call) {
  if (const Status known = only_query(call.request, {"limit", "after"}); !known) return known.error();
  const Result<std::int32_t> limit = limit_query(call.request, held_shown_max);
  if (!limit) return limit.error();
  Store& store = call.store();
  for (const SessionRow& row : store.sessions().all()) {
    if (std::to_string(row.id) != call.name) continue;
    const auto session = covered_session(row, call.scope());
    if (!session) break;
    std::map<std::string, HeldJob> all = held_after(store, row.id, query_text(call.request, "after"), *limit);
    const bool goes_on = std::ssize(all) > *limit;
    if (goes_on) all.erase(std::prev(all.end()));
    Json holds = Json::array();
    for (const auto& [place, held] : all)
      if (const auto run = store.run(held.run); run && call.scope().covers(*run))
        holds.push_back(held_json(held, *run));
    Json shown = session_json(*session, store.sessions().held_counts()[row.id], store.database_time());
    shown["holds"] = std::move(holds);
    ApiResponse response = json_response(shown);
    if (goes_on) response.headers.emplace_back("Link", next_link(call.request, all.rbegin()->first));
    return response;
  }
  return Error{Code::not_found, "Expected a session " + call.name + ", but there is none."};
}

RouteReply show_metrics(RouteCall& call) {
  if (!call.scope().covers_all_runs() || !call.scope().queues.empty())
    return forbidden_response("Expected a token without a scope for the metrics, but " + call.caller->token +
                              " has one.");
  return ApiResponse{200,
                     call.parts.metrics.text() + access_metrics_text(call.parts.guard.wrong_tokens()) +
                         request_metrics_text(call.parts.requests) +
                         refused_reports_text(static_cast<std::int64_t>(call.parts.reports_refused.value())) +
                         work_metrics_text(*call.parts.primary.opened.counts) + process_metrics_text(),
                     metrics_type};
}

namespace {

// The stream outlives the call; each piece is read with whichever client is free.
RouteReply stream_of(const RouteCall& call, const EventCursor& from) {
  std::shared_ptr<void> place = call.parts.quotas.take_stream(*call.caller);
  if (place == nullptr)
    return later_response(429, 5, "Expected fewer streams at once of token " + call.caller->token + ".");
  ApiStream stream = event_stream_reply();
  const auto run = std::make_shared<RunWatch::Follower>(call.side.watch.follow(from.run));
  stream.next = [&tokens = call.parts.tokens, &side = call.side, caller = call.caller, place = std::move(place), run,
                 cursor = from]() mutable -> std::optional<ApiStream::Chunk> {
    if (!tokens.knows(*caller)) return {};  // it was revoked
    if (run->is_lost()) return {};          // its client comes again, and is led to where there is news
    const std::optional<RunHead> head = run->head();
    if (!run->is_known() || !has_news(cursor, head)) return ApiStream::Chunk{};
    return next_chunk([&] { return next_events(*ClientPool::Loan(side.clients), *side.opened.store, cursor, head); });
  };
  return stream;
}

// The link from a full page to the next one, relative to itself.
std::string next_page(const EventsWanted& wanted, std::int64_t from) {
  const std::string limit = wanted.limit == events_page ? "" : "&limit=" + std::to_string(wanted.limit);
  return "<?from=" + std::to_string(from) + limit + (wanted.raw ? "&raw=true" : "") + ">; rel=\"next\"";
}

RouteReply page_of_events(RouteCall& call, const RunId& run, const EventsWanted& wanted) {
  constexpr std::size_t bytes_max = 8 << 20;
  const bool is_array = !accepts(call.request, json_lines);
  ApiResponse page{200, is_array ? "[" : "", std::string(is_array ? "application/json" : json_lines)};
  std::int64_t last = 0;
  std::int32_t count = 0;
  const Status read = for_each_event(call.client, run, call.shard(run), wanted, [&](const Json& line) {
    page.body += (is_array && count > 0 ? "," : "") + canonical(line) + (is_array ? "" : "\n");
    last = line["seq"];
    return ++count < wanted.limit && page.body.size() < bytes_max;
  });
  if (!read) return read.error();
  if (is_array) page.body += "]\n";
  if (count == wanted.limit || page.body.size() >= bytes_max)
    page.headers.emplace_back("Link", next_page(wanted, last + 1));
  return page;
}

}  // namespace

namespace {

// As other flags, or 1.
Result<bool> progress_asked(const ApiRequest& request) {
  if (query_text(request, "progress") == "1") return true;
  return query_flag(request, "progress");
}

}  // namespace

RouteReply show_events(RouteCall& call) {
  const Result<EventsWanted> wanted = events_query(call.request);
  if (!wanted) return wanted.error();
  const Result<RunId> run = run_of(call);
  if (!run) return run.error();
  const Result<bool> follow = query_flag(call.request, "follow");
  if (!follow) return follow.error();
  const Result<bool> progress = progress_asked(call.request);
  if (!progress) return progress.error();
  const bool is_stream = *follow || accepts(call.request, event_stream);
  if (!is_stream && *progress)
    return Error{Code::invalid, "Expected progress with a stream of events (follow=true), but a page was asked for."};
  if (!is_stream) return page_of_events(call, *run, *wanted);
  if (const auto none = call.client.events(*run, wanted->after, 1); !none) return none.error();
  const bool is_again = !call.request.header("last-event-id").empty();
  if (is_again && has_ended_by(call.store(), *run, wanted->after)) return ApiResponse{204, "", ""};
  return stream_of(call, {*run, call.shard(*run), wanted->after, wanted->raw, *progress});
}

}  // namespace cairn
