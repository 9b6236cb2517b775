#include "workers/planners/seven_node/rules.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "workers/handlers/model_call.hpp"
#include "workers/handlers/step_fields.hpp"
#include "workers/models/models.hpp"
#include "workers/planners/seven_node/prompts.hpp"
#include "workers/planners/seven_node/question.hpp"

namespace cairn {
namespace {

constexpr const char* signature = "(Answered by the built-in rule book, not by a language model.)";
constexpr std::size_t rows_shown_max = 5;
constexpr const char* says_how_many = "asked_for";  // set where the question says how many rows it wants

// The questions of earlier turns, oldest first: every user message but the last.
std::vector<std::string> earlier_questions(const Json& messages) {
  std::vector<std::string> questions;
  for (std::size_t i = 0; i + 1 < messages.size(); ++i) {
    if (messages[i].value("role", "") == "user") questions.push_back(text_of(messages[i], "content"));
  }
  return questions;
}

RepositoryQuestion question_of(const Json& data, const Json& messages) {
  return read_question(text_of(data, "question"), earlier_questions(messages));
}

std::string listed(const std::vector<std::string>& parts, const std::string& last_joint) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == parts.size() ? last_joint : ", ") + parts[i];
  }
  return text;
}

// --- guardrail, intent, plan, reflection -----------------------------------------------------------------------------
Json guard(const Json& data, const Json& messages) {
  const bool on_topic = question_of(data, messages).is_on_topic;
  return {{"on_topic", on_topic},
          {"reason", on_topic ? "It has words of code ownership or the name of a part."
                              : "It has neither words of code ownership nor the bare name of a part."}};
}

Json intent(const Json& data, const Json& messages) {
  const RepositoryQuestion question = question_of(data, messages);
  const bool is_clear = !question.kinds.empty();
  return {{"intent", is_clear ? question.kinds.front() : "ambiguous"},
          {"entities", question.entities},
          {"reason", is_clear ? "Its words ask for " + listed(question.kinds, " and ") + "."
                              : "It asks nothing that the rules know."}};
}

const std::map<std::string, std::string, std::less<>> tool_of_kind = {
    {"ownership", "owners"},  {"risk", "bus_factor"},     {"recent_changes", "recent_changes"},
    {"hotspots", "hotspots"}, {"coupling", "co_changes"}, {"lines", "blame"}};

// The inputs that the question gives, as far as the tool takes them.
Json inputs_for(const RepositoryQuestion& question, const std::string& path, const Json& tool) {
  Json inputs = {{"path", path}};
  const Json properties = tool_inputs(tool).value("properties", Json::object());
  const auto add = [&](const char* name, Json value, bool is_asked) {
    if (is_asked && properties.contains(name)) inputs[name] = std::move(value);
  };
  add("since", question.since, !question.since.empty());
  add("until", question.until, !question.until.empty());
  add("author", question.author, !question.author.empty());
  add("measure", question.measure, !question.measure.empty());
  add("limit", question.limit, question.limit > 0);
  return inputs;
}

std::vector<std::string> entities_of(const Json& data) {
  std::vector<std::string> entities =
      data.value("intent", Json::object()).value("entities", std::vector<std::string>());
  if (entities.empty()) entities.emplace_back();  // all of the code base
  return entities;
}

Json plan(const Json& data, const Json& messages) {
  Json calls = Json::array();
  if (data.contains("gap")) return {{"calls", calls}};  // the rules know no second way
  const Json tools = data.value("tools", Json::object());
  const RepositoryQuestion question = question_of(data, messages);
  for (const std::string& entity : entities_of(data)) {
    for (const std::string& kind : question.kinds) {
      const std::string& tool = tool_of_kind.at(kind);
      if (!tools.contains(tool)) continue;
      const std::string place = entity.empty() ? "the code base" : entity;
      calls.push_back({{"tool", tool},
                       {"inputs", inputs_for(question, entity, tools.at(tool))},
                       {"why", "The question asks for " + kind + " of " + place + "."}});
    }
  }
  return {{"calls", calls}};
}

