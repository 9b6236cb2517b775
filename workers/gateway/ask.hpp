// The ask of a remote worker, and its answer: reports of what it has done, and how many steps it takes. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workers/gateway/claim_id.hpp"
#include "workers/gateway/remote_worker.hpp"

namespace cairn {

struct Ask {
  struct Report {
    ClaimId claim;
    StepResult result;          // of a handler's or a tool's step; `label` "": the handler's only one
    bool is_release = false;    // nothing was done: the step is offered again
    std::int64_t pause_ms = 0;  // of a release: not before
    bool has_outputs = false;   // the outcome was said as a tool's; a handler's step does not take it
  };
  std::string caller;
  SessionId session = 0;   // 0: none yet
  RemoteWorkerRef worker;  // null: it only reports, and the session's counts
  std::vector<Report> finished;
  std::int32_t max = 0;       // steps it takes
  TimeUs wait_us = 0;         // how long it waits for one, if it reports nothing
  bool closes = false;        // it ends: its session is closed once its reports are committed
  std::size_t bytes = 0;      // of the request
  bool by_reference = false;  // steps come with {"$blob", "bytes"} in the place of large values
};

enum class ReportStatus : std::uint8_t {
  committed,
  already,   // by the same report, before
  stale,     // the hold was lost; another attempt counts
  closed,    // the run has ended, or its end has begun, which cancelled the step
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
  bool is_unknown = false;           // the caller has no such session, or no more; nothing was done
  std::vector<ReportReply> results;  // in the order of the reports
  std::vector<RemoteClaim> claims;
  bool drains = false;  // this process ends, and gives no more steps
};

using AskId = std::uint64_t;

}  // namespace cairn
