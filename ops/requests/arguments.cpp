#include "ops/requests/arguments.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <string_view>
#include <unistd.h>

#include "engine/bounds.hpp"
#include "engine/duration.hpp"
#include "ops/requests/input_lines.hpp"
#include "storage/postgres/dsn.hpp"
#include "workers/ports/text_file.hpp"

namespace cairn {
namespace {

Error invalid(std::string sentence) { return {Code::invalid, std::move(sentence)}; }

Result<Json> parsed(const Result<std::string>& text, const std::string& what) {
  if (!text) return invalid(text.error().message);
  Result<Json> value = parse_json(*text, what);
  if (!value) return invalid(value.error().message);
  return value;
}

// A path without blanks and quotes, whether there is such a file or not.
bool is_like_path(const std::string& text) {
  const auto may_be_in_path = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("_-./~").find(static_cast<char>(c)) != std::string_view::npos;
  };
  const bool is_named_so = text.ends_with(".json") || text.ends_with(".jsonl") || text.find('/') != std::string::npos;
  return is_named_so && std::all_of(text.begin(), text.end(), may_be_in_path);
}

// For the two mistakes that are made most: a file without its @, and a text without its quotes.
std::string hint_of(const std::string& text) {
  std::error_code none;
  if (!text.empty() && (is_like_path(text) || std::filesystem::is_regular_file(text, none)))
    return "A file is read with @" + text + ".";
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == ' '; };
  const bool is_word = !text.empty() && std::all_of(text.begin(), text.end(), is_plain);
  return is_word ? "A text needs its quotes: '\"" + text + "\"'." : "";
}

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 19 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// A day is its first moment, UTC.
std::optional<TimeUs> time_or_day(const std::string& text) {
  constexpr std::size_t day_letters = 10;
  return parse_time(text.size() == day_letters ? text + "T00:00:00Z" : text);
}

Status read_option(Options& options, const std::string& name, const Json& value) {
  const bool whole = value.is_number_integer();
  if (name == "autonomy" && value == "full") {
    options.autonomous = true;
  } else if (name == "priority" && whole && value >= 0 && value <= 9) {
    options.priority = value;
  } else if (name == "budgets" && value.is_object()) {
    for (const auto& [budget, cap] : value.items()) {
      if (!cap.is_number_integer() || cap < 0)
        return invalid("Expected a cap of 0 or more for the budget " + budget + ", but found " + excerpt(cap, 40) +
                       ".");
      options.budgets[budget] = cap;
    }
  } else {
    return invalid(
        R"(Expected options like {"autonomy": "full", "priority": 0 to 9, "budgets": {NAME: CAP}}, but found )" + name +
        ": " + excerpt(value, 60) + ".");
  }
  return Done{};
}

}  // namespace

Result<Json> json_file(const std::string& path, const std::string& what) {
  Result<std::string> text = read_text_file(path, what);
  if (!text) return invalid(text.error().message);
  if (text->find_first_not_of(" \t\r\n") == std::string::npos)
    return invalid("Expected " + what + " to be JSON, but found end of input: " + path + " is empty.");
  if (text->find('\n') == std::string::npos) *text += '\n';  // a fault in a file has a line and a column
  return parsed(text, what);
}

Result<Json> json_argument(const std::string& text, const std::string& what) {
  if (text == "@-") return parsed(read_text(STDIN_FILENO, what), what);
  if (text.starts_with('@')) return json_file(text.substr(1), what);
  Result<Json> value = parsed(text, what);
  if (value) return value;
  const std::string hint = hint_of(text);
  return hint.empty() ? value : invalid(value.error().message + " " + hint);
}

Result<Json> object_argument(const std::string& text, const std::string& what) {
  Result<Json> value = json_argument(text, what);
  if (value && !value->is_object())
    return invalid("Expected " + what + " to be a JSON object, but found " + excerpt(*value, 60) + ".");
  return value;
}

Result<InputsFile> inputs_argument(const std::string& path) {
  Result<std::string> again = readable_again(path);
  if (!again) return invalid(again.error().message);
  const Status fine = for_each_input(*again, [](std::int64_t, const Json&) -> Status { return Done{}; });
  if (!fine) return invalid(fine.error().message);
  Result<std::string> digest = file_digest(*again);
  if (!digest) return invalid(digest.error().message);
  return InputsFile{*std::move(again), *std::move(digest)};
}

