#include "workers/tools/data/words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>

#include "engine/text.hpp"

namespace cairn {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

bool is_name_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0; }
bool is_name_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

constexpr std::array<Pair, 48> irregular = {{
    {"people", "person"}, {"children", "child"},  {"men", "man"},           {"women", "woman"}, {"wrote", "write"},
    {"written", "write"}, {"sold", "sell"},       {"sale", "sell"},         {"sales", "sell"},  {"bought", "buy"},
    {"paid", "pay"},      {"payment", "pay"},     {"payments", "pay"},      {"made", "make"},   {"won", "win"},
    {"taught", "teach"},  {"held", "hold"},       {"given", "give"},        {"gave", "give"},   {"sent", "send"},
    {"spent", "spend"},   {"met", "meet"},        {"lent", "lend"},         {"began", "begin"}, {"begun", "begin"},
    {"flew", "fly"},      {"flown", "fly"},       {"flight", "fly"},        {"flights", "fly"}, {"left", "leave"},
    {"ran", "run"},       {"took", "take"},       {"taken", "take"},        {"went", "go"},     {"grew", "grow"},
    {"fell", "fall"},     {"rose", "rise"},       {"hired", "hire"},        {"cities", "city"}, {"longer", "long"},
    {"longest", "long"},  {"taller", "tall"},     {"tallest", "tall"},      {"bigger", "big"},  {"statuses", "status"},
    {"status", "status"}, {"address", "address"}, {"addresses", "address"},
}};

constexpr std::array<Pair, 70> abbreviations = {{
    {"tx", "transaction"},  {"txn", "transaction"},  {"trans", "transaction"}, {"cust", "customer"},
    {"qty", "quantity"},    {"amt", "amount"},       {"num", "number"},        {"no", "number"},
    {"nbr", "number"},      {"cnt", "count"},        {"addr", "address"},      {"dept", "department"},
    {"acct", "account"},    {"desc", "description"}, {"descr", "description"}, {"ccy", "currency"},
    {"dt", "date"},         {"yr", "year"},          {"avg", "average"},       {"img", "image"},
    {"msg", "message"},     {"org", "organization"}, {"prod", "product"},      {"emp", "employee"},
    {"mgr", "manager"},     {"loc", "location"},     {"temp", "temperature"},  {"pct", "percentage"},
    {"perc", "percentage"}, {"ref", "reference"},    {"cat", "category"},      {"tel", "phone"},
    {"lang", "language"},   {"univ", "university"},  {"govt", "government"},   {"intl", "international"},
    {"min", "minimum"},     {"max", "maximum"},      {"pop", "population"},    {"dob", "birthdate"},
    {"freq", "frequency"},  {"inv", "inventory"},    {"rev", "revenue"},       {"ssn", "ssn"},
    {"ts", "timestamp"},    {"pmt", "payment"},      {"itm", "item"},          {"ord", "order"},
    {"hdr", "header"},      {"ln", "line"},          {"whs", "warehouse"},     {"wh", "warehouse"},
    {"prc", "price"},       {"unt", "unit"},         {"wgt", "weight"},        {"sts", "status"},
    {"nm", "name"},         {"cd", "code"},          {"ctry", "country"},      {"stk", "stock"},
    {"flg", "flag"},        {"lvl", "level"},        {"mth", "month"},         {"qtr", "quarter"},
    {"wk", "week"},         {"vend", "vendor"},      {"supp", "supplier"},     {"bal", "balance"},
    {"bldg", "building"},   {"curr", "currency"},
}};

// The words of each group stand for one another in a question on data.
constexpr std::array<std::string_view, 46> synonym_groups = {
    "person people individual inhabitant resident population citizen",
    "customer client user buyer member",
    "salary wage income earn pay compensation",
    "price cost fee charge",
    "amount value sum total",
    "location place",
    "kind type category cuisine genre sort class",
    "phone telephone mobile",
    "rating star",
    "score point",
    "review comment feedback opinion",
    "begin start open launch",
    "end finish stop close",
    "terminate fire dismiss",
    "car vehicle automobile",
    "doctor physician",
    "medicine drug medication",
    "paper publication article",
    "employee staff worker",
    "shop store",
    "purchase buy order",
    "sell sale",
    "height altitude elevation tall",
    "length long",
    "study research",
    "instructor teacher professor lecturer",
    "film movie picture",
    "company firm business organization",
    "wealth rich",
    "side adverse",
    "country nation",
    "picture photo image",
    "email mail",
    "birthdate birthday born",
    "hour time",
    "fly flight",
    "buy purchase",
    "journal magazine",
    "author writer",
    "subject topic theme",
    "enroll register",
    "size area",
    "name title",
    "region area zone",
    "depart leave departure",
    "arrive land arrival",
};

