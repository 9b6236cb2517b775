// A graph simulated once for each of many seeds, until one of them finds something. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/command.hpp"
#include "engine/json.hpp"
#include "engine/result.hpp"
#include "workers/handlers/handler.hpp"

namespace cairn {
struct Catalogue;
}

namespace cairn::simulation {

struct SeedsAsked {
  std::vector<Json> graphs;     // the first is run; those it calls follow
  Json input = Json::object();  // of the runs
  Json says = Json::object();   // outcomes of handlers that are not pure, and of tools; see script.hpp
  std::uint64_t first = 1;
  std::uint64_t count = 1'000;
  const Catalogue* catalogue = nullptr;  // schedules of the first graph are simulated, too; null: they are not
};

struct FoundSeed {
  std::uint64_t seed = 0;
  std::string says;                // one sentence
  std::vector<std::string> lines;  // the shrunk scenario and its course, for people
};

struct SeedsReport {
  std::int64_t seeds = 0;
  std::int64_t events = 0;
  double seconds = 0;
  std::map<std::string, std::int64_t> faults;  // that happened, by kind
  std::map<std::string, std::int64_t> runs;    // by status
  std::optional<FoundSeed> found;

  std::int64_t per_second() const { return static_cast<std::int64_t>(static_cast<double>(seeds) / seconds); }
};

// Refuses `invalid`: outcomes that do not fit the graphs. From then on a failed CHECK in this process is a finding of a
// simulation, as throw_on_check_failures has it.
Result<SeedsReport> simulate_seeds(const SeedsAsked& asked, const HandlerTable& handlers, const ToolTable& tools);

}  // namespace cairn::simulation
