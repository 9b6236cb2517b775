#include "workers/planners/venture_scope/evidence.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "workers/tools/corpus/sentences.hpp"

namespace cairn {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0; }
bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
char lower(char c) { return is_capital(c) ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lowered(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(), lower);
  return made;
}

// A cursor over a text; nothing is copied.
class NumberReader {
 public:
  explicit NumberReader(std::string_view text) : text_(text) {}

  std::vector<Quantity> all() {
    std::vector<Quantity> found;
    while (at_ < text_.size()) {
      const bool is_start = is_digit(text_[at_]) && (at_ == 0 || !is_inside_word(text_[at_ - 1]));
      if (!is_start) {
        skip();
        continue;
      }
      found.push_back(read());
    }
    return found;
  }

 private:
  static bool is_inside_word(char c) {  // bytes of € and of a long dash are none
    return (lower(c) >= 'a' && lower(c) <= 'z') || is_digit(c) || c == '_' || c == '#';
  }

  void skip() {
    if (is_digit(text_[at_])) {
      while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    } else {
      ++at_;
    }
  }

  char ahead(std::size_t by = 0) const { return at_ + by < text_.size() ? text_[at_ + by] : '\0'; }

  std::size_t digits_ahead(std::size_t from) const {
    std::size_t count = 0;
    while (is_digit(ahead(from + count))) ++count;
    return count;
  }

  // Digits in groups of three or not, and a fraction: "4,100,000", "4 100 000", "1234.5", "4,1".
  std::string digits() {
    std::string number;
    const std::size_t first = digits_ahead(0);
    number = text_.substr(at_, first);
    at_ += first;
    const char mark = ahead();
    if (first <= 3 && (mark == ',' || mark == '\'' || mark == ' ')) {
      while (ahead() == mark && digits_ahead(1) == 3) {
        number += text_.substr(at_ + 1, 3);
        at_ += 4;
        grouped_ = true;
      }
    }
    const bool has_fraction =
        digits_ahead(1) > 0 && (ahead() == '.' || (ahead() == ',' && !grouped_ && digits_ahead(1) <= 2));
    if (!has_fraction) return number;
    const std::size_t fraction = digits_ahead(1);
    number += "." + std::string(text_.substr(at_ + 1, fraction));
    at_ += 1 + fraction;
    grouped_ = true;
    return number;
  }

  bool take_word(std::string_view word) {
    const std::size_t space = ahead() == ' ' ? 1 : 0;
    if (lowered(text_.substr(std::min(at_ + space, text_.size()), word.size())) != word) return false;
    if (is_letter(word.back()) && is_letter(ahead(space + word.size()))) return false;
    at_ += space + word.size();
    return true;
  }

  double scale() {
    static constexpr std::array<std::pair<std::string_view, double>, 6> scales = {
        {{"thousand", 1e3}, {"million", 1e6}, {"mn", 1e6}, {"billion", 1e9}, {"bn", 1e9}, {"trillion", 1e12}}};
    for (const auto& [word, factor] : scales)
      if (take_word(word)) return factor;
    return 1;
  }

  static std::string currency_of_sign(std::string_view sign) {
    if (sign == "€") return "EUR";
    if (sign == "$") return "USD";
    return sign == "£" ? "GBP" : "";
  }

  std::string currency_before(std::size_t begin) const {
    const std::size_t end = begin > 0 && text_[begin - 1] == ' ' ? begin - 1 : begin;
    for (const std::string_view sign : {"€", "$", "£"})
      if (text_.substr(0, end).ends_with(sign)) return currency_of_sign(sign);
    if (end < 3 || (end > 3 && is_letter(text_[end - 4]))) return "";
    const std::string_view code = text_.substr(end - 3, 3);
    return std::all_of(code.begin(), code.end(), is_capital) ? std::string(code) : std::string();
  }

  std::string currency_after() {
    for (const std::string_view sign : {"€", "$", "£"})
      if (take_word(sign)) return currency_of_sign(sign);
    const std::string_view code = text_.substr(std::min(at_ + 1, text_.size()), 3);
    const bool is_code =
        ahead() == ' ' && code.size() == 3 && std::all_of(code.begin(), code.end(), is_capital) && !is_letter(ahead(4));
    if (is_code) at_ += 4;
    return is_code ? std::string(code) : std::string();
  }

