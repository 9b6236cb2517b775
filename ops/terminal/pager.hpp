// Long output on a terminal, shown by the pager of the person who reads it. Not thread-safe; at most one object at a
// time.
#pragma once

#include <memory>

namespace cairn {

// While it lives, what is written to std::cout is held until the terminal has no room for it; from then on all of it
// goes to CAIRN_PAGER, else to PAGER, else to less where that is installed. Output that fits is printed at the end.
// Stdout itself stays the terminal, whose width and colours are as ever. Nothing is held where stdout is no terminal,
// or one of no known height, without a cursor (TERM=dumb) or in another job's hands, and where the variable is empty or
// `cat`.
//
// The end waits until the pager has ended, and then prints what std::cerr got since the first output. A pager that is
// left early makes std::cout bad until then, so that a command may stop reading; a pager that cannot be started has the
// output printed.
class Pager {
 public:
  explicit Pager(bool is_wanted);
  ~Pager();
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;

 private:
  class Output;
  std::unique_ptr<Output> output_;  // null: nothing is held
};

}  // namespace cairn
