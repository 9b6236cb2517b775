#include "workers/tools/page/dom.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "engine/text.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

constexpr std::size_t depth_max = 512;
constexpr std::size_t label_bytes_max = 80;
constexpr double interactive_weight = 2;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

template <std::size_t n>
bool is_one_of(std::string_view word, const std::array<std::string_view, n>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 5> acted_upon = {"a", "button", "input", "select", "textarea"};
constexpr std::array<std::string_view, 8> without_end = {"input", "br", "hr", "img", "meta", "link", "area", "wbr"};
constexpr std::array<std::string_view, 3> structures = {"form", "table", "nav"};

std::string unescaped(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, char>, 5> entities = {
      {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}}};
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    const auto entity =
        text[at] != '&' ? entities.end() : std::find_if(entities.begin(), entities.end(), [&](const auto& one) {
          return text.substr(at).starts_with(one.first);
        });
    plain += entity == entities.end() ? text[at] : entity->second;
    at += entity == entities.end() ? 1 : entity->first.size();
  }
  return plain;
}

// Adds words with single spaces between them.
void add_words(std::string& to, std::string_view text) {
  for (const char c : text) {
    if (!is_space(c)) {
      to += c;
    } else if (!to.empty() && to.back() != ' ') {
      to += ' ';
    }
  }
}

std::optional<std::int64_t> number_of(std::string_view digits) {
  std::int64_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_number = !digits.empty() && read.ec == std::errc() && read.ptr == digits.data() + digits.size();
  return is_number && number >= 0 ? std::optional(number) : std::nullopt;
}

// Reads tags one after another; elements are put down in the order of their opening.
class PageReader {
 public:
  explicit PageReader(std::string_view text) : text_(text) {}

  PageElements read() && {
    while (at_ < text_.size()) {
      if (text_[at_] == '<' && read_markup()) continue;
      const std::size_t next = std::min(text_.find('<', at_ + 1), text_.size());
      add_text(text_.substr(at_, next - at_));
      at_ = next;
    }
    for (PageElement& element : elements_) {
      while (!element.text.empty() && element.text.back() == ' ') element.text.pop_back();
    }
    return std::move(elements_);
  }

