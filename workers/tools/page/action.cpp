#include "workers/tools/page/action.hpp"

#include <algorithm>
#include <array>

#include "engine/json.hpp"

namespace cairn {
namespace {

using Kind = PageAction::Kind;
constexpr double wait_seconds_max = 60;

struct Verb {
  Kind kind;
  std::string_view name;
  std::string_view takes;  // T, V, N, L; a small letter: may be left out
  std::string_view example;
  std::string_view does;
};

constexpr std::array<Verb, 19> known_verbs = {{
    {Kind::click, "click", "T", "click(68)", "clicks it"},
    {Kind::set_value, "setValue", "TV", "setValue(101, \"Jas\")", "replaces what the field holds; chooses in a list"},
    {Kind::double_click, "doubleClick", "T", "doubleClick(68)", "clicks it twice"},
    {Kind::set_secret, "setSecret", "TV", "setSecret(4, \"shop_password\")",
     "fills in a secret by its name; you never see its value"},
    {Kind::type, "type", "TV", "type(7, \" and more\")", "types behind what the field holds"},
    {Kind::select, "select", "TL", "select(9, [\"Red\", \"Blue\"])", "chooses these options of a list, and no others"},
    {Kind::press, "press", "tV", "press(\"Enter\") or press(5, \"Control+a\")",
     "presses a key, in an element if given"},
    {Kind::scroll, "scroll", "tV", "scroll(\"down\") or scroll(3, \"bottom\")",
     "scrolls the page or a box: up, down, left, right, top, bottom"},
    {Kind::hover, "hover", "T", "hover(12)", "puts the mouse over it"},
    {Kind::drag, "drag", "TT", "drag(4, 7)", "drags the first onto the second"},
    {Kind::upload, "upload", "TL", "upload(8, \"report.pdf\")", "gives files to a file field"},
    {Kind::wait_for, "waitFor", "Vn", "waitFor(\"Results\") or waitFor(\"Results\", 20)",
     "waits until the page shows the text, 10 seconds or as many as given"},
    {Kind::wait, "wait", "N", "wait(2)", "waits so many seconds"},
    {Kind::back, "back", "", "back()", "goes to the page before"},
    {Kind::open, "open", "V", "open(\"https://shop.example/cart\")", "opens a URL"},
    {Kind::tab, "tab", "N", "tab(2)", "looks at that tab"},
    {Kind::close_tab, "closeTab", "N", "closeTab(2)", "closes that tab"},
    {Kind::dialog, "dialog", "Vv", "dialog(\"accept\"), dialog(\"dismiss\") or dialog(\"accept\", \"text\")",
     "answers the browser's own dialog"},
    {Kind::extract, "extract", "V", "extract(\"the price of the blue lamp\")",
     "reads something off the page for the answer; nothing is clicked"},
}};

const Verb& verb_for(Kind kind) {
  return *std::find_if(known_verbs.begin(), known_verbs.end(), [kind](const Verb& one) { return one.kind == kind; });
}

std::string but_it_is(std::string_view text) { return ", but it is " + excerpt(Json(std::string(text)), 100) + "."; }

Error no_action(std::string_view text) {
  return {Code::invalid, "Expected an action like click(68) or setValue(101, \"Jas\")" + but_it_is(text)};
}

Error other_arguments(const Verb& verb, std::string_view text) {
  return {Code::invalid, "Expected an action like " + std::string(verb.example) + but_it_is(text)};
}

std::string trimmed_name(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return std::string(text);
}

bool read_target(const Json& given, std::int64_t& number, std::string& label) {
  if (given.is_number_integer() && given > 0) {
    number = given.get<std::int64_t>();
    return true;
  }
  if (!given.is_string() || given.get_ref<const std::string&>().empty()) return false;
  label = given.get<std::string>();
  return true;
}

bool read_text(const Json& given, std::string& text) {
  if (!given.is_string() && !given.is_number()) return false;
  text = given.is_string() ? given.get<std::string>() : canonical(given);
  return true;
}

bool read_texts(const Json& given, std::vector<std::string>& texts) {
  const Json list = given.is_array() ? given : Json::array({given});
  for (const Json& one : list) {
    std::string text;
    if (!read_text(one, text)) return false;
    texts.push_back(std::move(text));
  }
  return !texts.empty();
}

// Reads one argument; the second target and the second text have places of their own.
bool read_argument(char takes, const Json& given, std::size_t place, PageAction& action) {
  switch (takes) {
    case 'T':
    case 't':
      return place == 0 ? read_target(given, action.number, action.label)
                        : read_target(given, action.to, action.to_label);
    case 'V':
      return read_text(given, action.value);
    case 'v':
      action.values.emplace_back();
      return read_text(given, action.values.back());
    case 'L':
      return read_texts(given, action.values);
    default:
      if (!given.is_number() || given < 0 || given > 1'000'000) return false;
      action.amount = given.get<double>();
      return true;
  }
}

constexpr std::array<std::string_view, 6> ways = {"up", "down", "left", "right", "top", "bottom"};

// Whether the text and the number are such as the verb takes.
bool is_sensible(const PageAction& action) {
  const std::string& text = action.value;
  switch (action.kind) {
    case Kind::scroll:
      return std::find(ways.begin(), ways.end(), text) != ways.end();
    case Kind::dialog:
      return text == "accept" || text == "dismiss";
    case Kind::wait:
    case Kind::wait_for:
      return action.amount <= wait_seconds_max && (action.kind == Kind::wait || !text.empty());
    case Kind::tab:
    case Kind::close_tab:
      return action.amount >= 1;
    case Kind::press:
    case Kind::open:
    case Kind::extract:
    case Kind::set_secret:
      return !text.empty();
    default:
      return true;
  }
}

std::string target_text(std::int64_t number, const std::string& label) {
  return label.empty() ? std::to_string(number) : canonical(Json(label));
}

// Refuses `invalid`: it cannot be done with that element.
Status check_element(const PageAction& action, const PageElement& element) {
  const auto needs = [&](const std::string& wanted, bool is_it) -> Status {
    if (is_it) return Done{};
    return Error{Code::invalid,
                 "Expected " + wanted + " for " + action_text(action) + ", but it is a " + element.tag + "."};
  };
  switch (action.kind) {
    case Kind::set_value:
    case Kind::set_secret:
    case Kind::type:
      return needs("a field", is_field(element));
    case Kind::select:
      return needs("a list to choose from", element.tag == "select");
    case Kind::upload:
      return needs("a file field", element.attribute("type") == "file");
    default:
      return Done{};
  }
}

Result<const PageElement*> element_for(const PageAction& action, std::int64_t number, const std::string& label,
                                       const PageElements& page) {
  const PageElement* element = label.empty() ? find_element(page, number) : find_labelled(page, label);
  if (element != nullptr) return element;
  return Error{Code::not_found,
               "Expected the page to have the element of " + action_text(action) + ", but it has none."};
}

}  // namespace

std::string action_help(const std::vector<std::string>& verbs) {
  std::string help;
  for (const Verb& verb : known_verbs) {
    if (std::find(verbs.begin(), verbs.end(), verb.name) == verbs.end()) continue;
    help += std::string(verb.example) + ": " + std::string(verb.does) + ".\n";
  }
  return help;
}

const std::vector<std::string>& action_verbs() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const Verb& verb : known_verbs) names.emplace_back(verb.name);
    return names;
  }();
  return all;
}

