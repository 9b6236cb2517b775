#include "workers/gateway/gateway.hpp"

#include <algorithm>
#include <utility>

#include "engine/state.hpp"
#include "workers/session/declared_work.hpp"
#include "workers/session/sweeper.hpp"
#include "workers/session/worker_options.hpp"

namespace cairn {
namespace {

constexpr TimeUs again_us = 500'000;       // a call that failed
constexpr TimeUs arrives_us = 10'000'000;  // a claim that was given is on its way to the worker for so long at most
constexpr TimeUs met_us = 2'000'000;       // the same, for claims that another process gave
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

RemoteWorkerRef make_nobody() { return std::make_shared<RemoteWorker>(RemoteWorkerSays{"", "", {"default"}, {}, {}}); }

// As hold_text() names it.
std::string hold_of(const ClaimId& claim) {
  HeldJob held;
  held.run = claim.run;
  held.job.branch = claim.fence.branch;
  held.epoch = claim.fence.epoch;
  return hold_text(held);
}

}  // namespace

std::string_view to_string(ReportStatus status) {
  switch (status) {
    case ReportStatus::committed:
      return "committed";
    case ReportStatus::already:
      return "already";
    case ReportStatus::stale:
      return "stale";
    case ReportStatus::closed:
      return "closed";
    case ReportStatus::conflict:
      return "conflict";
    case ReportStatus::invalid:
      return "invalid";
  }
  CHECK(false);
}

Gateway::Gateway(GatewayOptions options, const ToolTable& tools)
    : options_(std::move(options)),
      own_tools_(tools),
      known_tools_(tools),
      nobody_(make_nobody()),
      committer_(committer_options(options_, known_tools_)),
      sweeping_({.dead_after_us = session_silence_ms * 1'000,
                 .default_timeout_ms = options_.default_timeout_ms,
                 .held_max = swept_holds_max}) {
  committer_.set_capacity({.is_accepting = true, .free_slots = 0, .refills = 0});
}

// --- time -----------------------------------------------------------------------------------------------------------

void Gateway::tick(TimeUs steady_us) {
  steady_ = std::max(steady_, steady_us);
  now_ = clock_.now(steady_);
  if (is_ready_) committer_.tick(steady_, now_);
  sweeping_.tick(steady_, now_);
  for (auto& [queues, source] : sources_) {
    if (source.waiting.empty() || steady_ < source.poll_at) continue;
    source.poll_at = steady_ + options_.poll_ms * 1'000;
    for (Source::Place& place : source.places) place.wants = true;
  }
}

void Gateway::notified() {
  for (auto& [queues, source] : sources_)
    for (Source::Place& place : source.places) place.wants = true;
}

TimeUs Gateway::due_us() const {
  TimeUs due = is_ready_ ? committer_.due_us() : never_us;
  if (has_workers()) {
    due = std::min(due, is_looking_ ? never_us : look_at_);
    if (is_ready_) due = std::min(due, sweeping_.due_us(true));
  }
  for (const auto& [queues, source] : sources_)
    if (!source.waiting.empty()) due = std::min(due, source.poll_at);
  if (!deadlines_.empty()) due = std::min(due, deadlines_.begin()->first);
  for (const auto& [at, one] : later_) due = std::min(due, at);
  return due;
}

GatewayActions Gateway::drain_actions() {
  std::vector<GatewayCall> again;
  std::erase_if(later_, [&](auto& one) {
    if (one.first > steady_) return false;
    again.push_back(std::move(one.second));
    return true;
  });
  for (GatewayCall& one : again) call(std::move(one));
  look_if_due();
  if (is_ready_) {
    if (has_workers()) sweeping_.scan_if_due(true);
    dispatch_sweeps();
    claim_for_waiting();
    while (dispatch_commits()) claim_for_waiting();
  }
  short_histories_.clear();
  under_way_ += static_cast<std::int64_t>(actions_.calls.size());
  return std::exchange(actions_, {});
}

void Gateway::look_if_due() {
  if (is_looking_ || steady_ < look_at_ || !has_workers()) return;
  is_looking_ = true;
  look_at_ = steady_ + options_.look_ms * 1'000;
  std::set<SessionId> asking;
  for (const auto& [id, asked] : asks_) asking.insert(asked.answer.session);
  LookAround look;
  look.known = known_graphs_;
  for (const auto& [session, remote] : remotes_) {
    const bool is_in_contact = steady_ - remote.contact_at < options_.contact_ms * 1'000;
    if (is_in_contact || asking.contains(session)) look.beating.push_back(session);
  }
  call(std::move(look));
}

void Gateway::later(GatewayCall one) { later_.emplace_back(steady_ + again_us, std::move(one)); }

// --- asks -----------------------------------------------------------------------------------------------------------

void Gateway::ask(AskId id, Ask ask) {
  contact_at_ = steady_;
  Asked& asked = asks_[id];
  asked.ask = std::move(ask);
  asked.worker = asked.ask.worker ? asked.ask.worker : nobody_;
  asked.until = steady_ + asked.ask.wait_us;
  asked.answer.results.resize(asked.ask.finished.size());
  asked.open_reports = asked.ask.finished.size();
  const auto found = remotes_.find(asked.ask.session);
  const bool is_known = found != remotes_.end() && found->second.caller == asked.ask.caller;
  const bool says_the_same = asked.ask.worker == nullptr ||
                             (is_known && found->second.worker && found->second.worker->says() == asked.worker->says());
  if (is_known && says_the_same) {
    if (asked.ask.worker) asked.worker = found->second.worker;
    found->second.contact_at = steady_;
    asked.answer.session = asked.ask.session;
    return begin(id, asked);
  }
  call(OpenRemote{id, asked.ask.session, asked.ask.caller, asked.ask.worker, options_.new_session()});
}

void Gateway::on_answer(OpenRemote& opened) {
  const auto found = asks_.find(opened.ask);
  if (found == asks_.end()) return;
  Asked& asked = found->second;
  asked.answer.session = opened.answer.session;
  if (opened.answer.is_foreign) {
    asked.answer.is_foreign = true;
    asked.open_reports = 0;
    asked.answer.results.clear();
    return finish(opened.ask);
  }
  if (opened.answer.session != 0) {
    const auto [entry, is_new] = remotes_.try_emplace(opened.answer.session);
    Remote& remote = entry->second;
    if (is_new) remote.met_at = steady_;
    if (is_new) remote.was_opened_elsewhere = opened.answer.session == opened.named;
    remote.caller = opened.caller;
    if (opened.worker) remote.worker = opened.worker;
    remote.contact_at = steady_;
  }
  begin(opened.ask, asked);
}

void Gateway::begin(AskId id, Asked& asked) {
  asked.at = Asked::At::works;
  if (is_ready_) begin_reports(id, asked);
}

void Gateway::begin_reports(AskId id, Asked& asked) {
  for (std::size_t place = 0; place < asked.ask.finished.size(); ++place) {
    Ask::Report& one = asked.ask.finished[place];
    forget_given(one.claim.fence.session, to_text(one.claim));
    const Ticket ticket = ++last_ticket_;
    Task& task = tasks_[ticket];
    task = {.ask = id, .is_report = true, .place = place, .claim = one.claim, .result = std::move(one.result)};
    if (one.is_release) {
      if (one.claim.fence.session == asked.answer.session) {
        // The store leaves it alone if it is held no more as the fence says.
        task.stage = Stage::writes;
        call(LetGo{{{one.claim.run, one.claim.fence}}, now_ + one.pause_ms * 1'000, ticket});
      } else {
        set_result(task, ReportStatus::stale, "The hold was lost.");
        tasks_.erase(ticket);
      }
      continue;
    }
    committer_.await_state(ticket, one.claim.run, one.claim.head);
  }
  settle(id);
}

void Gateway::gone(AskId id) {
  const auto found = asks_.find(id);
  if (found == asks_.end()) return;
  found->second.is_gone = true;
  settle(id);
}

void Gateway::hurry(AskId id) {
  const auto found = asks_.find(id);
  if (found == asks_.end()) return;
  Asked& asked = found->second;
  const bool was_waiting = asked.at == Asked::At::waits;
  if (was_waiting) deadlines_.erase({asked.until, id});
  asked.until = steady_;
  if (was_waiting) deadlines_.insert({asked.until, id});
  settle(id);
}

void Gateway::take_back(const std::vector<ClaimId>& claims) {
  LetGo lost{{}, now_};
  for (const ClaimId& claim : claims) {
    const auto remote = remotes_.find(claim.fence.session);
    if (remote == remotes_.end() || !remote->second.given.contains(to_text(claim))) continue;
    forget_given(claim.fence.session, to_text(claim));
    lost.holds.emplace_back(claim.run, claim.fence);
  }
  if (!lost.holds.empty()) call(std::move(lost));
}

std::int32_t Gateway::room_of(const Asked& asked) const {
  if (asked.is_gone || asked.ask.closes) return 0;
  const auto taken = static_cast<std::int32_t>(asked.preparing + asked.answer.claims.size());
  return std::max(asked.ask.max - taken, 0);
}

void Gateway::set_result(const Task& task, ReportStatus status, std::string says) {
  const auto found = asks_.find(task.ask);
  CHECK(found != asks_.end() && found->second.open_reports > 0);  // an ask stays until all its reports are answered
  found->second.answer.results[task.place] = {status, std::move(says)};
  --found->second.open_reports;
}

// Answers the ask if nothing more is to come; else it waits in its source for a claim.
void Gateway::settle(AskId id) {
  const auto found = asks_.find(id);
  if (found == asks_.end()) return;
  Asked& asked = found->second;
  const bool is_busy = asked.at == Asked::At::opens || asked.at == Asked::At::claims;
  if (is_busy || !is_ready_ || asked.open_reports > 0 || asked.preparing > 0) return;
  const bool is_waiting = asked.at == Asked::At::waits;
  const bool has_something = !asked.answer.results.empty() || !asked.answer.claims.empty();
  if (room_of(asked) == 0 || (has_something && is_waiting) || steady_ >= asked.until + again_us) return finish(id);
  if (!is_waiting) return wait(id, asked, has_something);
  if (steady_ >= asked.until) finish(id);
}

// One that has something to answer waits no longer than until the next look for claims.
void Gateway::wait(AskId id, Asked& asked, bool has_something) {
  asked.at = Asked::At::waits;
  deadlines_.insert({asked.until, id});
  Source& source = source_of(asked);
  // While no one waited, notifications were not listened to.
  if (source.waiting.empty() && std::exchange(asked.is_new, false))
    for (Source::Place& place : source.places) place.wants = true;
  source.waiting.push_back(id);
  if (has_something) source.in_haste.push_back(id);
}

void Gateway::wait_no_more(AskId id, Asked& asked) {
  asked.at = Asked::At::works;
  deadlines_.erase({asked.until, id});
}

void Gateway::finish(AskId id) {
  const auto found = asks_.find(id);
  Asked& asked = found->second;
  if (asked.at == Asked::At::waits) {
    std::erase(source_of(asked).waiting, id);
    wait_no_more(id, asked);
  }
  const SessionId closed = asked.ask.closes && !asked.answer.is_foreign ? asked.answer.session : 0;
  if (closed != 0) {
    remotes_.erase(closed);
    call(CloseSession{closed});
  }
  if (const auto remote = remotes_.find(asked.answer.session); remote != remotes_.end())
    for (const RemoteClaim& claim : asked.answer.claims)
      remote->second.given[to_text(claim.id)] = {steady_, claim.input.node};
  if (asked.is_gone) {
    std::vector<ClaimId> claims;
    for (const RemoteClaim& claim : asked.answer.claims) claims.push_back(claim.id);
    take_back(claims);
    asked.answer.claims.clear();
  }
  actions_.answers.emplace_back(id, std::move(asked.answer));
  asks_.erase(found);
  if (closed != 0) end_asks_of(closed);
}

// A step that another request of the session waits for would be held by no session.
void Gateway::end_asks_of(SessionId session) {
  std::vector<AskId> ids;
  for (auto& [id, asked] : asks_) {
    if (asked.answer.session != session) continue;
    asked.ask.max = 0;
    ids.push_back(id);
  }
  for (const AskId id : ids) settle(id);
}

std::optional<std::vector<std::string>> Gateway::hears(SessionId session, const std::string& caller,
                                                       const std::vector<ClaimId>& has) {
  contact_at_ = steady_;
  const auto found = remotes_.find(session);
  if (found == remotes_.end() || found->second.caller != caller) return std::nullopt;
  Remote& remote = found->second;
  remote.contact_at = steady_;
  std::vector<std::string> nodes;
  std::set<std::string> there;
  for (const ClaimId& claim : has) {
    const std::string text = to_text(claim);
    const auto given = remote.given.find(text);
    nodes.push_back(given == remote.given.end() ? "" : given->second.node);
    there.insert(text);
  }
  std::vector<ClaimId> lost;
  for (const auto& [text, given] : remote.given)
    if (!there.contains(text) && steady_ - given.at >= arrives_us) lost.push_back(*parse_claim_id(text));
  take_back(lost);
  if (remote.was_opened_elsewhere && steady_ - remote.met_at >= met_us) {
    remote.was_opened_elsewhere = false;
    FindHolds find{session};
    for (const ClaimId& claim : has) find.known.insert(hold_of(claim));
    call(std::move(find));
  }
  return nodes;
}

// The process before may have died between a claim and the answer that was to bring it.
void Gateway::on_answer(FindHolds& found) {
  const auto remote = remotes_.find(found.session);
  if (remote == remotes_.end()) return;
  for (const auto& [text, given] : remote->second.given) found.known.insert(hold_of(*parse_claim_id(text)));
  for (const auto& [ticket, task] : tasks_) found.known.insert(hold_of(task.claim));
  LetGo lost{{}, now_};
  for (const HeldJob& job : found.answer)
    if (!found.known.contains(hold_text(job))) lost.holds.emplace_back(job.run, claim_of(job, 0).fence);
  if (!lost.holds.empty()) call(std::move(lost));
}
// --- the committer --------------------------------------------------------------------------------------------------

bool Gateway::dispatch_commits() {
  CommitterActions actions = committer_.drain_actions();
  if (actions.empty()) return false;
  read(std::move(actions.loads));
  for (const CommitBatch& batch : actions.commits) call(Commit{batch});
  for (LockedCommit& commit : actions.locked_commits) call(CommitLocked{std::move(commit)});
  for (PutSnapshot& one : actions.snapshots) call(KeepSnapshot{std::move(one)});
  for (const RunId& run : actions.without_snapshots) call(DropSnapshots{run});
  for (const GoneBack& one : actions.gone_back) note(Note::Level::warning, to_sentence(one));
  for (const Offered& offered : actions.offered) {
    if (offered.run_at_us > now_) continue;
    for (auto& [queues, source] : sources_)
      if (std::find(queues.begin(), queues.end(), offered.queue) != queues.end())
        for (Source::Place& place : source.places) place.wants = true;
  }
  CHECK(actions.created_held.empty());  // there is no room for new branches
  for (Reply& reply : actions.replies) replied(std::move(reply));
  return true;
}

void Gateway::read(std::vector<Load> loads) {
  std::erase_if(loads, [this](const Load& load) {
    if (load.after_seq != 0 || load.graphs) return false;
    auto claimed = short_histories_.extract(load.run);
    if (claimed) committer_.history(std::move(claimed.mapped()));
    return static_cast<bool>(claimed);
  });
  for (ReadHistories& one : calls_of(std::move(loads))) call(std::move(one));
}

void Gateway::on_answer(ReadHistories& read) {
  for (const GraphRef& graph : read.answer.graphs.graphs) committer_.add_graph(graph, false);
  for (History& history : read.answer.histories) committer_.history(std::move(history));
}

void Gateway::on_failure(const ReadHistories& read) {
  for (const Load& load : read.loads) committer_.load_failed(load.run);
}

// --- what is around -------------------------------------------------------------------------------------------------

void Gateway::on_answer(LookAround& look) {
  is_looking_ = false;
  clock_.observe(look.answer.database_us, look.answer.steady_us, look.answer.steady_us);
  known_graphs_ = std::move(look.known);
  for (const std::string& fault : look.answer.graphs.faults) note(Note::Level::warning, fault);
  for (const GraphRef& graph : look.answer.graphs.graphs) committer_.add_graph(graph, true);
  limited_queues_.clear();
  for (const QueueLimits& one : look.answer.queue_limits)
    if (one.is_bound()) limited_queues_.insert(one.name);
  learn(look.answer.sessions);
  forget_unserved_queues();
  QueueNames open = queues_;
  for (const std::string& limited : limited_queues_) open.erase(limited);
  committer_.set_queues({.open = std::move(open), .counted = {}, .paced = {}});
  now_ = clock_.now(steady_);
  if (std::exchange(is_ready_, true)) return;
  committer_.tick(steady_, now_);
  std::vector<AskId> waiting;
  for (const auto& [id, asked] : asks_)
    if (asked.at != Asked::At::opens) waiting.push_back(id);
  for (const AskId id : waiting) begin_reports(id, asks_.at(id));
}

// A session that was reaped is forgotten: when it asks again, it gets a new one.
void Gateway::learn(const std::vector<SessionRow>& sessions) {
  known_tools_ = own_tools_;
  std::set<SessionId> there;
  for (const SessionRow& row : sessions) {
    there.insert(row.id);
    for (auto& [name, facts] : tools_of(row)) known_tools_.try_emplace(name, facts);
  }
  const TimeUs opened_after = steady_ - options_.look_ms * 1'000;
  std::erase_if(remotes_, [&](const auto& entry) {
    return !there.contains(entry.first) && entry.second.contact_at < opened_after;
  });
}

// As many as sessions name: queues that no session serves any more are forgotten.
void Gateway::forget_unserved_queues() {
  std::erase_if(sources_, [](const auto& entry) { return entry.second.is_idle(); });
  queues_.clear();
  for (const auto& [id, remote] : remotes_)
    if (remote.worker) queues_.insert(remote.worker->says().queues.begin(), remote.worker->says().queues.end());
}

// --- all calls ------------------------------------------------------------------------------------------------------

void Gateway::answered(GatewayCall one) {
  --under_way_;
  CHECK(under_way_ >= 0);
  std::visit([this](auto& of) { on_answer(of); }, one);
}

void Gateway::failed(const GatewayCall& one) {
  --under_way_;
  CHECK(under_way_ >= 0);
  std::visit([this](const auto& of) { on_failure(of); }, one);
}

}  // namespace cairn