Result<Options> options_of(const Json& given) {
  Options options;
  for (const auto& [name, value] : given.items())
    if (const Status read = read_option(options, name, value); !read) return read.error();
  return options;
}

Result<Options> options_argument(const std::string& text) {
  const Result<Json> given = object_argument(text, "the options");
  return given ? options_of(*given) : given.error();
}

Result<std::string> key_argument(const std::string& text) {
  if (text.empty()) return invalid("Expected a key, but it is empty; without one leave it out.");
  return text;
}

Result<Tags> tags_argument(const std::vector<std::string>& texts) {
  Tags tags;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      return invalid("Expected a tag as KEY=VALUE, but found \"" + text + "\".");
    const std::string key = text.substr(0, equals);
    if (!tags.emplace(key, text.substr(equals + 1)).second)
      return invalid("Expected the tag " + key + " once, but found it twice.");
  }
  return tags;
}

Result<std::map<std::string, Json>> values_argument(const std::vector<std::string>& texts, const std::string& option) {
  std::map<std::string, Json> values;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      return invalid("Expected NAME=JSON in " + option + ", but found \"" + text + "\".");
    const std::string name = text.substr(0, equals);
    Result<Json> value = json_argument(text.substr(equals + 1), "the value of " + name);
    if (!value) return value.error();
    if (!values.emplace(name, *std::move(value)).second)
      return invalid("Expected " + name + " once in " + option + ", but found it twice.");
  }
  return values;
}

Result<std::string> count_argument(const std::string& text, const std::string& what) {
  if (text == "none" || (is_number(text) && text.size() < 8 && std::stoi(text) >= 1 && std::stoi(text) <= 1'000'000))
    return text;
  return invalid("Expected " + what + " from 1 to 1000000 or none, but found \"" + text + "\".");
}

Result<Age> age_argument(const std::string& text) {
  if (const std::optional<TimeUs> at = time_or_day(text)) return Age{at, 0};
  constexpr DurationRange age_range = {.count_max = 100'000, .has_ms = false};
  const std::optional<TimeUs> age = parse_duration(text, age_range);
  if (!age) return invalid("Expected a duration like 90d, 12h, 30m or 10s, or a time, but found \"" + text + "\".");
  return Age{{}, *age};
}

Result<TimeUs> time_argument(const std::string& text) {
  const std::optional<TimeUs> at = time_or_day(text);
  if (!at) return invalid("Expected a time like 2026-11-21 or 2026-11-21T22:23:47Z, but found \"" + text + "\".");
  return *at;
}

Result<Moment> moment_argument(const std::string& text) {
  if (is_number(text)) return Moment{std::stoll(text), {}};
  const std::optional<TimeUs> at = time_or_day(text);
  if (!at)
    return invalid("Expected an event's number or a time like 2026-11-21T22:23:47Z, but found \"" + text + "\".");
  return Moment{{}, at};
}

Result<std::string> dsn_argument(const std::string& text) {
  if (text.empty()) return invalid("Expected a PostgreSQL connection string or URL in --dsn, but found none.");
  if (const Status dsn = check_dsn(text, "--dsn"); !dsn) return invalid(dsn.error().message);
  return text;
}

Result<std::string> path_argument(const std::string& text, const std::string& what) {
  if (text.empty()) return invalid("Expected " + what + ", but found none.");
  return text;
}

Result<std::string> output_argument(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code none;
  const bool exists = fs::exists(path, none);
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  const fs::path& written = exists ? fs::path(path) : folder;
  const bool fits = exists ? !fs::is_directory(path, none) : fs::is_directory(folder, none);
  if (path.empty() || !fits || ::access(written.c_str(), W_OK) != 0)
    return invalid("Expected a file to write the results to, but " + path + " cannot be written.");
  return path;
}

Status check_reason_of(const ControlRequest& request) {
  return request.kind == ControlRequest::Kind::cancel ? Status(Done{}) : check_reason(request.reason);
}

Result<RunId> run_argument(const std::string& text) {
  if (const std::optional<RunId> id = parse_run_id(text)) return *id;
  return Error{Code::not_found, "Expected the id of a run, but \"" + text + "\" is none."};
}

}  // namespace cairn