 private:
  bool read_markup() {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("<!--")) return skip_past("-->");
    if (rest.starts_with("<!") || rest.starts_with("<?")) return skip_past(">");
    if (rest.starts_with("</")) return read_end();
    return rest.size() > 1 && is_letter(rest[1]) && read_start();
  }

  bool skip_past(std::string_view end) {
    const std::size_t found = text_.find(end, at_);
    at_ = found == std::string_view::npos ? text_.size() : found + end.size();
    return true;
  }

  std::string read_name() {
    const std::size_t from = at_;
    while (at_ < text_.size() && !is_space(text_[at_]) && text_[at_] != '>' && text_[at_] != '/' && text_[at_] != '=')
      ++at_;
    return lowered(text_.substr(from, at_ - from));
  }

  void skip_spaces() {
    while (at_ < text_.size() && (is_space(text_[at_]) || text_[at_] == '/')) ++at_;
  }

  std::string read_value() {
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
      const char quote = text_[at_++];
      const std::size_t end = std::min(text_.find(quote, at_), text_.size());
      const std::string_view value = text_.substr(at_, end - at_);
      at_ = std::min(end + 1, text_.size());
      return unescaped(value);
    }
    const std::size_t from = at_;
    while (at_ < text_.size() && !is_space(text_[at_]) && text_[at_] != '>') ++at_;
    return unescaped(text_.substr(from, at_ - from));
  }

  bool read_start() {
    ++at_;
    PageElement element;
    element.tag = read_name();
    for (skip_spaces(); at_ < text_.size() && text_[at_] != '>'; skip_spaces()) {
      const std::size_t before = at_;
      std::string name = read_name();
      std::string value;
      if (at_ < text_.size() && text_[at_] == '=') {
        ++at_;
        value = read_value();
      }
      if (at_ == before) ++at_;  // a stray character
      if (!name.empty()) element.attributes.emplace_back(std::move(name), std::move(value));
    }
    at_ = std::min(at_ + 1, text_.size());
    put_down(std::move(element));
    return true;
  }

  void put_down(PageElement element) {
    const std::string tag = element.tag;
    if (tag == "script" || tag == "style") {
      skip_past("</" + tag);
      skip_past(">");
      return;
    }
    if (tag == "form") ++forms_;
    const bool in_form = tag == "form" || std::any_of(open_.begin(), open_.end(), [this](std::size_t place) {
                           return elements_[place].tag == "form";
                         });
    element.form = in_form ? forms_ : 0;
    element.parent = open_.empty() ? 0 : open_.back() + 1;
    element.number = number_of(element.attribute("id"));
    element.is_interactive = element.number || is_one_of(tag, acted_upon) || element.attribute("role") == "button";
    elements_.push_back(std::move(element));
    if (!is_one_of(tag, without_end) && open_.size() < depth_max) open_.push_back(elements_.size() - 1);
  }

  bool read_end() {
    at_ += 2;
    const std::string tag = read_name();
    skip_past(">");
    const auto found =
        std::find_if(open_.rbegin(), open_.rend(), [&](std::size_t place) { return elements_[place].tag == tag; });
    if (found != open_.rend()) open_.resize(static_cast<std::size_t>(open_.rend() - found) - 1);
    return true;
  }

  // To the innermost element, and to the interactive one around it.
  void add_text(std::string_view raw) {
    if (open_.empty()) return;
    const std::string text = unescaped(raw);
    add_words(elements_[open_.back()].text, text);
    const auto around = std::find_if(open_.rbegin(), open_.rend(),
                                     [this](std::size_t place) { return elements_[place].is_interactive; });
    if (around != open_.rend() && *around != open_.back()) add_words(elements_[*around].text, text);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  PageElements elements_;
  std::vector<std::size_t> open_;  // places of the elements around
  std::size_t forms_ = 0;
};

// `save [2]`
struct Nth {
  std::string label;
  std::int64_t number = 0;
};
std::optional<Nth> read_nth(std::string_view text) {
  const std::size_t open = text.rfind(" [");
  if (open == std::string_view::npos || !text.ends_with(']')) return std::nullopt;
  const std::optional<std::int64_t> number = number_of(text.substr(open + 2, text.size() - open - 3));
  return number ? std::optional(Nth{std::string(text.substr(0, open)), *number}) : std::nullopt;
}

double weight_of(const PageElement& element) { return element.is_interactive ? interactive_weight : 1; }

std::string line_of(const PageElement& element) {
  std::string line = element.tag + " \"" + element.label() + "\"";
  const bool is_set = element.attribute("role") == "slider" || element.attribute("role") == "combobox";
  if (is_field(element) || is_set) line += " = \"" + std::string(element.attribute("value")) + "\"";
  for (const char* name : {"role", "checked", "selected", "pressed", "expanded", "disabled", "invalid"}) {
    if (element.has(name)) line += std::string(" ") + name + " " + std::string(element.attribute(name));
  }
  return line;
}

bool says_nothing(const PageElement& element) {
  const bool is_frame = element.tag == "form" || element.tag == "dialog" || element.has("role");
  return !element.is_interactive && !is_frame && element.text.empty();
}

}  // namespace

std::string_view PageElement::attribute(std::string_view name) const {
  for (const auto& [key, value] : attributes) {
    if (key == name) return value;
  }
  return {};
}

bool PageElement::has(std::string_view name) const {
  return std::any_of(attributes.begin(), attributes.end(), [name](const auto& one) { return one.first == name; });
}

std::string PageElement::label() const {
  std::string_view found = attribute("label");
  if (found.empty()) found = attribute("aria-label");
  if (found.empty() && tag != "select" && tag != "textarea") found = text;
  if (found.empty()) found = attribute("placeholder");
  if (found.empty() && is_button(*this)) found = attribute("value");
  for (const char* last : {"name", "hint", "icon", "colour"})
    if (found.empty()) found = attribute(last);
  return readable_line(found, label_bytes_max);
}

