#include "workers/simulation/simulated_schedules.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>

#include "engine/graph_parsing.hpp"
#include "storage/chain.hpp"
#include "storage/forwarding_store.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/schedules/memory_schedules.hpp"
#include "workers/schedules/schedule_desk.hpp"
#include "workers/simulation/call_trouble.hpp"
#include "workers/simulation/chance.hpp"
#include "workers/simulation/checker.hpp"

namespace cairn::simulation {
namespace {

ScheduleCalls troubled_schedules(const ScheduleCalls& calls, CallTrouble& trouble) {
  return {[&calls, &trouble](int limit, const DecideSchedules& decide) {
            return trouble.at([&] { return calls.decide_due(limit, decide); });
          },
          [&calls, &trouble](const std::vector<std::string>& names, const DecideSchedules& decide) {
            return trouble.at([&] { return calls.decide_named(names, decide); });
          },
          [&calls, &trouble](const std::vector<std::string>& names, const DecideSchedules& decide) {
            return trouble.at([&] { return calls.confirm_named(names, decide); });
          },
          [&calls, &trouble](const ScheduleWrite& write) { return trouble.at([&] { return calls.add(write); }); },
          [&calls] { return calls.next_due(); },
          [&calls, &trouble](const std::string& name, std::int64_t revision) {
            return trouble.at([&] { return calls.definition_of(name, revision); });
          },
          [&calls](const std::string& name, TimeUs from, TimeUs until) { return calls.started(name, from, until); }};
}

class TroubledRuns final : public ForwardingStore {
 public:
  TroubledRuns(Store& store, CallTrouble& trouble)
      : ForwardingStore(store), trouble_(trouble), runs_(store.all_runs()) {
    runs_.heads = [this](std::span<const RunId> runs) {
      return trouble_.at([&] { return store_.all_runs().heads(runs); });
    };
  }

  std::vector<Verdict> commit(Shard shard, std::span<const Entry> batch, CommitOptions options) override {
    return trouble_.at([&] { return ForwardingStore::commit(shard, batch, options); });
  }
  RunBook& all_runs() override { return runs_; }
  std::optional<RunRow> run(const RunId& id) override {
    return trouble_.at([&] { return ForwardingStore::run(id); });
  }

 private:
  CallTrouble& trouble_;
  RunBook runs_;
};

constexpr TimeUs schedule_second_us = 1'000'000;
constexpr std::uint64_t schedule_salt = 0x7363686564ull;
constexpr std::size_t schedulers_count = 3;
constexpr int rest_rounds = 3'000;
const std::vector<std::string> policies = {"skip",         "buffer_one",      "buffer_all",
                                           "cancel_other", "terminate_other", "allow_all"};

// One seed: six schedules, one of each policy, which persons edit, pause and trigger, while runs end some time.
class ScheduleWorld {
 public:
  ScheduleWorld(std::uint64_t seed, const SchedulePlan& of, const Catalogue& with, ScheduleCourse& goes)
      : plan(of),
        catalogue(with),
        course(goes),
        chance(seed ^ schedule_salt),
        trouble(chance, course.faults, "scheduler", 12),
        now_us(*parse_time("2026-10-24T20:00:00Z")),
        store(make_memory_store(2, [this] { return now_us; })),
        troubled_store(*store, trouble),
        schedules([this] { return now_us; }),
        calls(schedules.calls()),
        outside(*store, catalogue, "user:test") {
    for (const auto& graphs : {plan.graphs, plan.called})
      for (const GraphRef& graph : graphs) outside.store_graph(graph, true);
    outside.load_graphs();
    ScheduleDesk desk(calls, *store, outside, zones);
    for (const std::string& policy : policies) {
      const Status added = desk.add(policy, *parse_schedule(fields_of(policy)), "user:test");
      if (!added) found("A schedule cannot be added: " + added.error().message);
      edited_us[policy] = now_us;
    }
    for (std::size_t n = 0; n < schedulers_count; ++n) begin(n);
  }

