#include "storage/postgres_wake.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace cairn {
namespace {

constexpr std::int64_t between_notifies_ms = 1;
constexpr std::int64_t reconnect_ms = 500;

}  // namespace

void Hints::raise() {
  {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  raised_.notify_all();
}

bool Hints::await(std::int64_t timeout_ms) {
  std::unique_lock lock(mutex_);
  std::uint64_t& seen = seen_[std::this_thread::get_id()];
  const bool came = raised_.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] { return count_ != seen; });
  seen = count_;
  return came;
}

Wakes::Wakes(PgConnectOptions options, bool notify)
    : options_(std::move(options)), notify_(notify), stop_event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK(stop_event_ >= 0);
}

Wakes::~Wakes() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  const std::uint64_t one = 1;
  CHECK(write(stop_event_, &one, sizeof one) == static_cast<ssize_t>(sizeof one));
  if (send_thread_.joinable()) send_thread_.join();
  if (listen_thread_.joinable()) listen_thread_.join();
  close(stop_event_);
}

void Wakes::wake() {
  hints_.raise();
  if (!notify_) return;
  {
    const std::lock_guard lock(mutex_);
    wanted_ = true;
    if (!send_thread_.joinable()) send_thread_ = std::thread([this] { send_loop(); });
  }
  changed_.notify_all();
}

bool Wakes::await(std::int64_t timeout_ms) {
  if (notify_) {
    const std::lock_guard lock(mutex_);
    if (!listen_thread_.joinable()) listen_thread_ = std::thread([this] { listen_loop(); });
  }
  return hints_.await(timeout_ms);
}

bool Wakes::pause(std::int64_t ms) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, std::chrono::milliseconds(ms), [&] { return stop_; });
}

// The first wish goes out at once; those within the next moment become one.
void Wakes::send_loop() {
  std::unique_ptr<PgConnection> connection;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return wanted_ || stop_; });
      if (!wanted_) return;
      wanted_ = false;
    }
    try {
      if (connection == nullptr) {
        connection = std::make_unique<PgConnection>(options_);
        connection->execute("SET synchronous_commit = off");
        const std::lock_guard lock(mutex_);
        sender_ = connection->backend();
      }
      connection->execute("NOTIFY cairn");
    } catch (const PostgresError& failure) {
      spdlog::debug("wake-up not sent: {}", failure.what());
      connection.reset();
      if (!pause(reconnect_ms)) return;
    }
    if (!pause(between_notifies_ms)) return;
  }
}

void Wakes::listen_loop() {
  do {
    try {
      listen_once();
      return;
    } catch (const PostgresError& failure) {
      spdlog::debug("not listening for wake-ups: {}", failure.what());
    }
  } while (pause(reconnect_ms));
}

// Until it is time to stop. Throws PostgresError.
void Wakes::listen_once() {
  PgConnection connection(options_);
  connection.execute("LISTEN cairn");
  hints_.raise();  // one may have been missed until now
  for (;;) {
    std::array<pollfd, 2> waits{{{connection.socket(), POLLIN, 0}, {stop_event_, POLLIN, 0}}};
    poll(waits.data(), waits.size(), -1);
    if (waits[1].revents != 0) return;
    bool foreign = false;
    while (const auto from = connection.notification()) {
      const std::lock_guard lock(mutex_);
      foreign = foreign || from != sender_;
    }
    if (foreign) hints_.raise();
  }
}

}  // namespace cairn
