// The state of a Client, which its two units share: client_runs.cpp and client_starts.cpp. Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/clock.hpp"
#include "workers/catalogue.hpp"
#include "workers/client.hpp"
#include "workers/handlers/large_values.hpp"
#include "workers/runs/committer.hpp"
#include "workers/runs/history.hpp"

namespace cairn {

// A stored graph that cannot be read: it stops its own runs, and is asked for again.
struct UnreadableGraph {
  std::string name;
  bool is_current = false;
  Error fault;
};

struct Client::Parts {
  Parts(Store& store_of, const Catalogue& catalogue_of, std::string actor_of)
      : store(store_of), catalogue(catalogue_of), actor(std::move(actor_of)) {
    committer.emplace(options());
  }

  CommitterOptions options();
  void learn(const std::vector<GraphRow>& rows);
  void learn(const GraphRow& row);
  void store_lost_graphs();
  void tick() { committer->tick(steady_us(), store.database_time()); }
  bool knows(const std::string& version) const { return known.versions.contains(version); }
  std::map<Ticket, Reply> pump(std::size_t replies);
  void carry_out(CommitterActions actions, std::map<Ticket, Reply>& replies);
  void put_blobs(Shard shard, const std::vector<Blob>& blobs);

  Store& store;
  const Catalogue& catalogue;
  std::string actor;
  std::optional<Committer> committer;
  KnownGraphs known;
  std::map<std::string, UnreadableGraph> unreadable;  // by version
  Ticket last_ticket = 0;
  std::optional<KeyedStarter> starter;  // made when a start has a policy
};

}  // namespace cairn
