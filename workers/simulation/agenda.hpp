// The agenda of a simulation: events by virtual time; those of one time in the order in which they were added. Not
// thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "engine/id.hpp"

namespace cairn::simulation {

class Agenda {
 public:
  TimeUs now() const { return now_; }
  bool empty() const { return items_.empty(); }
  std::int64_t done() const { return done_; }

  void at(TimeUs when, std::function<void()> what) {
    items_.push_back({std::max(when, now_), ++last_, std::move(what)});
    std::push_heap(items_.begin(), items_.end(), later);
  }
  void after(TimeUs pause, std::function<void()> what) { at(now_ + pause, std::move(what)); }

  // REQUIRES: not empty.
  void step() {
    std::pop_heap(items_.begin(), items_.end(), later);
    const Item next = std::move(items_.back());
    items_.pop_back();
    now_ = next.when;
    ++done_;
    next.what();
  }

 private:
  struct Item {
    TimeUs when = 0;
    std::uint64_t order = 0;
    std::function<void()> what;
  };
  static bool later(const Item& a, const Item& b) { return a.when != b.when ? a.when > b.when : a.order > b.order; }

  TimeUs now_ = 0;
  std::uint64_t last_ = 0;
  std::int64_t done_ = 0;
  std::vector<Item> items_;
};

}  // namespace cairn::simulation
