#include "workers/planners/page_agent/rules.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "engine/json_scan.hpp"
#include "workers/handlers/step_fields.hpp"
#include "workers/models/models.hpp"
#include "workers/planners/page_agent/prompts.hpp"
#include "workers/ports/failures.hpp"
#include "workers/tools/page/action.hpp"
#include "workers/tools/page/dom.hpp"

namespace cairn {
namespace {

constexpr std::size_t fields_at_once = 3;
constexpr const char* fields_hold = "The fields hold";
constexpr const char* by_rules = "(By the built-in rule book, not by a language model.)";
constexpr std::array<std::string_view, 9> opening = {"add",    "new", "create", "register", "enter",
                                                     "insert", "a",   "an",     "the"};
constexpr std::array<std::string_view, 7> saving = {"save", "submit", "add", "ok", "send", "create", "register"};
constexpr std::array<std::string_view, 5> leaving = {"cancel", "close", "back", "reset", "delete"};

template <std::size_t n>
bool is_one_of(std::string_view word, const std::array<std::string_view, n>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool holds(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string quoted(const std::string& text) { return canonical(Json(text)); }

// --- goals -----------------------------------------------------------------------------------------------------------
std::string without_marks_around(std::string text) {
  const auto is_edge = [](char c) { return c == ' ' || c == '"' || c == '\'' || c == '.' || c == ','; };
  while (!text.empty() && is_edge(text.back())) text.pop_back();
  std::size_t from = 0;
  while (from < text.size() && is_edge(text[from])) ++from;
  return text.substr(from);
}

// The parts between commas and the word "and".
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  bool in_quotes = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') in_quotes = !in_quotes;
    const bool is_and = !in_quotes && text.compare(at, 5, " and ") == 0;
    if (is_and || (!in_quotes && text[at] == ',')) {
      parts.emplace_back();
      at += is_and ? 4 : 0;
    } else {
      parts.back() += text[at];
    }
  }
  return parts;
}

// --- the page --------------------------------------------------------------------------------------------------------
const PageElement* field_for(const PageElements& page, const std::string& name) {
  const PageElement* found = nullptr;
  std::size_t best = 0;
  const std::vector<std::string> wanted = words_of(name);
  for (const PageElement& element : page) {
    if (!is_field(element) || !element.number || element.has("disabled")) continue;
    std::vector<std::string> own = words_of(element.label());
    for (const std::string& word : words_of(element.attribute("name"))) own.push_back(word);
    const auto shared = static_cast<std::size_t>(
        std::count_if(wanted.begin(), wanted.end(), [&](const std::string& word) { return holds(own, word); }));
    if (shared == wanted.size() && shared > best) {
      best = shared;
      found = &element;
    }
  }
  return found;
}

// A password is shown as stars: that there is one is all that can be seen of it.
bool is_masked(const PageElement& field) {
  return field.attribute("type") == "password" || field.attribute("value") == "***";
}

bool holds_value(const PageElement& field, const std::string& value) {
  if (is_masked(field)) return !field.attribute("value").empty();
  return words_of(field.attribute("value")) == words_of(value);
}

bool has_all_fields(const PageElements& page, const FormGoal& goal) {
  return !goal.values.empty() && std::all_of(goal.values.begin(), goal.values.end(), [&page](const auto& one) {
    return field_for(page, one.first) != nullptr;
  });
}

// The button that leads on to where the fields are: the one that shares most words with the goal.
const PageElement* opener(const PageElements& page, const FormGoal& goal) {
  const PageElement* found = nullptr;
  std::size_t best = 0;
  for (const PageElement& element : page) {
    if (!is_button(element) || !element.number || element.has("disabled")) continue;
    std::size_t score = 0;
    for (const std::string& word : words_of(element.label())) {
      if (is_one_of(word, leaving)) score = 0;
      if (holds(goal.words, word))
        score += is_one_of(word, opening) ? 1 : 2;
      else if (is_one_of(word, opening))
        ++score;
    }
    if (score > best) {
      best = score;
      found = &element;
    }
  }
  return found;
}

// The button that saves the form in which the fields stand.
const PageElement* saver(const PageElements& page, const FormGoal& goal) {
  const PageElement* field = goal.values.empty() ? nullptr : field_for(page, goal.values.front().first);
  const std::size_t form = field == nullptr ? 0 : field->form;
  const PageElement* found = nullptr;
  for (const PageElement& element : page) {
    if (!is_button(element) || !element.number || element.form != form) continue;
    const std::vector<std::string> words = words_of(element.label());
    const bool leaves =
        std::any_of(words.begin(), words.end(), [](const auto& word) { return is_one_of(word, leaving); });
    const bool saves =
        std::any_of(words.begin(), words.end(), [](const auto& word) { return is_one_of(word, saving); });
    if (saves && !leaves) return &element;
    if (!leaves && form != 0 && found == nullptr) found = &element;
  }
  return found;
}

bool is_closer(const PageElement& element) {
  const std::vector<std::string> words = words_of(element.label());
  return is_button(element) && element.number && !words.empty() && (words[0] == "close" || words[0] == "ok");
}

// --- planning --------------------------------------------------------------------------------------------------------
Json step(const std::string& description, const std::string& reasoning, const std::string& expected) {
  return {{"description", description},
          {"reasoning", reasoning},
          {"tool_type", "DOM"},
          {"expected_outcome", expected},
          {"phase", "form"}};
}

Json plan(const FormGoal& goal, const PageElements& page) {
  Json steps = Json::array();
  const PageElement* button = has_all_fields(page, goal) ? nullptr : opener(page, goal);
  if (button != nullptr) {
    steps.push_back(step("Click " + quoted(button->label()),
                         "Its words are those of the goal, and the fields are not on the page yet.",
                         "The form is open."));
  }
  for (const auto& [field, value] : goal.values) {
    steps.push_back(step("Enter " + quoted(value) + " into " + quoted(field), "The goal gives this value.",
                         "The field holds the value."));
  }
  steps.push_back(step("Save the form", "The values are kept when the form is saved.", "The page shows the values."));
  const Json contingency = {
      {"type", "POPUP_DETECTED"}, {"match", ""}, {"action", "click(\"Close\")"}, {"skip_correction", true}};
  return {{"steps", steps}, {"contingencies", {contingency}}};
}

std::vector<std::string> strings_in(const std::string& text) {
  std::vector<std::string> found;
  for (std::size_t at = text.find('"'), end = 0; at != std::string::npos; at = text.find('"', end)) {
    end = after_string(text, at + 1);
    const Result<Json> read = parse_json(text.substr(at, end - at), "a quoted text");
    if (read && read->is_string()) found.push_back(read->get<std::string>());
  }
  return found;
}

// A few fields at a time, then the form is saved.
Json sub_tasks(const FormGoal& goal) {
  Json tasks = Json::array();
  const auto add = [&tasks](const std::string& name, const std::string& objective) {
    tasks.push_back({{"name", name},
                     {"objective", objective},
                     {"inputs", Json::array()},
                     {"outputs", Json::array()},
                     {"estimated_steps", fields_at_once}});
  };
  for (std::size_t from = 0; from < goal.values.size(); from += fields_at_once) {
    std::string objective = fields_hold;
    for (std::size_t i = from; i < std::min(from + fields_at_once, goal.values.size()); ++i)
      objective += " " + quoted(goal.values[i].second);
    add("Fill in the form, part " + std::to_string(from / fields_at_once + 1), objective);
  }
  add("Save the form", "The page shows what was to be entered.");
  return {{"sub_tasks", tasks}};
}

// `{{NAME}}` stands for the secret of that name.
bool is_secret(const std::string& value) {
  return value.size() > 4 && value.starts_with("{{") && value.ends_with("}}");
}

std::string filling(std::int64_t number, const std::string& value) {
  if (is_secret(value))
    return action_text({PageAction::Kind::set_secret, number, "", value.substr(2, value.size() - 4)});
  return action_text({PageAction::Kind::set_value, number, "", value});
}

// The action of a step that these rules wrote; "" if the page does not allow it.
std::string action_of(const std::string& description, const FormGoal& goal, const PageElements& page) {
  const std::vector<std::string> texts = strings_in(description);
  const PageElement* element = nullptr;
  if (description.starts_with("Click ") && texts.size() == 1) element = find_labelled(page, texts[0]);
  if (description == "Save the form") element = saver(page, goal);
  if (element != nullptr) return action_text({PageAction::Kind::click, *element->number, "", ""});
  if (!description.starts_with("Enter ") || texts.size() != 2) return "";
  element = field_for(page, texts[1]);
  if (element == nullptr) return "";
  return filling(*element->number, texts[0]);
}

// Without a plan: what is open is filled in first, then saved.
std::string next_action(const FormGoal& goal, const PageElements& page) {
  for (const PageElement& element : page) {
    if (element.tag != "dialog") continue;
    const auto closer = std::find_if(page.begin(), page.end(), is_closer);
    if (closer != page.end()) return action_text({PageAction::Kind::click, *closer->number, "", ""});
  }
  for (const auto& [name, value] : goal.values) {
    const PageElement* field = field_for(page, name);
    if (field != nullptr && !holds_value(*field, value)) return filling(*field->number, value);
  }
  const PageElement* button = has_all_fields(page, goal) ? saver(page, goal) : opener(page, goal);
  return button == nullptr ? "" : action_text({PageAction::Kind::click, *button->number, "", ""});
}

// --- judging ---------------------------------------------------------------------------------------------------------
bool any_line_has(const Json& lines, std::string_view part) {
  return std::any_of(lines.begin(), lines.end(), [part](const Json& line) {
    return line.is_string() && line.get_ref<const std::string&>().find(part) != std::string::npos;
  });
}

// Its words with a space before and after each, so that whole words are found.
std::string spoken(std::string_view text) {
  std::string words = " ";
  for (const std::string& word : words_of(text)) words += word + " ";
  return words;
}

// Whether an element other than a field shows the value.
bool is_shown(const Json& lines, const std::string& value) {
  return std::any_of(lines.begin(), lines.end(), [&value](const Json& line) {
    const std::string text = line.is_string() ? line.get<std::string>() : std::string();
    const bool is_of_field = text.starts_with("input") || text.starts_with("select") || text.starts_with("textarea");
    return !is_of_field && spoken(text).find(spoken(value)) != std::string::npos;
  });
}

// A secret is never shown: the others speak for it.
bool shows_values(const Json& appeared, const FormGoal& goal) {
  std::size_t shown = 0;
  for (const auto& [name, value] : goal.values) {
    if (is_secret(value)) continue;
    if (!is_shown(appeared, value)) return false;
    ++shown;
  }
  return shown > 0;
}

bool is_sub_task_done(const std::string& objective, const PageElements& page, bool completed) {
  if (!objective.starts_with(fields_hold)) return completed;
  const std::vector<std::string> values = strings_in(objective);
  return std::all_of(values.begin(), values.end(), [&page](const std::string& value) {
    return std::any_of(page.begin(), page.end(), [&value](const PageElement& element) {
      return is_field(element) && holds_value(element, value);
    });
  });
}

Json verification(const Json& data, const FormGoal& goal, const PageElements& page) {
  const Json appeared = data.value("appeared", Json::array());
  const Json gone = data.value("gone", Json::array());
  const Result<PageAction> action = parse_action(text_of(data, "action"));
  const bool is_complained = any_line_has(appeared, "role alert") || any_line_has(appeared, "role dialog") ||
                             any_line_has(appeared, "dialog \"");
  const bool changed = !appeared.empty() || !gone.empty() || text_of(data, "url") != text_of(data, "previous_url");
  bool succeeded = changed && !is_complained;
  std::string reason = !changed        ? "Nothing changed on the page."
                       : is_complained ? "The page shows a message."
                                       : "The page changed.";
  const bool fills_secret = action && action->kind == PageAction::Kind::set_secret;
  if (fills_secret || (action && action->kind == PageAction::Kind::set_value)) {
    const PageElement* field = find_element(page, action->number);
    succeeded = field != nullptr && (fills_secret || holds_value(*field, action->value)) && !is_complained;
    reason = succeeded ? "The field holds the value." : "The field does not hold the value.";
  }
  const bool completed = !is_complained && shows_values(appeared, goal);
  if (completed) reason = "The page shows what was to be entered. " + std::string(by_rules);
  return {{"action_succeeded", succeeded || completed},
          {"task_completed", completed},
          {"confidence", 1},
          {"reason", reason},
          {"sub_task_completed", is_sub_task_done(text_of(data, "sub_task_objective"), page, completed)}};
}

Json plan_check(const Json& data, const FormGoal& goal, const PageElements& page) {
  const Json steps = data.value("remaining_steps", Json::array());
  const std::string next = steps.empty() ? "" : text_of(steps.front(), "description");
  const bool valid =
      data.value("change", Json::object()).value("cause", "") != "session_lost" && !action_of(next, goal, page).empty();
  return {
      {"valid", valid},
      {"reason", valid ? "The next step can be taken on this page." : "The next step cannot be taken on this page."},
      {"suggested_changes", Json::array()},
      {"needs_full_replan", !valid}};
}

Json acted(const std::string& action) { return {{"thought", by_rules}, {"action", action}}; }

std::optional<Json> reply_to(const std::string& role, const Json& data) {
  const FormGoal goal = read_goal(text_of(data, "goal"));
  const PageElements page = read_page(text_of(data, "dom"));
  if (role == "context_analysis") {
    return Json{{"needs_search", false},
                {"query", ""},
                {"rag_sufficient", true},
                {"grounding_confidence", 1},
                {"reason", "The rules look at the page alone."}};
  }
  if (role == "planning") return plan(goal, page);
  if (role == "decompose_plan") return sub_tasks(goal);
  if (role == "step_refinement") {
    const std::string action = action_of(text_of(data.value("step", Json::object()), "description"), goal, page);
    return Json{{"thought", by_rules}, {"tool_type", action.empty() ? "SERVER" : "DOM"}, {"action", action}};
  }
  if (role == "verification") return verification(data, goal, page);
  if (role == "replanning") return plan_check(data, goal, page);
  if (role == "correction" || role == "action_generation") {
    const std::string suggestion = text_of(data, "suggestion");
    return acted(suggestion.empty() ? next_action(goal, page) : suggestion);
  }
  return std::nullopt;
}

}  // namespace

FormGoal read_goal(const std::string& goal) {
  FormGoal read;
  const std::size_t with = goal.find(" with ");
  read.words = words_of(goal.substr(0, with));
  if (with == std::string::npos) return read;
  for (const std::string& raw : parts_of(goal.substr(with + 6))) {
    const std::string part = without_marks_around(raw);
    const std::size_t quote = part.find('"');
    const std::size_t cut = quote == std::string::npos ? part.rfind(' ') : quote;
    if (cut == std::string::npos || cut == 0) continue;
    std::string field = without_marks_around(part.substr(0, cut));
    const std::string value = without_marks_around(part.substr(cut));
    if (field.starts_with("the ")) field = field.substr(4);
    if (!field.empty() && !value.empty()) read.values.emplace_back(std::move(field), value);
  }
  return read;
}

bool is_page_prompt(const ModelRequest& request) { return request.schema_name.starts_with(page_agent::schema_prefix); }

ModelAnswer answer_page_prompt(const ModelRequest& request) {
  const Json data = page_agent::data_of_prompt(request.messages);
  const std::string role = request.schema_name.substr(page_agent::schema_prefix.size());
  std::optional<Json> value = data.is_object() ? reply_to(role, data) : std::nullopt;
  if (!value) {
    return failure("refused",
                   "Expected a prompt of page_agent for the rule book, but node " + request.node + " asks otherwise.",
                   false);
  }
  return rule_reply(*std::move(value));
}

}  // namespace cairn
