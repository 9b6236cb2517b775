// The gateway: gives steps to workers that ask over HTTP, and takes their reports. It holds nothing that another
// process of the API could not go on with: a session is a row, a claim is a hold of that session, and its id is the
// fence of the report. It keeps a cache of folded states, in the same committer as a worker's, so that reports of many
// workers are one group commit. A state machine without I/O: its driver gives the time, carries out the calls
// and returns their answers, in any order, late, or never.
//
// While workers ask, it sweeps as a session does: what dead sessions held, and what is overdue, is lost and offered
// again.
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "storage/clock.hpp"
#include "workers/gateway/gateway_calls.hpp"
#include "workers/runs/committer.hpp"
#include "workers/runs/executor.hpp"
#include "workers/session/session_actions.hpp"
#include "workers/session/sweeping.hpp"

namespace cairn {

// One question of a remote worker: reports of what it has done, and how much more it takes.
struct Ask {
  struct Report {
    ClaimId claim;
    StepResult result;          // of a handler's or a tool's step; `label` "": the handler's only one
    bool is_release = false;    // nothing was done: the step is offered again
    std::int64_t pause_ms = 0;  // of a release: not before
  };
  std::string caller;
  SessionId session = 0;   // 0: none yet
  RemoteWorkerRef worker;  // null: it only reports
  std::vector<Report> finished;
  std::int32_t max = 0;       // steps it takes
  TimeUs wait_us = 0;         // how long it waits for one, if it reports nothing
  bool closes = false;        // it ends: its session is closed once its reports are committed
  bool by_reference = false;  // steps come with {"$blob", "bytes"} in the place of large values
};

enum class ReportStatus : std::uint8_t {
  committed,
  already,   // by the same report, before
  stale,     // the hold was lost; another attempt counts
  closed,    // the run has ended, or the step was cancelled
  conflict,  // the attempt ended by another report of this claim
  invalid,   // the run does not take it; the step is still held, and another report may follow
};
std::string_view to_string(ReportStatus status);

struct ReportReply {
  ReportStatus status = ReportStatus::committed;
  std::string says;  // why it is not committed
};

struct RemoteClaim {
  ClaimId id;
  StepInput input;
  std::string handler = {};  // "": it is a tool's
  std::int64_t timeout_ms = 0;
};

struct AskAnswer {
  SessionId session = 0;
  bool is_foreign = false;           // the session is another caller's; nothing was done
  std::vector<ReportReply> results;  // in the order of the reports
  std::vector<RemoteClaim> claims;
};

using AskId = std::uint64_t;

struct GatewayOptions {
  std::int32_t shards = 1;
  int lanes = 2;
  std::int64_t poll_ms = 250;
  std::int64_t look_ms = 2'500;      // between heartbeats; a session without any is dead after session_silence_ms
  std::int64_t contact_ms = 30'000;  // a session that does not ask for so long gets no more heartbeats
  std::int64_t default_timeout_ms = 600'000;
  std::size_t claimed_bytes_max = 8u << 20;  // of the inputs of one answer; what is beyond them is offered again
  std::function<RunId()> new_id;
  std::function<SessionId()> new_session;
  std::function<double()> draw;
  std::function<std::int64_t()> new_commit;
};

struct GatewayActions {
  std::vector<GatewayCall> calls;  // each answered once by answered() or failed()
  std::vector<std::pair<AskId, AskAnswer>> answers;
  std::vector<Note> notes;
};

class Gateway {
 public:
  // `tools`: of this program, which plans may name; they outlive it.
  Gateway(GatewayOptions options, const ToolTable& tools);
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  void tick(TimeUs steady_us);
  void notified();
  void ask(AskId id, Ask ask);
  void gone(AskId id);   // its client; reports are committed all the same, and claims are offered again
  void hurry(AskId id);  // it waits for steps no longer
  void take_back(const std::vector<ClaimId>& claims);  // that did not reach their worker
  // A session's heartbeat with all claims that it has: those that were given to it a while ago and are not among them
  // did not arrive, and are offered again. Returns their nodes, as far as they are known; nothing: this process does
  // not know the session, or it is another caller's.
  std::optional<std::vector<std::string>> hears(SessionId session, const std::string& caller,
                                                const std::vector<ClaimId>& has);

