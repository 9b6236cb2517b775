// Starts of graphs with a start policy: decides under the lock of the key's row (engine/keyed_starts.hpp), begins what
// was decided, and confirms it. Any number of processes may do so for one key: a run's id is decided with the start and
// kept with it, so that each start has one run, whichever process begins it or dies at any point. All times are the
// database's. Not thread-safe.
//
// Order: 1. decide and keep the starts, in one transaction; 2. cancel and begin runs; 3. confirm, in another one, and
// forget the starts. A run that 1. decided and 3. did not confirm is begun again by the next pass, five seconds later.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/command.hpp"
#include "engine/graph.hpp"
#include "engine/keyed_starts.hpp"
#include "storage/starts/start_book.hpp"
#include "storage/store.hpp"

namespace cairn {

// A start with the id of its run, and under whose name it is made.
struct OrderedStart {
  StartRun command;
  std::string actor;
};

// The standing of a start.
struct StartOutcome {
  StartStanding standing = StartStanding::started;
  RunId run;
  Status status = Done{};  // of a run that was to begin
  bool existed = false;    // an earlier start has named the run: nothing was added
};

class KeyedStarter {
 public:
  struct Hands {
    // Begins runs, some of which may have begun before; in their order. Done: the run is there, or was archived since.
    std::function<std::vector<Status>(std::vector<OrderedStart> starts)> begin;
    std::function<void(const std::vector<RunId>& runs, const std::string& reason)> cancel;
  };

  // REQUIRES: `store` outlives it, and so does what the hands use.
  KeyedStarter(Store& store, Hands hands) : store_(store), hands_(std::move(hands)) {}

  struct Order {
    StartKey of;
    StartPolicy policy;
    OrderedStart start;
    bool is_named = false;  // the run's id was chosen by the caller
  };
  // In their order. Throws StoreUnavailable, PostgresError.
  std::vector<StartOutcome> ask(const std::vector<Order>& orders);

  // Begins the runs that are due, of at most `portion` keys; returns how many there were. Throws as ask().
  std::size_t pass(int portion);

  // The starts that wait for the run are given up. Refuses `not_found`: none does, or it begins already.
  Status withdraw(const RunId& run);

  // The key is the run's, which this process is about to begin or reopen. Refuses `conflict`: another run has it.
  Status take(const StartKey& of, const RunId& run);
  // After take(): it was begun or reopened, or that was refused. The run keeps the key while it is open.
  void release(const StartKey& of, const RunId& run);

 private:
  struct InHand {
    StartKeyWrite write;
    KeyedStarts state;
    StartsSeen seen;
  };
  struct Doings {
    std::vector<RunId> cancels;
    std::vector<std::pair<StartKey, StartGroup>> begins;
  };

  std::vector<InHand> in_hand(TimeUs now_us, const std::vector<StartKeyRow>& rows);
  static void decide(InHand& key, Doings& doings);
  StartOutcome ask_one(InHand& key, const Order& order);
  std::optional<StartStanding> standing_of_same(const InHand& key, const RunId& run);
  static std::vector<StartKeyWrite> written(std::vector<InHand> keys, TimeUs now_us);
  // The status of each run that was to begin.
  std::vector<std::pair<RunId, Status>> carry_out(const Doings& doings);
  void confirm(const std::vector<std::pair<StartKey, StartGroup>>& begins, const std::vector<Status>& done);

  Store& store_;
  const Hands hands_;
};

// The key of a start by its graph's policy. Refuses `invalid`: the start has nothing at the key's place, or what is
// there is longer than 500 bytes or has a NUL. REQUIRES: the graph has a policy.
Result<StartKey> start_key_of(const Graph& graph, const Tags& tags, const Json& input);

}  // namespace cairn
