// The guides as this program has them with it, for people and agents without its sources: as a skill (agentskills.io)
// and as llms.txt (llmstxt.org). Constant data, safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

struct GuideFile {
  std::string path;  // relative, "/" between parts
  std::string text;
};

// `SKILL.md` and, below `references/`, the guides, patterns and schemas it leads to. Links to the sources are plain
// text.
std::vector<GuideFile> skill_files();

// A line for each guide, with a link to its page below `base`.
std::string llms_text(std::string_view base);

// A page, or a file or folder that a page leads to, with its type as HTTP says it. Nothing: there is no such one.
struct ServedFile {
  std::string text;
  std::string type;
};
std::optional<ServedFile> guide_file(std::string_view path);

}  // namespace cairn
