// What people and scripts read on stdout: tables, trees, JSON lines. Colours only on a terminal. Not thread-safe.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "engine/json.hpp"
#include "engine/state.hpp"
#include "storage/store.hpp"

namespace cairn {

void print_line(std::string_view text);
void print_json(const Json& document);  // one line

enum class Paint { bold, dim, red, green, yellow };
std::string painted(std::string_view text, Paint paint);
std::string painted_status(std::string_view word);

bool is_terminal();        // stdout
bool is_read();            // false when stdout is a pipe that nobody reads any more, or closed
std::size_t line_width();  // of the terminal; generous when there is none

// One line on stderr that is written over again and again, if a person reads along; gone at the end of its life. At
// most two a second are shown.
class Progress {
 public:
  ~Progress() { wipe(); }
  bool is_due() const;  // would a line be shown now?
  void show(std::string_view line);
  void wipe();

 private:
  std::chrono::steady_clock::time_point shown_at_{};
};

// Columns as wide as their widest cell; the last one is cut to the line.
class Table {
 public:
  explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool is_empty() const { return rows_.size() == 1; }
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "waiting" for a running one with only questions, waits and calls open; else the status' own word.
std::string status_word(const RunRow& row);
std::string status_word(const RunState& state);

// 2 min, 13 s, 140 ms.
std::string duration_text(TimeUs us);

// About an event from its JSON in at most so many columns: the fields that say most, in a fixed order.
std::string event_summary(const Json& event, std::size_t width_max);

void print_plan(const RunState& state);
void print_state(const RunState& state, const Json& shown);  // `shown`: its JSON
void print_questions(const RunState& state, const Json& shown);

// A text is printed as it is, anything else as indented JSON; an object with a text `answer` by that.
void print_value(const Json& value);

}  // namespace cairn
