// Reading a question about a code base by rules on its words: which kinds of question, about which parts, and whether
// it is about a code base at all. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cairn {

struct RepositoryQuestion {
  std::vector<std::string> kinds;  // ownership, risk, recent_changes, hotspots, coupling; none: it asks nothing known
  std::vector<std::string> entities;  // names of parts as the question has them, each once
  bool is_on_topic = false;
  bool names_all = false;  // it speaks of the repository as a whole
};

RepositoryQuestion read_question(std::string_view text);

// A follow-up takes what it leaves out, the kinds or the entities, from the latest earlier question that had them.
// `earlier`: oldest first.
RepositoryQuestion read_question(std::string_view text, const std::vector<std::string>& earlier);

}  // namespace cairn
