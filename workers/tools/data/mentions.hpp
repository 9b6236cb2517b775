// A question's words linked to a data set: spans of words, and the tables, columns and values that each may mean, best
// first. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "storage/data/dataset_values.hpp"
#include "workers/tools/data/schema.hpp"
#include "workers/tools/data/words.hpp"

namespace cairn {

enum class MentionKind { table, column, value };

struct Candidate {
  MentionKind kind = MentionKind::table;
  std::size_t table = 0;
  std::size_t column = 0;  // of a column or value
  std::string value;
  bool is_equal = true;  // the value, not a part of it
  bool has_variants = false;
  double score = 0;  // 1: the same name
};

struct Mention {
  std::size_t first = 0;  // tokens
  std::size_t last = 0;
  std::vector<Candidate> candidates;  // by score
  double score() const { return candidates.empty() ? 0 : candidates.front().score; }
};

// Words of the language, not of the data: "which", "each", "have".
bool is_grammar(const Token& token);

// In the order of the words; no two overlap.
std::vector<Mention> find_mentions(const std::vector<Token>& tokens, const DataSchema& schema,
                                   const std::vector<DataValue>& values);

// The spans of a question that may be values, to look for in the data; `is_name`: written as one, with capitals or in
// quotes.
struct ValuePhrase {
  std::size_t first = 0;
  std::size_t last = 0;
  std::string text;
  bool is_name = false;
};
std::vector<ValuePhrase> value_phrases(const std::string& question, const std::vector<Token>& tokens);

// How much a question speaks of each table, by the mentions' scores, a name of many tables less than one of few.
std::vector<double> table_weights(const std::vector<Mention>& mentions, const DataSchema& schema);

}  // namespace cairn
