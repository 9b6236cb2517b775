#include "storage/postgres/bounded_query.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <libpq-fe.h>
#include <memory>
#include <optional>
#include <poll.h>

#include "storage/postgres/connection.hpp"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t grace_ms = 2'000;  // beyond the server's own limit, for a server that does not answer at all

struct Disconnect {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
struct Clear {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Rows = std::unique_ptr<PGresult, Clear>;

// The first line of what the server says, without its "ERROR:  ".
std::string first_line(const char* said) {
  std::string text = said == nullptr ? "" : said;
  text = text.substr(0, text.find('\n'));
  if (text.starts_with("ERROR:  ")) text.erase(0, 8);
  return text.empty() ? "the connection was lost" : text;
}

Error refused(const std::string& sqlstate, const std::string& says) {
  const std::string sentence = "Expected the query to run, but: " + says;
  if (sqlstate == "57014") return {Code::limit, sentence};
  const bool is_forbidden = sqlstate == "42501" || sqlstate == "25006";  // by right, or for it would write
  if (is_forbidden) return {Code::closed, sentence};
  if (sqlstate.empty() || PostgresError(sqlstate, says).is_transient()) return {Code::unavailable, sentence};
  return {Code::invalid, sentence};
}

// --- one connection for one query ------------------------------------------------------------------------------------
class Reader {
 public:
  Reader(const BoundedQuery& query, const QueryLimits& limits)
      : deadline_(Clock::now() + std::chrono::milliseconds(limits.timeout_ms + grace_ms)) {
    const std::string timeout = std::to_string(limits.timeout_ms);
    const std::string settings = "-c default_transaction_read_only=on -c statement_timeout=" + timeout +
                                 " -c lock_timeout=" + timeout +
                                 " -c max_parallel_workers_per_gather=0 -c search_path=\"" + query.schema + "\"";
    const char* const login = query.login.empty() ? nullptr : query.login.c_str();
    const char* const keys[] = {"dbname",
                                "options",
                                "application_name",
                                "client_encoding",
                                "connect_timeout",
                                login == nullptr ? nullptr : "user",
                                nullptr};
    const char* const values[] = {query.dsn.c_str(), settings.c_str(), "cairn data", "UTF8", "5", login, nullptr};
    connection_.reset(PQconnectdbParams(keys, values, 1));
  }

  std::optional<Error> not_connected() const {
    if (PQstatus(connection_.get()) == CONNECTION_OK) return std::nullopt;
    return Error{Code::unavailable,
                 "Expected to reach the data, but: " + first_line(PQerrorMessage(connection_.get()))};
  }

  // One statement, of which the server takes no second one.
  Result<Rows> run(const std::string& text) {
    const int sent = PQsendQueryParams(connection_.get(), text.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0);
    return sent == 1 ? answer() : Result<Rows>(refused("", first_line(PQerrorMessage(connection_.get()))));
  }

  // What a query would give, without running it.
  Result<Rows> describe(const std::string& text) {
    if (PQsendPrepare(connection_.get(), "asked", text.c_str(), 0, nullptr) != 1)
      return refused("", first_line(PQerrorMessage(connection_.get())));
    if (Result<Rows> prepared = answer(); !prepared) return prepared;
    if (PQsendDescribePrepared(connection_.get(), "asked") != 1)
      return refused("", first_line(PQerrorMessage(connection_.get())));
    return answer();
  }

 private:
  Result<Rows> answer() {
    while (PQisBusy(connection_.get()) == 1) {
      if (!await()) {
        give_up();
        return Error{Code::limit, "Expected the query to end in time, but it did not."};
      }
      if (PQconsumeInput(connection_.get()) != 1) return refused("", first_line(PQerrorMessage(connection_.get())));
    }
    Rows rows(PQgetResult(connection_.get()));
    while (Rows rest{PQgetResult(connection_.get())}) continue;
    const ExecStatusType status = PQresultStatus(rows.get());
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return rows;
    const char* sqlstate = PQresultErrorField(rows.get(), PG_DIAG_SQLSTATE);
    return refused(sqlstate == nullptr ? "" : sqlstate, first_line(PQresultErrorMessage(rows.get())));
  }

