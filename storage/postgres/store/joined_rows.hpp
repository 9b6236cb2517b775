// Rows that several placements gave, as one database would have given them. Pure functions, safe from any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "storage/postgres/connection.hpp"

namespace cairn {

// The first `limit` rows of all placements, each of which gave its own first ones in this order.
template <class Read, class Before>
auto joined(const std::vector<PgResult>& parts, const Read& read, const Before& before, std::int32_t limit) {
  auto rows = read(parts.front());
  if (parts.size() == 1) return rows;
  for (std::size_t part = 1; part < parts.size(); ++part) {
    auto more = read(parts[part]);
    rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  std::stable_sort(rows.begin(), rows.end(), before);
  const auto size_max = static_cast<std::size_t>(std::max(limit, 0));
  if (rows.size() > size_max) rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(size_max), rows.end());
  return rows;
}

}  // namespace cairn
