#include "workers/gateway/asks.hpp"

#include <algorithm>
#include <utility>

namespace cairn {
namespace {

constexpr std::size_t gone_bytes_max = 64u << 20;  // of asks whose clients are gone
constexpr TimeUs overdue_us = 500'000;             // past its time an ask is answered, whatever else it might do

RemoteWorkerRef make_idle_worker() {
  return std::make_shared<RemoteWorker>(RemoteWorkerSays{"", "", {"default"}, {}, {}});
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

std::int32_t Asked::room() const {
  if (is_gone || ask.closes) return 0;
  return std::max(ask.max - static_cast<std::int32_t>(preparing + answer.claims.size()), 0);
}

Asks::Asks(GatewayContext& context, RemoteSessions& sessions)
    : context_(context),
      sessions_(sessions),
      lines_(context.options.shards, context.options.poll_ms * 1'000),
      idle_(make_idle_worker()) {}

Asked* Asks::find(AskId id) {
  const auto found = asks_.find(id);
  return found == asks_.end() ? nullptr : &found->second;
}

// --- beginnings -----------------------------------------------------------------------------------------------------

bool Asks::add(AskId id, Ask ask) {
  Asked& asked = asks_[id];
  asked.ask = std::move(ask);
  asked.until = context_.steady + asked.ask.wait_us;
  asked.answer.results.resize(asked.ask.finished.size());
  asked.open_reports = asked.ask.finished.size();
  const bool is_known = sessions_.recognizes(asked.ask);
  asked.worker = asked.ask.worker ? asked.ask.worker : idle_;
  if (is_known) {
    asked.answer.session = asked.ask.session;
    asked.at = Asked::At::begins;
    return true;
  }
  context_.call(OpenRemote{id, asked.ask.session, asked.ask.caller, asked.ask.worker, context_.options.new_session()});
  return false;
}

bool Asks::opened(const OpenRemote& open) {
  Asked* asked = find(open.ask);
  if (asked == nullptr) return false;
  asked->answer.session = open.answer.session;
  if (open.answer.is_unknown) {
    asked->answer.is_unknown = true;
    asked->open_reports = 0;
    asked->answer.results.clear();
    finish(open.ask, *asked);
    return false;
  }
  if (open.answer.session != 0) sessions_.opened(open);
  if (open.answer.worker) asked->worker = open.answer.worker;
  asked->at = Asked::At::begins;
  return true;
}

std::vector<AskId> Asks::that_begin() const {
  std::vector<AskId> ids;
  for (const auto& [id, asked] : asks_)
    if (asked.at == Asked::At::begins) ids.push_back(id);
  return ids;
}

std::set<SessionId> Asks::sessions() const {
  std::set<SessionId> sessions;
  for (const auto& [id, asked] : asks_) sessions.insert(asked.answer.session);
  return sessions;
}

// --- ends -----------------------------------------------------------------------------------------------------------

void Asks::gone(AskId id) {
  Asked* asked = find(id);
  if (asked == nullptr || asked->is_gone) return;
  asked->is_gone = true;
  if (!has_begun(id) && asked->ask.finished.empty() && !asked->ask.closes) return finish(id, *asked);
  gone_.push_back(id);
  gone_bytes_ += asked->ask.bytes;
  answer_if_complete(id);
}

std::optional<AskId> Asks::one_gone_too_many() {
  if (gone_bytes_ <= gone_bytes_max || gone_.empty()) return std::nullopt;
  const AskId id = gone_.front();
  gone_.pop_front();
  gone_bytes_ -= at(id).ask.bytes;
  return id;
}

bool Asks::has_begun(AskId id) const {
  const Asked::At now = asks_.at(id).at;
  return now != Asked::At::opens && now != Asked::At::begins;
}

void Asks::drop(AskId id) {
  Asked& asked = at(id);
  asked.ask.closes = false;
  asked.answer = {.session = 0, .is_unknown = true, .results = {}, .claims = {}};
  finish(id, asked);
}

void Asks::hurry(AskId id) {
  Asked* asked = find(id);
  if (asked == nullptr) return;
  asked->until = context_.steady;
  asked->answer.drains = true;
  if (asked->at == Asked::At::waits) lines_.hurry(id);
  answer_if_complete(id);
}

void Asks::set_result(AskId id, std::size_t report, ReportReply reply) {
  Asked& asked = at(id);
  CHECK(asked.open_reports > 0);
  asked.answer.results[report] = std::move(reply);
  --asked.open_reports;
}

void Asks::answer_if_complete(AskId id) {
  Asked* asked = find(id);
  if (asked == nullptr) return;
  const bool is_waiting = asked->at == Asked::At::waits;
  if (!is_waiting && asked->at != Asked::At::works) return;
  if (asked->open_reports > 0 || asked->preparing > 0) return;
  const bool has_something = !asked->answer.results.empty() || !asked->answer.claims.empty();
  const bool is_overdue = context_.steady >= asked->until + overdue_us;
  if (asked->room() == 0 || is_overdue || (is_waiting && has_something)) return finish(id, *asked);
  if (!is_waiting) return wait(id, *asked, has_something);
  if (context_.steady >= asked->until) finish(id, *asked);
}

void Asks::wait(AskId id, Asked& asked, bool has_something) {
  asked.at = Asked::At::waits;
  const bool waits_first_time = std::exchange(asked.waits_first_time, false);
  lines_.join(asked.worker->declared().queues, {id, asked.until, waits_first_time, has_something});
}

void Asks::finish(AskId id, Asked& asked) {
  if (asked.at == Asked::At::waits) lines_.leave(id);
  if (asked.is_gone && std::erase(gone_, id) > 0) gone_bytes_ -= asked.ask.bytes;
  const SessionId session = asked.answer.session;
  const bool closes = asked.ask.closes && !asked.answer.is_unknown && session != 0;
  if (closes) sessions_.close(session);
  if (asked.takes_none()) {
    std::vector<ClaimId> left;
    for (const RemoteClaim& claim : std::exchange(asked.answer.claims, {})) left.push_back(claim.id);
    sessions_.offer_again(left);
  }
  sessions_.give(session, asked.answer.claims);
  context_.actions.answers.emplace_back(id, std::move(asked.answer));
  asks_.erase(id);
  if (closes) end_all_of(session);
}

void Asks::end_all_of(SessionId session) {
  std::vector<AskId> ids;
  for (auto& [id, asked] : asks_) {
    if (asked.answer.session != session) continue;
    asked.ask.max = 0;
    ids.push_back(id);
  }
  for (const AskId id : ids) answer_if_complete(id);
}

// --- claims ---------------------------------------------------------------------------------------------------------

std::vector<AskLines::Claiming> Asks::next_claims() {
  std::vector<AskLines::Claiming> claims = lines_.next_claims([this](AskId id) {
    const SessionId session = at(id).answer.session;
    return !sessions_.executes_alone(session) && !sessions_.makes_room(session);
  });
  for (const AskLines::Claiming& one : claims) at(one.ask).at = Asked::At::claims;
  return claims;
}

std::vector<std::pair<AskLines::Claiming, RunId>> Asks::next_claims_alone() {
  std::vector<std::pair<AskLines::Claiming, RunId>> claims;
  for (const auto& [session, run] : sessions_.with_room_made()) {
    const std::optional<AskId> id = that_waits_alone(session);
    if (!id) continue;
    sessions_.claims_for_room(session);
    lines_.leave(*id);
    Asked& asked = at(*id);
    asked.at = Asked::At::claims;
    claims.push_back({{*id, asked.worker->declared().queues, shard_of(run, context_.options.shards)}, run});
  }
  return claims;
}

// Nothing: none waits, or another one is about to bring steps.
std::optional<AskId> Asks::that_waits_alone(SessionId session) const {
  std::optional<AskId> waits;
  for (const auto& [id, asked] : asks_) {
    if (asked.answer.session != session) continue;
    if (asked.at == Asked::At::claims || asked.preparing > 0 || !asked.answer.claims.empty()) return std::nullopt;
    if (!waits && asked.at == Asked::At::waits && asked.room() > 0) waits = id;
  }
  return waits;
}

void Asks::claimed_alone(AskId id) {
  if (Asked* asked = find(id)) asked->at = Asked::At::works;
}

void Asks::claimed(AskId id, const AskLines::Queues& queues, Shard shard, bool was_full) {
  lines_.claimed(queues, shard, was_full);
  if (Asked* asked = find(id)) asked->at = Asked::At::works;
}

void Asks::answer_overdue() {
  for (const AskId id : lines_.overdue()) answer_if_complete(id);
}

}  // namespace cairn
