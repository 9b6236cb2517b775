// Plans as people write them, in Markdown: headings, lists, numbered steps, check boxes, and notes of what comes after
// what. Nothing is invented: an outline is taken apart as it is written. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/result.hpp"
#include "workers/planners/plan_decomposer/tree.hpp"

namespace cairn {

struct OutlineItem {
  std::string name;                // without marks, on one line
  std::string body;                // what is written below it, outdented
  std::vector<std::string> after;  // names or ids, as "(after A, B)", "(depends on A)" or "(依赖：A)" has them
  bool follows = false;            // a numbered step, not the first: it comes after the step before it
  bool is_done = false;            // its box is ticked
  bool operator==(const OutlineItem&) const = default;
};

// The parts of a text: its sections by the largest heading in it, else the items of its first list; none if it has
// neither. Headings are those with "#"; what lies between code fences is no structure.
std::vector<OutlineItem> split_outline(std::string_view text);

inline constexpr std::size_t outline_bytes_max = 256 * 1024;

// A plan of an outline's parts as roots, each with what is written below it as its instruction. A text with one part
// that has parts itself is named by it: that is the goal, and those are the roots. A root in which nothing can be taken
// apart is a leaf. Refuses `invalid` (nothing to take apart), `limit`.
struct OutlinePlan {
  PlanTree tree;
  std::vector<DroppedDependency> dropped;
};
Result<OutlinePlan> plan_of_outline(std::string_view text);

// The plan that a caller gives as one of {"plan": its JSON form}, {"outline": a text or a list of lines} and
// {"goal": text}, a goal beside an outline naming it. A goal alone is a plan of one task. Refuses `invalid`, `limit`.
Result<OutlinePlan> plan_given(const Json& source);

// The items as tasks below `parent`, under these ids (as many as items). What comes after an item of the list is
// a dependency on its id; other names in `after` stay as they are written.
std::vector<PlanNode> tasks_of(const std::vector<OutlineItem>& items, const std::string& parent,
                               const std::vector<std::string>& ids);

}  // namespace cairn
