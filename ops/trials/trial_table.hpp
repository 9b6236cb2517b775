// The table of a measurement of the planners, in Markdown, and its place in a page. Pure but for the file; safe from
// any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/trials/trial_run.hpp"

namespace cairn {

struct TrialFigures {
  int tasks = 0;
  int right = 0;
  int asked_back = 0;
  int failed = 0;
  int wrong_doubted = 0;
  int wrong_sure = 0;
  int faulted = 0;        // tasks with faults mixed in
  int faulted_right = 0;  // of them
  int calls = 0;
  int repairs = 0;
  int changed = 0;  // prompts that are not those of the recordings

  void add(const TrialVerdict& verdict);
  Json json() const;
};

// The figures of one way of answering: by planner, and of "all".
std::map<std::string, TrialFigures> figures_of(const std::vector<TrialVerdict>& verdicts);

using TrialPasses = std::map<TrialAnswers, std::map<std::string, TrialFigures>>;

// A row for each planner and for all: tasks; right with the stand-in, of those with faults mixed in, calls of the model
// and those of them that failed or brought nothing of use; right offline, asked back, failed, wrong but with a
// doubt, and wrong without one; with a model or its recordings the tasks that are right, calls and repairs. "-" where a
// way of answering was not measured.
std::string trial_table(const TrialPasses& passes);

// The lines between which a page holds the table.
inline constexpr const char* table_begins = "<!-- cairn planners measure: begins -->";
inline constexpr const char* table_ends = "<!-- cairn planners measure: ends -->";

// Refuses `not_found` (the page), `invalid` (without these lines).
Status check_page(const std::string& page);
// Replaces what is between them. Refuses as check_page(), and `unavailable`.
Status write_table(const std::string& page, const std::string& table);

}  // namespace cairn
