#include "ops/http/bodies.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "ops/requests/arguments.hpp"
#include "ops/requests/run_filter.hpp"

namespace cairn {
namespace {

[[noreturn]] void refuse(const std::string& sentence) { throw CLI::ValidationError(sentence); }

std::string joined(FieldNames names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text.empty() ? "nothing" : text;
}

bool is_one_of(std::string_view name, FieldNames names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::size_t name_bytes_max = 1'000;  // of what is looked up: keys, tags, names
constexpr std::size_t tags_max = 100;

void check_name(const std::string& given, const std::string& as) {
  if (given.size() > name_bytes_max)
    refuse("Expected at most " + std::to_string(name_bytes_max) + " bytes as " + as + ", but found " +
           std::to_string(given.size()) + ".");
}

// The fields of a body that is an object, or empty.
class Fields {
 public:
  Fields(const ApiRequest& request, FieldNames known) {
    if (!request.body.empty()) fields_ = json_body(request);
    if (!fields_.is_object()) refuse("Expected a JSON object as the body, but found " + excerpt(fields_, 60) + ".");
    for (const auto& [name, value] : fields_.items())
      if (!is_one_of(name, known))
        refuse("Expected " + joined(known) + " in the body, but found " + excerpt(Json(name), 60) + ".");
  }

  bool has(const char* name) const { return fields_.contains(name) && !fields_[name].is_null(); }

  const Json& needed(const char* name) const {
    if (!fields_.contains(name)) refuse("Expected " + std::string(name) + " in the body, but it is missing.");
    return fields_[name];
  }
  std::string text(const char* name) const {
    if (!has(name)) return "";
    if (!fields_[name].is_string()) refuse_kind(name, "a text");
    return fields_[name];
  }
  // A text that is looked up.
  std::string name(const char* field) const {
    std::string given = text(field);
    check_name(given, field);
    return given;
  }
  std::string needed_name(const char* field) const {
    needed(field);
    std::string given = name(field);
    if (given.empty()) refuse_kind(field, "a text");
    return given;
  }
  Json object(const char* name) const {
    if (!has(name)) return Json::object();
    if (!fields_[name].is_object()) refuse_kind(name, "an object");
    return fields_[name];
  }
  bool flag(const char* name) const {
    if (!has(name)) return false;
    if (!fields_[name].is_boolean()) refuse_kind(name, "true or false");
    return fields_[name];
  }
  std::int64_t number(const char* name) const {
    if (!needed(name).is_number_integer() || fields_[name] < 1) refuse_kind(name, "a number above 0");
    return fields_[name];
  }
  Tags tags() const {
    Tags tags;
    const Json given = object("tags");
    if (given.size() > tags_max)
      refuse("Expected at most " + std::to_string(tags_max) + " tags, but found " + std::to_string(given.size()) + ".");
    for (const auto& [name, value] : given.items()) {
      if (name.empty() || !value.is_string()) refuse_kind("tags", "an object of texts");
      check_name(name, "the name of a tag");
      check_name(value, "the value of a tag");
      tags[name] = value;
    }
    return tags;
  }

 private:
  [[noreturn]] void refuse_kind(const char* name, const std::string& kind) const {
    refuse("Expected " + kind + " as " + name + ", but found " + excerpt(fields_[name], 60) + ".");
  }
  Json fields_ = Json::object();
};

std::int64_t number_of(const std::string& text, std::string_view name, std::int64_t least, std::int64_t most) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc{} || read.ptr != end || number < least || number > most)
    refuse("Expected a number from " + std::to_string(least) + " to " + std::to_string(most) + " as " +
           std::string(name) + ", but found \"" + text + "\".");
  return number;
}

constexpr std::int64_t seq_max = std::numeric_limits<std::int64_t>::max() - 1;

}  // namespace

StartOptions start_body(const ApiRequest& request) {
  const Fields body(request, {"graph", "input", "key", "tags", "options", "continues"});
  StartOptions options;
  options.graph = body.needed_name("graph");
  options.input = body.object("input");
  options.key = body.name("key");
  options.tags = body.tags();
  options.options = options_of(body.object("options"));
  options.continues = body.name("continues");
  return options;
}

