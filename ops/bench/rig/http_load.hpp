// A load on an API: requests at an even pace, and streams of events that are followed, each kind on a thread of its
// own. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/id.hpp"
#include "workers/ports/http_client.hpp"

namespace cairn {

struct PacedOptions {
  double per_second = 1;
  int connections = 1;
  int status = 200;  // of each answer
  std::function<HttpRequest(std::int64_t number)> request;
};

// Runs until it is destroyed. A request is due at its time, whether the one before it is answered or not: its time
// counts from then, so that a server that stands still for a second shows.
class PacedCalls {
 public:
  explicit PacedCalls(PacedOptions options);
  ~PacedCalls();
  std::vector<double> take();  // the times of those answered since it was asked last, in ms
  void check() const;          // throws std::runtime_error if a request failed

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// One stream of events for each run, until it is destroyed.
class Followers {
 public:
  Followers(const std::string& url, const std::vector<RunId>& runs);
  ~Followers();
  std::int64_t connected() const;  // that had an event
  // From the time of each event that came since it was asked last to its arrival, in ms.
  std::vector<double> take();
  void check() const;  // throws std::runtime_error if a stream ended

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
