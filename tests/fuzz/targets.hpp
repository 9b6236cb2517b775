// The fuzz targets: functions that take any bytes and return. A CHECK, a sanitizer's report or an unexpected exception
// ends the process. The tests run each for a second, ops/fuzz for hours. Not thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cairn::fuzz {

struct Target {
  const char* name;  // its corpus is tests/fuzz/corpus/NAME
  void (*run)(std::string_view bytes);
};
std::span<const Target> targets();

void graph(std::string_view bytes);               // a graph's text
void codec(std::string_view bytes);               // type, version, payload
void history(std::string_view bytes);             // any sequence of events, folded
void state(std::string_view bytes);               // a state that a run carries, as an export or a fork has it
std::string state_after(std::string_view bytes);  // such a one, after those of the events that can follow
void run(std::string_view bytes);                 // {"graph", "input", "says"}: a run, and what is said to it
void plan(std::string_view bytes);                // the input of plan_runner
void foreign(std::string_view bytes);             // the output of a tool or an endpoint
void model_reply(std::string_view bytes);         // a model's message, and the schema it is checked against
void schedule(std::string_view bytes);            // a schedule's definition
void time_zone(std::string_view bytes);           // a file of the zone database

}  // namespace cairn::fuzz
