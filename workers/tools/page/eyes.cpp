#include "workers/tools/page/eyes.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace cairn {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::size_t listeners_max = 1'500;
constexpr auto page_patience = std::chrono::seconds(10);   // for the network
constexpr auto change_patience = std::chrono::seconds(3);  // for a page that changes without it
constexpr auto poll_pause = milliseconds(40);
constexpr std::size_t watched_frames_max = 8;
constexpr std::string_view frame_mark = "\xEE\x80\x80";  // U+E000

const std::vector<std::string>& pressing() {
  static const std::vector<std::string> events = {"click",     "dblclick",   "mousedown", "mouseup",  "pointerdown",
                                                  "pointerup", "touchstart", "touchend",  "dragstart"};
  return events;
}

const std::vector<std::string>& moving() {
  static const std::vector<std::string> events = {"mouseenter",  "mouseover", "pointerenter",
                                                  "pointerover", "dragover",  "drop"};
  return events;
}

std::string escaped_text(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c == '&')
      plain += "&amp;";
    else if (c == '<')
      plain += "&lt;";
    else if (c == '>')
      plain += "&gt;";
    else if (c == '"')
      plain += "&quot;";
    else
      plain += c;
  }
  return plain;
}

// A document that a person could not read either: the browser's own message about a frame that may not be shown.
bool is_readable(const std::string& url) { return !url.starts_with("chrome"); }

}  // namespace

Browser::Answer Eyes::look() {
  if (const auto dialog = browser_.guard().dialog()) return with_dialog(*dialog);
  frames_ = {{browser_.top(), 0, 0}};
  shows_ = false;
  Json seen;
  Result<std::string, BrowserFault> dom = look_into(0, seen);
  if (const auto dialog = browser_.guard().dialog()) return with_dialog(*dialog);
  if (!dom) return std::move(dom).error();
  last_ = {{"url", seen.value("url", "")}, {"title", seen.value("title", "")}, {"dom", *std::move(dom)}};
  last_["ready"] = seen.value("ready", false);
  if (shows_) last_["shows"] = true;
  if (Json all = tabs(); all.size() > 1) last_["tabs"] = std::move(all);
  return last_;
}

Result<std::string, BrowserFault> Eyes::look_into(std::size_t frame, Json& seen) {
  const FramePlace at = frames_[frame].at;
  static_cast<void>(browser_.run(at, page_script("rest.js"), {false}));
  Browser::Listeners listeners = browser_.listeners(at, pressing(), moving(), listeners_max);
  Json arguments = {next_, page_text_bytes_max, listeners.presses.size()};
  for (Json& one : listeners.presses) arguments.push_back(std::move(one));
  for (Json& one : listeners.moves) arguments.push_back(std::move(one));
  Browser::Answer answer = browser_.run(at, page_script("observe.js"), std::move(arguments));
  browser_.forget_handles(at);
  if (!answer) return std::move(answer).error();
  seen = *std::move(answer);
  next_ = seen.value("next", next_);
  shows_ = shows_ || seen.value("shows", false);
  std::string text = seen.value("dom", "");
  std::string whole;
  for (std::size_t at_byte = 0; at_byte < text.size();) {
    const std::size_t mark = std::min(text.find(frame_mark, at_byte), text.size());
    whole.append(text, at_byte, mark - at_byte);
    if (mark == text.size()) break;
    const std::size_t end = std::min(text.find(frame_mark, mark + 1), text.size());
    const std::string place = text.substr(mark + frame_mark.size(), end - mark - frame_mark.size());
    at_byte = std::min(end + frame_mark.size(), text.size());
    Result<std::string, BrowserFault> inner = look_into_inner(frame, static_cast<std::size_t>(std::stoul("0" + place)));
    if (inner) {
      whole += *inner;
    } else if (inner.error().word != "failed") {
      return inner;
    }
  }
  return whole;
}

// A frame that is not to be read is shown without its content.
Result<std::string, BrowserFault> Eyes::look_into_inner(std::size_t frame, std::size_t place) {
  if (frames_.size() >= page_frames_max) return std::string();
  const FramePlace at = frames_[frame].at;
  const Browser::Answer element = browser_.find(at, page_script("seen.js"), {place, true});
  if (!element) return element.error();
  if (!element->is_string()) return std::string();
  SeenFrame inner;
  if (const Browser::Answer node = browser_.frame_in(at, *element, inner.at); !node) return node.error();
  if (inner.at.frame.empty()) return std::string();
  inner.outer = frame;
  inner.place = place;
  frames_.push_back(inner);
  Json seen;
  Result<std::string, BrowserFault> text = look_into(frames_.size() - 1, seen);
  if (text && !is_readable(seen.value("url", ""))) return std::string();
  return text;
}

