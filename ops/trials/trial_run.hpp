// Trial runs of the planners' tasks: each in a store and a worker of its own, with the rule book, the stand-in, the
// model of the environment, or recordings of one; and judged. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/result.hpp"
#include "ops/trials/surroundings.hpp"
#include "ops/trials/task_file.hpp"

namespace cairn {

// The ways to answer the planners' prompts.
enum class TrialAnswers : std::uint8_t { offline, stand_in, model, recordings };
std::string_view to_string(TrialAnswers answers);

struct TrialVerdict {
  std::string planner;
  std::string task;
  std::string kind;
  std::string outcome;      // right, asked_back, failed, wrong
  bool is_doubted = false;  // the run itself says that it is not certain, or what it lacks
  bool is_faulted = false;  // faults were mixed in
  int calls = 0;            // of the model, or of the rule book in its place
  int repairs = 0;          // of them: those that failed or brought what could not be used
  int changed = 0;          // prompts that are not those of the recordings that answered them
  std::string why;          // "" if right
};

struct TrialOptions {
  std::string folder;
  std::vector<std::string> planners;  // none: all
  std::vector<std::string> tasks;     // none: all
  TrialAnswers answers = TrialAnswers::offline;
  std::string recordings;                                // a folder: read by `recordings`, written by others; "": none
  std::function<void(const TrialVerdict&)> judged = {};  // called after each task
};

// Refuses as read_trials(); `invalid` (a repository, a database); `unavailable` (the database, git); `not_found`
// (recordings).
Result<std::vector<TrialVerdict>> run_trials(const TrialOptions& options, const ReachServer& server);

}  // namespace cairn
