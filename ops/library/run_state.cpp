#include "ops/library/run_state.hpp"

namespace cairn::library {

bool has_ended(const Json& state) {
  const auto status = state.find("status");
  if (status == state.end() || !status->is_string())
    throw Unavailable("Expected the state of a run with its status, but it has none.");
  return *status == "done" || *status == "failed" || *status == "aborted";
}

}  // namespace cairn::library
