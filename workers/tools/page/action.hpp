// The acts of a page agent as text, `click(68)`, `setValue(101, "Jas")`, `press("Enter")`: read, checked against a
// page, and written. A label in quotes may take the place of an element's number; `"Save [2]"` is the second of that
// label. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/result.hpp"
#include "workers/tools/page/dom.hpp"

namespace cairn {

// T: an element, V: a text, N: a number, L: a text or a list of texts, []: may be left out.
struct PageAction {
  enum class Kind : std::uint8_t {
    click,         // T
    set_value,     // T, V: what the field holds goes
    double_click,  // T
    set_secret,    // T, V: the name of a secret of the worker, whose value goes into the field
    type,          // T, V: after what the field holds
    select,        // T, L: the options of a list that are chosen
    press,         // [T], V: a key, with Control+, Alt+, Shift+ or Meta+ before it
    scroll,        // [T], V: up, down, left, right, top, bottom
    hover,         // T
    drag,          // T, T: onto it
    upload,        // T, L: names of files that the worker may give
    wait_for,      // V, [N]: until the page shows the text, for so many seconds
    wait,          // N: seconds
    back,          //
    open,          // V: a URL
    tab,           // N: which tab is looked at from now on
    close_tab,     // N
    dialog,        // V, [V]: accept or dismiss the dialog of the browser that is open, with the text of a prompt
    extract        // V: what is to be read off the page; nothing is done in the browser
  };
  Kind kind = Kind::click;
  std::int64_t number = 0;  // 0: by label
  std::string label;
  std::string value = {};                // V
  std::vector<std::string> values = {};  // L
  std::int64_t to = 0;                   // the second element; 0: by label
  std::string to_label = {};
  double amount = 0;  // N
  bool has_target = true;
};

// The verbs, as a model is shown them: one line each.
std::string action_help(const std::vector<std::string>& verbs);
// All of them, in the order of the kinds.
const std::vector<std::string>& action_verbs();
std::string_view verb_of(PageAction::Kind kind);

// Refuses `invalid`: no such action, or other arguments than the verb takes.
Result<PageAction> parse_action(std::string_view text);
std::string action_text(const PageAction& action);

// The action with the numbers of its elements. Refuses `not_found`: no such element; `invalid`: one that does not fit.
Result<PageAction> aimed_action(PageAction action, const PageElements& page);

}  // namespace cairn
