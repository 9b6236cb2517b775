#include <algorithm>

#include "workers/client_parts.hpp"
#include "workers/ids.hpp"
#include "workers/schemas/schema_check.hpp"
#include "workers/starts/kept_start.hpp"

namespace cairn {
namespace {

Json last_of(const Json& turns, std::size_t keep) {
  if (turns.size() <= keep) return turns;
  return Json(Json::array_t(turns.end() - static_cast<std::ptrdiff_t>(keep), turns.end()));
}

// The channel `history` of a run that continues `earlier`; see client.hpp.
Json history_of(const RunState& earlier, const Json& policy) {
  Json data = read_channels(earlier, root_branch);
  const Json before = data.contains("history") ? data["history"] : Json::object();
  data.erase("history");
  const Json keep = policy.is_object() ? policy.value("keep_last", Json()) : Json();
  for (const auto& [channel, reducer] : earlier.graph->channels) {
    if (reducer != Reducer::append || !data.contains(channel) || !data[channel].is_array()) continue;
    Json turns = before.is_object() ? before.value(channel, Json::array()) : Json::array();
    if (!turns.is_array()) turns = Json::array();
    for (Json& turn : data[channel]) turns.push_back(std::move(turn));
    data[channel] = keep.is_number_unsigned() ? last_of(turns, keep.get<std::size_t>()) : std::move(turns);
  }
  return data;
}

// The input of a run with the one start.
Json batch_of(const Json& input) { return {{"items", Json::array({input})}}; }

Status check_run_input(const Graph& graph, const Json& input) {
  const Status fits = check_value(graph.input, input);
  if (fits) return Done{};
  return Error{Code::invalid, "In the input of graph " + graph.name + ": " + fits.error().message};
}

// Refuses a start that has something that this policy cannot keep.
Status check_against_policy(const StartPolicy& policy, const StartRun& command, const std::string& key) {
  if (policy.singleton() != nullptr || (key.empty() && !command.continues)) return Done{};
  return Error{Code::invalid, std::string("Expected no ") + (key.empty() ? "run to continue" : "key of a run") +
                                  " in a start of graph " + command.graph + ", of which several become one run (" +
                                  std::string(policy.word()) + "), but found one."};
}

}  // namespace

// --- starting -------------------------------------------------------------------------------------------------------

Status Client::check_input(const std::string& graph, const Json& input) const {
  const GraphRef current = graphs().current(graph);
  return current == nullptr ? Status(Done{}) : check_input(*current, input);
}

Status Client::check_input(const Graph& graph, const Json& input) {
  return check_run_input(graph, graph.starts && graph.starts->is_batch() ? batch_of(input) : input);
}

// The run that another one is to continue.
Result<RunState> Client::ended_run(const RunId& run) {
  Result<RunState> earlier = state(run);
  if (!earlier || is_ended(earlier->status)) return earlier;
  return Error{Code::conflict, "Expected run " + to_string(run) +
                                   " to have ended before another continues it, but it is " +
                                   std::string(to_string(earlier->status)) + "."};
}

Status Client::prepare(StartRun& command) {
  if (command.version.empty())
    if (Status readable = check_current(command.graph); !readable) return readable;
  const Graphs& known = graphs();
  const GraphRef graph = command.version.empty() ? known.current(command.graph) : known.by_version(command.version);
  if (graph != nullptr)
    if (Status fits = check_run_input(*graph, command.input); !fits) return fits;
  const Shard shard = shard_of(command.run, parts_->store.shards());
  std::vector<Blob> blobs;
  if (command.continues) {
    Result<RunState> earlier = ended_run(*command.continues);
    if (!earlier) return earlier.error();
    Json history = expand_blobs(history_of(*earlier, graph == nullptr ? Json() : graph->context),
                                shard_of(earlier->id, parts_->store.shards()));
    if (Status moved = move_out(history, earlier->graph.get(), blobs); !moved) return moved;
    command.history = std::move(history);
  }
  if (Status moved = move_out(command.input, graph.get(), blobs); !moved) return moved;
  parts_->put_blobs(shard, blobs);
  return Done{};
}

// A key used before: the same input is the same run.
Result<Started> Client::started_before(const StartRun& command) {
  const std::vector<EventRow> rows = parts_->store.events(command.run, 0, 1);
  if (rows.empty())
    return Error{Code::closed, "Expected run " + to_string(command.run) +
                                   ", which has been started under this key, but it was archived meanwhile."};
  Result<Event> first = event_of(rows.front());
  if (!first) return first.error();
  const auto* started = std::get_if<RunStarted>(&first->body);
  if (started != nullptr && started->graph == command.graph && parse_stored(started->input) == command.input)
    return Started{command.run, true};
  return Error{Code::conflict, "Expected the input that run " + to_string(command.run) +
                                   " was started with under this key, but found another."};
}

Result<Started> Client::start(StartRun command, const std::string& key) {
  std::vector<std::pair<StartRun, std::string>> commands;
  commands.emplace_back(std::move(command), key);
  return std::move(start_many(std::move(commands)).front());
}

std::vector<Result<Started>> Client::start_many(std::vector<std::pair<StartRun, std::string>> commands) {
  std::vector<StartRun> free;
  std::vector<std::pair<StartRun, std::string>> bound;
  std::vector<bool> is_bound;
  for (auto& [command, key] : commands) {
    const GraphRef graph = command.version.empty() ? graphs().current(command.graph) : nullptr;
    is_bound.push_back(graph != nullptr && graph->starts);
    if (is_bound.back()) {
      bound.emplace_back(std::move(command), std::move(key));
      continue;
    }
    command.run = key.empty() ? new_run_id() : keyed_run_id(command.graph, key);
    command.key = key;
    free.push_back(std::move(command));
  }
  std::vector<Result<Started>> of_free = start_now(std::move(free));
  if (bound.empty()) return of_free;
  std::vector<Result<Started>> of_bound = start_by_policy(std::move(bound));
  std::vector<Result<Started>> results;
  auto next_free = of_free.begin();
  auto next_bound = of_bound.begin();
  for (const bool one : is_bound) results.push_back(std::move(one ? *next_bound++ : *next_free++));
  return results;
}

// Each has its run's id.
std::vector<Result<Started>> Client::start_now(std::vector<StartRun> commands) {
  std::vector<Result<Started>> results;
  std::map<Ticket, std::size_t> places;
  for (StartRun& command : commands) {
    const std::size_t place = results.size();
    results.emplace_back(Started{command.run});
    if (Status prepared = prepare(command); !prepared) {
      const bool existed = !command.key.empty() && parts_->store.run(command.run).has_value();
      results[place] = existed ? started_before(command) : Result<Started>(prepared.error());
      continue;
    }
    places.emplace(++parts_->last_ticket, place);
    parts_->tick();
    parts_->committer->submit({.ticket = parts_->last_ticket, .run = command.run, .command = command});
  }
  for (auto& [ticket, reply] : parts_->pump(places.size())) {
    const StartRun& command = commands[places.at(ticket)];
    if (reply.status) continue;
    const bool existed = reply.status.error().code == Code::conflict && !command.key.empty();
    results[places.at(ticket)] = existed ? started_before(command) : Result<Started>(reply.status.error());
  }
  return results;
}

// --- starting by a policy
// ---------------------------------------------------------------------------------------------

KeyedStarter& Client::starter() {
  if (!parts_->starter)
    parts_->starter.emplace(
        parts_->store,
        KeyedStarter::Hands{
            [this](std::vector<OrderedStart> starts) { return begin_starts(std::move(starts)); },
            [this](const std::vector<RunId>& runs, const std::string& reason) { cancel_open(runs, reason); }});
  return *parts_->starter;
}

std::size_t Client::decide_starts(int portion) { return starter().pass(portion); }

std::vector<Result<Started>> Client::start_by_policy(std::vector<std::pair<StartRun, std::string>> commands) {
  std::vector<Result<Started>> results;
  std::vector<KeyedStarter::Order> orders;
  std::vector<std::size_t> places;
  for (auto& [command, key] : commands) {
    results.emplace_back(Started{});
    Result<KeyedStarter::Order> order = order_of(std::move(command), key);
    if (!order) {
      results.back() = order.error();
      continue;
    }
    Result<std::optional<Started>> before =
        order->is_named ? asked_before(order->start.command) : std::optional<Started>();
    if (!before)
      results.back() = before.error();
    else if (*before)
      results.back() = **before;
    else {
      places.push_back(results.size() - 1);
      orders.push_back(*std::move(order));
    }
  }
  if (orders.empty()) return results;
  const std::vector<StartOutcome> outcomes = starter().ask(orders);
  for (std::size_t n = 0; n < outcomes.size(); ++n) {
    const auto& [standing, run, status, existed] = outcomes[n];
    const bool is_there = existed || standing == StartStanding::skipped;
    results[places[n]] = status ? Result<Started>(Started{run, is_there, standing}) : Result<Started>(status.error());
    if (!existed || !status) continue;
    const Result<std::optional<Started>> before = asked_before(orders[n].start.command);
    if (!before) results[places[n]] = before.error();  // with another input
  }
  return results;
}

Result<KeyedStarter::Order> Client::order_of(StartRun command, const std::string& key) {
  const GraphRef graph = graphs().current(command.graph);
  if (const Status fits = check_against_policy(*graph->starts, command, key); !fits) return fits.error();
  if (const Status fits = check_input(*graph, command.input); !fits) return fits.error();
  if (command.continues)
    if (const Result<RunState> earlier = ended_run(*command.continues); !earlier) return earlier.error();
  const Result<StartKey> of = start_key_of(*graph, command.tags, command.input);
  if (!of) return of.error();
  command.run = keyed_run_id(command.graph, key.empty() ? "start/" + to_string(new_run_id()) : key);
  command.key = key;
  if (const std::size_t bytes = start_request_text(command).size(); bytes > json_bytes_max)
    return Error{Code::limit, "Expected a start of at most " + std::to_string(json_bytes_max) + " bytes, but it has " +
                                  std::to_string(bytes) + "."};
  return KeyedStarter::Order{*of, *graph->starts, {std::move(command), parts_->actor}, !key.empty()};
}

// The standing of an earlier start with the caller's key; nothing: this is the first one.
Result<std::optional<Started>> Client::asked_before(const StartRun& command) {
  if (parts_->store.run(command.run)) {
    StartRun begun = command;
    std::vector<Blob> blobs;  // the run has them, if its input is the same
    if (const Status moved = move_out(begun.input, graphs().current(command.graph).get(), blobs); !moved)
      return moved.error();
    const Result<Started> before = started_before(begun);
    return before ? Result<std::optional<Started>>(*before) : before.error();
  }
  const std::optional<FoundStart> waiting = parts_->store.starts().start_of_run(command.run);
  if (!waiting || waiting->start.refusal) return std::optional<Started>();
  if (waiting->start.request == start_request_text(command))
    return std::optional(Started{command.run, true, StartStanding::waits});
  return Error{Code::conflict, "Expected the start that waits for run " + to_string(command.run) +
                                   " under this key, but found another."};
}

// Those of each actor together. A run that is there has begun, by any process.
std::vector<Status> Client::begin_starts(std::vector<OrderedStart> starts) {
  std::vector<Status> done(starts.size(), Status(Done{}));
  std::map<std::string, std::vector<std::size_t>> by_actor;
  for (std::size_t n = 0; n < starts.size(); ++n) by_actor[starts[n].actor].push_back(n);
  const std::string own_name = parts_->actor;
  const auto begin_those_of = [&](const std::string& actor, const std::vector<std::size_t>& places) {
    act_as(actor);
    std::vector<StartRun> commands;
    for (const std::size_t place : places) commands.push_back(std::move(starts[place].command));
    const std::vector<Result<Started>> started = start_now(commands);
    for (std::size_t n = 0; n < places.size(); ++n) {
      if (started[n] || started[n].error().code == Code::closed || parts_->store.run(commands[n].run)) continue;
      done[places[n]] = started[n].error();
    }
  };
  try {
    for (const auto& [actor, places] : by_actor) begin_those_of(actor, places);
  } catch (...) {
    act_as(own_name);
    throw;
  }
  act_as(own_name);
  return done;
}

void Client::cancel_open(const std::vector<RunId>& runs, const std::string& reason) {
  if (!runs.empty()) command_many(runs, Cancel{.reason = reason, .spares_cleanup = true});
}

// Nothing: its graph is no singleton.
Result<std::optional<StartKey>> Client::singleton_key(const std::string& of, const RunId& run, const Tags& tags,
                                                      const Json& input) {
  const GraphRef graph = graphs().current(of);
  if (graph == nullptr || !graph->starts || graph->starts->singleton() == nullptr) return std::optional<StartKey>();
  Result<StartKey> key = start_key_of(*graph, tags, expand_blobs(input, shard_of(run, parts_->store.shards())));
  return key ? Result<std::optional<StartKey>>(*std::move(key)) : key.error();
}

Status Client::take_key(TakenKeys& taken, const std::string& of, const RunId& run, const Tags& tags,
                        const Json& input) {
  const Result<std::optional<StartKey>> key = singleton_key(of, run, tags, input);
  if (!key) return key.error();
  if (!*key) return Done{};
  if (const Status free = starter().take(**key, run); !free) return free;
  taken.emplace(run, **key);
  return Done{};
}

void Client::release_key(const TakenKeys& taken, const RunId& run) {
  const auto key = taken.find(run);
  if (key != taken.end()) starter().release(key->second, run);
}

}  // namespace cairn