const std::map<std::string, std::vector<int>>& groups_of_stems() {
  static const std::map<std::string, std::vector<int>> groups = [] {
    std::map<std::string, std::vector<int>> made;
    for (std::size_t i = 0; i < synonym_groups.size(); ++i) {
      std::string word;
      for (const char c : std::string(synonym_groups[i]) + " ") {
        if (c != ' ') {
          word += c;
          continue;
        }
        made[stem_of(word)].push_back(static_cast<int>(i));
        word.clear();
      }
    }
    return made;
  }();
  return groups;
}

bool are_synonyms(const std::string& a, const std::string& b) {
  const auto& groups = groups_of_stems();
  const auto of_a = groups.find(a);
  const auto of_b = groups.find(b);
  if (of_a == groups.end() || of_b == groups.end()) return false;
  return std::any_of(of_a->second.begin(), of_a->second.end(), [&](int group) {
    return std::find(of_b->second.begin(), of_b->second.end(), group) != of_b->second.end();
  });
}

bool is_vowel(char c) { return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' || c == 'y'; }

// "runn" as "run", not "sell" as "sel".
std::string without_double(std::string word) {
  const std::size_t n = word.size();
  const bool is_doubled = n > 3 && word[n - 1] == word[n - 2] && !is_vowel(word[n - 1]) && word[n - 1] != 'l' &&
                          word[n - 1] != 's' && word[n - 1] != 'z';
  if (is_doubled) word.pop_back();
  return word;
}

bool has_vowel(std::string_view word) { return std::any_of(word.begin(), word.end(), is_vowel); }

std::string without_number(std::string word) {
  const auto ends = [&word](std::string_view end) { return word.ends_with(end); };
  if (word.size() > 4 && ends("ies")) return word.substr(0, word.size() - 3) + "y";
  if (word.size() > 4 && (ends("sses") || ends("shes") || ends("ches") || ends("xes") || ends("zes")))
    return word.substr(0, word.size() - 2);
  const bool is_plural = word.size() > 2 && ends("s") && !ends("ss") && !ends("us") && !ends("is");
  return is_plural ? word.substr(0, word.size() - 1) : word;
}

std::string without_tense(std::string word) {
  if (word.size() > 5 && word.ends_with("ing") && has_vowel(word.substr(0, word.size() - 3)))
    return without_double(word.substr(0, word.size() - 3));
  if (word.size() > 4 && word.ends_with("ied")) return word.substr(0, word.size() - 3) + "y";
  if (word.size() > 4 && word.ends_with("ed") && !word.ends_with("eed") && has_vowel(word.substr(0, word.size() - 2)))
    return without_double(word.substr(0, word.size() - 2));
  return word;
}

template <std::size_t size>
std::string_view looked_up(const std::array<Pair, size>& pairs, std::string_view word) {
  const auto found = std::find_if(pairs.begin(), pairs.end(), [&](const Pair& pair) { return pair.first == word; });
  return found == pairs.end() ? std::string_view() : found->second;
}

std::string without_last_e(std::string word) {
  if (word.size() > 3 && word.back() == 'e') word.pop_back();
  return word;
}

// The parts of a name: between signs, at "aB" and "ABc", and between letters and digits.
std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts;
  std::string part;
  const auto end = [&] {
    if (!part.empty()) parts.push_back(lowered(part));
    part.clear();
  };
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (!is_name_letter(c) && !is_name_digit(c)) {
      end();
      continue;
    }
    const bool is_upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    const bool after_lower = i > 0 && std::islower(static_cast<unsigned char>(name[i - 1])) != 0;
    const bool before_lower = i + 1 < name.size() && std::islower(static_cast<unsigned char>(name[i + 1])) != 0;
    const bool after_upper = i > 0 && std::isupper(static_cast<unsigned char>(name[i - 1])) != 0;
    const bool changes = i > 0 && is_name_digit(c) != is_name_digit(name[i - 1]);
    if ((is_upper && (after_lower || (after_upper && before_lower))) || changes) end();
    part += c;
  }
  end();
  return parts;
}

