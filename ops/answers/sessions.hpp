// Worker sessions judged from their rows alone. Pure functions, safe from any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "engine/json.hpp"
#include "storage/store.hpp"
#include "workers/session/worker_options.hpp"

namespace cairn {

// A session without a heartbeat for so long is shown as gone; workers wait longer before they reap its jobs.
inline constexpr TimeUs silent_after_us = session_silence_ms * 1000;

// False for a session without any recorded heartbeat.
bool is_silent(const SessionRow& session, TimeUs now_us);

// The worker serves each queue that a graph names: those of a graph that was just added come into its row later.
bool serves_all_queues(const SessionRow& session);
bool serves(const SessionRow& session, const std::string& queue);

// "session 7 (process 12 on host)"
std::string session_text(const SessionRow& session);

// The first source (workers/means.hpp) by which the answers of two workers differ that may get jobs of one queue,
// timers aside: that of each. Nothing: they have the same, share no queue, or one of them does not say.
std::optional<std::pair<std::string, std::string>> difference_of_sources(const SessionRow& one,
                                                                         const SessionRow& other);
// Refuses `conflict`: a live worker, not one for runs of its own alone, differs so from `own`, which is about to start.
Status check_sources(const SessionRow& own, std::span<const SessionRow> sessions, TimeUs now_us);

// The entry in `cairn workers --json` and in the API's list.
Json session_json(const SessionRow& row, std::int64_t held, TimeUs now_us);

// {"run", "graph", "step", "attempt", "queue", "deadline"}: a step that a session holds; deadline null: it has none.
Json held_json(const HeldJob& held, const RunRow& run);

}  // namespace cairn
