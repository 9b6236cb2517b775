// A worker that claims over HTTP, as it says of itself with each request: its name, the queues it serves, and the
// handlers and tools it has. Immutable once made: safe from any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/sessions.hpp"
#include "workers/handlers/handler.hpp"
#include "workers/ports/ports.hpp"
#include "workers/runs/executor.hpp"

namespace cairn {

struct RemoteHandler {
  std::string name;
  std::int32_t version = 1;
  std::vector<std::string> labels = {};  // by which it leaves; empty: "ok"
  std::vector<std::string> reads = {};   // channels it gets besides its settings; "*": all
  bool reads_plan = false;
  Json schema = {};  // JSON Schema of its settings ("with"); null: it does not say

  bool operator==(const RemoteHandler&) const = default;
};

struct RemoteTool {
  std::string name;
  std::string queue = {};  // of its sub-goals; "": the worker's first
  std::string about = {};  // for planners, in a sentence or two; "": not offered to them
  Json schema = {};        // JSON Schema of its inputs; null: it does not say

  bool operator==(const RemoteTool&) const = default;
};

struct RemoteWorkerSays {
  std::string name;
  std::string caller;  // as which it came: no other one may use its sessions
  std::vector<std::string> queues;
  std::vector<RemoteHandler> handlers;
  std::vector<RemoteTool> tools;

  bool operator==(const RemoteWorkerSays&) const = default;
};

class RemoteWorker {
 public:
  // REQUIRES: at least one queue; no name twice.
  explicit RemoteWorker(RemoteWorkerSays says);
  ~RemoteWorker();

  const RemoteWorkerSays& declared() const { return says_; }
  const HandlerTable& handlers() const { return handlers_; }
  const ToolTable& tools() const { return tools_; }
  SessionRow row(SessionId id) const;
  // Prepares its steps and makes reports of their results. REQUIRES: this outlives it; it runs nothing.
  Executor executor(SessionId id) const;

 private:
  struct Elsewhere;
  const RemoteWorkerSays says_;
  HandlerTable handlers_;
  ToolTable tools_;
  std::unique_ptr<Elsewhere> ports_;
};

using RemoteWorkerRef = std::shared_ptr<const RemoteWorker>;

// The worker that opened the session, as far as its row has it: what a handler reads is not on record, so that this one
// completes reports, and prepares no step. REQUIRES: it is a session of a worker that claims over HTTP.
RemoteWorkerRef declared_worker(const SessionRow& row);

}  // namespace cairn
