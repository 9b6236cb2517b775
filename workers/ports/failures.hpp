// Failed attempts of a step: what ports, tools and handlers return in place of a result. A retryable one is tried again
// after the node's backoff, as its retry policy allows; any other would fail the same way again.
// A process that lacks descriptors, memory, threads or processes has made no attempt: its ports throw a
// std::system_error, and the worker gives the step back. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <system_error>

#include "engine/command.hpp"
#include "engine/result.hpp"

namespace cairn {

// `error`: one word, as it stands on record. `message`: one sentence for a person.
Failure failure(std::string error, std::string message, bool retryable);

// `invalid`, not retryable: the attempt's input is wrong.
Failure invalid_input(std::string message);

// `bad_reply`, retryable: the model's reply cannot be used.
Failure bad_reply(std::string message);

// A refusal as a failed attempt, under its code's word; retryable only if it is `unavailable`.
Failure failure_of(const Error& refusal);

// This process, or its machine, lacks descriptors, memory, threads or processes.
bool is_shortage(const std::error_code& fault);

}  // namespace cairn
