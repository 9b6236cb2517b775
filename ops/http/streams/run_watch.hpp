// The watch over runs that clients follow or wait for: one thread asks for the heads of all of them at once, so that a
// thousand followers of quiet runs cost the database one question. It asks the more seldom the longer an answer takes,
// and not at all while no run is watched. Safe from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>

#include "storage/store.hpp"

namespace cairn {

class RunWatch {
  struct Parts;

 public:
  // Called on the thread of the watch, which holds its lock: it calls nothing here.
  using OnLost = std::function<void(const std::exception& failure)>;
  // `store` lives longer. With `on_lost` the runs are lost when the store did not answer twice in a row: it is called,
  // followers are lost, and waits end. Without it they last until the store answers again.
  explicit RunWatch(Store& store, OnLost on_lost = nullptr);
  ~RunWatch();
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;

  // A subscription to a run; outlives the watch, if need be.
  class Follower {
   public:
    ~Follower();
    Follower(Follower&&) noexcept = default;
    Follower& operator=(Follower&&) = delete;
    // Nothing: not read since it is followed, or there is no such run.
    std::optional<RunHead> head() const;
    bool is_known() const;  // it was read
    bool is_lost() const;   // what is known of it may be old, and nothing newer is to be expected here

   private:
    friend class RunWatch;
    Follower(std::shared_ptr<Parts> parts, const RunId& run);
    std::shared_ptr<Parts> parts_;
    RunId run_;
  };
  Follower follow(const RunId& run);

  using WaitId = std::uint64_t;
  // Calls `resume` once, on the thread of the watch or of hurry(): when the run has ended or is lost, there is no such
  // run and none `is_to_begin`, or the time is over. `resume` does not throw, and calls nothing here.
  WaitId wait(const RunId& run, std::chrono::milliseconds time, std::function<void()> resume, bool is_to_begin = false);
  void hurry(WaitId id);   // now, if it waits still
  void forget(WaitId id);  // without a call
  bool has_waits() const;

 private:
  std::shared_ptr<Parts> parts_;
};

}  // namespace cairn
