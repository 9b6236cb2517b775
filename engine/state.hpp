// The state of a run now: the fold of its events. Only `evolve` changes it; decide, handlers and people read it.
// Not thread-safe, reading included (data is composed when it is read). A copy has data of its own and shares the
// graph.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/event.hpp"
#include "engine/graph.hpp"
#include "engine/id.hpp"
#include "engine/references.hpp"

namespace cairn {

// A part of a run's data: a composed patch, and patches that are still unread text (decision 0001).
// Composing is associative for every reducer, so a branch's patches become one when they are read (sums of doubles may
// differ in their last digits).
class Data {
 public:
  // Is read with the others when data is, or when many are unread: they do not grow with the length of a run.
  void add(JsonText patch, const Graph& graph);
  void add(const Json& patch, const Graph& graph);
  void set(const Json& channels, const Graph& graph);  // replaces whole channels
  // Applies another part's patches after ours.
  void absorb(Data&& later, const Graph& graph);
  const Json& composed(const Graph& graph) const;

 private:
  mutable Json composed_ = Json::object();
  mutable std::vector<JsonText> pending_;
  mutable std::size_t pending_bytes_ = 0;  // of pending_
};

// Applies `patch` to `data` channel by channel by the graph's reducers. Never refuses: what does not fit replaces.
void apply_patch(Json& data, const Json& patch, const Graph& graph);

// Whether every channel of the patch fits its reducer over `data`. Refuses `invalid`.
Status check_patch(const Json& data, const Json& patch, const Graph& graph);

struct RunState;
// Whether the sums of a part's patches fit what the branch holds, so that both may become one. Refuses `invalid`.
Status check_sums(const RunState& state, BranchId branch, const Data& part);

struct SubGoal {
  std::string id;
  std::string tool;  // "": structure only
  std::string title;
  std::string parent;
  Json inputs = Json::object();
  std::vector<std::string> after;
  std::string queue;
  Json context = nullptr;
  GoalStatus status = GoalStatus::planned;
  Json outputs = nullptr;  // object when succeeded
  std::string error;
  std::string message;
  std::int32_t attempts = 0;
  StepId step = 0;                       // its execution; 0: none yet
  StepId map = 0;                        // the map step that took it; 0: none yet
  std::int32_t waits_for = 0;            // open ones in its `after`
  std::vector<std::int32_t> dependents;  // positions in the same plan, of those that wait for it
};

struct RejectedGoal {
  std::string id;
  std::string tool;
  std::string reason;
};

struct Plan {
  std::vector<SubGoal> goals;  // plan order
  std::vector<RejectedGoal> rejected;
  std::map<std::string, std::int32_t, std::less<>> by_id;
  std::int32_t next_untaken = 0;  // all before it were taken by a map, or are structure
};

// The outcome of a step on a node that says `cache`.
struct CachedOutcome {
  StepId step = 0;
  std::string label;
  JsonText patch = "{}";
};

struct Branch {
  BranchId id = 0;
  BranchId parent = 0;
  std::int32_t place = 0;     // among its siblings, in edge order; a sub-goal's position in the plan
  StepId step = 0;            // its open step; 0 while forked, arrived or ended
  Data data;                  // its own patches over its parent's frozen data
  Plan plan;                  // its own sub-goals
  std::vector<BranchId> fan;  // the branches it forked into, in edge order
  std::int32_t arrived = 0;   // of `fan`, how many wait at the join
  NodeIndex at_join = -1;     // the join it waits at
  NodeIndex at_end = -1;      // the end it reached: follow finishes the run
  std::map<std::string, CachedOutcome, std::less<>> cache;  // its own recorded outcomes, by key
  std::optional<CauseOfFailure> cause;                      // of the last failure that it left by an edge
};

// The sub-goals of earlier maps that succeeded, as a caching map sees them, by a digest of tool and resolved inputs.
struct EarlierSuccesses {
  struct Place {
    BranchId branch = 0;
    std::int32_t goal = 0;  // position in its plan
  };
  std::unordered_map<std::size_t, std::vector<Place>> by_digest;
};

struct FailedItem {
  std::int32_t id = 0;  // its position in the list
  std::string error;
  std::string message;
  bool operator==(const FailedItem&) const = default;
};

struct MapProgress {              // of an open step at a map
  std::int32_t open_goals = 0;    // not yet closed
  bool partial = false;           // one failed or was skipped
  std::set<std::int32_t> doomed;  // positions of goals that depend on a failure: follow closes them as skipped
  mutable std::shared_ptr<const EarlierSuccesses> earlier;  // derived when first asked for; null: not yet
  Json items;                                               // array; null: it maps sub-goals
  std::int32_t next_item = 0;                               // all before it were opened
  std::int32_t open_items = 0;
  Json results;                               // array like `items`: what each item left; null: not yet, or it failed
  std::map<std::int32_t, FailedItem> failed;  // by position
};

struct Step {
  StepId id = 0;
  BranchId branch = 0;
  NodeIndex node = -1;       // a sub-goal's: its map's node
  std::int32_t goal = -1;    // position in the parent branch's plan; -1 for a step on a node
  std::int32_t attempt = 1;  // the one to run next, or running
  std::int32_t errors = 0;
  std::int32_t losses = 0;
  TimeUs opened_at = 0;
  TimeUs run_at = 0;
  Json given;                                   // the value from its opening event; null: none
  std::map<std::string, std::int64_t> budgets;  // used counts when it opened
  bool exhausted = false;                       // its budget was at the cap: follow closes it
  bool failed_final = false;                    // closed without an edge: follow fails the run
  std::string error;                            // the last failed attempt's
  std::string message;
  std::string question;       // ask: the open one
  std::optional<TimeUs> due;  // ask and wait: expiry, timer or timeout
  RunId child;                // call: the running one
  MapProgress map;
  bool unfit = false;         // cannot be run as it stands (`error`, `message`): follow closes it
  std::string closing_label;  // engine label (answered, expired, fired, done ...) by which follow closes it; "" not yet
  std::optional<Json> brought;  // the answer, the child's output
  std::int32_t item = -1;       // position in the list that its branch's map goes over; -1: no item's step
};

struct Question {
  std::string id;
  StepId step = 0;
  std::string kind;
  Json prompt;
  Json schema;
  std::optional<Json> fallback;
  std::optional<TimeUs> expires_at;
};

struct Signal {
  std::string id;
  Json value;
  std::int64_t seq = 0;
};

struct BudgetUse {
  std::int64_t cap = 0;
  std::int64_t used = 0;
  bool is_reported = false;  // budget_exhausted was written
};

// How the run will end when its cleanup has.
struct Ending {
  RunStatus status = RunStatus::failed;
  std::string reason;
  std::optional<CauseOfFailure> cause;
  Json output = nullptr;
  StepId last_step = 0;  // before the cleanup, whose steps are counted from there
};

struct RunState {
  RunId id;
  GraphRef graph;
  std::int64_t seq = 0;  // 0: no event yet
  RunStatus status = RunStatus::running;
  std::string reason;                   // of its end, also while it cleans up
  std::string pause_reason;             // given by a person, while it is paused; "": none was
  std::optional<CauseOfFailure> cause;  // of an end that is not done
  std::optional<Ending> ending;         // its cleanup has begun
  Json output = nullptr;
  TimeUs started_at = 0;
  TimeUs last_at = 0;
  TimeUs counted_from = 0;  // its limit of time: its start, the begin of its cleanup, its reopening
  bool is_overdue = false;  // that time is over
  std::int32_t language = language_now;
  JsonText input = "{}";
  std::string key;  // it was started with; "": none
  Options options;
  Tags tags;
  std::optional<Parent> parent;
  std::optional<RunId> continues;
  std::optional<ForkPoint> forked_from;
  StepId last_step = 0;
  BranchId last_branch = 0;
  std::map<BranchId, Branch> branches;
  std::map<StepId, Step> steps;  // open ones; those of an ended run that failed stay for a retry
  std::map<std::string, Question, std::less<>> questions;
  std::map<std::string, std::deque<Signal>, std::less<>> signals;  // not yet taken, by name
  std::set<std::string, std::less<>> signal_ids;                   // every one ever received
  std::map<std::string, BudgetUse, std::less<>> budgets;
  std::int64_t plan_version = 0;
  std::string goal;
  // Bytes that references have read and composed since the state was loaded. They bound a decision; neither the fold
  // nor a snapshot has them.
  mutable std::size_t referred_bytes = 0;

