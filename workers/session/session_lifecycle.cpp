#include "workers/session/session_lifecycle.hpp"

#include <algorithm>

namespace cairn {
namespace {

constexpr TimeUs open_pause_us = 200'000;  // longer with each try
constexpr int open_pauses_max = 5;
constexpr TimeUs drain_us = 20'000'000;
constexpr TimeUs close_us = 5'000'000;  // after draining: then it ends without an answer of the store

}  // namespace

bool SessionLifecycle::begin_opening() {
  if (state_ != State::waiting || steady_ < open_at_) return false;
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

bool SessionLifecycle::is_finished() const {
  if (state_ == State::closed) return true;
  return is_open() && is_draining() && steady_ >= drain_until_ + close_us;
}

TimeUs SessionLifecycle::due_us() const {
  switch (state_) {
    case State::waiting:
      return open_at_;
    case State::draining:
    case State::closing:
      return steady_ < drain_until_ ? drain_until_ : drain_until_ + close_us;
    default:
      return never_us;
  }
}

}  // namespace cairn
