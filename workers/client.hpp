// The client: gives commands from outside and reads states, for the command line and the API. It drives a committer,
// the same as the workers', on the caller's thread. Not thread-safe; make one per thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/command.hpp"
#include "engine/decide.hpp"
#include "engine/graph.hpp"
#include "engine/keyed_starts.hpp"
#include "engine/state.hpp"
#include "storage/store.hpp"
#include "workers/starts/keyed_starter.hpp"

namespace cairn {

struct Catalogue;

// How a fork differs from its origin at that moment.
struct ForkOptions {
  std::int64_t seq = 0;                      // the last event that both share
  std::optional<Json> edit = {};             // channels to set
  std::map<std::string, Json> answers = {};  // to questions that are open then, by id
  GraphRef graph = {};                       // that it continues with, from try_graph; null: the origin's
  Tags tags = {};                            // in addition to the origin's
  bool recorded = false;                     // it takes its answers from the origin's record; see Options
  std::string reason = {};                   // given by a person; it goes on record
};

struct Started {
  RunId run;
  bool existed = false;  // the key had been used with the same input, or the run has the key of a singleton
  StartStanding standing = StartStanding::started;  // by the start policy of its graph
};

class Client {
 public:
  Client(Store& store, const Catalogue& catalogue, std::string actor);
  ~Client();

  // From now on `actor` stands in the events of what is commanded.
  void act_as(const std::string& actor);

  // Stores the built-in graphs that the database lacks and reads the current version of all others. Reads no graph
  // twice. A run's older version is read when the run is.
  void load_graphs();
  // The same without a write: a built-in graph that the database lacks is known to this client alone.
  void read_graphs();
  void load_all_graphs();  // also the versions that are current no more
  // The current ones, and the others that came last, up to WorkerOptions::graphs_bytes_max.
  const Graphs& graphs() const;
  // The current version of the name, or else the version of that name, which is read if it is not at hand. Null: there
  // is neither. Refuses `corrupt` where that very graph cannot be read; nothing else is disturbed by it.
  Result<GraphRef> find_graph(const std::string& name);
  Result<GraphRef> find_version(const std::string& version);
  void know_graphs_of(const RunId& run);  // those that its events name

  // Lets this client decide with a graph that is not stored yet. Refuses `invalid` (the graph's faults).
  Result<GraphRef> try_graph(const Json& graph);
  // Stores a graph that try_graph gave. `make_current`: new runs of its name begin with it.
  void store_graph(const GraphRef& graph, bool make_current);
  // Both, as the current one.
  Result<GraphRef> add_graph(const Json& graph);

  // Refuses `invalid`: an input that does not fit the "input" of the graph's current version.
  Status check_input(const std::string& graph, const Json& input) const;
  // The same, of a version that this client knows.
  static Status check_input(const Graph& graph, const Json& input);

  // `key`: the run's id is derived from graph and key; the same input again returns that run, another is `conflict`, a
  // key whose run was archived `closed`. Without a key the id is new. `command.run` is set by this call; large values
  // go to blobs. `command.continues`: the new run's channel `history` is the earlier one's final data without its own
  // `history`, except that each channel that appends carries on the earlier `history`'s of that name; with the new
  // graph's {"context": {"keep_last": n}} only the last n of each. Refuses `conflict` if the earlier run has not ended.
  //
  // The start policy of the graph's current version decides what becomes of the start (engine/start_policy.hpp); one
  // that names a version, as a trial does, begins at once. Refuses `invalid`: a start
  // without the policy's key; of a debounce or a batch, `key` and `command.continues`.
  Result<Started> start(StartRun command, const std::string& key);

  // Several at once, in few commits; results in order.
  std::vector<Result<Started>> start_many(std::vector<std::pair<StartRun, std::string>> commands);

  // A new run that continues from where `origin` stood after event `seq`; the origin stays as it is. Steps that were
  // open begin again, calls start new children, and if the run had failed by then, its failed steps are tried again.
  // Refuses `invalid` (beyond the head, inside a commit, an edit or answer that does not fit), `closed` (the origin had
  // ended then), `conflict` (the graph lacks nodes where the origin stood; see engine/graph_migration.hpp),
  // `not_found`. A graph that is not stored yet is stored with it.
  Result<Started> fork(const RunId& origin, ForkOptions options);