  // The node where the step stands; a sub-goal's: its map. REQUIRES: the step is of this state.
  const Node& node(const Step& step) const { return graph->node(step.node); }
};

// The most items that a map goes over.
inline constexpr std::size_t map_items_max = 100'000;

// The handler, or the run, that executes the step; null: none. A map's own step is executed by neither.
const DoNode* work_of(const RunState& state, const Step& step);
const CallNode* call_of(const RunState& state, const Step& step);

// Whether a worker executes the step's next attempt with nothing else in flight: the step was lost twice, so it may be
// the one that kills workers, or have been held together with that one (decision 0037).
inline constexpr std::int32_t losses_together_max = 2;
inline bool runs_alone(const Step& step) { return step.losses >= losses_together_max; }
// True if no lost attempt of the step is tried again ("lost": 0): its worker says so before it begins one.
bool may_not_be_lost(const RunState& state, const Step& step);
// True if a step that could not open, because of what it read of the run's data then, may read it once more, or if the
// budget that it found used up has room now. Not a join, which could not open because of what was added up: that is
// done.
bool may_open_again(const RunState& state, const Step& step);
// Whether a step that is lost once more is tried again. The first losses, together with other steps, may be the fault
// of one of those: only the later ones use up what is allowed, unless nothing is.
inline bool may_lose_again(const Step& step, const Retry& retry) {
  return retry.lost > 0 && step.losses - losses_together_max < retry.lost;
}

// --- reading --------------------------------------------------------------------------------------------------------
// REQUIRES for all: the branch exists.

// One channel as the branch sees it; nothing if nothing was written.
std::optional<Json> find_channel(const RunState& state, BranchId branch, std::string_view channel);
// The same; null if nothing was written.
Json read_channel(const RunState& state, BranchId branch, std::string_view channel);

// Why the branch, else the nearest of its ancestors, last left by an edge for failures; null if none did.
const CauseOfFailure* find_cause(const RunState& state, BranchId branch);

// A setting of a node with its references replaced (references.hpp), under the rules that the run began with. "$error"
// reads the branch's cause, unless a channel of that name was written. Refuses as resolve_references().
Result<Json> resolved(const RunState& state, BranchId branch, const Json& setting);

// All channels as the branch sees them.
Json read_channels(const RunState& state, BranchId branch);

// A sub-goal by id, in the branch, else in its ancestors; the latest of a name. Null if there is none.
const SubGoal* find_goal(const RunState& state, BranchId branch, std::string_view id);

// The branch's view of the plan in plan order: ancestors' first.
std::vector<const SubGoal*> plan_of(const RunState& state, BranchId branch);

// The sub-goals that were refused admission, with reasons, as the branch sees them: ancestors' first.
std::vector<const RejectedGoal*> rejected_of(const RunState& state, BranchId branch);

// The outcome recorded under that key in the branch, else in its ancestors; null if there is none. A sibling's outcome
// is not seen before their join, so that nothing depends on which of them finished first.
const CachedOutcome* find_cached(const RunState& state, BranchId branch, std::string_view key);

// The inputs of a sub-goal's step with every reference replaced by the value it names.
// Refuses `not_found` if a slot is missing, `limit` as CompositionBound does.
Result<Json> resolved_inputs(const RunState& state, const Step& step);
// Whether every reference in them leads to a slot, without composing them. Refuses `not_found`.
Status check_slots(const RunState& state, const Step& step);

// The sub-goal whose outputs a sub-goal's step may take for its own: of the same tool, with the same resolved inputs,
// succeeded, and taken by an earlier map, so that nothing depends on who finished first. Null if there is none. Costs
// the plan once for each map, then only what fits.
const SubGoal* find_same_success(const RunState& state, const Step& step);

// When the limit of time of the whole run is reached; nothing if it has none, or has reached it.
std::optional<TimeUs> due_of_run(const RunState& state);

// running but with nothing open except questions, waits and calls.
bool is_waiting(const RunState& state);

const Step* find_step(const RunState& state, StepId step);
const SubGoal& goal_of(const RunState& state, const Step& step);  // REQUIRES: step.goal >= 0

}  // namespace cairn
