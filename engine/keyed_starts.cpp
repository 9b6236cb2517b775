#include "engine/keyed_starts.hpp"

#include <algorithm>
#include <array>

namespace cairn {
namespace {

constexpr std::array<std::string_view, 3> standing_words = {"started", "waits", "skipped"};
constexpr TimeUs confirm_wait_us = 5'000'000;  // then another process begins what is not known to have begun
constexpr TimeUs taken_wait_us = 60'000'000;   // longer than the patience of a process that takes a key for a run
constexpr TimeUs end_wait_us_min = 250'000;
constexpr TimeUs end_wait_us_max = 5'000'000;
constexpr TimeUs idle_wait_us_min = 10'000'000;
constexpr TimeUs idle_wait_us_max = 3'600'000'000;
constexpr std::size_t singleton_rule = 0, debounce_rule = 1, batch_rule = 2;  // of StartPolicy::rule
constexpr std::int64_t batch_bytes_max = 4'000'000;  // of inputs, that a run of a batch has together

RunId run_in(const Json& text) {
  const std::optional<RunId> run = parse_run_id(text.get_ref<const std::string&>());
  CHECK(run.has_value());
  return *run;
}

Json group_json(const StartGroup& group) {
  Json shown = {{"run", to_string(group.run)}, {"first", group.first}, {"last", group.last},
                {"count", group.count},        {"bytes", group.bytes}, {"first_at", group.first_at},
                {"due_at", group.due_at},      {"rule", group.rule}};
  if (group.is_named) shown["is_named"] = true;
  return shown;
}

StartGroup read_group(const Json& stored) {
  return {run_in(stored.at("run")), stored.at("first"), stored.at("last"),
          stored.at("count"),       stored.at("bytes"), stored.at("first_at"),
          stored.at("due_at"),      stored.at("rule"),  stored.value("is_named", false)};
}

bool is_taken(const StartGroup& group) { return group.last == 0; }

StartGroup* taken_group(KeyedStarts& state, const RunId& run) {
  for (StartGroup& group : state.starting)
    if (group.run == run && is_taken(group)) return &group;
  return nullptr;
}

void begin(KeyedStarts& state, StartGroup group, TimeUs now_us) {
  group.due_at = now_us;
  state.starting.push_back(std::move(group));
}

void begin_group(KeyedStarts& state, TimeUs now_us) {
  begin(state, *state.group, now_us);
  state.group.reset();
}

void forget_ended(KeyedStarts& state, const StartsSeen& seen) {
  if (state.holder && seen.holder_ended && !is_starting(state, *state.holder)) state.holder.reset();
}

void begin_with_key(KeyedStarts& state, const StartGroup& group, TimeUs now_us) {
  state.holder = group.run;
  state.held_since = now_us;
  begin(state, group, now_us);
}

StartGroup group_of(const AskedStart& asked, std::size_t rule, TimeUs now_us, TimeUs due_at) {
  return {.run = asked.run,
          .first = asked.number,
          .last = asked.number,
          .bytes = asked.bytes,
          .first_at = now_us,
          .due_at = due_at,
          .rule = rule,
          .is_named = asked.is_named};
}

// From a clock that was ahead: what was to be done so long after it was asked for is done so long after now.
void come_back(KeyedStarts& state, TimeUs now_us) {
  const TimeUs latest_us = now_us + clock_ahead_max_us;
  if (state.held_since > latest_us) state.held_since = now_us;
  for (StartGroup& group : state.starting)
    if (group.due_at > latest_us) group.due_at = now_us;
  if (!state.group || state.group->first_at <= latest_us) return;
  StartGroup& group = *state.group;
  if (group.due_at != never_us) group.due_at = now_us + std::max<TimeUs>(group.due_at - group.first_at, 0);
  group.first_at = now_us;
}

// The group's run stands for this start in place of the last one, unless a caller has named the run of either.
StartDecision replace_last(StartGroup& group, const AskedStart& asked) {
  const std::int64_t dropped = group.last;
  if (asked.is_named || group.is_named) group.run = asked.run;
  group.is_named = asked.is_named;
  group.first = group.last = asked.number;
  group.bytes = asked.bytes;
  return {StartStanding::waits, group.run, dropped};
}

// The run that has the key, or else the next that gets it.
std::optional<RunId> open_run(const KeyedStarts& state, const StartsSeen& seen) {
  if (state.holder) return state.holder;
  if (state.group) return state.group->run;
  if (state.waiting > 0 && seen.front) return seen.front->second;
  return std::nullopt;
}

// The standing of an earlier start for which the caller has named the same run.
std::optional<StartDecision> standing_of_same(const KeyedStarts& state, const AskedStart& asked) {
  if (!asked.is_named) return std::nullopt;
  StartDecision same{.run = asked.run, .existed = true};
  if (state.holder == asked.run || is_starting(state, asked.run)) return same;
  if (!state.group || state.group->run != asked.run) return std::nullopt;
  same.standing = StartStanding::waits;
  return same;
}

StartDecision ask_singleton(KeyedStarts& state, const SingletonStarts& singleton, const StartsSeen& seen,
                            const AskedStart& asked) {
  const TimeUs now_us = seen.now_us;
  forget_ended(state, seen);
  if (std::optional<StartDecision> same = standing_of_same(state, asked)) return *std::move(same);
  const std::optional<RunId> open = open_run(state, seen);
  if (!open) {
    begin_with_key(state, group_of(asked, singleton_rule, now_us, now_us), now_us);
    return {StartStanding::started, asked.run};
  }
  switch (singleton.when) {
    case SingletonStarts::When::skip:
      return {StartStanding::skipped, *open};
    case SingletonStarts::When::cancel:
      if (state.group) return replace_last(*state.group, asked);
      state.group = group_of(asked, singleton_rule, now_us, never_us);
      return {StartStanding::waits, asked.run};
    case SingletonStarts::When::queue:
      ++state.waiting;
      return {StartStanding::waits, asked.run};
  }
  CHECK(false);
}

StartDecision ask_debounce(KeyedStarts& state, const DebouncedStarts& debounce, TimeUs now_us,
                           const AskedStart& asked) {
  StartDecision decision{StartStanding::waits, asked.run};
  if (state.group)
    decision = replace_last(*state.group, asked);
  else
    state.group = group_of(asked, debounce_rule, now_us, never_us);
  StartGroup& group = *state.group;
  group.due_at = now_us + debounce.quiet_us;
  if (debounce.at_most_us > 0) group.due_at = std::min(group.due_at, group.first_at + debounce.at_most_us);
  return decision;
}

StartDecision ask_batch(KeyedStarts& state, const BatchedStarts& batch, TimeUs now_us, const AskedStart& asked) {
  if (state.group && state.group->bytes + asked.bytes > batch_bytes_max) begin_group(state, now_us);
  if (state.group) {
    state.group->last = asked.number;
    state.group->bytes += asked.bytes;
    ++state.group->count;
  } else {
    state.group = group_of(asked, batch_rule, now_us, now_us + batch.after_us);
  }
  const RunId run = state.group->run;
  if (state.group->count < batch.size) return {StartStanding::waits, run};
  begin_group(state, now_us);
  return {StartStanding::started, run};
}

}  // namespace

std::string_view to_string(StartStanding standing) { return standing_words[static_cast<std::size_t>(standing)]; }

Json keyed_starts_json(const KeyedStarts& state) {
  Json shown = {{"waiting", state.waiting}};
  if (state.holder) {
    shown["holder"] = to_string(*state.holder);
    shown["held_since"] = state.held_since;
  }
  if (state.group) shown["group"] = group_json(*state.group);
  for (const StartGroup& group : state.starting) shown["starting"].push_back(group_json(group));
  return shown;
}

KeyedStarts read_keyed_starts(const Json& stored) {
  KeyedStarts state;
  state.waiting = stored.at("waiting");
  if (stored.contains("holder")) {
    state.holder = run_in(stored["holder"]);
    state.held_since = stored.at("held_since");
  }
  if (stored.contains("group")) state.group = read_group(stored["group"]);
  if (stored.contains("starting"))
    for (const Json& group : stored["starting"]) state.starting.push_back(read_group(group));
  return state;
}

StartDecision ask_start(KeyedStarts& state, const StartPolicy& policy, const StartsSeen& seen,
                        const AskedStart& asked) {
  if (state.group && (state.group->rule != policy.rule.index() || state.group->due_at <= seen.now_us))
    begin_group(state, seen.now_us);
  if (const SingletonStarts* singleton = policy.singleton()) return ask_singleton(state, *singleton, seen, asked);
  if (const auto* debounce = std::get_if<DebouncedStarts>(&policy.rule))
    return ask_debounce(state, *debounce, seen.now_us, asked);
  return ask_batch(state, std::get<BatchedStarts>(policy.rule), seen.now_us, asked);
}

std::optional<RunId> decide_starts(KeyedStarts& state, const StartsSeen& seen) {
  come_back(state, seen.now_us);
  forget_ended(state, seen);
  // The first start that is kept may be one that begins; the others wait after it.
  const bool knows_front = state.starting.empty();
  if (!state.holder && knows_front && !seen.front) state.waiting = 0;  // they were removed otherwise
  if (state.group && state.group->due_at <= seen.now_us) begin_group(state, seen.now_us);
  const bool waits_for_key = state.group && state.group->due_at == never_us;
  if (!state.holder && waits_for_key) {
    begin_with_key(state, *state.group, seen.now_us);
    state.group.reset();
  } else if (!state.holder && knows_front && state.waiting > 0) {
    const auto& [number, run] = *seen.front;
    begin_with_key(state, {.run = run, .first = number, .last = number, .first_at = seen.now_us}, seen.now_us);
    --state.waiting;
  } else if (waits_for_key && !is_starting(state, *state.holder)) {
    return state.holder;
  }
  return std::nullopt;
}

bool confirm_start(KeyedStarts& state, const StartsSeen& seen, const StartGroup& group) {
  const auto is_same = [&group](const StartGroup& one) {
    if (one.run != group.run || one.first != group.first || one.last != group.last) return false;
    return !is_taken(one) || one.due_at == group.due_at;  // else a process has taken it since
  };
  if (std::erase_if(state.starting, is_same) == 0) return false;
  forget_ended(state, seen);
  return true;
}

bool take_key(KeyedStarts& state, const StartsSeen& seen, const RunId& run) {
  forget_ended(state, seen);
  if (state.holder && *state.holder != run) return false;
  StartGroup* taken = taken_group(state, run);
  if (taken == nullptr) {
    begin_with_key(state, {.run = run, .count = 0, .first_at = seen.now_us}, seen.now_us);
    taken = &state.starting.back();
  } else if (taken->due_at + confirm_wait_us <= seen.now_us) {
    taken->count = 0;  // the time of those is over
  }
  ++taken->count;
  taken->due_at = seen.now_us + taken_wait_us - confirm_wait_us;
  return true;
}

void release_key(KeyedStarts& state, const StartsSeen& seen, const RunId& run) {
  StartGroup* taken = taken_group(state, run);
  if (taken != nullptr && --taken->count <= 0)
    std::erase_if(state.starting, [&run](const StartGroup& group) { return group.run == run && is_taken(group); });
  forget_ended(state, seen);
}

void withdraw_start(KeyedStarts& state, const RunId& run) {
  if (state.group && state.group->run == run)
    state.group.reset();
  else
    --state.waiting;
}

std::vector<StartGroup> unconfirmed_starts(KeyedStarts& state, TimeUs now_us) {
  std::vector<StartGroup> late;
  for (StartGroup& group : state.starting) {
    if (group.due_at + confirm_wait_us > now_us) continue;
    group.due_at = now_us;
    late.push_back(group);
  }
  return late;
}

bool is_batch(const StartGroup& group) { return group.rule == batch_rule; }

bool is_starting(const KeyedStarts& state, const RunId& run) {
  return std::any_of(state.starting.begin(), state.starting.end(),
                     [&run](const StartGroup& group) { return group.run == run; });
}

bool is_idle(const KeyedStarts& state) {
  return !state.holder && state.starting.empty() && !state.group && state.waiting == 0;
}

TimeUs next_due_at(const KeyedStarts& state, TimeUs now_us) {
  const TimeUs tenth = std::max<TimeUs>(now_us - state.held_since, 0) / 10;
  const bool waits = state.waiting > 0 || (state.group && state.group->due_at == never_us);
  TimeUs at = never_us;
  for (const StartGroup& group : state.starting) at = std::min(at, group.due_at + confirm_wait_us);
  if (state.group) at = std::min(at, state.group->due_at);
  if (!state.holder && waits && state.starting.empty()) at = now_us;
  if (state.holder && waits) at = std::min(at, now_us + std::clamp(tenth, end_wait_us_min, end_wait_us_max));
  if (state.holder && !waits) at = std::min(at, now_us + std::clamp(tenth, idle_wait_us_min, idle_wait_us_max));
  return at;
}

}  // namespace cairn
