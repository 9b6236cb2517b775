#include "workers/gateway/remote_sessions.hpp"

#include <algorithm>
#include <utility>

#include "workers/session/sweeper.hpp"

namespace cairn {
namespace {

constexpr TimeUs arrives_us = 10'000'000;  // a claim that was given is on its way to the worker for so long at most
constexpr TimeUs met_us = 2'000'000;       // after that, claims that another process gave are looked for
constexpr TimeUs room_us = 3'000'000;      // a step that has room, and is asked for, comes by then or is elsewhere
constexpr std::size_t checked_at_once = 10'000;
// Shorter than the pauses of RunBackoff: the step after it may be this worker's again.
constexpr TimeUs lacked_first_us = 300'000;  // in which a worker that hears of a step claims it
constexpr TimeUs lacked_longest_us = 1'000'000;
constexpr std::size_t lacked_max = 100;  // each claim names them

// The step as well: a hold goes on with the next one.
std::string held_step_text(const HeldJob& job) { return hold_text(job) + " " + std::to_string(job.job.step); }

}  // namespace

std::string hold_of(const ClaimId& claim) {
  HeldJob held;
  held.run = claim.run;
  held.job.branch = claim.fence.branch;
  held.epoch = claim.fence.epoch;
  return hold_text(held);
}

const RemoteSessions::Remote* RemoteSessions::find(SessionId session) const {
  const auto found = remotes_.find(session);
  return found == remotes_.end() ? nullptr : &found->second;
}

// --- who asks -------------------------------------------------------------------------------------------------------

bool RemoteSessions::recognizes(Ask& ask) {
  const auto found = remotes_.find(ask.session);
  if (found == remotes_.end() || found->second.caller != ask.caller) return false;
  Remote& remote = found->second;
  if (ask.worker && !(remote.worker->declared() == ask.worker->declared())) return false;
  ask.worker = remote.worker;
  remote.contact_at = context_.steady;
  return true;
}

void RemoteSessions::opened(const OpenRemote& open) {
  const auto [entry, is_new] = remotes_.try_emplace(open.answer.session);
  Remote& remote = entry->second;
  if (is_new) {
    remote.met_at = context_.steady;
    remote.was_opened_elsewhere = open.answer.session == open.named;
  }
  remote.opened_at = context_.steady;
  remote.caller = open.caller;
  if (is_new || open.worker) {
    remote.worker = open.answer.worker;
    remote.lacked.clear();
  }
  remote.contact_at = context_.steady;
}

void RemoteSessions::close(SessionId session) {
  remotes_.erase(session);
  context_.call(CloseSession{session});
}

// One that was opened since may have its row since.
std::vector<SessionId> RemoteSessions::forget_all_but(const std::set<SessionId>& there, TimeUs asked_at) {
  std::vector<SessionId> forgotten;
  std::erase_if(remotes_, [&](const auto& entry) {
    if (there.contains(entry.first) || entry.second.opened_at >= asked_at) return false;
    forgotten.push_back(entry.first);
    return true;
  });
  return forgotten;
}

std::vector<SessionId> RemoteSessions::beating(const std::set<SessionId>& asking) const {
  std::vector<SessionId> beating;
  for (const auto& [session, remote] : remotes_) {
    const bool is_in_contact = context_.steady - remote.contact_at < context_.options.contact_ms * 1'000;
    if (is_in_contact || asking.contains(session)) beating.push_back(session);
  }
  return beating;
}

QueueNames RemoteSessions::queues() const {
  QueueNames queues;
  for (const auto& [session, remote] : remotes_)
    queues.insert(remote.worker->declared().queues.begin(), remote.worker->declared().queues.end());
  return queues;
}

// --- claims ---------------------------------------------------------------------------------------------------------

void RemoteSessions::give(SessionId session, const std::vector<RemoteClaim>& claims) {
  const auto remote = remotes_.find(session);
  if (remote == remotes_.end()) return;
  for (const RemoteClaim& claim : claims)
    remote->second.given[to_text(claim.id)] = {context_.steady, claim.input.node, context_.steady};
}

bool RemoteSessions::is_altered(const ClaimId& claim) const {
  const Remote* remote = find(claim.fence.session);
  const std::string text = to_text(claim);
  if (remote == nullptr || remote->given.contains(text)) return false;
  const std::string hold = text.substr(0, text.rfind('.', text.rfind('.') - 1) + 1);  // without HEAD.TIME
  const auto given = remote->given.lower_bound(hold);
  return given != remote->given.end() && given->first.starts_with(hold);
}

void RemoteSessions::forget(const ClaimId& claim) {
  const SessionId session = claim.fence.session;
  const auto remote = remotes_.find(session);
  if (remote == remotes_.end()) return;
  const std::string text = to_text(claim);
  remote->second.given.erase(text);
  const bool is_alone = text == remote->second.alone;
  if (is_alone) remote->second.alone.clear();
  if (!is_alone && remote->second.row_alone != hold_of(claim)) return;
  remote->second.row_alone.clear();
  context_.call(SayAlone{{session, ""}, 0});
}

void RemoteSessions::offer_again(const std::vector<ClaimId>& claims) {
  LetGo left{{}, context_.now};
  for (const ClaimId& claim : claims) {
    forget(claim);
    left.holds.emplace_back(claim.run, claim.fence);
  }
  if (!left.holds.empty()) context_.call(std::move(left));
}

void RemoteSessions::take_back(const std::vector<ClaimId>& claims) {
  std::vector<ClaimId> given;
  for (const ClaimId& claim : claims) {
    const Remote* remote = find(claim.fence.session);
    if (remote != nullptr && remote->given.contains(to_text(claim))) given.push_back(claim);
  }
  offer_again(given);
}

std::optional<std::vector<std::string>> RemoteSessions::hears(SessionId session, const std::string& caller,
                                                              const std::vector<ClaimId>& has) {
  heard();
  const auto found = remotes_.find(session);
  if (found == remotes_.end() || found->second.caller != caller) return std::nullopt;
  Remote& remote = found->second;
  remote.contact_at = context_.steady;
  std::vector<std::string> nodes;
  std::set<std::string> there;
  for (const ClaimId& claim : has) {
    const std::string text = to_text(claim);
    const auto given = remote.given.find(text);
    nodes.push_back(given == remote.given.end() ? "" : given->second.node);
    if (given != remote.given.end()) given->second.seen_at = context_.steady;
    there.insert(text);
  }
  std::vector<ClaimId> lost;
  for (const auto& [text, given] : remote.given)
    if (!there.contains(text) && context_.steady - given.at >= arrives_us) lost.push_back(*parse_claim_id(text));
  take_back(lost);
  find_unknown_holds(session, remote, has);
  return nodes;
}

// The process before may have died between a claim and the answer that was to bring it. Or it lives, and gives claims:
// one that is on its way is named by the worker the next time.
void RemoteSessions::find_unknown_holds(SessionId session, Remote& remote, const std::vector<ClaimId>& has) {
  if (!remote.was_opened_elsewhere || remote.is_finding || context_.steady - remote.met_at < met_us) return;
  if (remote.unnamed_at > 0 && context_.steady - remote.unnamed_at < arrives_us) return;
  remote.is_finding = true;
  FindHolds find{session};
  for (const ClaimId& claim : has) find.known.insert(hold_of(claim));
  context_.call(std::move(find));
}

void RemoteSessions::found(FindHolds& holds) {
  const auto entry = remotes_.find(holds.session);
  if (entry == remotes_.end()) return;
  Remote& remote = entry->second;
  remote.is_finding = false;
  for (const auto& [text, given] : remote.given) holds.known.insert(hold_of(*parse_claim_id(text)));
  const bool is_first_scan = remote.unnamed_at == 0;
  remote.unnamed_at = context_.steady;
  LetGo lost{{}, context_.now};
  for (const HeldJob& job : holds.answer) {
    if (holds.known.contains(hold_text(job))) continue;
    if (is_first_scan) remote.unnamed.insert(held_step_text(job));
    if (!is_first_scan && remote.unnamed.contains(held_step_text(job)))
      lost.holds.emplace_back(job.run, claim_of(job, 0).fence);
  }
  remote.was_opened_elsewhere = is_first_scan && !remote.unnamed.empty();
  if (!remote.was_opened_elsewhere) remote.unnamed.clear();
  if (!lost.holds.empty()) context_.call(std::move(lost));
}

void RemoteSessions::check_given() {
  if (is_checking_) return;
  CheckGivenClaims check;
  for (auto& [session, remote] : remotes_) {
    for (auto& [text, given] : remote.given) {
      if (check.claims.size() >= checked_at_once) break;
      if (context_.steady - given.seen_at < arrives_us) continue;
      given.seen_at = context_.steady;
      check.claims.push_back(*parse_claim_id(text));
    }
  }
  if (check.claims.empty()) return;
  is_checking_ = true;
  context_.call(std::move(check));
}

void RemoteSessions::given_checked(const CheckGivenClaims& check) {
  is_checking_ = false;
  for (std::size_t at = 0; at < check.claims.size(); ++at)
    if (check.answer[at] != HoldStanding::held) forget(check.claims[at]);
}

// --- alone ----------------------------------------------------------------------------------------------------------

bool RemoteSessions::executes_alone(SessionId session) const {
  const Remote* remote = find(session);
  return remote != nullptr && !remote->alone.empty();
}

bool RemoteSessions::has_claims(SessionId session) const {
  const Remote* remote = find(session);
  return remote == nullptr || !remote->given.empty() || !remote->alone.empty();
}

void RemoteSessions::execute_alone(SessionId session, const ClaimId& claim) {
  Remote& remote = remotes_.at(session);
  remote.alone = to_text(claim);
  remote.alone_said_at = 0;
  for (auto& [other, one] : remotes_)
    if (one.room_for && one.room_for->run == claim.run) one.room_for.reset();
}

// A worker with several slots may never be without a claim by itself.
bool RemoteSessions::make_room(SessionId session, const RunId& run) {
  for (const auto& [other, remote] : remotes_)
    if (remote.room_for) return other == session && remote.room_for->run == run;
  const auto found = remotes_.find(session);
  if (found == remotes_.end()) return false;
  found->second.room_for = Room{run, 0, 0};
  return true;
}

bool RemoteSessions::makes_room(SessionId session) const {
  const Remote* remote = find(session);
  return remote != nullptr && remote->room_for.has_value();
}

std::vector<std::pair<SessionId, RunId>> RemoteSessions::with_room_made() {
  std::vector<std::pair<SessionId, RunId>> free;
  for (auto& [session, remote] : remotes_) {
    if (!remote.room_for || has_claims(session)) continue;
    Room& room = *remote.room_for;
    if (room.until == 0) room.until = context_.steady + context_.options.contact_ms * 1'000;
    if (context_.steady >= room.until) {
      remote.room_for.reset();
    } else if (context_.steady >= room.claim_at) {
      free.emplace_back(session, room.run);
    }
  }
  return free;
}

std::vector<RunId> RemoteSessions::passed_by(SessionId session) const {
  std::vector<RunId> runs;
  if (const Remote* own = find(session); own != nullptr)
    for (const auto& [run, lacked] : own->lacked)
      if (context_.steady < lacked.until) runs.push_back(run);
  if (!has_claims(session)) return runs;
  for (const auto& [other, remote] : remotes_)
    if (remote.room_for) runs.push_back(remote.room_for->run);
  return runs;
}

bool RemoteSessions::pass_by(SessionId session, const RunId& run, StepId step) {
  const auto found = remotes_.find(session);
  if (found == remotes_.end()) return false;
  std::map<RunId, Lacked>& lacked = found->second.lacked;
  std::erase_if(lacked, [this](const auto& one) { return context_.steady >= one.second.until + lacked_longest_us; });
  if (lacked.size() >= lacked_max && !lacked.contains(run)) return false;
  Lacked& one = lacked[run];
  one.pause = one.step == step ? std::min(one.pause * 2, lacked_longest_us) : lacked_first_us;
  one.step = step;
  one.until = context_.steady + one.pause;
  return true;
}

void RemoteSessions::claims_for_room(SessionId session) {
  const auto found = remotes_.find(session);
  if (found == remotes_.end() || !found->second.room_for) return;
  Room& room = *found->second.room_for;
  if (room.claim_at == 0) room.until = context_.steady + room_us;
  room.claim_at = context_.steady + context_.options.poll_ms * 1'000;
}

void RemoteSessions::said_alone(SessionId session) {
  if (const auto found = remotes_.find(session); found != remotes_.end()) found->second.alone_said_at = context_.steady;
}

// A report of what it executes alone may have come to another process of the API, which says so in the row.
void RemoteSessions::learn_alone(const std::vector<SessionRow>& rows, TimeUs asked_at) {
  for (const SessionRow& row : rows) {
    const auto found = remotes_.find(row.id);
    if (found == remotes_.end()) continue;
    Remote& remote = found->second;
    remote.row_alone = row.alone.value_or("");
    if (remote.alone.empty() || remote.alone_said_at == 0 || remote.alone_said_at >= asked_at) continue;
    if (remote.row_alone != hold_of(*parse_claim_id(remote.alone))) remote.alone.clear();
  }
}

}  // namespace cairn
