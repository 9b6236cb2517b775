// Random commands on runs that wait for a signal, with a ledger of those that were acknowledged. Not thread-safe.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "tests/faults/load.hpp"

namespace cairn::program {

class Commands {
 public:
  // REQUIRES: `load` outlives it.
  Commands(Load& load, std::uint64_t seed);

  void start();     // a run, under a key, until that is acknowledged
  void give_one();  // a command drawn at random, to one of the runs
  // Resumes and signals them until all have ended.
  void finish();
  // Each cancel that was acknowledged stands; no end of an attempt is recorded twice.
  void expect_kept();
  int acknowledged() const { return acknowledged_; }

 private:
  struct Target {
    std::string run;
    bool is_cancelled = false;
  };
  bool give(const Target& target, Arguments command);
  std::string status(const Target& target) const;

  Load& load_;
  std::mt19937_64 random_;
  std::vector<Target> targets_;
  int given_ = 0;
  int signals_ = 0;
  int acknowledged_ = 0;
};

}  // namespace cairn::program
