// A server that answers like a run that is done, but not at once: the first requests get status 503 with Retry-After,
// or the connection is cut once they have arrived, at once or a second later. Notes each request. Not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "tests/ops/program.hpp"

namespace cairn::program {

class OddServer {
 public:
  struct Noted {
    double at_s = 0;  // of a monotonic clock
    Json body;        // null: none
  };

  // `how`: "busy", "cut" or "late"; so often.
  OddServer(const std::string& how, int times);
  const std::string& port() const { return port_; }
  std::vector<Noted> noted() const;

 private:
  const std::string port_, notes_;
  const Beside process_;
};

}  // namespace cairn::program
