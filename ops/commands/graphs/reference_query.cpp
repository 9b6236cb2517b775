#include "ops/commands/graphs/reference_query.hpp"

#include <algorithm>
#include <cstdio>

namespace cairn {
namespace {

using Cells = std::vector<std::string>;
constexpr std::size_t columns_compared_max = 8;  // in every order

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  char quote = 0;
  for (const char c : text) {
    if (quote == 0 && c == separator) {
      parts.emplace_back();
      continue;
    }
    if (c == '\'' || c == '"') quote = quote == 0 ? c : quote == c ? '\0' : quote;
    parts.back() += c;
  }
  return parts;
}

bool is_blank(const std::string& text) { return text.find_first_not_of(" \t\r\n") == std::string::npos; }

// Each choice of the first braces that are left, put into the text, and from there the next ones.
void expand(const std::string& query, std::vector<std::string>& queries) {
  const std::size_t open = query.find('{');
  const std::size_t close = query.find('}', open);
  if (queries.size() >= reference_queries_max) return;
  if (open == std::string::npos || close == std::string::npos) {
    queries.push_back(query);
    return;
  }
  const std::vector<std::string> columns = split(query.substr(open + 1, close - open - 1), ',');
  for (std::size_t choice = 1; choice < (std::size_t{1} << std::min<std::size_t>(columns.size(), 6)); ++choice) {
    std::string chosen;
    for (std::size_t i = 0; i < columns.size() && i < 6; ++i)
      if ((choice >> i & 1U) != 0) chosen += (chosen.empty() ? "" : ", ") + columns[i];
    std::string made = query;
    made.replace(open, close - open + 1, chosen);
    for (std::size_t same = made.find("{}"); same != std::string::npos; same = made.find("{}"))
      made.replace(same, 2, chosen);
    expand(made, queries);
  }
}

std::string cell_text(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_number()) {
    char text[64];
    std::snprintf(text, sizeof text, "%.6g", value.get<double>());
    return text;
  }
  std::string text = value.is_string() ? value.get<std::string>() : canonical(value);
  const std::string midnight = " 00:00:00";
  for (const std::string& end : {midnight, midnight + "+00"})
    if (text.ends_with(end)) text.resize(text.size() - end.size());
  return text;
}

std::vector<Cells> cells_of(const Json& rows) {
  std::vector<Cells> cells;
  for (const Json& row : rows) {
    Cells& line = cells.emplace_back();
    for (const Json& value : row) line.push_back(cell_text(value));
  }
  return cells;
}

std::vector<Cells> arranged(const std::vector<Cells>& rows, const std::vector<std::size_t>& order) {
  std::vector<Cells> made;
  for (const Cells& row : rows) {
    Cells& line = made.emplace_back();
    for (const std::size_t column : order) line.push_back(row[column]);
  }
  std::sort(made.begin(), made.end());
  return made;
}

}  // namespace

std::vector<std::string> reference_queries(const std::string& reference) {
  std::vector<std::string> queries;
  for (const std::string& query : split(reference, ';'))
    if (!is_blank(query)) expand(query, queries);
  return queries;
}

bool are_equal_rows(const Json& rows, const Json& others) {
  if (rows.size() != others.size()) return false;
  if (rows.empty()) return true;
  const std::size_t columns = rows[0].size();
  if (columns != others[0].size()) return false;
  const std::vector<Cells> wanted_cells = cells_of(others);
  std::vector<std::size_t> order(columns);
  for (std::size_t i = 0; i < columns; ++i) order[i] = i;
  const std::vector<Cells> wanted = arranged(wanted_cells, order);
  const std::vector<Cells> cells = cells_of(rows);
  if (columns > columns_compared_max) return arranged(cells, order) == wanted;
  do {
    if (arranged(cells, order) == wanted) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

}  // namespace cairn
