#include "storage/postgres/bounded_query.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>

#include "storage/clock.hpp"
#include "storage/postgres/connection.hpp"

namespace cairn {
namespace {

constexpr std::int64_t grace_ms = 2'000;  // more than the server's own limit, in case it does not answer at all

// The first line of an error report, without its "ERROR:  ".
std::string first_line(std::string_view report) {
  std::string text(report.substr(0, report.find('\n')));
  if (text.starts_with("ERROR:  ")) text.erase(0, 8);
  return text.empty() ? "the connection was lost" : text;
}

// The suggestion of the server, after the error itself: the name that was probably meant, or a cast.
std::string hint_in(std::string_view report) {
  const std::size_t at = report.find("HINT:  ");
  if (at == std::string_view::npos) return "";
  const std::string_view hint = report.substr(at + 7);
  return " " + std::string(hint.substr(0, hint.find('\n')));
}

Error refused(const PostgresError& failure) {
  const std::string& sqlstate = failure.sqlstate();
  const std::string sentence =
      "Expected the query to run, but: " + first_line(failure.what()) + hint_in(failure.what());
  const bool is_at_limit = sqlstate == "57014" || sqlstate == "53200" || sqlstate == "53400";  // time, memory, files
  if (is_at_limit) return {Code::limit, sentence};
  const bool is_forbidden = sqlstate == "42501" || sqlstate == "25006";  // no right to it, or it would write
  if (is_forbidden) return {Code::closed, sentence};
  return {failure.is_transient() ? Code::unavailable : Code::invalid, sentence};
}

// "a,b" as `"a","b"`. The schemas have plain names.
std::string search_path(const std::string& schemas) {
  std::string path = "\"";
  for (const char c : schemas) path += c == ',' ? std::string("\",\"") : std::string(1, c);
  return path + "\"";
}

// --- one connection for one query ------------------------------------------------------------------------------------
class Reader {
 public:
  static Result<Reader> connect(const BoundedQuery& query, const QueryLimits& limits) {
    const std::int64_t deadline_us = steady_us() + (limits.timeout_ms + grace_ms) * 1'000;
    const std::string timeout = std::to_string(limits.timeout_ms);
    const std::string settings =
        "-c default_transaction_read_only=on -c statement_timeout=" + timeout + " -c lock_timeout=" + timeout +
        " -c max_parallel_workers_per_gather=0 -c work_mem=16MB -c hash_mem_multiplier=1 -c jit=off"
        " -c client_connection_check_interval=1s -c search_path=" +
        search_path(query.schema);
    PgConnectOptions options{.dsn = query.dsn};
    options.overrides = {{"options", settings}, {"application_name", "cairn data"}, {"connect_timeout", "5"}};
    if (!query.login.empty()) options.overrides.emplace_back("user", query.login);
    try {
      return Reader(std::make_unique<PgConnection>(options), timeout, deadline_us);
    } catch (const PostgresError& failure) {
      return Error{Code::unavailable, "Expected to reach the data, but: " + first_line(failure.what())};
    }
  }

  Result<PgResult> run(const std::string& text) {
    return answered([&] { return connection_->ask(text, deadline_us_); });
  }
  // The query may have changed the settings of its session: the server's limit of time is set again.
  Result<PgResult> run_timed(const std::string& text) {
    if (Result<PgResult> set = run("set statement_timeout = " + timeout_); !set) return set;
    return run(text);
  }
  // The same within what is left of the time for all.
  Result<PgResult> run_in_time(const std::string& text) {
    const std::int64_t left_ms = (deadline_us_ - steady_us()) / 1'000 - grace_ms;
    if (left_ms <= 0) return Error{Code::limit, "Expected the query to end in time, but it did not."};
    timeout_ = std::to_string(left_ms);
    return run_timed(text);
  }
  Result<PgResult> describe(const std::string& text) {
    return answered([&] { return connection_->describe(text, deadline_us_); });
  }

 private:
  Reader(std::unique_ptr<PgConnection> connection, std::string timeout, std::int64_t deadline_us)
      : connection_(std::move(connection)), timeout_(std::move(timeout)), deadline_us_(deadline_us) {}

