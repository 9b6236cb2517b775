#include "storage/postgres/connection_pool.hpp"

#include <algorithm>
#include <chrono>
#include <spdlog/spdlog.h>
#include <thread>

#include "storage/clock.hpp"
#include "storage/postgres/dsn.hpp"
#include "storage/postgres/server_lines.hpp"

namespace cairn {

namespace {

PgConnectOptions with_flag(PgConnectOptions options, const std::atomic<bool>& is_given_up) {
  options.is_given_up = &is_given_up;
  return options;
}

// Behind a pooler no setting lasts, and a transaction's isolation cannot be set any more in its first statement.
void expect_read_committed(PgConnection& connection) {
  constexpr const char* wrong_state = "55000";
  const std::string found(connection.query(statement("default_isolation")).text(0, 0));
  if (found == "read committed") return;
  throw PostgresError(wrong_state,
                      "expected default_transaction_isolation to be read committed behind a pooler, but "
                      "found " +
                          found + ": ALTER ROLE and ALTER DATABASE set it");
}

}  // namespace

Patience::Patience(std::int64_t patience_ms)
    : patience_ms_(patience_ms), until_us_(steady_us() + patience_ms * 1'000) {}

std::int64_t Patience::left_ms() const { return std::max<std::int64_t>((until_us_ - steady_us()) / 1'000, 0); }

void Patience::wait(const PostgresError& failure) {
  const std::int64_t left_ms = this->left_ms();
  if (left_ms == 0) {
    throw StoreUnavailable("Expected the database to answer within " + std::to_string(patience_ms_) +
                           " ms, but it did not: " + failure.what());
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(std::min(pauses_.next_ms(), left_ms)));
}

PostgresPool::PostgresPool(PgConnectOptions options, int connections_max, std::int64_t patience_ms,
                           std::int64_t silence_min_ms)
    : options_(with_flag(std::move(options), is_given_up_)),
      connections_max_(std::max(connections_max, 1)),
      patience_ms_(patience_ms),
      silence_min_ms_(silence_min_ms) {}

std::unique_ptr<PgConnection> PostgresPool::open(const Patience& patience) {
  PgConnectOptions options = options_;
  options.connect_until_us = steady_us() + std::max(patience.left_ms(), silence_min_ms_) * 1'000;
  auto connection = std::make_unique<PgConnection>(options);
  if (!connection->is_pooled()) {
    const std::string_view settings = settings_                       ? *settings_
                                      : is_cluster_there(*connection) ? citus_settings
                                                                      : hot_settings;
    connection->execute(std::string(limits_of_server_end) + std::string(settings) +
                        statement("commits_are_synced").text);
  } else {
    expect_read_committed(*connection);
  }
  if (!identity_.empty()) check_identity(*connection);
  connection->expect_identity(identity_);
  return connection;
}

bool PostgresPool::leads_to_cluster() {
  return run([this](PgConnection& connection) { return is_cluster_there(connection); });
}

// Not prepared: a pooler that was taken for a server is found out by the first statement that is, which says so.
bool PostgresPool::is_cluster_there(PgConnection& connection) {
  constexpr std::int64_t patience_us = 10'000'000;
  {
    const std::lock_guard lock(mutex_);
    if (is_cluster_) return *is_cluster_;
  }
  const std::optional<PgResult> answer =
      connection.ask(statement("are_tables_distributed").text, steady_us() + patience_us);
  if (!answer) throw PostgresError("", "the server did not answer in time");
  const bool is_cluster = answer->text(0, 0) == "t";
  const std::lock_guard lock(mutex_);
  is_cluster_ = is_cluster;
  return is_cluster;
}

// A removed database may have been made again at its place, by the next command: what is known here is of none of its
// runs, and what is signed here would be signed for the other one.
void PostgresPool::check_identity(PgConnection& connection) const {
  constexpr std::string_view no_such_table = "42P01";
  std::string found;
  try {
    connection.begin_pipeline();
    connection.send(statement("identity"));
    connection.sync();
    connection.send(statement("server_line"));
    connection.keep_result();
    connection.sync();
    const PgResult rows = connection.receive();
    if (rows.rows() > 0) found = rows.text(0, 0);
  } catch (const PostgresError& failure) {
    if (failure.sqlstate() != no_such_table) throw;
  }
  if (found != identity_) throw AnotherDatabase(another_database_sentence(identity_, found));
  if (connection.finish_or_fault()) return;  // the login may not ask for it
  if (const std::optional<PgResult> line = connection.kept()) note_line({line->int8(0, 0), line->int8(0, 1)});
}

// All pools of the process that lead to one place say it once.
void PostgresPool::note_line(const ServerLine& met) const {
  static ServerLines lines;
  std::string place = identity_;
  for (const auto& [keyword, value] : options_.overrides) place += " " + keyword + "=" + value;
  if (const std::optional<std::string> says = lines.note(place, met)) spdlog::warn("{}", *says);
}

// The others give theirs back in time: a silent server ends their waits as well.
std::unique_ptr<PgConnection> PostgresPool::take(const Patience& patience) {
  {
    std::unique_lock lock(mutex_);
    const auto patience_of_others = std::chrono::milliseconds(patience.left_ms() + patience_ms_);
    if (!returned_.wait_for(lock, patience_of_others, [&] { return lent_ < connections_max_; }))
      throw PostgresError("", "every connection of this process waits for an answer");
    ++lent_;
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  try {
    return open(patience);
  } catch (...) {
    give_back(nullptr);
    throw;
  }
}

void PostgresPool::give_back(std::unique_ptr<PgConnection> connection) {
  {
    const std::lock_guard lock(mutex_);
    --lent_;
    if (connection != nullptr && connection->is_clean()) idle_.push_back(std::move(connection));
  }
  returned_.notify_one();
}

PostgresPool::Loan::Loan(PostgresPool& pool, const Patience& patience)
    : pool_(pool), connection_(pool.take(patience)) {}
PostgresPool::Loan::~Loan() { pool_.give_back(std::move(connection_)); }

}  // namespace cairn
