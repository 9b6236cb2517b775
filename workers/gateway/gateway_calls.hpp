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

// Finds the event by which the claim's attempt ended, to judge a report that comes late or again.
struct FindEnd {
  Ticket ticket = 0;
  ClaimId claim;
  std::optional<EventBody> answer = {};  // nothing: no event has ended it
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

using GatewayCall = std::variant<OpenRemote, CloseSession, RefreshGateway, ReadHistories, Commit, CommitLocked,
                                 KeepSnapshot, DropSnapshots, ClaimSteps, LetGo, SayAlone, FindHolds, ReadBlobs,
                                 KeepBlobs, FindEnd, ScanSessions, ReapSession, TieEnds>;

const char* purpose(const GatewayCall& call);
void carry_out(GatewayCall& call, const CallSite& at);

}  // namespace cairn
