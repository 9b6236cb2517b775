// Questions of a run as forms that a client shows to a person (elicitation), and what the person entered as an answer.
// A form is a flat object of texts, numbers, flags and choices: no other schema is shown. A question without one may be
// a page that the client leads the person to. Pure functions, safe from any thread.
#pragma once

#include <optional>
#include <string>

#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

struct Form {
  Json schema;             // of what is entered
  bool is_single = false;  // the answer is the form's one field, "answer"
};

// `schema`: the question's; null: it has none, so that any text will do. Nothing: no form can show it.
std::optional<Form> form_of(const Json& schema);

// The prompt as a sentence for a person.
std::string prompt_text(const Json& prompt);

// {"message", "requestedSchema"} of a question, as a run's state shows it; nothing: no form can show it.
std::optional<Json> form_request(const Json& question);

// The means of a client to ask a person.
struct Asking {
  bool shows_forms = false;
  std::string console_url;  // of the console, whose pages it opens; "": it opens none
};

// The params of an elicitation/create, of a question as open_questions() has it: {"mode": "form", ...} as above, or
// else
// {"mode": "url", "message", "url"}, the page of the run's questions. The address holds no secret: the page asks who
// comes. Nothing: the client can show neither.
std::optional<Json> elicitation(const Json& question, const Asking& asking);

// The client has led the person to the page, where the question is answered.
bool is_page_opened(const Json& question, const Asking& asking, const Json& response);

// A client's {"action": "accept", "content"}. Nothing: the person declined, or left it. Refuses `invalid`: another
// form.
Result<std::optional<Json>> entered(const Json& question, const Json& response);

// The text for a client that shows no form: the run that asks, the question, and the way to answer.
std::string question_text(const std::string& run, const Json& question);

}  // namespace cairn