  bool await() const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    if (left <= 0) return false;
    pollfd socket{PQsocket(connection_.get()), POLLIN, 0};
    return poll(&socket, 1, static_cast<int>(left)) != 0;
  }

  void give_up() {
    char ignored[256];
    if (PGcancel* cancel = PQgetCancel(connection_.get())) {
      PQcancel(cancel, ignored, sizeof ignored);
      PQfreeCancel(cancel);
    }
  }

  Clock::time_point deadline_;
  std::unique_ptr<PGconn, Disconnect> connection_;
};

// --- values ----------------------------------------------------------------------------------------------------------
std::string type_word(Oid type) {
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

Json value_of(const PGresult* rows, int row, int column, const QueryColumn& is, std::int64_t chars_max) {
  if (PQgetisnull(rows, row, column) == 1) return nullptr;
  std::string text = PQgetvalue(rows, row, column);
  if (is.type == "boolean") return text == "true";
  if (is.type == "number") {
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

// Neither a semicolon nor a comment at the end of the query reaches what stands around it.
std::string without_end(std::string text) {
  while (!text.empty() && (std::isspace(static_cast<unsigned char>(text.back())) != 0 || text.back() == ';'))
    text.pop_back();
  return text;
}

// The query as a cursor whose every value is a text of bounded length.
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

Result<std::vector<QueryColumn>> columns_of(const PGresult* described, const QueryLimits& limits) {
  const int count = PQnfields(described);
  if (count == 0) return Error{Code::invalid, "Expected a query that gives rows, but this one gives none."};
  if (count > limits.columns)
    return Error{Code::limit, "Expected at most " + std::to_string(limits.columns) + " columns, but there are " +
                                  std::to_string(count) + "."};
  std::vector<QueryColumn> columns;
  for (int i = 0; i < count; ++i) columns.push_back({PQfname(described, i), type_word(PQftype(described, i))});
  return columns;
}

Status check_login(Reader& reader) {
  const Result<Rows> is_unbound = reader.run(statement("login_is_unbound").text);
  if (!is_unbound) return is_unbound.error();
  if (std::string_view(PQgetvalue(is_unbound->get(), 0, 0)) == "f") return Done{};
  return Error{Code::closed, "Expected a login for the data that may only read, but this one may do anything."};
}

Result<QueryRows> fetched(Reader& reader, QueryRows found, const QueryLimits& limits) {
  const Result<Rows> rows = reader.run("fetch forward " + std::to_string(limits.rows + 1) + " from page");
  if (!rows) return rows.error();
  const int count = PQntuples(rows->get());
  found.more = count > limits.rows;
  for (int row = 0; row < count && row < limits.rows; ++row) {
    Json& values = found.rows.emplace_back(Json::array());
    for (std::size_t column = 0; column < found.columns.size(); ++column)
      values.push_back(value_of(rows->get(), row, static_cast<int>(column), found.columns[column], limits.value_chars));
  }
  return found;
}

bool is_plain_name(const std::string& name) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), fits);
}

}  // namespace

Result<QueryRows> run_bounded(const BoundedQuery& query, const QueryLimits& limits) {
  if (!is_plain_name(query.schema))
    return Error{Code::invalid,
                 "Expected the schema of the data to have a plain name, but it is \"" + query.schema + "\"."};
  const std::string text = without_end(query.text);
  if (text.find('\0') != std::string::npos) return Error{Code::invalid, "Expected a query, but it has a zero byte."};
  Reader reader(query, limits);
  if (auto fault = reader.not_connected()) return *fault;
  if (const Status login = check_login(reader); !login) return login.error();
  if (const auto begun = reader.run("begin transaction read only"); !begun) return begun.error();
  const Result<Rows> described = reader.describe(text);
  if (!described) return described.error();
  Result<std::vector<QueryColumn>> columns = columns_of(described->get(), limits);
  if (!columns) return columns.error();
  const auto declared = reader.run(cursor_over(text, columns->size(), limits));
  if (!declared) return declared.error();
  if (query.skip > 0) {
    const auto skipped = reader.run("move forward " + std::to_string(query.skip) + " from page");
    if (!skipped) return skipped.error();
  }
  return fetched(reader, {*std::move(columns), Json::array(), false}, limits);
}

std::string quoted_name(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string quoted_text(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace cairn
