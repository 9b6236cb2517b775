// The runs that an export leaves out because they cannot be read, reported after all others. Used from one thread.
#pragma once

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "engine/id.hpp"
#include "ops/terminal/exit_code.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {

struct UnreadableRuns {
  std::vector<std::pair<RunId, std::string>> runs;

  void add(const RunId& run, const std::string& says) { runs.emplace_back(run, says); }
  // A line for each on stderr; they are a finding.
  ExitCode report() const {
    for (const auto& [run, says] : runs)
      std::cerr << "cairn: Left out run " << to_string(run) << ": " << readable_line(says, 2'000) << '\n';
    return runs.empty() ? exit_ok : exit_finding;
  }
};

}  // namespace cairn
