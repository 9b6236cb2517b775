// Parts of a field that no source gives and that the profile does not take apart: proposed by a model as a formula with
// the fields in it, admitted by rules. Pure functions, safe from any thread.
#pragma once

#include <string>

#include "workers/planners/venture_scope/fields.hpp"

namespace cairn {

inline constexpr const char* parts_schema = "FieldParts";

// Whether parts of the field may be proposed: it is an unknown number without formula or decomposition, for which none
// were proposed before, and the run has not had its share of proposals.
bool may_propose_parts(const Venture& venture, const std::string& path);

Json parts_messages(const Venture& venture, const std::string& path, const std::string& question,
                    const std::string& fault);
// The JSON Schema of {"formula", "parts": [{"path", "title", "type", "unit", "query", "question", "about": [PHRASE]}],
// "reason"}; an empty formula: there is no good way.
Json parts_reply();

// The proposal as a decomposition of the profile. Refuses `invalid`: its formula does not read, names fields that are
// neither parts nor known to the schema, or leads back to the field; a part's name is taken or is none; fewer than 2 or
// more than 6 parts.
Result<Json> admit_parts(const Venture& venture, const std::string& path, const Json& proposal);

}  // namespace cairn
