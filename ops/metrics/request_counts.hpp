// The requests that a process answered over HTTP, by method and route. Counted without a lock; safe from any thread.
#pragma once

#include <array>
#include <chrono>
#include <string_view>

#include "ops/metrics/work_counts.hpp"

namespace cairn {

inline constexpr std::size_t route_labels_max = 200;
inline constexpr std::array status_words = {"2xx", "3xx", "4xx", "5xx"};
inline constexpr std::string_view no_route = "none";  // the path is none of the API's

struct RequestCount {
  std::array<Count, status_words.size()> answered;  // by the class of their status
  Distribution<call_seconds> seconds;               // of those with a route, without the wait of a long poll
};

class RequestCounts {
 public:
  // `route`: a path of the table of routes, with {name} for what differs.
  void add(std::string_view method, std::string_view route, unsigned status) {
    const std::size_t place = status < 300 ? 0 : status < 400 ? 1 : status < 500 ? 2 : 3;
    by_route.of({method, route}).answered[place].add();
  }
  void add_time(std::string_view method, std::string_view route, std::chrono::steady_clock::duration took) {
    by_route.of({method, route}).seconds.add(std::chrono::duration<double>(took).count());
  }

  BoundedSeries<RequestCount, 2> by_route{route_labels_max};
};

}  // namespace cairn
