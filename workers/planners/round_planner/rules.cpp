#include "workers/planners/round_planner/rules.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/text.hpp"
#include "workers/handlers/step_fields.hpp"
#include "workers/models/models.hpp"
#include "workers/planners/round_planner/prompts.hpp"
#include "workers/ports/failures.hpp"
#include "workers/tools/data/question.hpp"

namespace cairn {
namespace {

constexpr const char* signature = "(Answered by the built-in rule book, not by a language model.)";
constexpr int retries_max = 2;

// --- planning a round ------------------------------------------------------------------------------------------------
bool is_worth_a_retry(const Json& failed) {
  const std::string error = text_of(failed, "error");
  return error == "unavailable" || error == "timeout" || error == "lost" || error == "unreachable";
}

// One round: what the answer needs and is not there yet, from its end to its beginning.
class RoundPlan {
 public:
  explicit RoundPlan(const Json& data)
      : goal_(data.value("main_goal", Json::object())),
        completed_(data.value("completed_outputs", Json::object())),
        failed_(data.value("failed_sub_goals", Json::array())) {
    for (const auto& [id, slots] : completed_.items()) note_id(id);
    for (const Json& row : failed_) note_id(text_of(row, "id"));
  }

  Json decided() {
    const Json facts = goal_.value("facts", Json::object());
    if (facts.value("common_question", false)) return single("common_helpdesk", "answer", {{"question", question()}});
    if (facts.value("ambiguous", false)) return single("clarify_question", "question", Json::object());
    const std::string metadata = slot("metadata_results");
    if (metadata.empty() || !is_of_this_goal(metadata))
      return next("metadata_lookup", {{"question", text_of(analysis(), "question")}}, false);
    const Json& found = completed_[metadata]["metadata_results"];
    const bool explains = text_of(analysis(), "kind") == "meaning";  // of all that a name may be
    const bool is_unclear =
        !found.value("unresolved", Json::array()).empty() || (found.contains("rivals") && !explains);
    if (is_unclear && !goal_.contains("clarification")) {
      Json decision =
          single("clarify_question", "question", {{"metadata_results", reference(metadata, "metadata_results")}});
      decision["facts"] = {{"ambiguous", true}};
      return decision;
    }
    if (explains)
      return single("explain_metadata", "explanation", {{"metadata_results", reference(metadata, "metadata_results")}});
    return query_path(metadata);
  }

 private:
  std::string question() const { return text_of(goal_, "question"); }
  const Json& analysis() const { return goal_.at("analysis_result"); }

  // 0 for an id that a model gave and this rule book would not.
  static int number_of(const std::string& id) {
    constexpr int number_max = 1'000'000;
    return id.starts_with("sb") ? leading_number(std::string_view(id).substr(2), number_max) : 0;
  }

  void note_id(const std::string& id) { last_id_ = std::max(last_id_, number_of(id)); }

  static Json reference(const std::string& id, const std::string& slot) {
    return {{"from_sub_goal", id}, {"slot", slot}};
  }

  // The latest sub-goal that gave a slot; "" if none did.
  std::string slot(const std::string& name) const {
    std::string found;
    int newest = 0;
    for (const auto& [id, slots] : completed_.items()) {
      const int number = number_of(id);
      if (slots.contains(name) && number >= newest) {
        found = id;
        newest = number;
      }
    }
    return found;
  }

  bool is_of_this_goal(const std::string& metadata) const {
    const Json& found = completed_.at(metadata).at("metadata_results");
    return found.is_object() && found.value("asked", Json()) == goal_.value("references", Json());
  }

  static Json done(Json inputs, const std::string& why) {
    return {{"action", "done"}, {"reasoning", why}, {"synthesis_inputs", std::move(inputs)}};
  }
  static Json given_up(const std::string& why) { return {{"action", "failed"}, {"reasoning", why}}; }

  std::vector<Json> failures_of(const std::string& worker) const {
    std::vector<Json> failures;
    for (const Json& row : failed_)
      if (text_of(row, "worker") == worker && text_of(row, "error") != "skipped") failures.push_back(row);
    return failures;
  }

  // Why a worker that failed is not asked again; nothing if it may be.
  std::optional<std::string> is_over(const std::string& worker) const {
    const std::vector<Json> failures = failures_of(worker);
    if (failures.empty()) return std::nullopt;
    const bool may = is_worth_a_retry(failures.back()) && failures.size() <= retries_max;
    if (may) return std::nullopt;
    const std::string retries = failures.size() > 1 ? " after " + std::to_string(failures.size() - 1) + " retries" : "";
    return worker + " failed" + retries + ": " + text_of(failures.back(), "message");
  }

