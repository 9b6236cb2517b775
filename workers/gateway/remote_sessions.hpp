// The sessions of remote workers that have asked of this process of late, with the claims that were given to each. A
// claim that was given and did not arrive at its worker is offered again. Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "storage/limits/queue_limits.hpp"
#include "workers/gateway/gateway_context.hpp"

namespace cairn {

class RemoteSessions {
 public:
  explicit RemoteSessions(GatewayContext& context) : context_(context) {}

  // --- who asks ---
  void heard() { contact_at_ = context_.steady; }  // of any worker
  bool is_served() const { return context_.steady - contact_at_ < context_.options.contact_ms * 1'000; }
  // True: the ask's session is known here, is its caller's, and its worker, if it brings one, says what it said before;
  // the worker of the ask is the known one then. False: the store has to be asked.
  bool recognizes(Ask& ask);
  void opened(const OpenRemote& open);
  void close(SessionId session);
  // Forgets those that were reaped, and returns them: when one asks again, it hears that it is unknown. `there`: those
  // with a row at a moment after `asked_at` (steady).
  std::vector<SessionId> forget_all_but(const std::set<SessionId>& there, TimeUs asked_at);
  // Those that get heartbeats: with an ask, or in contact.
  std::vector<SessionId> beating(const std::set<SessionId>& asking) const;
  QueueNames queues() const;

  // --- claims ---
  void give(SessionId session, const std::vector<RemoteClaim>& claims);
  // Whether the hold was given here by another id: with another head or time. No row has them, so that other processes
  // of the API take them as they are.
  bool is_altered(const ClaimId& claim) const;
  void forget(const ClaimId& claim);  // it has ended, or is offered again
  void offer_again(const std::vector<ClaimId>& claims);
  void take_back(const std::vector<ClaimId>& claims);  // those of them that were given
  // The claims that its worker has: others that were given a while ago are taken back. Returns their nodes, as far as
  // they are known; nothing: the session is not known here, or it is another caller's.
  std::optional<std::vector<std::string>> hears(SessionId session, const std::string& caller,
                                                const std::vector<ClaimId>& has);
  // Holds that another process of the API had claimed for the session: those not `known`, now and a while before, are
  // offered again.
  void found(FindHolds& holds);
  // Checks those that were given a while ago: what has ended by another process of the API is forgotten.
  void check_given();
  void given_checked(const CheckGivenClaims& check);

  // --- a claim that is executed with no other one ---
  bool executes_alone(SessionId session) const;
  bool has_claims(SessionId session) const;
  void execute_alone(SessionId session, const ClaimId& claim);  // REQUIRES: the session is known
  // While it makes room for a run's step, the session takes no other one. False: another step is to have room, in this
  // session or another one.
  bool make_room(SessionId session, const RunId& run);
  bool makes_room(SessionId session) const;
  // Those that have no claim any more, with the runs whose steps they may claim now.
  std::vector<std::pair<SessionId, RunId>> with_room_made();
  void claims_for_room(SessionId session);
  // The runs whose steps the session would only give back: because they are to have room, and it has claims, or because
  // its worker has nothing for them.
  std::vector<RunId> passed_by(SessionId session) const;
  // The worker has nothing for the step, which is offered at once: the session passes by its run for a while, so that
  // others come first, and longer if it meets the step again. False: it passes by as many runs as it may.
  bool pass_by(SessionId session, const RunId& run, StepId step);
  void said_alone(SessionId session);  // its row names that claim
  // The holds that the rows name at a moment after `asked_at` (steady); other processes of the API write them too.
  void learn_alone(const std::vector<SessionRow>& rows, TimeUs asked_at);

 private:
  struct Given {
    TimeUs at = 0;  // steady
    std::string node;
    TimeUs seen_at = 0;  // steady; the last time that it was known to be held
  };
  struct Room {
    RunId run;
    TimeUs until = 0;     // steady; 0: there are other claims yet
    TimeUs claim_at = 0;  // steady
  };
  struct Lacked {
    StepId step = 0;
    TimeUs pause = 0;
    TimeUs until = 0;  // steady
  };
  struct Remote {
    std::string caller;
    RemoteWorkerRef worker;                   // never null
    TimeUs contact_at = 0;                    // steady
    std::map<std::string, Given> given = {};  // claims by their id
    TimeUs opened_at = 0;                     // steady; the last time that its row was seen to be there
    TimeUs met_at = 0;                        // steady
    bool was_opened_elsewhere = false;        // and claims of there may never have arrived
    bool is_finding = false;                  // them
    std::set<std::string> unnamed = {};       // held steps that its worker had not named at the first scan
    TimeUs unnamed_at = 0;                    // steady; 0: that scan is to come
    std::string alone = {};                   // the claim that it executes with no other one; "": none
    std::optional<Room> room_for = {};        // a step that is to be executed alone
    TimeUs alone_said_at = 0;                 // steady; 0: its row does not name that claim yet
    std::string row_alone = {};               // the hold that its row names, as far as is known
    std::map<RunId, Lacked> lacked = {};      // runs that it passes by, or did a while ago
  };
  const Remote* find(SessionId session) const;
  void find_unknown_holds(SessionId session, Remote& remote, const std::vector<ClaimId>& has);

  GatewayContext& context_;
  TimeUs contact_at_ = 0;  // steady; the last of any session
  std::map<SessionId, Remote> remotes_;
  bool is_checking_ = false;  // claims that were given
};

// As hold_text() names it.
std::string hold_of(const ClaimId& claim);

}  // namespace cairn
