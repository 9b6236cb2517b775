// Worker sessions in PostgreSQL: their rows, the homes of runs, and scans of the jobs that they hold. Safe from any
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "storage/postgres/placements.hpp"
#include "storage/sessions.hpp"

namespace cairn {

class SessionTable {
 public:
  // REQUIRES: `placements` outlives it.
  SessionTable(Placements& placements, std::int32_t shards) : placements_(placements), shards_(shards) {}

  // As SessionBook says.
  void open(const SessionRow& session);
  void beat(SessionId session);
  void set_alone(SessionId session, const std::string& hold);
  void set_begun(SessionId session, const std::vector<std::string>& attempts);
  void close(SessionId session);
  void set_home(SessionId session, const RunId& run, bool is_home);
  std::vector<SessionRow> all();
  std::vector<HeldJob> held_by(SessionId session, std::int32_t limit, RunShare share);
  HeldScan scan_held(SessionId session, TimeUs now_us, std::int32_t limit);
  std::map<SessionId, std::int64_t> held_counts();
  void end_stalled(std::int64_t after_ms);

 private:
  void offer_stranded(std::span<const HeldJob> jobs);

  Placements& placements_;
  const std::int32_t shards_;
};

}  // namespace cairn
