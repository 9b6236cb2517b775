// A stand-in for a language model: it speaks chat completions, and answers a planner's prompts with the replies that a
// task has for them. It knows the documented schemas of the replies and nothing of the planners or their rule book. A
// reply that does not fit the schema that came with the prompt is a complaint, and so is a prompt without a reply. Safe
// from any thread.
//
// A reply: {"to": SCHEMA, "if"?: TEXT | [TEXTS], "says": VALUE, "times"?: N, "faults"?: [KIND]}. The first one that is
// for the schema's name, whose texts the last message has, and that is not used up (`times`, else 1; 0: never) answers.
// A text in VALUE reads the prompt: "{{after TEXT}}" is the word or number that follows TEXT there ("A > B": the first
// B after the first A), "{{before A > B}}" the one that follows the last A before the first B, "{{element TEXT}}" the
// number of the page's element that TEXT belongs to; "{{#after TEXT}}" alone in a text becomes a number.
//
// Each fault is given once before the reply: bad_json (half of it), wrong_label (a word that the schema does not have),
// refusal (by the model), empty, slow (longer than the caller waits), away (503), prose (thoughts, a fence and words
// around the reply, which is no failure).
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "engine/json.hpp"
#include "engine/result.hpp"
#include "ops/trials/local_server.hpp"

namespace cairn {

inline constexpr std::int64_t stand_in_patience_ms = 1'500;  // of the caller, for one call

// Refused as `invalid`: no list of replies, or one of them is none.
Status verify_replies(const Json& replies);

class StandIn {
 public:
  void begin(const Json& replies);  // of the next task
  LocalAnswer answer(const LocalRequest& request);

  // Since begin(): what was wrong with the replies, and how many faults were given and were to be given.
  std::vector<std::string> complaints() const;
  int faults_given() const;
  int faults_left() const;

 private:
  LocalAnswer reply_to(const Json& body);
  LocalAnswer complain(const std::string& sentence);

  mutable std::mutex mutex_;
  Json replies_ = Json::array();
  std::vector<std::int64_t> left_;  // of each reply
  std::vector<std::string> complaints_;
  int given_ = 0;
};

}  // namespace cairn
