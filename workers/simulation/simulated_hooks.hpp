// Hooks in a simulation: the real readers and senders of several processes, over tables in memory and the log of the
// simulated store. Processes die and calls fail at any point, also those of an operator who adds and removes a hook;
// receivers refuse, are silent and lose answers. At the end everything heals; then each event that a hook is on, and
// that came after it was added, must have been delivered with its one id, to an ordered hook in order; each standstill
// that arrived must have been one; and no hook that is gone may have left its consumer. Not thread-safe.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "storage/hooks/memory_hooks.hpp"
#include "workers/hooks/hook_desk.hpp"
#include "workers/hooks/hook_reader.hpp"
#include "workers/hooks/hook_sender.hpp"
#include "workers/simulation/call_trouble.hpp"
#include "workers/simulation/chance.hpp"
#include "workers/simulation/world.hpp"

namespace cairn::simulation {

class SimulatedHooks {
 public:
  SimulatedHooks(World& world, std::uint64_t seed);
  ~SimulatedHooks();
  SimulatedHooks(const SimulatedHooks&) = delete;
  SimulatedHooks& operator=(const SimulatedHooks&) = delete;

  // Adds the hooks and plans the first act. REQUIRES: called once; this lives as long as the agenda is stepped.
  void begin();
  // Ends the faults, has everything sent and checks what arrived. Throws Violation.
  void end();

 private:
  static constexpr std::size_t processes = 3;

  struct Consumer {
    FeedFilter filter;
    std::size_t position = 0;  // in the log
  };
  struct LoggedSeq {
    RunId run;
    std::int64_t seq = 0;
  };
  struct Process {
    std::shared_ptr<bool> is_gone;
    std::unique_ptr<HookReader> reader;
    std::unique_ptr<HookSender> sender;
  };
  struct Received {
    std::string body;
    int successes = 0;
  };
  // The receiver of one hook, as it remembers.
  struct Receiver {
    std::map<NoticeId, Received> all;
    std::map<RunId, std::vector<NoticeId>> by_run;  // in the order of the first arrivals
  };

  TimeUs now() const { return world_.now() + healed_us_; }
  void begin_process(std::size_t n);
  HookCalls troubled_calls();
  HookFeed feed();
  HookFeed troubled_feed();
  void remove_while_made(const std::string& consumer);
  template <class Call>
  auto troubled(Call call);

  void read_log();
  Result<HookPage> page(const std::string& consumer, std::int32_t limit);
  Status confirm(const std::string& consumer, const std::string& cursor);
  StalledAnswer stalled(const StalledQuestion& question);

  void act();
  void act_as(std::size_t n);
  void send(std::size_t n, HookParcel parcel);
  HookAnswer receive(const HookParcel& parcel);
  void act_as_operator();
  void change_brief_hook();
  void heal();
  std::vector<std::string> left_consumers() const;
  bool is_quiet();
  void check_all();
  void check_ended(const std::string& name, const HookDefinition& hook);
  void check_stalled(const std::string& name) const;
  void check_order(const std::string& name, const Receiver& receiver) const;

  World& world_;
  Chance chance_;
  CallTrouble trouble_;
  TimeUs healed_us_ = 0;
  bool has_faults_ = true;
  MemoryHooks hooks_;
  HookCalls calls_;
  std::vector<LoggedSeq> log_;
  std::map<RunId, std::int64_t> heads_;
  std::map<std::string, Consumer> consumers_;
  // From where on in the log a hook must have each event; one that is not here may lack any.
  std::map<std::string, std::size_t> since_;
  std::set<NoticeId> stood_;  // what searches found
  std::map<std::string, Receiver> receivers_;
  std::array<Process, processes> processes_;
};

}  // namespace cairn::simulation
