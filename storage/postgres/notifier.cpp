#include "storage/postgres/notifier.hpp"

#include <algorithm>
#include <chrono>
#include <poll.h>
#include <random>
#include <spdlog/spdlog.h>
#include <sstream>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

#include "storage/clock.hpp"
#include "storage/ground/jitter.hpp"
#include "storage/postgres/dsn.hpp"
#include "storage/postgres/reachable.hpp"

namespace cairn {
namespace {

constexpr std::int64_t open_again_after_us = 1'500'000;  // at most
constexpr std::int64_t wanted_after_us = 2'000'000;      // a wait that another may follow
constexpr std::size_t latest_max = 8;

// "<sender>", or "<sender> <shard> <run> <branch>".
std::string payload(const std::string& sender, const std::optional<NotifiedJob>& named) {
  if (!named) return sender;
  return sender + " " + std::to_string(named->shard) + " " + to_string(named->run) + " " +
         std::to_string(named->branch);
}

std::optional<NotifiedJob> named_in(const std::string& payload) {
  std::istringstream words(payload);
  std::string sender, run;
  NotifiedJob job;
  if (!(words >> sender >> job.shard >> run >> job.branch)) return std::nullopt;
  const std::optional<RunId> id = parse_run_id(run);
  if (!id) return std::nullopt;
  job.run = *id;
  return job;
}

}  // namespace

std::int64_t listens_again_us(std::int64_t lost_us) { return lost_us + jittered(open_again_after_us); }

void NotifiedJobs::add(std::optional<NotifiedJob> named) {
  const std::lock_guard lock(mutex_);
  ++count_;
  latest_.push_back(std::move(named));
  if (latest_.size() > latest_max) latest_.pop_front();
}

std::optional<NotifiedJob> NotifiedJobs::only_one(Shard shard) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t unseen = count_ - std::exchange(seen_[shard], count_);
  if (unseen > latest_.size()) return std::nullopt;  // older ones were forgotten
  std::optional<NotifiedJob> found;
  for (auto named = latest_.end() - static_cast<std::ptrdiff_t>(unseen); named != latest_.end(); ++named) {
    if (!*named || (found && (*named)->shard == shard)) return std::nullopt;  // any job, or a second one
    if ((*named)->shard == shard) found = *named;
  }
  return found;
}

void LocalNotifier::notify() {
  {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  notified_.notify_all();
}

bool LocalNotifier::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(seen_[std::this_thread::get_id()], count_) != count_;
}

bool LocalNotifier::is_new() {
  const std::lock_guard lock(mutex_);
  return seen_[std::this_thread::get_id()] != count_;
}

void LocalNotifier::wait(std::int64_t timeout_ms, std::uint64_t interrupts) {
  std::unique_lock lock(mutex_);
  const std::uint64_t seen = seen_[std::this_thread::get_id()];
  notified_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                     [&] { return count_ != seen || interrupts_ != interrupts; });
}

void LocalNotifier::interrupt() {
  {
    const std::lock_guard lock(mutex_);
    ++interrupts_;
  }
  notified_.notify_all();
}

std::uint64_t LocalNotifier::interrupts() {
  const std::lock_guard lock(mutex_);
  return interrupts_;
}

Notifier::Notifier(Placements& placements, bool notify, DirectWay direct)
    : placements_(placements),
      notify_(notify),
      direct_(std::move(direct)),
      own_(std::to_string(std::random_device{}()) + std::to_string(std::random_device{}())),
      notified_here_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK(notified_here_ >= 0);
}

Notifier::~Notifier() { close(notified_here_); }

// A notification that is not sent delays a job until the next poll; it is no reason to fail.
void Notifier::notify() {
  notify_here(std::nullopt);
  if (!notify_) return;
  try {
    placements_.whole().query("notify", PgParameters().add(own_));
  } catch (const std::exception& failure) {
    spdlog::debug("notification not sent: {}", failure.what());
  }
}

void Notifier::send(PgConnection& connection, const std::optional<NotifiedJob>& named) const {
  if (!notify_) return;
  connection.leave_rest();
  connection.send(statement("notify"), PgParameters().add(payload(own_, named)));
  connection.sync();
}

void Notifier::notify_here(const std::optional<NotifiedJob>& named) {
  jobs_.add(named);
  local_.notify();
  raise();
}

// The thread that listens goes through its loop once more.
void Notifier::raise() const {
  const std::uint64_t one = 1;
  CHECK(write(notified_here_, &one, sizeof one) == static_cast<ssize_t>(sizeof one));
}

void Notifier::notify_at(std::int64_t at_us) {
  std::int64_t known_us = notify_at_;
  while (at_us < known_us && !notify_at_.compare_exchange_weak(known_us, at_us)) {
  }
  if (at_us >= known_us) return;
  raise();  // it may have to wait less now
  local_.interrupt();
}

