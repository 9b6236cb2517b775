#include "ops/service/due_starts.hpp"

#include <memory>

#include "storage/clock.hpp"
#include "storage/starts/start_book.hpp"

namespace cairn {
namespace {

constexpr int keys_at_once = 500;
constexpr long start_sleep_max_ms = 1'000;  // the longest sleep: starts come from other processes
constexpr long start_shared_pause_ms = 20;  // others have locked what is due
constexpr TimeUs refusals_kept_us = 7LL * 86'400 * 1'000'000;
constexpr TimeUs forget_every_us = 3'600'000'000;
constexpr TimeUs recall_every_us = 60'000'000;

class DueStarts {
 public:
  explicit DueStarts(Opened& opened) : store_(*opened.store), client_(store_, *opened.catalogue, "start") {}

  long work() {
    if (steady_us() - recalled_us_ > recall_every_us) {
      recalled_us_ = steady_us();
      store_.starts().recall();
    }
    const NextDue next = store_.starts().next_due();
    if (steady_us() - forgotten_us_ > forget_every_us) {
      forgotten_us_ = steady_us();
      store_.starts().forget_refused(next.now_us - refusals_kept_us);
    }
    if (const long pause_ms = sleep_ms(next, start_sleep_max_ms); pause_ms > 0) return pause_ms;
    client_.load_graphs();
    return client_.decide_starts(keys_at_once) == 0 ? start_shared_pause_ms : 0;
  }

 private:
  Store& store_;
  Client client_;
  TimeUs forgotten_us_ = -forget_every_us;
  TimeUs recalled_us_ = -recall_every_us;
};

}  // namespace

DueTask due_starts(Opened& opened) {
  return {"No start that waited begins by this process",
          [starts = std::make_shared<DueStarts>(opened)] { return starts->work(); }};
}

}  // namespace cairn
