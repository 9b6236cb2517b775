#include "workers/gateway/gateway.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "workers/session/declared_work.hpp"
#include "workers/session/sweeper.hpp"
#include "workers/session/worker_options.hpp"

namespace cairn {
namespace {

constexpr TimeUs again_us = 500'000;             // a call that failed
constexpr std::int32_t swept_holds_max = 1'000;  // in one scan of held jobs

CommitterOptions committer_options(const GatewayOptions& options, const ToolTable& tools) {
  CommitterOptions made;
  made.shards = options.shards;
  made.lanes = options.lanes;
  made.actor = "gateway";
  made.default_timeout_ms = options.default_timeout_ms;
  made.tools = &tools;
  made.new_id = options.new_id;
  made.draw = options.draw;
  made.new_commit = options.new_commit;
  return made;
}

}  // namespace

Gateway::Gateway(GatewayOptions options, const ToolTable& tools)
    : context_(std::move(options)),
      own_tools_(tools),
      known_tools_(tools),
      committer_(committer_options(context_.options, known_tools_)),
      sessions_(context_),
      asks_(context_, sessions_),
      claims_(context_, asks_, sessions_, committer_),
      reports_(context_, asks_, sessions_, claims_, committer_),
      sweeping_({.dead_after_us = session_silence_ms * 1'000,
                 .default_timeout_ms = context_.options.default_timeout_ms,
                 .held_max = swept_holds_max}) {
  committer_.set_capacity({.is_accepting = true, .free_slots = 0, .refills = 0});
}

// --- time -----------------------------------------------------------------------------------------------------------

void Gateway::tick(TimeUs steady_us) {
  context_.steady = std::max(context_.steady, steady_us);
  context_.now = clock_.now(context_.steady);
  if (is_ready_) committer_.tick(context_.steady, context_.now);
  sweeping_.tick(context_.steady, context_.now);
  asks_.tick();
}

TimeUs Gateway::due_us() const {
  TimeUs due = asks_.due_us();
  if (is_ready_) due = std::min(due, committer_.due_us());
  if (has_workers() && !after_names_.is_reading()) due = std::min(due, refresh_at_);
  if (has_workers() && is_ready_) due = std::min(due, sweeping_.due_us(true));
  for (const auto& [at, call] : later_) due = std::min(due, at);
  return due;
}

GatewayActions Gateway::drain_actions() {
  call_again_what_failed();
  refresh_if_due();
  if (is_ready_) {
    if (has_workers()) sweeping_.scan_if_due(true);
    dispatch_sweeps();
    claims_.claim_for_waiting();
    while (dispatch_commits()) claims_.claim_for_waiting();
  }
  claims_.end_round();
  under_way_ += static_cast<std::int64_t>(context_.actions.calls.size());
  return std::exchange(context_.actions, {});
}

void Gateway::later(GatewayCall call) { later_.emplace_back(context_.steady + again_us, std::move(call)); }

void Gateway::call_again_what_failed() {
  std::erase_if(later_, [this](auto& one) {
    if (one.first > context_.steady) return false;
    const auto* open = std::get_if<OpenRemote>(&one.second);
    if (open == nullptr || asks_.find(open->ask) != nullptr) context_.call(std::move(one.second));
    return true;
  });
}

// --- asks -----------------------------------------------------------------------------------------------------------

void Gateway::ask(AskId id, Ask ask) {
  sessions_.heard();
  if (asks_.add(id, std::move(ask)) && is_ready_) begin(id);
}

void Gateway::gone(AskId id) {
  asks_.gone(id);
  while (const std::optional<AskId> old = asks_.one_gone_too_many())
    asks_.has_begun(*old) ? reports_.give_up(*old) : asks_.drop(*old);
}

void Gateway::begin(AskId id) {
  asks_.at(id).at = Asked::At::works;
  reports_.begin(id);
  asks_.answer_if_complete(id);
}

// --- the committer --------------------------------------------------------------------------------------------------

bool Gateway::dispatch_commits() {
  CommitterActions actions = committer_.drain_actions();
  if (actions.empty()) return false;
  claims_.answer_loads(actions.loads);
  after_names_.hold(actions.loads);
  refresh_if_due();
  for (ReadHistories& one : calls_of(std::move(actions.loads))) context_.call(std::move(one));
  for (const CommitBatch& batch : actions.commits) context_.call(Commit{batch});
  for (LockedCommit& commit : actions.locked_commits) context_.call(CommitLocked{std::move(commit)});
  for (PutSnapshot& one : actions.snapshots) context_.call(KeepSnapshot{std::move(one)});
  for (const GoneBack& one : actions.gone_back) context_.note(Note::Level::warning, to_sentence(one));
  for (const Offered& offered : actions.offered)
    if (offered.run_at_us <= context_.now) asks_.lines().offered(offered.queue);
  CHECK(actions.created_held.empty());  // there is no room for new branches
  for (Reply& reply : actions.replies) replied(std::move(reply));
  return true;
}

void Gateway::replied(Reply reply) {
  if (Sweeping::is_internal(reply.ticket)) {
    sweeping_.replied(reply);
    return dispatch_sweeps();
  }
  if (claims_.has(reply.ticket)) return claims_.replied(reply);
  if (reports_.has(reply.ticket)) reports_.replied(std::move(reply));
}

void Gateway::keep_histories(ReadHistories& read) {
  for (const GraphRef& graph : read.answer.graphs.graphs) committer_.add_graph(graph, false);
  for (History& history : read.answer.histories) committer_.history(std::move(history));
}

// --- what is around -------------------------------------------------------------------------------------------------

void Gateway::refresh_if_due() {
  const bool is_due = context_.steady >= refresh_at_ && has_workers();
  if (after_names_.is_reading() || (!is_due && !after_names_.wants_reading())) return;
  after_names_.began();
  refresh_asked_at_ = context_.steady;
  refresh_at_ = context_.steady + context_.options.refresh_ms * 1'000;
  RefreshGateway refresh;
  refresh.beating = sessions_.beating(asks_.sessions());
  refresh.known = known_graphs_;
  context_.call(std::move(refresh));
}

void Gateway::refreshed(RefreshGateway& refresh) {
  clock_.observe(refresh.answer.database_us, refresh.answer.steady_us, refresh.answer.steady_us);
  context_.now = clock_.now(context_.steady);
  known_graphs_ = std::move(refresh.known);
  for (const std::string& fault : refresh.answer.graphs.faults) context_.note(Note::Level::warning, fault);
  for (const GraphRef& graph : refresh.answer.graphs.graphs) committer_.add_graph(graph, true);
  learn_sessions(refresh.answer.sessions);
  learn_queues(refresh.answer.queue_limits);
  for (ReadHistories& one : calls_of(after_names_.ended())) context_.call(std::move(one));
  if (std::exchange(is_ready_, true)) return;
  committer_.tick(context_.steady, context_.now);
  for (const AskId id : asks_.that_begin()) begin(id);
}

void Gateway::learn_sessions(const std::vector<SessionRow>& sessions) {
  known_tools_ = own_tools_;
  std::set<SessionId> there;
  for (const SessionRow& row : sessions) {
    there.insert(row.id);
    for (auto& [name, facts] : tools_of(row)) known_tools_.try_emplace(name, facts);
  }
  for (const SessionId gone : sessions_.forget_all_but(there, refresh_asked_at_)) asks_.end_all_of(gone);
  sessions_.learn_alone(sessions, refresh_asked_at_);
  sessions_.check_given();
}

// A step may go on with its worker in a queue that a session serves and nothing limits.
void Gateway::learn_queues(const std::vector<QueueLimits>& limits) {
  asks_.lines().forget_empty();
  ServedQueues open;
  for (const std::string& queue : sessions_.queues()) open.emplace(queue, GoesOn::open);
  for (const QueueLimits& one : limits)
    if (one.goes_on() != GoesOn::open) open.erase(one.name);
  committer_.set_queues(std::move(open));
}

void Gateway::dispatch_sweeps() {
  Sweeping::Actions actions = sweeping_.drain_actions();
  for (StoreCall& one : actions.calls) {
    std::visit(
        [this](auto& of) {
          if constexpr (std::is_constructible_v<GatewayCall, decltype(of)>) context_.call(std::move(of));
        },
        one);
  }
  for (LetGo& one : calls_of(actions.releases)) context_.call(std::move(one));
  for (Submission& one : actions.submissions) committer_.submit(std::move(one));
  for (const auto& [ticket, run] : actions.to_finish) committer_.finish_call(ticket, run);
  for (const Sweeping::TakenOver& one : actions.taken_over)
    context_.actions.notes.push_back({Note::Level::info, "A step was lost, and is taken over: " + one.why,
                                      fields_of(one, committer_.state(one.run))});
}

}  // namespace cairn
