// The values that all headers of the library share: JSON, and the refusals that they throw. Plain values.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>

namespace cairn {

namespace library {

using Json = nlohmann::json;

// Something that was asked for was not done. `what()` is one sentence for a person.
class Problem : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Cairn refuses it: asking again changes nothing.
class Refused : public Problem {
 public:
  Refused(int status, std::string code, const std::string& sentence)
      : Problem(sentence), status_(status), code_(std::move(code)) {}
  int status() const { return status_; }             // of HTTP
  const std::string& code() const { return code_; }  // invalid, not_found, conflict, closed, limit ...

 private:
  int status_;
  std::string code_;
};

// No answer in time, or none that is Cairn's. The request may have had its effect.
class Unavailable : public Problem {
 public:
  using Problem::Problem;
};

}  // namespace library

#ifndef CAIRN_IN_LIBRARY
using namespace library;  // programs say cairn::Client; inside of Cairn these names mean other things
#endif

}  // namespace cairn
