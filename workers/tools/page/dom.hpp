// A page as a planner sees it: the text of a simplified DOM whose interactive elements are numbered by their `id`, as
// in
// `<button id=3>New patient</button>`. Any text can be read; everything but tags is text. Pure functions, safe from any
// thread.
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
  std::optional<std::int64_t> number;  // present if the element can be acted upon
  std::string tag;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string text;  // its own, and for an interactive element that of its children
  bool is_interactive = false;
  std::size_t form = 0;    // the number of its form, from 1; 0: none
  std::size_t parent = 0;  // the place of the element around it, from 1; 0: none

  // "" if it has none.
  std::string_view attribute(std::string_view name) const;
  bool has(std::string_view name) const;
  // Its name for a person: label, text, placeholder, value or name; without any, the author's own word for it, or its
  // icon.
  std::string label() const;
};

using PageElements = std::vector<PageElement>;

PageElements read_page(std::string_view dom);

// Whether the element at one place, from 0, is the one at the other or lies inside it.
bool is_inside(const PageElements& page, std::size_t place, std::size_t outer);

// Null if no element has that number.
const PageElement* find_element(const PageElements& page, std::int64_t number);

// The interactive element of that label: the first with the same words, else the first that contains them; case does
// not matter. "Save [2]" is the second of those with the same words. Null if there is none.
const PageElement* find_labelled(const PageElements& page, std::string_view label);

bool is_field(const PageElement& element);   // takes a value
bool is_button(const PageElement& element);  // is clicked

// Tag, type, name and label: stable when a value is typed or the elements are renumbered.
std::string signature(const PageElement& element);

// Weighted Jaccard index of the signatures, as multisets; an interactive element weighs twice. 1 for two empty pages.
double page_similarity(const PageElements& before, const PageElements& after);

// The forms, tables and navigations of `before` that `after` lacks, by their signatures.
std::vector<std::string> lost_structures(const PageElements& before, const PageElements& after);

// The elements of `page` that `other` lacks, each as one line with its value; at most `count_max`.
std::vector<std::string> only_in(const PageElements& page, const PageElements& other, std::size_t count_max);

// Words of letters and digits, in lower case.
std::vector<std::string> words_of(std::string_view text);

}  // namespace cairn