bool was_ok(const Json& row) { return text_of(row, "status") == "ok"; }

Json reflection(const Json& data) {
  const Json results = data.value("results", Json::array());
  for (const std::string& entity : entities_of(data)) {
    const bool has_result = std::any_of(results.begin(), results.end(), [&entity](const Json& row) {
      return was_ok(row) && text_of(row.value("inputs", Json::object()), "path") == entity;
    });
    if (!has_result)
      return {{"verdict", "error"},
              {"gap", "There is no result for " + (entity.empty() ? "the code base" : entity) + "."}};
  }
  if (std::all_of(results.begin(), results.end(), was_ok)) {
    return {{"verdict", "complete"}, {"gap", ""}};
  }
  return {{"verdict", "error"}, {"gap", "A tool failed."}};
}

// --- the answer ------------------------------------------------------------------------------------------------------
std::string percent(double share) { return std::to_string(std::lround(share * 100)) + " %"; }

std::string counted(std::int64_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

// " by Ann from 2024-01-01 to 2024-03-31"
std::string bounds_of(const Json& found) {
  const std::string author = text_of(found, "author");
  const std::string since = text_of(found, "since");
  const std::string until = text_of(found, "until");
  std::string text = author.empty() ? "" : " by " + author;
  if (!since.empty() && !until.empty()) return text + " from " + since + " to " + until;
  if (!since.empty()) return text + " since " + since;
  return until.empty() ? text : text + " until " + until;
}

// "pricing (packages/modules/pricing)"
std::string place_of(const Json& row) {
  const std::string path = text_of(row.at("outputs"), "path");
  const std::string asked = text_of(row.at("inputs"), "path");
  const std::string place = path.empty()                     ? "the code base"
                            : asked.empty() || asked == path ? path
                                                             : asked + " (" + path + ")";
  return place + bounds_of(row.at("outputs"));
}

bool is_by_recent_work(const Json& found) { return text_of(found, "measure") == "recent"; }

std::string owner_share_text(const std::string& place, const Json& found) {
  const std::string commits = std::to_string(found.at("owner_commits").get<std::int64_t>()) + " of its " +
                              counted(found.at("commits").get<std::int64_t>(), "commit");
  const std::string share = percent(found.at("shares").at(0).at("share").get<double>());
  const std::string of_authors = "the most of " + counted(found.at("authors").get<std::int64_t>(), "author");
  const std::string begin = found.at("owner").get<std::string>() + " owns " + place;
  if (!is_by_recent_work(found)) return begin + ": " + commits + " (" + share + ") are theirs, " + of_authors + ".";
  return begin + " by recent work: " + share + " of it is theirs, " + of_authors + ", with " + commits +
         " (a commit counts half after " + std::to_string(found.at("half_life_days").get<int>()) + " days).";
}

std::string owners_text(const std::string& place, const Json& found) {
  const Json& shares = found.at("shares");
  std::string text = owner_share_text(place, found);
  std::vector<std::string> others;  // all that were asked for, or the next one
  for (std::size_t i = 1; i < shares.size() && (i < 2 || found.contains(says_how_many)); ++i)
    others.push_back(shares[i].at("author").get<std::string>() + " with " +
                     counted(shares[i].at("commits").get<std::int64_t>(), "commit") + " (" +
                     percent(shares[i].at("share").get<double>()) + ")");
  if (!others.empty())
    text += " Next " + std::string(others.size() == 1 ? "is " : "are ") + listed(others, " and ") + ".";
  return text + " The last change there was on " + found.at("last_commit_date").get<std::string>() + ".";
}

std::string bus_factor_text(const std::string& place, const Json& found) {
  const std::int64_t factor = found.at("bus_factor").get<std::int64_t>();
  std::vector<std::string> holders;
  for (const Json& row : found.at("holders")) {
    holders.push_back(row.at("author").get<std::string>() + " (" +
                      std::to_string(row.at("commits").get<std::int64_t>()) + ")");
  }
  const std::string commits = counted(found.at("commits").get<std::int64_t>(), "commit");
  const std::string half = is_by_recent_work(found) ? "half of the recent work in its " + commits + " was done by "
                                                    : "half of its " + commits + " were made by ";
  return "The bus factor of " + place + " is " + std::to_string(factor) + ", which means that " + half +
         (factor == 1 ? "one person" : counted(factor, "person")) + " out of " +
         std::to_string(found.at("authors").get<std::int64_t>()) + ": " + listed(holders, " and ") + ". " +
         (factor == 1 ? "If that person left, most of what is known about it would leave too."
                      : "If they left, most of what is known about it would leave too.");
}

std::string blame_text(const std::string& place, const Json& found) {
  std::vector<std::string> authors;
  for (const Json& row : found.at("shares")) {
    authors.push_back(
        row.at("author").get<std::string>() + " (" + counted(row.at("lines").get<std::int64_t>(), "line") + ", " +
        percent(row.at("share").get<double>()) + ", the last on " + row.at("last").get<std::string>() + ")");
  }
  return "The " + counted(found.at("lines").get<std::int64_t>(), "line") + " of " + place +
         " as they are today are by " + counted(found.at("authors").get<std::int64_t>(), "author") +
         ", most of them by " + listed(authors, " and ") + ".";
}

// Remarks that end a tool's answer: programs left out, declared owners, a history that is cut.
std::string remarks_on(const Json& found) {
  std::string text;
  const std::vector<std::string> declared = found.value("declared_owners", std::vector<std::string>());
  if (!declared.empty())
    text += " " + text_of(found, "declared_in") + " declares " + listed(declared, " and ") + " as owner" +
            (declared.size() == 1 ? "." : "s.");
  if (found.contains("bot_commits"))
    text += " Left out: " + counted(found.at("bot_commits").get<std::int64_t>(), "commit") + " by programs.";
  if (found.value("history_is_cut", false))
    text += " The repository is a shallow clone, so what is older is not counted.";
  return text;
}

std::string no_commits_text(const std::string& place, const Json& found) {
  return "There are no commits to " + place + " that count. The latest one there was on " +
         found.at("last_commit_date").get<std::string>() + ".";
}

using RowText = std::string (*)(const Json& row);

// The rows of a list, each in words.
std::string rows_text(const Json& rows, RowText text_of_row) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < rows.size(); ++i) texts.push_back(text_of_row(rows[i]));
  return listed(texts, "; and ");
}

