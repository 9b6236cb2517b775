// A headless Chromium with an empty profile of its own, which this object alone can command, and whose requests go to
// allowed places only: its tabs, their frames, and the keys and the mouse of a person in front of it. It ends with the
// object and with the process that holds it. Blocks; for one thread at a time.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/json.hpp"
#include "workers/tools/page/allowed_pages.hpp"
#include "workers/tools/page/devtools.hpp"
#include "workers/tools/page/request_guard.hpp"

namespace cairn {

// The script of that name in pages/, as run() takes it. REQUIRES: there is one. Safe from any thread.
const std::string& page_script(std::string_view name);

// The document of a tab or of a frame: where scripts run.
struct FramePlace {
  std::string session;
  std::string frame;
};

// A point of the window, in CSS pixels.
struct PagePoint {
  double x = 0;
  double y = 0;
};

class Browser {
 public:
  // `pages` outlives it. Throws std::system_error or std::runtime_error with a sentence if there is none to start.
  explicit Browser(const AllowedPages& pages);
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;
  ~Browser();

  using Answer = DevTools::Answer;
  RequestGuard& guard() { return guard_; }
  const RequestGuard& guard() const { return guard_; }

  Answer open(const std::string& url);
  Answer back();  // false: there is no page before
  Answer close_tab(const std::string& frame);
  Answer show_tab();  // the chosen one comes to the front
  Answer answer_dialog(bool accepts, const std::string& text);
  Answer settled(Answer answer);  // after what may lead the tab on: once it has loaded

  FramePlace top() const;
  // As the body of a function in a world of its own, apart from the page's scripts: its value, or the handle of its
  // object. An argument {"handle": H} is the object of a handle of the same frame.
  Answer run(const FramePlace& at, const std::string& script, Json arguments);
  Answer find(const FramePlace& at, const std::string& script, Json arguments);
  // The frame that an element of another holds; "" as its name: none.
  Answer frame_in(const FramePlace& at, const Json& element, FramePlace& inner);
  // The elements of the frame whose author listens to events, as arguments of run(): to one of `presses`, and of the
  // others to one of `moves`. At most `count_max` are looked at.
  struct Listeners {
    std::vector<Json> presses;
    std::vector<Json> moves;
  };
  Listeners listeners(const FramePlace& at, const std::vector<std::string>& presses,
                      const std::vector<std::string>& moves, std::size_t count_max);
  void forget_handles(const FramePlace& at);

  Answer move(PagePoint to, int buttons = 0);
  Answer press_button(PagePoint at, int clicks);
  Answer release_button(PagePoint at, int clicks);
  Answer drag_event(const std::string& type, PagePoint at, const Json& data);
  Answer intercept_drags(bool does);
  Answer type(const std::string& text);          // into what has the cursor
  Answer press(const Json& key, int modifiers);  // as Input.dispatchKeyEvent takes them
  Answer give_files(const FramePlace& at, const Json& element, const std::vector<std::string>& paths);
  Answer screenshot(const std::string& format);  // in base64; png or jpeg
  Answer cookies();
  Answer set_cookies(Json cookies);

 private:
  Answer call(const std::string& method, Json params, const std::string& session);
  Answer in_tab(const std::string& method, Json params = Json::object());
  Answer world_of(const FramePlace& at);
  Answer call_function(const FramePlace& at, const std::string& script, Json arguments, bool by_value);

  std::filesystem::path profile_;
  RequestGuard guard_;
  std::unique_ptr<DevTools> chromium_;
};

}  // namespace cairn
