// A connection to PostgreSQL over libpq: binary parameters and results, prepared statements, pipelines, errors as
// exceptions. Knows nothing of runs. Not thread-safe: one thread uses a connection at a time.
//
// There are two ways to the server. PgConnection is for the hot path: claims, commits, every read of the store, and
// single statements with a deadline. Administration (administration.hpp) is for everything that no step waits for.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "engine/id.hpp"
#include "storage/postgres/dial.hpp"
#include "storage/postgres/statements.hpp"
#include "storage/store.hpp"

struct pg_conn;
struct pg_result;

namespace cairn {

// A failure that the server or libpq reported. `sqlstate` is "" when the connection was lost.
class PostgresError : public std::runtime_error {
 public:
  PostgresError(std::string sqlstate, const std::string& message)
      : std::runtime_error(message), sqlstate_(std::move(sqlstate)) {}

  const std::string& sqlstate() const { return sqlstate_; }
  // True if another attempt may succeed: after a serialization failure, a deadlock, a lost or refused connection, or
  // with a server that is out of room or shutting down.
  bool is_transient() const;
  // True if the server refused the values themselves or the rows that they belong to: too long for an index, not in its
  // encoding, a duplicate, a damaged page, a trigger's exception. The same values are refused again.
  bool is_about_values() const;
  // True if a prepared statement was there already, or not there: the server's connection is not ours alone.
  bool is_about_prepared() const { return sqlstate_ == "42P05" || sqlstate_ == "26000"; }

 private:
  std::string sqlstate_;
};

// A lock was asked for with a limit of time, or without waiting, and others have it.
inline constexpr std::string_view lock_not_available = "55P03";
// By the server's limit of time for a statement, or by an operator.
inline constexpr std::string_view query_canceled = "57014";
// A commit is in the server's log, but its wait for a synchronous standby was cancelled. Also transient.
inline constexpr std::string_view completion_unknown = "40003";
// A pooled connection led to another database than expect_identity() has named. Made here, as CN001 by
// shard_tables.hpp.
inline constexpr std::string_view database_is_another = "CN002";
// The pooler has another mode than Cairn can use, or than CAIRN_POOLER says; also for is_about_prepared().
inline constexpr std::string_view pooler_is_unfit = "CN003";

enum class PgType : std::uint32_t {
  boolean = 16,
  bytes = 17,
  int8 = 20,
  int2 = 21,
  int4 = 23,
  text = 25,
  uuid = 2950,
};

// One array parameter in the wire's binary form.
class PgArray {
 public:
  explicit PgArray(PgType element);

  void add(bool value);
  void add(std::int16_t value);
  void add(std::int32_t value);
  void add(std::int64_t value);
  void add(std::string_view value);  // text or bytes
  void add(const char* value) { add(std::string_view(value)); }
  void add(const std::string& value) { add(std::string_view(value)); }
  void add(const RunId& value);
  void add(const Hash& value);
  template <class T>
  void add(const std::optional<T>& value) {
    value ? add(*value) : add_null();
  }
  void add_null();

  std::size_t size() const { return size_; }
  PgType element() const { return element_; }
  // The wire form. Leaves the array empty.
  std::string take();
  // The wire form of the only element; nothing for null. REQUIRES: size() is 1.
  std::optional<std::string_view> only() const;

 private:
  void number(std::uint64_t value, std::uint32_t width);

  PgType element_;
  std::uint32_t size_ = 0;
  bool has_null_ = false;
  std::string bytes_;
};

// The parameters of one statement, in order.
class PgParameters {
 public:
  PgParameters& add(bool value);
  PgParameters& add(std::int32_t value);
  PgParameters& add(std::int64_t value);
  PgParameters& add(std::string_view text);
  PgParameters& add(const char* text) { return add(std::string_view(text)); }
  PgParameters& add(const std::string& text) { return add(std::string_view(text)); }
  PgParameters& add(const RunId& value);
  PgParameters& add_bytes(std::string_view bytes);
  PgParameters& add(const Hash& hash);
  PgParameters& add_null(PgType type);
  PgParameters& add(PgArray array);
  PgParameters& add_null_array(PgType element);
  PgParameters& add_only(const PgArray& array);  // its only element, as a scalar

