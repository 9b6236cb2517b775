// What venture_scope knows and how more comes of it: fields and their values, recipes (a field's formula and its
// components), decompositions, composition, and the next task without a model. Pure functions over the run's channels,
// safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workers/handlers/handler.hpp"

namespace cairn {

// The channels as a node finds them, and what it changes of them.
struct Venture {
  Json profile = Json::object();
  Json schema = Json::object();          // PATH -> field of the profile
  Json recipes = Json::object();         // PATH -> {"formula", "components", "origin": "static"|"dynamic"}
  Json decompositions = Json::object();  // channel dynamic_decompositions: PATH -> {"formula", "fields"}
  Json fields = Json::object();          // PATH -> {"value", "source", "version", ...}
  Json tries = Json::object();           // PATH -> {"searched", "asked"}
  Json calculation = Json::object();     // channel last_calculation
  std::string region;
  std::string currency;
  std::map<std::string, std::int64_t> used;  // of the budgets iterations, search, ask and calc
  std::map<std::string, std::int64_t> caps;

  std::vector<std::string> decomposed;  // by this step
  std::vector<std::string> schema_added;
  std::vector<std::string> set;      // fields that this step gave a value
  std::vector<std::string> learned;  // of those, the ones that had none
  bool schema_changed = false;
  bool recipes_changed = false;
};

// Channels that venture_of reads. Before `prepare` has laid the profile out, only region, currency and budgets are
// there.
std::vector<std::string> venture_channels();
Venture venture_of(const StepInput& input);

// Three capital letters, or "" for a text that is no currency's.
std::string currency_code(const std::string& text);

// Writes what the step changed into the outcome: patches, and the plan's growth and progress as facts.
void add_changes(const Venture& venture, const StepInput& input, Outcome& outcome);
// The plan as it begins: the target, what it is made of, and the other fields.
void create_plan(const Venture& venture, const std::string& goal, Outcome& outcome);

// --- fields ----------------------------------------------------------------------------------------------------------
// How the schema describes a field; an empty object if it does not know it.
const Json& field_of(const Venture& venture, const std::string& path);
bool is_known(const Venture& venture, const std::string& path);
bool may_search(const Json& field);
bool may_ask(const Json& field);
bool prefers_search(const Json& field);
std::int64_t tried(const Venture& venture, const std::string& path, const char* how);      // "searched", "asked"
void set_field(Venture& venture, const std::string& path, Json value, const Json& about);  // about: source and so on
// A field's text with {region}, {currency} and {PATH} filled in.
std::string text_of_field(const Venture& venture, const std::string& path, const char* name);
std::string filled(const Venture& venture, std::string text);
bool is_used_up(const Venture& venture, const std::string& budget);

// --- the calculation -------------------------------------------------------------------------------------------------
bool is_calculator_backed(const Venture& venture);
std::string target_of(const Venture& venture);
// It succeeded, and no field that it read has changed since.
bool has_current_success(const Venture& venture);
// channel last_calculation as it is now.
Json calculated(const Venture& venture);

// --- recipes, decompositions and composition -------------------------------------------------------------------------
// Stores the profile's decomposition of a field, with its recipe and its fields; false if it has none or has it
// already.
bool decompose(Venture& venture, const std::string& path);
// Fields that cannot be had directly and are needed.
void decompose_ahead(Venture& venture);
// Of every formula in the schema and every decomposition.
void build_recipes(Venture& venture);
// Fields of components that the schema lacks, then values of all that is derived and ready; fields whose formula has
// none come back with the reason.
Json compose_ready_fields(Venture& venture);

// --- what to do next -------------------------------------------------------------------------------------------------
// The fields that must be had from outside for the target, or for all required fields, in the formulas' order.
std::vector<std::string> required_leaves(const Venture& venture);
// Of those the unknown ones for which something is left to try.
std::vector<std::string> actionable_missing(const Venture& venture);
// The first unknown field below a derived one that is not derived itself; "" if all are known.
std::string first_missing_component(const Venture& venture, const std::string& path);
// {"path", "kind": search|ask_user|calculate, "query"? | "question"?}. `stuck` is the field for which nothing is left.
std::optional<Json> next_acquisition_task(const Venture& venture, const std::string& path, std::string& stuck);
// Tasks that the components of decompositions leave open.
Json open_tasks(const Venture& venture);

}  // namespace cairn
