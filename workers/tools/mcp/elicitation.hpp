// The questions that a server has for a person (elicitation, in the mode of a form): what answers them where no person
// is asked, and the question of a run that asks one. Pure functions, safe from any thread.
#pragma once

#include <string>

#include "engine/json.hpp"
#include "engine/result.hpp"
#include "workers/ports/tools_file.hpp"

namespace cairn::mcp {

// {"action", "content"} by the policy of the entry: declined, or accepted with the defaults of the form's fields; a
// form whose required fields lack one is declined. Another mode than a form is declined too.
Json answer_by_policy(Elicitation policy, const Json& params);

// Requests of a server by their names, as in inputRequests: {NAME: {"method", "params"}}.
// {"prompt", "schema"} of the one question that asks for all of them; one alone is asked as it stands. Refuses
// `invalid`: none, more than twenty, and a request that is no form.
Result<Json> question_of(const Json& requests);

// The responses of the server's form to what a person entered: {NAME: {"action": "accept", "content"}}.
Json responses_of(const Json& requests, const Json& entered);

// The responses to all of them by a policy.
Json responses_by_policy(Elicitation policy, const Json& requests);

}  // namespace cairn::mcp
