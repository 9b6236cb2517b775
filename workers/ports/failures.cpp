#include "workers/ports/failures.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
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

bool is_shortage(const std::error_code& fault) {
  static constexpr std::array<int, 5> numbers = {EMFILE, ENFILE, EAGAIN, ENOMEM, ENOBUFS};
  const bool is_errno = fault.category() == std::generic_category() || fault.category() == std::system_category();
  return is_errno && std::find(numbers.begin(), numbers.end(), fault.value()) != numbers.end();
}

}  // namespace cairn
