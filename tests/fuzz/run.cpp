// A run of any graph on any input: started, and worked on as workers, a clock and people do. All that follows from what
// its author wrote stays within the bounds of a decision, and every state can be shown and kept.
#include "engine/codec.hpp"
#include "engine/decide.hpp"
#include "engine/graph_parsing.hpp"
#include "engine/job.hpp"
#include "engine/run_json.hpp"
#include "engine/snapshot.hpp"
#include "tests/fuzz/targets.hpp"
#include "workers/handlers/builtin_handlers.hpp"

namespace cairn::fuzz {
namespace {

constexpr int turns_max = 20;
constexpr std::size_t referred_bytes_max = 8 * composed_bytes_max;  // a moment's work, so that many are tried
// A byte of a text may be written as six (\u0001), and an event has fields of its own.
constexpr std::size_t written_bytes_max = 6 * (decision_bytes_max + 2 * composed_bytes_max);

const HandlerTable& builtin() {
  static const HandlerTable table = [] {
    HandlerTable made;
    add_builtin_handlers(made);
    return made;
  }();
  return table;
}

class WorkedOn {
 public:
  WorkedOn(const GraphRef& graph, const Json& text) : graph_(graph->name), text_(text) {
    graphs_.add(graph, true);
    context_.now_us = 1'000'000;
  }

  bool start() {
    StartRun start;
    start.graph = graph_;
    start.input = text_.value("input", Json::object());
    return start.input.is_object() && give(start);
  }

  // The first thing that is open: a question, a time, or a step. False if there is none, or it took long enough.
  bool go_on() {
    if (state_.referred_bytes > referred_bytes_max) return false;
    if (!state_.questions.empty()) return give(Answer{state_.questions.begin()->first, said(), "ann", {}});
    for (const Job& job : jobs_of(state_)) {
      if (job.queue == timer_queue) {
        context_.now_us = std::max(context_.now_us, job.run_at_us);
        return give(Due{job.branch == whole_run ? 0 : job.step});
      }
      return report(state_.steps.at(job.step));
    }
    return false;
  }

 private:
  Json said() const { return text_.value("says", Json()); }

  // A handler of the program that only looks at data, or a worker that leaves what the text says.
  bool report(const Step& step) {
    const Handler* handler = step.goal < 0 ? builtin().find(state_.node(step).handler()) : nullptr;
    const Result<StepInput> input = step_input(state_, step, handler);
    if (!input) return give(FailStep{step.id, step.attempt, {"limit", input.error().message, false, {}}, 1, 0});
    if (handler == nullptr || !handler->is_pure()) {
      const DoNode* work = work_of(state_, step);
      const bool has_label = work != nullptr && !work->labels.empty();
      const Json patch = said().is_object() ? said() : Json::object();
      return give(CompleteStep{step.id, step.attempt, {has_label ? work->labels.front() : "ok", patch, {}}, 1, 0, 0});
    }
    StepResult result = std::get<PureHandler>(handler->run)(*input);
    if (!result) return give(FailStep{step.id, step.attempt, std::move(result).error(), 1, 0});
    return give(CompleteStep{step.id, step.attempt, *std::move(result), 1, 0, 0});
  }

  bool give(const Command& command) {
    const Result<Decision> decision = decide(state_, command, context_, graphs_);
    if (!decision) return false;
    std::size_t bytes = written_bytes(decision->events);
    std::size_t events = decision->events.size();
    CHECK(decision->children.size() <= context_.children_max);
    for (const Decision::Child& child : decision->children) {
      bytes += written_bytes(child.events);
      events += child.events.size();
    }
    CHECK(events <= 2 * context_.events_max + 2 * context_.children_max + 10);
    CHECK(bytes <= written_bytes_max);
    CHECK(state_json(state_).is_object());
    return true;
  }

  static std::size_t written_bytes(const std::vector<Event>& events) {
    std::size_t bytes = 0;
    for (const Event& event : events) bytes += encode_payload(event.body).size();
    return bytes;
  }

  std::string graph_;
  const Json& text_;
  Graphs graphs_;
  Context context_;
  RunState state_;
};

}  // namespace

void run(std::string_view bytes) {
  const Result<Json> text = parse_json(bytes, "the run");
  if (!text || !text->is_object()) return;
  const Result<GraphRef> graph = parse_graph(text->value("graph", Json()), "v", builtin().labels());
  if (!graph) return;
  WorkedOn one(*graph, *text);
  if (!one.start()) return;
  for (int turn = 0; turn < turns_max && one.go_on(); ++turn) continue;
}

}  // namespace cairn::fuzz
