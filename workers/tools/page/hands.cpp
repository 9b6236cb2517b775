#include "workers/tools/page/hands.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <thread>
#include <utility>

#include "engine/text.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

using Kind = PageAction::Kind;
constexpr int drag_steps = 12;
constexpr int reach_tries_max = 4;
constexpr double wait_seconds_default = 10;
constexpr auto wait_poll_pause = std::chrono::milliseconds(250);

// Carries the fault of the browser out of an act: it ends the whole act, however deep.
struct Ended {
  BrowserFault fault;
};

// An act that did not come to pass, as "failed" is; everything else ends it all.
struct NotDone {
  ActFault fault;
};

// A page's words may hold a secret that was filled in: they are cut where that is out of them (tools.cpp).
std::string whole_line(std::string_view says) { return readable_line(says, says.size()); }

Json value_or_end(Browser::Answer answer, const std::string& kind = "not_interactable") {
  if (answer) return *std::move(answer);
  if (answer.error().word == "failed") throw NotDone{{kind, whole_line(answer.error().says)}};
  throw Ended{std::move(answer).error()};
}

// An act may open a dialog of the page, which answers nothing until that is answered: the act is done.
bool is_done(Browser::Answer answer) {
  if (!answer && answer.error().word == "interrupted") return false;
  value_or_end(std::move(answer));
  return true;
}

Json with_handle(const SeenElement& element, Json more) {
  Json all = Json::array({Json{{"handle", element.handle}}});
  for (Json& one : more) all.push_back(std::move(one));
  return all;
}

// The place that a script found, if it found one.
void expect_place(const Json& found) {
  if (found.is_object() && !found.contains("fault")) return;
  const std::string says = found.is_object() ? found.value("fault", "") : "Expected a place to click at.";
  throw NotDone{{"not_interactable", whole_line(says)}};
}

struct KeyName {
  std::string_view name;
  std::string_view code;
  int number;
  std::string_view text;
};

constexpr std::array<KeyName, 17> key_names = {{{"Enter", "Enter", 13, "\r"},
                                                {"Tab", "Tab", 9, ""},
                                                {"Escape", "Escape", 27, ""},
                                                {"Backspace", "Backspace", 8, ""},
                                                {"Delete", "Delete", 46, ""},
                                                {"Insert", "Insert", 45, ""},
                                                {"ArrowUp", "ArrowUp", 38, ""},
                                                {"ArrowDown", "ArrowDown", 40, ""},
                                                {"ArrowLeft", "ArrowLeft", 37, ""},
                                                {"ArrowRight", "ArrowRight", 39, ""},
                                                {"Home", "Home", 36, ""},
                                                {"End", "End", 35, ""},
                                                {"PageUp", "PageUp", 33, ""},
                                                {"PageDown", "PageDown", 34, ""},
                                                {"Space", "Space", 32, " "},
                                                {"F2", "F2", 113, ""},
                                                {"F5", "F5", 116, ""}}};

// Some keys with Control are commands of an editor, which Chromium wants by their names.
constexpr std::array<std::pair<char, std::string_view>, 6> editing = {
    {{'a', "selectAll"}, {'c', "copy"}, {'v', "paste"}, {'x', "cut"}, {'z', "undo"}, {'y', "redo"}}};

struct PressedKey {
  Json key;
  int modifiers = 0;
};

constexpr int with_control = 2;

