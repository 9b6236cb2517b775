#include "workers/planners/venture_scope/quantity.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "engine/text.hpp"

namespace cairn {
namespace {

constexpr std::string_view iso_codes =
    " AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF "
    "CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG "
    "HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA "
    "MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD "
    "RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD "
    "UYU UZS VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWL ";

using Named = std::pair<std::string_view, std::string_view>;

// Longer signs first. "?": a sign of several currencies.
constexpr std::array<Named, 16> signs = {{{"US$", "USD"},
                                          {"HK$", "HKD"},
                                          {"NZ$", "NZD"},
                                          {"CA$", "CAD"},
                                          {"AU$", "AUD"},
                                          {"A$", "AUD"},
                                          {"C$", "CAD"},
                                          {"R$", "BRL"},
                                          {"S$", "SGD"},
                                          {"$", "USD"},
                                          {"€", "EUR"},
                                          {"£", "GBP"},
                                          {"₹", "INR"},
                                          {"₩", "KRW"},
                                          {"₺", "TRY"},
                                          {"¥", "?"}}};

constexpr std::array<Named, 8> currency_words = {{{"us dollars", "USD"},
                                                  {"dollars", "USD"},
                                                  {"euros", "EUR"},
                                                  {"euro", "EUR"},
                                                  {"yen", "JPY"},
                                                  {"rupees", "INR"},
                                                  {"kronor", "SEK"},
                                                  {"pounds sterling", "GBP"}}};

using Scale = std::pair<std::string_view, double>;

// Words of their own, in lower case; a dot after the short ones belongs to them.
constexpr std::array<Scale, 34> scale_words = {
    {{"hundred", 1e2},  {"thousands", 1e3},  {"thousand", 1e3},   {"tausend", 1e3},    {"tsd", 1e3},
     {"lakhs", 1e5},    {"lakh", 1e5},       {"millionen", 1e6},  {"millones", 1e6},   {"millions", 1e6},
     {"million", 1e6},  {"mill", 1e6},       {"mln", 1e6},        {"mio", 1e6},        {"mn", 1e6},
     {"crores", 1e7},   {"crore", 1e7},      {"milliarden", 1e9}, {"milliards", 1e9},  {"milliard", 1e9},
     {"billions", 1e9}, {"billion", 1e9},    {"mrd", 1e9},        {"mld", 1e9},        {"bln", 1e9},
     {"bn", 1e9},       {"billionen", 1e12}, {"billones", 1e12},  {"trillions", 1e12}, {"trillion", 1e12},
     {"trn", 1e12},     {"tn", 1e12},        {"milliarde", 1e9},  {"milion", 1e6}}};

// Those of languages whose comma marks a fraction, although some who write English use them, too.
constexpr std::array<std::string_view, 13> scale_words_with_commas = {
    "tausend",   "tsd",      "millionen", "millones",  "mio",      "milliarden", "milliarde",
    "milliards", "milliard", "mrd",       "billionen", "billones", "milion"};

// Letters right after the digits. Lengths and weights share some of them, so that without a currency a few are refused.
struct Suffix {
  std::string_view letters;
  double scale;
  bool needs_currency;
};
constexpr std::array<Suffix, 11> suffixes = {{{"MM", 1e6, true},
                                              {"mm", 1e6, true},
                                              {"k", 1e3, false},
                                              {"K", 1e3, false},
                                              {"M", 1e6, false},
                                              {"m", 1e6, false},
                                              {"B", 1e9, false},
                                              {"b", 1e9, true},
                                              {"T", 1e12, true},
                                              {"t", 1e12, true},
                                              {"G", 1e9, true}}};

constexpr std::array<std::string_view, 12> measures_in_metres = {"long",  "high",  "wide",  "tall",  "deep",   "away",
                                                                 "above", "below", "thick", "apart", "sprint", "pool"};
constexpr std::array<std::string_view, 12> months = {"january",   "february", "march",    "april",
                                                     "may",       "june",     "july",     "august",
                                                     "september", "october",  "november", "december"};
constexpr std::array<Named, 8> rate_units = {{{"year", "year"},
                                              {"yr", "year"},
                                              {"annum", "year"},
                                              {"month", "month"},
                                              {"quarter", "quarter"},
                                              {"week", "week"},
                                              {"day", "day"},
                                              {"hour", "hour"}}};
constexpr std::array<std::string_view, 12> at_most = {"less than", "fewer than",   "under",         "below",
                                                      "up to",     "at most",      "no more than",  "not more than",
                                                      "max.",      "a maximum of", "just short of", "maximum"};
constexpr std::array<std::string_view, 14> hedges = {"more than", "at least", "over",          "above",       "around",
                                                     "about",     "roughly",  "approximately", "nearly",      "almost",
                                                     "some",      "circa",    "ca.",           "an estimated"};
constexpr std::array<std::string_view, 6> group_marks = {"\u00A0", "\u202F", "\u2009", "'", "\u2019", "\u00B4"};
// A thousand in one language and a million in another.
constexpr std::array<std::string_view, 4> unsettled_scales = {"mil", "mille", "mila", "mils"};
constexpr std::array<std::string_view, 20> changes = {
    "rise", "rises",  "rose",     "risen",     "grow",     "grew",      "grown",   "growth", "fall",    "falls",
    "fell", "fallen", "increase", "increased", "decrease", "decreased", "dropped", "sank",   "climbed", "went"};
constexpr std::string_view beginning_doubt = "a change began there";
constexpr std::array<std::string_view, 5> products = {"\u00D7", "\u00B7", "\u2219", "^", "*"};
constexpr std::array<std::string_view, 8> raised = {"\u00BD", "\u00BC", "\u00BE", "\u2153",
                                                    "\u2154", "\u00B2", "\u00B3", "\u00B9"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A mark of a product and a factor stand at that end; a "*" alone is Markdown's.
bool ends_with_factor(std::string_view text) {
  return std::any_of(products.begin(), products.end(), [text](std::string_view mark) {
    if (!text.ends_with(mark)) return false;
    const std::size_t last = text.substr(0, text.size() - mark.size()).find_last_not_of(' ');
    return last != std::string_view::npos && is_digit(text[last]);
  });
}
bool begins_with_factor(std::string_view text) {
  return std::any_of(products.begin(), products.end(), [text](std::string_view mark) {
    if (!text.starts_with(mark)) return false;
    const std::size_t first = text.find_first_not_of(' ', mark.size());
    return first != std::string_view::npos && is_digit(text[first]);
  });
}

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_letter(char c) { return is_ascii_letter(c) || (c & 0x80) != 0; }
bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

template <class Words>
bool is_among(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Digits with their marks, as they stand: "2.850,5".
struct Digits {
  std::vector<double> readings;  // the likely one first
  double fraction = 0;           // a second reading of one comma before three digits, which then counts if words say so
  std::string doubt;
  std::size_t count = 0;  // bytes
  bool is_plain = false;  // nothing but digits
};

double number_of(const std::string& digits) {
  double value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// One run of digits and marks: groups of digits, and the mark before each but the first.
class DigitsReader {
 public:
  explicit DigitsReader(std::string_view text) : text_(text) {}

  Digits read() {
    gather();
    Digits made;
    made.count = at_;
    made.is_plain = marks_.empty();
    judge(made);
    return made;
  }

 private:
  std::size_t digits_at(std::size_t at) const {
    std::size_t count = 0;
    while (at + count < text_.size() && is_digit(text_[at + count])) ++count;
    return count;
  }

  // The mark at a place and its length: '.', ',', or 's' for a narrow space or an apostrophe, ' ' for a plain space.
  std::pair<char, std::size_t> mark_at(std::size_t at) const {
    if (at >= text_.size()) return {'\0', 0};
    const char c = text_[at];
    if (c == '.' || c == ',' || c == ' ') return {c, 1};
    for (const std::string_view space : group_marks)
      if (text_.substr(at).starts_with(space)) return {'s', space.size()};
    return {'\0', 0};
  }

  void gather() {
    at_ = digits_at(0);
    groups_.emplace_back(text_.substr(0, at_));
    for (;;) {
      const auto [mark, size] = mark_at(at_);
      const std::size_t next = mark == '\0' ? 0 : digits_at(at_ + size);
      if (next == 0) return;
      const bool is_space = mark == ' ' || mark == 's';
      if (is_space && (next != 3 || groups_.back().size() > 3 || (!marks_.empty() && marks_.back() != mark))) return;
      if (is_space && marks_.empty() && groups_[0].size() > 3) return;
      marks_ += mark;
      groups_.emplace_back(text_.substr(at_ + size, next));
      at_ += size + next;
    }
  }

  bool are_thousands(std::size_t until) const {
    if (groups_[0].empty() || groups_[0].size() > 3 || groups_[0][0] == '0') return false;
    for (std::size_t i = 1; i < until; ++i)
      if (groups_[i].size() != 3) return false;
    return true;
  }

  double joined(std::size_t whole) const {
    std::string digits;
    for (std::size_t i = 0; i < groups_.size(); ++i) digits += (i == whole ? "." : "") + groups_[i];
    return number_of(digits);
  }

  void judge(Digits& made) const {
    const std::size_t count = groups_.size();
    if (count == 1) return made.readings.push_back(number_of(groups_[0]));
    const bool is_uniform = marks_.find_first_not_of(marks_[0]) == std::string::npos;
    const char first = marks_[0];
    if (is_uniform && (first == ' ' || first == 's')) {
      made.readings.push_back(joined(count));
      if (first == ' ' && count == 2) made.doubt = "it may be two numbers";
      return;
    }
    if (is_uniform && count > 2) {
      made.readings.push_back(joined(count));
      if (!are_thousands(count)) made.doubt = "its groups are not those of a number";
      return;
    }
    if (is_uniform) return judge_one_mark(first, made);
    const bool is_mixed = marks_.find_first_not_of(first) == marks_.size() - 1 && are_thousands(count - 1);
    made.readings.push_back(is_mixed ? joined(count - 1) : joined(1));
    if (!is_mixed) made.doubt = "its marks contradict each other";
  }

  void judge_one_mark(char mark, Digits& made) const {
    const bool may_group = are_thousands(2);
    if (!may_group) {
      made.readings.push_back(joined(1));
      const bool is_list = mark == ',' && groups_[1].size() == 3 && groups_[0] != "0";
      if (is_list) made.doubt = "its comma may separate two numbers";
      return;
    }
    if (mark == ',') {
      made.fraction = joined(1);
      return made.readings.push_back(joined(2));
    }
    made.readings = {joined(1), joined(2)};
    made.doubt = "its dot may mark thousands or a fraction";
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> groups_;
  std::string marks_;
};

// A cursor over a text; nothing of it is copied.
class QuantityReader {
 public:
  explicit QuantityReader(std::string_view text) : text_(text), lower_(lowered(text)) {}

  std::vector<Quantity> all() {
    std::vector<Quantity> found;
    while (at_ < text_.size()) {
      if (!is_digit(text_[at_])) {
        ++at_;
        continue;
      }
      const bool is_start = at_ == 0 || !is_inside_word(text_[at_ - 1]);
      if (is_start)
        found.push_back(read());
      else
        skip_digits();
    }
    join(found);
    return found;
  }

 private:
  static bool is_inside_word(char c) { return is_ascii_letter(c) || is_digit(c) || c == '_' || c == '#'; }

  void skip_digits() {
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  }

  char ahead(std::size_t by = 0) const { return at_ + by < text_.size() ? text_[at_ + by] : '\0'; }
  std::string_view rest() const { return text_.substr(std::min(at_, text_.size())); }

  // Width of a space here, plain or not.
  std::size_t space() const {
    if (ahead() == ' ') return 1;
    return rest().starts_with("\u00A0") ? 2 : rest().starts_with("\u202F") ? 3 : 0;
  }

  // The next word in lower case, after a space.
  std::string word_ahead() const {
    std::size_t from = at_ + space();
    std::size_t to = from;
    while (to < lower_.size() && is_letter(lower_[to])) ++to;
    return lower_.substr(std::min(from, lower_.size()), to - from);
  }

  bool take_word(std::string_view word) {
    const std::size_t from = at_ + space();
    if (std::string_view(lower_).substr(std::min(from, lower_.size())).substr(0, word.size()) != word) return false;
    const char after = from + word.size() < text_.size() ? text_[from + word.size()] : '\0';
    if (is_letter(word.back()) && (is_letter(after) || is_digit(after))) return false;
    at_ = from + word.size();
    return true;
  }

  // A doubt that may be settled gives way to any other.
  void doubt(Quantity& quantity, std::string_view reason) const {
    if (!quantity.doubt.empty() && !quantity.may_be_settled) return;
    quantity.doubt = reason;
    quantity.may_be_settled = false;
  }

  void doubt_digits(Quantity& quantity, std::string_view reason) const {
    if (!quantity.doubt.empty()) return;
    quantity.doubt = reason;
    quantity.may_be_settled = quantity.written.size() == 2;
  }

  // --- before the digits ---
  void read_before(Quantity& quantity) {
    std::size_t begin = quantity.begin;
    const auto is_minus = [this](std::size_t end) {
      if (end > 0 && text_[end - 1] == '-') return std::size_t{1};
      return text_.substr(0, end).ends_with("\u2212") ? std::size_t{3} : std::size_t{0};
    };
    const auto stands_free = [this](std::size_t end) {
      return end == 0 || text_[end - 1] == ' ' || text_[end - 1] == '(' || text_[end - 1] == '\n';
    };
    if (const std::size_t minus = is_minus(begin); minus > 0) {
      if (stands_free(begin - minus)) {
        is_negative_ = true;
        begin -= minus;
      } else if (is_letter(text_[begin - minus - 1])) {
        doubt(quantity, "it belongs to a word");
      }
    }
    const std::size_t gap = begin > 0 && text_[begin - 1] == ' '         ? 1
                            : text_.substr(0, begin).ends_with("\u00A0") ? 2
                                                                         : 0;
    const std::size_t end = begin - gap;
    if (const std::size_t size = currency_ending_at(end, quantity); size > 0) begin = end - size;
    if (const std::size_t minus = is_minus(begin);
        minus > 0 && !quantity.currency.empty() && stands_free(begin - minus)) {
      is_negative_ = true;
      begin -= minus;
    }
    quantity.begin = begin;
    read_hedge(quantity);
  }

  std::size_t currency_ending_at(std::size_t end, Quantity& quantity) const {
    for (const auto& [sign, code] : signs) {
      if (!text_.substr(0, end).ends_with(sign)) continue;
      if (code == "?") doubt(quantity, "its sign stands for several currencies");
      const std::size_t before = end - sign.size();
      if (before > 0 && is_capital(sign[0]) && is_ascii_letter(text_[before - 1])) continue;
      if (sign == "$" && before > 0 && is_ascii_letter(text_[before - 1]))
        doubt(quantity, "its sign is of an unknown currency");
      else if (before > 0 && is_ascii_letter(text_[before - 1]))
        doubt(quantity, "letters stand before its sign");
      quantity.currency = code == "?" ? "" : code;
      return sign.size();
    }
    if (end < 3 || (end > 3 && is_letter(text_[end - 4])) || !is_currency(text_.substr(end - 3, 3))) return 0;
    quantity.currency = text_.substr(end - 3, 3);
    return 3;
  }

  void read_hedge(Quantity& quantity) const {
    std::string_view before = std::string_view(lower_).substr(0, quantity.begin);
    while (!before.empty() && (before.back() == ' ' || before.back() == '\n')) before.remove_suffix(1);
    const auto ends_with = [before](std::string_view words) {
      return before.ends_with(words) &&
             (before.size() == words.size() || !is_letter(before[before.size() - words.size() - 1]));
    };
    for (const std::string_view words : at_most)
      if (ends_with(words)) doubt(quantity, "the text gives a limit, not a value");
    for (const std::string_view words : hedges)
      if (quantity.hedge.empty() && ends_with(words)) quantity.hedge = words;
    if (quantity.hedge.empty() && (before.ends_with('~') || before.ends_with("\u2248"))) quantity.hedge = "about";
    for (const std::string_view words : {"by", "up", "down"})
      if (ends_with(words)) quantity.is_change = true;
    const bool is_beginning = ends_with("from") && std::any_of(changes.begin(), changes.end(), [&](const auto& word) {
                                return before.ends_with(std::string(word) + " from");
                              });
    if (is_beginning) doubt(quantity, beginning_doubt);
  }

  // ".5", "2 × 10", "Mio. € 5": what stands before the number belongs to it, and is not read.
  void doubt_before(Quantity& quantity) const {
    std::string_view before = std::string_view(lower_).substr(0, quantity.begin);
    const bool is_fraction = before.ends_with(".") && (before.size() == 1 || !is_letter(before[before.size() - 2]) ||
                                                       !quantity.currency.empty());
    if (is_fraction) doubt(quantity, "nothing stands before its dot");
    while (before.ends_with(' ')) before.remove_suffix(1);
    if (ends_with_factor(before)) doubt(quantity, "it is a part of a product");
    const bool is_dotted = before.ends_with('.');
    if (is_dotted) before.remove_suffix(1);
    if (before.size() <= last_end_) return;  // the scale of the number before
    for (const Scale& scale : scale_words)
      if (before.ends_with(scale.first) && (!is_dotted || scale.first.size() <= 4) &&
          (before.size() == scale.first.size() || !is_letter(before[before.size() - scale.first.size() - 1])))
        doubt(quantity, "its scale stands before it");
  }

  // "2½", "3億", "5+", "3-year", "4.2 × 10": what follows the digits, and is not read.
  void doubt_after(Quantity& quantity) const {
    const std::string_view next = rest();
    const std::string_view spaced = next.substr(std::min(space(), next.size()));
    const auto begins = [](std::string_view text, const auto& marks) {
      return std::any_of(marks.begin(), marks.end(), [&](std::string_view mark) { return text.starts_with(mark); });
    };
    if (begins(next, raised)) doubt(quantity, "a fraction or a power follows it");
    if (begins_with_factor(spaced)) doubt(quantity, "it is a part of a product");
    if (next.starts_with('+')) doubt(quantity, "the text gives a limit, not a value");
    if (next.starts_with('-') && next.size() > 1 && is_ascii_letter(next[1])) doubt(quantity, "it belongs to a word");
    const auto first = static_cast<unsigned char>(ahead());
    const bool is_foreign = first >= 0xC3 && first != 0xE2 && !next.starts_with("\u3000") && first != 0xEF;
    if (is_foreign) doubt(quantity, "letters follow the digits");
    if (is_among(unsettled_scales, word_ahead())) doubt(quantity, "its scale can be a thousand or a million");
  }

  // Whether a letter of scale ends there: "k€" does.
  bool ends_scale(std::size_t at) const {
    const std::string_view next = text_.substr(std::min(at, text_.size()));
    if (next.empty() || (!is_letter(next[0]) && !is_digit(next[0]))) return true;
    return std::any_of(signs.begin(), signs.end(), [next](const Named& sign) {
      return !is_capital(sign.first[0]) && next.starts_with(sign.first);
    });
  }

  // --- after the digits ---
  void read_scale(Quantity& quantity) {
    bool is_word = false;
    for (int words = 0; words < 2; ++words) {
      const auto scale = std::find_if(scale_words.begin(), scale_words.end(),
                                      [this](const Scale& each) { return take_word(each.first); });
      if (scale == scale_words.end()) break;
      is_word = true;
      quantity.scale *= scale->second;
      if (ahead() == '.' && scale->first.size() <= 4) ++at_;
      const bool is_english = scale->first.starts_with("million") || scale->first.starts_with("billion") ||
                              scale->first.starts_with("thousand") || scale->first == "bn";
      if (words == 0 && is_english && scale->first.find("en") == std::string_view::npos) settle_fraction(quantity);
      if (words == 0 && is_among(scale_words_with_commas, scale->first)) unsettle_thousands(quantity);
    }
    if (!is_word && space() == 0) read_suffix(quantity);
    if (!is_word && space() > 0) read_distant_suffix(quantity);
  }

  // English words of scale follow English digits: "1.234 million".
  static void settle_fraction(Quantity& quantity) {
    if (quantity.written.size() != 2) return;
    quantity.written.pop_back();
    if (quantity.may_be_settled) quantity.doubt.clear();
    quantity.may_be_settled = false;
  }

  // "2,850 Mio. EUR": 2.85 or 2,850 million.
  void unsettle_thousands(Quantity& quantity) const {
    if (fraction_ == 0 || quantity.written.size() != 1) return;
    quantity.written.push_back(fraction_);
    doubt_digits(quantity, "its comma may mark thousands or a fraction");
  }

  void read_suffix(Quantity& quantity) {
    if (!is_ascii_letter(ahead())) return;
    for (const Suffix& suffix : suffixes) {
      if (!rest().starts_with(suffix.letters) || !ends_scale(at_ + suffix.letters.size())) continue;
      at_ += suffix.letters.size();
      quantity.scale *= suffix.scale;
      doubt_thousand(quantity, suffix);
      if (suffix.needs_currency && !has_currency_around(quantity)) doubt(quantity, "its letter may be a unit");
      if (suffix.letters == "m" && quantity.currency.empty() && is_among(measures_in_metres, word_ahead()))
        doubt(quantity, "its letter is a unit of length");
      return;
    }
    if (is_currency(rest().substr(0, 3)) && !is_letter(ahead(3))) return;
    while (is_letter(ahead()) || is_digit(ahead())) ++at_;
    doubt(quantity, "letters follow the digits");
  }

  // "20 T€": thousands where German is written.
  void doubt_thousand(Quantity& quantity, const Suffix& suffix) const {
    if (suffix.scale == 1e12 && space() == 0 && rest().starts_with("\u20AC"))
      doubt(quantity, "its letter can be a thousand or a trillion");
  }

  // "5.2 m": metres as well as millions, unless it is money.
  void read_distant_suffix(Quantity& quantity) {
    const std::size_t from = space();
    for (const Suffix& suffix : suffixes) {
      if (!text_.substr(at_ + from).starts_with(suffix.letters) || !ends_scale(at_ + from + suffix.letters.size()))
        continue;
      at_ += from + suffix.letters.size();
      quantity.scale *= suffix.scale;
      doubt_thousand(quantity, suffix);
      if (!has_currency_around(quantity)) doubt(quantity, "its letter may be a unit");
      return;
    }
  }

  bool has_currency_around(const Quantity& quantity) const {
    if (!quantity.currency.empty()) return true;
    const std::string_view next = text_.substr(std::min(at_ + space(), text_.size()));
    if (is_currency(next.substr(0, 3))) return true;
    return std::any_of(signs.begin(), signs.end(), [next](const Named& sign) { return next.starts_with(sign.first); });
  }

  void read_percent(Quantity& quantity) {
    for (const std::string_view word :
         {"percentage points", "percentage point", "%-points", "pp", "basis points", "bps"})
      if (take_word(word)) return doubt(quantity, "it is a difference of shares");
    for (const std::string_view word : {"%", "percent", "per cent", "pct", "prozent"}) {
      if (!take_word(word)) continue;
      quantity.is_percent = true;
      if (word == "prozent") unsettle_thousands(quantity);
    }
    if (take_word("\u2030")) {
      quantity.is_percent = true;
      quantity.scale *= 0.1;
    }
  }

  void read_currency_after(Quantity& quantity) {
    std::string found;
    const std::size_t from = at_ + space();
    const std::string_view next = text_.substr(std::min(from, text_.size()));
    const auto ends_after = [&](std::size_t size) { return size >= next.size() || !is_letter(next[size]); };
    for (const auto& [sign, code] : signs) {
      if (!found.empty() || !next.starts_with(sign)) continue;
      if (next.size() > sign.size() && is_digit(next[sign.size()])) return;  // the next number's
      found = code;
      at_ = from + sign.size();
    }
    if (found.empty() && is_currency(next.substr(0, 3)) && ends_after(3)) {
      const bool is_of_next = next.size() > 4 && is_digit(next[4]) && !quantity.currency.empty();
      if (is_of_next) return;
      found = next.substr(0, 3);
      at_ = from + 3;
    }
    for (const auto& [word, code] : currency_words)
      if (found.empty() && take_word(word)) found = code;
    if (found.empty()) return;
    if (found == "?") return doubt(quantity, "its sign stands for several currencies");
    if (!quantity.currency.empty() && quantity.currency != found) doubt(quantity, "it has two currencies");
    quantity.currency = found;
  }

  // "a year", "/month", "bikes per year", "p.a.", "annually": at most three words of a unit stand between.
  void read_rate(Quantity& quantity) {
    std::string_view after = std::string_view(lower_).substr(std::min(at_, lower_.size()));
    std::size_t cut = after.find_first_of(",;:()\n");
    after = after.substr(0, std::min(cut, std::size_t{60}));
    if (after.starts_with("/")) after.remove_prefix(1);
    std::vector<std::string_view> words;
    while (!after.empty() && words.size() < 6) {
      const std::size_t first = after.find_first_not_of(" /");
      if (first == std::string_view::npos) break;
      after.remove_prefix(first);
      const std::size_t size = std::min(after.find_first_of(" /"), after.size());
      words.push_back(after.substr(0, size));
      after.remove_prefix(size);
    }
    for (std::size_t at = 0; at < words.size() && at < 4; ++at) {
      std::string_view word = words[at];
      while (!word.empty() && word.ends_with(".") && word != "p.a.") word.remove_suffix(1);
      if (word == "than" || is_digit(word.empty() ? 'x' : word[0])) return;
      if (word == "p.a." || word == "p.a" || word == "annually" || word == "yearly") return set_rate(quantity, "year");
      if (word == "monthly") return set_rate(quantity, "month");
      const bool is_bare = at == 0 && lower_[at_ < lower_.size() ? at_ : 0] == '/';
      const bool is_per = word == "per" || word == "a" || word == "an" || word == "each" || word == "every";
      if (!is_per && !is_bare) continue;
      const std::size_t unit_at = is_bare ? at : at + 1;
      if (unit_at >= words.size()) return;
      std::string_view unit = words[unit_at];
      while (!unit.empty() && (unit.back() == '.' || unit.back() == '!')) unit.remove_suffix(1);
      const std::string_view next = unit_at + 1 < words.size() ? words[unit_at + 1] : std::string_view();
      const bool is_distance = next == "ago" || next == "before" || next == "earlier" || next == "later";
      for (const auto& [name, meant] : rate_units)
        if (unit == name && !is_distance) return set_rate(quantity, meant);
      if (word == "per" || is_bare) continue;
    }
  }

  static void set_rate(Quantity& quantity, std::string_view per) { quantity.per = per; }

  void read_change(Quantity& quantity) const {
    for (const std::string_view word : {"more", "less", "higher", "lower", "fewer", "growth", "increase", "decrease"})
      if (word_ahead() == word) quantity.is_change = true;
  }

  // Dates, times, versions, fractions, multiples.
  void read_company(Quantity& quantity, bool is_plain) {
    const char mark = ahead();
    const bool has_more = is_digit(ahead(1));
    if ((mark == ':' || mark == '/') && has_more) {
      while (is_digit(ahead()) || ((ahead() == ':' || ahead() == '/') && is_digit(ahead(1)))) ++at_;
      return doubt(quantity, "it is a time, a date or a fraction");
    }
    if (mark == '-' && has_more && is_plain && is_date_ahead()) {
      while (is_digit(ahead()) || (ahead() == '-' && is_digit(ahead(1)))) ++at_;
      return doubt(quantity, "it is a date");
    }
    if (mark == '-' && (text_.substr(at_ + 1).starts_with("fold") || ahead(1) == 'x'))
      return doubt(quantity, "it is a multiple");
    const std::string next = word_ahead();
    if (is_plain && quantity.written[0] <= 31 && is_among(months, next)) doubt(quantity, "it is a day");
    if (next == "times" || next == "x" || next == "fold") doubt(quantity, "it is a multiple");
  }

  bool is_date_ahead() const {  // "-01-31"
    std::size_t at = 1;
    while (is_digit(ahead(at))) ++at;
    return ahead(at) == '-' && is_digit(ahead(at + 1));
  }

  Quantity read() {
    Quantity quantity;
    quantity.begin = at_;
    is_negative_ = false;
    read_before(quantity);
    const Digits digits = DigitsReader(rest()).read();
    at_ += digits.count;
    quantity.written = digits.readings;
    fraction_ = digits.fraction;
    const bool is_money = !quantity.currency.empty();
    const bool is_settled = digits.doubt == "it may be two numbers" && is_money;
    if (!is_settled && !digits.doubt.empty()) doubt_digits(quantity, digits.doubt);
    doubt_before(quantity);
    read_company(quantity, digits.is_plain);
    if (quantity.doubt.empty() || quantity.may_be_settled) doubt_after(quantity);
    read_scale(quantity);
    read_percent(quantity);
    read_currency_after(quantity);
    if (digits.doubt == "it may be two numbers" && quantity.doubt == digits.doubt && !quantity.currency.empty())
      quantity.doubt.clear();
    read_rate(quantity);
    read_change(quantity);
    if (is_negative_)
      for (double& reading : quantity.written) reading = -reading;
    quantity.value = quantity.written[0] * quantity.scale / (quantity.is_percent ? 100 : 1);
    quantity.low = quantity.high = quantity.value;
    quantity.may_be_a_year = digits.is_plain && digits.count == 4 && quantity.scale == 1 && !quantity.is_percent &&
                             quantity.currency.empty() && quantity.value >= 1500 && quantity.value < 2200;
    quantity.end = last_end_ = at_;
    return quantity;
  }

  // --- pairs ---
  // Two neighbours that are one range, or a ratio.
  void join(std::vector<Quantity>& found) const {
    for (std::size_t i = 0; i + 1 < found.size(); ++i) {
      Quantity& left = found[i];
      Quantity& right = found[i + 1];
      // "From 2.1 billion in 2023 to 2.4 billion": a year, and no beginning of a range.
      if (left.may_be_a_year && (right.may_be_a_year || left.written[0] >= right.written[0])) continue;
      if (left.doubt == beginning_doubt) continue;  // "grew from 2 to 3 million": no range
      const std::string between = lower_.substr(left.end, right.begin > left.end ? right.begin - left.end : 0);
      const std::string_view before = std::string_view(lower_).substr(0, left.begin);
      const bool is_between = before.ends_with("between ") && between == " and ";
      const bool is_joined = between == "-" || between == "\u2013" || between == " \u2013 " || between == " - " ||
                             between == "\u2014" || between == " to ";
      const bool is_ratio = between == " in " || between == " out of " || between == " per " || between == " of every ";
      if (is_ratio && !right.may_be_a_year && left.scale == 1 && !left.is_percent) {
        left.doubt = right.doubt = "it is a part of a ratio";
        left.may_be_settled = right.may_be_settled = false;
      } else if (is_joined || is_between) {
        make_range(left, right);
        found.erase(found.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
    }
  }

  // The right number's scale, currency and percent sign hold for both: "4 to 5 million", "EUR 3 to 4".
  static void make_range(Quantity& left, const Quantity& right) {
    const bool is_shared = left.scale == 1 && !left.is_percent;
    const double scale = is_shared ? right.scale : left.scale;
    const bool is_percent = right.is_percent || left.is_percent;
    if (left.doubt.empty()) left.doubt = right.doubt;
    if (!is_shared && (left.scale != right.scale || left.is_percent != right.is_percent))
      left.doubt = "the ends of the range are written differently";
    if (!left.currency.empty() && !right.currency.empty() && left.currency != right.currency)
      left.doubt = "the ends of the range have two currencies";
    if (left.currency.empty()) left.currency = right.currency;
    left.scale = scale;
    left.is_percent = is_percent;
    left.per = right.per;
    left.is_change = left.is_change || right.is_change;
    left.low = left.written[0] * scale / (is_percent ? 100 : 1);
    left.high = right.written[0] * scale / (is_percent ? 100 : 1);
    if (left.high <= left.low) left.doubt = "the range does not rise";
    left.written = {left.written[0], right.written[0], (left.written[0] + right.written[0]) / 2};
    left.value = (left.low + left.high) / 2;
    left.may_be_settled = false;
    left.may_be_a_year = false;
    left.end = right.end;
  }

  std::string_view text_;
  std::string lower_;
  std::size_t at_ = 0;
  std::size_t last_end_ = 0;  // of the number before
  bool is_negative_ = false;
  double fraction_ = 0;  // of the digits just read
};

}  // namespace

std::vector<Quantity> quantities_in(std::string_view text) { return QuantityReader(text).all(); }

std::optional<Quantity> read_quantity(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return std::nullopt;
  text = text.substr(first, text.find_last_not_of(" \t") + 1 - first);
  const std::vector<Quantity> found = quantities_in(text);
  if (found.size() != 1 || !found[0].doubt.empty() || found[0].is_range()) return std::nullopt;
  const std::string rest = lowered(text.substr(found[0].end));
  const bool is_whole =
      rest.empty() || (!found[0].per.empty() && (rest == " per " + found[0].per || rest == " a " + found[0].per ||
                                                 rest == " p.a." || rest == "/" + found[0].per));
  return found[0].begin == 0 && is_whole ? std::optional(found[0]) : std::nullopt;
}

bool names_scale(std::string_view text, double scale) {
  const std::string lower = lowered(text);
  const auto stands = [&](std::string_view in, std::string_view word) {
    for (std::size_t at = in.find(word); at != std::string_view::npos; at = in.find(word, at + 1)) {
      const std::size_t end = at + word.size();
      const bool begins = at == 0 || !is_letter(in[at - 1]);
      if (begins && (end == in.size() || !is_letter(in[end]))) return true;
    }
    return false;
  };
  return std::any_of(scale_words.begin(), scale_words.end(),
                     [&](const Scale& each) { return each.second == scale && stands(lower, each.first); }) ||
         std::any_of(suffixes.begin(), suffixes.end(),
                     [&](const Suffix& each) { return each.scale == scale && stands(text, each.letters); });
}

bool names_currency(std::string_view text, std::string_view code) {
  if (text.find(code) != std::string_view::npos) return true;
  const std::string lower = lowered(text);
  const auto names = [&](const Named& each, std::string_view in) {
    return each.second == code && in.find(each.first) != std::string_view::npos;
  };
  return std::any_of(signs.begin(), signs.end(), [&](const Named& sign) { return names(sign, text); }) ||
         std::any_of(currency_words.begin(), currency_words.end(),
                     [&](const Named& word) { return names(word, lower); });
}

bool is_currency(std::string_view code) {
  if (code.size() != 3 || !std::all_of(code.begin(), code.end(), is_capital)) return false;
  return iso_codes.find(" " + std::string(code) + " ") != std::string_view::npos;
}

}  // namespace cairn
