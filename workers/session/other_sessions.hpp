// The other sessions, as the latest scan found them: those that serve the same queues, and what they have that this one
// lacks. Not thread-safe.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "engine/command.hpp"
#include "storage/sessions.hpp"
#include "workers/runs/keep_rules.hpp"

namespace cairn {

class OtherSessions {
 public:
  // The tools are this session's own, and outlive it.
  OtherSessions(SessionId self, const ToolTable& tools) : self_(self), own_tools_(tools), known_tools_(tools) {}

  // A scan that began at `scanned_at` (steady) found these. `served`: the queues of this session.
  void seen(const std::vector<SessionRow>& sessions, const QueueNames& served, TimeUs scanned_at);

  TimeUs scanned_at() const { return scanned_at_; }                    // 0: not yet
  const std::vector<SessionRow>& sharing() const { return sharing_; }  // serve the same queues
  // This session's tools and those of all others, of which some are known by their names alone. One object all along.
  const ToolTable& known_tools() const { return known_tools_; }
  // "handler NAME" and "tool NAME" that workers over HTTP have.
  const std::set<std::string>& have_over_http() const { return have_over_http_; }
  bool is_served_over_http(const std::string& queue) const;
  bool has_model() const;  // one that shares queues

 private:
  SessionId self_;
  const ToolTable& own_tools_;
  ToolTable known_tools_;
  std::vector<SessionRow> sharing_;
  std::set<std::string> have_over_http_;
  TimeUs scanned_at_ = 0;
};

}  // namespace cairn
