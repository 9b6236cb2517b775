#include "workers/models/model_settings.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

#include "workers/models/chat_message.hpp"
#include "workers/models/models.hpp"
#include "workers/ports/failures.hpp"
#include "workers/ports/http_client.hpp"
#include "workers/ports/own_process.hpp"
#include "workers/ports/secrets.hpp"
#include "workers/ports/text_file.hpp"

namespace cairn {
namespace {

constexpr std::int64_t call_ms_max = 86'400'000;
constexpr std::size_t endpoints_max = 100;

// --- values ---------------------------------------------------------------------------------------------------------

template <class T>
Result<T> read_word(const std::string& name, const std::string& text, const std::map<std::string, T>& words) {
  if (const auto found = words.find(text); found != words.end()) return found->second;
  std::string known;
  for (const auto& [word, value] : words) known += (known.empty() ? "" : ", ") + word;
  return Error{Code::invalid, "Expected " + name + " to be one of " + known + ", but it is \"" + text + "\"."};
}

Result<ReplyFormat> read_format(const std::string& name, const std::string& text) {
  return read_word<ReplyFormat>(name, text,
                                {{"json_schema", ReplyFormat::json_schema},
                                 {"json_object", ReplyFormat::json_object},
                                 {"none", ReplyFormat::text},
                                 {"text", ReplyFormat::text}});
}

Result<ModelApi> read_api(const std::string& name, const std::string& text) {
  return read_word<ModelApi>(name, text, {{"chat", ModelApi::chat_completions}, {"responses", ModelApi::responses}});
}

Result<bool> read_stream(const std::string& name, const std::string& text) {
  return read_word<bool>(name, text, {{"auto", true}, {"never", false}});
}

template <class Number>
bool reads(const std::string& text, Number& number) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc{} && end == text.data() + text.size();
}

Result<double> read_cost(const std::string& name, const std::string& text) {
  double cost = 0;
  if (reads(text, cost) && cost >= 0 && std::isfinite(cost)) return cost;
  return Error{Code::invalid, "Expected " + name + " to be a number of at least 0, but it is \"" + text + "\"."};
}

Result<std::int64_t> read_ms(const std::string& name, const std::string& text) {
  std::int64_t ms = 0;
  if (reads(text, ms) && ms >= 1 && ms <= call_ms_max) return ms;
  return Error{Code::invalid, "Expected " + name + " to be from 1 to " + std::to_string(call_ms_max) +
                                  ", but it is \"" + text + "\"."};
}

// Reads a setting that is there into its place.
template <class T, class Place>
Status take(const std::string& name, const std::string& text, Result<T> (*read)(const std::string&, const std::string&),
            Place& place) {
  if (text.empty()) return Done{};
  Result<T> value = read(name, text);
  if (!value) return value.error();
  place = *std::move(value);
  return Done{};
}

// --- endpoints ------------------------------------------------------------------------------------------------------

// The settings as texts, by the names that a refusal calls them.
struct Named {
  std::string prefix;  // "CAIRN_MODEL_", or where the entry stands in the file
  bool is_variable = true;
  std::string of(const std::string& setting) const {
    if (!is_variable) return prefix + setting;
    std::string name = prefix + setting;
    for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return name;
  }
};

Result<ModelEndpoint> read_endpoint(const ModelSettings& settings, const Named& named) {
  ModelEndpoint endpoint;
  endpoint.url = settings.url;
  endpoint.model = settings.model;
  endpoint.api_key = settings.key;
  if (const Status usable = check_url(settings.url); !usable)
    return Error{Code::invalid, named.of("url") + ": " + usable.error().message};
  for (const Status& taken : {take(named.of("format"), settings.format, read_format, endpoint.format),
                              take(named.of("api"), settings.api, read_api, endpoint.api),
                              take(named.of("stream"), settings.stream, read_stream, endpoint.streams),
                              take(named.of("ms"), settings.ms, read_ms, endpoint.timeout_ms),
                              take(named.of("cost_in"), settings.cost_in, read_cost, endpoint.cost_in),
                              take(named.of("cost_out"), settings.cost_out, read_cost, endpoint.cost_out)})
    if (!taken) return taken.error();
  return endpoint;
}

Error bad_models(const std::string& wanted, const Json& but) {
  return {Code::invalid, "Expected " + wanted + ", but got " + excerpt(but, 200) + "."};
}

// The value of a key by its source, which is that of a secret.
Result<std::string> read_key(const std::string& name, const Json& source) {
  Result<std::vector<SecretSource>> sources = parse_secrets(Json{{name, source}});
  if (!sources) return sources.error();
  Result<Secrets> secrets = Secrets::open(*std::move(sources));
  if (!secrets) return secrets.error();
  Result<std::string, Failure> value = secrets->value(name);
  if (!value) return Error{Code::invalid, value.error().message};
  return *std::move(value);
}

Result<ModelEndpoint> parse_endpoint(const std::string& name, const Json& entry) {
  static const std::map<std::string, std::string ModelSettings::*, std::less<>> texts = {
      {"url", &ModelSettings::url},         {"model", &ModelSettings::model},      {"api", &ModelSettings::api},
      {"format", &ModelSettings::format},   {"stream", &ModelSettings::stream},    {"ms", &ModelSettings::ms},
      {"cost_in", &ModelSettings::cost_in}, {"cost_out", &ModelSettings::cost_out}};
  static const std::set<std::string, std::less<>> numbers = {"ms", "cost_in", "cost_out"};
  const std::string of = " of model \"" + name + "\"";
  if (!entry.is_object()) return bad_models("model \"" + name + "\" to be {\"url\", \"model\", ...}", entry);
  ModelSettings settings;
  for (const auto& [key, value] : entry.items()) {
    if (key == "key") continue;
    const auto text = texts.find(key);
    if (text == texts.end())
      return bad_models("only url, model, key, api, format, stream, ms, cost_in and cost_out" + of, Json(key));
    const bool is_number = numbers.contains(key);
    if (is_number ? !value.is_number() : !value.is_string())
      return bad_models("\"" + key + "\"" + of + " to be a " + (is_number ? "number" : "text"), value);
    settings.*(text->second) = is_number ? value.dump() : value.get<std::string>();
  }
  if (settings.url.empty() || settings.model.empty()) return bad_models("\"url\" and \"model\"" + of, entry);
  if (entry.contains("key")) {
    Result<std::string> key = read_key(name, entry["key"]);
    if (!key) return key.error();
    settings.key = *std::move(key);
  }
  return read_endpoint(settings, {"\"" + name + "\": ", false});
}

// --- models by name -------------------------------------------------------------------------------------------------

class NamedModels final : public Model {
 public:
  NamedModels(std::map<std::string, std::unique_ptr<Model>, std::less<>> models, std::unique_ptr<Model> otherwise)
      : models_(std::move(models)), otherwise_(std::move(otherwise)) {}

