// A statement over rows, which it takes as one array for each column, in its form for a single row: its unnest(...) is
// a VALUES of scalars there. The server spends less than half the time on it, and a step's commit is mostly such rows.
// Constant data: safe from any thread.
#pragma once

#include <optional>
#include <string_view>

#include "storage/postgres/connection.hpp"

namespace cairn {

// CHECKs that there is such a statement and that it takes rows.
const PgStatement& statement_of_one(std::string_view name);

// A column, or a number that is no column.
bool fits_one_row(const PgArray& column);
bool fits_one_row(std::optional<std::int64_t> number);
void add_to(PgParameters& parameters, const PgArray& column, bool is_one_row);
void add_to(PgParameters& parameters, std::optional<std::int64_t> number, bool is_one_row);

// Sends a statement that takes rows: `parameters`, then the columns and numbers.
template <class... Columns>
void send_rows(PgConnection& connection, std::string_view name, PgParameters parameters, const Columns&... columns) {
  const bool is_one = (fits_one_row(columns) && ...);
  (add_to(parameters, columns, is_one), ...);
  connection.send(is_one ? statement_of_one(name) : statement(name), parameters);
}

}  // namespace cairn
