// The files of tasks that planners are measured on: FOLDER/PLANNER.json for each, read and checked. Pure but for the
// reading; safe from any thread.
//
// A file: {"repositories"?: {NAME: [{"author": "NAME <ADDRESS>", "date": "2024-05-31", "files": {PATH: TEXT | LINES |
// null}}]}, "documents"?: {NAME: TEXT}, "tasks": [TASK]}.
//
// A task: {"name", "about", "kind": easy | hard | ambiguous | refused | hostile, "input", "repository"?: NAME,
// "database"?: NAME, "documents"?: [NAME], "answers"?: [{"if"?: TEXT, "value"}], "replies": [REPLY], "checks": [CHECK],
// "checks_with_faults"?: [CHECK]}. In `input` "{{repository}}" is its folder, "{{pages}}" the URL of FOLDER/pages; a
// database NAME is FOLDER/databases/NAME.sql. `answers` are what a person says when the run asks (`if`: a text of the
// question); each is used once. `checks` are in checks.hpp, `replies` in stand_in.hpp. `checks_with_faults` stand in
// the place of `checks` where faults are mixed into the answers of the model, and change what must come out.
#pragma once

#include <string>
#include <vector>

#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

inline constexpr std::size_t tasks_bytes_max = 1024 * 1024;  // of one file
inline constexpr std::size_t tasks_max = 200;                // of one planner

struct TrialTask {
  std::string name;
  std::string kind;
  Json input;
  std::string repository;  // "": none
  std::string database;    // "": none
  std::vector<std::string> documents;
  Json answers = Json::array();
  Json replies = Json::array();
  Json checks = Json::array();
  Json checks_with_faults;  // null: as `checks`

  bool has_faults() const;
};

struct TrialFile {
  std::string planner;
  Json repositories = Json::object();
  Json documents = Json::object();
  std::vector<TrialTask> tasks;
};

// The planners that may be measured, in the order of the table.
const std::vector<std::string>& measured_planners();

// `planners`: those that are wanted; none: all that have a file. Refuses `not_found` (no file), `limit`, `invalid` with
// the file and the task.
Result<std::vector<TrialFile>> read_trials(const std::string& folder, const std::vector<std::string>& planners);

}  // namespace cairn
