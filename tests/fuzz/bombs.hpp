// Inputs that once took down what read them, each with the line of the review that found it: too long, too deep, too
// wide, or small and multiplied by what reads it. Seeds of ops/fuzz, and read by the tests. Pure.
#pragma once

#include <string>
#include <vector>

namespace cairn::fuzz {

struct Bomb {
  std::string target;
  std::string name;  // of its file
  std::string bytes;
};
std::vector<Bomb> bombs();

}  // namespace cairn::fuzz
