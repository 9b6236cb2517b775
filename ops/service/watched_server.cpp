#include "ops/service/watched_server.hpp"

#include <algorithm>
#include <iostream>
#include <thread>
#include <utility>

#include "storage/server/cluster.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds watch_pause{1};
constexpr std::chrono::seconds start_pause_max{30};
constexpr std::chrono::seconds replaced_pause{10};  // a package is unpacked file by file
constexpr std::chrono::seconds leaving_max{10};     // sessions of processes that ended a moment ago
constexpr std::chrono::milliseconds leaving_poll{100};

void say_on_stderr(const std::string& sentence) { std::cerr << "cairn: " << readable_line(sentence, 2'000) << "\n"; }

}  // namespace

WatchedServer::WatchedServer(std::string directory, std::chrono::milliseconds space_pause)
    : directory_(std::move(directory)),
      identifier_(system_identifier(directory_)),
      pause_(watch_pause),
      space_pause_(space_pause),
      space_(directory_),
      next_space_due_(Clock::now() + space_pause) {}

Status WatchedServer::check() {
  const auto now = Clock::now();
  if (now < next_due_) return Done{};
  next_due_ = now + watch_pause;
  if (!identifier_ || system_identifier(directory_) != identifier_)
    return Error{Code::not_found, "Expected the data of the PostgreSQL in " + directory_ +
                                      " to be as it was when it was started, but it is gone or another's."};
  check_space(now);
  if (!find_cluster(directory_) && !was_stopped(directory_)) {
    start_again();
    return Done{};
  }
  pause_ = watch_pause;
  check_programs(now);
  return Done{};
}

void WatchedServer::start_again() {
  say_on_stderr("The PostgreSQL in " + directory_ + " has ended; starting it again.");
  if (const Result<Cluster> started = start_cluster(directory_); !started) {
    pause_ = std::min(pause_ * 2, start_pause_max);
    next_due_ = Clock::now() + pause_;
    say_on_stderr(started.error().message);
  }
}

void WatchedServer::check_programs(Clock::time_point now) {
  if (!has_older_programs(directory_)) {
    replaced_at_.reset();
    is_renewal_tried_ = false;
    return;
  }
  if (!replaced_at_) replaced_at_ = now;
  if (is_renewal_tried_ || now - *replaced_at_ < replaced_pause) return;
  is_renewal_tried_ = true;
  const Result<Cluster> cluster = start_cluster(directory_);  // without other connections this is all
  if (!cluster) {
    say_on_stderr(cluster.error().message);
  } else if (!cluster->not_renewed.empty()) {
    say_on_stderr("The PostgreSQL in " + directory_ + " goes on without its programs: " + cluster->not_renewed);
  } else if (!cluster->started) {
    say_on_stderr("The programs of the PostgreSQL in " + directory_ +
                  " were replaced; it is started again from the new ones.");
    is_to_be_renewed_ = true;
  }
}

bool WatchedServer::is_to_be_renewed() { return std::exchange(is_to_be_renewed_, false); }

void WatchedServer::renew() {
  const auto until = Clock::now() + leaving_max;
  Result<Cluster> cluster = start_cluster(directory_);
  while (cluster && !cluster->started && has_older_programs(directory_) && Clock::now() < until) {
    std::this_thread::sleep_for(leaving_poll);
    cluster = start_cluster(directory_);
  }
  if (!cluster) {
    say_on_stderr(cluster.error().message);
  } else if (has_older_programs(directory_)) {
    say_on_stderr("The PostgreSQL in " + directory_ +
                  " goes on as it was, as others are connected to it; end them, and the next command starts it again.");
  }
}

void WatchedServer::check_space(Clock::time_point now) {
  if (now < next_space_due_) return;
  next_space_due_ = now + space_pause_;
  if (const std::optional<std::string> warning = space_.check()) say_on_stderr(*warning);
}

}  // namespace cairn