// The thread that listens opens its connections, where it waited for this process alone.
void Notifier::want(std::int64_t until_us) {
  std::int64_t known_us = wanted_until_us_;
  while (until_us > known_us && !wanted_until_us_.compare_exchange_weak(known_us, until_us)) {
  }
  if (known_us <= steady_us()) raise();
}

// Once for each time of notify_at() that has come.
void Notifier::notify_if_due() {
  std::int64_t at_us = notify_at_;
  if (steady_us() >= at_us && notify_at_.compare_exchange_strong(at_us, never_us)) notify_here(std::nullopt);
}

bool Notifier::await(std::int64_t timeout_ms, NotifiedBy by) {
  const std::int64_t end_us = steady_us() + timeout_ms * 1'000;
  if (by == NotifiedBy::any_process) want(end_us + wanted_after_us);
  do {
    // Whichever waiting thread gets the lock listens for all; the others wait for it to pass notifications on. The
    // times are read after both: a change of them interrupts, or raises what the listener waits for.
    const std::uint64_t interrupts = local_.interrupts();
    std::unique_lock lock(listening_, std::try_to_lock);
    notify_if_due();
    const std::int64_t until_us = std::min(end_us, notify_at_.load());
    const std::int64_t left_ms = std::max<std::int64_t>((until_us - steady_us() + 999) / 1'000, 0);
    if (notify_ && lock.owns_lock()) {
      listen(left_ms);
      lock.unlock();
      local_.interrupt();  // another thread that waits may listen from now on
    } else {
      local_.wait(left_ms, interrupts);
    }
    notify_if_due();
    if (local_.take()) return true;
  } while (steady_us() < end_us);
  return false;
}

// Returns after a notification, when the time is over, or when a lost connection may be opened again. The time left is
// rounded up to milliseconds: rounded down, the last one would be polled in a busy loop.
void Notifier::listen(std::int64_t timeout_ms) {
  std::int64_t end_us = steady_us() + timeout_ms * 1'000;
  try {
    const bool is_wanted = steady_us() < wanted_until_us_;
    if (!is_wanted) connections_.clear();
    if (is_wanted && connections_.empty() && steady_us() >= open_again_us_) open();
    if (local_.is_new()) return;  // as after it was opened
    if (is_wanted && connections_.empty()) end_us = std::min(end_us, open_again_us_);
    do {
      if (wait_for_any((std::max<std::int64_t>(end_us - steady_us(), 0) + 999) / 1'000)) return;
    } while (steady_us() < end_us);
  } catch (const PostgresError& failure) {
    spdlog::debug("not listening for notifications: {}", failure.what());
    connections_.clear();
    open_again_us_ = listens_again_us(steady_us());
  }
}

void Notifier::open() {
  for (const PgConnectOptions& node : placements_.listened_to()) {
    auto connection = std::make_unique<PgConnection>(node);
    if (connection->is_pooled()) connection = open_directly(node);
    if (connection == nullptr) {
      connections_.clear();
      open_again_us_ = never_us;
      return;
    }
    connection->execute(std::string(limits_of_server_end));
    connection->execute("LISTEN cairn");
    connections_.push_back(std::move(connection));
  }
  jobs_.add(std::nullopt);  // notifications of any job may have been lost until now
  local_.notify();
}

// Null if there is no such way, for good: another node of a cluster has none.
std::unique_ptr<PgConnection> Notifier::open_directly(const PgConnectOptions& pooled) const {
  if (direct_.dsn.empty() || !pooled.overrides.empty()) return nullptr;
  PgConnectOptions options = pooled;
  options.dsn = direct_.dsn;
  options.is_direct = true;
  auto connection = std::make_unique<PgConnection>(options);
  const Status way = check_direct_way(*connection, direct_.identity);
  if (way) return connection;
  spdlog::warn("{} Jobs are found by polling.", way.error().message);
  return nullptr;
}

// True for a notification. Waits on all sources at once: this process's eventfd and the listening connections.
bool Notifier::wait_for_any(std::int64_t timeout_ms) {
  std::vector<pollfd> waits{{notified_here_, POLLIN, 0}};
  for (const auto& connection : connections_) waits.push_back({connection->socket(), POLLIN, 0});
  poll(waits.data(), waits.size(), static_cast<int>(timeout_ms));
  std::uint64_t raised = 0;
  const bool here = read(notified_here_, &raised, sizeof raised) > 0;
  bool there = false;
  for (std::size_t at = 0; at < connections_.size(); ++at)  // an error shows as PostgresError when it is read
    if (waits[at + 1].revents != 0) there = receive_foreign(*connections_[at]) || there;
  if (there) local_.notify();
  return here || there;
}

bool Notifier::receive_foreign(PgConnection& connection) {
  bool is_foreign = false;
  while (const auto received = connection.notification()) {
    if (received->substr(0, received->find(' ')) == own_) continue;  // notify_here() has handled it already
    jobs_.add(named_in(*received));
    is_foreign = true;
  }
  return is_foreign;
}

}  // namespace cairn