// Before what the page showed when the dialog was opened, since nothing of that can be used until it is answered.
Json Eyes::with_dialog(const PageDialog& dialog) const {
  Json seen = last_;
  seen["ready"] = true;
  seen["dialog"] = {{"type", dialog.type}, {"message", dialog.message}};
  if (dialog.type == "prompt") seen["dialog"]["value"] = dialog.value;
  seen["dom"] = "<dialog role=\"alertdialog\" label=\"" + escaped_text(dialog.type) + "\">" +
                escaped_text(dialog.message) + "</dialog>\n" + last_.value("dom", "");
  for (const char* name : {"url", "title"})
    if (!seen.contains(name)) seen[name] = "";
  return seen;
}

Json Eyes::tabs() const {
  Json all = Json::array();
  const std::string chosen = browser_.top().frame;
  for (const PageTab& tab : browser_.guard().tabs()) {
    const Browser::Answer seen = browser_.run({tab.session, tab.frame}, "return [document.title, location.href]", {});
    Json one = {{"number", all.size() + 1}};
    if (seen && seen->is_array()) one.update({{"title", (*seen)[0]}, {"url", (*seen)[1]}});
    if (tab.frame == chosen) one["chosen"] = true;
    all.push_back(std::move(one));
  }
  return all;
}

Result<SeenElement, BrowserFault> Eyes::find(std::int64_t number) {
  SeenElement found;
  for (const SeenFrame& frame : frames_) {
    const Browser::Answer element = browser_.find(frame.at, page_script("seen.js"), {number, false});
    if (!element && element.error().word != "failed") return element.error();
    if (!element || !element->is_string()) continue;
    found.at = frame.at;
    found.handle = *element;
    for (SeenFrame inner = frame; inner.at.frame != frames_[0].at.frame; inner = frames_[inner.outer]) {
      const FramePlace outer = frames_[inner.outer].at;
      const Browser::Answer holder = browser_.find(outer, page_script("seen.js"), {inner.place, true});
      if (!holder) return holder.error();
      found.around.insert(found.around.begin(), {outer, *holder});
    }
    break;
  }
  return found;
}

// --- at rest ---------------------------------------------------------------------------------------------------------
milliseconds Eyes::quiet_of_frames(bool begins, bool& is_ready) {
  milliseconds least = milliseconds::max();
  std::vector<FramePlace> watched = {browser_.top()};
  for (const SeenFrame& frame : frames_)
    if (watched.size() < watched_frames_max && frame.at.frame != watched[0].frame) watched.push_back(frame.at);
  for (std::size_t place = 0; place < watched.size(); ++place) {
    const Browser::Answer seen = browser_.run(watched[place], page_script("rest.js"), {begins});
    const bool is_there = seen && seen->is_object();
    if (place == 0) is_ready = is_there && seen->value("ready", false);
    if (is_there) least = std::min(least, milliseconds(static_cast<std::int64_t>(seen->value("quiet", 0.0))));
    if (!is_there && place == 0) return milliseconds(0);
  }
  return least;
}

void Eyes::act_begins() {
  bool is_ready = false;
  static_cast<void>(quiet_of_frames(true, is_ready));
}

void Eyes::rest(milliseconds quiet) {
  const auto begin = Clock::now();
  const RequestGuard& guard = browser_.guard();
  for (;;) {
    if (guard.dialog() || !guard.refused_page().empty()) return;
    bool is_ready = false;
    const milliseconds unchanged = quiet_of_frames(false, is_ready);
    const milliseconds idle = guard.idle();
    const bool is_loaded = is_ready && !guard.is_loading();
    const auto waited = Clock::now() - begin;
    if (is_loaded && std::min(unchanged, idle) >= quiet) return;
    const bool is_only_changing = is_loaded && idle >= quiet;
    if (waited > page_patience || (is_only_changing && waited > change_patience)) return;
    const milliseconds left = quiet - std::min(unchanged, idle);
    std::this_thread::sleep_for(is_loaded ? std::clamp(left, milliseconds(5), milliseconds(quiet)) : poll_pause);
  }
}

}  // namespace cairn