  const std::vector<std::uint32_t>& types() const { return types_; }
  const std::vector<std::string>& values() const { return values_; }
  bool is_null(std::size_t at) const { return nulls_[at]; }
  std::size_t bytes() const;

 private:
  PgParameters& push(std::uint32_t type, std::string value, bool null = false);

  std::vector<std::uint32_t> types_;
  std::vector<std::string> values_;
  std::vector<bool> nulls_;
};

// Rows in binary form (in text form from ask() and describe()). Getters REQUIRE a column of that type that is not null.
class PgResult {
 public:
  explicit PgResult(pg_result* result);

  int rows() const;
  int columns() const;
  // The number of the column of this name. CHECKs that there is one.
  int column(std::string_view name) const;
  // CHECKs that the first columns have these names. "" stands for an expression, which has no name of its own.
  void expect_columns(std::span<const std::string_view> names) const;
  std::string_view column_name(int column) const;
  std::uint32_t column_type(int column) const;  // the server's number of the type
  bool is_null(int row, int column) const;
  bool boolean(int row, int column) const;
  std::int16_t int2(int row, int column) const;
  std::int32_t int4(int row, int column) const;
  std::int64_t int8(int row, int column) const;
  std::string_view text(int row, int column) const;  // text or bytes; valid as long as this result
  RunId uuid(int row, int column) const;
  Hash hash(int row, int column) const;  // throws CorruptHistory unless it has 32 bytes
  std::vector<std::string> texts(int row, int column) const;
  const pg_result* get() const { return result_.get(); }

 private:
  struct Clear {
    void operator()(pg_result* result) const;
  };
  std::uint64_t number(int row, int column, int width) const;

  std::unique_ptr<pg_result, Clear> result_;
};

class ShardTables;

struct PgConnectOptions {
  std::string dsn;
  std::string application = "cairn";                                // unless the DSN gives another name
  bool prepared = true;                                             // off: each statement is parsed each time
  std::vector<std::pair<std::string, std::string>> overrides = {};  // libpq settings that win over the DSN's
  std::int64_t silence_ms = 10'000;                                 // see limit_silence()
  const std::atomic<bool>* is_given_up = nullptr;                   // once true, no answer is waited for any more
  bool is_direct = false;                                           // CAIRN_POOLER says nothing of this way
  TimeUs connect_until_us = never_us;                               // steady: the hosts share the time until then
};

class PgConnection {
 public:
  // Throws PostgresError, with pooler_is_unfit for a pooler that lets no transaction pass. Waits for each host of the
  // DSN as long as with_network_limits() (dsn.hpp) says, or for its share of the time until `connect_until_us`.
  explicit PgConnection(const PgConnectOptions& options);
  ~PgConnection();
  PgConnection(const PgConnection&) = delete;
  PgConnection& operator=(const PgConnection&) = delete;

  // A call whose answer is waited for while the server neither sends nor takes a byte for this long fails as a lost
  // connection does. It notices a server that hangs; a network that is cut is also noticed by with_network_limits().
  void limit_silence(std::int64_t silence_ms) { silence_ms_ = silence_ms; }

  // One statement outside a pipeline. Throws PostgresError, as all functions below.
  PgResult query(const PgStatement& statement, const PgParameters& parameters = {});
  // Several statements as text, without parameters: migrations, BEGIN, COMMIT, SET, LISTEN, NOTIFY. A text that begins
  // a transaction does so in its first statement.
  void execute(std::string_view text);

  // A single unprepared statement that others wrote. Values come as text; the error is the server's full report.
  // Returns nothing if `deadline_us` (steady_us()) passes first: the connection must then be dropped. The statement is
  // ended by a limit of the server's own (statement_timeout): asking it to stop may hang as long as the statement does.
  std::optional<PgResult> ask(const std::string& text, std::int64_t deadline_us);
  // The columns that the statement would give, without running it. Otherwise like ask().
  std::optional<PgResult> describe(const std::string& text, std::int64_t deadline_us);

