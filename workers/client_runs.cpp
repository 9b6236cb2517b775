#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <thread>

#include "engine/corrupt_history.hpp"
#include "engine/graph_parsing.hpp"
#include "engine/graph_review.hpp"
#include "engine/nearest.hpp"
#include "engine/snapshot.hpp"
#include "storage/chain.hpp"
#include "workers/client_parts.hpp"
#include "workers/ids.hpp"
#include "workers/schemas/schema_check.hpp"
#include "workers/session/declared_work.hpp"
#include "workers/session/worker_options.hpp"

namespace cairn {
namespace {

Error no_such_event(const RunRow& run, std::int64_t seq) {
  return {Code::invalid, "Expected a sequence number from 1 to " + std::to_string(run.head) + " of run " +
                             to_string(run.id) + ", but found " + std::to_string(seq) + "."};
}

// The question that an event closed, and how; "": it closed none.
std::pair<std::string, std::string> closed_question(const Event& event) {
  if (const auto* answered = std::get_if<QuestionAnswered>(&event.body))
    return {answered->question, answered->by == "default" ? "took its default" : "was answered by " + answered->by};
  if (const auto* expired = std::get_if<QuestionExpired>(&event.body)) return {expired->question, "expired"};
  return {};
}

}  // namespace

CommitterOptions Client::Parts::options() {
  CommitterOptions of;
  of.shards = store.shards();
  of.lanes = 1;
  of.runs_max = 1'000;
  of.graphs_bytes_max = WorkerOptions{}.graphs_bytes_max;
  of.actor = actor;
  of.tools = catalogue.tools == nullptr ? nullptr : &catalogue.tools->table();
  of.new_id = new_run_id;
  of.draw = [] { return std::uniform_real_distribution<double>(0, 1)(thread_random()); };
  return of;
}

// A row without its text says of a version that was read before whether it is current now; it may have been dropped
// since.
void Client::Parts::learn(const std::vector<GraphRow>& rows) {
  if (!rows.empty()) committer->trim_graphs();
  for (const GraphRow& row : rows) {
    if (!row.text.empty() || committer->graphs().by_version(row.version) != nullptr) {
      learn(row);
    } else if (row.current) {
      for (const GraphRow& whole : store.graphs().of(std::span(&row.version, 1))) learn(whole);
    } else if (const auto found = unreadable.find(row.version); found != unreadable.end()) {
      found->second.is_current = false;
    }
  }
}

void Client::Parts::learn(const GraphRow& row) {
  const Result<GraphRef> graph = graph_of(row, committer->graphs());
  if (!graph) {
    unreadable.insert_or_assign(row.version, UnreadableGraph{row.name, row.current, graph.error()});
    return;
  }
  unreadable.erase(row.version);
  committer->add_graph(*graph, row.current);
}

// Carries out the committer's actions until this many submissions have been answered. If the store fails, all that was
// under way is forgotten and the caller gets the exception.
std::map<Ticket, Reply> Client::Parts::pump(std::size_t count) {
  std::map<Ticket, Reply> replies;
  try {
    while (replies.size() < count) {
      tick();
      CommitterActions actions = committer->drain_actions();
      if (actions.empty()) {  // a run backs off
        CHECK(committer->due_us() != never_us);
        const TimeUs pause_us = std::clamp<TimeUs>(committer->due_us() - steady_us(), 0, 100'000);
        std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
        continue;
      }
      carry_out(std::move(actions), replies);
    }
  } catch (...) {
    GraphShelf shelf = committer->shelf();
    committer.emplace(options(), std::move(shelf));
    throw;
  }
  return replies;
}

void Client::Parts::carry_out(CommitterActions actions, std::map<Ticket, Reply>& replies) {
  if (std::any_of(actions.loads.begin(), actions.loads.end(), [](const Load& load) { return load.names; }))
    learn(new_graphs(store, known, true));
  std::vector<History> histories = read_histories(store, actions.loads);
  for (const GraphRef& graph : read_graphs_of(store, actions.loads, histories).graphs)
    committer->add_graph(graph, false);
  for (History& history : histories) committer->history(std::move(history));
  for (const CommitBatch& batch : actions.commits)
    committer->verdicts(batch.batch, store.commit(batch.shard, *batch.entries, {.notify = batch.notify}));
  for (const LockedCommit& commit : actions.locked_commits)
    committer->verdicts(commit.batch, store
                                          .commit_locked(commit.shard, commit.runs,
                                                         [&](std::vector<LockedRun> runs) {
                                                           return committer->decide_locked(commit.batch,
                                                                                           std::move(runs));
                                                         })
                                          .verdicts);
  for (const PutSnapshot& snapshot : actions.snapshots) store.snapshots().put(snapshot.run, snapshot.row);
  for (Reply& reply : actions.replies) replies.emplace(reply.ticket, std::move(reply));
}

// A graph that was stored and is no more went with commits that the database has lost: an asynchronous standby took
// over, or an older backup was restored. This process goes on starting runs of it, which others could not read.
void Client::Parts::store_lost_graphs() {
  std::set<std::string> stored, current;
  for (const GraphRow& row : store.graphs().names()) {
    stored.insert(row.version);
    if (row.current) current.insert(row.name);
  }
  for (auto& [version, is_current] : known.versions) {
    const GraphRef graph = stored.contains(version) ? nullptr : committer->graphs().by_version(version);
    if (graph == nullptr) continue;
    is_current = is_current && current.insert(graph->name).second;
    store.graphs().put({graph->name, version, graph->text, is_current, actor});
  }
}

void Client::Parts::put_blobs(Shard shard, const std::vector<Blob>& blobs) {
  for (const Blob& blob : blobs) store.values().put(shard, blob.hash, blob.bytes);
}

Client::Client(Store& store, const Catalogue& catalogue, std::string actor)
    : parts_(std::make_unique<Parts>(store, catalogue, std::move(actor))) {}
Client::~Client() = default;

void Client::act_as(const std::string& actor) {
  parts_->actor = actor;
  parts_->committer->set_actor(actor);
}

// --- graphs ---------------------------------------------------------------------------------------------------------

void Client::load_graphs() { learn_graphs(true); }
void Client::read_graphs() { learn_graphs(false); }

void Client::learn_graphs(bool stores) {
  const bool is_first = parts_->known.versions.empty();
  const std::int64_t mark = parts_->known.mark;
  std::vector<GraphRow> rows = new_graphs(parts_->store, parts_->known, true);
  if (stores && !is_first && mark != parts_->known.mark) parts_->store_lost_graphs();
  for (const GraphRef& graph : parts_->catalogue.graphs) {
    if (parts_->knows(graph->version)) continue;
    const GraphRow row{graph->name, graph->version, graph->text, true, parts_->actor};
    if (stores) parts_->store.graphs().put(row);
    rows.push_back(row);
  }
  parts_->learn(rows);
}

void Client::load_all_graphs() { parts_->learn(new_graphs(parts_->store, parts_->known)); }

// Its text may have been mended since: it is read again.
Status Client::check_current(const std::string& name) {
  const auto is_it = [&name](const auto& one) { return one.second.is_current && one.second.name == name; };
  const auto found = std::find_if(parts_->unreadable.begin(), parts_->unreadable.end(), is_it);
  if (found == parts_->unreadable.end()) return Done{};
  const std::string version = found->first;
  const Result<GraphRef> graph = find_version(version);
  return graph ? Status(Done{}) : graph.error();
}

Result<GraphRef> Client::find_graph(const std::string& name) {
  if (const Status readable = check_current(name); !readable) return readable.error();
  if (GraphRef graph = graphs().current(name)) return graph;
  return find_version(name);
}

Result<GraphRef> Client::find_version(const std::string& version) {
  if (GraphRef graph = graphs().by_version(version)) return graph;
  const std::vector<GraphRow> rows = parts_->store.graphs().of(std::span(&version, 1));
  parts_->unreadable.erase(version);
  if (!rows.empty()) parts_->committer->trim_graphs();
  for (const GraphRow& row : rows) parts_->learn(row);
  const auto found = parts_->unreadable.find(version);
  if (found != parts_->unreadable.end()) return found->second.fault;
  return graphs().by_version(version);
}

void Client::know_graphs_of(const RunId& run) {
  const Load load{.run = run, .graphs = true};
  const History unread{.run = run, .snapshot = {}, .rows = {}, .complete = false};
  parts_->committer->trim_graphs();
  for (const GraphRef& graph : read_graphs_of(parts_->store, {&load, 1}, {&unread, 1}).graphs)
    parts_->committer->add_graph(graph, false);
}

const Graphs& Client::graphs() const { return parts_->committer->graphs(); }

Result<GraphRef> Client::try_graph(const Json& graph) {
  Surroundings around = surroundings_of(parts_->catalogue);
  for (const SessionRow& row : parts_->store.sessions().all()) around.handlers.merge(handlers_of(row));
  Result<GraphRef> parsed = parse_reviewed_graph(graph, graph_version(canonical(graph)), around);
  parts_->committer->trim_graphs();
  if (parsed) parts_->committer->add_graph(*parsed, false);
  return parsed;
}

void Client::store_graph(const GraphRef& graph, bool make_current) {
  parts_->store.graphs().put({graph->name, graph->version, graph->text, make_current, parts_->actor});
  parts_->committer->add_graph(graph, make_current);
  parts_->unreadable.erase(graph->version);
  parts_->known.versions[graph->version] = make_current;
  parts_->known.mark = 0;  // the next reading compares all: the database may go back to what it was
}

Result<GraphRef> Client::add_graph(const Json& graph) {
  Result<GraphRef> parsed = try_graph(graph);
  if (parsed) store_graph(*parsed, true);
  return parsed;
}

// --- forking --------------------------------------------------------------------------------------------------------

Result<Started> Client::fork(const RunId& origin, ForkOptions options) {
  const Result<EventRow> last = commit_end(origin, options.seq);
  if (!last) return last.error();
  const GraphRef graph = options.graph;
  Result<StartRun> command = fork_command(origin, *last, std::move(options));
  if (!command) return command.error();
  if (graph != nullptr) {
    if (const Result<RunState> fits = decided({}, *command); !fits) return fits.error();
    store_graph(graph, false);
  }
  TakenKeys taken;
  if (const Status free = take_key(taken, command->graph, command->run, command->tags, command->input); !free)
    return free.error();
  parts_->tick();
  parts_->committer->submit({.ticket = ++parts_->last_ticket, .run = command->run, .command = *command});
  const std::map<Ticket, Reply> replies = parts_->pump(1);
  const Status& status = replies.begin()->second.status;
  release_key(taken, command->run);
  return status ? Result<Started>(Started{command->run}) : status.error();
}

Result<std::vector<std::int64_t>> Client::ends_near(const RunId& run, std::int64_t seq) {
  const std::optional<RunRow> row = parts_->store.run(run);
  if (!row) return no_such_run(parts_->store, run);
  if (seq < 1 || seq > row->head) return no_such_event(*row, seq);
  const std::vector<EventRow> rows = parts_->store.events(run, seq - 1, 1);
  if (rows.empty()) return Error{Code::corrupt, "Expected event " + std::to_string(seq) + ", but it is missing."};
  const auto is_other = [&rows](const EventRow& event) { return event.commit != rows.front().commit; };
  std::int64_t end = seq;
  for (bool goes_on = end < row->head; goes_on;) {
    const std::vector<EventRow> page = parts_->store.events(run, end, history_page);
    const auto next = std::find_if(page.begin(), page.end(), is_other);
    end += next - page.begin();
    goes_on = next == page.end() && !page.empty();
  }
  if (end == seq) return std::vector{seq};
  std::int64_t before = seq - 1;
  while (before > 0 && !is_other(parts_->store.events(run, before - 1, 1).front())) --before;
  return before > 0 ? std::vector{before, end} : std::vector{end};
}

// The event, if it is the last one of its commit: a run was never left in a state inside a commit.
Result<EventRow> Client::commit_end(const RunId& run, std::int64_t seq) {
  const Result<std::vector<std::int64_t>> ends = ends_near(run, seq);
  if (!ends) return ends.error();
  if (ends->front() == seq) {
    std::vector<EventRow> found = parts_->store.events(run, seq - 1, 1);
    return found.empty() ? Result<EventRow>(no_such_run(parts_->store, run)) : std::move(found.front());  // erased
  }
  return Error{Code::invalid, "Expected the end of a commit to fork at, but event " + std::to_string(seq) + " of run " +
                                  to_string(run) + " stands inside one; the nearest ends are " +
                                  (ends->size() > 1 ? std::to_string(ends->front()) + " and " : "") +
                                  std::to_string(ends->back()) + "."};
}

// The fork refers to the origin's large values, which may be erased with it meanwhile.
Status Client::keep_blobs(const RunId& origin, const Json& state) {
  std::vector<Hash> hashes;
  find_blobs(state, hashes);
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  if (parts_->store.values().renew(shard_of(origin, parts_->store.shards()), hashes)) return Done{};
  return Error{Code::conflict,
               "Expected the large values of run " + to_string(origin) + " to fork it, but they are being erased."};
}

// An edit of a channel that nothing reads is a slip. One that the run has is none, whatever the graph says.
Status Client::check_channels(const RunState& then, const Graph& graph, const Json& edit) const {
  const std::optional<Names> known = channels_of(graph, parts_->catalogue.handlers.labels());
  if (!known || !edit.is_object()) return Done{};
  const Json held = read_channels(then, root_branch);
  for (const auto& [channel, value] : edit.items())
    if (!held.contains(channel) && std::find(known->begin(), known->end(), channel) == known->end())
      return Error{Code::invalid, "Expected a channel that graph " + graph.name + " has, but found " + channel +
                                      did_you_mean(channel, *known) + "."};
  return Done{};
}

Result<StartRun> Client::fork_command(const RunId& origin, const EventRow& last, ForkOptions options) {
  Result<RunState> then = state(origin, last.seq);
  if (!then) return then.error();
  StartRun command;
  command.run = new_run_id();
  std::copy(origin.bytes.begin() + 14, origin.bytes.end(),
            command.run.bytes.begin() + 14);  // its large values are there
  const GraphRef graph = options.graph == nullptr ? then->graph : options.graph;
  command.graph = graph->name;
  command.version = graph->version;
  command.input = parse_stored_object(then->input);
  command.options = then->options;
  command.options.recorded = options.recorded;
  std::erase_if(command.options.budgets, [&graph](const auto& cap) { return !graph->budgets.contains(cap.first); });
  command.tags = std::move(options.tags);
  command.tags.insert(then->tags.begin(), then->tags.end());
  command.continues = then->continues;
  command.reason = std::move(options.reason);
  command.forked_from = Origin{origin, last.seq, hex(last.chain_hash), snapshot_json(*then)};
  if (Status kept = keep_blobs(origin, command.forked_from->state); !kept) return kept.error();
  if (options.edit) {
    if (const Status known = check_channels(*then, *graph, *options.edit); !known) return known.error();
    std::vector<Blob> blobs;
    if (Status moved = move_out(*options.edit, graph.get(), blobs); !moved) return moved.error();
    parts_->put_blobs(shard_of(origin, parts_->store.shards()), blobs);
    command.edit = std::move(options.edit);
  }
  command.asks_again = command.edit || options.graph != nullptr;
  if (options.answers.empty()) return command;
  const Result<RunState> asking = decided({}, command);  // the questions as the fork asks them
  if (!asking) return asking.error();
  for (auto& [question, value] : options.answers) {
    Answer answer{question, std::move(value), {}, {}};
    if (Status checked = check_answer(*asking, answer); !checked) return checked.error();
    if (answer.fault)
      return Error{Code::invalid,
                   "Expected an answer that fits question " + question + ", but it does not: " + *answer.fault};
    command.answers.emplace(question, std::move(answer.value));
  }
  return command;
}

// --- other commands -------------------------------------------------------------------------------------------------

// Schemas and large values, which the engine leaves to its callers.
Status Client::check_answer(const RunState& state, Answer& answer) {
  const auto& open = state.questions;
  const auto found = answer.question.empty() && open.size() == 1 ? open.begin() : open.find(answer.question);
  if (found != open.end()) {
    const Json schema = expand_blobs(found->second.schema, shard_of(state.id, parts_->store.shards()));
    if (Status fits = check_value(schema, answer.value); !fits) answer.fault = std::move(fits).error().message;
  }
  if (answer.by.empty()) answer.by = parts_->actor;
  return move_value_out(state.id, answer.value);
}

Status Client::move_value_out(const RunId& run, Json& value) {
  std::vector<Blob> blobs;
  Json fields = {{"value", std::move(value)}};
  if (Status moved = move_out(fields, nullptr, blobs); !moved) return moved;
  value = std::move(fields["value"]);
  parts_->put_blobs(shard_of(run, parts_->store.shards()), blobs);
  return Done{};
}

Result<Done> Client::command(const RunId& run, Command command) {
  if (auto* answer = std::get_if<Answer>(&command)) {
    const Result<RunState> now = state(run);
    if (!now) return now.error();
    if (Status checked = check_answer(*now, *answer); !checked) return checked;
  }
  if (auto* signal = std::get_if<SendSignal>(&command))
    if (Status moved = move_value_out(run, signal->value); !moved) return moved;
  Status done = command_many({run}, command).front();
  if (done) return Done{};
  const auto* answer = std::get_if<Answer>(&command);
  return answer == nullptr ? done.error() : refused_answer(run, answer->question, done.error());
}

// The refusal of an answer that comes too late says what closed the question; "": the last one that was closed.
Error Client::refused_answer(const RunId& run, const std::string& question, Error refused) {
  const bool is_late = refused.code == Code::not_found || refused.code == Code::closed;
  const std::optional<RunRow> row = is_late ? parts_->store.run(run) : std::nullopt;
  if (!row) return refused;
  constexpr std::int64_t searched_max = 100'000;  // events, the newest first
  const std::int64_t oldest = std::max<std::int64_t>(row->head - searched_max, 0);
  for (std::int64_t until = row->head; until > oldest;) {
    const std::int64_t from = std::max<std::int64_t>(until - history_page, oldest);
    const Result<std::vector<Event>> page = events(run, from, static_cast<std::int32_t>(until - from));
    if (!page) return refused;
    for (auto event = page->rbegin(); event != page->rend(); ++event)
      if (const auto [id, says] = closed_question(*event); !id.empty() && (question.empty() || question == id))
        return {Code::closed, "Expected question " + id + " of run " + to_string(run) + " to be open, but it " + says +
                                  " at " + time_text(event->at_us) + "."};
    until = from;
  }
  return refused;
}

// A failed run's children are cancelled by a sweep, which cannot distinguish them from new ones once the run continues.
void Client::cancel_left_children(const std::vector<RunId>& failed) {
  std::vector<RunId> left;
  for (const RunId& run : failed) {
    const Result<RunState> now = state(run);
    if (!now || now->status != RunStatus::failed) continue;
    for (const auto& [id, step] : now->steps)
      if (!step.child.is_nil()) left.push_back(step.child);
  }
  if (!left.empty())
    command_many(left, Cancel{.reason = "the run that called it failed and is tried again", .spares_cleanup = true});
}

// A run that is to be reopened must have its key.
Status Client::take_key_again(TakenKeys& taken, const RunId& run) {
  const std::optional<RunRow> row = parts_->store.run(run);
  const GraphRef graph = row && row->status == RunStatus::failed ? graphs().current(row->graph) : nullptr;
  if (graph == nullptr || !graph->starts) return Done{};
  const Result<RunState> now = state(run);
  return now ? take_key(taken, row->graph, run, now->tags, parse_stored_object(now->input)) : now.error();
}

std::vector<Status> Client::reopen_many(const std::vector<RunId>& runs, const Reopen& reopen) {
  std::vector<Status> results;
  std::vector<RunId> free;
  TakenKeys taken;
  for (const RunId& run : runs)
    if (results.push_back(take_key_again(taken, run)); results.back()) free.push_back(run);
  cancel_left_children(free);
  const std::vector<Status> reopened = submit_each(free, reopen);
  std::size_t next = 0;
  for (std::size_t n = 0; n < runs.size(); ++n)
    if (results[n]) {
      results[n] = reopened[next++];
      release_key(taken, runs[n]);
    }
  return results;
}

std::vector<Status> Client::command_many(const std::vector<RunId>& runs, const Command& command) {
  if (const auto* reopen = std::get_if<Reopen>(&command)) return reopen_many(runs, *reopen);
  std::vector<Status> results = submit_each(runs, command);
  if (!std::holds_alternative<Cancel>(command)) return results;
  for (std::size_t n = 0; n < runs.size(); ++n)  // what has not begun is given up
    if (!results[n] && results[n].error().code == Code::not_found && is_derived(runs[n]))
      results[n] = starter().withdraw(runs[n]);
  return results;
}

std::vector<Status> Client::submit_each(const std::vector<RunId>& runs, const Command& command) {
  std::vector<Status> results(runs.size(), Done{});
  const Ticket before = parts_->last_ticket;
  parts_->tick();
  for (const RunId& run : runs)
    parts_->committer->submit({.ticket = ++parts_->last_ticket, .run = run, .command = command});
  for (const auto& [ticket, reply] : parts_->pump(runs.size()))
    if (!reply.status) results[ticket - before - 1] = reply.status.error();
  return results;
}

Result<RunState> Client::state_if(const RunId& run, const Command& command) {
  Result<RunState> now = state(run);
  if (!now) return now;
  Result<RunState> left = decided(*now, command);
  const auto* answer = std::get_if<Answer>(&command);
  if (left || answer == nullptr) return left;
  return refused_answer(run, answer->question, left.error());
}

// As the committer does: a graph that is called may have been added after the names were read here.
Result<RunState> Client::decided(const RunState& before, const Command& command) {
  Context context;
  context.now_us = std::max(parts_->store.database_time(), before.last_at);
  context.actor = parts_->actor;
  context.id_base = new_run_id();
  context.tools = parts_->catalogue.tools == nullptr ? nullptr : &parts_->catalogue.tools->table();
  RunState left = before;
  Result<Decision> decision = decide(left, command, context, graphs());
  if (decision && !decision->lacks_graph.empty()) {
    parts_->learn(new_graphs(parts_->store, parts_->known, true));
    left = before;
    decision = decide(left, command, context, graphs());
  }
  if (!decision) return decision.error();
  return left;
}

// --- reading --------------------------------------------------------------------------------------------------------

Result<RunState> Client::state(const RunId& run, std::optional<std::int64_t> at_seq) {
  const std::optional<RunRow> row = parts_->store.run(run);
  if (!row) return no_such_run(parts_->store, run);
  const Result<GraphRef> graph = find_version(row->version);
  const std::int64_t until = at_seq.value_or(row->head);
  if (until < 1 || until > row->head) return no_such_event(*row, until);
  Result<RunState> folded = fold_until(run, until);
  if (folded || folded.error().code != Code::unsupported) return folded;
  know_graphs_of(run);  // it may have moved between versions
  folded = fold_until(run, until);
  return folded || graph ? folded : graph.error();
}

Result<RunState> Client::fold_until(const RunId& run, std::int64_t until) {
  RunState state;
  state.id = run;
  if (const std::optional<SnapshotRow> snapshot = parts_->store.snapshots().newest(run, fold_version, until)) {
    if (Result<RunState> restored = restored_state(*snapshot, graphs())) state = *std::move(restored);
  }
  while (state.seq < until) {
    const auto page = static_cast<std::int32_t>(std::min<std::int64_t>(history_page, until - state.seq));
    const std::vector<EventRow> rows = parts_->store.events(run, state.seq, page);
    if (rows.empty())
      return Error{Code::corrupt, "Expected event " + std::to_string(state.seq + 1) + " of run " + to_string(run) +
                                      ", but it is missing."};
    if (Status folded = fold_rows(state, rows, graphs()); !folded) return folded.error();
  }
  return state;
}

// Times never decrease in a run, so its events are found by binary search.
Result<std::int64_t> Client::seq_at(const RunId& run, TimeUs at_us) {
  const std::optional<RunRow> row = parts_->store.run(run);
  if (!row) return no_such_run(parts_->store, run);
  const auto time_of = [this, &run](std::int64_t seq) {
    const std::vector<EventRow> rows = parts_->store.events(run, seq - 1, 1);
    if (rows.empty()) throw CorruptHistory("Expected event " + std::to_string(seq) + ", but it is missing.");
    return rows.front().at_us;
  };
  if (const TimeUs began = time_of(1); at_us < began)
    return Error{Code::invalid, "Expected a time after the start of run " + to_string(run) + " at " + time_text(began) +
                                    ", but found " + time_text(at_us) + "."};
  std::int64_t at_or_before = 1;
  for (std::int64_t after = row->head + 1; after - at_or_before > 1;) {
    const std::int64_t middle = at_or_before + (after - at_or_before) / 2;
    (time_of(middle) <= at_us ? at_or_before : after) = middle;
  }
  return at_or_before;
}

Result<std::vector<Event>> Client::events(const RunId& run, std::int64_t after_seq, std::int32_t limit) {
  if (!parts_->store.run(run)) return no_such_run(parts_->store, run);
  std::vector<Event> events;
  for (const EventRow& row : parts_->store.events(run, after_seq, limit)) {
    Result<Event> event = event_of(row);
    if (!event) return event.error();
    events.push_back(*std::move(event));
  }
  return events;
}

Json Client::expand_blobs(Json value, Shard shard, std::size_t bytes_max) {
  const auto read = [this, shard](const Hash& hash) { return blob_text(parts_->store.values().get(shard, hash)); };
  static_cast<void>(put_back({&value}, read, bytes_max));
  return value;
}

}  // namespace cairn
