// A statement over rows, which it takes as one array for each column, in its form for a single row: its unnest(...) is
// a VALUES of scalars there. The server spends less than half the time on it, and a step's commit is mostly such rows.
// Constant data: safe from any thread.
#pragma once

#include <optional>
#include <string_view>

#include "storage/postgres_connection.hpp"

namespace cairn {

// CHECKs that there is such a statement and that it takes rows.
const PgStatement& statement_of_one(std::string_view name);

// Sends a statement that takes rows: `parameters`, then the columns; what is no array stands as it is.
template <class... Columns>
void send_rows(PgConnection& connection, std::string_view name, PgParameters parameters, const Columns&... columns) {
  struct {
    bool operator()(const PgArray& column) const { return column.size() == 1; }
    bool operator()(std::optional<std::int64_t>) const { return true; }
  } constexpr fits_one_row;
  const bool is_one = (fits_one_row(columns) && ...);
  struct {
    PgParameters& parameters;
    bool is_one;
    void operator()(const PgArray& column) const { is_one ? parameters.add_only(column) : parameters.add(column); }
    void operator()(std::optional<std::int64_t> value) const {
      value ? parameters.add(*value) : parameters.add_null(PgType::int8);
    }
  } const add{parameters, is_one};
  (add(columns), ...);
  connection.send(is_one ? statement_of_one(name) : statement(name), parameters);
}

}  // namespace cairn
