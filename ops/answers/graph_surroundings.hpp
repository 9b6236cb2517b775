// The knowledge around a graph in a database: the graphs that are stored there, and the handlers, tools and queues of
// the workers that are alive. Safe from any thread, with a client of its own.
#pragma once

#include "engine/graph_review.hpp"
#include "workers/catalogue.hpp"
#include "workers/client.hpp"

namespace cairn {

// Where no worker is alive, or one does not say what it has, what this program has counts.
// REQUIRES: catalogue, client and store outlive it.
Surroundings deployed_surroundings(const Catalogue& catalogue, Client& client, Store& store);

Json review_json(const GraphReview& review);  // {"ok", "faults", "warnings"}

// The refusal of a graph that is unknown, with the name that was probably meant; any other as it is.
Error with_nearest_graph(Store& store, const std::string& graph, Error error);

}  // namespace cairn
