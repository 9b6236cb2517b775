// The growth of something that was sampled at even intervals, once it is warm. Pure functions, safe from any thread.
#pragma once

#include <vector>

namespace cairn {

// A difference that is none: of so much, or of such a part of the level if that is more.
struct Slack {
  double least = 0;
  double part = 0;
};

// The end of the straight line through the samples after the first quarter, divided by its beginning; 1: flat, as it
// rises by no more than the slack. A line sees what rises by steps, and looks past what goes up and down between two
// vacuums. REQUIRES: four samples at least.
double growth_once_warm(const std::vector<double>& samples, const Slack& slack);

}  // namespace cairn
