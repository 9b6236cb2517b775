#include "workers/handlers/logic_bounds.hpp"

#include <ctime>
#include <string>

namespace cairn {

std::int64_t LogicBounds::processor_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000 + now.tv_nsec / 1'000'000;
}

Status LogicBounds::count(std::size_t values) {
  values_ += values;
  return values_ < values_max ? Status(Done{}) : check_clock();
}

Status LogicBounds::check_clock() {
  values_ = 0;
  if (processor_ms() - began_ms_ <= ms_max) return Done{};
  return Error{Code::limit, "Expected the logic of a step to take at most " + std::to_string(ms_max) +
                                " ms of processor time, but it takes more."};
}

}  // namespace cairn
