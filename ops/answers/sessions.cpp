#include "ops/answers/sessions.hpp"

#include <algorithm>

#include "workers/means.hpp"

namespace cairn {

bool is_silent(const SessionRow& session, TimeUs now_us) {
  return session.beat_at != 0 && now_us - session.beat_at > silent_after_us;
}

bool serves_all_queues(const SessionRow& session) {
  return session.allows &&
         std::find(session.allows->begin(), session.allows->end(), all_queues) != session.allows->end();
}

bool serves(const SessionRow& session, const std::string& queue) {
  return serves_all_queues(session) ||
         std::find(session.queues.begin(), session.queues.end(), queue) != session.queues.end();
}

std::string session_text(const SessionRow& session) {
  return "session " + std::to_string(session.id) + " (process " + std::to_string(session.pid) + " on " + session.host +
         ")";
}

Json session_json(const SessionRow& row, std::int64_t held, TimeUs now_us) {
  return {{"session", row.id},
          {"host", row.host},
          {"pid", row.pid},
          {"queues", row.queues},
          {"held", held},
          {"beats", row.counter},
          {"last_beat", row.beat_at == 0 ? Json(nullptr) : Json(time_text(row.beat_at))},
          {"alive", !is_silent(row, now_us)},
          {"only_own", row.only_own},
          {"handlers", row.handlers ? Json(*row.handlers) : Json(nullptr)},
          {"tools", row.tools ? Json(*row.tools) : Json(nullptr)},
          {"allows", row.allows ? Json(*row.allows) : Json(nullptr)},
          {"declares", row.declares ? parse_stored(*row.declares) : Json(nullptr)},
          {"has_model", row.has_model ? Json(*row.has_model) : Json(nullptr)},
          {"started_at", time_text(row.started_at)}};
}

Json held_json(const HeldJob& held, const RunRow& run) {
  return {{"run", to_string(held.run)},
          {"graph", run.graph},
          {"step", held.job.step},
          {"attempt", held.job.attempt},
          {"queue", held.job.queue},
          {"deadline", held.deadline_us == never_us ? Json(nullptr) : Json(time_text(held.deadline_us))}};
}

}  // namespace cairn
