#include "ops/sessions.hpp"

namespace cairn {

bool is_silent(const SessionRow& session, TimeUs now_us) {
  return session.beat_at != 0 && now_us - session.beat_at > silent_after_us;
}

std::string session_text(const SessionRow& session) {
  return "session " + std::to_string(session.id) + " (process " + std::to_string(session.pid) + " on " + session.host +
         ")";
}

}  // namespace cairn