  // The events nearest to `seq` at which a fork can begin: itself alone if it is the last one of its commit, otherwise
  // the last one of the commit before, if there is one, and that of its own. Refuses as `fork` does.
  Result<std::vector<std::int64_t>> ends_near(const RunId& origin, std::int64_t seq);

  // Begins the runs of starts that waited, of at most `portion` keys; returns how many keys were due. As long as starts
  // wait, some process must call this: as start_book's next_due says.
  std::size_t decide_starts(int portion);

  // Any other command. To reopen a run of a singleton is refused `conflict` while another one has its key. The answer's
  // schema is checked here. An answer to a question that is open no more is refused `closed`, with who answered it and
  // when. All functions that write throw StoreUnavailable; the command may then have happened or not.
  Result<Done> command(const RunId& run, Command command);

  // The same command, which carries no value, to many runs in few commits; results in order. Reopen first cancels what
  // the failed runs had called.
  std::vector<Status> command_many(const std::vector<RunId>& runs, const Command& command);

  // The state that the command would leave, or its refusal; nothing is written.
  Result<RunState> state_if(const RunId& run, const Command& command);

  // The folded state now, or as of a sequence number or a time (the last event at or before it).
  // Refuses `not_found`, `unsupported`, `corrupt`, `invalid` (beyond the head, before the start).
  Result<RunState> state(const RunId& run, std::optional<std::int64_t> at_seq = {});
  Result<std::int64_t> seq_at(const RunId& run, TimeUs at_us);

  // Decoded events after `after_seq`, at most `limit`.
  Result<std::vector<Event>> events(const RunId& run, std::int64_t after_seq, std::int32_t limit);

  // Replaces {"$blob": hash, "bytes": n} anywhere inside by the value it stands for; those beyond `bytes_max` together
  // stay as they are.
  Json expand_blobs(Json value, Shard shard, std::size_t bytes_max = composed_bytes_max);

 private:
  Status check_current(const std::string& name);
  Status prepare(StartRun& command);
  std::vector<Result<Started>> start_now(std::vector<StartRun> commands);
  std::vector<Result<Started>> start_by_policy(std::vector<std::pair<StartRun, std::string>> commands);
  Result<KeyedStarter::Order> order_of(StartRun command, const std::string& key);
  Result<RunState> ended_run(const RunId& run);
  KeyedStarter& starter();
  Result<std::optional<Started>> asked_before(const StartRun& command);
  std::vector<Status> begin_starts(std::vector<OrderedStart> starts);
  void cancel_open(const std::vector<RunId>& runs, const std::string& reason);
  Result<std::optional<StartKey>> singleton_key(const std::string& of, const RunId& run, const Tags& tags,
                                                const Json& input);
  using TakenKeys = std::map<RunId, StartKey>;  // of singletons, by runs that are about to begin or to be reopened
  Status take_key(TakenKeys& taken, const std::string& of, const RunId& run, const Tags& tags, const Json& input);
  void release_key(const TakenKeys& taken, const RunId& run);
  Status take_key_again(TakenKeys& taken, const RunId& run);
  Result<Started> started_before(const StartRun& command);
  Result<EventRow> commit_end(const RunId& run, std::int64_t seq);
  Result<StartRun> fork_command(const RunId& origin, const EventRow& last, ForkOptions options);
  Status check_channels(const RunState& then, const Graph& graph, const Json& edit) const;
  Status keep_blobs(const RunId& origin, const Json& state);
  Status check_answer(const RunState& state, Answer& answer);
  Error refused_answer(const RunId& run, const std::string& question, Error refused);
  std::vector<Status> reopen_many(const std::vector<RunId>& runs, const Reopen& reopen);
  std::vector<Status> submit_each(const std::vector<RunId>& runs, const Command& command);
  void cancel_left_children(const std::vector<RunId>& failed);
  Status move_value_out(const RunId& run, Json& value);
  Result<RunState> fold_until(const RunId& run, std::int64_t until);
  Result<RunState> decided(const RunState& before, const Command& command);

  void learn_graphs(bool stores);

  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
