// Worker sessions as one who only reads their rows may judge them. Pure functions, safe from any thread.
#pragma once

#include <string>

#include "engine/json.hpp"
#include "storage/store.hpp"
#include "workers/session/worker_options.hpp"

namespace cairn {

// A session that has not beaten for so long is taken for gone; workers themselves look longer before they sweep.
inline constexpr TimeUs silent_after_us = session_silence_ms * 1000;

// False for one that never said when it beats: nothing is known of it.
bool is_silent(const SessionRow& session, TimeUs now_us);

// "session 7 (process 12 on host)"
std::string session_text(const SessionRow& session);

// As `cairn workers --json` and the API list it.
Json session_json(const SessionRow& row, std::int64_t held, TimeUs now_us);

}  // namespace cairn
