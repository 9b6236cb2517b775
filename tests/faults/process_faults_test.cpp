// Worker processes that die, sleep, or have very much to do at once, and tools that misbehave.
#include <csignal>
#include <gtest/gtest.h>
#include <thread>

#include "tests/faults/commands.hpp"
#include "tests/faults/load.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn::program {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

int times(int in_short) { return is_full() ? 3 * in_short : in_short; }

TEST(Faults, workers_killed_one_after_another) {
  Load load({.name = "killed"});
  load.start_plans(6);
  load.measure_before();
  std::size_t kills = 0;
  load.under(times(8), milliseconds(300), [&] { load.replace_worker(kills++); });
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("SIGKILL of a worker", times(8));
}

// How many reports came too late.
std::int64_t sleep_past_the_time_to_live(const std::string& name) {
  Load load(
      {.name = name, .work_ms = 500, .batch = 90, .batch_after = 80});  // long enough to be stopped in the midst of it
  load.start_plans(12);
  load.measure_before();
  load.strike({0, 1}, [&] {
    load.worker(0).signal(SIGSTOP);
    load.worker(1).signal(SIGSTOP);
    load.start_plans(6);
    load.wait_until_ended();  // by the third, which takes over what they hold
  });
  load.worker(0).signal(SIGCONT);
  load.worker(1).signal(SIGCONT);
  load.measure_after();
  load.start_plans(2);
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("SIGSTOP past the time-to-live, then SIGCONT", 2);
  return load.stale();
}

// A worker that wakes may notice its own end before it reports; then the fence was not tried, and another one sleeps.
TEST(Faults, a_worker_that_sleeps_past_its_time_to_live_is_fenced) {
  std::int64_t late = 0;
  for (int tries = 0; tries < 5 && late == 0; ++tries)
    late = sleep_past_the_time_to_live("asleep" + std::to_string(tries));
  EXPECT_GT(late, 0) << "no worker reported late: the fence was not tried";
}

TEST(Faults, tools_that_misbehave_harm_no_run_beside_them) {
  Load load({.name = "poison"});
  load.start_plans(6);
  load.measure_before();
  int injected = 0;
  for (const char* how : {"crash", "not_utf8", "deep", "large", "endless", "memory", "hang"}) {
    load.start_poison(how);
    load.start_plan();
    ++injected;
  }
  load.wait_until_ended();
  load.fault_ended();
  load.start_plan();
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("tools that crash, hang, flood or answer nonsense", injected);
}

// A worker dies with it at each attempt; then it has used up its losses.
TEST(Faults, a_tool_that_kills_its_worker_ends_and_harms_no_run_beside_it) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  Load load({.name = "murder"});
  load.start_plans(3);
  load.measure_before();
  load.start_poison("kill_worker");
  std::size_t replaced = 0;
  const auto replace_the_dead = [&] {
    load.kill_as_wished();
    for (std::size_t n = 0; n < load.workers(); ++n)
      if (load.worker(n).has_ended()) {
        load.replace_worker(n);
        ++replaced;
      }
    return load.have_ended();
  };
  EXPECT_TRUE(test::wait_until(replace_the_dead, std::chrono::seconds(300)));  // seven losses, up to a minute apart
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("a tool that kills its worker", static_cast<int>(replaced));
}

TEST(Faults, starts_given_again_and_again_make_one_run) {
  Load load({.name = "again"});
  load.measure_before();
  for (int n = 0; n < 4; ++n) {
    load.start_again(3);
    load.fault_ended();
  }
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("each start given three times", 12);
}

// In full, the others' steps come as fast as without it.
TEST(Faults, a_tool_that_takes_all_memory_slows_no_step_beside_it) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  Load load({.name = "memory"});
  load.start_plans(6);
  const double alone = load.step_p99_ms(seconds(15), [] {});
  int injected = 0;
  const double beside = load.step_p99_ms(seconds(15), [&] {
    if (++injected % 2 == 0) load.start_poison("memory");
    load.fault_ended();
  });
  EXPECT_LE(beside, 2 * alone);
  load.measure_before();
  for (int n = 0; n < 10; ++n) load.start_poison("memory");
  load.measure_after();
  load.wait_until_ended();
  const auto ms = [](double value) { return std::to_string(static_cast<int>(value)); };
  load.expect_nothing_lost_or_doubled("a tool that takes all memory (the others' steps, 99 of 100: after " + ms(alone) +
                                          " ms without it, " + ms(beside) + " ms with it)",
                                      injected / 2 + 10);
}

// Each fires once, and none before its time.
TEST(Faults, very_many_timers_at_once) {
  if (!is_full()) GTEST_SKIP() << left_to_full;
  constexpr int timers = 20'000;
  Load load({.name = "timers"});
  const std::string graph = R"({"name": "timers", "start": "sleep", "limits": {"steps": 5}, "nodes": {
    "sleep": {"wait": {"until": "$at"}, "on": {"fired": "finish"}}, "finish": {"end": "done"}}})";
  cairn_ok(load.with_dsn({"graph", "add", write_file("timers_graph.json", graph)}));
  load.start_plans(6);
  load.measure_before();
  const std::string dsn = load.database();
  const std::string at(test::ask(dsn, R"(select to_char(clock_timestamp() at time zone 'utc' + interval '12 s',
                                         'YYYY-MM-DD"T"HH24:MI:SS"Z"'))")
                           .text(0, 0));
  std::string inputs;
  for (int n = 0; n < timers; ++n) inputs += Json{{"at", at}, {"n", n}}.dump() + "\n";
  load.measure_during([&] {
    cairn_ok(load.with_dsn({"batch", "timers", "--inputs", write_file("timers.jsonl", inputs), "--no-work", "--json"}));
    const std::string done = "select count(*) from cairn.run where graph = 'timers' and status = 'done'";
    EXPECT_TRUE(wait_until([&] { return test::ask_number(dsn, done) == timers; }, seconds(120)));
  });
  load.fault_ended();
  const std::string fired = "from cairn.events where type = 'timer_fired'";
  EXPECT_EQ(test::ask_number(dsn, "select count(*) " + fired), timers);
  EXPECT_EQ(test::ask_number(dsn, "select count(distinct run_id) " + fired), timers);
  EXPECT_EQ(test::ask_number(dsn, "select count(*) " + fired + " and at < '" + at + "'"), 0) << "early";
  load.note_acknowledged(timers);
  load.measure_after();
  load.wait_until_ended();
  load.expect_nothing_lost_or_doubled("20,000 timers that are due at the same moment", timers);
}

TEST(Faults, random_commands_while_workers_die) {
  Load load({.name = "commanded"});
  load.start_plans(6);
  load.measure_before();
  Commands commands(load, fault_seed());
  for (int n = 0; n < (is_full() ? 40 : 8); ++n) commands.start();
  const int given = is_full() ? 180 : 40;
  for (int n = 0; n < given; ++n) {
    commands.give_one();
    if (n % 20 == 0) load.replace_worker(static_cast<std::size_t>(n / 20));
  }
  commands.finish();
  load.measure_after();
  load.wait_until_ended();
  commands.expect_kept();
  load.expect_nothing_lost_or_doubled("cancel, pause, resume, retry, signal at random while workers die", given);
}

}  // namespace
}  // namespace cairn::program
