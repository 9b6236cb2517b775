// The gateway: gives steps to workers that ask over HTTP, and takes their reports. It holds nothing that another
// process of the API could not go on with: a session is a row, a claim is a hold of that session, and its id is the
// fence of the report. It keeps a cache of folded states, in the same committer as a worker's, so that reports of many
// workers are one group commit. A state machine without I/O: its driver gives the time, carries out the calls
// and returns their answers, in any order, late, or never. It joins its parts, and knows what is around: the graphs,
// the queues and their limits, the sessions and their tools, the database's clock.
//
// While workers ask, it sweeps as a session does: what dead sessions held, and what is overdue, is lost and offered
// again.
//
// Not thread-safe.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/clock.hpp"
#include "workers/gateway/asks.hpp"
#include "workers/gateway/gateway_context.hpp"
#include "workers/gateway/remote_claims.hpp"
#include "workers/gateway/remote_reports.hpp"
#include "workers/gateway/remote_sessions.hpp"
#include "workers/runs/committer.hpp"
#include "workers/runs/loads_after_names.hpp"
#include "workers/session/sweeping.hpp"

namespace cairn {

class Gateway {
 public:
  // `tools`: of this program, which plans may name; they outlive it.
  Gateway(GatewayOptions options, const ToolTable& tools);
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  void tick(TimeUs steady_us);
  void notified() { asks_.lines().notified(); }
  void ask(AskId id, Ask ask);
  void gone(AskId id);                       // its client; reports are committed all the same, and claims offered again
  void hurry(AskId id) { asks_.hurry(id); }  // it waits for steps no longer
  void take_back(const std::vector<ClaimId>& claims) {
    sessions_.take_back(claims);
  }  // they did not reach their worker
  // A session's heartbeat with all claims that it has: those that were given to it a while ago and are not among them
  // did not arrive, and are offered again. Returns their nodes, as far as they are known; nothing: this process does
  // not know the session, or it is another caller's.
  std::optional<std::vector<std::string>> hears(SessionId session, const std::string& caller,
                                                const std::vector<ClaimId>& has) {
    return sessions_.hears(session, caller, has);
  }

  void answered(GatewayCall call);
  void failed(const GatewayCall& call);
  LockedDecision decide_locked(std::uint64_t batch, std::vector<LockedRun> runs) {
    return committer_.decide_locked(batch, std::move(runs));
  }

  GatewayActions drain_actions();
  TimeUs due_us() const;  // steady
  bool is_idle() const { return asks_.is_empty() && under_way_ == 0; }

 private:
  void begin(AskId id);
  bool dispatch_commits();
  void dispatch_sweeps();
  void replied(Reply reply);
  void refresh_if_due();
  void refreshed(RefreshGateway& refresh);
  void learn_sessions(const std::vector<SessionRow>& sessions);
  void learn_queues(const std::vector<QueueLimits>& limits);
  void keep_histories(ReadHistories& read);
  bool has_workers() const { return !asks_.is_empty() || sessions_.is_served(); }
  void later(GatewayCall call);
  void call_again_what_failed();

  GatewayContext context_;
  const ToolTable& own_tools_;
  ToolTable known_tools_;  // with those of sessions
  Committer committer_;
  RemoteSessions sessions_;
  Asks asks_;
  RemoteClaims claims_;
  RemoteReports reports_;
  Sweeping sweeping_;
  DatabaseClock clock_;
  KnownGraphs known_graphs_;
  bool is_ready_ = false;                              // the first refresh is answered
  LoadsAfterNames after_names_;                        // each refresh reads the names
  TimeUs refresh_asked_at_ = 0;                        // steady; the last one
  TimeUs refresh_at_ = 0;                              // steady; the next one
  std::int64_t under_way_ = 0;                         // calls
  std::vector<std::pair<TimeUs, GatewayCall>> later_;  // that failed, by when they go again
};

}  // namespace cairn
