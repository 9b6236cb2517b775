// Parsers from texts of the command line to values. Each refuses `invalid` with one sentence (run_argument `not_found`)
// and opens no database, so that a usage error is reported before anything happens. Safe from any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/result.hpp"
#include "ops/requests/requests.hpp"

namespace cairn {

// JSON as given, from a file with @FILE, from stdin with @-. `what` names it in the sentence.
Result<Json> json_argument(const std::string& text, const std::string& what);
Result<Json> json_file(const std::string& path, const std::string& what);
Result<Json> object_argument(const std::string& text, const std::string& what);

// A file of inputs, every line of which has been checked.
struct InputsFile {
  std::string path;    // may be read more than once, also if it came by a pipe
  std::string digest;  // of its bytes
};
Result<InputsFile> inputs_argument(const std::string& path);

// Not empty, and of a form that libpq reads; the sentence shows nothing of it.
Result<std::string> dsn_argument(const std::string& text);
Result<std::string> path_argument(const std::string& text, const std::string& what);
// A file that can be written or created; it is not touched.
Result<std::string> output_argument(const std::string& path);

// {"autonomy": "full", "priority": 0..9, "budgets": {NAME: CAP}}
Result<Options> options_of(const Json& given);  // REQUIRES: an object
Result<Options> options_argument(const std::string& text);
Result<std::string> key_argument(const std::string& text);  // not empty, as an unset variable is
Result<Tags> tags_argument(const std::vector<std::string>& texts);
// A number from 1 to 1,000,000, or "none". `what` names it in the sentence: "a burst".
Result<std::string> count_argument(const std::string& text, const std::string& what);
// NAME=JSON, each name once. `option` is named in the sentence.
Result<std::map<std::string, Json>> values_argument(const std::vector<std::string>& texts, const std::string& option);
Result<TimeUs> time_argument(const std::string& text);
Result<Moment> moment_argument(const std::string& text);
// "90d", "12h", "30m", "10s" or a time.
Result<Age> age_argument(const std::string& text);

// As check_reason; that of a cancel has the bound of a run's end, and is cut there.
Status check_reason_of(const ControlRequest& request);

// Refuses `not_found` for a text that is no id: no run has that name.
Result<RunId> run_argument(const std::string& text);

}  // namespace cairn
