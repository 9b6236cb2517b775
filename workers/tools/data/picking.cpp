#include "workers/tools/data/picking.hpp"

#include <algorithm>
#include <cmath>

namespace cairn {
namespace {

constexpr double table_score_min = 0.55;
constexpr double close = 0.08;  // between rivals: shown as a doubt
constexpr double close_tables = 0.15;
constexpr double equal = 0.02;      // between rivals: asked back
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
    : schema_(schema), tokens_(tokens), weights_(table_weights(mentions, schema)), links_(schema.tables().size()) {
  for (const SchemaLink& link : schema.links()) {
    if (!link.is_declared) continue;  // one that names give leads to all tables of a name
    ++links_[link.table];
    ++links_[link.to_table];
  }
  const double most = weights_.empty() ? 0 : *std::max_element(weights_.begin(), weights_.end());
  if (most > 0)
    for (double& weight : weights_) weight /= most;
  for (const Mention& mention : mentions)
    if (const auto named = table(mention)) anchors_.insert(*named);
}

std::optional<std::size_t> Picker::table(const Mention& mention) const {
  const std::optional<std::size_t> any = any_table(mention);
  if (!any) return std::nullopt;
  for (const Candidate& candidate : mention.candidates) {
    if (candidate.kind == MentionKind::table) return candidate.score >= table_score_min ? any : std::nullopt;
    // A column of the same name as its table stands after the table.
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
    const double score = table_score(candidate);
    if (best != nullptr && score <= most) continue;
    best = &candidate;
    most = score;
  }
  return best == nullptr ? std::nullopt : std::optional(best->table);
}

// A table with more rows, and more links to others, is rather what is meant than one that is like it by name: a tenfold
// and a link count little, a thousandfold or several links decide.
double Picker::size_weight(std::size_t table) const {
  constexpr double of_rows = 0.05;
  constexpr double of_links = 0.03;
  constexpr double unknown = 3;  // powers of ten: of a view
  const std::int64_t rows = schema_.tables()[table].rows;
  const double power = rows < 0 ? unknown : std::log10(1.0 + static_cast<double>(rows));
  return of_rows * std::min(power / 7, 1.0) + of_links * std::min(links_[table] / 3.0, 1.0);
}

double Picker::table_score(const Candidate& candidate) const {
  const bool is_empty = schema_.tables()[candidate.table].rows == 0;
  return candidate.score - (is_empty ? 0.1 : 0) - (schema_.is_bridge(candidate.table) ? 0.02 : 0) +
         0.03 * weights_[candidate.table] + size_weight(candidate.table);
}

std::string Picker::name_of(const Candidate& candidate) const {
  const std::string& table = schema_.tables()[candidate.table].name;
  return candidate.kind == MentionKind::table ? table : table + "." + schema_.columns()[candidate.column].name;
}

void Picker::doubt_table(const Mention& mention) {
  const std::optional<std::size_t> chosen = any_table(mention);
  double score = 0;
  for (const Candidate& candidate : mention.candidates)
    if (candidate.kind == MentionKind::table && chosen == candidate.table) score = candidate.score;
  const auto rival = std::find_if(mention.candidates.begin(), mention.candidates.end(), [&](const Candidate& other) {
    return other.kind == MentionKind::table && other.table != chosen && !anchors_.contains(other.table) &&
           score - other.score < (score < sure_score ? close_tables : close);
  });
  if (score >= sure_score && rival == mention.candidates.end()) return;
  doubts_.push_back("\"" + text(mention) + "\" was taken for the table " + schema_.tables()[*chosen].name +
                    (rival == mention.candidates.end() ? "" : ", but may be " + name_of(*rival)) + ".");
}

std::vector<std::string> Picker::rivals(const Mention& mention) const {
  if (is_value(mention)) return {};
  const std::optional<std::size_t> named = table(mention);
  const MentionKind kind = named ? MentionKind::table : MentionKind::column;
  const auto score = [&](const Candidate& candidate) {
    return kind == MentionKind::table ? table_score(candidate) : weight(candidate, anchors_);
  };
  std::vector<const Candidate*> all;
  for (const Candidate& candidate : mention.candidates)
    if (candidate.kind == kind) all.push_back(&candidate);
  if (all.empty()) return {};
  std::stable_sort(all.begin(), all.end(), [&](const auto* a, const auto* b) { return score(*a) > score(*b); });
  const Candidate& first = *all.front();
  if (first.score < sure_score || (kind == MentionKind::column && anchors_.contains(first.table))) return {};
  std::vector<std::string> names = {name_of(first)};
  for (std::size_t i = 1; i < all.size() && score(first) - score(*all[i]) < equal; ++i) {
    const bool is_other = all[i]->table != first.table && all[i]->score > first.score - equal &&
                          !are_linked(schema_, all[i]->column, first.column);
    if (is_other) names.push_back(name_of(*all[i]));
  }
  return names.size() > 1 ? names : std::vector<std::string>();
}

double Picker::weight(const Candidate& candidate, const std::set<std::size_t>& scope) const {
  double weight = candidate.score;
  if (scope.contains(candidate.table)) weight += 0.4;
  if (!weights_.empty()) weight += 0.25 * weights_[candidate.table];
  weight += size_weight(candidate.table);
  if (schema_.tables()[candidate.table].rows == 0) weight -= 0.1;
  // A column that others refer to, rather than one that refers.
  if (candidate.kind != MentionKind::table && schema_.is_reference(candidate.column)) weight -= 0.05;
  return weight;
}

const Candidate* Picker::best(const Mention& mention, const std::set<std::size_t>& scope,
                              const std::function<bool(const Candidate&)>& fits, bool notes_doubts) {
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
  if (first == nullptr || !notes_doubts) return first;
  if (first->score < sure_score) doubts_.push_back("\"" + text(mention) + "\" was taken for " + name_of(*first) + ".");
  const bool is_close = second != nullptr && weight(*first, scope) - weight(*second, scope) < close;
  if (is_close && !are_linked(schema_, first->column, second->column))
    doubts_.push_back("\"" + text(mention) + "\" was taken for " + name_of(*first) + ", but may be " +
                      name_of(*second) + ".");
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