std::optional<PressedKey> read_keys(const std::string& keys) {
  static constexpr std::array<std::pair<std::string_view, int>, 5> held = {
      {{"Alt+", 1}, {"Control+", with_control}, {"Ctrl+", with_control}, {"Meta+", 4}, {"Shift+", 8}}};
  PressedKey pressed;
  std::string_view rest = keys;
  for (bool found = true; found;) {
    found = false;
    for (const auto& [name, bit] : held) {
      if (!rest.starts_with(name) || rest.size() == name.size()) continue;
      pressed.modifiers |= bit;
      rest.remove_prefix(name.size());
      found = true;
    }
  }
  const auto known =
      std::find_if(key_names.begin(), key_names.end(), [&rest](const KeyName& one) { return one.name == rest; });
  if (known != key_names.end()) {
    pressed.key = {{"key", known->name == "Space" ? " " : known->name},
                   {"code", known->code},
                   {"windowsVirtualKeyCode", known->number}};
    if (!known->text.empty() && (pressed.modifiers & with_control) == 0) pressed.key["text"] = known->text;
    return pressed;
  }
  if (rest.size() != 1 || rest[0] < ' ' || rest[0] > '~') return std::nullopt;
  const char c = rest[0];
  const bool is_small = c >= 'a' && c <= 'z';
  pressed.key = {{"key", std::string(1, c)}};
  if (is_small || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
    pressed.key["windowsVirtualKeyCode"] = is_small ? c - 'a' + 'A' : int{c};
  if ((pressed.modifiers & ~8) == 0) pressed.key["text"] = std::string(1, c);
  for (const auto& [letter, command] : editing)
    if (pressed.modifiers == with_control && c == letter) pressed.key["commands"] = {command};
  return pressed;
}

bool contains_text(const std::string& text, const std::string& part) {
  const auto same = [](char a, char b) { return lowered(a) == lowered(b); };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

// A URL, or a path on the page's own host.
std::string whole_url(const std::string& place, const std::string& page) {
  if (place.find("://") != std::string::npos || !place.starts_with('/')) return place;
  const std::size_t host = page.find("://");
  const std::size_t end = host == std::string::npos ? host : page.find('/', host + 3);
  return host == std::string::npos ? place : page.substr(0, end) + place;
}

}  // namespace

Result<Hands::Answer, BrowserFault> Hands::perform(const PageAction& action, const ActThings& things) {
  try {
    return act(action, things);
  } catch (const NotDone& not_done) {
    return Answer(not_done.fault);
  } catch (Ended& ended) {
    if (ended.fault.word == "interrupted") return Answer(Done{});
    return std::move(ended.fault);
  }
}

Hands::Answer Hands::act(const PageAction& action, const ActThings& things) {
  const std::optional<PageDialog> dialog = browser_.guard().dialog();
  if (action.kind == Kind::dialog) {
    if (!dialog)
      return ActFault{"no_dialog",
                      "Expected a dialog of the browser for " + action_text(action) + ", but none is open."};
    const std::string text = action.values.empty() ? dialog->value : action.values.front();
    static_cast<void>(is_done(browser_.answer_dialog(action.value == "accept", text)));
    return Done{};
  }
  if (dialog && action.kind != Kind::wait && action.kind != Kind::close_tab)
    return ActFault{"dialog_open",
                    "Expected dialog(\"accept\") or dialog(\"dismiss\"), because the page waits on its " +
                        dialog->type + " \"" + whole_line(dialog->message) + "\", but it is " + action_text(action) +
                        "."};
  if (!action.has_target || action.number == 0) return act_on_browser(action);
  Result<SeenElement, BrowserFault> element = eyes_.find(action.number);
  if (!element) throw Ended{std::move(element).error()};
  if (!element->handle.is_string())
    return ActFault{"element_missing",
                    "Expected element " + std::to_string(action.number) + " to be there, but it is gone."};
  return act_on(action, things, *element);
}

Hands::Answer Hands::act_on(const PageAction& action, const ActThings& things, const SeenElement& element) {
  switch (action.kind) {
    case Kind::click:
      return click(element, 1);
    case Kind::double_click:
      return click(element, 2);
    case Kind::set_value:
      return fill(element, action.value, false);
    case Kind::set_secret:
      return fill(element, things.secret, true);
    case Kind::type:
      return type(element, action.value, true);
    case Kind::select:
      return choose(element, action.values);
    case Kind::press:
      value_or_end(browser_.run(element.at, "arguments[0].scrollIntoView({block: 'nearest'}); arguments[0].focus();",
                                with_handle(element, {})));
      return press(action.value);
    case Kind::scroll:
      return scroll(&element, action.value);
    case Kind::hover:
      static_cast<void>(is_done(browser_.move(aim(element, false))));
      return Done{};
    case Kind::upload:
      static_cast<void>(is_done(browser_.give_files(element.at, element.handle, things.files)));
      return Done{};
    case Kind::drag: {
      Result<SeenElement, BrowserFault> to = eyes_.find(action.to);
      if (!to) throw Ended{std::move(to).error()};
      if (!to->handle.is_string())
        return ActFault{"element_missing",
                        "Expected element " + std::to_string(action.to) + " to be there, but it is gone."};
      return drag(element, *to);
    }
    default:
      return ActFault{"refused", "Expected an act on an element, but it is " + action_text(action) + "."};
  }
}

Hands::Answer Hands::act_on_browser(const PageAction& action) {
  switch (action.kind) {
    case Kind::press:
      return press(action.value);
    case Kind::scroll:
      return scroll(nullptr, action.value);
    case Kind::wait_for:
      return wait_for(action.value, action.amount > 0 ? action.amount : wait_seconds_default);
    case Kind::wait:
      std::this_thread::sleep_for(std::chrono::milliseconds(static_cast<std::int64_t>(action.amount * 1000)));
      return Done{};
    case Kind::back:
      if (value_or_end(browser_.back()) == true) return Done{};
      return ActFault{"no_page", "Expected a page before this one, but there is none."};
    case Kind::open:
      return open(action.value);
    case Kind::tab:
      return go_to_tab(static_cast<std::int64_t>(action.amount), false);
    case Kind::close_tab:
      return go_to_tab(static_cast<std::int64_t>(action.amount), true);
    default:
      return ActFault{"refused", "Expected an act that this browser can do, but it is " + action_text(action) + "."};
  }
}

std::string Hands::url_around(std::int64_t number) {
  const Result<SeenElement, BrowserFault> element = eyes_.find(number);
  if (!element || !element->handle.is_string()) return "";
  const Browser::Answer url = browser_.run(element->at, "return location.href", Json::array());
  return url && url->is_string() ? url->get<std::string>() : "";
}

// --- the mouse -------------------------------------------------------------------------------------------------------
// A point of the element's frame as one of the window, through all frames around it.
PagePoint Hands::in_window(const SeenElement& element, PagePoint point, bool anyhow) {
  std::for_each(element.around.rbegin(), element.around.rend(), [&](const SeenElement::Holder& holder) {
    const Json corner = value_or_end(
        browser_.run(holder.at, page_script("frame_place.js"), {{{"handle", holder.handle}}, point.x, point.y}));
    if (!anyhow) expect_place(corner);
    point = {point.x + corner.value("x", 0.0), point.y + corner.value("y", 0.0)};
  });
  return point;
}

// The point in the window at which the element is hit.
PagePoint Hands::aim(const SeenElement& element, bool anyhow) {
  for (const SeenElement::Holder& holder : element.around)
    value_or_end(
        browser_.run(holder.at, page_script("frame_place.js"), {{{"handle", holder.handle}}, nullptr, nullptr}));
  const Json place = value_or_end(browser_.run(element.at, page_script("aim.js"), with_handle(element, {anyhow})));
  expect_place(place);
  return in_window(element, {place.value("x", 0.0), place.value("y", 0.0)}, anyhow);
}

// Moves the mouse onto the element and says where. A page may move under the mouse (a menu closes that it has left):
// the mouse follows, a few times. Nothing if a dialog opened on the way.
std::optional<PagePoint> Hands::reach(const SeenElement& element) {
  PagePoint point = aim(element, false);
  for (int tries = 0; tries < reach_tries_max; ++tries) {
    if (!is_done(browser_.move(point))) return std::nullopt;
    const PagePoint now = aim(element, false);
    if (std::abs(now.x - point.x) < 1 && std::abs(now.y - point.y) < 1) break;
    point = now;
  }
  return point;
}

Hands::Answer Hands::click(const SeenElement& element, int clicks) {
  const std::optional<PagePoint> reached = reach(element);
  if (!reached) return Done{};
  const PagePoint point = *reached;
  for (int count = 1; count <= clicks; ++count) {
    if (!is_done(browser_.press_button(point, count)) || !is_done(browser_.release_button(point, count))) return Done{};
  }
  value_or_end(browser_.settled(Json::object()));
  return Done{};
}

// Chromium may take a drag over as one of its own (HTML drag and drop): then the target gets that.
Hands::Answer Hands::drag(const SeenElement& from, const SeenElement& to) {
  const std::optional<PagePoint> reached = reach(from);
  if (!reached) return Done{};
  const PagePoint start = *reached;
  value_or_end(browser_.intercept_drags(true));
  value_or_end(browser_.press_button(start, 1));
  const PagePoint near_start{start.x + 2, start.y + 6};
  value_or_end(browser_.move(near_start, 1));
  const Json place =
      value_or_end(browser_.run(to.at,
                                "const box = arguments[0].getBoundingClientRect(); return {x: box.left + "
                                "box.width / 2, y: box.top + box.height / 2}",
                                with_handle(to, {})));
  const PagePoint end = in_window(to, {place.value("x", 0.0), place.value("y", 0.0)}, true);
  // A little beyond the middle, so that lists that are sorted by dragging take it as past the element.
  const double beyond = end.y >= start.y ? 3 : -3;
  for (int step = 1; step <= drag_steps; ++step) {
    const double share = static_cast<double>(step) / drag_steps;
    const PagePoint at{start.x + (end.x - start.x) * share, start.y + (end.y + beyond - start.y) * share};
    value_or_end(browser_.move(at, 1));
  }
  const PagePoint last{end.x, end.y + beyond};
  value_or_end(browser_.move(last, 1));
  if (const Json data = browser_.guard().drag_data(); !data.is_null()) {
    for (const char* type : {"dragEnter", "dragOver", "drop"}) value_or_end(browser_.drag_event(type, last, data));
  }
  static_cast<void>(is_done(browser_.release_button(last, 1)));
  if (!browser_.guard().dialog()) value_or_end(browser_.intercept_drags(false));
  return Done{};
}

Hands::Answer Hands::scroll(const SeenElement* element, const std::string& way) {
  const FramePlace at = element == nullptr ? browser_.top() : element->at;
  const Json handle = element == nullptr ? Json() : Json{{"handle", element->handle}};
  const Json moved = value_or_end(browser_.run(at, page_script("scroll.js"), {handle, way}));
  if (moved == true) return Done{};
  return ActFault{"not_interactable", "Expected to scroll " + way + ", but it is at its end already."};
}

// --- fields ----------------------------------------------------------------------------------------------------------
Hands::Answer Hands::fill(const SeenElement& element, const std::string& text, bool is_secret) {
  if (is_secret)
    value_or_end(browser_.run(element.at, "globalThis.cairnSeen.secrets.add(arguments[0])", with_handle(element, {})));
  const Json is_set = value_or_end(browser_.run(element.at, page_script("set_value.js"), with_handle(element, {text})));
  if (is_set == true) return Done{};
  if (is_set.is_null())
    return ActFault{"value_refused", "Expected the field to take " +
                                         (is_secret ? std::string("the secret") : "\"" + text + "\"") +
                                         ", but it does not."};
  return type(element, text, false);
}

Hands::Answer Hands::type(const SeenElement& element, const std::string& text, bool stays) {
  const Json cleared = value_or_end(browser_.run(element.at, page_script("clear.js"), with_handle(element, {stays})));
  if (cleared.is_string()) return ActFault{"not_interactable", whole_line(cleared.get<std::string>())};
  if (!text.empty() && is_done(browser_.type(text))) value_or_end(browser_.settled(Json::object()));
  return Done{};
}

Hands::Answer Hands::choose(const SeenElement& element, const std::vector<std::string>& values) {
  const Json chosen = value_or_end(
      browser_.run(element.at, page_script("choose.js"), with_handle(element, Json::array({Json(values)}))));
  if (chosen == true) return Done{};
  return ActFault{"value_refused",
                  "Expected the list to have " + excerpt(chosen, 200) + " to be chosen, but it does not."};
}

Hands::Answer Hands::press(const std::string& keys) {
  const std::optional<PressedKey> pressed = read_keys(keys);
  if (!pressed)
    return ActFault{"value_refused", "Expected a key like Enter, Escape, ArrowDown, a or Control+a, but it is " +
                                         excerpt(Json(keys), 100) + "."};
  if (is_done(browser_.press(pressed->key, pressed->modifiers))) value_or_end(browser_.settled(Json::object()));
  return Done{};
}

// --- the browser -----------------------------------------------------------------------------------------------------
Hands::Answer Hands::wait_for(const std::string& text, double seconds) {
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  for (;;) {
    const Browser::Answer seen = eyes_.look();
    if (!seen && seen.error().word != "failed") throw Ended{seen.error()};
    if (seen && contains_text(seen->value("dom", "") + " " + seen->value("title", ""), text)) return Done{};
    if (std::chrono::steady_clock::now() >= until)
      return ActFault{"timeout", "Expected the page to show " + excerpt(Json(text), 100) + " within " +
                                     std::to_string(static_cast<std::int64_t>(seconds)) + " s, but it did not."};
    std::this_thread::sleep_for(wait_poll_pause);
  }
}

Hands::Answer Hands::open(const std::string& place) {
  const Browser::Answer here = browser_.run(browser_.top(), "return location.href", Json::array());
  const std::string url = whole_url(place, here && here->is_string() ? here->get<std::string>() : "");
  if (!allowed_.may_open(url))
    return ActFault{"refused",
                    "Expected a URL that this worker may open, but it is " + excerpt(Json(place), 200) + "."};
  static_cast<void>(is_done(browser_.open(url)));
  return Done{};
}

Hands::Answer Hands::go_to_tab(std::int64_t number, bool closes) {
  const std::vector<PageTab> tabs = browser_.guard().tabs();
  if (number < 1 || static_cast<std::size_t>(number) > tabs.size())
    return ActFault{"no_tab", "Expected a tab from 1 to " + std::to_string(tabs.size()) + ", but it is " +
                                  std::to_string(number) + "."};
  if (closes && tabs.size() == 1) return ActFault{"no_tab", "Expected another tab to stay, but this is the only one."};
  const std::string frame = tabs[static_cast<std::size_t>(number) - 1].frame;
  if (closes) {
    value_or_end(browser_.close_tab(frame));
  } else {
    browser_.guard().choose_tab(frame);
    value_or_end(browser_.show_tab());
  }
  return Done{};
}

}  // namespace cairn
