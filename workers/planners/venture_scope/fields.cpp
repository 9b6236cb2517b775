#include "workers/planners/venture_scope/fields.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <set>

#include "workers/handlers/step_fields.hpp"
#include "workers/planners/venture_scope/formula.hpp"

namespace cairn {
namespace {

constexpr int formulas_deep_max = 32;  // of formulas in formulas; the profile's check refuses cycles

bool has_source(const Json& field, const char* source) {
  const Json sources = field.value("sources", Json::array());
  return std::find(sources.begin(), sources.end(), source) != sources.end();
}

bool is_derived(const Venture& venture, const std::string& path) { return venture.recipes.contains(path); }

const Json& components_of(const Venture& venture, const std::string& path) {
  return venture.recipes.at(path).at("components");
}

std::int64_t version_of(const Venture& venture, const std::string& path) {
  const auto found = venture.fields.find(path);
  return found == venture.fields.end() ? 0 : found->value("version", std::int64_t{0});
}

Json versions_of(const Venture& venture, const Json& paths) {
  Json versions = Json::object();
  for (const Json& path : paths) versions[path.get<std::string>()] = version_of(venture, path.get<std::string>());
  return versions;
}

// Values that people gave: no document and no formula takes their place.
bool says_source(const std::string& source) { return source == "user" || source == "input" || source == "question"; }

void note_set(Venture& venture, const std::string& path) {
  if (std::find(venture.set.begin(), venture.set.end(), path) == venture.set.end()) venture.set.push_back(path);
}

std::string with_commas(std::string digits) {
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = point; at > first + 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

// Whole numbers as such, so that they are shown without a fraction.
Json number_json(double value) {
  const bool is_whole = std::fabs(value) < 9e15 && value == std::trunc(value);
  return is_whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

Calculation calculate_field(const Venture& venture, const std::string& formula) {
  return calculate(formula, [&venture](const std::string& name) -> NamedNumber {
    const auto known = venture.fields.find(name);
    if (known != venture.fields.end() && known->at("value").is_number()) return known->at("value").get<double>();
    if (is_known(venture, name)) return "Expected a number for " + name + ", but it is no number.";
    if (venture.schema.contains(name)) return NoValueYet{};
    return "Expected a field, but there is none named " + name + ".";
  });
}

// Every leaf below a path, first use first.
void add_leaves(const Venture& venture, const std::string& path, std::set<std::string>& seen,
                std::vector<std::string>& leaves) {
  if (!seen.insert(path).second) return;
  if (!is_derived(venture, path)) return leaves.push_back(path);
  for (const Json& component : components_of(venture, path))
    add_leaves(venture, component.get<std::string>(), seen, leaves);
}

bool has_rule(const Venture& venture, const std::string& path) {
  return venture.profile.value("decompositions", Json::object()).contains(path) &&
         !venture.decompositions.contains(path);
}

bool can_search(const Venture& venture, const std::string& path) {
  return may_search(field_of(venture, path)) && tried(venture, path, "searched") == 0 && !is_used_up(venture, "search");
}

bool can_ask(const Venture& venture, const std::string& path) {
  return may_ask(field_of(venture, path)) && tried(venture, path, "asked") == 0 && !is_used_up(venture, "ask");
}

bool requires_components(const Venture& venture, const std::string& path) {
  return field_of(venture, path).value("requires_components", false) && !is_derived(venture, path);
}

Json search_task(const Venture& venture, const std::string& path) {
  return {{"path", path}, {"kind", "search"}, {"query", text_of_field(venture, path, "query")}};
}

Json ask_task(const Venture& venture, const std::string& path) {
  return {{"path", path}, {"kind", "ask_user"}, {"question", text_of_field(venture, path, "question")}};
}

// --- the plan --------------------------------------------------------------------------------------------------------
std::int32_t depth_of(const Venture& venture, const std::string& path, int left = formulas_deep_max) {
  for (const auto& [above, recipe] : venture.recipes.items()) {
    const Json& parts = recipe.at("components");
    if (left > 0 && std::find(parts.begin(), parts.end(), path) != parts.end())
      return 1 + depth_of(venture, above, left - 1);
  }
  return 0;
}

PlanChild plan_child(const Venture& venture, const std::string& path) {
  return {path, text_of_field(venture, path, "title"), {}, nullptr};
}

// Children that stand elsewhere in the tree already are left out: a field is in the plan once.
void add_decomposition(const Venture& venture, const std::string& path, std::set<std::string>& planned,
                       Outcome& outcome) {
  TaskDecomposed fact{path, text_of(venture.recipes.at(path), "origin"), depth_of(venture, path) + 1, {}, {}, 0};
  for (const Json& component : components_of(venture, path))
    if (planned.insert(component.get<std::string>()).second)
      fact.children.push_back(plan_child(venture, component.get<std::string>()));
  const std::vector<PlanChild> children = fact.children;
  outcome.facts.emplace_back(std::move(fact));
  for (const PlanChild& child : children)
    if (is_derived(venture, child.id)) add_decomposition(venture, child.id, planned, outcome);
}

// The plan's paths before this step.
std::set<std::string> planned_before(const Venture& venture) {
  std::set<std::string> planned;
  for (const auto& [path, field] : venture.schema.items()) planned.insert(path);
  for (const std::string& path : venture.schema_added) planned.erase(path);
  return planned;
}

void add_progress(const Venture& venture, std::int64_t version, Outcome& outcome) {
  if (venture.learned.empty()) return;
  PlanRevised revised{version, "values", Json::array()};
  for (const std::string& path : venture.learned)
    revised.changes.push_back({{"op", "update"}, {"id", path}, {"status", "succeeded"}});
  outcome.facts.emplace_back(std::move(revised));
}

// --- composition -----------------------------------------------------------------------------------------------------
void complete_schema(Venture& venture) {
  for (const auto& [path, decomposition] : venture.decompositions.items()) {
    for (const auto& [part, field] : decomposition.at("fields").items()) {
      if (venture.schema.contains(part)) continue;
      venture.schema[part] = field;
      venture.schema_added.push_back(part);
      venture.schema_changed = true;
    }
  }
}

bool has_all_components(const Venture& venture, const std::string& path) {
  const Json& components = components_of(venture, path);
  return std::all_of(components.begin(), components.end(),
                     [&venture](const Json& component) { return is_known(venture, component.get<std::string>()); });
}

bool is_ready(const Venture& venture, const std::string& path) {
  const Json& components = components_of(venture, path);
  if (!has_all_components(venture, path)) return false;
  if (!is_known(venture, path)) return true;
  const Json& field = venture.fields.at(path);
  return field.value("source", "") == "derived" && field.value("from", Json()) != versions_of(venture, components);
}

}  // namespace

const Json& field_of(const Venture& venture, const std::string& path) {
  static const Json none = Json::object();
  const auto found = venture.schema.find(path);
  return found == venture.schema.end() ? none : *found;
}

// --- reading and writing ---------------------------------------------------------------------------------------------
std::vector<std::string> venture_channels() {
  return {"profile",  "schema",   "recipes", "dynamic_decompositions", "fields", "tries", "last_calculation", "region",
          "currency", "findings", "period"};
}

Venture venture_of(const StepInput& input) {
  Venture venture;
  venture.region = text_of(input.data, "region");
  venture.currency = currency_code(text_of(input.data, "currency"));
  venture.period = text_of(input.data, "period");
  venture.used = input.budgets;
  venture.caps = input.caps;
  venture.schema = channel(input, "schema", Json::object());
  if (venture.schema.empty()) return venture;  // profile and fields are as the input has them
  venture.profile = channel(input, "profile", Json::object());
  venture.recipes = channel(input, "recipes", Json::object());
  venture.decompositions = channel(input, "dynamic_decompositions", Json::object());
  venture.fields = channel(input, "fields", Json::object());
  venture.tries = channel(input, "tries", Json::object());
  venture.calculation = channel(input, "last_calculation", Json::object());
  venture.findings = channel(input, "findings", Json::object());
  return venture;
}

std::string currency_code(const std::string& text) {
  std::string code = text;
  std::transform(code.begin(), code.end(), code.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  const bool is_code =
      code.size() == 3 && std::all_of(code.begin(), code.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  return is_code ? code : "";
}

void add_changes(const Venture& venture, const StepInput& input, Outcome& outcome) {
  for (const std::string& path : venture.set) outcome.patch["fields"][path] = venture.fields.at(path);
  if (venture.schema_changed) outcome.patch["schema"] = venture.schema;
  if (venture.recipes_changed) outcome.patch["recipes"] = venture.recipes;
  if (!venture.decomposed.empty()) outcome.patch["dynamic_decompositions"] = venture.decompositions;
  if (input.plan_version == 0) return;  // create_plan has it all
  std::set<std::string> planned = planned_before(venture);
  for (const std::string& path : venture.decomposed)
    if (is_derived(venture, path)) add_decomposition(venture, path, planned, outcome);
  add_progress(venture, input.plan_version + 1, outcome);
}

void create_plan(const Venture& venture, const std::string& goal, Outcome& outcome) {
  std::set<std::string> parts;
  for (const auto& [path, recipe] : venture.recipes.items())
    for (const Json& component : recipe.at("components")) parts.insert(component.get<std::string>());
  PlanCreated created{1, goal, {}};
  std::set<std::string> planned;
  for (const auto& [path, field] : venture.schema.items()) {
    if (parts.contains(path)) continue;
    created.children.push_back(plan_child(venture, path));
    planned.insert(path);
  }
  const std::vector<PlanChild> roots = created.children;
  outcome.facts.emplace_back(std::move(created));
  for (const PlanChild& root : roots)
    if (is_derived(venture, root.id)) add_decomposition(venture, root.id, planned, outcome);
  add_progress(venture, 2, outcome);
}

// --- fields ----------------------------------------------------------------------------------------------------------
bool is_known(const Venture& venture, const std::string& path) {
  const auto found = venture.fields.find(path);
  return found != venture.fields.end() && !found->at("value").is_null();
}

bool may_search(const Json& field) { return has_source(field, "search"); }
bool may_ask(const Json& field) { return has_source(field, "user"); }
bool prefers_search(const Json& field) {
  const Json sources = field.value("sources", Json::array());
  return !sources.empty() && sources[0] == "search";
}

std::int64_t tried(const Venture& venture, const std::string& path, const char* how) {
  return venture.tries.value(path, Json::object()).value(how, std::int64_t{0});
}

bool is_said(const Venture& venture, const std::string& path) {
  return is_known(venture, path) && says_source(text_of(venture.fields.at(path), "source"));
}

void set_field(Venture& venture, const std::string& path, Json value, const Json& about) {
  if (is_said(venture, path) && !says_source(text_of(about, "source"))) return;
  const bool is_new = !is_known(venture, path);
  const bool is_same = !is_new && venture.fields.at(path).at("value") == value;
  Json field = about;
  field["version"] = version_of(venture, path) + (is_same ? 0 : 1);
  field["value"] = std::move(value);
  if (!is_new && venture.fields.at(path) == field) return;
  venture.fields[path] = std::move(field);
  note_set(venture, path);
  if (is_new) venture.learned.push_back(path);
}

void withdraw_field(Venture& venture, const std::string& path, const std::string& reason) {
  if (!is_known(venture, path) || text_of(venture.fields.at(path), "source") != "derived") return;
  venture.fields[path] = {
      {"value", nullptr}, {"source", "derived"}, {"version", version_of(venture, path) + 1}, {"fault", reason}};
  note_set(venture, path);
}

std::string filled(const Venture& venture, std::string text) {
  const auto put = [&text](const std::string& name, const std::string& value) {
    const std::string mark = "{" + name + "}";
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size()))
      text.replace(at, mark.size(), value);
  };
  put("region", venture.region);
  put("currency", venture.currency);
  for (const auto& [path, field] : venture.fields.items()) {
    const Json& value = field.at("value");
    put(path, value.is_string() ? value.get<std::string>() : canonical(value));
  }
  for (const auto& [path, field] : venture.schema.items()) put(path, text_of(field, "title"));
  return text;
}

std::string text_of_field(const Venture& venture, const std::string& path, const char* name) {
  const Json& field = field_of(venture, path);
  std::string text = text_of(field, name);
  if (text.empty()) text = text_of(field, "title").empty() ? path : text_of(field, "title");
  if (text_of(field, name).empty() && std::string_view(name) == "question")
    text = "What is the value of: " + text + "?";
  return filled(venture, std::move(text));
}

bool is_used_up(const Venture& venture, const std::string& budget) {
  const auto used = venture.used.find(budget);
  const auto cap = venture.caps.find(budget);
  return used != venture.used.end() && cap != venture.caps.end() && used->second >= cap->second;
}

std::string number_text(double number) {
  char text[64];
  const bool is_large = std::fabs(number) >= 1000;
  if (is_large && std::fabs(number) < 1e18) {
    std::snprintf(text, sizeof text, "%.0f", number);
    return with_commas(text);
  }
  std::snprintf(text, sizeof text, "%.6g", number);
  return text;
}

std::string value_text(const Venture& venture, const std::string& path, const Json& value) {
  const Json& field = venture.schema.at(path);
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number()) return canonical(value);
  const std::string type = text_of(field, "type");
  if (type == "share") return number_text(value.get<double>() * 100) + " %";
  const std::string unit = type == "money" ? venture.currency : filled(venture, text_of(field, "unit"));
  return number_text(value.get<double>()) + (unit.empty() ? "" : " " + unit);
}

// --- the calculation -------------------------------------------------------------------------------------------------
std::string target_of(const Venture& venture) {
  return text_of(venture.profile.value("calculator", Json::object()), "target");
}

bool is_calculator_backed(const Venture& venture) { return !target_of(venture).empty(); }

bool has_current_success(const Venture& venture) {
  if (text_of(venture.calculation, "status") != "SUCCESS") return false;
  const Json inputs = venture.calculation.value("inputs", Json::object());
  for (const auto& [path, version] : inputs.items())
    if (version != version_of(venture, path)) return false;
  return true;
}

std::optional<double> result_with(const Venture& venture, const std::map<std::string, double>& instead) {
  std::map<std::string, std::optional<double>> known;
  const std::function<std::optional<double>(const std::string&)> value_of =
      [&](const std::string& path) -> std::optional<double> {
    if (const auto other = instead.find(path); other != instead.end()) return other->second;
    if (const auto seen = known.find(path); seen != known.end()) return seen->second;
    std::optional<double> value;
    known[path] = value;  // a formula that reaches itself has none
    if (is_derived(venture, path) && !(is_said(venture, path) && path != target_of(venture))) {
      const Calculation made =
          calculate(text_of(venture.recipes.at(path), "formula"), [&](const std::string& name) -> NamedNumber {
            if (const std::optional<double> number = value_of(name)) return *number;
            return NoValueYet{};
          });
      if (made.status == CalculationStatus::success) value = made.value;
    } else if (is_known(venture, path) && venture.fields.at(path).at("value").is_number()) {
      value = venture.fields.at(path).at("value").get<double>();
    }
    known[path] = value;
    return value;
  };
  return value_of(target_of(venture));
}

Json calculated(const Venture& venture) {
  const std::string target = target_of(venture);
  const std::string formula = text_of(field_of(venture, target), "formula");
  const Calculation calculation = calculate_field(venture, formula);
  Json made = {{"status", to_string(calculation.status)}, {"path", target}, {"formula", formula}};
  if (calculation.status == CalculationStatus::success) made["result"] = number_json(calculation.value);
  if (!calculation.blocked_path.empty()) made["blocked_path"] = calculation.blocked_path;
  if (!calculation.message.empty()) made["message"] = calculation.message;
  if (is_derived(venture, target)) made["inputs"] = versions_of(venture, components_of(venture, target));
  return made;
}

// --- recipes, decompositions and composition -------------------------------------------------------------------------
bool decompose(Venture& venture, const std::string& path) {
  if (!has_rule(venture, path)) return false;
  take_parts(venture, path, venture.profile.at("decompositions").at(path));
  return true;
}

void take_parts(Venture& venture, const std::string& path, Json decomposition) {
  venture.decompositions[path] = std::move(decomposition);
  venture.decomposed.push_back(path);
  build_recipes(venture);
  complete_schema(venture);
}

void decompose_ahead(Venture& venture) {
  for (const std::string& path : required_leaves(venture)) {
    const bool wanted = !is_known(venture, path) && requires_components(venture, path) && has_rule(venture, path);
    if (!wanted) continue;
    venture.decompositions[path] = venture.profile.at("decompositions").at(path);
    venture.decomposed.push_back(path);
  }
}

void build_recipes(Venture& venture) {
  const auto add = [&venture](const std::string& path, const std::string& formula, const char* origin) {
    if (formula.empty() || venture.recipes.contains(path)) return;
    const Result<std::vector<std::string>> names = names_in(formula);
    if (!names) return;  // the profile's check has refused it
    venture.recipes[path] = {{"formula", formula}, {"components", *names}, {"origin", origin}};
    venture.recipes_changed = true;
  };
  for (const auto& [path, field] : venture.schema.items()) add(path, text_of(field, "formula"), "static");
  for (const auto& [path, decomposition] : venture.decompositions.items())
    add(path, text_of(decomposition, "formula"), "dynamic");
}

Json compose_ready_fields(Venture& venture) {
  complete_schema(venture);
  Json faults = Json::object();
  for (std::size_t round = 0; round <= venture.recipes.size(); ++round) {
    bool has_more = false;
    for (const auto& [path, recipe] : venture.recipes.items()) {
      if (path == target_of(venture) || faults.contains(path)) continue;
      if (!has_all_components(venture, path)) {
        const bool was_known = is_known(venture, path);
        withdraw_field(venture, path, "A component has no value any more.");
        has_more = has_more || (was_known && !is_known(venture, path));
        continue;
      }
      if (!is_ready(venture, path)) continue;
      const Calculation made = calculate_field(venture, text_of(recipe, "formula"));
      if (made.status != CalculationStatus::success) {
        faults[path] = made.message;
        has_more = has_more || is_known(venture, path);
        withdraw_field(venture, path, made.message);
        continue;
      }
      Json about = {{"source", "derived"}, {"formula", recipe.at("formula")}};
      about["from"] = versions_of(venture, recipe.at("components"));
      set_field(venture, path, number_json(made.value), about);
      has_more = true;
    }
    if (!has_more) break;
  }
  return faults;
}

// --- what to do next -------------------------------------------------------------------------------------------------
std::vector<std::string> required_leaves(const Venture& venture) {
  std::set<std::string> seen;
  std::vector<std::string> leaves;
  if (is_calculator_backed(venture)) add_leaves(venture, target_of(venture), seen, leaves);
  for (const auto& [path, field] : venture.schema.items()) {
    const bool is_wanted = !is_calculator_backed(venture) && field.value("required", true);
    const bool is_text = field.value("type", "") == "text" && field.value("required", true);
    if (is_wanted || is_text) add_leaves(venture, path, seen, leaves);
  }
  const auto is_text = [&venture](const std::string& path) {
    return field_of(venture, path).value("type", "") == "text";
  };
  std::stable_partition(leaves.begin(), leaves.end(), is_text);  // the texts of others are made of them
  return leaves;
}

std::vector<std::string> actionable_missing(const Venture& venture) {
  std::vector<std::string> missing;
  for (const std::string& path : required_leaves(venture)) {
    const bool has_way = can_search(venture, path) || can_ask(venture, path) ||
                         (requires_components(venture, path) && has_rule(venture, path));
    if (!is_known(venture, path) && has_way) missing.push_back(path);
  }
  return missing;
}

std::string first_missing_component(const Venture& venture, const std::string& path) {
  std::set<std::string> seen;
  std::vector<std::string> leaves;
  add_leaves(venture, path, seen, leaves);
  for (const std::string& leaf : leaves)
    if (leaf != path && !is_known(venture, leaf)) return leaf;
  return "";
}

std::optional<Json> next_acquisition_task(const Venture& venture, const std::string& path, std::string& stuck) {
  if (is_known(venture, path)) return Json{{"path", path}, {"kind", "calculate"}};
  const std::string wanted = is_derived(venture, path) ? first_missing_component(venture, path) : path;
  stuck = wanted.empty() ? path : wanted;
  if (wanted.empty() || !venture.schema.contains(wanted)) return std::nullopt;
  const Json& field = field_of(venture, wanted);
  const bool search_first = prefers_search(field);
  if (search_first && can_search(venture, wanted)) return search_task(venture, wanted);
  if (can_ask(venture, wanted)) return ask_task(venture, wanted);
  if (can_search(venture, wanted)) return search_task(venture, wanted);
  return std::nullopt;
}

Json open_tasks(const Venture& venture) {
  Json tasks = Json::array();
  for (const auto& [path, recipe] : venture.recipes.items()) {
    if (recipe.at("origin") != "dynamic" || is_known(venture, path)) continue;
    std::string stuck;
    if (std::optional<Json> task = next_acquisition_task(venture, path, stuck)) tasks.push_back(*std::move(task));
  }
  return tasks;
}

}  // namespace cairn
