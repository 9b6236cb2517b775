// A tool's call, or a read of a resource, that waits for its run: what is sent to the client meanwhile, and its result.
// Used by one thread at a time, but for decline() and leave().
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "ops/mcp/host.hpp"
#include "ops/mcp/outcome.hpp"
#include "ops/mcp/peer.hpp"

namespace cairn {

struct RunCallOrder {
  Json id;  // of the request
  McpPeer peer;
  RunId run;
  GraphRef graph;
  Json progress_token = nullptr;                    // null: no progress is wanted
  bool is_repeatable = false;                       // the same request again is a call of the same run
  std::optional<ResourceRead> read = std::nullopt;  // nothing: a tool's call
  std::set<std::string> opened = {};                // keys of questions that are being answered on their pages
};

class RunCall {
 public:
  RunCall(McpHostRef host, RunCallOrder order);

  struct Piece {
    std::vector<Json> messages;
    bool is_last = false;  // the result is among them
  };
  // The news since the last time; mostly there is none. Reads events only when the run has moved. It ends with the run,
  // with a question that cannot be put here, or when the time is over; while the client has a form, it waits for up to
  // an hour. While the database is away, it waits.
  Piece next();

  // The client wants no result any more: cancels the run if the caller may.
  void cancel();
  // From any thread: the person has declined a question of the run; the client takes no answer any more.
  void decline() { is_declined_ = true; }
  void leave() { is_left_ = true; }

  const Json& id() const { return order_.id; }
  const RunId& run() const { return order_.run; }
  bool is_modern() const { return order_.peer.is_modern; }
  bool is_repeatable() const { return order_.is_repeatable; }
  // True: it is this request of a session. From any thread.
  bool is_of(const std::string& caller, const std::string& session, const Json& request_id) const;

 private:
  // The run, or an open one that it has called.
  struct Followed {
    RunId run;
    McpHost::Head head;
    std::int64_t seen = 0;  // the last event that was read
    bool is_left = false;   // it has ended, or is not the caller's to read
  };
  Piece news();
  bool follow_called(Piece& piece);  // false: some of their events are to be read yet
  void read_events(Piece& piece, Followed& followed, std::int64_t head);
  void hear(const Json& event);
  void add_progress(Piece& piece, const Json& event);
  void put_questions(Piece& piece);
  bool is_being_answered(const Json& requests) const;
  void end_late(Piece& piece);
  void end(Piece& piece, Json result);
  void end_refused(Piece& piece, const RpcError& error);
  void end_with(Piece& piece, const Json& state);  // of a run that has ended
  void end_unfinished(Piece& piece, const std::string& text);
  std::optional<Json> state() const;
  std::chrono::milliseconds wait() const;  // for the run, without a form
  bool has_schema() const;

  McpHostRef host_;
  RunCallOrder order_;
  Followed own_;
  std::vector<Followed> called_ = {};
  std::chrono::steady_clock::time_point until_;
  bool has_question_ = false;  // one was asked that was not put yet
  std::atomic<bool> is_declined_ = false;
  std::atomic<bool> is_left_ = false;
  std::set<std::string> forms_;  // of the questions whose forms the client has
};

// A result, or a call that waits for its run.
using CallAnswer = std::variant<Json, std::unique_ptr<RunCall>>;
using CallReply = Result<CallAnswer, RpcError>;

// Ends a run whose call the client has cancelled. False: the caller may not, or it has ended.
bool cancel_run(const McpHost& host, const RunId& run);

}  // namespace cairn
