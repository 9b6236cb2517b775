// One run's browser: opened, acted upon, seen at rest, and opened again as it was when it has ended. Blocks; for one
// thread at a time.
#pragma once

#include <string>
#include <vector>

#include "engine/json.hpp"
#include "workers/tools/page/action.hpp"
#include "workers/tools/page/allowed_pages.hpp"
#include "workers/tools/page/browser.hpp"
#include "workers/tools/page/eyes.hpp"
#include "workers/tools/page/hands.hpp"

namespace cairn {

// Thrown when there is no browser any more, or when there must not be.
struct BrowserGone {
  BrowserFault fault;
};

// An act as it was asked for: the signatures of its elements, "" if any will do, and what it brings along.
struct WantedAct {
  PageAction action;
  std::string element;
  std::string to;
  ActThings things;
  bool dialogs_stay = false;
};

class OpenPage {
 public:
  explicit OpenPage(const AllowedPages& allowed) : allowed_(allowed), browser_(allowed) {}

  // With what keep() gave, the cookies and storage of then.
  void open(const std::string& url, const Json& kept, bool dialogs_stay);
  // {"performed": true}, or false with "fault": {"kind", "says"}.
  Json perform(const WantedAct& wanted);
  // The page as the eyes see it (eyes.hpp), without values of secrets that were filled in.
  Json see();
  // {"cookies", "storage": {ORIGIN: {"local", "session"}}}: what a person's browser would still know tomorrow, without
  // what has the value of a secret that was filled in.
  Json keep();
  // In base64; "" while a secret that was filled in can be read on the page, or a dialog is open.
  std::string screenshot(const std::string& format);
  // Where the element stands; "" if it is gone.
  std::string url_around(std::int64_t number) { return hands_.url_around(number); }

 private:
  std::int64_t aimed(std::int64_t number, const std::string& element, const Json& seen) const;
  Json look();
  bool holds_secret(const Json& entry) const;
  Json without_secrets(const Json& entries) const;
  void look_at_new_tab(const std::vector<PageTab>& before);

  const AllowedPages& allowed_;
  Browser browser_;
  Eyes eyes_{browser_};
  Hands hands_{browser_, eyes_, allowed_};
  std::vector<std::string> secrets_;
  bool shows_secret_ = false;
  Json kept_ = Json::object();
};

}  // namespace cairn
