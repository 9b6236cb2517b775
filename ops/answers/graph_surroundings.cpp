#include "ops/answers/graph_surroundings.hpp"

#include <algorithm>
#include <set>

#include "engine/nearest.hpp"
#include "ops/answers/sessions.hpp"
#include "workers/session/declared_work.hpp"

namespace cairn {
namespace {

using Sessions = std::vector<SessionRow>;

// Nothing if one of them does not say.
std::optional<Names> all_of(const Sessions& sessions, std::optional<Names> SessionRow::*list) {
  std::set<std::string> names;
  for (const SessionRow& row : sessions) {
    if (!(row.*list)) return std::nullopt;
    names.insert((row.*list)->begin(), (row.*list)->end());
  }
  return Names(names.begin(), names.end());
}

void add_workers(const Sessions& sessions, Surroundings& around) {
  if (sessions.empty()) return;
  around.who = "a worker of this database";
  around.handler_names = all_of(sessions, &SessionRow::handlers);
  if (auto tools = all_of(sessions, &SessionRow::tools)) around.tools = std::move(tools);
  for (const SessionRow& row : sessions) around.handlers.merge(handlers_of(row));
  std::set<std::string> queues;
  for (const SessionRow& row : sessions) queues.insert(row.queues.begin(), row.queues.end());
  if (std::any_of(sessions.begin(), sessions.end(), serves_all_queues))
    around.usual_queues.insert(around.usual_queues.end(), queues.begin(), queues.end());
  else
    around.queues.emplace(queues.begin(), queues.end());
}

}  // namespace

Surroundings deployed_surroundings(const Catalogue& catalogue, Client& client, Store& store) {
  Surroundings around = surroundings_of(catalogue);
  Sessions alive;
  const TimeUs now = store.database_time();
  for (SessionRow& row : store.sessions().all())
    if (!is_silent(row, now) && !row.only_own) alive.push_back(std::move(row));
  add_workers(alive, around);
  around.graphs.emplace();
  for (const GraphRow& row : store.graphs().names()) around.graphs->push_back(row.name);
  around.find_graph = [&client](const std::string& name) { return client.graphs().current(name); };
  return around;
}

Json review_json(const GraphReview& review) {
  return {{"ok", review.faults.empty()}, {"faults", review.faults}, {"warnings", review.warnings}};
}

Error with_nearest_graph(Store& store, const std::string& graph, Error error) {
  if (error.code != Code::not_found) return error;
  std::vector<std::string> names;
  for (const GraphRow& row : store.graphs().names()) names.push_back(row.name);
  const std::string hint = did_you_mean(graph, names);
  if (!hint.empty() && error.message.ends_with('.')) error.message.insert(error.message.size() - 1, hint);
  return error;
}

}  // namespace cairn
