// Plans as people write them, in Markdown: headings, lists, numbered steps, check boxes, and notes of order. An outline
// is taken apart as it is written; nothing is added. Pure functions, safe from any thread.
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
  bool follows = false;            // a numbered step that comes after the previous one
  bool is_done = false;            // its box is ticked
  bool operator==(const OutlineItem&) const = default;
};

// The parts of a text: its sections by the largest heading in it, else the items of its lists, all of the first one's
// depth; none if it has neither. Headings are lines with "#", or above "===" or "---"; code fences are skipped.
std::vector<OutlineItem> split_outline(std::string_view text);

inline constexpr std::size_t outline_bytes_max = 256 * 1024;

// A plan with an outline's parts as roots, each with the text below it as its instruction. If the text is one part with
// parts of its own, that part is the goal and its parts are the roots. A root without parts is a leaf. Refuses
// `invalid`: a text without parts; `limit`.
struct OutlinePlan {
  PlanTree tree;
  std::vector<DroppedDependency> dropped;
};
Result<OutlinePlan> plan_of_outline(std::string_view text);

// The plan that a caller gives as one of {"plan": its JSON form}, {"outline": a text or a list of lines} and
// {"goal": text}. A goal next to an outline names it; a goal alone is a plan of one task. Refuses `invalid`, `limit`.
Result<OutlinePlan> plan_given(const Json& source);

// The items as tasks below `parent`, under these ids (as many as items). A name in `after` that is an item of the list
// becomes a dependency on its id; other names stay as written.
std::vector<PlanNode> tasks_of(const std::vector<OutlineItem>& items, const std::string& parent,
                               const std::vector<std::string>& ids);

}  // namespace cairn
