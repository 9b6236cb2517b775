#include "ops/audit/replay.hpp"

#include <algorithm>

#include "ops/answers/usage_report.hpp"
#include "ops/answers/words.hpp"
#include "ops/audit/run_source.hpp"
#include "workers/catalogue.hpp"
#include "workers/handlers/builtin_handlers.hpp"
#include "workers/runs/executor.hpp"
#include "workers/runs/history.hpp"

namespace cairn {

ReplayMeans::ReplayMeans(const Catalogue& catalogue, GraphRef graph, bool handlers)
    : logic_(std::make_unique<HandlerTable>()), ports_(std::make_unique<Ports>(*catalogue.model, *catalogue.tools)) {
  for (const std::string& name : catalogue.handlers.here())
    if (is_builtin_logic(name)) logic_->add(*catalogue.handlers.find(name));
  if (graph) options_.handlers = logic_.get();
  if (handlers) options_.handlers = &catalogue.handlers;
  options_.graph = std::move(graph);
  options_.ports = ports_.get();
}

ReplayMeans::~ReplayMeans() = default;

// A pure step's outcome as its worker would report it now.
ReplayCheck::Rerun Replayer::rerun(Shard shard) const {
  if (options_.handlers == nullptr) return {};
  return [this, shard](const RunState& state, const Job& job) -> std::optional<StepResult> {
    const Executor executor(*options_.handlers, *options_.ports, 0);
    Prepared prepared = executor.prepare(state, job);
    if (const auto* known = std::get_if<Command>(&prepared))
      if (const auto* refused = std::get_if<FailStep>(known)) return refused->failure;
    Work* work = std::get_if<Work>(&prepared);
    if (work == nullptr || work->handler == nullptr || !work->handler->is_pure()) return std::nullopt;
    if (!work->blobs.empty())
      put_back(*work, [this, shard](const Hash& hash) { return blob_text(store_.values().get(shard, hash)); });
    std::vector<Blob> large;
    StepResult result = work->answer ? *work->answer : Executor::run_pure(*work);
    Command report = executor.report(job, 0, std::move(result), *state.graph, large);
    if (auto* complete = std::get_if<CompleteStep>(&report)) return std::move(complete->outcome);
    return std::move(std::get<FailStep>(report).failure);
  };
}

void Replayer::replay(const std::vector<RunId>& runs, const std::function<void(Replayed)>& done) {
  std::vector<HistoryRequest> requests;
  requests.reserve(runs.size());
  for (const RunId& run : runs) requests.push_back({run});
  std::vector<StoredHistory> histories = store_.histories(requests, first_events_max);
  for (std::size_t at = 0; at < runs.size(); ++at) done(replay(runs[at], std::move(histories[at].events)));
}

// `page`: the first events.
Replayed Replayer::replay(const RunId& run, std::vector<EventRow> page) {
  Replayed replayed;
  replayed.run = run;
  ReplayCheck check(run, graphs_, options_.graph, rerun(shard_of(run, store_.shards())));
  std::vector<EventRow> commit;
  for (std::int32_t limit = first_events_max;; limit = history_page) {
    const std::int64_t last = page.empty() ? 0 : page.back().seq;
    const bool is_last = page.size() < static_cast<std::size_t>(limit);
    for (EventRow& row : page) {
      if (!commit.empty() && commit.back().commit != row.commit) {
        if (!take(commit, check, replayed)) return replayed;
        commit.clear();
      }
      commit.push_back(std::move(row));
    }
    if (is_last) break;
    page = store_.events(run, last, history_page);
  }
  take(commit, check, replayed);
  return replayed;
}

// False if the rest is of no use.
bool Replayer::take(const std::vector<EventRow>& commit, ReplayCheck& check, Replayed& replayed) const {
  std::vector<Event> events;
  for (const EventRow& row : commit) {
    Result<Event> event = event_of(row);
    if (!event) {
      replayed.unreadable = "Event " + std::to_string(row.seq) + ": " + event.error().message;
      return false;
    }
    const double cost = model_cost(event->body);
    replayed.cost += cost;
    ++replayed.events;
    if (check.divergence()) replayed.cost_behind += cost;
    events.push_back(*std::move(event));
  }
  if (!check.divergence()) check.add(events);
  replayed.divergence = check.divergence();
  return true;
}

void ReplayReport::add(const Replayed& replayed) {
  const std::lock_guard lock(mutex_);
  ++runs_;
  events_ += replayed.events;
  cost_ += replayed.cost;
  cost_behind_ += replayed.cost_behind;
  if (!replayed.unreadable.empty()) {
    if (++unreadable_ <= static_cast<std::int64_t>(examples_max))
      faults_.emplace_back(replayed.run, replayed.unreadable);
    return;
  }
  if (!replayed.divergence) return;
  ++diverged_;
  const Divergence& how = *replayed.divergence;
  Kind& kind = kinds_[{how.node, how.type, how.decision}];
  if (++kind.runs <= static_cast<std::int64_t>(examples_max)) kind.examples.emplace_back(replayed.run, how);
}

bool ReplayReport::is_clean() const {
  const std::lock_guard lock(mutex_);
  return diverged_ == 0 && unreadable_ == 0;
}

std::string ReplayReport::summary() const {
  const std::lock_guard lock(mutex_);
  return counted(runs_, "run") + ", " + counted(events_, "event") + ": " +
         std::to_string(runs_ - diverged_ - unreadable_) + " the same, " + std::to_string(diverged_) + " diverged, " +
         std::to_string(unreadable_) + " unreadable";
}

Json ReplayReport::json() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::array<std::string, 3>, const Kind*>> sorted;
  for (const auto& [key, kind] : kinds_) sorted.emplace_back(key, &kind);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second->runs > b.second->runs; });
  Json divergences = Json::array();
  for (const auto& [key, kind] : sorted) {
    Json examples = Json::array();
    for (const auto& [run, how] : kind->examples)
      examples.push_back({{"run", to_string(run)},
                          {"seq", how.seq},
                          {"step", how.step},
                          {"says", how.says},
                          {"recorded", how.recorded},
                          {"again", how.again.empty() ? Json(nullptr) : Json(how.again)}});
    divergences.push_back({{"node", key[0]},
                           {"type", key[1]},
                           {"decision", key[2].empty() ? Json(nullptr) : Json(key[2])},
                           {"runs", kind->runs},
                           {"examples", std::move(examples)}});
  }
  Json faults = Json::array();
  for (const auto& [run, says] : faults_) faults.push_back({{"run", to_string(run)}, {"says", says}});
  return {{"runs", runs_},
          {"events", events_},
          {"same", runs_ - diverged_ - unreadable_},
          {"diverged", diverged_},
          {"unreadable", unreadable_},
          {"cost", cost_},
          {"cost_behind", cost_behind_},
          {"divergences", std::move(divergences)},
          {"faults", std::move(faults)}};
}

}  // namespace cairn