  template <class Ask>
  Result<PgResult> answered(Ask&& ask) {
    try {
      std::optional<PgResult> rows = ask();
      if (rows) return *std::move(rows);
      return Error{Code::limit, "Expected the query to end in time, but it did not."};
    } catch (const PostgresError& failure) {
      return refused(failure);
    }
  }

  std::unique_ptr<PgConnection> connection_;
  std::string timeout_;  // in milliseconds
  std::int64_t deadline_us_;
};

// --- values ----------------------------------------------------------------------------------------------------------
// The word for a type that the server knows by number.
std::string type_word(std::uint32_t type) {
  switch (type) {
    case 16:
      return "boolean";
    case 20:
    case 21:
    case 23:
    case 700:
    case 701:
    case 1700:
      return "number";
    case 1082:
    case 1114:
    case 1184:
      return "date";
    default:
      return "text";
  }
}

template <class Number>
std::optional<Json> read_number(std::string_view text) {
  Number value{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = read.ec == std::errc{} && read.ptr == text.data() + text.size();
  if (!is_whole || !std::isfinite(static_cast<double>(value))) return std::nullopt;
  return Json(value);
}

Json value_of(const PgResult& rows, int row, int column, const std::string& type, std::int64_t chars_max) {
  if (rows.is_null(row, column)) return nullptr;
  std::string text(rows.text(row, column));
  if (type == "boolean") return text == "true";
  if (type == "number") {
    if (const auto whole = read_number<std::int64_t>(text)) return *whole;
    if (const auto real = read_number<double>(text)) return *real;
  }
  const auto letters = std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
  if (letters > chars_max) {
    while ((text.back() & 0xC0) == 0x80) text.pop_back();
    text.pop_back();
    text += "…";
  }
  return text;
}

// Without a semicolon at the end, which would end the statement that cursor_over() builds around the query.
std::string without_end(std::string text) {
  while (!text.empty() && (std::isspace(static_cast<unsigned char>(text.back())) != 0 || text.back() == ';'))
    text.pop_back();
  return text;
}

// The query as a cursor of which every value is a text of bounded length. The line feeds around the query keep a
// comment at its end from reaching what follows.
std::string cursor_over(const std::string& text, std::size_t columns, const QueryLimits& limits) {
  std::string values;
  std::string names;
  for (std::size_t i = 1; i <= columns; ++i) {
    const std::string name = "c" + std::to_string(i);
    values += (i == 1 ? "" : ", ") + ("left(q." + name) + "::text, " + std::to_string(limits.value_chars + 1) + ")";
    names += (i == 1 ? "" : ", ") + name;
  }
  return "declare page no scroll cursor for select " + values + " from (\n" + text + "\n) as q(" + names + ")";
}

Result<std::vector<QueryColumn>> columns_of(const PgResult& described, const QueryLimits& limits) {
  const int count = described.columns();
  if (count == 0) return Error{Code::invalid, "Expected a query that gives rows, but this one gives none."};
  if (count > limits.columns)
    return Error{Code::limit, "Expected at most " + std::to_string(limits.columns) + " columns, but there are " +
                                  std::to_string(count) + "."};
  std::vector<QueryColumn> columns;
  for (int i = 0; i < count; ++i)
    columns.push_back({std::string(described.column_name(i)), type_word(described.column_type(i))});
  return columns;
}

Status check_login(Reader& reader) {
  const Result<PgResult> is_unbound = reader.run(statement("login_is_unbound").text);
  if (!is_unbound) return is_unbound.error();
  if (is_unbound->text(0, 0) != "f")
    return Error{Code::closed, "Expected a login for the data that may only read, but this one may do anything."};
  const Result<PgResult> owns_data = reader.run(statement("login_owns_data").text);
  if (!owns_data) return owns_data.error();
  if (owns_data->text(0, 0) != "f")
    return Error{Code::closed, "Expected a login for the data that may only read, but this one owns some of them."};
  const Result<PgResult> sees_cairn = reader.run(statement("login_sees_cairn").text);
  if (!sees_cairn) return sees_cairn.error();
  if (sees_cairn->text(0, 0) == "f") return Done{};
  return Error{Code::closed,
               "Expected a login for the data that owns nothing of Cairn and cannot see its tables, but this one can."};
}

void add_rows(const PgResult& rows, int count, const QueryLimits& limits, QueryRows& found) {
  for (int row = 0; row < count; ++row) {
    Json& values = found.rows.emplace_back(Json::array());
    for (std::size_t column = 0; column < found.columns.size(); ++column)
      values.push_back(value_of(rows, row, static_cast<int>(column), found.columns[column].type, limits.value_chars));
  }
}

Result<QueryRows> fetched(Reader& reader, QueryRows found, const QueryLimits& limits) {
  const Result<PgResult> rows = reader.run_timed("fetch forward " + std::to_string(limits.rows + 1) + " from page");
  if (!rows) return rows.error();
  found.more = rows->rows() > limits.rows;
  add_rows(*rows, static_cast<int>(std::min<std::int64_t>(rows->rows(), limits.rows)), limits, found);
  return found;
}

QueryRows cut_by_time(QueryRows found) {
  found.more = found.out_of_time = true;
  return found;
}

// A few rows at a time, so that those that have come are kept. One more than wanted says whether there are more.
Result<QueryRows> fetched_in_time(Reader& reader, QueryRows found, const QueryLimits& limits) {
  std::int64_t step = 1;
  for (std::int64_t left = limits.rows + 1; left > 0; step *= 2) {
    const std::int64_t wanted = std::min(step, left);
    const Result<PgResult> rows = reader.run_in_time("fetch forward " + std::to_string(wanted) + " from page");
    if (!rows && rows.error().code == Code::limit) return cut_by_time(std::move(found));
    if (!rows) return rows.error();
    left -= rows->rows();
    found.more = left <= 0;
    add_rows(*rows, rows->rows() - (found.more ? 1 : 0), limits, found);
    if (rows->rows() < wanted) break;
  }
  return found;
}

bool is_plain_name(std::string_view name) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), fits);
}

