// The table of faults: a line for each kind of fault, printed when it is added; at the end all of them are written as
// a page where CAIRN_FAULTS_RESULTS names a file. A line says whether its test has held. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cairn::program {

struct FaultLine {
  std::string fault;
  int injected = 0;
  std::int64_t acknowledged = 0;    // starts that were answered
  std::int64_t lost = 0;            // of these, runs that are not there or did not end with all that they should
  std::int64_t gone = 0;            // acknowledged, and then lost with the database's own commits; named by `verify`
  std::int64_t recorded_twice = 0;  // ends of one attempt, closings of one sub-goal
  std::int64_t executed_twice = 0;  // one attempt, called twice
  std::int64_t landed = 0;          // commits whose answer was lost, and which were there
  std::int64_t not_landed = 0;      // those that were not, and went again
  std::int64_t stale = 0;           // late reports that were refused
  std::int64_t bystanders = 0;      // runs that no fault was aimed at
  std::int64_t harmed = 0;          // of these, those that failed
  std::vector<double> recovery_ms;  // of each fault, or of each step that a struck worker was at: see the page
  double before_per_s = 0;          // executions; 0: not measured
  double after_per_s = 0;
  double during_per_s = 0;  // while the fault lasted; 0: not measured
  double during_s = 0;      // for so long
};

void add_line(FaultLine line);  // of the test that runs

// Whether to measure rates and inject more: set by ops/faults.
bool is_full();
inline constexpr const char* left_to_full = "run by ops/faults";  // why a case is skipped otherwise
std::uint64_t fault_seed();                                       // CAIRN_SEED, otherwise a new one

}  // namespace cairn::program
