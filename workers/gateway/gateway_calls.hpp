// The calls that the gateway makes of the store besides those of a session (session/store_calls.hpp). Plain values;
// carry_out() blocks on the store and is safe from any thread.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "engine/event.hpp"
#include "workers/gateway/claim_id.hpp"
#include "workers/gateway/remote_worker.hpp"
#include "workers/session/store_calls.hpp"

namespace cairn {

// Opens a session of a remote worker, or finds the one that it names, which another process of the API may have opened.
// One that is gone is not opened again: its id may have been anybody's. No other one is opened in its place: each
// request that still names it would get one of its own.
struct OpenRemote {
  std::uint64_t ask = 0;
  SessionId named = 0;  // 0: none
  std::string caller;
  RemoteWorkerRef worker;  // null: none is opened, and one that is gone is no refusal
  SessionId fresh = 0;     // the id of a new one
  struct Answer {
    SessionId session = 0;    // 0: it is gone
    bool is_unknown = false;  // the one that was named is another caller's, or gone, and a worker asks by it
    RemoteWorkerRef worker;   // of the session, as it asks or by its row; null: there is no session
  };
  Answer answer = {};
  static const char* purpose() { return "open a remote worker's session"; }
  void carry_out(const CallSite& at);
};

// The heartbeats of remote sessions, and what has changed around: graphs, queues, sessions, the clock.
struct RefreshGateway {
  std::vector<SessionId> beating;
  KnownGraphs known = {};  // what the answer brings is added
  struct Answer {
    TimeUs database_us = 0;
    TimeUs steady_us = 0;  // at that moment
    ReadGraphsOf graphs;
    std::vector<QueueLimits> queue_limits;
    std::vector<SessionRow> sessions;
  };
  Answer answer = {};
  static const char* purpose() { return "refresh the gateway"; }
  void carry_out(const CallSite& at);
};

// The end of a claim's attempt.
struct FoundEnd {
  std::optional<EventBody> event = {};  // nothing: no event has ended it
  bool has_same_values = false;         // as the outcome of the report
};

// Finds the end of the claim's attempt, to judge a report that comes late or again. Its values may have been moved out
// in other parts than those of the record: they are compared as a whole.
struct FindEnd {
  Ticket ticket = 0;
  ClaimId claim;
  Json values = {};              // of the report's outcome; null: it has none
  std::vector<Blob> moved = {};  // out of them, and kept nowhere else
  FoundEnd answer = {};
  static const char* purpose() { return "find out how a step has ended"; }
  void carry_out(const CallSite& at);
};

// A claim for one ask.
struct ClaimSteps : ClaimJobs {
  std::uint64_t ask = 0;
};

// Says which hold a session executes alone, before that is given to it.
struct SayAlone : SetAlone {
  Ticket ticket = 0;  // of the step that waits for it; 0: none does
};

// Finds the holds of a session that another process of the API had opened. Reads all jobs (SessionBook::held_by).
struct FindHolds {
  SessionId session = 0;
  std::set<std::string> known = {};  // as hold_text() has them: those that its worker named
  std::vector<HeldJob> answer = {};
  static const char* purpose() { return "find the holds of a remote session"; }
  void carry_out(const CallSite& at) { answer = at.store.sessions().held_by(session, ReapSession::holds_max, {}); }
};

// Finds out which of these claims are held yet: a report may have come to another process of the API.
struct CheckGivenClaims {
  std::vector<ClaimId> claims;
  std::vector<HoldStanding> answer = {};  // in their order
  static const char* purpose() { return "check the claims of remote sessions"; }
  void carry_out(const CallSite& at);
};

using GatewayCall = std::variant<OpenRemote, CloseSession, RefreshGateway, ReadHistories, Commit, CommitLocked,
                                 KeepSnapshot, ClaimSteps, LetGo, SayAlone, FindHolds, CheckGivenClaims, ReadBlobs,
                                 KeepBlobs, FindEnd, ScanSessions, ReapSession, TieEnds>;

const char* purpose(const GatewayCall& call);
void carry_out(GatewayCall& call, const CallSite& at);

}  // namespace cairn
