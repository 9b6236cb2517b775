#include "ops/bench/rig/flatness.hpp"

#include <algorithm>

#include "engine/result.hpp"

namespace cairn {

double growth_once_warm(const std::vector<double>& samples, const Slack& slack) {
  CHECK(samples.size() >= 4);
  const std::size_t warm = samples.size() / 4, last = samples.size() - 1;
  const double middle = static_cast<double>(warm + last) / 2, count = static_cast<double>(samples.size() - warm);
  double mean = 0, together = 0, square = 0;
  for (std::size_t at = warm; at <= last; ++at) mean += samples[at] / count;
  for (std::size_t at = warm; at <= last; ++at) {
    const double from_middle = static_cast<double>(at) - middle;
    together += from_middle * (samples[at] - mean);
    square += from_middle * from_middle;
  }
  const double rise = together / square * static_cast<double>(last - warm), level = mean - rise / 2;
  if (rise <= std::max(slack.least, slack.part * level)) return 1;
  return 1 + rise / std::max(level, slack.least);
}

}  // namespace cairn