// --- tokens ----------------------------------------------------------------------------------------------------------
class Tokenizing {
 public:
  explicit Tokenizing(std::string_view text) : text_(text) {}

  std::vector<Token> tokens() {
    while (at_ < text_.size()) next();
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : ' '; }

  void next() {
    const char c = text_[at_];
    if (is_quote(c)) return quoted(c);
    if (begins_number()) return number();
    if (is_name_letter(c)) return word();
    if (std::string_view(",<>=()&!").find(c) != std::string_view::npos && !(c == '!' && peek(1) != '=')) return sign();
    if ((c == '.' || c == '?' || c == '!' || c == ';') && !tokens_.empty()) tokens_.back().ends_sentence = true;
    ++at_;
  }

  // Also "-5" and ".5", but not the end of "2019-2020" or of "7.".
  bool begins_number() const {
    if (is_name_digit(peek(0))) return true;
    const bool is_open = at_ == 0 || std::string_view(" \t\n,<>=(").find(text_[at_ - 1]) != std::string_view::npos;
    const bool is_after_number =
        !tokens_.empty() && (tokens_.back().kind == TokenKind::number || tokens_.back().kind == TokenKind::date);
    if (!is_open || (peek(0) == '-' && is_after_number && text_[at_ - 1] == ' ')) return false;
    const std::size_t digit = peek(0) == '-' && peek(1) == '.' ? 2 : 1;
    return (peek(0) == '-' || peek(0) == '.') && is_name_digit(peek(digit));
  }

  // An apostrophe inside of a word is none.
  bool is_quote(char c) const {
    if (c == '"' || c == '`') return text_.find(c, at_ + 1) != std::string_view::npos;
    if (c != '\'' || (at_ > 0 && is_name_letter(text_[at_ - 1]))) return false;
    for (std::size_t i = at_ + 1; i < text_.size(); ++i)
      if (text_[i] == '\'' && (i + 1 == text_.size() || !is_name_letter(text_[i + 1]))) return true;
    return false;
  }

  void quoted(char quote) {
    std::size_t end = at_ + 1;
    while (end < text_.size() &&
           !(text_[end] == quote && (quote != '\'' || end + 1 == text_.size() || !is_name_letter(text_[end + 1]))))
      ++end;
    add(text_.substr(at_ + 1, end - at_ - 1), TokenKind::quoted);
    at_ = end + 1;
  }

  void number() {
    const auto is_date_at = [this](std::size_t i) {
      constexpr std::string_view form = "dddd-dd-dd";
      for (std::size_t k = 0; k < form.size(); ++k)
        if (i + k >= text_.size() || (form[k] == 'd' ? !is_name_digit(text_[i + k]) : text_[i + k] != '-'))
          return false;
      return true;
    };
    if (is_date_at(at_)) {
      add(text_.substr(at_, 10), TokenKind::date);
      at_ += 10;
      return;
    }
    std::string digits;
    std::size_t end = at_;
    if (text_[end] == '-') digits += text_[end++];
    for (; end < text_.size(); ++end) {
      const bool has_next = end + 1 < text_.size() && is_name_digit(text_[end + 1]);
      if (is_name_digit(text_[end]) || (text_[end] == '.' && has_next))
        digits += text_[end];
      else if (!(text_[end] == ',' && has_next && end + 3 < text_.size() && is_name_digit(text_[end + 3])))
        break;
    }
    while (end < text_.size() && is_name_letter(text_[end])) digits += text_[end++];  // "1st", "7pm", "5k"
    double value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const std::string_view unit(read.ptr, static_cast<std::size_t>(digits.data() + digits.size() - read.ptr));
    const bool is_ordinal = unit == "st" || unit == "nd" || unit == "rd" || unit == "th";
    const bool is_scale = unit == "k" || unit == "m";
    add(digits, unit.empty() || is_ordinal || is_scale ? TokenKind::number : TokenKind::word);
    tokens_.back().number = unit == "k" ? value * 1'000 : unit == "m" ? value * 1'000'000 : value;
    at_ = end;
  }

