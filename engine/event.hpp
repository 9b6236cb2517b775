// Events: the closed list of facts that make up a run's history, named in the past tense. A shipped event never
// changes; a new meaning is a new version, and an upcaster lifts the older one (upcaster.hpp, versions.md).
// Plain values.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "engine/id.hpp"
#include "engine/json.hpp"

namespace cairn {

enum class RunStatus : std::uint8_t { running, paused, done, failed, aborted };
enum class GoalStatus : std::uint8_t { planned, open, succeeded, failed, skipped };

std::string_view to_string(RunStatus status);
std::string_view to_string(GoalStatus status);
std::optional<RunStatus> parse_run_status(std::string_view word);
std::optional<GoalStatus> parse_goal_status(std::string_view word);
inline bool is_ended(RunStatus status) { return status != RunStatus::running && status != RunStatus::paused; }

// A reference parameter of type U, const or not: one list of fields serves writing and reading.
template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

// A JSON object kept as its text until it is read: most folds never read a patch (decision 0001).
using JsonText = std::string;

// The choices of a start besides its input.
struct Options {
  bool autonomous = false;                      // wire: {"autonomy": "full"}; asks take their default or expire at once
  std::int32_t priority = 0;                    // 0..9; lower is claimed first
  std::map<std::string, std::int64_t> budgets;  // caps in place of the graph's
  // wire: {"answers": "recorded"}; for a fork: effects and tools are not run; their results in the origin after the
  // fork's moment count again, and a step that the record does not know fails the run with the error `diverged`.
  bool recorded = false;
  bool operator==(const Options&) const = default;
};

using Tags = std::map<std::string, std::string>;

struct Parent {
  RunId run;
  StepId step = 0;
  std::int32_t depth = 0;  // of this child: 1 for the child of a top run
  bool operator==(const Parent&) const = default;
};

struct ForkPoint {  // the moment of another run that a fork begins at
  RunId run;
  std::int64_t seq = 0;
  bool operator==(const ForkPoint&) const = default;
};

struct Origin {  // where a fork begins
  RunId run;
  std::int64_t seq = 0;
  std::string chain_hash;  // hexadecimal, of the origin's event `seq`
  Json state;              // the folded state it begins from, as snapshot.hpp writes it
  bool operator==(const Origin&) const = default;
};

// The rules by which a run reads the references of its graph (references.hpp); it keeps those that it began under.
// Under 1 a missing value is null, and "$channel" is the only form.
inline constexpr std::int32_t language_now = 2;

// Why a branch left by an edge for failures: what "$error" reads.
struct CauseOfFailure {
  std::string error;  // one word, as in step_failed; exhausted, partial; failed or aborted of a call
  std::string message;
  std::string node;
  StepId step = 0;
  std::int32_t attempt = 0;
  bool operator==(const CauseOfFailure&) const = default;
};
Json cause_json(const CauseOfFailure& cause);
std::optional<CauseOfFailure> read_cause(const Json& cause);  // nothing: it is none

// --- run ---------------------------------------------------------------------------------------------------------
struct RunStarted {
  std::string graph;
  std::string version;
  JsonText input = "{}";
  Options options;
  Tags tags;
  std::optional<Parent> parent;
  std::optional<RunId> continues;
  std::optional<JsonText> history;  // with `continues`: becomes the channel `history`
  std::optional<Origin> forked_from;
  std::int32_t language = language_now;
  std::string key = {};     // it was started with; "": none, or not said
  std::string reason = {};  // given by a person for the fork, or the retry or reset that made it; "": none was
};
// Each with the reason that a person gave; "": none was given.
struct RunPaused {
  std::string reason = {};
};
struct RunResumed {
  std::string reason = {};
};
struct RunReopened {
  std::string reason = {};
  bool opens_again = false;  // what steps could not open with is read once more (may_open_again)
};
struct RunMoved {
  std::string to_version;
  std::string reason = {};
};
struct ChannelsEdited {
  JsonText patch = "{}";  // sets the channels to these values, whatever their reducers
};
struct Closed {  // everything that an ending run leaves open
  std::vector<StepId> steps;
  std::vector<std::string> questions;
  std::vector<RunId> children;
  bool operator==(const Closed&) const = default;
};
// The run ends otherwise than done, and its graph cleans up first: what was open is closed, and the first branch goes
// on alone from the node of "finally". The run_finished that follows in the end repeats status, reason and cause.
struct RunEnding {
  RunStatus status = RunStatus::failed;  // failed or aborted
  std::string reason;
  JsonText output = "{}";
  Closed closed;
  std::optional<CauseOfFailure> cause;
  std::string next;  // node
};
struct RunFinished {
  RunStatus status = RunStatus::done;  // done, failed or aborted
  std::string reason;
  JsonText output = "{}";
  Closed closed;
  std::optional<CauseOfFailure> cause;  // of an end that is not done; language 2
};

// --- step --------------------------------------------------------------------------------------------------------
struct StepSucceeded {
  std::string node;
  std::string label;
  JsonText patch = "{}";
  std::vector<std::string> next;  // nodes, in edge order
  std::int32_t attempt = 0;       // 0: the engine closed it, no worker did
  SessionId worker = 0;
  TimeUs started_at = 0;
  std::string took;                  // the question or signal whose value it used
  StepId cached_from = 0;            // whose recorded outcome it used; 0: its own
  std::string cache_key;             // a later step with this key may use the outcome; "": none may
  std::int32_t handler_version = 0;  // that made the outcome; 0: its first one, or none did
};
// The error of an attempt whose worker died or let it lapse; reported by the sweep alone.
inline constexpr const char* lost_error = "lost";
struct StepFailed {
  std::string node;
  std::int32_t attempt = 0;
  std::string error;    // one word: error, lost, timeout, invalid, exhausted ... or the handler's own
  std::string message;  // one sentence
  SessionId worker = 0;
  TimeUs started_at = 0;
  std::optional<TimeUs> retry_at;  // exactly one of: retry_at; label and next; neither: final
  std::string label;
  std::vector<std::string> next;
  std::string refused;  // the digest of the outcome that was not taken; "": none was reported, or it had no digest
};
struct SignalReceived {
  std::string name;
  Json value;
  std::string id;  // the sender's; one id is taken once
};
struct TimerFired {};  // of no step: the time of the whole run is over
struct ChildStarted {
  RunId child;
  std::string graph;
  std::string version;
};
struct ChildFinished {
  RunId child;
  RunStatus status = RunStatus::done;
  std::string reason;
  Json output;
};

// --- question ----------------------------------------------------------------------------------------------------
struct QuestionAsked {   // of a fork also for a question that is open, which is then as it is asked here
  std::string question;  // question_id of the step
  std::string kind;
  Json prompt;
  Json schema;                   // null: any value
  std::optional<Json> fallback;  // wire: "default"
  std::optional<TimeUs> expires_at;
};
struct QuestionAnswered {
  std::string question;
  Json value;
  std::string by;  // the actor, or "default"
};
struct QuestionExpired {
  std::string question;
};

// --- plan --------------------------------------------------------------------------------------------------------
// A node of the run's plan. One with a tool is work for a map; one without is structure.
struct SubGoalOpened {
  std::string sub_goal;
  std::string tool;  // "" for structure
  std::string title;
  std::string parent;              // "" at the top
  Json inputs = Json::object();    // values may be {"from_sub_goal": ID, "slot": NAME}
  std::vector<std::string> after;  // with those that `inputs` implies
  std::string queue;               // the tool's
};
struct SubGoalRejected {
  std::string sub_goal;
  std::string tool;
  std::string reason;  // one sentence
  std::vector<std::string> unmet;
};
struct SubGoalClosed {
  std::string sub_goal;
  GoalStatus status = GoalStatus::succeeded;  // succeeded, failed or skipped
  JsonText outputs = "{}";
  std::string error;  // as in StepFailed; "" when it succeeded
  std::string message;
  std::int32_t attempt = 0;
  SessionId worker = 0;
  TimeUs started_at = 0;
  std::string reused_from;
  std::string refused;  // as in StepFailed
};
struct PlanChild {
  std::string id;
  std::string title;
  std::vector<std::string> after;
  Json context = nullptr;
  bool operator==(const PlanChild&) const = default;
};
struct PlanCreated {
  std::int64_t version = 1;
  std::string goal;
  std::vector<PlanChild> children;
};
struct PlanRevised {
  std::int64_t version = 1;
  std::string cause;
  Json changes = Json::array();  // [{"op": "add"|"update"|"remove", "id", "title"?, "parent"?, "after"?,
                                 //   "context"? and "status"? of structure}]
};
struct TaskDecomposed {
  std::string target;
  std::string mode;
  std::int32_t depth = 0;
  std::vector<PlanChild> children;
  std::vector<std::string> dropped;  // dependencies that named nothing
  std::int32_t truncated = 0;        // children beyond the limit
};

// --- records: what a planner notes and the state does not need -----------------------------------------------------
enum class RecordKind : std::uint8_t {
  decision_proposed,      // {action, target?, reason, source: model|rule|fallback|policy}
  decision_rewritten,     // {rule, order, from, to}
  decision_enforced,      // {action, trail}
  decomposition_failed,   // {target, reason}
  verification_recorded,  // {target, ok, says}
  replan_decided,         // {action, reason}
  contingency_matched,    // {condition, action}
  loop_detected,          // {says}
  guardrail_blocked,      // {reason}
  model_called,           // {model, request, reply, tokens_in, tokens_out, cost, latency_ms, ok, tools_hash?}
  tool_called,            // {tool, ok, latency_ms}
};
struct Record {
  RecordKind kind = RecordKind::decision_proposed;
  JsonText fields = "{}";
};
struct BudgetExhausted {
  std::string name;
  std::int64_t cap = 0;
  std::int64_t used = 0;
};

std::string_view to_string(RecordKind kind);

using EventBody =
    std::variant<RunStarted, RunPaused, RunResumed, RunReopened, RunMoved, ChannelsEdited, RunFinished, StepSucceeded,
                 StepFailed, SignalReceived, TimerFired, ChildStarted, ChildFinished, QuestionAsked, QuestionAnswered,
                 QuestionExpired, SubGoalOpened, SubGoalRejected, SubGoalClosed, PlanCreated, PlanRevised,
                 TaskDecomposed, Record, BudgetExhausted, RunEnding>;

// Envelope and body. `seq` runs 1, 2, 3 ... in the run without a gap; `at_us` never decreases in a run.
struct Event {
  std::int64_t seq = 0;
  TimeUs at_us = 0;
  StepId step = 0;    // the step it belongs to; 0: none
  std::string actor;  // the cause when it is no step: "user:ann", "token:web", "worker:..."; "" when it is
  EventBody body;
};

struct EventType {
  std::int16_t number = 0;   // as stored; numbers are never used again
  std::int16_t version = 0;  // as written by this program
  std::string_view name;     // "step_succeeded"
};
EventType event_type(const EventBody& body);  // from the catalogue, event_types.hpp

// The name alone: the wire word of the body's type.
std::string_view type_of(const EventBody& body);

// Nothing for a number of a newer program.
std::optional<std::string_view> event_type_name(std::int16_t number);

// The facts that a handler may put on record. Sub-goals pass through admission, including those that the handler itself
// rejects. A budget_exhausted is recorded once in a run. Its counts are decide's for a budget of the graph, and the
// handler's own for a budget that the handler counts in a channel.
using Fact =
    std::variant<Record, SubGoalOpened, SubGoalRejected, PlanCreated, PlanRevised, TaskDecomposed, BudgetExhausted>;

}  // namespace cairn
