#include "ops/terminal/table.hpp"

#include <algorithm>
#include <numeric>

#include "engine/id.hpp"
#include "ops/terminal/columns.hpp"
#include "ops/terminal/line.hpp"

namespace cairn {
namespace {

constexpr std::size_t narrowed_to = 10;     // before the last column goes on lines of its own
constexpr std::size_t narrowest = 4;        // and after
constexpr std::size_t last_width_min = 16;  // of the last column, for which others are narrowed
constexpr std::size_t last_width_least = 8;
constexpr std::size_t legible_width = 32;  // of long sentences
constexpr std::size_t fold_indent = 4;

bool is_amount(const std::string& cell) {
  return !cell.empty() && cell.find_first_not_of("0123456789.,-") == std::string::npos;
}

// An id of a run, of an event of one, or a colour.
bool is_to_stay(const std::string& cell) {
  static const std::size_t letters = to_string(RunId{}).size();
  return cell.find(paint_begins) != std::string::npos || parse_run_id(cell.substr(0, letters)).has_value();
}

// The columns but the last one, each with the gap after it.
std::size_t taken_by(const std::vector<std::size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end() - 1, 2 * (widths.size() - 1));
}

// Takes columns from the widest until all take at most `room`, or none has any to give.
void narrow_to(std::vector<std::size_t>& widths, const std::vector<std::size_t>& least, std::size_t room) {
  for (std::size_t taken = taken_by(widths); taken > room; --taken) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i + 1 < widths.size(); ++i)
      if (widths[i] > least[i] && (widest == widths.size() || widths[i] > widths[widest])) widest = i;
    if (widest == widths.size()) return;
    --widths[widest];
  }
}

}  // namespace

void Table::add(std::vector<std::string> row) {
  for (std::string& cell : row)
    std::replace_if(
        cell.begin(), cell.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  rows_.push_back(std::move(row));
}

std::size_t Table::widest_cell(std::size_t column) const {
  std::size_t widest = 0;
  for (std::size_t i = 1; i < rows_.size(); ++i) widest = std::max(widest, shown_width(rows_[i][column]));
  return widest;
}

std::vector<std::size_t> Table::least_widths(std::size_t least) const {
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < rows_.front().size(); ++column) {
    const auto stays = [&](const auto& row) { return is_to_stay(row[column]); };
    const auto is_number = [&](const auto& row) { return row[column].empty() || is_amount(row[column]); };
    const bool is_kept = kept_.contains(column) || std::any_of(rows_.begin() + 1, rows_.end(), stays) ||
                         std::all_of(rows_.begin() + 1, rows_.end(), is_number);
    widths.push_back(is_kept ? std::max(widest_cell(column), least) : least);
  }
  return widths;
}

Table::Layout Table::layout() const {
  Layout all;
  for (std::size_t column = 0; column < rows_.front().size(); ++column)
    all.widths.push_back(std::max(shown_width(rows_.front()[column]), widest_cell(column)));
  return all;
}

Table::Layout Table::folded_within(std::size_t columns) const {
  Layout folded = layout();
  folded.folds = true;
  const std::size_t room = columns + 2;  // no gap is needed after the last that stands there
  narrow_to(folded.widths, least_widths(narrowed_to), room);
  narrow_to(folded.widths, least_widths(narrowest), room);
  return folded;
}

Table::Layout Table::layout_within(std::size_t columns, bool wraps) const {
  Layout fitted = layout();
  const std::size_t widest = widest_cell(fitted.widths.size() - 1);
  const std::size_t last = std::clamp(widest, last_width_least, last_width_min);
  narrow_to(fitted.widths, least_widths(narrowed_to), columns - std::min(columns, last));
  const std::size_t taken = taken_by(fitted.widths);
  if (taken + last > columns) return folded_within(columns);
  const std::size_t room = columns - taken;
  const bool is_tall = wraps && room < legible_width && widest > 2 * room;  // a word or two in each line
  return is_tall ? folded_within(columns) : fitted;
}

std::vector<std::string> Table::lines(const Layout& layout, std::size_t columns, bool wraps) const {
  std::vector<std::string> lines;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      const std::string cell = cut_to(row[i], layout.widths[i]);
      line += cell + std::string(layout.widths[i] - shown_width(cell) + 2, ' ');
    }
    const std::size_t indent = layout.folds ? fold_indent : shown_width(line);
    const std::size_t room = std::max(columns > indent ? columns - indent : 0, last_width_least);
    std::vector<std::string> last = wraps ? wrapped(row.back(), room) : std::vector{cut_to(row.back(), room)};
    if (!layout.folds) {
      line += last.front();
      last.erase(last.begin());
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(&row == &rows_.front() ? painted(line, Paint::bold) : line);
    for (const std::string& more : last)
      if (!more.empty()) lines.push_back(std::string(indent, ' ') + more);
  }
  return lines;
}

std::vector<std::string> Table::lines(std::size_t columns, bool wraps) const {
  return lines(layout_within(columns, wraps), columns, wraps);
}

void Table::print() const { print(false); }
void Table::print_wrapped() const { print(true); }

void Table::print(bool wraps) const {
  if (is_empty()) return print_line(painted("None.", Paint::dim));
  const Layout shown = is_terminal() ? layout_within(line_width(), wraps) : layout();
  for (const std::string& line : lines(shown, line_width(), wraps)) print_line(line);
}

}  // namespace cairn