  void answered(GatewayCall call);
  void failed(const GatewayCall& call);
  LockedDecision decide_locked(std::uint64_t batch, std::vector<LockedRun> runs) {
    return committer_.decide_locked(batch, std::move(runs));
  }

  GatewayActions drain_actions();
  TimeUs due_us() const;  // steady
  bool is_idle() const { return asks_.empty() && under_way_ == 0; }

 private:
  struct Given {
    TimeUs at = 0;  // steady
    std::string node;
  };
  // A session that has asked here of late.
  struct Remote {
    std::string caller;
    RemoteWorkerRef worker;                   // null: it is not known what it has
    TimeUs contact_at = 0;                    // steady
    std::map<std::string, Given> given = {};  // claims by their id
    TimeUs met_at = 0;                        // steady
    bool was_opened_elsewhere = false;        // and claims of there may never have arrived
    std::string alone = {};                   // the claim that it executes with no other one; "": none
  };
  // The asks for the same queues, which claims serve in their order.
  struct Source {
    struct Place {  // of a shard
      bool wants = true;
      bool is_claiming = false;
    };
    std::vector<Place> places;
    std::size_t next = 0;
    TimeUs poll_at = 0;
    std::deque<AskId> waiting;
    std::vector<AskId> in_haste;  // of them, those that have something to answer

    bool wants() const {
      return std::any_of(places.begin(), places.end(), [](Place one) { return one.wants && !one.is_claiming; });
    }
    bool is_idle() const {
      return waiting.empty() && std::none_of(places.begin(), places.end(), [](Place one) { return one.is_claiming; });
    }
  };
  struct Asked {
    enum class At : std::uint8_t {
      opens,   // its session
      works,   // on its reports and claims
      waits,   // in its source
      claims,  // for itself; the call is under way
    };
    Ask ask;
    RemoteWorkerRef worker;  // never null
    TimeUs until = 0;        // steady
    AskAnswer answer;
    std::size_t open_reports = 0;
    std::size_t preparing = 0;  // steps on their way to be claims
    std::size_t bytes = 0;      // of the inputs of its answer's claims
    At at = At::opens;
    bool is_new = true;  // it has not waited yet
    bool is_gone = false;
  };
  enum class Stage : std::uint8_t { reads_run, writes, judged };
  struct Task {
    AskId ask = 0;
    bool is_report = false;
    bool is_alone = false;  // its session's row says so
    Stage stage = Stage::reads_run;
    std::size_t place = 0;  // of the report
    HeldJob job = {};       // of a claim
    ClaimId claim = {};
    std::optional<StepResult> result = {};
    std::optional<Command> command = {};
    std::string queue = {};  // that the report's row stands in
  };

  // --- asks ---
  void begin(AskId id, Asked& asked);
  void begin_reports(AskId id, Asked& asked);
  void settle(AskId id);
  void wait(AskId id, Asked& asked, bool has_something);
  void wait_no_more(AskId id, Asked& asked);
  void finish(AskId id);
  void end_asks_of(SessionId session);
  std::int32_t room_of(const Asked& asked) const;
  void set_result(const Task& task, ReportStatus status, std::string says);

  // --- claims ---
  void claim_for_waiting();
  bool claim_for(AskId id, Asked& asked, Source& source);
  Source& source_of(const Asked& asked);
  void take(AskId id, HeldJob job);
  void prepare(Ticket ticket, const RunState* found);
  bool may_begin(Ticket ticket, const RunState& state);
  void forget_given(SessionId session, const std::string& claim);
  void prepared(Ticket ticket, Work work);
  void give(Ticket ticket, Work work);
  void leave(Ticket ticket, TimeUs run_at_us);
  void offer(const HeldJob& job, TimeUs run_at_us);
  void cannot_give(Ticket ticket, const Error& error);
  void drop(Ticket ticket);

  // --- reports ---
  void report(Ticket ticket, const RunState* state);
  void submit(Ticket ticket);
  void refused(Ticket ticket, const Error& error);
  bool is_being_written(const Task& judged) const;
  void judge(const FindEnd& found);
  void replied(Reply reply);

