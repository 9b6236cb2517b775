#include "storage/postgres/connection_pool.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace cairn {

void Patience::wait(const PostgresError& failure) {
  if (waited_ms_ >= patience_ms_) {
    throw StoreUnavailable("Expected the database to answer within " + std::to_string(patience_ms_) +
                           " ms, but it did not: " + failure.what());
  }
  if (!random_) random_.emplace(std::random_device{}());
  const std::int64_t pause_ms = std::uniform_int_distribution<std::int64_t>(next_ms_ / 2, next_ms_)(*random_);
  std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
  waited_ms_ += std::max<std::int64_t>(pause_ms, 1);
  next_ms_ = std::min<std::int64_t>(next_ms_ * 2, 1'000);
}

PostgresPool::PostgresPool(PgConnectOptions options, int connections_max, std::int64_t patience_ms)
    : options_(std::move(options)), connections_max_(std::max(connections_max, 1)), patience_ms_(patience_ms) {}

std::unique_ptr<PgConnection> PostgresPool::open() const {
  auto connection = std::make_unique<PgConnection>(options_);
  connection->execute(hot_settings);
  return connection;
}

std::unique_ptr<PgConnection> PostgresPool::take() {
  {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [&] { return lent_ < connections_max_; });
    ++lent_;
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  try {
    return open();
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

PostgresPool::Loan::Loan(PostgresPool& pool) : pool_(pool), connection_(pool.take()) {}
PostgresPool::Loan::~Loan() { pool_.give_back(std::move(connection_)); }

}  // namespace cairn
