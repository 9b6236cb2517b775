// The parts of a question that grammar reads from: its words without articles, each a mention of the data, a number, a
// date, a text in quotes, a sign or a word of the language; and which of them have been read. Not thread-safe.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workers/tools/data/mentions.hpp"

namespace cairn {

struct Clause {
  const Token* token = nullptr;
  const Mention* mention = nullptr;  // then `token` is its first
  std::size_t sentence = 0;
  bool is_used = false;
};

class Clauses {
 public:
  // REQUIRES: both outlive it.
  Clauses(const std::vector<Token>& tokens, const std::vector<Mention>& mentions);

  std::size_t size() const { return parts_.size(); }
  const Clause& operator[](std::size_t i) const { return parts_[i]; }
  // The word there, in lower case; "" at a mention and beyond the ends.
  std::string_view word(std::size_t i) const;
  bool is(std::size_t i, std::initializer_list<std::string_view> words) const;
  // A mention that was not read yet; null.
  const Mention* mention(std::size_t i) const;
  std::optional<double> number(std::size_t i) const;  // "ten thousand" from its first word on, as number_length() words
  std::size_t number_length(std::size_t i) const;
  bool is_open(std::size_t i) const { return i < size() && !parts_[i].is_used; }
  void use(std::size_t i) { use(i, i); }
  void use(std::size_t first, std::size_t last);
  // The first part of the sentence after that of `i`.
  std::size_t sentence_end(std::size_t i) const;

 private:
  std::vector<Clause> parts_;
};

}  // namespace cairn
