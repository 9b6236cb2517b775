// The executor: finds the handler or tool of a held step, gives it its input and turns its result into a command.
// Knows no database, no session and no time of its own. Used by one thread at a time; not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/state.hpp"
#include "storage/store.hpp"
#include "workers/handlers/handler.hpp"
#include "workers/handlers/large_values.hpp"
#include "workers/ports/ports.hpp"

namespace cairn {

// A step with its input, ready to run once the blobs it reads are put back.
struct Work {
  std::string cache_key = {};  // of its outcome; "": not to be used again
  StepInput input;
  const Handler* handler = nullptr;  // null: the tool `input.tool`
  std::int64_t timeout_ms = 0;
  std::vector<Hash> blobs;
  std::size_t blob_bytes = 0;              // of text, that its references to them stand for together
  std::optional<ForkPoint> recorded = {};  // the run takes its answers from the record after this moment
  std::optional<StepResult> answer = {};   // known already: the recorded one, or why there is none
};
// The failure of an attempt that used up the memory.
Failure memory_used_up();
// Replaces each value that stands for a blob, as in large_values.hpp. If they take too much, the answer is a failure.
void put_back(Work& work, const ReadBlob& read);

struct NotOpen {};  // the state has no such step any more
struct Missing {    // this worker has no such handler or tool
  std::string what;
};
using Prepared = std::variant<Work, Command, NotOpen, Missing>;  // a command: there is nothing to run

// A digest of all that a step on a node with `cache` depends on: graph version and node, handler and its version, the
// settings and channels it reads, what its opening event brought, the plan if it reads it. Step, attempt, fault and
// budgets are left out: a handler that reads those must not be cached.
std::string cache_key(const Graph& graph, const Handler& handler, const StepInput& input);

// Whether the outcome that it reports opens a sub-goal of a tool that is not in the table.
bool plans_with_unknown_tool(const Command& command, const ToolTable& tools);

class Executor {
 public:
  Executor(const HandlerTable& handlers, Ports& ports, SessionId session);

  const HandlerTable& handlers() const { return handlers_; }

  Prepared prepare(const RunState& state, const Job& job) const;

  static StepResult run_pure(const Work& work);
  // With the handler's version on it.
  static StepResult made_by(const Handler& handler, StepResult result);
  // `slot`: whose progress the step's texts are; 0: no one's.
  boost::asio::awaitable<StepResult> run_effect(Work work, ProgressBoard::Slot slot = 0);

  // The command that reports the result; large values are moved to `blobs`.
  Command report(const Job& job, TimeUs started_at, StepResult result, const Graph& graph,
                 std::vector<Blob>& blobs) const;

  // Executes the step if it is pure and neither reads nor leaves large values, and returns its report; otherwise
  // nothing. Depends on the state and the handlers alone.
  std::optional<Command> pure_report(const RunState& state, const Job& job, TimeUs now_us) const;

 private:
  Command report_of(const Job& job, TimeUs started_at, StepResult result, const Graph& graph,
                    std::vector<Blob>& blobs) const;
  Command reused(const CachedOutcome& recorded, const Step& step, std::string key) const;

  const HandlerTable& handlers_;
  Ports& ports_;
  SessionId session_;
};

}  // namespace cairn
