// The rules of starts with one key: what each start comes to, what begins when, and what never happens.
#include "engine/keyed_starts.hpp"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

namespace cairn {
namespace {

constexpr TimeUs second = 1'000'000;

RunId run_of(std::uint8_t number) {
  RunId run;
  run.bytes[15] = number;
  return run;
}

const StartPolicy skip{"", SingletonStarts{SingletonStarts::When::skip}};
const StartPolicy cancel{"", SingletonStarts{SingletonStarts::When::cancel}};
const StartPolicy queue{"", SingletonStarts{SingletonStarts::When::queue}};
const StartPolicy debounce{"", DebouncedStarts{2 * second, 5 * second}};
const StartPolicy batch{"", BatchedStarts{3, 10 * second}};

// A key with the starts that are kept for it, as storage keeps them.
class Key {
 public:
  explicit Key(StartPolicy policy) : policy(std::move(policy)) {}

  StartsSeen seen() const {
    StartsSeen seen{now, state.holder && ended.contains(*state.holder), {}};
    if (!kept.empty()) seen.front = *kept.begin();
    return seen;
  }
  StartDecision ask(std::uint8_t number, bool is_named = false) {
    const StartDecision decision = ask_start(state, policy, seen(), {number, run_of(number), 10, is_named});
    if (decision.drops) kept.erase(*decision.drops);
    if (!decision.existed && decision.standing != StartStanding::skipped) kept[number] = decision.run;
    turn();
    return decision;
  }
  void turn() { cancelled = decide_starts(state, seen()); }
  // Begins what was decided. Returns the runs.
  std::vector<RunId> begin() {
    std::vector<RunId> begun;
    for (const StartGroup& group : std::vector<StartGroup>(state.starting)) {
      begun.push_back(group.run);
      inputs[group.run] = std::count_if(kept.begin(), kept.end(), [&](const auto& start) {
        return start.second == group.run && start.first >= group.first && start.first <= group.last;
      });
      std::erase_if(kept, [&](const auto& start) { return start.first >= group.first && start.first <= group.last; });
      EXPECT_TRUE(confirm_start(state, seen(), group));
    }
    return begun;
  }
  void end(std::uint8_t number) { ended.insert(run_of(number)); }

