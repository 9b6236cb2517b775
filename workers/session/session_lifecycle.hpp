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
  SessionLifecycle();

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
  void hurry();  // drains, but lets go of what still runs at once
  // News of the store: a call was asked of it, or one has been answered while `under_way` are not.
  void asked();
  void answered(std::int64_t under_way);
  // True: the driver is to close the session now. `is_idle`: nothing runs, is held, or is under way.
  bool begin_closing(bool is_idle);
  void closed();  // or could not be: the other sessions will see it standing still

  State state() const { return state_; }
  bool is_open() const;      // its row stands in the store, also while it drains
  bool is_draining() const;  // is to end, or has ended
  bool is_drain_over() const { return is_draining() && steady_ >= drain_until_; }  // what still runs is let go
  // Closed; or the store does not answer.
  bool is_finished() const { return state_ == State::closed || is_abandoned(); }
  // To end without the store, which has not answered for long: other sessions take over what is held.
  bool is_abandoned() const;
  TimeUs due_us() const;  // steady: the next of its timers; `never_us`: none

 private:
  TimeUs steady_ = 0;
  State state_ = State::waiting;
  int tries_ = 0;
  TimeUs open_at_ = 0;
  TimeUs drain_until_ = never_us;
  TimeUs drain_from_ = never_us;
  TimeUs close_us_;                 // from the end of draining to an end without the store
  TimeUs silent_since_ = never_us;  // calls are asked, and none has been answered
};

}  // namespace cairn
