#include "workers/session/session_lifecycle.hpp"

#include <algorithm>
#include <utility>

#include "engine/result.hpp"

namespace cairn {
namespace {

constexpr TimeUs open_pause_us = 200'000;  // longer with each try
constexpr int open_pauses_max = 5;
constexpr TimeUs drain_us = 20'000'000;
constexpr TimeUs close_us = 5'000'000;  // after draining: then it ends without an answer of the store
constexpr TimeUs hurried_close_us = 2'000'000;
constexpr TimeUs silence_us = 10'000'000;     // of the store: a session that drains ends then
constexpr TimeUs silence_min_us = 3'000'000;  // of that, since it drains

}  // namespace

SessionLifecycle::SessionLifecycle() : close_us_(close_us) {}

bool SessionLifecycle::begin_opening() {
  if (state_ != State::waiting || steady_ < open_at_) return false;
  CHECK(!is_draining());  // drain() closes a session that waits: its row would be opened for nothing
  ++tries_;
  state_ = State::opening;
  return true;
}

void SessionLifecycle::opened() {
  switch (state_) {
    case State::opening:
      state_ = State::open;
      return;
    case State::withdrawing:
      state_ = State::draining;  // its row exists: it must be closed as any other
      return;
    default:
      return;
  }
}

void SessionLifecycle::open_failed() {
  switch (state_) {
    case State::opening:
      state_ = State::waiting;
      open_at_ = steady_ + open_pause_us * std::min(tries_, open_pauses_max);
      return;
    case State::withdrawing:
      state_ = State::closed;
      return;
    default:
      return;
  }
}

void SessionLifecycle::drain() {
  if (is_draining()) return;
  drain_from_ = steady_;
  drain_until_ = steady_ + drain_us;
  switch (state_) {
    case State::waiting:
      state_ = State::closed;
      return;
    case State::opening:
      state_ = State::withdrawing;
      return;
    default:
      state_ = State::draining;
      return;
  }
}

// A second request: what still runs is let go at once, and the store has less time to answer.
void SessionLifecycle::hurry() {
  drain();
  if (std::exchange(close_us_, hurried_close_us) == hurried_close_us) return;
  drain_until_ = std::min(drain_until_, steady_);
}

void SessionLifecycle::asked() {
  if (silent_since_ == never_us) silent_since_ = steady_;
}

// Any answer ends the silence: a store that serves some calls is slow, not away.
void SessionLifecycle::answered(std::int64_t under_way) {
  CHECK(under_way >= 0);
  silent_since_ = under_way > 0 ? steady_ : never_us;
}

bool SessionLifecycle::begin_closing(bool is_idle) {
  if (state_ != State::draining || !is_idle) return false;
  state_ = State::closing;
  return true;
}

void SessionLifecycle::closed() { state_ = State::closed; }

bool SessionLifecycle::is_open() const {
  return state_ == State::open || state_ == State::draining || state_ == State::closing;
}

bool SessionLifecycle::is_draining() const { return drain_until_ != never_us; }

bool SessionLifecycle::is_abandoned() const {
  if (!is_draining() || state_ == State::closed) return false;
  // An idle session waits for its store as long as it takes; only one that is to end has a reason to leave without it.
  const bool is_silent = silent_since_ != never_us && steady_ >= silent_since_ + silence_us;
  return steady_ >= drain_until_ + close_us_ || (is_silent && steady_ >= drain_from_ + silence_min_us);
}

TimeUs SessionLifecycle::due_us() const {
  switch (state_) {
    case State::waiting:
      return open_at_;
    case State::withdrawing:
    case State::draining:
    case State::closing: {
      // The same moments as is_drain_over() and is_abandoned(): the driver sleeps until the first of them.
      const TimeUs end = steady_ < drain_until_ ? drain_until_ : drain_until_ + close_us_;
      if (silent_since_ == never_us) return end;
      return std::min(end, std::max(silent_since_ + silence_us, drain_from_ + silence_min_us));
    }
    default:
      return never_us;
  }
}

}  // namespace cairn
