// The rights of an API token: roles (what may be asked), scopes (about which graphs, queues and runs) and quotas (how
// much), as values and as the texts in which they are given and kept. Pure functions and plain values, safe from any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph.hpp"
#include "engine/result.hpp"
#include "storage/store.hpp"

namespace cairn {

// Each stands for itself; `admin` alone includes all others.
enum class ApiRole : std::uint8_t { read, answer, run, operate, worker, admin };
std::string_view to_string(ApiRole role);

// Empty: everything. Graphs are alternatives, queues too; a run must have all the tags.
struct Scope {
  std::set<std::string> graphs;
  std::set<std::string> queues;
  Tags tags;

  bool covers_all_runs() const { return graphs.empty() && tags.empty(); }
  bool covers_graph(const std::string& name) const { return graphs.empty() || graphs.contains(name); }
  bool covers_queue(const std::string& name) const { return queues.empty() || queues.contains(name); }
  // The limits of a queue bear on runs of all graphs and tags.
  bool covers_limits_of(const std::string& queue) const {
    return queues.empty() ? covers_all_runs() : queues.contains(queue);
  }
  bool covers(const RunRow& run) const;
};

// The first queue that the graph's nodes name and the scope does not cover; nothing: there is none.
std::optional<std::string> queue_outside(const Scope& scope, const Graph& graph);

// At most `count` in any stretch of about `period_s` seconds.
struct Rate {
  std::int64_t count = 0;
  std::int64_t period_s = 1;
};

// Nothing: no bound.
struct Quotas {
  std::optional<Rate> runs;             // started and forked
  std::optional<Rate> bytes;            // of bodies
  std::optional<std::int64_t> streams;  // of events, at once
};

struct Access {
  std::set<ApiRole> roles;
  Scope scope;
  Quotas quotas;

  bool may(ApiRole role) const { return roles.contains(role) || roles.contains(ApiRole::admin); }
};

// "read"; "graph=NAME", "queue=NAME", "tag=KEY=VALUE"; "runs=100/1m", "bytes=10000000/1d", "streams=4", with s, m, h or
// d. Refuses `invalid`: another text, no role, a tag or a quota twice.
Result<Access> access_of(const std::vector<std::string>& roles, const std::vector<std::string>& scopes,
                         const std::vector<std::string>& quotas);

// Letters, digits and ".-_@", at most 64, not "environment". Refuses `invalid`.
Result<std::string> token_name_argument(const std::string& text);

}  // namespace cairn
