// A connection for work that no step waits for: migrations, the embedded cluster's and the benchmark's databases, an
// operator's questions. Over libpqxx, with values as text; PgConnection (connection.hpp) is for everything else. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// Rows of text. Getters REQUIRE a value that is not null; number() REQUIRES a number.
class AdminRows {
 public:
  using Row = std::vector<std::optional<std::string>>;
  AdminRows(std::vector<Row> rows, std::vector<std::string> columns)
      : rows_(std::move(rows)), columns_(std::move(columns)) {}

  std::size_t size() const { return rows_.size(); }
  // CHECKs that these are the columns. "" stands for an expression, which has no name of its own.
  void expect_columns(std::initializer_list<std::string_view> names) const;
  bool is_null(std::size_t row, std::size_t column) const { return !rows_[row][column]; }
  const std::string& text(std::size_t row, std::size_t column) const;
  std::int64_t number(std::size_t row, std::size_t column) const;
  bool boolean(std::size_t row, std::size_t column) const { return text(row, column) == "t"; }

 private:
  std::vector<Row> rows_;
  std::vector<std::string> columns_;
};

// How long a statement may take: then the connection is cut. `no_limit` is for migrations and loads, which take as long
// as there is data; a network that is cut ends them all the same (with_network_limits() in dsn.hpp). The first
// statement of a connection, which the server answers at once, always has a short limit.
inline constexpr std::int64_t no_limit = 0;
inline constexpr std::int64_t statement_limit_ms = 60'000;
inline constexpr std::int64_t opening_limit_ms = 10'000;

// Throws PostgresError, as PgConnection does.
class Administration {
 public:
  // `dsn`: libpq connection string or URL; "" takes libpq's variables.
  Administration(const std::string& dsn, const std::string& application, std::int64_t limit_ms = statement_limit_ms);
  ~Administration();
  Administration(const Administration&) = delete;
  Administration& operator=(const Administration&) = delete;

  // A statement of schema/statements by its name; inside the transaction if one is open.
  AdminRows query(std::string_view statement, const std::vector<std::string>& parameters = {});
  // Statements as text, without parameters: migrations, CREATE DATABASE, CHECKPOINT.
  void execute(const std::string& text);
  // Every row of a table, as COPY writes it in text form.
  void copy_out(const std::string& table, const std::function<void(const std::string& row)>& use);

  // The server's process of this connection, as it was said when it was made: a pooler says a number of its own.
  int backend() const;

  // Begins a transaction; without commit() nothing of it stays.
  void begin();
  void commit();
  void roll_back();
  // Lets go of the snapshot that the last query() keeps inside a transaction, so that no vacuum and no building of an
  // index waits for it; the transaction's locks stay.
  void let_go_of_snapshot();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
