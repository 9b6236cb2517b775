// The nodes of venture_scope at which something is read: the question, passages of documents, a proposal of parts; and
// `observe`, where what was read is checked, weighed and chosen. The model is asked in nodes of their own, so that each
// reading is on record; gates and rules ask none. Pure functions and coroutines, safe from any thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "workers/handlers/handler.hpp"
#include "workers/planners/venture_scope/fields.hpp"

namespace cairn {

// Whether the question is still to be read: it may name what the run lacks.
bool is_question_unread(const StepInput& input);
// The patch that a reading of the question makes. Given values stay.
void take_question(const StepInput& input, const Json& reply, const std::string& by, Json& patch);

boost::asio::awaitable<StepResult> read_question(StepInput input, Ports& ports);
boost::asio::awaitable<StepResult> extract_readings(StepInput input, Ports& ports);
boost::asio::awaitable<StepResult> propose_parts(StepInput input, Ports& ports);
StepResult observe_documents(const StepInput& input);

}  // namespace cairn
