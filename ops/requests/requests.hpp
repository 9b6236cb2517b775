// Requests as values: what a command line and an HTTP request both ask for, whichever way it arrived. Everything in one
// has been checked for its form (arguments.hpp, http/bodies.hpp). Plain values; safe to read from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/event.hpp"
#include "engine/graph.hpp"
#include "engine/json.hpp"
#include "storage/store.hpp"

namespace cairn {

struct OwnWork;

// The options of every command.
struct Settings {
  bool json = false;
  bool no_pager = false;                    // --no-pager
  std::string dsn;                          // --dsn; "": see choose_database
  std::string data;                         // --data
  std::string tools;                        // --tools; "": CAIRN_TOOLS
  std::string command = {};                 // its name: "runs", "graph add"
  std::shared_ptr<const OwnWork> own = {};  // of the program that this one is built into; null: none
};

// A moment of a run's history: an event's number or a time; neither: now.
struct Moment {
  std::optional<std::int64_t> seq;
  std::optional<TimeUs> at_us;
};

// An age limit: a point in time, or a duration before now.
struct Age {
  std::optional<TimeUs> at_us;
  std::int64_t age_us = 0;
};

// A filter as it is written: it may name runs by their first letters, which only a store knows (see
// meant_filter).
struct RunQuery {
  RunFilter filter = {};
  std::map<std::string, std::string> named = {};  // by key, `lineage` and `parent`; the filter lacks them until then
};

// The runs that are meant, in one of three ways.
struct RunSelection {
  std::vector<std::string> runs;
  std::optional<RunQuery> where;
  bool all = false;

  bool empty() const { return runs.empty() && !where && !all; }
};

struct StartRequest {
  std::string graph;
  Json input = Json::object();
  Options options;
  Tags tags;
  std::string key;
  std::string continues;
};

struct ForkRequest {
  std::string run;
  std::int64_t at = 0;
  Json edit = Json::object();  // channels to set; empty: none
  std::map<std::string, Json> answers;
  std::optional<Json> graph;
  Tags tags;
  bool recorded = false;
  std::string reason;  // for the record, in the run's event
};

struct AnswerRequest {
  std::string run;
  std::string question;  // "": the only open one
  Json value;
  std::string by;
};

// An operator's command to one run or to very many.
struct ControlRequest {
  enum class Kind : std::uint8_t { pause, resume, retry, reset, cancel, move };
  Kind kind = Kind::pause;
  std::string reason = {};  // for the record, in the run's event
  bool now = false;         // of a cancel: without the graph's cleanup
  std::string to = {};      // of a reset: a node, or an event's number
  GraphRef graph = {};      // of a move: the version to go on with, from try_graph
  bool dry_run = false;     // decide, and write nothing
};

// The same to all runs that match a filter, some at a time.
struct BulkRequest {
  ControlRequest control;
  std::optional<Json> graph = {};  // of a move, as it was sent
  RunQuery where;                  // its limit bounds this request
  std::set<RunId> only = {};       // of those that match; empty: all of them
  bool lists = false;              // the answer names the runs
};

struct SignalRequest {
  std::string run;
  std::string name;
  Json value;
  std::string id;
};

}  // namespace cairn
