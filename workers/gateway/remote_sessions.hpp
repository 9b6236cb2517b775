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
  // True: the ask's session is known here, is its caller's, and its worker says what it said before; the worker of the
  // ask is the known one then. False: the store has to be asked.
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
  void forget(const ClaimId& claim);  // it has ended, or is offered again
  void offer_again(const std::vector<ClaimId>& claims);
  void take_back(const std::vector<ClaimId>& claims);  // those of them that were given
  // The claims that its worker has: others that were given a while ago are taken back. Returns their nodes, as far as
  // they are known; nothing: the session is not known here, or it is another caller's.
  std::optional<std::vector<std::string>> hears(SessionId session, const std::string& caller,
                                                const std::vector<ClaimId>& has);
  // Holds that another process of the API had claimed for the session: those not `known` are offered again.
  void found(FindHolds& holds);

  // --- a claim that is executed with no other one ---
  bool executes_alone(SessionId session) const;
  bool has_claims(SessionId session) const;
  void execute_alone(SessionId session, const ClaimId& claim);  // REQUIRES: the session is known

 private:
  struct Given {
    TimeUs at = 0;  // steady
    std::string node;
  };
  struct Remote {
    std::string caller;
    RemoteWorkerRef worker;                   // null: it is not known what it has
    TimeUs contact_at = 0;                    // steady
    std::map<std::string, Given> given = {};  // claims by their id
    TimeUs opened_at = 0;                     // steady; the last time that its row was seen to be there
    TimeUs met_at = 0;                        // steady
    bool was_opened_elsewhere = false;        // and claims of there may never have arrived
    std::string alone = {};                   // the claim that it executes with no other one; "": none
  };
  const Remote* find(SessionId session) const;
  void find_unknown_holds(SessionId session, Remote& remote, const std::vector<ClaimId>& has);

  GatewayContext& context_;
  TimeUs contact_at_ = 0;  // steady; the last of any session
  std::map<SessionId, Remote> remotes_;
};

// As hold_text() names it.
std::string hold_of(const ClaimId& claim);

}  // namespace cairn
