// A simulated worker: runs sessions one after another in one place, drives each, and injects the faults of the
// scenario. Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "workers/session/session.hpp"
#include "workers/simulation/world.hpp"

namespace cairn::simulation {

class SimulatedWorker {
 public:
  SimulatedWorker(World& world, Ports& ports, std::size_t place);

  void begin();
  void notified();
  void drain();                  // for good
  void drain_for(TimeUs pause);  // then another begins
  void crash(TimeUs pause);
  void stall(TimeUs pause);
  bool is_alive() const { return session_ != nullptr; }
  bool is_executing() const { return !executing_.empty(); }
  std::string name() const;

 private:
  const SessionPlan& plan() const { return world_.scenario.sessions[place_]; }
  TimeUs steady() const;
  TimeUs from_steady(TimeUs steady_us) const;
  WorkerOptions options() const;
  SessionOrigin origin();
  bool is_stalled() const { return world_.agenda.now() < stalled_until_; }

  void advance_at(TimeUs when);
  void advance();
  bool send(StoreCall call);
  void answered(StoreCall call, bool is_answered);
  void start(Effect effect);
  void ended(Ticket slot, const StepResult& result);
  void check_first(const Effect& effect) const;
  void check_alone(const Effect& effect);
  void beat();
  void end();
  void begin_again(TimeUs pause);
  const Fault* fault_at(std::int64_t call) const;

  World& world_;
  Ports& ports_;
  const std::size_t place_;
  std::int64_t births_ = 0;
  std::int64_t calls_ = 0;  // of all its sessions
  std::shared_ptr<bool> gone_;
  std::optional<Executor> executor_;
  std::unique_ptr<Session> session_;
  bool has_stalled_ = false;  // since it began
  TimeUs stalled_until_ = 0;
  TimeUs next_advance_ = never_us;
  std::int64_t advances_ = 0;
  std::map<Ticket, bool> executing_;  // effects under way; true: it runs alone
  bool is_leaving_ = false;
  std::optional<TimeUs> back_after_;
};

}  // namespace cairn::simulation