  void word() {
    std::size_t end = at_;
    while (end < text_.size() && (is_name_letter(text_[end]) || is_name_digit(text_[end]) || text_[end] == '_')) ++end;
    add(text_.substr(at_, end - at_), TokenKind::word);
    at_ = end;
    if (text_.substr(at_).starts_with("'s") || text_.substr(at_).starts_with("’s")) at_ += text_[at_] == '\'' ? 2 : 4;
  }

  void sign() {
    const bool is_two = (text_[at_] == '<' || text_[at_] == '>' || text_[at_] == '!') && peek(1) == '=';
    add(text_.substr(at_, is_two ? 2 : 1), TokenKind::sign);
    at_ += is_two ? 2 : 1;
  }

  void add(std::string_view text, TokenKind kind) {
    Token token;
    token.text = text;
    token.begin = at_;
    token.end = at_ + text.size() + (kind == TokenKind::quoted ? 2 : 0);
    token.lower = lowered(text);
    token.kind = kind;
    token.stem = kind == TokenKind::word ? stem_of(token.lower) : token.lower;
    token.is_capital = !text.empty() && std::isupper(static_cast<unsigned char>(text[0])) != 0;
    if (const auto value = kind == TokenKind::word ? number_in_words(token.lower) : std::nullopt) token.number = *value;
    tokens_.push_back(std::move(token));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::string stem_of(std::string_view word) {
  const std::string lower = lowered(word);
  if (const std::string_view base = looked_up(irregular, lower); !base.empty())
    return without_last_e(std::string(base));
  return without_last_e(without_tense(without_number(lower)));
}

std::vector<std::string> name_stems(std::string_view name) {
  std::vector<std::string> stems;
  for (const std::string& part : parts_of(name)) {
    const std::string_view whole = looked_up(abbreviations, part);
    stems.push_back(stem_of(whole.empty() ? std::string_view(part) : whole));
  }
  return stems;
}

double likeness(const std::string& stem, const std::string& other) {
  if (stem == other) return 1;
  if (are_synonyms(stem, other)) return 0.75;
  const std::size_t shorter = std::min(stem.size(), other.size());
  const auto [a, b] = std::mismatch(stem.begin(), stem.begin() + static_cast<std::ptrdiff_t>(shorter), other.begin());
  const auto common = static_cast<std::size_t>(a - stem.begin());
  if (common == shorter && shorter >= 4) return 0.7;
  if (common >= 5 && common * 10 >= shorter * 7) return 0.6;
  return 0;
}

std::optional<double> number_in_words(std::string_view lower) {
  constexpr std::array<std::string_view, 21> small = {
      "zero",     "one",     "two",     "three",     "four",     "five",     "six",
      "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",   "thirteen",
      "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"};
  if (const auto at = std::find(small.begin(), small.end(), lower); at != small.end())
    return static_cast<double>(at - small.begin());
  constexpr std::array<Pair, 4> ordinals = {{{"first", "1"}, {"second", "2"}, {"third", "3"}, {"fourth", "4"}}};
  if (const std::string_view digit = looked_up(ordinals, lower); !digit.empty()) return digit[0] - '0';
  if (lower == "hundred") return 100;
  if (lower == "thousand") return 1'000;
  if (lower == "million") return 1'000'000;
  if (lower == "billion") return 1'000'000'000;
  return std::nullopt;
}

bool is_ordinal(const Token& token) {
  constexpr std::array<std::string_view, 4> in_words = {"first", "second", "third", "fourth"};
  if (std::find(in_words.begin(), in_words.end(), token.lower) != in_words.end()) return true;
  constexpr std::array<std::string_view, 4> endings = {"st", "nd", "rd", "th"};
  return token.kind == TokenKind::number && std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) {
           return token.lower.ends_with(ending);
         });
}

int month_of(std::string_view lower) {
  constexpr std::array<std::string_view, 12> months = {"january",   "february", "march",    "april",
                                                       "may",       "june",     "july",     "august",
                                                       "september", "october",  "november", "december"};
  for (std::size_t i = 0; i < months.size(); ++i)
    if (lower == months[i] || (lower.size() == 3 && months[i].starts_with(lower))) return static_cast<int>(i) + 1;
  return 0;
}

std::vector<Token> tokens_of(std::string_view question) { return Tokenizing(question).tokens(); }

}  // namespace cairn
