#include "workers/tools/data/clauses.hpp"

#include <algorithm>

namespace cairn {
namespace {

bool is_article(const Token& token) {
  return token.kind == TokenKind::word &&
         (token.lower == "the" || token.lower == "a" || token.lower == "an" || token.lower == "s");
}

}  // namespace

Clauses::Clauses(const std::vector<Token>& tokens, const std::vector<Mention>& mentions) {
  std::size_t sentence = 0;
  auto mention = mentions.begin();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    while (mention != mentions.end() && mention->last < i) ++mention;
    const bool is_mentioned = mention != mentions.end() && mention->first <= i;
    if (is_mentioned && mention->first == i) parts_.push_back({&tokens[i], &*mention, sentence, false});
    if (!is_mentioned && !is_article(tokens[i])) parts_.push_back({&tokens[i], nullptr, sentence, false});
    if (tokens[i].ends_sentence) ++sentence;
  }
}

std::string_view Clauses::word(std::size_t i) const {
  if (i >= size() || parts_[i].mention != nullptr || parts_[i].token->kind == TokenKind::quoted) return "";
  return parts_[i].token->lower;
}

bool Clauses::is(std::size_t i, std::initializer_list<std::string_view> words) const {
  const std::string_view at = word(i);
  return !at.empty() && std::find(words.begin(), words.end(), at) != words.end();
}

const Mention* Clauses::mention(std::size_t i) const { return is_open(i) ? parts_[i].mention : nullptr; }

std::optional<double> Clauses::number(std::size_t i) const {
  if (i >= size() || parts_[i].mention != nullptr) return std::nullopt;
  const Token& token = *parts_[i].token;
  if (token.kind == TokenKind::number || (token.kind == TokenKind::word && number_in_words(token.lower))) {
    double value = token.number;
    for (std::size_t k = 1; k < number_length(i); ++k) value *= parts_[i + k].token->number;
    return value;
  }
  return std::nullopt;
}

std::size_t Clauses::number_length(std::size_t i) const {
  std::size_t length = 1;
  while (is(i + length, {"hundred", "thousand", "million", "billion"})) ++length;
  return length;
}

void Clauses::use(std::size_t first, std::size_t last) {
  for (std::size_t i = first; i <= last && i < size(); ++i) parts_[i].is_used = true;
}

std::size_t Clauses::sentence_end(std::size_t i) const {
  std::size_t end = i;
  while (end < size() && parts_[end].sentence == parts_[i].sentence) ++end;
  return end;
}

}  // namespace cairn
