#include "ops/keeping/spent_limits.hpp"

#include <memory>
#include <random>
#include <utility>

#include "storage/limit_book.hpp"
#include "workers/ids.hpp"

namespace cairn {
namespace {

constexpr std::int32_t spent_page = 1'000;  // rows looked at in one transaction
constexpr long pass_pause_ms = 600'000;
constexpr long pause_between_pages_ms = 20;     // so that a pass takes a small part of the time, however long it is
constexpr TimeUs spent_for_us = 3'600'000'000;  // a clock that was set back so far brings none to life again

class SpentLimits {
 public:
  explicit SpentLimits(Opened& opened) : store_(*opened.store) {}

  long work() {
    SpentMark mark = std::exchange(mark_, {});  // after a failure a pass begins again
    if (store_.limits().forget_spent(mark, store_.database_time() - spent_for_us, spent_page)) {
      mark_ = mark;
      return pause_between_pages_ms;
    }
    return std::uniform_int_distribution<long>(pass_pause_ms * 9 / 10, pass_pause_ms)(thread_random());
  }

 private:
  Store& store_;
  SpentMark mark_;
};

}  // namespace

DueTask spent_limits(Opened& opened) {
  return {"Uses of limits that bind nothing any more stay for now",
          [limits = std::make_shared<SpentLimits>(opened)] { return limits->work(); }};
}

}  // namespace cairn
