// The reports of remote workers on their way: each is decided on its run's state and written once; one that comes late
// or again is judged by what the history says of its attempt. Not thread-safe.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "workers/gateway/asks.hpp"
#include "workers/gateway/remote_claims.hpp"
#include "workers/runs/committer.hpp"

namespace cairn {

class RemoteReports {
 public:
  RemoteReports(GatewayContext& context, Asks& asks, RemoteSessions& sessions, RemoteClaims& claims,
                Committer& committer)
      : context_(context), asks_(asks), sessions_(sessions), claims_(claims), committer_(committer) {}

  void begin(AskId id);    // all that the ask has brought
  void give_up(AskId id);  // those of the ask that are not being written; they come again
  bool has(Ticket ticket) const { return reports_.contains(ticket); }
  void add_holds(std::set<std::string>& known) const;

  void replied(Reply reply);  // REQUIRES: has(reply.ticket)
  // Answers of the store; of a report that is no more: nothing happens.
  void blobs_kept(KeepBlobs& keep);
  void let_go(const LetGo& let_go);
  // False: the same report is being written by another request, and its end has to be found again later.
  bool end_found(const FindEnd& found);

 private:
  enum class Stage : std::uint8_t { reads_run, writes, judged };
  struct Report {
    AskId ask = 0;
    std::size_t place = 0;  // in the ask
    ClaimId claim = {};
    std::optional<StepResult> result = {};
    Stage stage = Stage::reads_run;
    std::optional<Command> command = {};
    std::vector<Blob> moved = {};  // out of a report that comes late
    std::string queue = {};        // that its row stands in
    bool has_outputs = false;      // as Ask::Report says
  };
  void release(Ticket ticket, Report& report, std::int64_t pause_ms);
  void decide(Ticket ticket, Report& report, const RunState* state);
  void submit(Ticket ticket, Report& report);
  void refused(Ticket ticket, Report& report, const Error& error);
  void find_end(Ticket ticket, Report& report);
  void find_next();
  void end(Ticket ticket, ReportReply reply);
  bool is_being_written(const ClaimId& claim) const;

  GatewayContext& context_;
  Asks& asks_;
  RemoteSessions& sessions_;
  RemoteClaims& claims_;
  Committer& committer_;
  std::unordered_map<Ticket, Report> reports_;
  std::deque<Ticket> to_find_;  // whose ends are read one after another: each may be a walk through a long history
  bool is_finding_ = false;
};

}  // namespace cairn
