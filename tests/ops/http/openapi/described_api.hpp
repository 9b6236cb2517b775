// Exchanges with the API held against its description: a request that was accepted, and any answer, must fit the
// operation of ops/http/openapi.json. Each function gives the sentence of the first thing that does not fit; "": all
// fits. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/json.hpp"

namespace cairn::program {

struct Exchanged {
  std::string method;
  std::string target;
  std::string body;                                          // of the request
  int status = 0;                                            // of the answer
  std::string type;                                          // of the answer
  std::string answer;                                        // its body
  std::vector<std::pair<std::string, std::string>> headers;  // of the answer
};

const Json& description();

std::string misfit(const Exchanged& exchanged);
// The same for a request whose answer is a stream: all but its frames.
std::string misfit_of_stream(const Exchanged& exchanged);
// Checks the data of a frame in the answer to GET `target`.
std::string misfit_of_frame(const std::string& target, const Json& data);
// Checks a refusal as such: the answer to malformed bytes.
std::string misfit_of_refusal(const Exchanged& exchanged);

}  // namespace cairn::program
