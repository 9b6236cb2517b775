#include "workers/planners/venture_scope/reading.hpp"

#include <algorithm>
#include <utility>

#include "workers/handlers/model_call.hpp"
#include "workers/handlers/step_fields.hpp"
#include "workers/models/models.hpp"
#include "workers/planners/venture_scope/parts.hpp"
#include "workers/planners/venture_scope/profile.hpp"
#include "workers/planners/venture_scope/prompts.hpp"
#include "workers/planners/venture_scope/question.hpp"
#include "workers/planners/venture_scope/readings.hpp"
#include "workers/ports/failures.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;

constexpr std::size_t refusals_kept_max = 5;  // of one search

bool lacks_text(const StepInput& input, const char* name) {
  return text_of(input.data, name).find_first_not_of(" \t\r\n") == std::string::npos;
}

// Before the profile is laid out: whether its product is to be had from the question.
bool lacks_product(const StepInput& input) {
  if (!channel(input, "schema", Json::object()).empty()) return false;
  const Result<Json> profile = read_profile(channel(input, "profile"));
  const std::string path = profile ? product_field(profile->at("fields")) : "";
  return !path.empty() && !channel(input, "fields", Json::object()).contains(path);
}

// A choice by rules is proposed and enforced at once. Its record says what else there was.
void add_choice(Outcome& outcome, const std::string& path, const Choice& choice, const std::string& action,
                const std::string& reason) {
  outcome.facts.emplace_back(record(RecordKind::decision_proposed, {{"action", action},
                                                                    {"target", path},
                                                                    {"reason", reason},
                                                                    {"source", "rule"},
                                                                    {"value", choice.chosen.at("value")},
                                                                    {"from", choice.chosen.at("source")},
                                                                    {"weight", choice.chosen.at("weight")},
                                                                    {"readings", choice.readings.size()}}));
  outcome.facts.emplace_back(
      record(RecordKind::decision_enforced, {{"action", action}, {"target", path}, {"trail", Json::array({action})}}));
}

Json evidence_of(const Json& chosen) {
  Json evidence = {{"title", chosen.at("title")}, {"source", chosen.at("source")}, {"says", chosen.at("quote")}};
  for (const char* name : {"period", "weight", "low", "high", "hedge", "per", "names_region", "by"})
    if (chosen.contains(name)) evidence[name] = chosen[name];
  return evidence;
}

// Admitted readings by their fields, and why others were not.
struct Admitted {
  Json by_field = Json::object();
  Json refused = Json::array();
};

Admitted admit_all(const Venture& venture, const Json& readings, const Json& hits, const std::string& by) {
  Admitted admitted;
  for (const Json& reading : readings) {
    Result<Json> kept = admit_reading(venture, reading, hits, by);
    if (kept)
      admitted.by_field[text_of(reading, "field")].push_back(*std::move(kept));
    else if (admitted.refused.size() < refusals_kept_max)
      admitted.refused.push_back(kept.error().message);
  }
  return admitted;
}

// Takes the readings of one field in, and its value from the best of all that are known.
void take_readings(Venture& venture, const std::string& path, const Json& fresh, Outcome& outcome) {
  Json readings = venture.findings.value(path, Json::array());
  readings.insert(readings.end(), fresh.begin(), fresh.end());
  const Choice choice = choose_reading(venture, path, std::move(readings));
  outcome.patch["findings"][path] = choice.readings;
  if (is_said(venture, path)) {
    add_choice(outcome, path, choice, "keep", "What was said stays; " + choice.reason);
    return;
  }
  set_field(venture, path, choice.chosen.at("value"),
            {{"source", "search"},
             {"evidence", evidence_of(choice.chosen)},
             {"chosen_because", choice.reason},
             {"is_disputed", choice.is_disputed}});
  add_choice(outcome, path, choice, "take", choice.reason);
}

StepResult read_parts(const StepInput& input, const ModelReply& reply) {
  Venture venture = venture_of(input);
  const Json wanted = channel(input, "parts_wanted", Json::object());
  const std::string path = text_of(wanted, "path");
  Outcome outcome{text_of(wanted, "back") == "policy" ? "policy" : "acquire", Json::object(), {}};
  outcome.patch["parts_wanted"] = nullptr;
  if (text_of(reply.value, "formula").empty()) return outcome;
  Result<Json> parts = admit_parts(venture, path, reply.value);
  if (!parts) return bad_reply(parts.error().message);
  take_parts(venture, path, *std::move(parts));
  add_changes(venture, input, outcome);
  return outcome;
}

}  // namespace