  Json fields_of(const std::string& policy) {
    const std::size_t other = chance.one_in(4) ? plan.graphs.size() - 1 : 0;
    Json fields = {{"graph", plan.graphs[other]->name},
                   {"input", plan.input},
                   {"overlap", policy},
                   {"catch_up_ms", 600'000},
                   {"zone", "Europe/Berlin"}};
    if (chance.one_in(2))
      fields["cron"] = Json::array({"*/" + std::to_string(chance.between(1, 20)) + " 0-4 * * *"});
    else
      fields["every_ms"] = chance.between(30, 600) * 1'000;
    if (chance.one_in(3)) fields["jitter_ms"] = chance.between(1, 60'000);
    return fields;
  }

  std::vector<RunRow> runs_of(std::optional<RunStatus> status) {
    RunFilter filter;
    filter.status = status;
    filter.limit = 1'000'000;
    std::vector<RunRow> rows = store->runs(filter);
    std::erase_if(rows, [](const RunRow& row) { return row.parent.has_value(); });
    return rows;
  }
  std::vector<RunRow> open_runs() { return runs_of(RunStatus::running); }

  void begin(std::size_t n) {
    clients[n] = std::make_unique<Client>(troubled_store, catalogue, "schedule");
    schedulers[n] = std::make_unique<Scheduler>(troubled_schedules(calls, trouble), troubled_store, *clients[n], zones);
  }

  // A process that dies is followed by another; one whose database failed it tries again later.
  template <class Act>
  void as_process(std::size_t n, Act&& act) {
    try {
      act(*schedulers[n]);
    } catch (const ProcessDied&) {
      begin(n);
    } catch (const StoreUnavailable&) {
    }
  }

  void happen() {
    now_us += chance.between(1, 999);  // no two triggers at one moment
    highest_us = std::max(highest_us, now_us);
    if (chance.one_in(40)) leap();
    switch (chance.below(12)) {
      case 0:
        now_us += chance.between(1, 3'000) * schedule_second_us;  // everyone sleeps
        break;
      case 1:
        now_us -= chance.between(1, 100) * schedule_second_us;  // the clock is set back
        break;
      case 2:
        act_by_desk();
        break;
      case 3:
      case 4:
      case 5:
        end_some_run();
        break;
      case 6:
      case 7:
        now_us += chance.between(1, 60) * schedule_second_us;
        break;
      default:
        as_process(chance.below(schedulers_count), [](Scheduler& scheduler) { scheduler.pass(3); });
    }
    check_overlaps();
  }

  // The clock is ahead for a moment, in which a process decides, and comes back to where it was at the furthest: from
  // an earlier time, what had been decided before would be decided twice. Each leap leads elsewhere for that reason
  // too.
  void leap() {
    const TimeUs ahead_us = ++leaps * 40 * clock_ahead_max_us;
    now_us = highest_us + ahead_us;
    as_process(chance.below(schedulers_count), [](Scheduler& scheduler) { scheduler.pass(3); });
    now_us = highest_us;
    schedules.recall();
    trouble.is_on = false;
    schedulers[0]->pass(100);
    trouble.is_on = true;
    ++course.faults["clock was ahead"];
  }

  void act_by_desk() {
    const std::string name = policies[chance.below(policies.size())];
    const std::size_t n = chance.below(schedulers_count);
    as_process(n, [&](Scheduler&) {
      ScheduleDesk desk(troubled_schedules(calls, trouble), troubled_store, *clients[n], zones);
      switch (chance.below(5)) {
        case 0:
          static_cast<void>(desk.pause(name, "", "user:ann"));
          break;
        case 1:
        case 2:
          static_cast<void>(desk.resume(name, "user:ann"));
          break;
        case 3:
          static_cast<void>(desk.trigger(name, {}, "user:ann"));
          break;
        default:
          edited_us[name] = std::max(highest_us, now_us);
          static_cast<void>(desk.edit(name, {fields_of(name)}, "user:ann"));
      }
    });
  }

  void end_some_run() {
    const std::vector<RunRow> open = open_runs();
    if (open.empty()) return;
    static_cast<void>(outside.command(open[chance.below(open.size())].id, Cancel{"it has done enough", true}));
  }

  // Where one at most may be open, never are two: unless those that were to be ended first died with their process.
  void check_overlaps() {
    std::map<std::string, int> open;
    for (const RunRow& row : open_runs()) ++open[row.tags.at("schedule")];
    open.erase("allow_all");
    for (const auto& [policy, runs] : open)
      if (runs > 1) found("Of schedule " + policy + " " + std::to_string(runs) + " runs are open at once.");
  }

  void heal() {
    trouble.is_on = false;
    for (const std::string& name : policies)
      as_process(0, [&](Scheduler&) {
        ScheduleDesk desk(calls, *store, outside, zones);
        static_cast<void>(desk.resume(name, "user:ann"));
      });
    for (int round = 0; round < rest_rounds; ++round) {
      while (schedulers[0]->pass(100) > 0 && round % 10 != 0) end_some_run();
      end_some_run();
      if (is_quiet()) return;
      now_us += schedule_second_us;
    }
    found("Schedules do not come to rest although everything is healed.");
  }

  bool is_quiet() const {
    for (const std::string& name : policies) {
      const ScheduleState state = read_state(parse_stored(schedules.row(name)->state));
      if (!state.waiting.empty() || !state.starting.empty()) return false;
    }
    return true;
  }

  // Each run has one note, each note of a start has its run, and no time has two outcomes or none.
  void check() {
    std::map<RunId, std::string> runs;
    for (const RunRow& row : runs_of({})) runs[row.id] = row.tags.at("schedule") + " " + row.tags.at("occurrence");
    std::size_t started = 0;
    for (const std::string& name : policies) started += check_notes(name, runs);
    if (started != runs.size())
      found(std::to_string(started) + " starts are on record, but there are " + std::to_string(runs.size()) + " runs.");
    course.runs = static_cast<std::int64_t>(runs.size());
  }

  std::size_t check_notes(const std::string& name, const std::map<RunId, std::string>& runs) {
    std::map<TimeUs, int> outcomes;
    std::size_t started = 0;
    TimeUs decided_until = 0;
    std::set<TimeUs> waiting;
    for (const KeptNote& kept : notes_of(name)) {
      const ScheduleNote& note = kept.note;
      if (note.kind == NoteKind::started) {
        ++started;
        const auto run = runs.find(*note.run);
        if (run == runs.end() || run->second != name + " " + occurrence_text(*note.at))
          found(named(name, *note.at) + " started on record, but has not its run.");
      }
      if (note.kind == NoteKind::refused) found("Schedule " + name + " could not start a run: " + note.says);
      if (note.kind == NoteKind::waiting) waiting.insert(*note.at);
      if (note.kind == NoteKind::started || note.kind == NoteKind::skipped) {
        if (++outcomes[*note.at] != 1) found(named(name, *note.at) + " has two outcomes.");
        waiting.erase(*note.at);
      }
      if (note.kind == NoteKind::missed) {
        if (*note.at <= decided_until) found(named(name, *note.at) + " was missed, and had an outcome before.");
        decided_until = *note.until;
      }
    }
    if (!waiting.empty()) found(named(name, *waiting.begin()) + " waits for ever.");
    count_decided(name, outcomes);
    return started;
  }

  // Times that a clock which was ahead has missed end where it came back.
  std::vector<KeptNote> notes_of(const std::string& name) const {
    std::vector<KeptNote> notes;
    for (KeptNote& kept : schedules.notes(name)) {
      if (kept.note.kind == NoteKind::resumed && kept.note.actor == "schedule")
        for (KeptNote& before : notes)
          if (before.note.kind == NoteKind::missed) before.note.until = std::min(*before.note.until, kept.recorded_at);
      notes.push_back(std::move(kept));
    }
    std::erase_if(notes, [](const KeptNote& kept) {
      return kept.note.kind == NoteKind::missed && *kept.note.until < *kept.note.at;
    });
    return notes;
  }

  // By the last definition: no time since it came is without an outcome.
  void count_decided(const std::string& name, const std::map<TimeUs, int>& outcomes) {
    const std::vector<KeptNote> notes = notes_of(name);
    const ScheduleRow row = *schedules.row(name);
    const ScheduleDefinition definition = *parse_schedule(parse_stored(row.definition));
    const ScheduleState state = read_state(parse_stored(row.state));
    const TimeUs since = edited_us[name];
    const auto zone = *zones.find(definition.zone);
    for (auto at = next_time(definition.times, zone->zone, since / schedule_second_us + 1); at && *at <= state.decided;
         at = next_time(definition.times, zone->zone, *at + 1)) {
      const TimeUs at_us = *at * schedule_second_us;
      const bool is_missed = std::any_of(notes.begin(), notes.end(), [at_us](const KeptNote& kept) {
        return kept.note.kind == NoteKind::missed && *kept.note.at <= at_us && *kept.note.until >= at_us;
      });
      if (outcomes.contains(at_us) == is_missed)
        found(named(name, at_us) + (is_missed ? " was missed, and had an outcome." : " has no outcome."));
      ++course.times;
    }
  }

  static std::string named(const std::string& name, TimeUs at) {
    return "The time " + occurrence_text(at) + " of schedule " + name;
  }

  const SchedulePlan& plan;
  const Catalogue& catalogue;
  ScheduleCourse& course;
  Chance chance;
  CallTrouble trouble;
  TimeUs now_us;
  TimeUs highest_us = 0;
  int leaps = 0;
  std::unique_ptr<Store> store;
  TroubledRuns troubled_store;
  MemorySchedules schedules;
  ScheduleCalls calls;
  Client outside;
  ZoneFiles zones;
  std::map<std::string, TimeUs> edited_us;  // or added, last
  std::array<std::unique_ptr<Client>, schedulers_count> clients;
  std::array<std::unique_ptr<Scheduler>, schedulers_count> schedulers;
};

}  // namespace

GraphRef waiting_graph(const std::string& name) {
  const Json graph = {
      {"name", name},
      {"start", "w"},
      {"limits", {{"steps", 9}}},
      {"nodes", {{"w", {{"wait", {{"signal", "go"}}}, {"on", {{"fired", "z"}}}}}, {"z", {{"end", "done"}}}}}};
  return stored_graph(graph, graph_version(canonical(graph)));
}

bool can_be_scheduled(const SchedulePlan& plan, const Catalogue& catalogue) {
  const std::unique_ptr<Store> store = make_memory_store(1);
  Client client(*store, catalogue, "user:test");
  for (const auto& graphs : {plan.graphs, plan.called})
    for (const GraphRef& graph : graphs) client.store_graph(graph, true);
  client.load_graphs();
  return std::all_of(plan.graphs.begin(), plan.graphs.end(), [&](const GraphRef& graph) {
    StartRun start;
    start.graph = graph->name;
    start.input = plan.input;
    return client.start(std::move(start), "").ok();
  });
}

ScheduleCourse simulate_schedules(std::uint64_t seed, const SchedulePlan& plan, const Catalogue& catalogue) {
  ScheduleCourse course;
  try {
    ScheduleWorld world(seed, plan, catalogue, course);
    for (int n = 0; n < plan.happenings; ++n) world.happen();
    world.heal();
    world.check();
  } catch (const Violation& violation) {
    course.finding = violation.says;
  } catch (const CheckFailure& failure) {
    course.finding = "The check " + failure.says + " failed.";
  }
  return course;
}

}  // namespace cairn::simulation
