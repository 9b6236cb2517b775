// The engine inside of your program, for unit tests of graphs and handlers: a store in memory, a worker, and virtual
// time. While a run is waited for and nothing is executed, the clock goes forward to what is due next, so that a day's
// timer takes a moment. One at a time in a process. Not thread-safe.
#pragma once

#include <cairn/client.hpp>
#include <cairn/handlers.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cairn::library {

struct EngineOptions {
  std::string tools_file = {};  // as `--tools`; "": CAIRN_TOOLS, else none
};

struct SimulateOptions {
  std::int64_t seeds = 100;
  std::uint64_t first_seed = 1;
  Json input = Json::object();
  Json outcomes = Json::object();  // of handlers that are no rules, and of tools, as the file of `simulate --handlers`
};

class Engine {
 public:
  // Throws Refused as `cairn test-server` refuses; `conflict`: there is one in this process.
  explicit Engine(const Handlers& handlers = {}, const EngineOptions& options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Everything that a client can do, without a server: start, wait, answer, fork, state as of, diff ... Not `verify`,
  // which needs a database.
  Client& client();

  // The run's state once it has ended, or once no clock brings it on: it waits for an answer, a signal, another run.
  // Throws Unavailable after a minute of real time.
  Json settle(const std::string& run);

  // Stores the graph, starts a run of it and lets it settle.
  Json execute(const Json& graph, const Json& input = Json::object());

  // The clock goes forward.
  void skip(std::chrono::milliseconds time);

  // The worker dies: what it holds is lost and tried again, as after `kill -9`, and what its functions still return
  // counts no more. Another one goes on.
  void crash();

  // The graph under crashes, outages, late answers and lost messages, once for each seed, in virtual time: your rules
  // are called, everything else happens as `outcomes` says or by chance. Returns what broke, line by line; empty:
  // nothing did. A seed always does the same. Throws Refused: graph or outcomes do not fit. A bug that it meets ends
  // the simulation, not the process: from then on that holds for the whole process.
  static std::vector<std::string> simulate(const Json& graph, const Handlers& handlers = {},
                                           const SimulateOptions& options = {});

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn::library