std::string recent_changes_text(const std::string& place, const Json& found) {
  const RowText text_of_row = [](const Json& row) {
    const std::string subject = text_of(row, "subject");
    return "on " + row.at("date").get<std::string>() + " by " + row.at("author").get<std::string>() + " in " +
           counted(row.at("files").get<std::int64_t>(), "file") + (subject.empty() ? "" : " (\"" + subject + "\")");
  };
  return "The latest of the " + counted(found.at("commits").get<std::int64_t>(), "commit") + " to " + place +
         " were made " + rows_text(found.at("changes"), text_of_row) + ".";
}

std::string hotspots_text(const std::string& place, const Json& found) {
  const RowText text_of_row = [](const Json& row) {
    return row.at("path").get<std::string>() + " (" + counted(row.at("commits").get<std::int64_t>(), "commit") +
           " by " + counted(row.at("authors").get<std::int64_t>(), "author") + ")";
  };
  return "Of " + place + ", these files change most often: " + rows_text(found.at("files"), text_of_row) + ".";
}

std::string co_changes_text(const std::string& place, const Json& found) {
  if (found.at("pairs").empty()) return "In " + place + ", no two files changed in one commit.";
  const RowText text_of_row = [](const Json& row) {
    return row.at("path").get<std::string>() + " with " + row.at("with").get<std::string>() + " (in " +
           std::to_string(row.at("together").get<std::int64_t>()) + " of its " +
           counted(row.at("commits").get<std::int64_t>(), "commit") + ")";
  };
  return "In " + place + ", these files change together most often: " + rows_text(found.at("pairs"), text_of_row) + ".";
}