  boost::asio::awaitable<ModelAnswer> ask(ModelRequest request) override {
    const std::string asked = request.model;
    Model* model = find(request.model);
    if (model == nullptr)
      co_return failure(
          "refused", "Expected a model of this worker, but there is no " + excerpt(Json(asked), 100) + " here.", false);
    co_return co_await model->ask(std::move(request));
  }

 private:
  // Leaves in `name` what the endpoint is asked for; "": its own.
  Model* find(std::string& name) const {
    const std::size_t slash = name.find('/');
    const auto found = models_.find(std::string_view(name).substr(0, slash));
    if (found == models_.end()) return otherwise_.get();
    name = slash == std::string::npos ? "" : name.substr(slash + 1);
    return found->second.get();
  }

  std::map<std::string, std::unique_ptr<Model>, std::less<>> models_;
  std::unique_ptr<Model> otherwise_;
};

Result<std::unique_ptr<Model>> make_from_file(const ModelSettings& settings, std::unique_ptr<Model> otherwise) {
  const Result<Json> document = read_json_file(settings.file, "the models file");
  if (!document) return document.error();
  Result<NamedEndpoints> named = parse_models(*document);
  if (!named) return named.error();
  if (otherwise != nullptr && !named->default_name.empty())
    return Error{Code::invalid,
                 "Expected one default model, but both CAIRN_MODEL_URL and \"default\" of the models file name one."};
  if (!named->default_name.empty()) otherwise = make_http_model(named->endpoints.at(named->default_name));
  std::map<std::string, std::unique_ptr<Model>, std::less<>> models;
  for (auto& [name, endpoint] : named->endpoints) models[name] = make_http_model(std::move(endpoint));
  return make_named_models(std::move(models), std::move(otherwise));
}

}  // namespace