  Json sub_goal(const std::string& worker, Json inputs, bool deliverable) {
    Json goal = {{"id", "sb" + std::to_string(++last_id_)}, {"worker", worker}, {"inputs", std::move(inputs)}};
    if (deliverable) goal["deliverable"] = true;
    if (const std::vector<Json> failures = failures_of(worker); !failures.empty())
      goal["retry_of"] = text_of(failures.back(), "id");
    return goal;
  }

  Json next(const std::string& worker, Json inputs, bool deliverable) {
    if (const auto why = is_over(worker)) return given_up(*why);
    return {{"action", "continue"},
            {"reasoning", "The next is " + worker + "."},
            {"sub_goals", Json::array({sub_goal(worker, std::move(inputs), deliverable)})}};
  }

  // An answer that one worker gives.
  Json single(const std::string& worker, const std::string& name, Json inputs) {
    const std::string given = slot(name);
    if (given.empty()) return next(worker, std::move(inputs), true);
    return done({{name, reference(given, name)}}, worker + " gave what was asked for.");
  }

  // Query, rows, and what is made of them; each that is not there yet joins the round's batch.
  Json query_path(const std::string& metadata) {
    const bool by_page = analysis().value("page", 0) > 0;
    const bool wants_analysis = goal_["facts"].value("wants_analysis", false);
    Json batch = Json::array();
    const auto made = [&](const std::string& worker, const std::string& name, Json inputs, bool deliverable) {
      if (const std::string there = slot(name); !there.empty()) return reference(there, name);
      batch.push_back(sub_goal(worker, std::move(inputs), deliverable));
      return reference(text_of(batch.back(), "id"), name);
    };
    const Json query =
        made("es_query_gen", "es_query", {{"metadata_results", reference(metadata, "metadata_results")}}, false);
    Json run = {{"es_query", query}};
    if (by_page) run["page"] = {{"number", analysis()["page"]}, {"size", 20}};
    const Json results = made(by_page ? "page_query" : "es_query_exec", "es_results", std::move(run), false);
    const std::string reader = wants_analysis ? "analyze_results" : "show_results";
    const std::string read = wants_analysis ? "analysis" : "formatted_results";
    const Json answer = made(reader, read, {{"es_results", results}}, true);
    if (batch.empty()) return done({{read, answer}}, "The rows are there and have been read.");
    for (const Json& goal : batch)
      if (const auto why = is_over(text_of(goal, "worker"))) return given_up(*why);
    return {{"action", "continue"},
            {"reasoning", "The names are known; the query is made, run and read."},
            {"sub_goals", std::move(batch)}};
  }

  const Json goal_;
  const Json completed_;
  const Json failed_;
  int last_id_ = 0;
};

// --- the answer ------------------------------------------------------------------------------------------------------
std::string value_in_words(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.contains("asks")) return text_of(value, "asks");
  return "It came to " + excerpt(value, 500) + ".";
}

Json answer(const Json& data) {
  std::string text;
  bool is_sure = true;
  if (text_of(data, "status") == "failed")
    text = "I am sorry: I could not answer this. " + text_of(data, "reason") + "\n\n";
  const Json results = data.value("results", Json::object());
  bool is_question = false;
  for (const Json& result : results) {
    const Json value = result.value("value", Json());
    is_question = is_question || (value.is_object() && value.contains("asks"));
    text += value_in_words(value) + "\n\n";
    is_sure = is_sure && text_of(result, "tone") != "uncertain";
  }
  if (!is_sure && !is_question) text += "This is not certain: take it with care.\n\n";
  for (const Json& part : data.value("missing", Json::array()))
    text += "Missing is what " + text_of(part, "worker") + " was to give: " + text_of(part, "error") + "\n\n";
  return {{"answer", text + signature}};
}

Json reply_to(const std::string& role, const Json& data) {
  if (role == to_string(RoundRole::goal_analysis))
    return read_data_question(text_of(data, "question"), said_in(data.value("clarifications", Json::array())));
  if (role == to_string(RoundRole::round_plan)) return RoundPlan(data).decided();
  return answer(data);
}

}  // namespace

bool is_round_prompt(const ModelRequest& request) {
  const std::string& role = request.schema_name;
  return role == to_string(RoundRole::goal_analysis) || role == to_string(RoundRole::round_plan) ||
         role == to_string(RoundRole::synthesis);
}

ModelAnswer answer_round_prompt(const ModelRequest& request) {
  const std::string last = request.messages.empty() ? "" : text_of(request.messages.back(), "content");
  const Result<Json> data = parse_json(last, "the last message of the prompt");
  if (!data || !data->is_object())
    return failure("refused", "Expected the prompt to end with an object, but it does not.", false);
  return rule_reply(reply_to(request.schema_name, *data));
}

}  // namespace cairn
