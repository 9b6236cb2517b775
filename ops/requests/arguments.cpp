#include "ops/requests/arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <unistd.h>

#include "ops/requests/input_lines.hpp"
#include "storage/postgres/dsn.hpp"
#include "workers/ports/text_file.hpp"

namespace cairn {
namespace {

[[noreturn]] void refuse(const std::string& sentence) { throw CLI::ValidationError(sentence); }

std::string taken(Result<std::string> text) {
  if (!text) refuse(text.error().message);
  return *std::move(text);
}

Json parsed(const std::string& text, const std::string& what) {
  Result<Json> value = parse_json(text, what);
  if (!value) refuse(value.error().message);
  return *std::move(value);
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

void read_option(Options& options, const std::string& name, const Json& value) {
  const bool whole = value.is_number_integer();
  if (name == "autonomy" && value == "full") {
    options.autonomous = true;
  } else if (name == "priority" && whole && value >= 0 && value <= 9) {
    options.priority = value;
  } else if (name == "budgets" && value.is_object()) {
    for (const auto& [budget, cap] : value.items()) {
      if (!cap.is_number_integer() || cap < 0)
        refuse("Expected a cap of 0 or more for the budget " + budget + ", but found " + excerpt(cap, 40) + ".");
      options.budgets[budget] = cap;
    }
  } else {
    refuse(R"(Expected options like {"autonomy": "full", "priority": 0 to 9, "budgets": {NAME: CAP}}, but found )" +
           name + ": " + excerpt(value, 60) + ".");
  }
}

}  // namespace

Json json_file(const std::string& path, const std::string& what) {
  return parsed(taken(read_text_file(path, what)), what);
}

Json json_argument(const std::string& text, const std::string& what) {
  if (text == "@-") return parsed(taken(read_text(STDIN_FILENO, what)), what);
  if (text.starts_with('@')) return json_file(text.substr(1), what);
  return parsed(text, what);
}

Json object_argument(const std::string& text, const std::string& what) {
  Json value = json_argument(text, what);
  if (!value.is_object()) refuse("Expected " + what + " to be a JSON object, but found " + excerpt(value, 60) + ".");
  return value;
}

std::string inputs_argument(const std::string& path) {
  const Status fine = for_each_input(path, [](std::int64_t, const Json&) -> Status { return Done{}; });
  if (!fine) refuse(fine.error().message);
  const Result<std::string> digest = file_digest(path);
  if (!digest) refuse(digest.error().message);
  return *digest;
}

Options options_of(const Json& given) {
  Options options;
  for (const auto& [name, value] : given.items()) read_option(options, name, value);
  return options;
}

Options options_argument(const std::string& text) { return options_of(object_argument(text, "the options")); }

Tags tags_argument(const std::vector<std::string>& texts) {
  Tags tags;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) refuse("Expected a tag as KEY=VALUE, but found \"" + text + "\".");
    tags[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return tags;
}

std::map<std::string, Json> values_argument(const std::vector<std::string>& texts, const std::string& option) {
  std::map<std::string, Json> values;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      refuse("Expected NAME=JSON in " + option + ", but found \"" + text + "\".");
    const std::string name = text.substr(0, equals);
    if (!values.emplace(name, json_argument(text.substr(equals + 1), "the value of " + name)).second)
      refuse("Expected " + name + " once in " + option + ", but found it twice.");
  }
  return values;
}

std::string concurrency_argument(const std::string& text) {
  if (text == "none" || (is_number(text) && text.size() < 8 && std::stoi(text) >= 1 && std::stoi(text) <= 1'000'000))
    return text;
  refuse("Expected a concurrency from 1 to 1000000 or none, but found \"" + text + "\".");
}

Age age_argument(const std::string& text) {
  if (const std::optional<TimeUs> at = time_or_day(text)) return {at, 0};
  static const std::map<std::string, std::int64_t> seconds = {{"s", 1}, {"m", 60}, {"h", 3'600}, {"d", 86'400}};
  std::int64_t count = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), count);
  const auto unit = seconds.find(std::string(read.ptr, text.data() + text.size()));
  constexpr std::int64_t count_max = 100'000;
  if (read.ec != std::errc{} || unit == seconds.end() || count < 0 || count > count_max)
    refuse("Expected a duration like 90d, 12h, 30m or 10s, or a time, but found \"" + text + "\".");
  return {{}, count * unit->second * 1'000'000};
}

TimeUs time_argument(const std::string& text) {
  const std::optional<TimeUs> at = time_or_day(text);
  if (!at) refuse("Expected a time like 2026-11-21 or 2026-11-21T22:23:47Z, but found \"" + text + "\".");
  return *at;
}

Moment moment_argument(const std::string& text) {
  if (is_number(text)) return {std::stoll(text), {}};
  const std::optional<TimeUs> at = time_or_day(text);
  if (!at) refuse("Expected an event's number or a time like 2026-11-21T22:23:47Z, but found \"" + text + "\".");
  return {{}, at};
}

std::string dsn_argument(const std::string& text) {
  if (text.empty()) refuse("Expected a PostgreSQL connection string or URL in --dsn, but found none.");
  if (const Status dsn = check_dsn(text, "--dsn"); !dsn) refuse(dsn.error().message);
  return text;
}

std::string path_argument(const std::string& text, const std::string& what) {
  if (text.empty()) refuse("Expected " + what + ", but found none.");
  return text;
}

std::string output_argument(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code none;
  const bool exists = fs::exists(path, none);
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  const fs::path& written = exists ? fs::path(path) : folder;
  const bool fits = exists ? !fs::is_directory(path, none) : fs::is_directory(folder, none);
  if (path.empty() || !fits || ::access(written.c_str(), W_OK) != 0)
    refuse("Expected a file to write the results to, but " + path + " cannot be written.");
  return path;
}

}  // namespace cairn
