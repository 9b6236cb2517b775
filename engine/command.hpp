// Commands: requests to a run, named in the imperative, which decide may refuse. A command and its Context carry
// everything that the core may not fetch for itself (time, ids, chance, tools). Plain values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/event.hpp"

namespace cairn {

// The result of a step that succeeded. `patch` is a sub-goal's outputs when the step was one.
struct Outcome {
  std::string label;
  Json patch = Json::object();
  std::vector<Fact> facts;
  // For a pure step on a node that says `cache`: a digest of everything it depends on, set by the executor. With the
  // same key and no facts but records, the outcome may be used again; the records are not repeated.
  std::string cache_key = {};
  std::int32_t handler_version = 0;  // that made it; 0: its first one, or none did
  std::string digest = {};           // of it as it was reported, where it may be reported again; "": it may not
};

// The error of a step that has no answer on record; it ends the run as failed, whatever edges there are.
inline constexpr const char* diverged_error = "diverged";

// Why an attempt failed. `error` is one word, `message` a sentence.
struct Failure {
  std::string error = "error";
  std::string message;
  bool retryable = true;
  std::vector<Fact> facts;  // only records of what was used are kept
  // The next attempt comes no earlier, as the other side has asked; at most pause_ms_max. 0: it has not asked.
  std::int64_t pause_ms = 0;
  std::string refused = {};  // the digest of the outcome that was reported, where the run could not take it
};
inline constexpr std::int64_t pause_ms_max = 3'600'000;

struct StartRun {
  RunId run;
  std::string graph;
  std::string version;  // "": the current one
  Json input = Json::object();
  Options options;
  Tags tags;
  std::optional<Parent> parent;
  std::optional<RunId> continues;
  std::optional<Json> history;
  std::optional<Origin> forked_from;         // then `input` is the origin's, and what follows counts
  std::optional<Json> edit = {};             // channels set before anything else happens
  bool asks_again = false;                   // of a fork: its open questions, where what they read is another now
  bool opens_again = true;                   // of a fork: as Reopen says
  std::map<std::string, Json> answers = {};  // to questions that are open there, by id
  std::int32_t language = language_now;      // of a fork: its origin's, whatever stands here
  std::string key = {};                      // it was started with; "": none
  std::string reason = {};                   // given by a person for a fork; check_reason() bounds it and those below
};
struct CompleteStep {
  StepId step = 0;
  std::int32_t attempt = 0;
  Outcome outcome;
  SessionId worker = 0;
  TimeUs started_at = 0;
  StepId cached_from = 0;  // its handler was not run: the outcome is the one that this step recorded under the key
};
struct FailStep {
  StepId step = 0;
  std::int32_t attempt = 0;
  Failure failure;  // error "lost": the worker died or the step lapsed; counts as a loss
  SessionId worker = 0;
  TimeUs started_at = 0;
  bool alone = false;  // lost while its worker executed nothing else
  bool begun = true;   // lost after it had begun, or that is unknown
};
struct Due {        // the time of a timer, a timeout or an expiry is reached; refused if early
  StepId step = 0;  // 0: the whole run's
};
struct Answer {
  std::string question;  // "": the only open one
  Json value;
  std::string by;
  std::optional<std::string> fault;  // set by the door when the value does not fit the question's schema
};
struct SendSignal {
  std::string name;
  Json value;
  std::string id;
};
struct Cancel {
  std::string reason;
  bool now = false;             // without the graph's cleanup; one that has begun is never waited for
  bool spares_cleanup = false;  // refused `conflict` while the run cleans up, which it would cut short
};
struct Pause {
  std::string reason = {};
};
struct Resume {
  std::string reason = {};
};
struct Reopen {  // a failed run: its failed steps get attempt 1 again, its limit of time begins again
  std::string reason = {};
  bool opens_again = true;  // steps that could not open are opened again (may_open_again); not so in old histories
};
struct FinishChild {
  StepId step = 0;
  RunId child;
  RunStatus status = RunStatus::done;
  std::string reason;
  Json output;
};
struct EditChannels {
  Json patch = Json::object();
};
struct MoveRun {  // to another version of its graph
  std::string version;
  std::string reason = {};
};

using Command = std::variant<StartRun, CompleteStep, FailStep, Due, Answer, SendSignal, Cancel, Pause, Resume, Reopen,
                             FinishChild, EditChannels, MoveRun>;

// A tool as the engine sees it when it admits a sub-goal. A need is one of
//   "$channel", "$channel/pointer"   a value of the run's data that must not be null
//   "name"                           an input of that name that must not be null
//   "*.slot"                         an input that refers to that slot of another sub-goal
struct ToolFacts {
  std::string queue = "default";
  std::vector<std::string> needs;
  std::vector<std::string> gives = {};  // the slots of its outputs; empty: it does not say
  std::string about = {};  // for planners: what it does and takes, in a sentence or two; "": not offered to them
  std::vector<std::string> takes = {};  // the names of its inputs; empty: any
};
using ToolTable = std::map<std::string, ToolFacts, std::less<>>;

struct Context {
  TimeUs now_us = 0;
  std::string actor;
  RunId id_base;                         // the n-th run the command creates has plus(id_base, n)
  double draw = 0;                       // in [0,1), for jitter
  const ToolTable* tools = nullptr;      // null: no tool is known
  std::size_t children_max = 1'000;      // runs that one decision may create, called by one another
  std::size_t signal_ids_max = 100'000;  // signals with an id that one run may receive, as it remembers them all
  std::size_t events_max = 100'000;      // of one decision; the run fails when more would follow by themselves
};

}  // namespace cairn
