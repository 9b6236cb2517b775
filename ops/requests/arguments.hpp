// Texts of the command line as values. Whatever is wrong with one is told before anything is opened: each throws
// CLI::ValidationError with one sentence, which ends in the exit code for usage. Safe from any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/commands.hpp"

namespace cairn {

// JSON as given, from a file with @FILE, from stdin with @-. `what` names it in the sentence.
Json json_argument(const std::string& text, const std::string& what);
Json json_file(const std::string& path, const std::string& what);
Json object_argument(const std::string& text, const std::string& what);

// The digest of a file of inputs, every line of which was looked at.
std::string inputs_argument(const std::string& path);

// Not empty, and of a form that libpq reads; the sentence shows nothing of it.
std::string dsn_argument(const std::string& text);
std::string path_argument(const std::string& text, const std::string& what);
// A file that can be written, or made; it is not touched.
std::string output_argument(const std::string& path);

// {"autonomy": "full", "priority": 0..9, "budgets": {NAME: CAP}}
Options options_of(const Json& given);  // REQUIRES: an object
Options options_argument(const std::string& text);
Tags tags_argument(const std::vector<std::string>& texts);
// A number from 1 to 1,000,000, or "none".
std::string concurrency_argument(const std::string& text);
// NAME=JSON, each name once. `option` is named in the sentence.
std::map<std::string, Json> values_argument(const std::vector<std::string>& texts, const std::string& option);
TimeUs time_argument(const std::string& text);
Moment moment_argument(const std::string& text);
// "90d", "12h", "30m", "10s" or a time.
Age age_argument(const std::string& text);

}  // namespace cairn
