// The tools that work on a web page, each run in a browser of its own. Native and blocking; safe from any thread.
//
//   page.observe {"url"}                        opens the page
//   page.act     {"url", "action", "element"}   performs `click(3)` or `setValue(4, "Jas")` on the open page
//   page.close   {}                             ends the run's browser
//
// The first two answer {"url", "title", "dom"}; act also {"performed", "fault"?: {"kind", "says"}, "reopened"?}. The
// DOM is simplified and its interactive elements are numbered. `element` is the signature (workers/tools/page/dom.hpp)
// of the numbered element; another element under that number is not touched (kind `element_missing`). An action is
// idempotent by its `key` as long as the browser lives. After the browser has ended, with a dead worker or to make room
// for others, act opens the page at `url` again, performs nothing, and answers `reopened`.
#pragma once

#include <string>
#include <vector>

#include "workers/ports/tools.hpp"

namespace cairn {

struct PageToolOptions {
  std::string pages;        // what may be reached (workers/tools/page/allowed_pages.hpp); "": only the files below
  std::string screenshots;  // a folder for a picture of each answer; "": none
};

// Files that end in .html or .htm and lie below the working directory may always be opened, also by their absolute
// path alone.
inline constexpr std::size_t browsers_max = 4;

std::vector<ToolSpec> page_tools(PageToolOptions options);

}  // namespace cairn