std::string_view verb_of(PageAction::Kind kind) { return verb_for(kind).name; }

Result<PageAction> parse_action(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return no_action(text);
  const std::string name = trimmed_name(text.substr(0, open));
  const auto verb =
      std::find_if(known_verbs.begin(), known_verbs.end(), [&](const Verb& one) { return one.name == name; });
  if (verb == known_verbs.end()) return no_action(text);
  const std::string arguments = "[" + std::string(text.substr(open + 1, close - open - 1)) + "]";
  const Result<Json> read = parse_json(arguments, "the arguments");
  if (!read) return other_arguments(*verb, text);
  PageAction action;
  action.kind = verb->kind;
  const auto is_optional = [](char takes) { return takes >= 'a' && takes <= 'z'; };
  std::size_t spare = verb->takes.size() - std::min(read->size(), verb->takes.size());
  std::size_t place = 0;
  for (std::size_t at = 0; at < verb->takes.size(); ++at) {
    const char takes = verb->takes[at];
    if (takes == 't' && spare > 0) {
      --spare;
      continue;
    }
    if (place == read->size() && is_optional(takes)) continue;
    if (place == read->size() || !read_argument(takes, (*read)[place], at, action)) return other_arguments(*verb, text);
    ++place;
  }
  if (place != read->size() || !is_sensible(action)) return other_arguments(*verb, text);
  action.has_target = action.number > 0 || !action.label.empty();
  return action;
}

std::string action_text(const PageAction& action) {
  const Verb& verb = verb_for(action.kind);
  std::string text = std::string(verb.name) + "(";
  const auto add = [&text](const std::string& argument) {
    if (text.back() != '(') text += ", ";
    text += argument;
  };
  for (std::size_t at = 0; at < verb.takes.size(); ++at) {
    const char takes = verb.takes[at];
    if (takes == 't' && !action.has_target) continue;
    if (takes == 'T' || takes == 't')
      add(at == 0 ? target_text(action.number, action.label) : target_text(action.to, action.to_label));
    if (takes == 'V') add(canonical(Json(action.value)));
    if (takes == 'v' && !action.values.empty()) add(canonical(Json(action.values.front())));
    if (takes == 'L')
      add(action.values.size() == 1 ? canonical(Json(action.values.front())) : canonical(Json(action.values)));
    if (takes == 'N' || (takes == 'n' && action.amount > 0)) {
      const auto whole = static_cast<std::int64_t>(action.amount);
      add(static_cast<double>(whole) == action.amount ? std::to_string(whole) : canonical(Json(action.amount)));
    }
  }
  return text + ")";
}

Result<PageAction> aimed_action(PageAction action, const PageElements& page) {
  const std::string_view takes = verb_for(action.kind).takes;
  const bool wants_one = takes.starts_with('T') || (takes.starts_with('t') && action.has_target);
  if (!wants_one) return action;
  const Result<const PageElement*> element = element_for(action, action.number, action.label, page);
  if (!element) return element.error();
  if (const Status fits = check_element(action, **element); !fits) return fits.error();
  if (takes == "TT") {
    const Result<const PageElement*> other = element_for(action, action.to, action.to_label, page);
    if (!other) return other.error();
    action.to = *(*other)->number;
    action.to_label.clear();
  }
  action.number = *(*element)->number;
  action.label.clear();
  return action;
}

}  // namespace cairn
