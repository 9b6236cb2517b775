#include <algorithm>
#include <thread>
#include <utility>

#include "ops/http/transport/message.hpp"
#include "ops/library/http_transport.hpp"
#include "ops/library/library.hpp"
#include "ops/library/plain_json.hpp"
#include "ops/library/run_state.hpp"
#include "ops/library/transport.hpp"
#include "workers/ids.hpp"
#include "workers/models/event_stream.hpp"

namespace cairn::library {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t events_per_page = 1'000;
constexpr std::size_t rows_per_page = 500;
constexpr milliseconds wait_per_request{25'000};
constexpr milliseconds reply_time{30'000};
constexpr milliseconds follow_pause{200};
constexpr milliseconds short_stream{1'000};  // one that says nothing is broken
constexpr int breaks_in_a_row_max = 50;
constexpr std::size_t event_bytes_max = std::size_t{64} << 20;

[[noreturn]] void throw_not_ours(const Answered& answer) {
  throw Unavailable("Expected an answer of Cairn, but found: " + answer.body.substr(0, 60));
}

Json document_of(const Answered& answer) {
  Json document = Json::parse(answer.body, nullptr, false);
  if (document.is_discarded()) throw_not_ours(answer);
  return document;
}

void check_status(const Answered& answer) {
  if (answer.status < 300) return;
  const Json document = Json::parse(answer.body, nullptr, false);
  const bool is_refusal = document.is_object() && document.contains("error") && document["error"].is_object();
  if (answer.status < 400 || !is_refusal) throw_not_ours(answer);
  const Json& error = document["error"];
  throw Refused(answer.status, error.value("code", "invalid"), error.value("message", "It was refused."));
}

Json ask(Transport& transport, const Asked& asked) {
  const Answered answer = transport.exchange(asked);
  check_status(answer);
  return document_of(answer);
}

std::vector<Json> rows_of(const Json& document, const Answered& answer) {
  if (!document.is_array()) throw_not_ours(answer);
  return document.get<std::vector<Json>>();
}

// A text that the answer must have.
std::string text_of(const Json& document, const char* name) {
  const auto found = document.is_object() ? document.find(name) : document.end();
  if (!document.is_object() || found == document.end() || !found->is_string())
    throw Unavailable(std::string("Expected an answer of Cairn with \"") + name + "\", but it has none.");
  return found->get<std::string>();
}

Query at_query(const std::string& at) { return at.empty() ? Query() : Query{{"at", at}}; }

Asked read_of(const std::string& run, const std::string& part, Query query = {}) {
  return {"GET", {"runs", run, part}, std::move(query)};
}

// Throws Refused `invalid`: what JSON has not.
std::string body_of(const Json& document) {
  if (const std::string found = beyond_json(document); !found.empty())
    throw Refused(400, "invalid", "Expected a request that is JSON, but found " + found + " in it.");
  return document.dump();
}

Asked command_of(const std::string& run, const std::string& part, const Json& body, bool is_repeatable = false) {
  return {"POST", {"runs", run, part}, {}, body_of(body), is_repeatable};
}

// The query of the list's next page, as the answer's Link says; empty: there is none.
Query next_query(const Answered& answer) {
  const auto link = answer.headers.find("link");
  if (link == answer.headers.end() || link->second.find("rel=\"next\"") == std::string::npos) return {};
  const std::size_t begin = link->second.find('?'), end = link->second.find('>');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  const Result<ApiRequest> next = request_of("GET", "/" + link->second.substr(begin, end - begin));
  return next ? next->query : Query();
}

std::vector<Json> list(Transport& transport, const std::string& path, const Texts& where, std::size_t limit) {
  Query query(where.begin(), where.end());
  query.emplace_back("limit", std::to_string(std::min(limit, rows_per_page)));
  std::vector<Json> rows;
  while (rows.size() < limit && !query.empty()) {
    const Answered answer = transport.exchange({"GET", {path}, query});
    check_status(answer);
    std::vector<Json> page = rows_of(document_of(answer), answer);
    page.resize(std::min(page.size(), limit - rows.size()));
    std::move(page.begin(), page.end(), std::back_inserter(rows));
    query = next_query(answer);
  }
  return rows;
}

// The events of a run in the bytes of a stream, each once although the stream breaks off.
class FollowedEvents {
 public:
  FollowedEvents(std::int64_t after, const std::function<void(const Json&)>& on_event)
      : after_(after), on_event_(on_event) {}

  void take(std::string_view more) {
    for (const std::string& data : stream_.add(more)) take_event(data);
    if (stream_.bytes_kept() > event_bytes_max)
      throw Unavailable("Expected events of at most 64 MiB, but found a larger one.");
  }
  void break_off() { stream_.begin_again(); }
  std::int64_t after() const { return after_; }

 private:
  void take_event(const std::string& data) {
    const Json event = Json::parse(data, nullptr, false);
    if (!event.is_object() || !event.contains("seq") || !event["seq"].is_number_integer())
      throw Unavailable("Expected events of a run, but found others.");
    if (event["seq"].get<std::int64_t>() <= after_) return;
    after_ = event["seq"].get<std::int64_t>();
    on_event_(event);
  }

  std::int64_t after_;
  const std::function<void(const Json&)>& on_event_;
  EventStream stream_;
};

Json without_empty(Json fields) {
  Json given = Json::object();
  for (auto& [name, value] : fields.items()) {
    const bool is_empty = value.is_null() || (value.is_string() && value.get_ref<const std::string&>().empty()) ||
                          (value.is_object() && value.empty()) || (value.is_boolean() && !value.get<bool>());
    if (!is_empty) given[name] = std::move(value);
  }
  return given;
}

}  // namespace

Client::Client(ClientOptions options) : transport_(make_http_transport(options)) {}
Client::Client(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

std::string Client::add_graph(const Json& graph) {
  return text_of(ask(*transport_, {"POST", {"graphs"}, {}, body_of(graph)}), "version");
}

// A start has always a key, as its request may have to go twice.
std::string Client::start(const std::string& graph, const Json& input, const StartOptions& options) {
  Json body = without_empty({{"tags", options.tags}, {"options", options.options}, {"continues", options.continues}});
  body["graph"] = graph;
  body["input"] = input;
  body["key"] = options.key.empty() ? to_string(new_run_id()) : options.key;
  return text_of(ask(*transport_, {"POST", {"runs"}, {}, body_of(body)}), "run");
}

Json Client::state(const std::string& run, const std::string& at) {
  return ask(*transport_, {"GET", {"runs", run}, at_query(at)});
}

Json Client::wait(const std::string& run, std::optional<milliseconds> timeout) {
  const auto begin = std::chrono::steady_clock::now();
  while (true) {
    const auto gone = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
    const milliseconds left = timeout ? *timeout - gone : wait_per_request;
    const milliseconds wait = std::clamp(left, milliseconds{1}, wait_per_request);
    const Query query = {{"wait_ms", std::to_string(wait.count())}};
    Json state = ask(*transport_, {"GET", {"runs", run}, query, "", true, reply_time + wait});
    if (has_ended(state)) return state;
    if (!timeout || left > wait) continue;
    throw Unavailable("Expected run " + run + " to end within " + std::to_string(timeout->count()) + " ms, but it is " +
                      text_of(state, "status") + ".");
  }
}

std::vector<Json> Client::events(const std::string& run, std::int64_t after) {
  std::vector<Json> all;
  for (std::size_t seen = 1; seen > 0;) {
    const Query page = {{"from", std::to_string(after + 1)}, {"limit", std::to_string(events_per_page)}};
    const Answered answer = transport_->exchange(read_of(run, "events", page));
    check_status(answer);
    std::vector<Json> events = rows_of(document_of(answer), answer);
    seen = events.size();
    if (seen > 0) after = events.back().value("seq", after + events_per_page);
    std::move(events.begin(), events.end(), std::back_inserter(all));
  }
  return all;
}

void Client::follow(const std::string& run, const std::function<void(const Json&)>& on_event, std::int64_t after) {
  FollowedEvents events(after, on_event);
  for (int breaks = 0; breaks <= breaks_in_a_row_max; ++breaks) {
    events.break_off();
    const auto began = std::chrono::steady_clock::now();
    const Answered answer = transport_->stream(run, events.after(), [&](std::string_view more) {
      breaks = 0;
      events.take(more);
    });
    if (std::chrono::steady_clock::now() - began > short_stream) breaks = 0;  // nothing has happened, and no more
    const bool is_to_begin = answer.status == 404 && events.after() == 0;
    if (!is_to_begin) check_status(answer);
    const Json now = state(run);  // refused, unless the run is there or its start waits
    breaks = is_to_begin ? 0 : breaks;
    if (has_ended(now) && now.value("seq", std::int64_t{0}) <= events.after()) return;
    std::this_thread::sleep_for(follow_pause);
  }
  throw Unavailable("Expected the events of run " + run + ", but their stream breaks again and again.");
}

Json Client::explain(const std::string& run) { return ask(*transport_, read_of(run, "explain")); }

std::vector<Json> Client::plan(const std::string& run, const std::string& at) {
  const Answered answer = transport_->exchange(read_of(run, "plan", at_query(at)));
  check_status(answer);
  return rows_of(document_of(answer), answer);
}

Json Client::diff(const std::string& run, const std::string& other) {
  return ask(*transport_, read_of(run, "diff", {{"with", other}}));
}

Json Client::verify(const std::string& run) { return ask(*transport_, read_of(run, "verify")); }

std::vector<Json> Client::runs(const Texts& where, std::size_t limit) {
  return list(*transport_, "runs", where, limit);
}

std::vector<Json> Client::questions(const Texts& where, std::size_t limit) {
  return list(*transport_, "questions", where, limit);
}

void Client::answer(const std::string& run, const Json& value, const AnswerOptions& options) {
  Json body = without_empty({{"question", options.question}, {"by", options.by}});
  body["value"] = value;
  ask(*transport_, command_of(run, "answers", body));
}

void Client::signal(const std::string& run, const std::string& name, const Json& value, const std::string& id) {
  const Json body = {{"name", name}, {"value", value}, {"id", id.empty() ? to_string(new_run_id()) : id}};
  try {
    ask(*transport_, command_of(run, "signals", body, true));
  } catch (const Refused& refused) {
    if (refused.code() != "conflict") throw;  // else the run has it: this request went twice, or the id was given twice
  }
}

void Client::cancel(const std::string& run, const std::string& reason, bool now) {
  ask(*transport_, command_of(run, "cancel", without_empty({{"reason", reason}, {"now", now}})));
}

void Client::pause(const std::string& run, const std::string& reason) {
  ask(*transport_, command_of(run, "pause", without_empty({{"reason", reason}})));
}

void Client::resume(const std::string& run, const std::string& reason) {
  ask(*transport_, command_of(run, "resume", without_empty({{"reason", reason}})));
}

std::string Client::retry(const std::string& run, const std::string& reason) {
  return text_of(ask(*transport_, command_of(run, "retry", without_empty({{"reason", reason}}))), "run");
}

std::string Client::reset(const std::string& run, const std::string& to, const std::string& reason) {
  return text_of(ask(*transport_, command_of(run, "reset", without_empty({{"to", to}, {"reason", reason}}))), "run");
}

std::string Client::fork(const std::string& run, std::int64_t at, const ForkOptions& options) {
  Json body = without_empty({{"set", options.set},
                             {"answer", options.answers},
                             {"graph", options.graph},
                             {"tags", options.tags},
                             {"recorded", options.recorded},
                             {"reason", options.reason}});
  body["at"] = at;
  return text_of(ask(*transport_, command_of(run, "fork", body)), "run");
}

}  // namespace cairn::library
