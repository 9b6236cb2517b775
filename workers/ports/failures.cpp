#include "workers/ports/failures.hpp"

#include <utility>

namespace cairn {

Failure failure(std::string error, std::string message, bool retryable) {
  return {std::move(error), std::move(message), retryable, {}};
}

Failure invalid_input(std::string message) { return failure("invalid", std::move(message), false); }

Failure bad_reply(std::string message) { return failure("bad_reply", std::move(message), true); }

Failure failure_of(const Error& refusal) {
  return failure(std::string(to_string(refusal.code)), refusal.message, refusal.code == Code::unavailable);
}

}  // namespace cairn
