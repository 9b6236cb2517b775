#include "workers/schedules/scheduler.hpp"

#include <algorithm>
#include <spdlog/spdlog.h>
#include <utility>

#include "workers/ids.hpp"

namespace cairn {
namespace {

constexpr int rounds_max = 10;
constexpr std::size_t parsed_max = 20'000;
constexpr TimeUs unreadable_pause_us = 60'000'000;  // until a schedule that cannot be read is looked at again

Result<ScheduleDefinition> stored_definition(const std::string& text) { return parse_schedule(parse_stored(text)); }

// Done: the run is there, now or before it was archived, or waits for its turn.
Status outcome_of_start(const Result<Started>& started, const RunId& run) {
  if (started && started->standing == StartStanding::skipped && started->run != run)
    return Error{Code::conflict,
                 "Expected no run with the key of its start, but run " + to_string(started->run) + " has it."};
  if (started || started.error().code == Code::conflict || started.error().code == Code::closed) return Done{};
  return started.error();
}

}  // namespace

Tags tags_of_occurrence(const ScheduleDefinition& definition, const std::string& schedule, TimeUs at) {
  Tags tags = definition.tags;
  tags["schedule"] = schedule;
  tags["occurrence"] = occurrence_text(at);
  return tags;
}

Scheduler::Scheduler(ScheduleCalls calls, Store& store, Client& client, ZoneFiles& zones)
    : calls_(std::move(calls)), store_(store), client_(client), zones_(zones) {}

std::size_t Scheduler::pass(int portion) {
  Doings doings;
  const Decide decide = [](ScheduleInHand& schedule, const ScheduleView& view) {
    return decide_schedule(schedule.state, view);
  };
  const std::size_t decided = calls_.decide_due(portion, [&](TimeUs now_us, const std::vector<ScheduleRow>& rows) {
    doings = {};
    return decide_rows(now_us, rows, decide, doings);
  });
  carry_out(std::move(doings));
  return decided;
}

Result<std::vector<ScheduleNote>> Scheduler::change(const std::string& name, const ScheduleChange& change) {
  Doings doings;
  Result<std::vector<ScheduleNote>> result =
      Error{Code::not_found, "Expected a schedule, but none is named " + name + ": see `cairn schedule list`."};
  calls_.decide_named({name}, [&](TimeUs now_us, const std::vector<ScheduleRow>& rows) -> std::vector<ScheduleWrite> {
    doings = {};
    Result<ScheduleInHand> schedule = in_hand(rows.front());
    if (!schedule) {
      result = schedule.error();
      return {};
    }
    check_open_runs({*schedule});
    const ScheduleInHand before = *schedule;  // the view is of what was there
    Result<ScheduleDecision> decision = change(*schedule, view_of(before, now_us));
    if (!decision) {
      result = decision.error();
      return {};
    }
    result = decision->notes;
    return {write_of(*std::move(schedule), *std::move(decision), doings)};
  });
  const std::vector<ScheduleNote> refused = carry_out(std::move(doings));
  if (result) result->insert(result->end(), refused.begin(), refused.end());
  return result;
}

ScheduleView Scheduler::view_of(const ScheduleInHand& schedule, TimeUs now_us) const {
  return {schedule.row.name,
          schedule.row.revision,
          schedule.definition,
          schedule.zone->zone,
          now_us,
          [this](const RunId& run) {
            const auto found = ended_.find(run);
            return found != ended_.end() && found->second;
          },
          [](const std::string& graph, const std::string& key) { return keyed_run_id(graph, key); }};
}

Result<ScheduleInHand> Scheduler::in_hand(const ScheduleRow& row) {
  if (parsed_.size() > parsed_max) parsed_.clear();
  ParsedDefinition& parsed = parsed_[row.name];
  if (parsed.definition == nullptr || parsed.text != row.definition) {
    Result<ScheduleDefinition> definition = stored_definition(row.definition);
    if (!definition) return definition.error();
    parsed = {row.definition, std::make_shared<const ScheduleDefinition>(*std::move(definition))};
  }
  const auto zone = zones_.find(parsed.definition->zone);
  if (!zone) return zone.error();
  return ScheduleInHand{row, *parsed.definition, read_state(parse_stored(row.state)), *zone};
}

void Scheduler::check_open_runs(const std::vector<ScheduleInHand>& schedules) {
  ended_.clear();
  std::vector<RunId> open;
  for (const ScheduleInHand& schedule : schedules)
    for (const OccurrenceRun& one : schedule.state.open) open.push_back(one.run);
  std::sort(open.begin(), open.end());
  open.erase(std::unique(open.begin(), open.end()), open.end());
  if (open.empty()) return;
  for (const RunId& run : read_ends(open)) ended_[run] = !waits_for_its_turn(run);
}

// Returns those that have none.
std::vector<RunId> Scheduler::read_ends(const std::vector<RunId>& runs) {
  const std::vector<std::optional<RunHead>> heads = store_.all_runs().heads(runs);
  std::vector<RunId> without;
  for (std::size_t n = 0; n < runs.size(); ++n) {
    ended_[runs[n]] = !heads[n] || is_ended(heads[n]->status);
    if (!heads[n]) without.push_back(runs[n]);
  }
  return without;
}

// As a start of a singleton whose key another run has. One that is no longer among them may have begun just now.
bool Scheduler::waits_for_its_turn(const RunId& run) {
  const std::optional<FoundStart> start = store_.starts().start_of_run(run);
  if (start) return !start->start.refusal;
  const std::optional<RunHead> head = store_.all_runs().heads(std::vector{run}).front();
  return head && !is_ended(head->status);
}

std::vector<ScheduleWrite> Scheduler::decide_rows(TimeUs now_us, const std::vector<ScheduleRow>& rows,
                                                  const Decide& decide, Doings& doings) {
  std::vector<ScheduleWrite> writes;
  std::vector<ScheduleInHand> schedules;
  for (const ScheduleRow& row : rows) {
    Result<ScheduleInHand> schedule = in_hand(row);
    if (schedule) {
      schedules.push_back(*std::move(schedule));
      continue;
    }
    spdlog::warn("Schedule {} waits a minute: {}", row.name, schedule.error().message);
    const Json definition = parse_stored(row.definition);
    ScheduleWrite later{row, definition.value("zone", "UTC")};
    later.row.due_at = now_us + unreadable_pause_us;
    writes.push_back(std::move(later));
  }
  check_open_runs(schedules);
  for (ScheduleInHand& schedule : schedules) {
    ScheduleDecision decided = decide(schedule, view_of(schedule, now_us));
    writes.push_back(write_of(std::move(schedule), std::move(decided), doings));
  }
  return writes;
}

ScheduleWrite Scheduler::write_of(ScheduleInHand schedule, ScheduleDecision decision, Doings& doings) {
  const std::string& name = schedule.row.name;
  doings.cancels.insert(doings.cancels.end(), decision.cancels.begin(), decision.cancels.end());
  for (const OccurrenceRun& one : schedule.state.starting) doings.starts.emplace_back(name, one);
  if (!schedule.state.starting.empty()) {
    doings.definitions[name] = std::make_shared<const ScheduleDefinition>(schedule.definition);
    doings.revisions[name] = schedule.row.revision;
  }
  ScheduleWrite write{schedule.row, schedule.definition.zone, std::move(decision.notes), schedule.is_removed};
  write.row.due_at = decision.due_at;
  write.row.zone_mark = schedule.zone->mark;
  const auto parsed = parsed_.find(name);
  if (parsed == parsed_.end() || *parsed->second.definition != schedule.definition)
    write.row.definition = canonical(schedule_json(schedule.definition));
  write.row.state = canonical(state_json(schedule.state));
  return write;
}

void Scheduler::cancel(const std::vector<RunId>& runs) {
  if (runs.empty()) return;
  client_.command_many(runs, Cancel{.reason = "another occurrence of its schedule is due", .spares_cleanup = true});
}

std::vector<ScheduleNote> Scheduler::carry_out(Doings doings) {
  std::vector<ScheduleNote> refused;
  for (int round = 0; round < rounds_max && !doings.is_empty(); ++round) {
    cancel(doings.cancels);
    std::map<std::string, std::vector<StartedOccurrence>> done = start(doings);
    if (done.empty()) break;
    std::vector<std::string> names;
    for (const auto& [name, starts] : done) names.push_back(name);
    for (const auto& [name, starts] : done)
      for (const StartedOccurrence& one : starts)
        if (!one.start)
          refused.push_back({.kind = NoteKind::refused, .run = one.run, .says = one.start.error().message});
    Doings more;
    const Decide confirm = [&done](ScheduleInHand& schedule, const ScheduleView& view) {
      return confirm_starts(schedule.state, view, done.at(schedule.row.name));
    };
    calls_.confirm_named(names, [&](TimeUs now_us, const std::vector<ScheduleRow>& rows) {
      more = {};
      return decide_rows(now_us, rows, confirm, more);
    });
    doings = std::move(more);
  }
  return refused;
}

// Those that end others first come last, one by one: what they end may be among the starts.
std::map<std::string, std::vector<StartedOccurrence>> Scheduler::start(const Doings& doings) {
  std::map<std::string, std::vector<StartedOccurrence>> done;
  if (doings.starts.empty()) return done;
  client_.load_graphs();
  std::vector<NamedRun> together;
  for (const NamedRun& start : doings.starts)
    if (start.second.ending.empty()) together.push_back(start);
  start_together(doings, together, done);
  for (const NamedRun& start : doings.starts) {
    if (start.second.ending.empty()) continue;
    client_.command_many(start.second.ending, Cancel{"another occurrence of its schedule takes its place", true});
    start_together(doings, {start}, done);
  }
  return done;
}

void Scheduler::start_together(const Doings& doings, const std::vector<NamedRun>& starts,
                               std::map<std::string, std::vector<StartedOccurrence>>& done) {
  std::vector<std::pair<StartRun, std::string>> commands;
  std::vector<NamedRun> asked;
  for (const NamedRun& start : starts) {
    const auto& [name, one] = start;
    const auto definition = definition_of(doings, name, one.revision);
    if (definition == nullptr) {
      done[name].push_back({one.run, Error{Code::not_found, "Expected its revision " + std::to_string(one.revision) +
                                                                ", but it is gone."}});
      continue;
    }
    StartRun command;
    command.graph = one.graph;
    command.input = definition->input;
    command.tags = tags_of_occurrence(*definition, name, one.at);
    commands.emplace_back(std::move(command), occurrence_key(name, one.at));
    asked.push_back(start);
  }
  const std::vector<Result<Started>> started = client_.start_many(std::move(commands));
  for (std::size_t n = 0; n < started.size(); ++n) {
    const RunId& run = asked[n].second.run;
    done[asked[n].first].push_back({run, outcome_of_start(started[n], run)});
  }
}

std::shared_ptr<const ScheduleDefinition> Scheduler::definition_of(const Doings& doings, const std::string& name,
                                                                   std::int64_t revision) {
  if (doings.revisions.at(name) == revision) return doings.definitions.at(name);
  const std::optional<std::string> text = calls_.definition_of(name, revision);
  if (!text) return nullptr;
  Result<ScheduleDefinition> definition = stored_definition(*text);
  return definition ? std::make_shared<const ScheduleDefinition>(*std::move(definition)) : nullptr;
}

}  // namespace cairn
