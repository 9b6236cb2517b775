// Open requests of remote workers for steps (long polls). Each opens its session, has its reports written and its steps
// claimed, waits in a line while there are none, and is answered once nothing more is to come. Not thread-safe.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "workers/gateway/ask_lines.hpp"
#include "workers/gateway/gateway_context.hpp"
#include "workers/gateway/remote_sessions.hpp"

namespace cairn {

struct Asked {
  enum class At : std::uint8_t {
    opens,   // its session
    begins,  // as soon as the gateway does
    works,   // on its reports and claims
    waits,   // in its line
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
  bool waits_first_time = true;
  bool is_gone = false;

  std::int32_t room() const;                                   // for more steps
  bool takes_none() const { return is_gone || ask.max == 0; }  // those that it has are given back
};

class Asks {
 public:
  Asks(GatewayContext& context, RemoteSessions& sessions);

  void tick() { lines_.tick(context_.steady); }
  TimeUs due_us() const { return lines_.due_us(); }
  bool is_empty() const { return asks_.empty(); }
  AskLines& lines() { return lines_; }

  // Takes an ask; true: its session is known, and it begins.
  bool add(AskId id, Ask ask);
  // True: it begins. False: it is answered, or is no more.
  bool opened(const OpenRemote& open);
  std::vector<AskId> that_begin() const;
  void gone(AskId id);
  // The oldest of those whose clients are gone while they keep too much together, as when the database is away: it is
  // to be given up, and its client reports again. Each is named once.
  std::optional<AskId> one_gone_too_many();
  bool has_begun(AskId id) const;
  void drop(AskId id);  // REQUIRES: it has not begun
  void hurry(AskId id);
  // Answers the ask if nothing more is to come; else it waits in its line.
  void answer_if_complete(AskId id);
  // The session's, which is no more: a step that one of them waits for would be held by no session.
  void end_all_of(SessionId session);

  Asked* find(AskId id);
  // REQUIRES: it is there. One stays until all its reports are answered and its steps are prepared.
  Asked& at(AskId id) { return asks_.at(id); }
  void set_result(AskId id, std::size_t report, ReportReply reply);

  // Those that claim now, each from one shard.
  std::vector<AskLines::Claiming> next_claims();
  // Those that claim a step of this run, with no other one: their sessions have made room for it.
  std::vector<std::pair<AskLines::Claiming, RunId>> next_claims_alone();
  void claimed_alone(AskId id);
  void claimed(AskId id, const AskLines::Queues& queues, Shard shard, bool was_full);
  // Answers those that wait no longer.
  void answer_overdue();
  std::set<SessionId> sessions() const;

 private:
  std::optional<AskId> that_waits_alone(SessionId session) const;
  void wait(AskId id, Asked& asked, bool has_something);
  void finish(AskId id, Asked& asked);

  GatewayContext& context_;
  RemoteSessions& sessions_;
  AskLines lines_;
  const RemoteWorkerRef idle_;  // stands in for the worker of a session that is gone
  std::map<AskId, Asked> asks_;
  std::deque<AskId> gone_;      // with reports, the oldest first
  std::size_t gone_bytes_ = 0;  // of them
};

}  // namespace cairn
