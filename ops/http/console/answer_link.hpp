// Links by which one question is answered without a token of the API: what a link says, signed with the database's key.
// It holds until its time is over or the question is closed, and for that question alone. Pure functions and plain
// values, safe from any thread.
#pragma once

#include <string>
#include <string_view>

#include "engine/id.hpp"
#include "engine/result.hpp"

namespace cairn {

struct AnswerLink {
  RunId run;
  std::string question;
  std::string by;  // the actor of the answer, in the history
  TimeUs expires_at = 0;
};

// Letters, digits and "-_.": fit for an address.
std::string link_token(const AnswerLink& link, std::string_view key);

// Refuses `invalid`: the token is not one that this key signed; `closed`: its time is over.
Result<AnswerLink> link_of(std::string_view token, std::string_view key, TimeUs now);

}  // namespace cairn