ModelSettings model_settings_from_environment() {
  ModelSettings settings;
  settings.url = environment_variable("CAIRN_MODEL_URL");
  settings.model = environment_variable("CAIRN_MODEL");
  settings.key = environment_variable("CAIRN_MODEL_KEY");
  settings.format = environment_variable("CAIRN_MODEL_FORMAT");
  settings.api = environment_variable("CAIRN_MODEL_API");
  settings.stream = environment_variable("CAIRN_MODEL_STREAM");
  settings.ms = environment_variable("CAIRN_MODEL_MS");
  settings.cost_in = environment_variable("CAIRN_MODEL_COST_IN");
  settings.cost_out = environment_variable("CAIRN_MODEL_COST_OUT");
  settings.file = environment_variable("CAIRN_MODELS");
  settings.script = environment_variable("CAIRN_MODEL_SCRIPT");
  return settings;
}

Result<NamedEndpoints> parse_models(const Json& document) {
  const Json* models = member_at(document, "models");
  if (models == nullptr || !models->is_object() || models->empty() || models->size() > endpoints_max)
    return bad_models("a models file like {\"models\": {NAME: {\"url\", \"model\"}}} with at most " +
                          std::to_string(endpoints_max) + " names",
                      document);
  NamedEndpoints named;
  for (const auto& [key, value] : document.items())
    if (key != "models" && key != "default" && key != "$schema")
      return bad_models("only models and default in the models file", Json(key));
  for (const auto& [name, entry] : models->items()) {
    if (!is_secret_name(name))
      return bad_models("the name of a model to be letters, digits and _ . - , at most 64", Json(name));
    Result<ModelEndpoint> endpoint = parse_endpoint(name, entry);
    if (!endpoint) return endpoint.error();
    named.endpoints.emplace(name, *std::move(endpoint));
  }
  if (!document.contains("default")) return named;
  named.default_name = text_at(document, "default");
  if (!named.endpoints.contains(named.default_name))
    return bad_models("\"default\" to be one of the models of the file", document["default"]);
  return named;
}

std::unique_ptr<Model> make_named_models(std::map<std::string, std::unique_ptr<Model>, std::less<>> models,
                                         std::unique_ptr<Model> otherwise) {
  return std::make_unique<NamedModels>(std::move(models), std::move(otherwise));
}

Result<std::unique_ptr<Model>> make_model(const ModelSettings& settings) {
  if (!settings.script.empty()) {
    Result<Json> script = read_json_file(settings.script, "the model's script");
    if (!script) return script.error();
    if (Status usable = check_script(*script); !usable) return std::move(usable).error();
    return make_scripted_model(*std::move(script));
  }
  std::unique_ptr<Model> model;
  if (!settings.url.empty()) {
    Result<ModelEndpoint> endpoint = read_endpoint(settings, {"CAIRN_MODEL_"});
    if (!endpoint) return endpoint.error();
    model = make_http_model(*std::move(endpoint));
  }
  if (!settings.file.empty()) return make_from_file(settings, std::move(model));
  return model;
}

}  // namespace cairn
