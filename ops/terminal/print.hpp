// Output on stdout for people and scripts: lines, tables, trees, JSON lines. Colours only on a terminal.
// Not thread-safe.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "engine/json.hpp"
#include "engine/state.hpp"

namespace cairn {

// A line, with every foreign control character visible; only painted() makes a terminal change.
void print_line(std::string_view text);
void print_paragraph(const std::string& text);  // without colours, in lines as wide as the terminal
void print_json(const Json& document);          // one line
// A line of a history; on a terminal what does not fit goes on under the text.
void print_dated(const std::string& when, const std::string& text);
// The end of a list that goes on: what was shown, and the option that shows more; on one line where it fits.
void print_list_goes_on(const std::string& says, const std::string& option);

enum class Paint { bold, dim, red, green, yellow };
std::string painted(std::string_view text, Paint paint);
std::string painted_status(std::string_view word);

bool is_terminal();        // stdout
bool is_read();            // false when stdout is closed, or a pipe whose reader is gone
std::size_t line_width();  // of the terminal; generous when there is none

std::size_t shown_width(std::string_view text);  // columns on a terminal, colours aside

// Lines of at most this many columns, broken at blanks, or within a word that is longer. At least one line.
std::vector<std::string> wrapped(const std::string& text, std::size_t columns);

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

// A table with columns as wide as their widest cell, or narrowed where a terminal has no room; the last one is cut to
// the line, or wrapped.
class Table {
 public:
  explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool is_empty() const { return rows_.size() == 1; }
  void print() const;
  // The same, with a last column that goes on in further lines.
  void print_wrapped() const;

 private:
  void print(bool wraps) const;
  void fit(std::vector<std::size_t>& widths) const;

  std::vector<std::vector<std::string>> rows_;
};

// As many letters of an id as distinguish these ids of runs, on a terminal; elsewhere all of them.
std::size_t letters_of_ids(std::vector<std::string> ids);

// An event in at most `width_max` columns: the most informative fields of its JSON, in a fixed order.
std::string event_summary(const Json& event, std::size_t width_max);

std::string cause_text(const CauseOfFailure& cause);  // NODE: ERROR: MESSAGE

void print_plan(const RunState& state);
void print_state(const RunState& state, const Json& shown);  // `shown`: its JSON
void print_questions(const RunState& state, const Json& shown);

// Prints a text as it is, an object with a text `answer` as that text, any other value as indented JSON.
void print_value(const Json& value);

}  // namespace cairn