ForkRunOptions fork_body(const ApiRequest& request) {
  const Fields body(request, {"at", "set", "answer", "graph", "tags", "recorded"});
  ForkRunOptions options;
  options.at = body.number("at");
  options.edit = body.object("set");
  const Json answers = body.object("answer");
  for (const auto& [question, value] : answers.items()) options.answers[question] = value;
  if (body.has("graph")) options.graph = body.needed("graph");
  options.tags = body.tags();
  options.recorded = body.flag("recorded");
  return options;
}

AnswerOptions answer_body(const ApiRequest& request) {
  const Fields body(request, {"question", "value", "by"});
  AnswerOptions options;
  options.question = body.name("question");
  options.value = body.needed("value");
  options.by = body.name("by");
  return options;
}

SignalOptions signal_body(const ApiRequest& request) {
  const Fields body(request, {"name", "value", "id"});
  SignalOptions options;
  options.name = body.needed_name("name");
  options.value = body.needed("value");
  options.id = body.name("id");
  return options;
}

std::string reason_body(const ApiRequest& request) { return Fields(request, {"reason"}).text("reason"); }

void no_body(const ApiRequest& request) { const Fields none(request, {}); }

Json graph_body(const ApiRequest& request) {
  Json graph = json_body(request);
  if (graph.is_object() && graph.contains("name") && graph["name"].is_string())
    check_name(graph["name"], "the name of a graph");
  return graph;
}

Json json_body(const ApiRequest& request) {
  Result<Json> value = parse_json(request.body, "the body");
  if (!value) refuse(value.error().message);
  return *std::move(value);
}

void only_query(const ApiRequest& request, FieldNames known) {
  for (auto at = request.query.begin(); at != request.query.end(); ++at) {
    const std::string& name = at->first;
    if (!is_one_of(name, known)) refuse("Expected " + joined(known) + " in the query, but found \"" + name + "\".");
    const auto is_again = [&name](const auto& other) { return other.first == name; };
    if (name != "tag" && std::any_of(request.query.begin(), at, is_again))
      refuse("Expected \"" + name + "\" once in the query, but found it twice.");
  }
}

std::string query_text(const ApiRequest& request, std::string_view name) {
  for (const auto& [given, value] : request.query)
    if (given == name) return value;
  return "";
}

bool query_flag(const ApiRequest& request, std::string_view name) {
  const std::string text = query_text(request, name);
  if (!text.empty() && text != "true" && text != "false")
    refuse("Expected " + std::string(name) + " to be true or false, but found \"" + text + "\".");
  return text == "true";
}

RunFilter filter_query(const ApiRequest& request) {
  constexpr std::int64_t runs_max = 1'000;
  only_query(request, {"graph", "status", "tag", "since", "lineage", "limit"});
  RunFilter filter;
  for (const auto& [name, value] : request.query) {
    if (name == "limit")
      filter.limit = static_cast<std::int32_t>(number_of(value, name, 1, runs_max));
    else if (name == "tag")
      for (const auto& [key, tag] : tags_argument({value})) add_term(filter, "tag." + key, tag);
    else
      add_term(filter, name, value);
  }
  return filter;
}

Moment moment_query(const ApiRequest& request) {
  const std::string at = query_text(request, "at");
  return at.empty() ? Moment{} : moment_argument(at);
}

EventsWanted events_query(const ApiRequest& request) {
  only_query(request, {"from", "limit", "follow", "raw"});
  EventsWanted wanted;
  wanted.raw = query_flag(request, "raw");
  if (const std::string limit = query_text(request, "limit"); !limit.empty())
    wanted.limit = static_cast<std::int32_t>(number_of(limit, "limit", 1, events_page));
  if (const std::string seen = request.header("last-event-id"); !seen.empty())
    wanted.after = number_of(seen, "Last-Event-ID", 0, seq_max);
  else if (const std::string from = query_text(request, "from"); !from.empty())
    wanted.after = std::max<std::int64_t>(number_of(from, "from", 0, seq_max), 1) - 1;
  return wanted;
}

}  // namespace cairn
