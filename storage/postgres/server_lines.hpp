// The servers that a process has written on, and the timelines of their logs of changes. Where one changes, another
// server has taken the database's place: what it had not received is gone. Safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace cairn {

struct ServerLine {
  std::int64_t system = 0;    // made with the server's data; a physical standby has the same
  std::int64_t timeline = 0;  // 0: a replica, which is passed over
  bool operator==(const ServerLine&) const = default;
};

class ServerLines {
 public:
  // A new connection to `place` has met this one. Returns a sentence for the log where the one before it was another.
  std::optional<std::string> note(const std::string& place, const ServerLine& met);

 private:
  std::mutex mutex_;
  std::map<std::string, ServerLine> last_;  // by place
};

}  // namespace cairn
