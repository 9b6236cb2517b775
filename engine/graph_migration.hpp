// The migration of a run to another version of its graph: the hindrances, and the move itself. Used by a run that is
// moved and by a fork that begins under a changed graph. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "engine/graph.hpp"
#include "engine/state.hpp"

namespace cairn {

// Why the run cannot go on under `to`, one sentence each; empty: it can. Where it stands (open steps, branches at a
// join) must be a node of the same name and verb there, within the same fan-outs, and what its channels hold must fit
// their reducers. Nodes that it has left do not count.
std::vector<std::string> move_hindrances(const RunState& state, const Graph& to);

// The nodes where the run stands and that `to` lacks, by name.
std::vector<std::string> missing_nodes(const RunState& state, const Graph& to);

// Puts the run under `to`: data is as the old graph composed it, budgets have the new caps (an option of the run wins)
// and the counts they had. Throws CorruptHistory if a node is missing.
void move_to(RunState& state, GraphRef to);

}  // namespace cairn
