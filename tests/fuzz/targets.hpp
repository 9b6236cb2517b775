// What is fed with anything at all: each target takes bytes and returns, or the process dies (a CHECK, a sanitizer, an
// exception that nobody expected). Run for seconds by the tests and for hours by ops/fuzz. Not thread-safe.
#pragma once

#include <span>
#include <string_view>

namespace cairn::fuzz {

struct Target {
  const char* name;  // its corpus is tests/fuzz/corpus/NAME
  void (*run)(std::string_view bytes);
};
std::span<const Target> targets();

void graph(std::string_view bytes);        // a graph's text
void codec(std::string_view bytes);        // type, version, payload
void history(std::string_view bytes);      // any sequence of events, folded
void plan(std::string_view bytes);         // the input of plan_runner
void foreign(std::string_view bytes);      // what a tool or an endpoint says
void model_reply(std::string_view bytes);  // a model's message and the schema it is held against

}  // namespace cairn::fuzz
