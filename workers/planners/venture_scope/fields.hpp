// The knowledge of venture_scope and its growth: fields and their values, recipes (a field's formula and its
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

// The channels as a node finds them, and its changes to them.
struct Venture {
  Json profile = Json::object();
  Json schema = Json::object();          // PATH -> field of the profile
  Json recipes = Json::object();         // PATH -> {"formula", "components", "origin": "static"|"dynamic"}
  Json decompositions = Json::object();  // channel dynamic_decompositions: PATH -> {"formula", "fields"}
  Json fields = Json::object();          // PATH -> {"value", "source", "version", ...}
  Json tries = Json::object();           // PATH -> {"searched", "asked"}
  Json calculation = Json::object();     // channel last_calculation
  Json findings = Json::object();        // PATH -> what the sources say, see readings.hpp
  std::string region;
  std::string currency;
  std::string period;                        // the year that the question is about; "" any
  std::map<std::string, std::int64_t> used;  // of the budgets iterations, search, ask and calc
  std::map<std::string, std::int64_t> caps;

  std::vector<std::string> decomposed;  // by this step
  std::vector<std::string> schema_added;
  std::vector<std::string> set;      // fields that this step gave a value
  std::vector<std::string> learned;  // of those, the ones that had none
  bool schema_changed = false;
  bool recipes_changed = false;
};

// The channels that venture_of reads. Before `prepare` has written the profile into them, only region, currency and
// budgets are present.
std::vector<std::string> venture_channels();
Venture venture_of(const StepInput& input);

// A currency's three capital letters; "" for any other text.
std::string currency_code(const std::string& text);

// Writes the step's changes into the outcome: patches, and the plan's growth and progress as facts.
void add_changes(const Venture& venture, const StepInput& input, Outcome& outcome);
// Records the initial plan: the target, its components, and the other fields.
void create_plan(const Venture& venture, const std::string& goal, Outcome& outcome);

// --- fields ----------------------------------------------------------------------------------------------------------
// The schema's description of a field; an empty object for an unknown one.
const Json& field_of(const Venture& venture, const std::string& path);
bool is_known(const Venture& venture, const std::string& path);
bool may_search(const Json& field);
bool may_ask(const Json& field);
bool prefers_search(const Json& field);
std::int64_t tried(const Venture& venture, const std::string& path, const char* how);  // "searched", "asked"
// Whether a person or the run's input has given the value.
bool is_said(const Venture& venture, const std::string& path);
// `about`: source and so on. A value that was said stays, unless it is said again.
void set_field(Venture& venture, const std::string& path, Json value, const Json& about);
// Takes back a derived value that no longer follows from its components: the field is unknown again.
void withdraw_field(Venture& venture, const std::string& path, const std::string& reason);
// A field's text with {region}, {currency} and {PATH} filled in.
std::string text_of_field(const Venture& venture, const std::string& path, const char* name);
std::string filled(const Venture& venture, std::string text);
bool is_used_up(const Venture& venture, const std::string& budget);
// "276,093,750", "0.31".
std::string number_text(double number);
// A field's value with its unit: "31 %", "2,850 EUR".
std::string value_text(const Venture& venture, const std::string& path, const Json& value);

// --- the calculation -------------------------------------------------------------------------------------------------
bool is_calculator_backed(const Venture& venture);
std::string target_of(const Venture& venture);
// Whether the last calculation succeeded and no field that it read has changed since.
bool has_current_success(const Venture& venture);
// The target's value if some fields had other values, through every formula below it; nothing if it has none then.
std::optional<double> result_with(const Venture& venture, const std::map<std::string, double>& instead);
// The calculation of now, in the form of the channel last_calculation.
Json calculated(const Venture& venture);

// --- recipes, decompositions and composition -------------------------------------------------------------------------
// Stores the profile's decomposition of a field, with its recipe and its fields; false if it has none or has it
// already.
bool decompose(Venture& venture, const std::string& path);
// Stores a decomposition that the profile does not have. REQUIRES: it was admitted (parts.hpp).
void take_parts(Venture& venture, const std::string& path, Json decomposition);
// Decomposes the needed fields that have no direct source.
void decompose_ahead(Venture& venture);
// Recipes of every formula in the schema and of every decomposition.
void build_recipes(Venture& venture);
// Adds the fields of components that the schema lacks, then the values of all derived fields that are ready. Returns
// the fields whose formula has no value, with the reason.
Json compose_ready_fields(Venture& venture);

// --- what to do next -------------------------------------------------------------------------------------------------
// The fields that must come from outside for the target, or for all required fields, in the formulas' order.
std::vector<std::string> required_leaves(const Venture& venture);
// Those of required_leaves that are unknown and have a source left to try.
std::vector<std::string> actionable_missing(const Venture& venture);
// The first unknown field below a derived one that is not derived itself; "" if all are known.
std::string first_missing_component(const Venture& venture, const std::string& path);
// {"path", "kind": search|ask_user|calculate, "query"? | "question"?}. Sets `stuck` to a field without a source left.
std::optional<Json> next_acquisition_task(const Venture& venture, const std::string& path, std::string& stuck);
// The open tasks: components of decompositions without a value.
Json open_tasks(const Venture& venture);

}  // namespace cairn
