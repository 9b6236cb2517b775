// Questions about a code base, read by word rules: their kinds, the parts they name, and whether they are about a code
// base at all. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cairn {

struct RepositoryQuestion {
  // ownership, risk, recent_changes, hotspots, coupling, lines; empty: nothing known is asked
  std::vector<std::string> kinds;
  std::vector<std::string> entities;  // names of parts as the question has them, each once
  std::string since;                  // a period as workers/tools/repository/period.hpp reads it, or ""
  std::string until;                  // likewise
  std::string author;                 // the person whose commits are asked for, or ""
  std::string measure;                // "recent", "commits" or ""
  int limit = 0;                      // how many rows; 0: it does not say
  bool is_on_topic = false;
  bool names_all = false;  // it is about the repository as a whole
};

RepositoryQuestion read_question(std::string_view text);

// A follow-up question inherits the kinds or entities that it lacks from the latest earlier question that has them.
// `earlier`: oldest first.
RepositoryQuestion read_question(std::string_view text, const std::vector<std::string>& earlier);

}  // namespace cairn