  // --- answers of the store ---
  void on_answer(OpenRemote& call);
  void on_answer(LookAround& call);
  void on_answer(ReadHistories& call);
  void on_answer(Commit& call) { committer_.verdicts(call.batch.batch, std::move(call.answer)); }
  void on_answer(CommitLocked& call) { committer_.verdicts(call.commit.batch, std::move(call.answer.verdicts)); }
  void on_answer(ClaimSteps& call);
  void on_answer(ReadBlobs& call);
  void on_answer(KeepBlobs& call);
  void on_answer(FindEnd& call) { judge(call); }
  void on_answer(SayAlone& call);
  void on_answer(FindHolds& call);
  void on_answer(ScanSessions& call);
  void on_answer(ReapSession& call);
  void on_answer(TieEnds&) {}
  void on_answer(CloseSession&) {}
  void on_answer(KeepSnapshot&) {}
  void on_answer(DropSnapshots&) {}
  void on_answer(LetGo& call);
  void on_failure(const OpenRemote& again) { later(again); }
  void on_failure(const LookAround&) { is_looking_ = false; }
  void on_failure(const ReadHistories& call);
  void on_failure(const Commit& call) { committer_.batch_failed(call.batch.batch); }
  void on_failure(const CommitLocked& call) { committer_.batch_failed(call.commit.batch); }
  void on_failure(const ClaimSteps& call);
  void on_failure(const ReadBlobs& again) { later(again); }
  void on_failure(const KeepBlobs& again) { later(again); }
  void on_failure(const FindEnd& again) { later(again); }
  void on_failure(const LetGo& again) { later(again); }
  void on_failure(const SayAlone& again) { later(again); }
  void on_failure(const FindHolds& again) { later(again); }
  void on_failure(const ScanSessions&) { sweeping_.scan_failed(); }
  void on_failure(const ReapSession&) {}  // named again by the next scan
  void on_failure(const TieEnds&) {}      // found again by a later scan
  void on_failure(const CloseSession& again) { later(again); }
  void on_failure(const KeepSnapshot&) {}   // a cache
  void on_failure(const DropSnapshots&) {}  // they take room, and nothing else

  void dispatch_sweeps();
  bool dispatch_commits();
  void read(std::vector<Load> loads);
  void look_if_due();
  void learn(const std::vector<SessionRow>& sessions);
  void forget_unserved_queues();
  void later(GatewayCall call);
  void call(GatewayCall call) { actions_.calls.push_back(std::move(call)); }
  void note(Note::Level level, std::string text) { actions_.notes.push_back({level, std::move(text), nullptr}); }
  bool is_served() const { return steady_ - contact_at_ < options_.contact_ms * 1'000; }
  bool has_workers() const { return !asks_.empty() || is_served(); }

  GatewayOptions options_;
  const ToolTable& own_tools_;
  ToolTable known_tools_;  // with those of sessions
  const RemoteWorkerRef nobody_;
  Committer committer_;
  DatabaseClock clock_;
  TimeUs steady_ = 0;
  TimeUs now_ = 0;         // the database's
  bool is_ready_ = false;  // the first look is answered
  Sweeping sweeping_;
  bool is_looking_ = false;
  TimeUs look_at_ = 0;                                 // steady
  TimeUs contact_at_ = 0;                              // steady; the last of any session
  std::int64_t under_way_ = 0;                         // calls
  std::vector<std::pair<TimeUs, GatewayCall>> later_;  // that failed, by when they go again
  KnownGraphs known_graphs_;
  QueueNames queues_;  // that sessions serve
  QueueNames limited_queues_;
  const std::shared_ptr<RecordedAnswersCache> records_ = std::make_shared<RecordedAnswersCache>();
  const std::shared_ptr<BlobTexts> texts_ = std::make_shared<BlobTexts>();
  std::map<SessionId, Remote> remotes_;
  std::map<AskId, Asked> asks_;
  std::set<std::pair<TimeUs, AskId>> deadlines_;  // of those that wait
  std::map<std::vector<std::string>, Source> sources_;
  std::unordered_map<Ticket, Task> tasks_;
  std::map<RunId, History> short_histories_;  // brought by a claim; for the loads of this round
  Ticket last_ticket_ = 0;
  GatewayActions actions_;
};

}  // namespace cairn
