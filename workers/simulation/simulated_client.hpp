// A simulated client: gives commands through a committer of its own, as Client does. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "workers/runs/committer.hpp"
#include "workers/simulation/world.hpp"

namespace cairn::simulation {

class SimulatedClient {
 public:
  // `insists`: commits that fail are sent again until they are answered; otherwise all that was under way is forgotten
  // and in doubt.
  SimulatedClient(World& world, std::size_t number, bool insists);

  void command(const RunId& run, Command command);
  bool is_idle() const { return asked_.empty(); }

 private:
  void begin();
  void pump();
  void pump_at(TimeUs when);
  void send(StoreCall call);
  void answered(StoreCall& call, bool is_answered);
  void settled(std::uint64_t batch, std::vector<Verdict>& verdicts, bool is_answered);
  void forget();
  void replied(const Reply& reply);

  World& world_;
  const std::size_t number_;
  const bool insists_;
  std::shared_ptr<bool> gone_;
  std::unique_ptr<Committer> committer_;
  Ticket last_ticket_ = 0;
  std::unordered_map<Ticket, Ledger::Entry> asked_;
  TimeUs next_pump_ = never_us;
};

}  // namespace cairn::simulation
