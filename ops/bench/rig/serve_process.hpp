// The API under measurement: a process `cairn serve` of its own. Not thread-safe.
#pragma once

#include <memory>
#include <string>

#include "ops/bench/rig/server.hpp"

namespace cairn {

// `cairn serve` on a free port of this machine.
class ServeProcess {
 public:
  explicit ServeProcess(const FreshDatabase& database);  // throws std::runtime_error
  ~ServeProcess();
  const std::string& url() const;  // of its API
  pid_t pid() const;
  double cpu_seconds() const;
  double memory_mb() const;  // its peak

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
