// The findings of a check of a graph: one plain sentence each, the first thousand, and how many more there are. Used
// from one thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cairn {

inline constexpr std::size_t findings_max = 1'000;
// "Did you mean" compares a word with all that are known: so many findings of a graph have it.
inline constexpr std::size_t hinted_findings_max = 100;

class Findings {
 public:
  void add(std::string says) {
    if (first_.size() < findings_max)
      first_.push_back(std::move(says));
    else
      ++more_;
  }

  std::size_t size() const { return first_.size() + more_; }

  // The first findings_max, and a sentence that says how many more of the kind ("faults") there are.
  std::vector<std::string> listed(const std::string& kind) && {
    if (more_ > 0)
      first_.push_back("Expected at most " + std::to_string(findings_max) + " " + kind + " in a graph, but there are " +
                       std::to_string(more_) + " more.");
    return std::move(first_);
  }

 private:
  std::vector<std::string> first_;
  std::size_t more_ = 0;
};

}  // namespace cairn
