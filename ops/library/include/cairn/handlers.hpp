// The handlers and tools that a program brings along: plain functions from a step to its outcome. A step may run more
// than once (at least once delivery), so effects pass its key on. The table is filled before anything runs; the
// functions in it are called from several threads at once.
#pragma once

#include <cairn/values.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cairn::library {

// Everything that a function may know of its step: its own copy, frozen when the step opened.
struct Step {
  std::string run;
  std::int64_t number = 0;
  std::int32_t attempt = 1;
  std::string graph;
  std::string node;      // of a handler
  std::string sub_goal;  // of a tool
  std::map<std::string, std::string> tags;
  std::string key;     // the idempotency key of its effects: the same at each attempt
  Json input;          // a handler: the node's "with", references replaced; a tool: the sub-goal's inputs
  Json data;           // the channels that the handler reads, by name
  Json given;          // an answer, a signal ... that opened the step; null: none did
  std::string failed;  // why the attempt before this one failed; "": there was none
  std::chrono::milliseconds timeout{0};  // for the attempt; 0: there is none
};

// The outcome of a step: channels to change (of a tool: its outputs), and the label by which it leaves its node. One
// that JSON cannot hold (text that is no UTF-8, a number that is not finite, bytes) fails the attempt for good.
struct Outcome {
  Outcome() = default;
  Outcome(Json changed) : patch(std::move(changed)) {}
  Outcome(std::string leaves_by, Json changed) : label(std::move(leaves_by)), patch(std::move(changed)) {}

  std::string label;  // "": the handler's first one
  Json patch = Json::object();
};

// Thrown by a function: the attempt failed, and the graph's `retry` decides. Any other exception is one as well, with
// the error `exception`.
class Again : public Problem {
 public:
  explicit Again(const std::string& sentence, std::string error = "again", std::chrono::milliseconds pause = {})
      : Problem(sentence), error_(std::move(error)), pause_(pause) {}
  const std::string& error() const { return error_; }         // one word, on which edges may go by
  std::chrono::milliseconds pause() const { return pause_; }  // the next attempt comes no earlier; at most an hour

 private:
  std::string error_;
  std::chrono::milliseconds pause_;
};

// Thrown by a function: the attempt failed for good.
class Final : public Problem {
 public:
  explicit Final(const std::string& sentence, std::string error = "final")
      : Problem(sentence), error_(std::move(error)) {}
  const std::string& error() const { return error_; }

 private:
  std::string error_;
};

using StepFunction = std::function<Outcome(const Step&)>;
using ToolFunction = std::function<Json(const Step&)>;  // the outputs, a JSON object

struct HandlerOptions {
  std::vector<std::string> labels = {"ok"};  // by which it may leave
  std::vector<std::string> reads = {};       // the channels that it gets as `data`; "*": all
  std::int32_t version = 1;                  // raised when its meaning changes; stands in the event of each outcome
};

struct ToolOptions {
  std::string about = {};  // for planners: what it does and takes; "": it is not offered to them
  std::chrono::milliseconds timeout{10'000};
};

class Handlers {
 public:
  Handlers();
  ~Handlers();
  Handlers(const Handlers&);
  Handlers& operator=(const Handlers&);

  // A function that may block: it runs on a thread of its own, as many at once as `threads`. All three throw Refused
  // `invalid`: a name that is no handler's ("planner.node"), is taken, or a function that is none.
  Handlers& add(const std::string& name, StepFunction function, HandlerOptions options = {});
  // A rule: no clock, no I/O, nothing random. It runs where the run's state is, in the commit of the step before it,
  // and what it said is used again by a replay without calling it.
  Handlers& add_rule(const std::string& name, StepFunction function, HandlerOptions options = {});
  // A tool for the sub-goals of plans and for `tool.call`.
  Handlers& add_tool(const std::string& name, ToolFunction function, ToolOptions options = {});

  Handlers& threads(int count);  // 1 to 1,024; 16 unless set

  struct Parts;  // private
  const Parts& parts() const { return *parts_; }

 private:
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn::library
