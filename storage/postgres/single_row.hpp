// The single-row form of statements over rows. Such a statement takes one array for each column and unnests them; in
// its single-row form VALUES of scalars stand in place of the unnest(...). The server spends less than half the time on
// it, and most statements of a step's commit have one row. Constant data: safe from any thread.
#pragma once

#include <optional>
#include <string_view>

#include "storage/postgres/connection.hpp"

namespace cairn {

// The single-row form. CHECKs that the statement exists and takes rows.
const PgStatement& statement_of_one(std::string_view name);

// True if the parameter fits the single-row form: a column of one value, or a number, which is the same in both forms.
bool fits_one_row(const PgArray& column);
bool fits_one_row(std::optional<std::int64_t> number);
void add_to(PgParameters& parameters, const PgArray& column, bool is_one_row);
void add_to(PgParameters& parameters, std::optional<std::int64_t> number, bool is_one_row);

// Sends a statement that takes rows, in the form that fits: `parameters` first, then the columns and numbers.
template <class... Columns>
void send_rows(PgConnection& connection, std::string_view name, PgParameters parameters, const Columns&... columns) {
  const bool is_one = (fits_one_row(columns) && ...);
  (add_to(parameters, columns, is_one), ...);
  connection.send(is_one ? statement_of_one(name) : statement(name), parameters);
}

}  // namespace cairn
