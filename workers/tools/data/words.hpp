// Words of questions and of names: tokens, stems, abbreviations and synonyms of everyday English. Pure functions, safe
// from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

enum class TokenKind { word, number, date, quoted, sign };

struct Token {
  std::string text;  // as it was written, without quotes
  std::string lower;
  std::string stem;  // of a word; of anything else its lower text
  TokenKind kind = TokenKind::word;
  double number = 0;  // of a number, or a number in words ("ten")
  bool is_capital = false;
  bool ends_sentence = false;  // a ".", "?" or "!" follows
  std::size_t begin = 0;       // its place in the question
  std::size_t end = 0;
};

// Words, numbers ("1,000", "4.5", "-5", "70%"), dates (2023-04-01), texts in quotes as one, and the signs , < > = ( ) &
// of which two side by side are one.
std::vector<Token> tokens_of(std::string_view question);

// Lower case, without the endings of number and tense; irregular forms by their base.
std::string stem_of(std::string_view word);

// The stems of a name's parts: "sbCustJoinDate" gives sb, customer, join, dat. Common abbreviations are written out.
std::vector<std::string> name_stems(std::string_view name);

// How well one stem stands for another: 1 the same, less for a synonym or a word of the same beginning, 0 not at all.
double likeness(const std::string& stem, const std::string& other);

// "ten", "two", "hundred": their value.
std::optional<double> number_in_words(std::string_view lower);

// "second", "2nd": a place, not so many.
bool is_ordinal(const Token& token);

// 1 to 12 for "march" and "mar"; 0.
int month_of(std::string_view lower);

}  // namespace cairn
