// The rules of page_agent's prompts, in a language model's place. They know one kind of goal: put values into a form of
// the page and save it ("Add a new patient with name Jas"). Replies say that rules wrote them. Pure functions, safe
// from any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "workers/models/models.hpp"

namespace cairn {

// A goal in its own words: the values that follow `with`, `name Jas and ward "Surgery"`, and the words
// before it.
struct FormGoal {
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> values;  // field and value
};
FormGoal read_goal(const std::string& goal);

bool is_page_prompt(const ModelRequest& request);

// REQUIRES: is_page_prompt. Fails with `refused`: a prompt without data, or of an unknown node.
ModelAnswer answer_page_prompt(const ModelRequest& request);

}  // namespace cairn
