// Rows under a head of names, each column as wide as its widest cell. Where a terminal has no room, the widest columns
// are narrowed, but none whose cells are to be copied (ids) or are numbers; where that is not enough the last column
// goes on lines of its own. A script gets every cell but the last one as it is. Not thread-safe.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cairn {

class Table {
 public:
  explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
  void add(std::vector<std::string> row);
  bool is_empty() const { return rows_.size() == 1; }
  void keep(std::size_t column) { kept_.insert(column); }  // it is never narrowed: its cells are to be copied

  void print() const;          // the last column cut to the line
  void print_wrapped() const;  // the last column in as many lines as it takes

  // Its lines on a terminal of so many columns.
  std::vector<std::string> lines(std::size_t columns, bool wraps) const;

 private:
  struct Layout {
    std::vector<std::size_t> widths;
    bool folds = false;  // the last column has lines of its own
  };

  void print(bool wraps) const;
  Layout layout() const;
  Layout layout_within(std::size_t columns, bool wraps) const;
  Layout folded_within(std::size_t columns) const;
  std::size_t widest_cell(std::size_t column) const;  // the head aside
  std::vector<std::size_t> least_widths(std::size_t least) const;
  std::vector<std::string> lines(const Layout& layout, std::size_t columns, bool wraps) const;

  std::vector<std::vector<std::string>> rows_;
  std::set<std::size_t> kept_;
};

}  // namespace cairn