PageElements read_page(std::string_view dom) { return PageReader(dom).read(); }

bool is_inside(const PageElements& page, std::size_t place, std::size_t outer) {
  while (place != outer && page[place].parent > 0) place = page[place].parent - 1;
  return place == outer;
}

const PageElement* find_element(const PageElements& page, std::int64_t number) {
  const auto found = std::find_if(page.begin(), page.end(), [number](const auto& one) { return one.number == number; });
  return found == page.end() ? nullptr : &*found;
}

const PageElement* find_labelled(const PageElements& page, std::string_view label) {
  const std::string wanted = lowered(label);
  const std::optional<Nth> nth = read_nth(wanted);
  const PageElement* part = nullptr;
  const PageElement* numbered = nullptr;
  std::int64_t count = 0;
  for (const PageElement& element : page) {
    if (!element.number) continue;
    const std::string own = lowered(element.label());
    if (own == wanted) return &element;
    if (nth && own == nth->label && ++count == nth->number) numbered = &element;
    const bool contains = !wanted.empty() && own.find(wanted) != std::string::npos;
    if (contains && part == nullptr) part = &element;
  }
  return numbered != nullptr ? numbered : part;
}

bool is_field(const PageElement& element) {
  const std::string_view type = element.attribute("type");
  const bool is_input = element.tag == "input" && type != "submit" && type != "button" && type != "checkbox" &&
                        type != "radio" && type != "reset" && type != "image";
  const std::string_view role = element.attribute("role");
  const bool is_written = role == "textbox" || role == "searchbox" || role == "spinbutton";
  return is_input || is_written || element.tag == "textarea" || element.tag == "select" ||
         element.has("contenteditable");
}

bool is_button(const PageElement& element) { return element.is_interactive && !is_field(element); }

std::string signature(const PageElement& element) {
  std::string label = element.label();
  std::string made = element.tag + "|";
  made += element.attribute("type");
  made += "|";
  made += element.attribute("name");
  return made += "|" + label;
}

double page_similarity(const PageElements& before, const PageElements& after) {
  struct Counts {
    double weight = 0;
    double before = 0;
    double after = 0;
  };
  std::map<std::string, Counts> counts;
  for (const PageElement& element : before) {
    Counts& count = counts[signature(element)];
    count.weight = weight_of(element);
    ++count.before;
  }
  for (const PageElement& element : after) {
    Counts& count = counts[signature(element)];
    count.weight = weight_of(element);
    ++count.after;
  }
  double common = 0;
  double all = 0;
  for (const auto& [name, count] : counts) {
    common += count.weight * std::min(count.before, count.after);
    all += count.weight * std::max(count.before, count.after);
  }
  return all == 0 ? 1 : common / all;
}

std::vector<std::string> lost_structures(const PageElements& before, const PageElements& after) {
  std::map<std::string, int> left;
  for (const PageElement& element : after) {
    if (is_one_of(element.tag, structures)) ++left[signature(element)];
  }
  std::vector<std::string> lost;
  for (const PageElement& element : before) {
    if (is_one_of(element.tag, structures) && --left[signature(element)] < 0) lost.push_back(signature(element));
  }
  return lost;
}

std::vector<std::string> only_in(const PageElements& page, const PageElements& other, std::size_t count_max) {
  std::map<std::string, int> there;
  for (const PageElement& element : other) ++there[line_of(element)];
  std::vector<std::string> lines;
  for (const PageElement& element : page) {
    if (lines.size() == count_max) break;
    std::string line = line_of(element);
    if (--there[line] < 0 && !says_nothing(element)) lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  for (const char c : text) {
    const bool is_part = is_letter(c) || (c >= '0' && c <= '9') || (static_cast<unsigned char>(c) & 0x80) != 0;
    if (is_part && !in_word) words.emplace_back();
    if (is_part) words.back() += lowered(c);
    in_word = is_part;
  }
  return words;
}

}  // namespace cairn