using OutputsText = std::string (*)(const std::string& place, const Json& outputs);
const std::map<std::string, OutputsText, std::less<>> text_of_tool = {
    {"owners", owners_text},     {"bus_factor", bus_factor_text}, {"recent_changes", recent_changes_text},
    {"hotspots", hotspots_text}, {"co_changes", co_changes_text}, {"blame", blame_text}};

// As many rows as the question wants, else a few.
Json shown_rows(const Json& row) {
  Json found = row.at("outputs");
  const bool is_limited = row.value("inputs", Json::object()).contains("limit");
  if (is_limited && found.is_object()) found[says_how_many] = true;
  for (const char* list : {"changes", "files", "pairs", "shares"}) {
    const auto rows = found.find(list);
    if (is_limited || rows == found.end() || !rows->is_array() || rows->size() <= rows_shown_max) continue;
    rows->erase(rows->begin() + rows_shown_max, rows->end());
  }
  return found;
}

// A tool of another's making may answer otherwise than ours.
std::string result_text(const Json& row) {
  const std::string tool = text_of(row, "tool");
  const std::string fallback = text_of(row.value("outputs", Json::object()), "answered_by");
  const auto known = text_of_tool.find(fallback.empty() ? tool : fallback);
  try {
    const Json found = shown_rows(row);
    if (found.value("commits", 1) == 0) return no_commits_text(place_of(row), found) + remarks_on(found);
    if (known != text_of_tool.end()) return known->second(place_of(row), found) + remarks_on(found);
  } catch (const Json::exception&) {
  }
  return "The tool " + tool +
         " answered something that the rule book cannot explain: " + excerpt(row.value("outputs", Json(nullptr)), 300) +
         ".";
}

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z' && text.starts_with("the ")) text[0] = 'T';
  return text;
}

std::string clarification(const Json& data) {
  std::vector<std::string> entities =
      data.value("intent", Json::object()).value("entities", std::vector<std::string>());
  const std::string place = entities.empty() ? "the code base" : listed(entities, " and ");
  return std::string(signature) + " What would you like to know about " + place +
         ": who owns it, its bus factor, its recent changes, its hotspots, or which files change together?";
}

std::string failure_text(const Json& row) {
  const std::string place = text_of(row.value("inputs", Json::object()), "path");
  return "I am sorry: the tool " + text_of(row, "tool") + " failed" + (place.empty() ? "" : " for " + place) + ": " +
         text_of(row, "message");
}

Json answer(const Json& data) {
  if (text_of(data, "outcome") == "clarification") return {{"answer", clarification(data)}};
  std::string text;
  const Json results = data.value("results", Json::array());
  for (const Json& row : results) text += capital(was_ok(row) ? result_text(row) : failure_text(row)) + "\n\n";
  if (results.empty()) text += "I am sorry: the rules found no tool that could answer this.\n\n";
  return {{"answer", text + signature}};
}

Json reply_to(const ModelRequest& request, const Json& data) {
  const std::string& role = request.schema_name;
  if (role == to_string(SevenNodeRole::guardrail)) return guard(data, request.messages);
  if (role == to_string(SevenNodeRole::intent_parser)) return intent(data, request.messages);
  if (role == to_string(SevenNodeRole::query_planner)) return plan(data, request.messages);
  if (role == to_string(SevenNodeRole::reflector)) return reflection(data);
  return answer(data);
}

}  // namespace

bool is_seven_node_prompt(const ModelRequest& request) {
  using Role = SevenNodeRole;
  const std::string& role = request.schema_name;
  return role == to_string(Role::guardrail) || role == to_string(Role::intent_parser) ||
         role == to_string(Role::query_planner) || role == to_string(Role::reflector) ||
         role == to_string(Role::response_generator);
}

ModelAnswer answer_seven_node_prompt(const ModelRequest& request) {
  return rule_reply(reply_to(request, prompt_data(request)));
}

}  // namespace cairn
