// Worker sessions as the store in memory keeps them, and scans of the jobs that they hold. Safe from any thread (the
// lock of the rows).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "storage/memory/memory_rows.hpp"

namespace cairn {

class MemorySessions {
 public:
  explicit MemorySessions(MemoryRows& rows) : rows_(rows) {}

  // As SessionBook says.
  void open(const SessionRow& session);
  void beat(SessionId session);
  void set_alone(SessionId session, const std::string& hold);
  void set_begun(SessionId session, const std::vector<std::string>& attempts);
  void close(SessionId session);
  void set_home(SessionId session, const RunId& id, bool is_home);
  std::vector<SessionRow> all();
  std::vector<HeldJob> held_by(SessionId session, std::int32_t limit, RunShare share);
  HeldScan scan_held(SessionId session, TimeUs now_us, std::int32_t limit);
  std::map<SessionId, std::int64_t> held_counts();
  void end_stalled(std::int64_t) {}

 private:
  MemoryRows& rows_;
};

}  // namespace cairn
