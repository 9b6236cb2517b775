// The context that all parts of the gateway share: its options, the time, and the actions that its driver carries out
// next. Not thread-safe.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "workers/gateway/ask.hpp"
#include "workers/gateway/gateway_calls.hpp"
#include "workers/session/session_actions.hpp"
#include "workers/session/worker_options.hpp"

namespace cairn {

struct GatewayOptions {
  std::int32_t shards = 1;
  int lanes = 2;
  std::int64_t poll_ms = 250;
  std::int64_t refresh_ms = 2'500;   // between heartbeats; a session without any is dead after session_silence_ms
  std::int64_t contact_ms = 30'000;  // a session that does not ask for so long gets no more heartbeats
  std::int64_t default_timeout_ms = step_timeout_ms;
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

struct GatewayContext {
  explicit GatewayContext(GatewayOptions given) : options(std::move(given)) {}

  void call(GatewayCall one) { actions.calls.push_back(std::move(one)); }
  void note(Note::Level level, std::string text) { actions.notes.push_back({level, std::move(text), nullptr}); }
  Ticket new_ticket() { return ++last_ticket; }

  const GatewayOptions options;
  TimeUs steady = 0;
  TimeUs now = 0;  // the database's
  GatewayActions actions = {};
  Ticket last_ticket = 0;
};

}  // namespace cairn
