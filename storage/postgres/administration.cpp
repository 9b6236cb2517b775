#include "storage/postgres/administration.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <pqxx/pqxx>
#include <pqxx/stream_from>
#include <sys/socket.h>
#include <thread>

#include "engine/result.hpp"
#include "storage/postgres/connection.hpp"
#include "storage/postgres/dsn.hpp"

namespace cairn {
namespace {

// Turns libpqxx's exceptions into PostgresError.
template <class Work>
auto translated(Work&& work) {
  try {
    return work();
  } catch (const pqxx::insufficient_privilege& refused) {  // libpqxx 6 drops its SQLSTATE
    throw PostgresError("42501", refused.what());
  } catch (const pqxx::sql_error& refused) {
    const bool is_known = !refused.sqlstate().empty();
    throw PostgresError(is_known ? refused.sqlstate() : "XX000", refused.what());
  } catch (const pqxx::pqxx_exception& failed) {
    throw PostgresError("", failed.base().what());
  }
}

AdminRows read_rows(const pqxx::result& result) {
  std::vector<AdminRows::Row> rows;
  for (const pqxx::row& found : result) {
    AdminRows::Row& row = rows.emplace_back();
    for (const pqxx::field& field : found)
      row.push_back(field.is_null() ? std::nullopt : std::optional<std::string>(field.c_str()));
  }
  std::vector<std::string> columns;
  for (pqxx::row_size_type column = 0; column < result.columns(); ++column)
    columns.push_back(result.column_name(column));
  return AdminRows(std::move(rows), std::move(columns));
}

// Cuts the connection when a statement takes longer than the limit, because libpqxx waits for an answer for ever: the
// wait ends then as with a lost connection. Watches from a thread of its own.
class Watch {
 public:
  Watch() : thread_([this] { watch(); }) {}
  ~Watch() {
    set_socket(ended);
    thread_.join();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void set_limit(std::int64_t limit_ms) { limit_ = std::chrono::milliseconds(limit_ms); }  // REQUIRES: after end()
  void begin(int socket) { set_socket(limit_.count() == no_limit ? none : socket); }
  void end() { set_socket(none); }
  // Whether the latest statement was cut.
  bool has_cut() {
    const std::lock_guard lock(mutex_);
    return has_cut_;
  }
  std::string sentence() const { return "the server gave no answer for " + std::to_string(limit_.count()) + " ms"; }

 private:
  static constexpr int none = -1;
  static constexpr int ended = -2;

  void set_socket(int socket) {
    {
      const std::lock_guard lock(mutex_);
      if (socket >= 0) has_cut_ = false;
      socket_ = socket;
      ++changes_;
    }
    changed_.notify_all();
  }

  void watch() {
    std::unique_lock lock(mutex_);
    while (socket_ != ended) {
      const auto is_changed = [this, seen = changes_] { return changes_ != seen; };
      if (socket_ == none) {
        changed_.wait(lock, is_changed);
      } else if (!changed_.wait_for(lock, limit_, is_changed)) {
        has_cut_ = shutdown(std::exchange(socket_, none), SHUT_RDWR) == 0;
      }
    }
  }

  std::chrono::milliseconds limit_{opening_limit_ms};
  std::mutex mutex_;
  std::condition_variable changed_;
  int socket_ = none;
  std::uint64_t changes_ = 0;
  bool has_cut_ = false;
  std::thread thread_;
};

}  // namespace

void AdminRows::expect_columns(std::initializer_list<std::string_view> names) const {
  CHECK(names.size() == columns_.size());
  CHECK(std::equal(names.begin(), names.end(), columns_.begin(),
                   [](std::string_view name, const std::string& found) { return name.empty() || name == found; }));
}

const std::string& AdminRows::text(std::size_t row, std::size_t column) const {
  CHECK(!is_null(row, column));
  return *rows_[row][column];
}

std::int64_t AdminRows::number(std::size_t row, std::size_t column) const {
  const std::string& digits = text(row, column);
  std::int64_t value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  CHECK(read.ec == std::errc{} && read.ptr == digits.data() + digits.size());
  return value;
}

struct Administration::Parts {
  explicit Parts(const std::string& dsn) : connection(with_network_limits(dsn)) {}

  // Within the limit.
  template <class Work>
  auto watched(Work&& work) {
    watch.begin(connection.sock());
    const std::shared_ptr<Watch> ending(&watch, [](Watch* one) { one->end(); });
    try {
      return translated(std::forward<Work>(work));
    } catch (const PostgresError&) {
      if (watch.has_cut()) throw PostgresError("", watch.sentence());
      throw;
    }
  }

  template <class Use>
  auto use(Use&& use) {
    return watched([&] {
      if (open) return use(*open);
      pqxx::nontransaction alone(connection);
      return use(alone);
    });
  }

  Watch watch;
  pqxx::connection connection;
  std::unique_ptr<pqxx::work> open;
};

Administration::Administration(const std::string& dsn, const std::string& application, std::int64_t limit_ms)
    : parts_(translated([&] { return std::make_unique<Parts>(dsn); })) {
  query("name_connection", {application});
  parts_->watch.set_limit(limit_ms);
}

Administration::~Administration() = default;

AdminRows Administration::query(std::string_view name, const std::vector<std::string>& parameters) {
  return parts_->use([&](pqxx::transaction_base& transaction) {
    return read_rows(transaction.exec_params(statement(name).text, pqxx::prepare::make_dynamic_params(parameters)));
  });
}

void Administration::execute(const std::string& text) {
  parts_->use([&](pqxx::transaction_base& transaction) { transaction.exec(text); });
}

void Administration::copy_out(const std::string& table, const std::function<void(const std::string& row)>& use) {
  parts_->use([&](pqxx::transaction_base& transaction) {
    pqxx::stream_from rows(transaction, table);
    for (std::string row; rows.get_raw_line(row);) use(row);
    rows.complete();
  });
}

int Administration::backend() const { return parts_->connection.backendpid(); }

void Administration::begin() {
  CHECK(!parts_->open);
  parts_->watched([&] { parts_->open = std::make_unique<pqxx::work>(parts_->connection); });
}

void Administration::commit() {
  CHECK(parts_->open);
  parts_->watched([&] { parts_->open->commit(); });
  parts_->open.reset();
}

void Administration::roll_back() {
  CHECK(parts_->open);
  parts_->watched([&] { parts_->open->abort(); });
  parts_->open.reset();
}

// The answer to a parametrised query stays open on the server until the next statement; a plain one leaves nothing.
void Administration::let_go_of_snapshot() { execute("select"); }

}  // namespace cairn
