// The tools that work on a web page, each run in a browser of its own. Native and blocking; safe from any thread.
//
//   page.observe {"url"}              opens the page
//   page.act     {"url", "action"}    performs `click(3)` or `setValue(4, "Jas")` (action.hpp) on the open page
//   page.close   {}                   ends the run's browser
//
// More inputs of act: `element` and `to`, the signatures (dom.hpp) of the numbered elements; another element under that
// number is not touched (kind `element_missing`). More inputs of both: `dialogs` "ask" leaves a dialog of the browser
// open until the act dialog(...), else it is dismissed at once; `screenshot` true adds a picture to the answer.
//
// The first two answer {"url", "title", "dom", "tabs"?, "dialog"?, "dismissed"?, "screenshot"?}, once the page is at
// rest: nothing under way on the network, no change of its documents, or 10 seconds have passed (3 for a page that only
// changes). act also {"performed", "fault"?: {"kind", "says"}, "reopened"?}. The DOM is simplified and its interactive
// elements are numbered (eyes.hpp). An action is idempotent by its `key` as long as the browser lives. After the
// browser has ended, with a dead worker or to make room for others, act opens the page at `url` again, with the cookies
// and the storage that it had if this process or the folder `kept` still has them, performs nothing, and answers
// `reopened`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "workers/ports/secrets.hpp"
#include "workers/ports/tools.hpp"
#include "workers/tools/page/local_runs.hpp"

namespace cairn {

struct PageToolOptions {
  std::string pages;         // what may be reached (workers/tools/page/allowed_pages.hpp); "": only the files below
  std::string screenshots;   // a folder for a picture of each answer; "": none
  std::string uploads = {};  // a folder whose files may be given to pages; "": none
  std::string kept = {};     // a folder for cookies and storage of runs under way; "": in memory alone
  // For setSecret. One is filled in only if it is bound to URLs, and the element's document is at one of them. No
  // answer has a value of them.
  Secrets secrets = {};
  std::shared_ptr<LocalRuns> local = std::make_shared<LocalRuns>();  // the runs that have a browser here
};

// Files that end in .html or .htm and lie below the working directory may always be opened, also by their absolute
// path alone.
inline constexpr std::size_t browsers_max = 4;

std::vector<ToolSpec> page_tools(PageToolOptions options);

}  // namespace cairn
