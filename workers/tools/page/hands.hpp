// The acts of a person in a browser, one act at a time (workers/tools/page/action.hpp), on what the eyes have seen
// last. Blocks; for one thread at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/json.hpp"
#include "workers/tools/page/action.hpp"
#include "workers/tools/page/allowed_pages.hpp"
#include "workers/tools/page/browser.hpp"
#include "workers/tools/page/eyes.hpp"

namespace cairn {

// Why an act was not performed; `kind` is for programs: element_missing, not_interactable, value_refused, refused,
// timeout, dialog_open, no_dialog, no_page, no_tab.
struct ActFault {
  std::string kind;
  std::string says;
};

// For setSecret and upload, what the caller has found for their names.
struct ActThings {
  std::string secret;
  std::vector<std::string> files;  // absolute paths
};

class Hands {
 public:
  // All outlive it.
  Hands(Browser& browser, Eyes& eyes, const AllowedPages& allowed)
      : browser_(browser), eyes_(eyes), allowed_(allowed) {}

  // Done: it was performed. An answer of the browser that ends all is its fault (workers/tools/page/devtools.hpp).
  using Answer = Result<Done, ActFault>;
  Result<Answer, BrowserFault> perform(const PageAction& action, const ActThings& things);
  // The URL of the document in which the element with that number stands; "" if it is gone.
  std::string url_around(std::int64_t number);

 private:
  Answer act(const PageAction& action, const ActThings& things);
  Answer act_on(const PageAction& action, const ActThings& things, const SeenElement& element);
  Answer act_on_browser(const PageAction& action);
  PagePoint in_window(const SeenElement& element, PagePoint point, bool anyhow);
  PagePoint aim(const SeenElement& element, bool anyhow);
  std::optional<PagePoint> reach(const SeenElement& element);
  Answer click(const SeenElement& element, int clicks);
  Answer fill(const SeenElement& element, const std::string& text, bool is_secret);
  Answer type(const SeenElement& element, const std::string& text, bool stays);
  Answer choose(const SeenElement& element, const std::vector<std::string>& values);
  Answer press(const std::string& keys);
  Answer scroll(const SeenElement* element, const std::string& way);
  Answer drag(const SeenElement& from, const SeenElement& to);
  Answer wait_for(const std::string& text, double seconds);
  Answer open(const std::string& place);
  Answer go_to_tab(std::int64_t number, bool closes);

  Browser& browser_;
  Eyes& eyes_;
  const AllowedPages& allowed_;
};

}  // namespace cairn
