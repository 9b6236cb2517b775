// The choice among the candidates of a mention: by its score, by the tables that the question speaks of, and by what
// stands next to it. Keeps the choices that were close, as doubts. Not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "workers/tools/data/mentions.hpp"

namespace cairn {

class Picker {
 public:
  // REQUIRES: all outlive it.
  Picker(const DataSchema& schema, const std::vector<Token>& tokens, const std::vector<Mention>& mentions);

  using Fits = std::function<bool(const SchemaColumn&)>;

  // The table that it names; nothing if it names none better than a column or value.
  std::optional<std::size_t> table(const Mention& mention) const;
  // Its best table, whatever else it may be.
  std::optional<std::size_t> any_table(const Mention& mention) const;
  // The best column that fits, those of `scope` first.
  std::optional<std::size_t> column(const Mention& mention, const std::set<std::size_t>& scope, const Fits& fits = {});
  const Candidate* value(const Mention& mention, const std::set<std::size_t>& scope);
  bool is_value(const Mention& mention) const;

  // The tables that the question names.
  const std::set<std::size_t>& anchors() const { return anchors_; }
  std::vector<std::string> take_doubts() { return std::move(doubts_); }
  std::string text(const Mention& mention) const;
  // Keeps as a doubt that its table was not named in full, with another one that it may be.
  void doubt_table(const Mention& mention);
  // The names of what it may be just as well, the choice first; none if nothing equals the choice.
  std::vector<std::string> rivals(const Mention& mention) const;

 private:
  double table_score(const Candidate& candidate) const;
  double size_weight(std::size_t table) const;
  std::string name_of(const Candidate& candidate) const;
  double weight(const Candidate& candidate, const std::set<std::size_t>& scope) const;
  const Candidate* best(const Mention& mention, const std::set<std::size_t>& scope,
                        const std::function<bool(const Candidate&)>& fits, bool notes_doubts);

  const DataSchema& schema_;
  const std::vector<Token>& tokens_;
  std::vector<double> weights_;
  std::vector<int> links_;  // of each table, from it and to it
  std::set<std::size_t> anchors_;
  std::vector<std::string> doubts_;
};

}  // namespace cairn
