#include "storage/postgres/connection.hpp"

#include <algorithm>
#include <array>
#include <libpq-fe.h>
#include <map>
#include <numeric>
#include <poll.h>

#include "engine/corrupt_history.hpp"
#include "storage/another_database.hpp"
#include "storage/clock.hpp"
#include "storage/postgres/dsn.hpp"
#include "storage/postgres/large_send.hpp"
#include "storage/postgres/shard_tables.hpp"

namespace cairn {
namespace {

constexpr std::size_t array_header = 20;
constexpr std::int64_t slice_us = 100'000;  // of a wait: how soon it is noticed that nothing is waited for any more

void put_number(std::string& bytes, std::size_t at, std::uint32_t value) {
  for (std::size_t byte = 0; byte < 4; ++byte) bytes[at + byte] = static_cast<char>(value >> (24 - 8 * byte));
}

void append_number(std::string& bytes, std::uint64_t value, std::uint32_t width) {
  std::array<char, 8> digits{};
  for (std::uint32_t byte = 0; byte < width; ++byte)
    digits[byte] = static_cast<char>(value >> (8 * (width - 1 - byte)));
  bytes.append(digits.data(), width);
}

std::uint64_t read_number(const char* bytes, int width) {
  std::uint64_t value = 0;
  for (int at = 0; at < width; ++at) value = value << 8 | static_cast<std::uint8_t>(bytes[at]);
  return value;
}

std::uint32_t array_type(PgType element) {
  switch (element) {
    case PgType::boolean:
      return 1000;
    case PgType::bytes:
      return 1001;
    case PgType::int8:
      return 1016;
    case PgType::int2:
      return 1005;
    case PgType::int4:
      return 1007;
    case PgType::text:
      return 1009;
    case PgType::uuid:
      return 2951;
  }
  CHECK(false);
}

std::string_view view(const RunId& id) { return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()}; }
std::string_view view(const Hash& hash) { return {reinterpret_cast<const char*>(hash.data()), hash.size()}; }

// Parameters as the C arrays that libpq wants, for the time of one call.
struct CallArguments {
  explicit CallArguments(const PgParameters& parameters) {
    const std::size_t count = parameters.values().size();
    for (std::size_t at = 0; at < count; ++at) {
      values.push_back(parameters.is_null(at) ? nullptr : parameters.values()[at].data());
      lengths.push_back(static_cast<int>(parameters.values()[at].size()));
      formats.push_back(1);
    }
  }
  int count() const { return static_cast<int>(values.size()); }
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
};

bool is_ok(const PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

// An error without SQLSTATE does not come from the server: libpq found the connection gone.
std::string sqlstate_of(const PGresult* result) {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  return state != nullptr ? state : "";
}

// libpq ends its sentences with a line feed.
std::string lost_text(const PGconn* connection) {
  std::string text = PQerrorMessage(connection);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

[[noreturn]] void throw_error(const PGresult* result) {
  const char* text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  throw PostgresError(sqlstate_of(result), text != nullptr ? text : PQresultErrorMessage(result));
}

}  // namespace

bool PostgresError::is_transient() const {
  if (sqlstate_.empty()) return true;
  const std::string_view kind = std::string_view(sqlstate_).substr(0, 2);
  if (kind == "08" || kind == "53") return true;
  return sqlstate_ == "40001" || sqlstate_ == "40P01" || sqlstate_ == "40003" || sqlstate_ == "57P01" ||
         sqlstate_ == "57P02" || sqlstate_ == "57P03" || sqlstate_ == "25006" || sqlstate_ == "25P03";
}

// All classes of SQLSTATE but these: 0A a plan that does not fit its table any more, 25 and 26 state of the connection,
// 28 and 3D login and database, 40 another transaction, 42 rights and tables, 55 state of a table or lock, 57 an
// operator; CN is ours (shard_is_elsewhere). https://www.postgresql.org/docs/15/errcodes-appendix.html
bool PostgresError::is_about_values() const {
  constexpr auto others = std::to_array<std::string_view>({"0A", "25", "26", "28", "3D", "40", "42", "55", "57", "CN"});
  const std::string_view kind = std::string_view(sqlstate_).substr(0, 2);
  return !is_transient() && std::find(others.begin(), others.end(), kind) == others.end();
}

// --- parameters -----------------------------------------------------------------------------------------------------

PgArray::PgArray(PgType element) : element_(element), bytes_(array_header, '\0') {}

void PgArray::number(std::uint64_t value, std::uint32_t width) {
  append_number(bytes_, width, 4);
  append_number(bytes_, value, width);
  ++size_;
}

void PgArray::add(bool value) { number(value ? 1 : 0, 1); }
void PgArray::add(std::int16_t value) { number(static_cast<std::uint16_t>(value), 2); }
void PgArray::add(std::int32_t value) { number(static_cast<std::uint32_t>(value), 4); }
void PgArray::add(std::int64_t value) { number(static_cast<std::uint64_t>(value), 8); }
void PgArray::add(std::string_view value) {
  append_number(bytes_, value.size(), 4);
  bytes_.append(value);
  ++size_;
}
void PgArray::add(const RunId& value) { add(view(value)); }
void PgArray::add(const Hash& value) { add(view(value)); }
void PgArray::add_null() {
  append_number(bytes_, 0xffffffff, 4);
  has_null_ = true;
  ++size_;
}

std::string PgArray::take() {
  put_number(bytes_, 0, size_ == 0 ? 0 : 1);
  put_number(bytes_, 4, has_null_ ? 1 : 0);
  put_number(bytes_, 8, static_cast<std::uint32_t>(element_));
  put_number(bytes_, 12, size_);
  put_number(bytes_, 16, 1);
  if (size_ == 0) bytes_.resize(12);
  return std::move(bytes_);
}

std::optional<std::string_view> PgArray::only() const {
  CHECK(size_ == 1);
  if (has_null_) return std::nullopt;
  return std::string_view(bytes_).substr(array_header + 4);
}

PgParameters& PgParameters::push(std::uint32_t type, std::string value, bool null) {
  types_.push_back(type);
  values_.push_back(std::move(value));
  nulls_.push_back(null);
  return *this;
}

PgParameters& PgParameters::add(bool value) {
  return push(static_cast<std::uint32_t>(PgType::boolean), std::string(1, value ? '\1' : '\0'));
}
PgParameters& PgParameters::add(std::int32_t value) {
  std::string bytes;
  append_number(bytes, static_cast<std::uint32_t>(value), 4);
  return push(static_cast<std::uint32_t>(PgType::int4), std::move(bytes));
}
PgParameters& PgParameters::add(std::int64_t value) {
  std::string bytes;
  append_number(bytes, static_cast<std::uint64_t>(value), 8);
  return push(static_cast<std::uint32_t>(PgType::int8), std::move(bytes));
}
std::size_t PgParameters::bytes() const {
  return std::accumulate(values_.begin(), values_.end(), std::size_t{0},
                         [](std::size_t sum, const std::string& value) { return sum + value.size(); });
}

PgParameters& PgParameters::add(std::string_view text) {
  return push(static_cast<std::uint32_t>(PgType::text), std::string(text));
}
PgParameters& PgParameters::add(const RunId& value) {
  return push(static_cast<std::uint32_t>(PgType::uuid), std::string(view(value)));
}
PgParameters& PgParameters::add_bytes(std::string_view bytes) {
  return push(static_cast<std::uint32_t>(PgType::bytes), std::string(bytes));
}
PgParameters& PgParameters::add(const Hash& hash) { return add_bytes(view(hash)); }
PgParameters& PgParameters::add_null(PgType type) { return push(static_cast<std::uint32_t>(type), "", true); }
PgParameters& PgParameters::add_null_array(PgType element) { return push(array_type(element), "", true); }
PgParameters& PgParameters::add(PgArray array) {
  const std::uint32_t type = array_type(array.element());
  return push(type, array.take());
}
PgParameters& PgParameters::add_only(const PgArray& array) {
  const std::optional<std::string_view> value = array.only();
  return push(static_cast<std::uint32_t>(array.element()), std::string(value.value_or("")), !value);
}

// --- results --------------------------------------------------------------------------------------------------------

PgResult::PgResult(pg_result* result) : result_(result) {}
void PgResult::Clear::operator()(pg_result* result) const { PQclear(result); }

int PgResult::rows() const { return PQntuples(result_.get()); }
int PgResult::columns() const { return PQnfields(result_.get()); }
int PgResult::column(std::string_view name) const {
  const int found = PQfnumber(result_.get(), std::string(name).c_str());
  CHECK(found >= 0);
  return found;
}

void PgResult::expect_columns(std::span<const std::string_view> names) const {
  CHECK(names.size() <= static_cast<std::size_t>(columns()));
  for (std::size_t at = 0; at < names.size(); ++at)
    CHECK(names[at].empty() || names[at] == column_name(static_cast<int>(at)));
}

std::string_view PgResult::column_name(int column) const { return PQfname(result_.get(), column); }
std::uint32_t PgResult::column_type(int column) const { return PQftype(result_.get(), column); }
bool PgResult::is_null(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }

std::uint64_t PgResult::number(int row, int column, int width) const {
  CHECK(PQgetlength(result_.get(), row, column) == width);
  return read_number(PQgetvalue(result_.get(), row, column), width);
}
bool PgResult::boolean(int row, int column) const { return number(row, column, 1) != 0; }
std::int16_t PgResult::int2(int row, int column) const { return static_cast<std::int16_t>(number(row, column, 2)); }
std::int32_t PgResult::int4(int row, int column) const { return static_cast<std::int32_t>(number(row, column, 4)); }
std::int64_t PgResult::int8(int row, int column) const { return static_cast<std::int64_t>(number(row, column, 8)); }

std::string_view PgResult::text(int row, int column) const {
  CHECK(!is_null(row, column));
  return {PQgetvalue(result_.get(), row, column), static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

RunId PgResult::uuid(int row, int column) const {
  const std::string_view bytes = text(row, column);
  RunId id;
  CHECK(bytes.size() == id.bytes.size());
  std::copy(bytes.begin(), bytes.end(), id.bytes.begin());
  return id;
}

Hash PgResult::hash(int row, int column) const {
  const std::string_view bytes = text(row, column);
  Hash hash{};
  if (bytes.size() != hash.size())
    throw CorruptHistory("Expected a hash of 32 bytes, but found one of " + std::to_string(bytes.size()) + ".");
  std::copy(bytes.begin(), bytes.end(), hash.begin());
  return hash;
}

std::vector<std::string> PgResult::texts(int row, int column) const {
  const std::string_view bytes = text(row, column);
  std::vector<std::string> values;
  if (read_number(bytes.data(), 4) == 0) return values;
  const std::uint64_t count = read_number(bytes.data() + 12, 4);
  std::size_t at = array_header;
  for (std::uint64_t n = 0; n < count; ++n) {
    const auto length = static_cast<std::size_t>(read_number(bytes.data() + at, 4));
    values.emplace_back(bytes.substr(at + 4, length));
    at += 4 + length;
  }
  return values;
}

// --- connection -----------------------------------------------------------------------------------------------------

PgConnection::PgConnection(const PgConnectOptions& options)
    : prepared_(options.prepared), silence_ms_(options.silence_ms), is_given_up_(options.is_given_up) {
  // A setting in front of "dbname" is a default that the DSN may override; one after it wins over the DSN.
  std::vector<std::pair<std::string, std::string>> settings{{"fallback_application_name", options.application},
                                                            {"dbname", with_network_limits(options.dsn)},
                                                            {"client_encoding", "UTF8"}};
  settings.insert(settings.end(), options.overrides.begin(), options.overrides.end());
  Result<DialledConnection> dialled = dial(settings, {options.connect_until_us, options.is_given_up});
  if (!dialled) throw PostgresError("", dialled.error().message);
  connection_ = *std::move(dialled);
  PQsetNoticeReceiver(connection_.get(), take_notice, this);
  // Bytes that the socket does not take at once are sent while the answer is awaited: no send waits without a limit.
  CHECK(PQsetnonblocking(connection_.get(), 1) == 0);
  is_pooled_ = find_pooler(options.is_direct);
  prepared_ = prepared_ && !is_pooled_;
  if (is_pooled_) expect_transactions();
}

PgConnection::~PgConnection() = default;

// A pooler gives its clients process numbers of its own.
bool PgConnection::find_pooler(bool is_direct) {
  const Result<Pooler> pooler = pooler_of_environment();
  if (!pooler) throw PostgresError("XX000", pooler.error().message);
  if (!is_direct && *pooler != Pooler::found_out) return *pooler == Pooler::transaction;
  if (PQsendQuery(connection_.get(), statement("backend").text.c_str()) != 1) fail();
  const PgResult backend = read_result();
  if (!is_ok(backend.get())) throw_error(backend.get());
  return backend.text(0, 0) != std::to_string(PQbackendPID(connection_.get()));
}

// A pooler that gives a connection of the server for one statement cuts off who begins a transaction.
void PgConnection::expect_transactions() {
  try {
    execute("BEGIN");
    execute("COMMIT");
  } catch (const PostgresError& refused) {
    if (std::string_view(refused.what()).find("statement pooling") == std::string_view::npos) throw;
    throw PostgresError(std::string(pooler_is_unfit),
                        "Expected a pooler that gives a connection for each transaction (pool_mode = transaction) or "
                        "for each client (session), but this one gives it for each statement (statement).");
  }
}

// The server cannot take a commit back: it warns where the wait for a synchronous standby is cancelled, and then says
// that all went well. The warning has no SQLSTATE of its own (01000); its place in the server's source is the same in
// every language. All other notices are dropped.
void PgConnection::take_notice(void* connection, const pg_result* notice) {
  constexpr std::string_view wait_for_standby = "SyncRepWaitForLSN";
  const char* place = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
  if (place != nullptr && place == wait_for_standby) static_cast<PgConnection*>(connection)->is_unreplicated_ = true;
}

// The warning comes before the commit's answer, or before that of the sync which commits. The rest is not read.
void PgConnection::expect_replicated() {
  if (!std::exchange(is_unreplicated_, false)) return;
  is_left_ = true;
  throw PostgresError(std::string(completion_unknown),
                      "the wait for a synchronous standby was cancelled, which may lack the commit");
}

// A server that ends a connection whose commit waits for a standby warns first.
void PgConnection::fail() const {
  throw PostgresError(is_unreplicated_ ? std::string(completion_unknown) : "", lost_text(connection_.get()));
}

void PgConnection::execute(std::string_view text) {
  drop_rest();
  const bool has_preamble = is_pooled_ && text.starts_with("BEGIN");
  const std::string sent = has_preamble ? with_preamble(text) : std::string(text);
  if (PQsendQuery(connection_.get(), sent.c_str()) != 1) fail();
  const PgResult result = read_result();
  if (is_ok(result.get())) return;
  if (has_preamble) throw_of_preamble(result.get());
  throw_error(result.get());
}

PgResult PgConnection::query(const PgStatement& statement, const PgParameters& parameters) {
  begin_pipeline();
  send(statement, parameters);
  sync();
  PgResult result = receive();
  finish();
  return result;
}

std::optional<PgResult> PgConnection::ask(const std::string& text, std::int64_t deadline_us) {
  drop_rest();
  // The extended protocol takes one statement at a time: a second one after a semicolon is an error.
  if (PQsendQueryParams(connection_.get(), text.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0) != 1) fail();
  return answer_until(deadline_us);
}

std::optional<PgResult> PgConnection::describe(const std::string& text, std::int64_t deadline_us) {
  constexpr const char* name = "described";
  drop_rest();
  if (PQsendPrepare(connection_.get(), name, text.c_str(), 0, nullptr) != 1) fail();
  if (!answer_until(deadline_us)) return std::nullopt;
  if (PQsendDescribePrepared(connection_.get(), name) != 1) fail();
  return answer_until(deadline_us);
}

std::optional<PgResult> PgConnection::answer_until(std::int64_t deadline_us) {
  while (PQisBusy(connection_.get()) == 1) {
    const short unsent = PQflush(connection_.get()) == 1 ? POLLOUT : 0;
    if (!wait_for_bytes(deadline_us, static_cast<short>(POLLIN | unsent))) return std::nullopt;
    if (PQconsumeInput(connection_.get()) != 1) fail();
  }
  PgResult result(PQgetResult(connection_.get()));
  while (PGresult* more = PQgetResult(connection_.get())) PQclear(more);
  if (!is_ok(result.get())) throw PostgresError(sqlstate_of(result.get()), PQresultErrorMessage(result.get()));
  return result;
}

// False if the time passed first.
bool PgConnection::wait_for_bytes(std::int64_t until_us, short events) {
  is_left_ = true;
  for (;;) {
    if (is_given_up_ != nullptr && *is_given_up_) throw PostgresError("", "nothing is waited for any more");
    const std::int64_t left_us = until_us - steady_us();
    if (left_us <= 0) return false;
    pollfd wait{socket(), events, 0};
    const int ready = poll(&wait, 1, static_cast<int>((std::min(left_us, slice_us) + 999) / 1'000));
    if (ready <= 0) continue;
    is_left_ = false;
    return true;
  }
}

// Returns when PQgetResult() does not block.
void PgConnection::await_answer() {
  while (PQisBusy(connection_.get()) == 1) {
    const int unsent = PQflush(connection_.get());
    if (unsent < 0) fail();
    const auto events = static_cast<short>(unsent == 1 ? POLLIN | POLLOUT : POLLIN);
    if (!wait_for_bytes(steady_us() + silence_ms_ * 1'000, events))
      throw PostgresError("", "the server said nothing for " + std::to_string(silence_ms_) + " ms");
    if (PQconsumeInput(connection_.get()) != 1) fail();
  }
}

pg_result* PgConnection::next_result() {
  await_answer();
  return PQgetResult(connection_.get());
}

void PgConnection::begin_pipeline() {
  drop_rest();
  awaited_.clear();
  is_outside_ = PQtransactionStatus(connection_.get()) == PQTRANS_IDLE;
  if (is_outside_) is_guarded_ = false;
  lacks_preamble_ = (is_pooled_ && is_outside_) || (tables_ != nullptr && !is_guarded_);
  if (PQenterPipelineMode(connection_.get()) != 1) fail();
}

void PgConnection::send_prepare(const PgStatement& statement, const PgParameters& parameters) {
  const int count = static_cast<int>(parameters.types().size());
  if (PQsendPrepare(connection_.get(), statement.name.c_str(), statement.text.c_str(), count,
                    parameters.types().data()) != 1) {
    fail();
  }
  known_.insert(statement.name);
  expect({Awaited::Kind::prepare, statement.name, false});
}

// The preamble stands in front, or right after a BEGIN, which says how the transaction reads and so must come first.
void PgConnection::send(const PgStatement& statement, const PgParameters& parameters) {
  const bool is_in_front = lacks_preamble_ && !statement.text.starts_with("BEGIN");
  if (is_in_front) send_preamble();
  send_statement(tables_ != nullptr ? tables_->renamed(statement) : statement, parameters);
  expect({Awaited::Kind::result, {}, false});
  if (lacks_preamble_) send_preamble();
}

void PgConnection::speak_of(const ShardTables* tables) {
  tables_ = tables;
  is_guarded_ = false;
}

void PgConnection::send_preamble() {
  lacks_preamble_ = false;
  if (is_pooled_ && is_outside_) {
    send_statement(statement("local_settings"), {});
    expect({Awaited::Kind::preamble, {}, false});
    if (!identity_.empty()) {
      send_statement(statement("same_database"), PgParameters().add(identity_));
      expect({Awaited::Kind::preamble, {}, false});
    }
  }
  if (tables_ != nullptr) {
    is_guarded_ = true;
    send_statement(tables_->guard(), {});
    expect({Awaited::Kind::preamble, {}, false});
  }
}

// The same in the text that begins a transaction, after its first statement; an identity has no quotes.
std::string PgConnection::with_preamble(std::string_view begin) const {
  const std::size_t end = std::min(begin.find(';'), begin.size());
  std::string text = std::string(begin.substr(0, end)) + "; " + statement("local_settings").text;
  if (!identity_.empty()) {
    constexpr std::string_view parameter = "$1";
    std::string same = statement("same_database").text;
    for (std::size_t at = 0; (at = same.find(parameter, at)) != std::string::npos;)
      same.replace(at, parameter.size(), "'" + identity_ + "'");
    text += "; " + same;
  }
  return text.append(begin.substr(end));
}

// A pooler's other server may have no schema at all.
void PgConnection::throw_of_preamble(const pg_result* result) const {
  constexpr std::string_view no_such_table = "42P01", no_number = "22P02", mark = "another database: ";
  const std::string state = sqlstate_of(result);
  if (identity_.empty() || (state != no_such_table && state != no_number)) throw_error(result);
  const char* primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const std::string_view report = primary == nullptr ? "" : primary;
  const std::size_t at = report.find(mark);
  if (state == no_number && at == std::string_view::npos) throw_error(result);
  std::string found(state == no_number ? report.substr(at + mark.size()) : "none");
  found.erase(std::min(found.find('"'), found.size()));
  throw PostgresError(std::string(database_is_another),
                      another_database_sentence(identity_, found == "none" ? "" : found));
}

void PgConnection::send_statement(const PgStatement& statement, const PgParameters& parameters) {
  const CallArguments arguments(parameters);
  std::optional<LargeSend> large;
  if (parameters.bytes() >= large_statement_bytes) large.emplace(connection_.get(), silence_ms_, is_given_up_);
  int sent = 0;
  if (prepared_) {
    if (!known_.contains(statement.name)) send_prepare(statement, parameters);
    sent = PQsendQueryPrepared(connection_.get(), statement.name.c_str(), arguments.count(), arguments.values.data(),
                               arguments.lengths.data(), arguments.formats.data(), 1);
  } else {
    sent = PQsendQueryParams(connection_.get(), statement.text.c_str(), arguments.count(), parameters.types().data(),
                             arguments.values.data(), arguments.lengths.data(), arguments.formats.data(), 1);
  }
  large.reset();
  if (sent != 1) fail();
}

void PgConnection::sync() {
  if (PQpipelineSync(connection_.get()) != 1) fail();
  expect({Awaited::Kind::sync, {}, false});
}

// The last result of what was sent, or the first error.
PgResult PgConnection::read_result() {
  PgResult result(next_result());
  if (result.get() == nullptr) fail();
  // Each statement's results end with a null.
  while (PGresult* more = next_result()) {
    PgResult later(more);
    if (is_ok(result.get())) result = std::move(later);
  }
  expect_replicated();
  return result;
}

void PgConnection::read_sync() {
  const PgResult sync(next_result());
  if (sync.get() == nullptr) fail();
  if (PQresultStatus(sync.get()) != PGRES_PIPELINE_SYNC) throw_error(sync.get());
  expect_replicated();
}

std::optional<PgResult> PgConnection::take_next() {
  CHECK(!awaited_.empty());
  const Awaited next = std::move(awaited_.front());
  awaited_.pop_front();
  if (next.kind == Awaited::Kind::sync) {
    read_sync();
    return std::nullopt;
  }
  PgResult result = read_result();
  if (!is_ok(result.get()) && next.kind == Awaited::Kind::preamble) throw_of_preamble(result.get());
  if (!is_ok(result.get())) throw_error(result.get());
  if (next.kind != Awaited::Kind::result) return std::nullopt;
  return result;
}

PgResult PgConnection::receive() {
  for (;;) {
    if (std::optional<PgResult> result = take_next()) return std::move(*result);
  }
}

void PgConnection::leave_pipeline() {
  if (PQexitPipelineMode(connection_.get()) != 1) fail();
}

void PgConnection::finish() {
  while (awaited_.size() > left_) take_next();
  if (left_ == 0) leave_pipeline();
}

std::optional<PostgresError> PgConnection::finish_or_fault() {
  std::optional<PostgresError> fault = read_all_but(left_);
  has_fault_ = fault.has_value();
  if (left_ == 0) leave_pipeline();
  return fault;
}

std::optional<PostgresError> PgConnection::read_all_but(std::size_t left) {
  std::optional<PostgresError> fault;
  for (; awaited_.size() > left; awaited_.pop_front()) {
    const Awaited& next = awaited_.front();
    if (next.kind == Awaited::Kind::sync) {
      read_sync();
      continue;
    }
    PgResult result = read_result();
    if (is_ok(result.get())) {
      if (next.is_kept) kept_ = std::move(result);
      continue;
    }
    if (next.kind == Awaited::Kind::prepare) known_.erase(next.statement);
    if (PQresultStatus(result.get()) == PGRES_PIPELINE_ABORTED) continue;  // skipped because of the error before it
    try {
      if (next.kind == Awaited::Kind::preamble) throw_of_preamble(result.get());
      throw_error(result.get());
    } catch (const PostgresError& refused) {
      if (refused.sqlstate().empty()) throw;
      fault = refused;
    }
  }
  return fault;
}

void PgConnection::keep_result() {
  CHECK(!awaited_.empty() && awaited_.back().kind == Awaited::Kind::result);
  awaited_.back().is_kept = true;
  kept_.reset();
}

void PgConnection::leave_rest() { leaves_rest_ = true; }

void PgConnection::expect(Awaited awaited) {
  awaited_.push_back(std::move(awaited));
  if (leaves_rest_) ++left_;
}

void PgConnection::drop_rest() {
  if (!std::exchange(leaves_rest_, false)) return;
  left_ = 0;
  has_fault_ = false;
  read_all_but(0);
  leave_pipeline();
}

// Statements not waited for end with a sync, so they leave no transaction open. But a refused statement before them
// skipped the COMMIT of its transaction, which no sync ends.
bool PgConnection::is_clean() const {
  if (is_left_ || PQstatus(connection_.get()) != CONNECTION_OK) return false;
  if (left_ > 0) return !has_fault_;
  return PQtransactionStatus(connection_.get()) == PQTRANS_IDLE &&
         PQpipelineStatus(connection_.get()) == PQ_PIPELINE_OFF;
}

int PgConnection::socket() const { return PQsocket(connection_.get()); }
int PgConnection::backend() const { return PQbackendPID(connection_.get()); }

std::optional<std::string> PgConnection::notification() {
  if (PQconsumeInput(connection_.get()) != 1) fail();
  PGnotify* const notify = PQnotifies(connection_.get());
  if (notify == nullptr) return std::nullopt;
  std::string payload = notify->extra;
  PQfreemem(notify);
  return payload;
}

}  // namespace cairn