  Quantity read() {
    Quantity quantity;
    quantity.begin = at_;
    grouped_ = false;
    const std::string number = digits();
    std::from_chars(number.data(), number.data() + number.size(), quantity.value);
    const double factor = scale();
    quantity.value *= factor;
    quantity.is_percent = take_word("%") || take_word("percent") || take_word("per cent");
    quantity.currency = currency_before(quantity.begin);
    if (quantity.currency.empty()) quantity.currency = currency_after();
    quantity.may_be_a_year = !grouped_ && number.size() == 4 && factor == 1 && !quantity.is_percent &&
                             quantity.currency.empty() && quantity.value >= 1500 && quantity.value < 2200;
    if (quantity.is_percent) quantity.value /= 100;
    quantity.end = at_;
    return quantity;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool grouped_ = false;
};

// Where a phrase stands as words, from `from` on; npos if it does not.
std::size_t find_words(const std::string& text, const std::string& phrase, std::size_t from) {
  for (std::size_t at = text.find(phrase, from); at != std::string::npos; at = text.find(phrase, at + 1)) {
    const std::size_t end = at + phrase.size();
    const bool begins = at == 0 || !(is_letter(text[at - 1]) || is_digit(text[at - 1]));
    const bool ends = end == text.size() || !(is_letter(text[end]) || is_digit(text[end]));
    if (begins && ends) return at;
  }
  return std::string::npos;
}

std::vector<std::string> alternatives(std::string_view phrase) {
  std::vector<std::string> found;
  while (!phrase.empty()) {
    const std::size_t end = std::min(phrase.find('|'), phrase.size());
    if (end > 0) found.push_back(lowered(phrase.substr(0, end)));
    phrase.remove_prefix(std::min(end + 1, phrase.size()));
  }
  return found;
}

// Characters between the quantity and the nearest place of the phrase.
std::size_t distance_to(const std::string& text, std::string_view phrase, const Quantity& quantity) {
  std::size_t nearest = std::numeric_limits<std::size_t>::max();
  for (const std::string& words : alternatives(phrase)) {
    for (std::size_t at = find_words(text, words, 0); at != std::string::npos; at = find_words(text, words, at + 1)) {
      const std::size_t end = at + words.size();
      nearest =
          std::min(nearest, at >= quantity.end ? at - quantity.end : quantity.begin - std::min(end, quantity.begin));
    }
  }
  return nearest;
}

bool fits(const Quantity& quantity, const Sought& sought) {
  if (quantity.may_be_a_year || quantity.value < sought.min || quantity.value > sought.max) return false;
  switch (sought.kind) {
    case Sought::Kind::number:
      return !quantity.is_percent && quantity.currency.empty();
    case Sought::Kind::share:
      return quantity.is_percent;
    case Sought::Kind::money:
      return quantity.currency == sought.currency;
  }
  return false;
}

bool mentions_all(std::string_view text, const std::vector<std::string>& phrases) {
  return std::all_of(phrases.begin(), phrases.end(),
                     [text](const std::string& phrase) { return mentions_phrase(text, phrase); });
}

}  // namespace

std::vector<Quantity> quantities_in(std::string_view text) { return NumberReader(text).all(); }

std::optional<Quantity> read_quantity(std::string_view text) {
  const std::vector<Quantity> found = quantities_in(text);
  if (found.size() != 1) return std::nullopt;
  std::string left = std::string(text.substr(0, found[0].begin)) + std::string(text.substr(found[0].end));
  for (const std::string_view sign : {"€", "$", "£"})
    if (const std::size_t at = left.find(sign); at != std::string::npos) left.erase(at, sign.size());
  if (!found[0].currency.empty())
    if (const std::size_t at = left.find(found[0].currency); at != std::string::npos) left.erase(at, 3);
  const bool is_blank = left.find_first_not_of(" \t") == std::string::npos;
  return is_blank ? std::optional(found[0]) : std::nullopt;
}

bool mentions_phrase(std::string_view text, std::string_view phrase) {
  const std::string in = lowered(text);
  const std::vector<std::string> words = alternatives(phrase);
  return std::any_of(words.begin(), words.end(),
                     [&in](const std::string& each) { return find_words(in, each, 0) != std::string::npos; });
}

std::optional<Evidence> find_evidence(const std::string& title, const std::string& passage, const Sought& sought) {
  if (sought.about.empty() || !mentions_all(title + "\n" + passage, sought.context)) return std::nullopt;
  for (std::string& sentence : sentences_of(passage)) {
    if (!mentions_all(sentence, sought.about)) continue;
    const std::string text = lowered(sentence);
    std::optional<std::pair<std::size_t, double>> nearest;
    for (const Quantity& quantity : quantities_in(sentence)) {
      if (!fits(quantity, sought)) continue;
      const std::size_t distance = distance_to(text, sought.about[0], quantity);
      if (!nearest || distance < nearest->first) nearest = {distance, quantity.value};
    }
    if (nearest) return Evidence{nearest->second, std::move(sentence)};
  }
  return std::nullopt;
}

}  // namespace cairn
