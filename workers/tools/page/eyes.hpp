// The view of a person in a browser, as text (workers/tools/page/dom.hpp): the chosen tab with its frames and open
// shadow trees, what lies over the rest first, and a dialog of the browser before all. An element has the same number
// as long as it lives. Blocks; for one thread at a time.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "engine/json.hpp"
#include "workers/tools/page/browser.hpp"

namespace cairn {

// Where an element is: its frame, its handle, and the elements that hold the frames around it, the outermost first.
struct SeenElement {
  struct Holder {
    FramePlace at;
    Json handle;
  };
  FramePlace at;
  Json handle;
  std::vector<Holder> around;
};

inline constexpr std::size_t page_text_bytes_max = 1024 * 1024;
inline constexpr std::size_t page_frames_max = 30;

class Eyes {
 public:
  explicit Eyes(Browser& browser) : browser_(browser) {}  // which outlives it

  // {"url", "title", "dom", "shows"?, "tabs"?, "dialog"?}. `shows`: true if the characters of a secret that was filled
  // in can be read in its field. `tabs`, if there are several: [{"number", "title", "url", "chosen"?}].
  // `dialog`: {"type", "message", "value"?} of alert, confirm or prompt; then the page is as it was seen before.
  Browser::Answer look();
  // An act begins: what changes from now on is waited for.
  void act_begins();
  // Until nothing has been under way on the network and no document has changed for so long, or it has been waited
  // long enough for that.
  void rest(std::chrono::milliseconds quiet);
  // As it was seen last; a null handle: it is gone.
  Result<SeenElement, BrowserFault> find(std::int64_t number);
  // Numbers begin at 1 again.
  void forget() { next_ = 1; }

 private:
  struct SeenFrame {
    FramePlace at;
    std::size_t outer = 0;  // its place in frames_
    std::size_t place = 0;  // among the frames of the outer one
  };
  Result<std::string, BrowserFault> look_into(std::size_t frame, Json& first_seen);
  Result<std::string, BrowserFault> look_into_inner(std::size_t frame, std::size_t place);
  Json with_dialog(const PageDialog& dialog) const;
  Json tabs() const;
  // For how long the frames have been at rest; nothing while they are not there.
  std::chrono::milliseconds quiet_of_frames(bool begins, bool& is_ready);

  Browser& browser_;
  std::vector<SeenFrame> frames_;
  std::int64_t next_ = 1;
  Json last_ = Json::object();
  bool shows_ = false;  // in the frames that were looked into
};

}  // namespace cairn