// --- the question ----------------------------------------------------------------------------------------------------
bool is_question_unread(const StepInput& input) {
  if (lacks_text(input, "question") || !channel(input, "question_read").is_null()) return false;
  return lacks_text(input, "region") || currency_code(text_of(input.data, "currency")).empty() || lacks_product(input);
}

void take_question(const StepInput& input, const Json& reply, const std::string& by, Json& patch) {
  Json read = admitted_question(text_of(input.data, "question"), reply);
  for (const char* name : {"region", "period"})
    if (lacks_text(input, name) && read.contains(name)) patch[name] = read[name];
  if (currency_code(text_of(input.data, "currency")).empty() && read.contains("currency"))
    patch["currency"] = read["currency"];
  read["by"] = by;
  patch["question_read"] = std::move(read);
}

asio::awaitable<StepResult> read_question(StepInput input, Ports& ports) {
  ModelRequest request = venture_request(input);
  request.messages = question_messages(text_of(input.data, "question"), input.fault);
  request.schema = question_reply();
  request.schema_name = question_schema;
  const ReadReply read = [&input](const ModelReply& reply) -> StepResult {
    Outcome outcome{"read", Json::object(), {}};
    take_question(input, reply.value, reply.model, outcome.patch);
    return outcome;
  };
  co_return co_await ask_model(std::move(request), ports, read);
}

// --- documents -------------------------------------------------------------------------------------------------------
asio::awaitable<StepResult> extract_readings(StepInput input, Ports& ports) {
  const Venture venture = venture_of(input);
  const Json observation = channel(input, "observation", Json::object());
  const std::vector<std::string> paths = fields_to_read(venture, text_of(observation, "path"));
  if (paths.empty()) co_return Outcome{"extracted", {{"extraction", nullptr}}, {}};
  ModelRequest request = venture_request(input);
  request.messages =
      extraction_messages(extraction_data(venture, paths, observation.value("hits", Json::array())), input.fault);
  request.schema = extraction_reply(paths);
  request.schema_name = extraction_schema;
  const ReadReply read = [](const ModelReply& reply) -> StepResult {
    Outcome outcome{"extracted", Json::object(), {}};
    outcome.patch["extraction"] = {{"by", reply.model}, {"readings", reply.value.value("readings", Json::array())}};
    outcome.patch["read_by"] = reply.model;
    return outcome;
  };
  co_return co_await ask_model(std::move(request), ports, read);
}

// Without an extraction (the model failed, or the run's graph is older than the node) the word rules read here.
StepResult observe_documents(const StepInput& input) {
  Venture venture = venture_of(input);
  const Json observation = channel(input, "observation", Json::object());
  const std::string path = text_of(observation, "path");
  const Json hits = observation.value("hits", Json::array());
  Json extraction = channel(input, "extraction");
  if (extraction.is_null()) {
    extraction = {{"by", rule_book_name}};
    const bool is_number = !field_of(venture, path).empty() && text_of(field_of(venture, path), "type") != "text";
    if (is_number) extraction.update(extract_by_rules(extraction_data(venture, {path}, hits)));
  }
  const std::string by = text_of(extraction, "by");
  Admitted admitted = admit_all(venture, extraction.value("readings", Json::array()), hits, by);
  Outcome outcome{"observed", Json::object(), {}};
  for (const auto& [field, readings] : admitted.by_field.items()) take_readings(venture, field, readings, outcome);
  Json sources = Json::array();
  for (const Json& hit : hits) sources.push_back(text_of(hit, "source"));
  Json row = {{"path", path},        {"query", observation.value("query", "")},
              {"hits", hits.size()}, {"sources", std::move(sources)},
              {"read_by", by},       {"taken", nullptr}};
  if (admitted.by_field.contains(path))
    row["taken"] = {{"value", venture.fields.at(path).at("value")},
                    {"evidence", venture.fields.at(path).value("evidence", Json())}};
  if (!admitted.refused.empty()) row["refused"] = std::move(admitted.refused);
  outcome.patch["observations"] = Json::array({std::move(row)});
  outcome.patch["observation"] = nullptr;
  outcome.patch["extraction"] = nullptr;
  add_changes(venture, input, outcome);
  return outcome;
}

// --- parts -----------------------------------------------------------------------------------------------------------
asio::awaitable<StepResult> propose_parts(StepInput input, Ports& ports) {
  const Venture venture = venture_of(input);
  const std::string path = text_of(channel(input, "parts_wanted", Json::object()), "path");
  ModelRequest request = venture_request(input);
  request.messages = parts_messages(venture, path, text_of(input.data, "question"), input.fault);
  request.schema = parts_reply();
  request.schema_name = parts_schema;
  const ReadReply read = [&input](const ModelReply& reply) { return read_parts(input, reply); };
  co_return co_await ask_model(std::move(request), ports, read);
}

}  // namespace cairn