  StartPolicy policy;
  KeyedStarts state;
  TimeUs now = 1'000 * second;
  std::map<std::int64_t, RunId> kept;
  std::set<RunId> ended;
  std::map<RunId, std::int64_t> inputs;  // starts that each run that began stands for
  std::optional<RunId> cancelled;
};

using Runs = std::vector<RunId>;

TEST(KeyedStarts, skip_begins_one_and_names_it_to_the_others_until_it_has_ended) {
  Key key(skip);
  EXPECT_EQ(key.ask(1).standing, StartStanding::started);
  EXPECT_EQ(key.ask(2).standing, StartStanding::skipped) << "decided, and not yet known to have begun";
  EXPECT_EQ(key.begin(), Runs{run_of(1)});
  const StartDecision other = key.ask(3);
  EXPECT_EQ(other.standing, StartStanding::skipped);
  EXPECT_EQ(other.run, run_of(1));
  key.end(1);
  EXPECT_EQ(key.ask(4).standing, StartStanding::started);
  EXPECT_EQ(key.begin(), Runs{run_of(4)});
}

TEST(KeyedStarts, a_holder_that_is_not_there_yet_keeps_its_key) {
  Key key(skip);
  key.ask(1);
  key.end(1);  // as it looks to those who find no such run
  EXPECT_EQ(key.ask(2).standing, StartStanding::skipped);
}

TEST(KeyedStarts, queue_begins_each_in_its_turn) {
  Key key(queue);
  EXPECT_EQ(key.ask(1).standing, StartStanding::started);
  EXPECT_EQ(key.ask(2).standing, StartStanding::waits);
  EXPECT_EQ(key.ask(3).standing, StartStanding::waits);
  EXPECT_EQ(key.begin(), Runs{run_of(1)});
  key.turn();
  EXPECT_TRUE(key.state.starting.empty());
  key.end(1);
  key.turn();
  EXPECT_EQ(key.begin(), Runs{run_of(2)});
  EXPECT_EQ(key.ask(4).standing, StartStanding::waits) << "behind 3";
  key.end(2);
  key.turn();
  EXPECT_EQ(key.begin(), Runs{run_of(3)});
  key.end(3);
  key.turn();
  EXPECT_EQ(key.begin(), Runs{run_of(4)});
  key.end(4);
  key.turn();
  EXPECT_TRUE(is_idle(key.state));
}

TEST(KeyedStarts, cancel_ends_the_run_and_begins_the_latest_once_it_has_ended) {
  Key key(cancel);
  key.ask(1);
  key.begin();
  EXPECT_EQ(key.ask(2).run, run_of(2));
  EXPECT_EQ(key.cancelled, run_of(1));
  EXPECT_EQ(key.ask(3).run, run_of(2)) << "the run that waits stands for the latest start";
  EXPECT_TRUE(key.state.starting.empty());
  key.end(1);
  key.turn();
  EXPECT_EQ(key.begin(), Runs{run_of(2)});
  EXPECT_EQ(key.inputs[run_of(2)], 1);
  EXPECT_TRUE(key.kept.empty());
}

TEST(KeyedStarts, cancel_gives_a_start_with_a_key_of_its_own_its_own_run) {
  Key key(cancel);
  key.ask(1);
  key.begin();
  key.ask(2);
  EXPECT_EQ(key.ask(3, true).run, run_of(3));
  key.end(1);
  key.turn();
  EXPECT_EQ(key.begin(), Runs{run_of(3)});
}

TEST(KeyedStarts, cancel_keeps_a_run_that_a_caller_has_named_from_the_starts_of_others) {
  Key key(cancel);
  key.ask(1);
  key.begin();
  key.ask(2, true);
  const StartDecision other = key.ask(3);
  EXPECT_EQ(other.run, run_of(3));
  EXPECT_EQ(other.drops, 2);
  EXPECT_EQ(key.ask(4).run, run_of(3)) << "which no caller has named";
  key.end(1);
  key.turn();
  EXPECT_EQ(key.begin(), Runs{run_of(3)});
}

TEST(KeyedStarts, cancel_does_not_end_a_run_for_a_start_that_names_the_same_run) {
  Key key(cancel);
  const auto ask_again = [&](std::int64_t number, std::uint8_t run) {
    const StartDecision decision = ask_start(key.state, key.policy, key.seen(), {number, run_of(run), 10, true});
    EXPECT_TRUE(decision.existed);
    EXPECT_EQ(decision.run, run_of(run));
    EXPECT_FALSE(decision.drops);
    key.turn();
    return decision.standing;
  };
  key.ask(1, true);
  EXPECT_EQ(ask_again(2, 1), StartStanding::started) << "decided, and not yet known to have begun";
  EXPECT_FALSE(key.state.group);
  key.begin();
  EXPECT_EQ(ask_again(2, 1), StartStanding::started);
  EXPECT_EQ(key.cancelled, std::nullopt);
  EXPECT_FALSE(key.ask(2, true).existed);
  EXPECT_EQ(ask_again(3, 2), StartStanding::waits);
  EXPECT_EQ(key.state.group->last, 2);
}

TEST(KeyedStarts, debounce_begins_once_it_is_quiet_and_at_most_so_late) {
  Key key(debounce);
  EXPECT_EQ(key.ask(1).standing, StartStanding::waits);
  key.now += 1 * second;
  EXPECT_EQ(key.ask(2).run, run_of(1));
  EXPECT_EQ(next_due_at(key.state, key.now), key.now + 2 * second);
  key.now += 2 * second - 1;
  key.turn();
  EXPECT_TRUE(key.begin().empty());
  key.now += 1;
  key.turn();
  EXPECT_EQ(key.begin(), Runs{run_of(1)});
  const TimeUs first = key.now;
  for (std::uint8_t number = 10; key.now < first + 4 * second; ++number, key.now += second) key.ask(number);
  EXPECT_EQ(key.state.group->due_at, first + 5 * second);
  key.now = first + 5 * second;
  key.turn();
  EXPECT_EQ(key.begin(), Runs{run_of(10)});
}

TEST(KeyedStarts, batch_begins_when_it_is_full_or_after_a_time) {
  Key key(batch);
  EXPECT_EQ(key.ask(1).standing, StartStanding::waits);
  EXPECT_EQ(key.ask(2).run, run_of(1));
  EXPECT_EQ(key.ask(3).standing, StartStanding::started);
  EXPECT_EQ(key.ask(4).run, run_of(4)) << "the next one, before the first has begun";
  EXPECT_EQ(key.begin(), Runs{run_of(1)});
  EXPECT_EQ(key.inputs[run_of(1)], 3);
  key.now += 10 * second;
  key.turn();
  EXPECT_EQ(key.begin(), Runs{run_of(4)});
  EXPECT_EQ(key.inputs[run_of(4)], 1);
}

TEST(KeyedStarts, batch_begins_before_its_inputs_are_more_than_a_run_should_have) {
  KeyedStarts state;
  const StartsSeen seen{.now_us = second};
  ask_start(state, batch, seen, {1, run_of(1), 3'000'000, false});
  EXPECT_EQ(ask_start(state, batch, seen, {2, run_of(2), 3'000'000, false}).run, run_of(2));
  ASSERT_EQ(state.starting.size(), 1u);
  EXPECT_EQ(state.starting.front().run, run_of(1));
}

TEST(KeyedStarts, what_is_not_confirmed_is_begun_again_after_five_seconds) {
  Key key(skip);
  key.ask(1);
  EXPECT_EQ(next_due_at(key.state, key.now), key.now + 5 * second);
  EXPECT_TRUE(unconfirmed_starts(key.state, key.now + 4 * second).empty());
  ASSERT_EQ(unconfirmed_starts(key.state, key.now + 5 * second).size(), 1u);
  EXPECT_TRUE(unconfirmed_starts(key.state, key.now + 6 * second).empty()) << "waited for once more";
}

TEST(KeyedStarts, later_starts_do_not_put_off_what_is_not_confirmed) {
  Key key(batch);
  for (std::uint8_t number = 1; number <= 3; ++number) key.ask(number);
  const TimeUs due = key.now + 5 * second;
  for (std::uint8_t number = 4; key.now < due; ++number, key.now += second) key.ask(number);
  EXPECT_LE(next_due_at(key.state, key.now), due);
}

constexpr TimeUs year = 365 * 86'400 * second;

TEST(KeyedStarts, a_clock_that_was_a_year_ahead_for_a_moment_keeps_no_start_waiting_for_a_year) {
  Key collects(batch), begins(queue);
  for (Key* key : {&collects, &begins}) {
    key->now += year;
    key->ask(1);
    key->now -= year;
    key->turn();
  }
  EXPECT_EQ(next_due_at(collects.state, collects.now), collects.now + 10 * second);
  EXPECT_EQ(next_due_at(begins.state, begins.now), begins.now + 5 * second) << "when it is begun again";
  collects.now += 10 * second;
  collects.turn();
  EXPECT_EQ(collects.begin(), Runs{run_of(1)});
}

TEST(KeyedStarts, a_refused_start_gives_its_key_back) {
  Key key(queue);
  key.ask(1);
  key.ask(2);
  key.kept.erase(1);
  key.end(1);  // there is no such run
  const StartGroup refused = key.state.starting.front();
  EXPECT_TRUE(confirm_start(key.state, key.seen(), refused));
  key.turn();
  EXPECT_EQ(key.begin(), Runs{run_of(2)});
}

TEST(KeyedStarts, a_start_is_confirmed_once) {
  Key key(batch);
  for (std::uint8_t number = 1; number <= 3; ++number) key.ask(number);
  const StartGroup begun = key.state.starting.front();
  StartGroup others = begun;
  others.last = 2;
  EXPECT_FALSE(confirm_start(key.state, key.seen(), others));
  EXPECT_TRUE(confirm_start(key.state, key.seen(), begun));
  EXPECT_TRUE(is_idle(key.state)) << "so that numbers begin again";
  EXPECT_FALSE(confirm_start(key.state, key.seen(), begun)) << "its numbers may be those of later starts";
}

TEST(KeyedStarts, a_refusal_does_not_free_the_key_of_a_run_that_is_open) {
  Key key(skip);
  key.ask(1);
  const StartGroup refused = key.state.starting.front();
  EXPECT_TRUE(confirm_start(key.state, key.seen(), refused)) << "and another process has begun it";
  EXPECT_EQ(key.ask(2).standing, StartStanding::skipped);
}

TEST(KeyedStarts, another_rule_lets_begin_what_an_earlier_one_collected) {
  Key key(batch);
  key.ask(1);
  key.policy = skip;
  EXPECT_EQ(key.ask(2).standing, StartStanding::started);
  EXPECT_EQ(key.begin(), (Runs{run_of(1), run_of(2)}));
  key.policy = queue;
  EXPECT_EQ(key.ask(3).standing, StartStanding::waits);
  key.policy = debounce;
  key.ask(4);
  key.end(2);
  key.turn();
  EXPECT_EQ(key.begin(), Runs{run_of(3)}) << "in its turn";
}

TEST(KeyedStarts, a_key_is_taken_for_a_run_that_others_begin) {
  Key key(skip);
  key.ask(1);
  key.begin();
  EXPECT_FALSE(take_key(key.state, key.seen(), run_of(9)));
  key.end(1);
  EXPECT_TRUE(take_key(key.state, key.seen(), run_of(9)));
  key.end(9);
  EXPECT_EQ(key.ask(2).standing, StartStanding::skipped) << "it may be reopened at this moment";
  EXPECT_TRUE(unconfirmed_starts(key.state, key.now + 59 * second).empty());
  release_key(key.state, key.seen(), run_of(9));
  EXPECT_EQ(key.ask(3).standing, StartStanding::started);
}

TEST(KeyedStarts, a_key_that_two_have_taken_for_a_run_is_free_when_both_have_released_it_and_the_run_has_ended) {
  for (const bool is_reopened_first : {true, false}) {
    Key key(skip);
    key.ask(1);
    key.begin();
    key.end(1);
    EXPECT_TRUE(take_key(key.state, key.seen(), run_of(1)));
    EXPECT_TRUE(take_key(key.state, key.seen(), run_of(1)));
    if (is_reopened_first) key.ended.clear();
    release_key(key.state, key.seen(), run_of(1));
    EXPECT_EQ(key.ask(2).standing, StartStanding::skipped) << "the other is about to reopen it, or has";
    key.ended.clear();
    release_key(key.state, key.seen(), run_of(1));
    EXPECT_TRUE(key.state.starting.empty());
    EXPECT_EQ(key.ask(3).standing, StartStanding::skipped) << "it is open";
    key.end(1);
    EXPECT_EQ(key.ask(4).standing, StartStanding::started);
  }
}

TEST(KeyedStarts, a_key_that_a_dead_process_took_is_not_freed_once_another_has_taken_it) {
  Key key(skip);
  key.end(1);
  take_key(key.state, key.seen(), run_of(1));
  key.now += 60 * second;
  const std::vector<StartGroup> late = unconfirmed_starts(key.state, key.now);
  ASSERT_EQ(late.size(), 1u);
  key.now += 1 * second;
  take_key(key.state, key.seen(), run_of(1));
  EXPECT_FALSE(confirm_start(key.state, key.seen(), late.front()));
  EXPECT_EQ(key.ask(2).standing, StartStanding::skipped);
  key.now += 60 * second;
  const std::vector<StartGroup> later = unconfirmed_starts(key.state, key.now);
  ASSERT_EQ(later.size(), 1u);
  EXPECT_TRUE(confirm_start(key.state, key.seen(), later.front()));
  EXPECT_TRUE(is_idle(key.state));
}

TEST(KeyedStarts, a_run_that_is_reopened_before_its_start_is_confirmed_keeps_both) {
  Key key(skip);
  key.ask(1);
  const StartGroup begun = key.state.starting.front();
  key.end(1);
  EXPECT_TRUE(take_key(key.state, key.seen(), run_of(1)));
  EXPECT_TRUE(confirm_start(key.state, key.seen(), begun));
  EXPECT_EQ(key.ask(2).standing, StartStanding::skipped) << "it is about to be reopened";
  release_key(key.state, key.seen(), run_of(1));
  EXPECT_TRUE(is_idle(key.state));
}

TEST(KeyedStarts, a_start_that_waits_can_be_given_up) {
  Key key(queue);
  key.ask(1);
  key.begin();
  key.ask(2);
  key.ask(3);
  withdraw_start(key.state, run_of(2));
  key.kept.erase(2);
  key.end(1);
  key.turn();
  EXPECT_EQ(key.begin(), Runs{run_of(3)});
  Key collecting(debounce);
  collecting.ask(1);
  withdraw_start(collecting.state, run_of(1));
  EXPECT_TRUE(is_idle(collecting.state));
}

TEST(KeyedStarts, starts_that_were_removed_by_hand_hold_nobody_up) {
  for (const StartPolicy& policy : {skip, queue, cancel}) {
    Key key(queue);
    key.ask(1);
    key.begin();
    key.ask(2);
    key.kept.clear();
    key.end(1);
    key.policy = policy;
    EXPECT_EQ(key.ask(3).standing, StartStanding::started);
    key.begin();
    key.end(3);
    key.turn();
    EXPECT_TRUE(is_idle(key.state));
  }
}

TEST(KeyedStarts, the_longer_a_run_has_its_key_the_less_often_it_is_looked_at) {
  Key key(queue);
  key.ask(1);
  key.begin();
  key.ask(2);
  EXPECT_EQ(next_due_at(key.state, key.now), key.now + second / 4);
  EXPECT_EQ(next_due_at(key.state, key.now + 20 * second), key.now + 22 * second);
  EXPECT_EQ(next_due_at(key.state, key.now + 3'600 * second), key.now + 3'605 * second);
}

TEST(KeyedStarts, are_read_back_as_they_were) {
  Key key(cancel);
  key.ask(1);
  key.ask(2);
  EXPECT_EQ(read_keyed_starts(keyed_starts_json(key.state)), key.state);
  EXPECT_FALSE(keyed_starts_json(key.state)["group"].contains("is_named")) << "as rows of earlier versions";
  key.ask(3, true);
  EXPECT_TRUE(key.state.group->is_named);
  EXPECT_EQ(read_keyed_starts(keyed_starts_json(key.state)), key.state);
  Key other(queue);
  other.ask(1);
  other.begin();
  other.ask(2);
  EXPECT_EQ(read_keyed_starts(keyed_starts_json(other.state)), other.state);
}

// Starts, ends and looks in any order: each start that was taken is in one run that begins, and never do two runs of a
// singleton have the key at once.
TEST(KeyedStarts, random_histories_lose_nothing_and_begin_nothing_twice) {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const StartPolicy policy = std::array{skip, queue, debounce, batch, cancel}[seed % 5];
    Key key(policy);
    std::set<RunId> open, begun;
    std::int64_t taken = 0, dropped = 0;
    const auto begin = [&] {
      for (const RunId& run : key.begin()) {
        EXPECT_TRUE(begun.insert(run).second) << seed;
        open.insert(run);
      }
      EXPECT_TRUE(policy.singleton() == nullptr || open.size() <= 1) << seed;
    };
    for (std::uint8_t number = 1; number < 100; ++number) {
      key.now += random() % (2 * second);
      if (random() % 2 == 0) {
        const StartDecision decision = key.ask(number);
        taken += decision.standing != StartStanding::skipped ? 1 : 0;
        dropped += decision.drops ? 1 : 0;
      }
      key.turn();
      if (random() % 3 == 0) begin();
      if (!open.empty() && random() % 3 == 0) {
        key.ended.insert(*open.begin());
        open.erase(open.begin());
      }
    }
    for (int round = 0; round < 200 && !is_idle(key.state); ++round) {
      key.now += 10 * second;
      key.turn();
      begin();
      for (const RunId& run : std::exchange(open, {})) key.ended.insert(run);
    }
    EXPECT_TRUE(is_idle(key.state)) << seed;
    EXPECT_TRUE(key.kept.empty()) << seed;
    std::int64_t stood_for = 0;
    for (const auto& [run, starts] : key.inputs) stood_for += starts;
    EXPECT_EQ(stood_for, taken - dropped) << seed;
  }
}

}  // namespace
}  // namespace cairn
