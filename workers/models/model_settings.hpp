// The language models of a worker, by its settings: one endpoint from variables of its environment, others by name from
// a file. Plain values; the model that is made is used by one thread at a time.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "engine/json.hpp"
#include "engine/result.hpp"
#include "workers/models/http_model.hpp"
#include "workers/ports/ports.hpp"

namespace cairn {

struct ModelSettings {
  std::string url;       // CAIRN_MODEL_URL; "": none
  std::string model;     // CAIRN_MODEL
  std::string key;       // CAIRN_MODEL_KEY
  std::string format;    // CAIRN_MODEL_FORMAT: json_schema, json_object, none (or text)
  std::string api;       // CAIRN_MODEL_API: chat (default) or responses
  std::string stream;    // CAIRN_MODEL_STREAM: auto (default) or never
  std::string ms;        // CAIRN_MODEL_MS: the longest time of a call; "": as its node says
  std::string cost_in;   // CAIRN_MODEL_COST_IN: what a million tokens cost; "": nothing
  std::string cost_out;  // CAIRN_MODEL_COST_OUT
  std::string file;      // CAIRN_MODELS: a file of endpoints by name; "": none
  std::string script;    // CAIRN_MODEL_SCRIPT: a file of scripted answers; wins over all others

  bool names_a_model() const { return !url.empty() || !file.empty() || !script.empty(); }
};

ModelSettings model_settings_from_environment();

// The endpoints of a models file: {"models": {NAME: {"url", "model", "key"?: {"env": VARIABLE} | {"file": PATH},
// "api"?, "format"?, "stream"?, "ms"?, "cost_in"?, "cost_out"?}}, "default"?: NAME}; the settings mean what those of
// the environment mean, with numbers for ms and costs. Refuses `invalid` with a sentence that names the entry.
struct NamedEndpoints {
  std::map<std::string, ModelEndpoint, std::less<>> endpoints;
  std::string default_name;  // "": CAIRN_MODEL_URL is the default
};
Result<NamedEndpoints> parse_models(const Json& document);

// Asks the model that the request names: NAME is that endpoint with its own model, NAME/MODEL that endpoint with
// another one; any other name is a model of `otherwise`. Without `otherwise` such a request fails as `refused`.
std::unique_ptr<Model> make_named_models(std::map<std::string, std::unique_ptr<Model>, std::less<>> models,
                                         std::unique_ptr<Model> otherwise);

// Null if the settings name none. Refuses `invalid`, and `not_found` for a file that cannot be read.
Result<std::unique_ptr<Model>> make_model(const ModelSettings& settings);

}  // namespace cairn
