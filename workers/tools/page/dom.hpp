// A page as a planner sees it: the text of a simplified DOM whose interactive elements are numbered by their `id`, as
// in
// `<button id=3>New patient</button>`. Reads any text; what is no tag is text. Pure functions, safe from any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

struct PageElement {
  std::optional<std::int64_t> number;  // of an element that can be acted upon
  std::string tag;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string text;  // its own, and for an interactive one what is inside
  bool is_interactive = false;
  std::size_t form = 0;    // which form it stands in, from 1; 0: none
  std::size_t parent = 0;  // the place of the element it stands in, from 1; 0: none

  // "" if it has none.
  std::string_view attribute(std::string_view name) const;
  bool has(std::string_view name) const;
  // What a person would call it: its label, text, placeholder, value or name.
  std::string label() const;
};

using PageElements = std::vector<PageElement>;

PageElements read_page(std::string_view dom);

// Whether the element at one place, from 0, is the one at the other or stands in it.
bool is_inside(const PageElements& page, std::size_t place, std::size_t outer);

// Null if there is none of that number.
const PageElement* find_element(const PageElements& page, std::int64_t number);

// The interactive element that is labelled so: the first of the same words, else the first that contains them; case
// does not matter. Null if there is none.
const PageElement* find_labelled(const PageElements& page, std::string_view label);

bool is_field(const PageElement& element);   // takes a value
bool is_button(const PageElement& element);  // is clicked

// Tag, type, name and label: what stays the same when a value is typed or the elements are numbered anew.
std::string signature(const PageElement& element);

// Weighted Jaccard index of the signatures, as multisets; an interactive element weighs twice. 1 for two empty pages.
double page_similarity(const PageElements& before, const PageElements& after);

// The forms, tables and navigations of `before` that `after` lacks, by their signatures.
std::vector<std::string> lost_structures(const PageElements& before, const PageElements& after);

// The elements of `page` that `other` lacks, each as one line with its value; at most `count_max`.
std::vector<std::string> only_in(const PageElements& page, const PageElements& other, std::size_t count_max);

// One act: `click(68)`, `setValue(101, "Jas")`; in place of the number a label in quotes may stand.
struct PageAction {
  enum class Kind : std::uint8_t { click, set_value };
  Kind kind = Kind::click;
  std::int64_t number = 0;  // 0: by label
  std::string label;
  std::string value;  // of setValue
};

// Refuses `invalid`: no such action.
Result<PageAction> parse_action(std::string_view text);
std::string action_text(const PageAction& action);

// The action with the number of the element it means, which is there and fits. Refuses `not_found`, `invalid`.
Result<PageAction> aimed_action(PageAction action, const PageElements& page);

// Words of letters and digits, in lower case.
std::vector<std::string> words_of(std::string_view text);

}  // namespace cairn
