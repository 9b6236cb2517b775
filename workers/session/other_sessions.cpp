#include "workers/session/other_sessions.hpp"

#include <algorithm>

#include "workers/session/declared_work.hpp"

namespace cairn {
namespace {

// One without queues has just opened: which ones it serves comes with the graphs that it reads.
bool shares_queue(const SessionRow& row, const QueueNames& served) {
  if (row.queues.empty()) return true;
  return std::any_of(row.queues.begin(), row.queues.end(),
                     [&](const std::string& queue) { return queue != timer_queue && served.contains(queue); });
}

}  // namespace

// A sub-goal on a tool that another session has is no mistake of its plan.
void OtherSessions::seen(const std::vector<SessionRow>& sessions, const QueueNames& served, TimeUs scanned_at) {
  scanned_at_ = scanned_at;
  sharing_.clear();
  have_over_http_.clear();
  known_tools_ = own_tools_;
  for (const SessionRow& row : sessions) {
    if (row.id == self_) continue;
    for (auto& [name, facts] : tools_of(row)) {
      if (row.caller) have_over_http_.insert("tool " + name);
      known_tools_.try_emplace(name, std::move(facts));
    }
    if (row.caller)
      for (const std::string& name : row.handlers.value_or(std::vector<std::string>()))
        have_over_http_.insert("handler " + name);
    if (!row.only_own && shares_queue(row, served)) sharing_.push_back(row);
  }
}

bool OtherSessions::is_served_over_http(const std::string& queue) const {
  return std::any_of(sharing_.begin(), sharing_.end(), [&queue](const SessionRow& row) {
    return row.caller && std::find(row.queues.begin(), row.queues.end(), queue) != row.queues.end();
  });
}

bool OtherSessions::has_model() const {
  return std::any_of(sharing_.begin(), sharing_.end(),
                     [](const SessionRow& row) { return row.has_model.value_or(false); });
}

}  // namespace cairn
