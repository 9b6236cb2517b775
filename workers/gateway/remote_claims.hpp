// The steps on their way to remote workers: claimed for an ask, prepared on their run's state, and given with the ask's
// answer; or left to others. Not thread-safe.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "workers/gateway/asks.hpp"
#include "workers/runs/committer.hpp"

namespace cairn {

class RemoteClaims {
 public:
  RemoteClaims(GatewayContext& context, Asks& asks, RemoteSessions& sessions, Committer& committer)
      : context_(context), asks_(asks), sessions_(sessions), committer_(committer) {}

  void claim_for_waiting();
  // Takes a step that is held for the ask's session; it is offered again if the ask has no room for it.
  void take(AskId id, HeldJob job);
  bool has(Ticket ticket) const { return claims_.contains(ticket); }
  void add_holds(std::set<std::string>& known) const;
  // Gives the committer those histories that came with a claim of this round, and takes their loads out.
  void answer_loads(std::vector<Load>& loads);
  void end_round() { short_histories_.clear(); }

  void replied(const Reply& reply);  // REQUIRES: has(reply.ticket)
  // Answers of the store; of a step that is no more: nothing happens.
  void claimed(ClaimSteps& claim);
  void claim_failed(const ClaimSteps& claim);
  void blobs_read(ReadBlobs& read);
  void blobs_kept(KeepBlobs& keep);
  void said_alone(const SayAlone& said);

 private:
  struct Claim {
    AskId ask = 0;
    HeldJob job = {};
    ClaimId id = {};
    bool is_alone = false;    // its session's row says so
    bool is_written = false;  // what is recorded in the worker's place is being written
  };
  void claim(AskLines::Claiming one, std::optional<RunId> only);
  void end_claim(const ClaimSteps& claim, bool was_full);
  void prepare(Ticket ticket, Claim& claim, const RunState* state);
  bool may_begin(Ticket ticket, Claim& claim, const RunState& state);
  void give(Ticket ticket, Claim& claim, Work work);
  void submit(Ticket ticket, Claim& claim, Command command);
  Command failed(const Claim& claim, Failure failure) const;
  void recorded(Ticket ticket, const Claim& claim);
  void refused(Ticket ticket, const Claim& claim, const Error& error);
  void leave(Ticket ticket, TimeUs run_at_us);
  void offer(const HeldJob& job, TimeUs run_at_us);
  void drop(Ticket ticket);

  GatewayContext& context_;
  Asks& asks_;
  RemoteSessions& sessions_;
  Committer& committer_;
  const std::shared_ptr<RecordedAnswersCache> records_ = std::make_shared<RecordedAnswersCache>();
  const std::shared_ptr<BlobTexts> texts_ = std::make_shared<BlobTexts>();
  std::unordered_map<Ticket, Claim> claims_;
  std::map<RunId, History> short_histories_;  // brought by claims of this round
};

}  // namespace cairn
