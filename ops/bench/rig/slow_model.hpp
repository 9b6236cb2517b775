// A model's endpoint of our own that answers every request the same after some time, on a free port of this machine.
// Not thread-safe.
#pragma once

#include <string>

#include "ops/commands.hpp"

namespace cairn {

struct SlowModelOptions {
  int latency_ms = 2'000;
};

// A process of its own: prints {"port"}, and answers until it is told to stop.
Exit bench_model(const Settings& settings, const SlowModelOptions& options);

}  // namespace cairn
