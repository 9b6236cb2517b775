#include "ops/answers/sessions.hpp"

#include <algorithm>

#include "workers/means.hpp"

namespace cairn {
namespace {

bool share_a_queue(const SessionRow& one, const SessionRow& other) {
  if (serves_all_queues(one) || serves_all_queues(other)) return true;
  return std::any_of(one.queues.begin(), one.queues.end(),
                     [&](const std::string& queue) { return queue != timer_queue && serves(other, queue); });
}

}  // namespace

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

std::optional<std::pair<std::string, std::string>> difference_of_sources(const SessionRow& one,
                                                                         const SessionRow& other) {
  if (!one.allows || !other.allows || !share_a_queue(one, other)) return std::nullopt;
  const std::vector<std::string> sources = sources_of_answers(*one.allows);
  const std::vector<std::string> others = sources_of_answers(*other.allows);
  const auto [mine, theirs] = std::mismatch(sources.begin(), sources.end(), others.begin(), others.end());
  if (mine == sources.end() || theirs == others.end()) return std::nullopt;
  return std::pair(*mine, *theirs);
}

Status check_sources(const SessionRow& own, std::span<const SessionRow> sessions, TimeUs now_us) {
  for (const SessionRow& session : sessions) {
    if (session.only_own || is_silent(session, now_us)) continue;
    if (const auto found = difference_of_sources(own, session))
      return Error{Code::conflict, "Expected the data that other workers of the same queues answer from, but " +
                                       session_text(session) + " has \"" + found->second + "\" and this one \"" +
                                       found->first +
                                       "\": give each of them a --queue of its own, or, while they change in turn, "
                                       "start this one with --other-data."};
  }
  return Done{};
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
