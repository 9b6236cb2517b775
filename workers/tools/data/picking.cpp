#include "workers/tools/data/picking.hpp"

#include <algorithm>

namespace cairn {
namespace {

constexpr double table_score_min = 0.55;
constexpr double close = 0.08;      // between rivals: shown as a doubt
constexpr double sure_score = 0.8;  // below: shown as a doubt

bool are_linked(const DataSchema& schema, std::size_t a, std::size_t b) {
  return std::any_of(schema.links().begin(), schema.links().end(), [&](const SchemaLink& link) {
    return std::any_of(link.columns.begin(), link.columns.end(), [&](const auto& pair) {
      return (pair.first == a && pair.second == b) || (pair.first == b && pair.second == a);
    });
  });
}

}  // namespace

Picker::Picker(const DataSchema& schema, const std::vector<Token>& tokens, const std::vector<Mention>& mentions)
    : schema_(schema), tokens_(tokens), weights_(table_weights(mentions, schema)) {
  for (const Mention& mention : mentions)
    if (const auto named = table(mention)) anchors_.insert(*named);
  const double most = weights_.empty() ? 0 : *std::max_element(weights_.begin(), weights_.end());
  if (most > 0)
    for (double& weight : weights_) weight /= most;
}

std::optional<std::size_t> Picker::table(const Mention& mention) const {
  const std::optional<std::size_t> any = any_table(mention);
  if (!any) return std::nullopt;
  for (const Candidate& candidate : mention.candidates) {
    if (candidate.kind == MentionKind::table) return candidate.score >= table_score_min ? any : std::nullopt;
    // A column of the same name as its table stands behind the table.
    if (candidate.score > mention.candidates.front().score - 0.01 && candidate.kind == MentionKind::column) continue;
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::size_t> Picker::any_table(const Mention& mention) const {
  const Candidate* best = nullptr;
  double most = 0;
  for (const Candidate& candidate : mention.candidates) {
    if (candidate.kind != MentionKind::table) continue;
    const bool is_empty = schema_.tables()[candidate.table].rows == 0;
    const double score = candidate.score - (is_empty ? 0.1 : 0) - (schema_.is_bridge(candidate.table) ? 0.02 : 0);
    if (best != nullptr && score <= most) continue;
    best = &candidate;
    most = score;
  }
  return best == nullptr ? std::nullopt : std::optional(best->table);
}

double Picker::weight(const Candidate& candidate, const std::set<std::size_t>& scope) const {
  double weight = candidate.score;
  if (scope.contains(candidate.table)) weight += 0.4;
  if (!weights_.empty()) weight += 0.25 * weights_[candidate.table];
  if (schema_.tables()[candidate.table].rows == 0) weight -= 0.1;
  // A column that others refer to, rather than one that refers.
  if (candidate.kind != MentionKind::table && schema_.is_reference(candidate.column)) weight -= 0.05;
  return weight;
}

const Candidate* Picker::best(const Mention& mention, const std::set<std::size_t>& scope,
                              const std::function<bool(const Candidate&)>& fits, bool tells) {
  const Candidate* first = nullptr;
  const Candidate* second = nullptr;
  for (const Candidate& candidate : mention.candidates) {
    if (!fits(candidate)) continue;
    if (first == nullptr || weight(candidate, scope) > weight(*first, scope)) {
      second = first;
      first = &candidate;
    } else if (second == nullptr || weight(candidate, scope) > weight(*second, scope)) {
      second = &candidate;
    }
  }
  if (first == nullptr || !tells) return first;
  const auto name = [this](const Candidate& one) {
    return schema_.table_of(one.column).name + "." + schema_.columns()[one.column].name;
  };
  if (first->score < sure_score) doubts_.push_back("\"" + text(mention) + "\" was taken for " + name(*first) + ".");
  const bool is_close = second != nullptr && weight(*first, scope) - weight(*second, scope) < close;
  if (is_close && !are_linked(schema_, first->column, second->column))
    doubts_.push_back("\"" + text(mention) + "\" was taken for " + name(*first) + ", but may be " + name(*second) +
                      ".");
  return first;
}

std::optional<std::size_t> Picker::column(const Mention& mention, const std::set<std::size_t>& scope,
                                          const Fits& fits) {
  const Candidate* found = best(
      mention, scope,
      [&](const Candidate& candidate) {
        return candidate.kind == MentionKind::column && (!fits || fits(schema_.columns()[candidate.column]));
      },
      true);
  return found == nullptr ? std::nullopt : std::optional(found->column);
}

const Candidate* Picker::value(const Mention& mention, const std::set<std::size_t>& scope) {
  return best(
      mention, scope, [](const Candidate& candidate) { return candidate.kind == MentionKind::value; }, true);
}

bool Picker::is_value(const Mention& mention) const {
  return !mention.candidates.empty() && mention.candidates.front().kind == MentionKind::value;
}

std::string Picker::text(const Mention& mention) const {
  std::string text;
  for (std::size_t i = mention.first; i <= mention.last; ++i) text += (text.empty() ? "" : " ") + tokens_[i].text;
  return text;
}

}  // namespace cairn
