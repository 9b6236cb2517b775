#include "ops/mcp/run_call.hpp"

#include <algorithm>

#include "ops/mcp/forms.hpp"
#include "ops/mcp/open_questions.hpp"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::hours form_wait{1};
constexpr int events_at_once = 100;

// "count: step_succeeded", or the event's type alone.
std::string progress_text(const Json& event) {
  const std::string type = event.value("type", "");
  const std::string node = event.value("node", "");
  return node.empty() ? type : node + ": " + type;
}

std::string goes_on(const RunId& run) {
  return "Run " + to_string(run) +
         " goes on. The tool cairn_show_run shows it, cairn_explain says what it waits for, and cairn_cancel ends it.";
}

}  // namespace

RunCall::RunCall(McpHostRef host, RunCallOrder order)
    : host_(std::move(host)),
      order_(std::move(order)),
      own_{order_.run, host_->follow(order_.run)},
      until_(Clock::now() + wait()) {}

RunCall::Piece RunCall::next() {
  Piece piece = news();
  return is_left_ ? Piece{{}, true} : piece;  // left meanwhile, its run may have ended by that
}

RunCall::Piece RunCall::news() {
  Piece piece;
  const std::optional<RunHead> head = own_.head();
  if (head && head->seq > own_.seen) read_events(piece, own_, head->seq);
  const bool are_read = follow_called(piece);
  if (head && is_ended(head->status) && own_.seen >= head->seq) {
    if (const std::optional<Json> now = state(); now && has_ended(*now)) end_with(piece, *now);
  } else if (head && has_question_ && are_read && own_.seen >= head->seq) {
    put_questions(piece);
  }
  if (!piece.is_last && is_declined_)
    end_unfinished(piece, "The question was declined and stays open. " + goes_on(order_.run));
  if (!piece.is_last && Clock::now() >= until_) end_late(piece);
  return piece;
}

bool RunCall::follow_called(Piece& piece) {
  bool are_read = true;
  for (std::size_t at = 0; at < called_.size(); ++at) {  // what one calls is added
    Followed followed = called_[at];
    const std::optional<RunHead> head = followed.head();
    if (head && head->seq > followed.seen) read_events(piece, followed, head->seq);
    const bool is_read = followed.is_left || (head && followed.seen >= head->seq);
    followed.is_left = followed.is_left || (is_read && is_ended(head->status));
    are_read = are_read && is_read;
    called_[at] = std::move(followed);
  }
  std::erase_if(called_, [](const Followed& one) { return one.is_left; });
  return are_read;
}

void RunCall::read_events(Piece& piece, Followed& followed, std::int64_t head) {
  if (head <= followed.seen) return;
  const ApiResponse page = host_->ask(api_get(
      {"runs", to_string(followed.run), "events"},
      {{"from", std::to_string(followed.seen + 1)}, {"limit", std::to_string(events_at_once)}, {"raw", "true"}}));
  if (!refusal_of(page).empty()) {
    followed.is_left = page.status < http_status::failures_begin;
    return;
  }
  const bool is_own = followed.run == order_.run;
  for (const Json& event : parse_stored(page.body)) {
    followed.seen = event["seq"].get<std::int64_t>();
    hear(event);
    if (is_own && !order_.progress_token.is_null()) add_progress(piece, event);
  }
}

void RunCall::hear(const Json& event) {
  const std::string type = event.value("type", "");
  if (type == "question_asked") has_question_ = true;
  if (type == "question_answered" || type == "question_expired") until_ = Clock::now() + wait();
  if (type != "child_started" || called_.size() >= asking_runs_max) return;
  if (const std::optional<RunId> child = parse_run_id(event.value("child", "")))
    called_.push_back({*child, host_->follow(*child)});
}

void RunCall::add_progress(Piece& piece, const Json& event) {
  piece.messages.push_back(notification_message(
      "notifications/progress",
      {{"progressToken", order_.progress_token}, {"progress", own_.seen}, {"message", progress_text(event)}}));
}

std::optional<Json> RunCall::state() const {
  const ApiResponse shown = host_->ask(api_get({"runs", to_string(order_.run)}));
  if (!refusal_of(shown).empty()) return std::nullopt;
  return parse_stored(shown.body);
}

std::chrono::milliseconds RunCall::wait() const { return std::chrono::milliseconds(host_->wait_ms); }

bool RunCall::has_schema() const { return !result_schema(*order_.graph, order_.peer.is_modern).is_null(); }

void RunCall::put_questions(Piece& piece) {
  const std::optional<Json> now = state();
  if (!now) return;  // asked again
  has_question_ = false;
  const Json questions = open_questions(*host_, *now);
  const Json requests = input_requests(questions, asking_of(*host_, order_.peer));
  if (is_being_answered(requests)) return;
  if (order_.peer.is_modern && !requests.empty())
    return end(
        piece,
        {{"resultType", "input_required"}, {"inputRequests", requests}, {"requestState", to_string(order_.run)}});
  for (const Json& question : questions) {
    const std::string run = question.value("run", "");
    if (!requests.contains(question.value("key", ""))) return end_unfinished(piece, question_text(run, question));
    const std::string form = form_id(run, question.value("id", ""));
    if (!forms_.insert(form).second) continue;
    piece.messages.push_back(request_message(form, "elicitation/create", *form_request(question)));
    until_ = Clock::now() + form_wait;
  }
}

// Each of them on its page, for as long as the call waits; then they are asked for again.
bool RunCall::is_being_answered(const Json& requests) const {
  if (requests.empty() || Clock::now() >= until_) return false;
  for (const auto& [key, request] : requests.items())
    if (!order_.opened.contains(key)) return false;
  return true;
}

void RunCall::end_late(Piece& piece) {
  if (!order_.opened.empty()) put_questions(piece);
  if (!piece.is_last) end_unfinished(piece, goes_on(order_.run));
}

void RunCall::end(Piece& piece, Json result) {
  piece.messages.push_back(result_message(order_.id, dressed(std::move(result), order_.peer.is_modern)));
  piece.is_last = true;
}

void RunCall::end_refused(Piece& piece, const RpcError& error) {
  piece.messages.push_back(error_message(order_.id, error));
  piece.is_last = true;
}

void RunCall::end_with(Piece& piece, const Json& state) {
  if (!order_.read) return end(piece, ended_result(state, order_.graph.get(), order_.peer.is_modern));
  Result<Json, RpcError> contents = ended_read(state, *order_.read, order_.peer.is_modern);
  if (!contents) return end_refused(piece, contents.error());
  end(piece, *std::move(contents));
}

void RunCall::end_unfinished(Piece& piece, const std::string& text) {
  if (order_.read) return end_refused(piece, {rpc::internal_error, text});
  end(piece, unfinished_result(text, has_schema()));
}

bool RunCall::is_of(const std::string& caller, const std::string& session, const Json& request_id) const {
  const bool has_session = !session.empty() && order_.peer.session == session;
  return has_session && host_->caller == caller && order_.id == request_id;
}

void RunCall::cancel() { cancel_run(*host_, order_.run); }

bool cancel_run(const McpHost& host, const RunId& run) {
  const Json reason = {{"reason", "The client cancelled the tool's call."}};
  return refusal_of(host.ask(api_post({"runs", to_string(run), "cancel"}, reason))).empty();
}

}  // namespace cairn
