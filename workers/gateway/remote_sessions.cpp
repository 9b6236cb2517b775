#include "workers/gateway/remote_sessions.hpp"

#include <algorithm>
#include <utility>

#include "workers/session/sweeper.hpp"

namespace cairn {
namespace {

constexpr TimeUs arrives_us = 10'000'000;  // a claim that was given is on its way to the worker for so long at most
constexpr TimeUs met_us = 2'000'000;       // the same, for claims that another process gave

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
  if (ask.worker) {
    if (!remote.worker || !(remote.worker->declared() == ask.worker->declared())) return false;
    ask.worker = remote.worker;
  }
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
  if (open.worker) remote.worker = open.worker;
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
    if (remote.worker) queues.insert(remote.worker->declared().queues.begin(), remote.worker->declared().queues.end());
  return queues;
}

// --- claims ---------------------------------------------------------------------------------------------------------

void RemoteSessions::give(SessionId session, const std::vector<RemoteClaim>& claims) {
  const auto remote = remotes_.find(session);
  if (remote == remotes_.end()) return;
  for (const RemoteClaim& claim : claims) remote->second.given[to_text(claim.id)] = {context_.steady, claim.input.node};
}

void RemoteSessions::forget(const ClaimId& claim) {
  const SessionId session = claim.fence.session;
  const auto remote = remotes_.find(session);
  if (remote == remotes_.end()) return;
  const std::string text = to_text(claim);
  remote->second.given.erase(text);
  if (text != remote->second.alone) return;
  remote->second.alone.clear();
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
    there.insert(text);
  }
  std::vector<ClaimId> lost;
  for (const auto& [text, given] : remote.given)
    if (!there.contains(text) && context_.steady - given.at >= arrives_us) lost.push_back(*parse_claim_id(text));
  take_back(lost);
  find_unknown_holds(session, remote, has);
  return nodes;
}

// The process before may have died between a claim and the answer that was to bring it.
void RemoteSessions::find_unknown_holds(SessionId session, Remote& remote, const std::vector<ClaimId>& has) {
  if (!remote.was_opened_elsewhere || context_.steady - remote.met_at < met_us) return;
  remote.was_opened_elsewhere = false;
  FindHolds find{session};
  for (const ClaimId& claim : has) find.known.insert(hold_of(claim));
  context_.call(std::move(find));
}

void RemoteSessions::found(FindHolds& holds) {
  const Remote* remote = find(holds.session);
  if (remote == nullptr) return;
  for (const auto& [text, given] : remote->given) holds.known.insert(hold_of(*parse_claim_id(text)));
  LetGo lost{{}, context_.now};
  for (const HeldJob& job : holds.answer)
    if (!holds.known.contains(hold_text(job))) lost.holds.emplace_back(job.run, claim_of(job, 0).fence);
  if (!lost.holds.empty()) context_.call(std::move(lost));
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
  remotes_.at(session).alone = to_text(claim);
}

}  // namespace cairn
