// The lifecycle of a session: opening (again after a pause while the store is unavailable), open, draining, closing,
// closed. One state and its timers: events are its inputs, and it says what is due. Not thread-safe.
//
//   waiting --begin_opening--> opening --opened--> open --drain--> draining --begin_closing--> closing --> closed
//      ^--------- open_failed ----'|                 ^                                             store: yes or no
//                                  drain--> withdrawing --opened--> draining
//   waiting --drain--> closed,  withdrawing --open_failed--> closed
#pragma once

#include <cstdint>

#include "engine/id.hpp"

namespace cairn {

class SessionLifecycle {
 public:
  enum class State : std::uint8_t {
    waiting,      // to open: at once, or after a failed try
    opening,      // its row is being written
    withdrawing,  // the same, but it is to drain meanwhile
    open,
    draining,  // finishes what runs, commits it, offers the rest
    closing,   // its row is being removed
    closed,
  };

  void tick(TimeUs steady_us) { steady_ = steady_us; }

  // True: the driver is to open the session now.
  bool begin_opening();
  void opened();  // also when an open session has written its row again: then nothing changes
  void open_failed();
  void drain();  // may be called again
  // True: the driver is to close the session now. `is_idle`: nothing runs, is held, or is under way.
  bool begin_closing(bool is_idle);
  void closed();  // or could not be: the other sessions will see it standing still

  State state() const { return state_; }
  bool is_open() const;      // its row stands in the store, also while it drains
  bool is_draining() const;  // is to end, or has ended
  bool is_drain_over() const { return is_draining() && steady_ >= drain_until_; }  // what still runs is let go
  // Closed; or the store does not answer, long after the end of draining.
  bool is_finished() const;
  TimeUs due_us() const;  // steady: the next of its timers; `never_us`: none

 private:
  TimeUs steady_ = 0;
  State state_ = State::waiting;
  int tries_ = 0;
  TimeUs open_at_ = 0;
  TimeUs drain_until_ = never_us;
};

}  // namespace cairn
