// A machine of a server's own, as far as its network goes: a namespace whose only way out is a cable to this machine.
// While the cable is cut, every packet is lost in both directions, and nothing says so: no reset, no refusal, no host
// that is unknown, as a router in between would lose them. The kernel takes cable and namespace away with the last
// process in it. Needs root and iproute2: without them `is_there` is false. Not thread-safe.
#pragma once

#include <string>

#include "tests/ops/program.hpp"

namespace cairn::program {

class Machine {
 public:
  Machine();
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  bool is_there() const { return is_there_; }
  const std::string& address() const { return address_; }
  Arguments inside() const;  // the words before those of a program that is to run there
  void cut() const;
  void join() const;

 private:
  bool lay_cable() const;
  bool run_inside(const Arguments& command) const;

  std::string cable_;  // our end
  std::string ours_;   // its address
  std::string address_;
  Beside holder_;  // of the namespace
  bool is_there_ = false;
};

}  // namespace cairn::program
