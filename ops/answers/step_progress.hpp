// The progress of a run's open steps, as answers show it: the text that a step has written so far. Foreign text: JSON
// holds it as it is, lines hold it through print_line(). Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/json.hpp"
#include "storage/store.hpp"

namespace cairn {

// {"step", "node", "attempt", "written", "at", "text"}: `text` is the end of what is written, of `written` characters.
Json progress_json(const ProgressRow& row);
// As a list, of the steps in their order, while they take at most so many bytes; the others are left out.
Json progress_json(const std::vector<ProgressRow>& rows, std::size_t bytes_max);

// "It has written 812 characters: LAST LINE".
std::string progress_sentence(const ProgressRow& row);

// The news in the progress of a run for one who follows it. Not thread-safe.
class ProgressNews {
 public:
  // Gives `use` each row that is new or has changed since it was given, until `use` returns false: the others are given
  // with the next call.
  void give(const std::vector<ProgressRow>& rows, const std::function<bool(const ProgressRow& row)>& use);

 private:
  std::map<std::pair<StepId, std::int32_t>, std::pair<TimeUs, std::int64_t>> seen_;  // by step and attempt
};

}  // namespace cairn
