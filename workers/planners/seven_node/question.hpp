// Questions about a code base, read by word rules: their kinds, the parts they name, and whether they are about a code
// base at all. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cairn {

struct RepositoryQuestion {
  std::vector<std::string> kinds;  // ownership, risk, recent_changes, hotspots, coupling; empty: nothing known is asked
  std::vector<std::string> entities;  // names of parts as the question has them, each once
  bool is_on_topic = false;
  bool names_all = false;  // it is about the repository as a whole
};

RepositoryQuestion read_question(std::string_view text);

// A follow-up question inherits the kinds or entities that it lacks from the latest earlier question that has them.
// `earlier`: oldest first.
RepositoryQuestion read_question(std::string_view text, const std::vector<std::string>& earlier);

}  // namespace cairn
