// Output on stdout for people and scripts, besides lines and tables: JSON lines, trees, states of runs, progress.
// Not thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/json.hpp"
#include "engine/state.hpp"
#include "ops/terminal/columns.hpp"
#include "ops/terminal/line.hpp"
#include "ops/terminal/table.hpp"

namespace cairn {

void print_json(const Json& document);  // one line
// Something that was not asked for, and that a person wants to know; on stderr.
void print_hint(const std::string& sentence);
// A line of a history; on a terminal what does not fit goes on under the text.
void print_dated(const std::string& when, const std::string& text);
// The first line of what is about a run: its id, and what is said of it; two lines where one has no room.
void print_head(const RunState& state, const std::string& says);
// How a run that cleans up ends then, and why; nothing of another one.
void print_ending(const RunState& state);
// The end of a list that goes on: what was shown, and the option that shows more; on one line where it fits. Next to
// JSON lines it is a line on stderr.
void print_list_goes_on(const std::string& says, const std::string& option, bool json);

// A time in a list whose head names the zone: on a terminal as short as can be, elsewhere with the day. "" of no time.
std::string listed_time(TimeUs at_us, TimeUs now_us);
std::string listed_time(const std::string& iso, TimeUs now_us);
// A pause of a schedule or a hook: {"by", "at", "reason"}.
std::string paused_text(const Json& paused);

std::string painted_status(std::string_view word);

bool is_read();  // false when stdout is closed, or a pipe whose reader is gone

// "a, b"; `none` for an empty list.
std::string list_text(const std::vector<std::string>& words, const std::string& none);

// A progress line on stderr that is overwritten in place, if stdout is a terminal; removed on destruction. Shows at
// most two lines a second.
class Progress {
 public:
  ~Progress() { wipe(); }
  bool is_due() const;  // a line would be shown now
  void show(std::string_view line);
  void wipe();

 private:
  std::chrono::steady_clock::time_point shown_at_{};
};

// As many letters of an id as distinguish these ids of runs, on a terminal; elsewhere all of them.
std::size_t letters_of_ids(std::vector<std::string> ids);

// An event in at most `width_max` columns: the most informative fields of its JSON, in a fixed order.
std::string event_summary(const Json& event, std::size_t width_max);

std::string cause_text(const CauseOfFailure& cause);  // NODE: ERROR: MESSAGE
// The reason, and the cause in brackets if the reason does not name it.
std::string reason_text(const std::string& reason, const std::optional<CauseOfFailure>& cause);

void print_plan(const RunState& state);
void print_state(const RunState& state, const Json& shown);  // `shown`: its JSON
void print_questions(const RunState& state, const Json& shown);

// Prints a text as it is, an object with a text `answer` as that text, any other value as indented JSON.
void print_value(const Json& value);

}  // namespace cairn