bool are_plain_names(std::string_view names) {
  const std::size_t comma = names.find(',');
  if (comma == std::string_view::npos) return is_plain_name(names);
  return is_plain_name(names.substr(0, comma)) && are_plain_names(names.substr(comma + 1));
}

}  // namespace

Result<QueryRows> run_bounded(const BoundedQuery& query, const QueryLimits& limits) {
  if (!are_plain_names(query.schema))
    return Error{Code::invalid,
                 "Expected the schema of the data to have a plain name, but it is \"" + query.schema + "\"."};
  const std::string text = without_end(query.text);
  if (text.find('\0') != std::string::npos) return Error{Code::invalid, "Expected a query, but it has a zero byte."};
  Result<Reader> reader = Reader::connect(query, limits);
  if (!reader) return reader.error();
  if (const Status login = check_login(*reader); !login) return login.error();
  if (const auto begun = reader->run("begin transaction read only"); !begun) return begun.error();
  const Result<PgResult> described = reader->describe(text);
  if (!described) return described.error();
  Result<std::vector<QueryColumn>> columns = columns_of(*described, limits);
  if (!columns) return columns.error();
  const auto declared = reader->run_timed(cursor_over(text, columns->size(), limits));
  if (!declared) return declared.error();
  QueryRows none{*std::move(columns), Json::array()};
  if (query.skip > 0) {
    const auto skipped = reader->run_timed("move forward " + std::to_string(query.skip) + " from page");
    if (!skipped && limits.partial && skipped.error().code == Code::limit) return cut_by_time(std::move(none));
    if (!skipped) return skipped.error();
  }
  return limits.partial ? fetched_in_time(*reader, std::move(none), limits) : fetched(*reader, std::move(none), limits);
}

std::string quoted_name(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string quoted_table(const std::string& table) {
  const std::size_t point = table.find('.');
  if (point == std::string::npos) return quoted_name(table);
  return quoted_name(table.substr(0, point)) + "." + quoted_name(table.substr(point + 1));
}

std::string quoted_text(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace cairn
