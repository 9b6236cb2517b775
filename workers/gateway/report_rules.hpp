// The rules for reports of remote workers: what the handler's declaration adds to one, and what one means that comes
// after its attempt has ended. Pure functions, safe from any thread.
#pragma once

#include "engine/command.hpp"
#include "engine/event.hpp"
#include "engine/state.hpp"
#include "workers/gateway/ask.hpp"
#include "workers/gateway/gateway_calls.hpp"

namespace cairn {

// Adds to an outcome, as it came, the digest by which the same one is known again after its run did not take it.
void add_digest(StepResult& result);

// Adds to an outcome, as the worker has declared the handler: its version, and its label if it has only one.
void complete_report(StepResult& result, const RunState& state, const Step& step, const HandlerTable& handlers);

// A report that was not written; its attempt may have ended with its run. `declared`: the handlers of its session,
// whose only label a report without one has; null: the session is gone, and no one knows them. REQUIRES: it completes
// or fails a step.
ReportReply judge_report(const Command& report, const FoundEnd& end, SessionId session, const HandlerTable* declared);

}  // namespace cairn