  // A pipeline: send() any number of statements, sync() to have their results now, receive() them in order, send more.
  // A sync commits what is not inside BEGIN and COMMIT. finish(), after the last sync, drops the results not received.
  // The server counts a transaction as idle only after a sync; between two syncs it takes the client for busy.
  void begin_pipeline();
  void send(const PgStatement& statement, const PgParameters& parameters = {});
  void sync();
  PgResult receive();
  void finish();
  // Like finish(), but returns the server's error, if any, and the connection stays usable.
  std::optional<PostgresError> finish_or_fault();
  // The result of the statement sent last is not dropped by finish_or_fault(): kept() returns it, or nothing if it
  // failed or was skipped because of an error before it.
  void keep_result();
  std::optional<PgResult> kept() { return std::exchange(kept_, std::nullopt); }
  // REQUIRES: a sync was sent. Statements sent from here to the next sync are not waited for: their results are dropped
  // before the connection is used again, and errors in them are lost.
  void leave_rest();

  // The statements from here on are about the tables of one shard of a cluster, until null. `tables` outlives them.
  void speak_of(const ShardTables* tables);

  // A pooler may be led elsewhere while its clients stay connected: each transaction of a pooled connection from here
  // on fails (database_is_another) unless it meets the database of this identity. A direct connection is not asked
  // again.
  void expect_identity(std::string identity) { identity_ = std::move(identity); }

  // Behind a pooler that may give each transaction another connection of the server: nothing is prepared, settings last
  // for one transaction, nothing can be listened to.
  bool is_pooled() const { return is_pooled_; }

  bool is_clean() const;  // connected, and outside of any transaction and pipeline
  int socket() const;
  // The payload of the next notification already received, or nothing; never waits.
  std::optional<std::string> notification();
  int backend() const;

 private:
  struct Awaited {
    enum class Kind : std::uint8_t { prepare, preamble, result, sync };
    Kind kind = Kind::result;
    std::string statement;  // of a prepare
    bool is_kept = false;
  };
  bool find_pooler(bool is_direct);
  void expect_transactions();
  static void take_notice(void* connection, const pg_result* notice);
  void expect_replicated();
  void send_preamble();
  std::string with_preamble(std::string_view begin) const;
  [[noreturn]] void throw_of_preamble(const pg_result* result) const;
  void send_statement(const PgStatement& statement, const PgParameters& parameters);
  void send_prepare(const PgStatement& statement, const PgParameters& parameters);
  std::optional<PgResult> answer_until(std::int64_t deadline_us);
  bool wait_for_bytes(std::int64_t until_us, short events);
  void await_answer();
  pg_result* next_result();
  PgResult read_result();
  void read_sync();
  std::optional<PostgresError> read_all_but(std::size_t left);
  void expect(Awaited awaited);
  void leave_pipeline();
  void drop_rest();
  std::optional<PgResult> take_next();  // nothing if it belonged to a prepare or a sync
  [[noreturn]] void fail() const;

  bool prepared_;
  bool is_pooled_ = false;
  std::string identity_;         // of the database that a pooler leads to; "": any
  bool is_outside_ = true;       // the pipeline begins its transaction
  bool lacks_preamble_ = false;  // that transaction: settings, the database's identity, the guard of a shard
  const ShardTables* tables_ = nullptr;
  bool is_guarded_ = false;  // the guard of `tables_` was sent in this transaction
  std::int64_t silence_ms_;
  const std::atomic<bool>* is_given_up_;
  DialledConnection connection_;
  std::unordered_set<std::string> known_;  // statements the server has
  std::deque<Awaited> awaited_;            // results of the pipeline, in order
  bool leaves_rest_ = false;
  std::optional<PgResult> kept_;
  std::size_t left_ = 0;          // how many of `awaited_`, from its end, are not waited for
  bool has_fault_ = false;        // a statement before these failed: its transaction may still be open
  bool is_left_ = false;          // in the middle of an answer
  bool is_unreplicated_ = false;  // the commit whose answer is read next
};

}  // namespace cairn
