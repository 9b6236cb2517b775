// Schedules of graphs with a start policy, and two backfills at once: over stores in memory with a clock of the test's.
#include "workers/schedules/scheduler.hpp"

#include <gtest/gtest.h>
#include <utility>

#include "storage/memory/memory_store.hpp"
#include "storage/schedules/memory_schedules.hpp"
#include "workers/catalogue.hpp"
#include "workers/schedules/schedule_desk.hpp"

namespace cairn {
namespace {

constexpr TimeUs scheduler_second_us = 1'000'000;
constexpr TimeUs scheduler_minute_us = 60 * scheduler_second_us;

class ScheduledStarts : public ::testing::Test {
 protected:
  void add_graph(const char* policy, Json of) {
    client_.load_graphs();
    const Result<GraphRef> added = client_.add_graph(
        {{"name", "waiting"},
         {"start", "w"},
         {"limits", {{"steps", 5}}},
         {policy, std::move(of)},
         {"nodes", {{"w", {{"wait", {{"signal", "go"}}}, {"on", {{"fired", "end"}}}}}, {"end", {{"end", "done"}}}}}});
    ASSERT_TRUE(added) << added.error().message;
  }
  Status add(const std::string& overlap) {
    const Result<ScheduleDefinition> definition =
        parse_schedule({{"graph", "waiting"}, {"every_ms", 60'000}, {"overlap", overlap}});
    EXPECT_TRUE(definition) << definition.error().message;
    return desk_.add("minutes", *definition, "user:ann");
  }
  RunId start_by_hand() {
    StartRun command;
    command.graph = "waiting";
    const Result<Started> started = client_.start(std::move(command), "");
    EXPECT_TRUE(started) << started.error().message;
    return started->run;
  }
  void end(const RunId& run) { EXPECT_TRUE(client_.command(run, SendSignal{"go", 1, ""})); }
  void pass_minutes(int count) {
    for (int n = 0; n < count; ++n) {
      now_us_ += scheduler_minute_us;
      client_.decide_starts(100);
      scheduler_.pass();
    }
  }
  std::vector<ScheduleNote> notes(NoteKind kind) {
    std::vector<ScheduleNote> found;
    for (const KeptNote& kept : schedules_.notes("minutes"))
      if (kept.note.kind == kind) found.push_back(kept.note);
    return found;
  }
  static std::unique_ptr<Catalogue> made() {
    Result<std::unique_ptr<Catalogue>> catalogue = make_catalogue({});
    EXPECT_TRUE(catalogue);
    return *std::move(catalogue);
  }

  TimeUs now_us_ = 1'700'000'000 * scheduler_second_us;
  std::unique_ptr<Store> store_ = make_memory_store(4, [this] { return now_us_; });
  std::unique_ptr<Catalogue> catalogue_ = made();
  Client client_{*store_, *catalogue_, "schedules"};
  MemorySchedules schedules_{[this] { return now_us_; }};
  ZoneFiles zones_;
  Scheduler scheduler_{schedules_.calls(), *store_, client_, zones_};
  ScheduleDesk desk_{schedules_.calls(), *store_, client_, zones_};
};

TEST_F(ScheduledStarts, one_that_waits_for_the_key_of_its_graph_is_open) {
  add_graph("singleton", {{"when", "queue"}});
  const RunId foreign = start_by_hand();
  ASSERT_TRUE(add("skip"));
  pass_minutes(4);
  EXPECT_EQ(notes(NoteKind::started).size(), 1u);
  EXPECT_EQ(notes(NoteKind::skipped).size(), 3u);
  EXPECT_EQ(store_->starts().count(100), 1);
  end(foreign);
  pass_minutes(1);
  const RunId own = *notes(NoteKind::started).at(0).run;
  ASSERT_TRUE(store_->run(own)) << "it has begun when its turn came";
  EXPECT_EQ(notes(NoteKind::skipped).size(), 4u);
  end(own);
  pass_minutes(2);
  EXPECT_EQ(notes(NoteKind::started).size(), 2u);
}

TEST_F(ScheduledStarts, one_that_finds_the_key_of_its_graph_taken_is_refused_and_can_be_run_later) {
  add_graph("singleton", {{"when", "skip"}});
  const RunId foreign = start_by_hand();
  ASSERT_TRUE(add("skip"));
  pass_minutes(2);
  const std::vector<ScheduleNote> refused = notes(NoteKind::refused);
  ASSERT_EQ(refused.size(), 2u);
  EXPECT_EQ(refused[0].says, "Expected no run with the key of its start, but run " + to_string(foreign) + " has it.");
  end(foreign);
  const auto filled = desk_.backfill("minutes", {*refused[0].at, *refused[0].at, Overlap::buffer_all}, "user:ann");
  ASSERT_TRUE(filled) << filled.error().message;
  ASSERT_EQ(filled->size(), 1u) << "it has no run";
  EXPECT_TRUE(store_->run(*filled->at(0).run));
}

TEST_F(ScheduledStarts, of_a_graph_of_which_several_become_one_run_are_not_scheduled) {
  add_graph("debounce", {{"quiet", "10s"}});
  const Status refused = add("skip");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::invalid);
  EXPECT_EQ(refused.error().message,
            "Expected a graph of which each start is a run, but several of waiting become one (debounce).");
}

TEST_F(ScheduledStarts, whose_input_and_tags_lack_the_key_of_the_graph_are_not_added_and_no_edit_takes_the_key_away) {
  const auto scheduled = [this](const Json& more) {
    Json fields = {{"graph", "waiting"}, {"every_ms", 60'000}};
    fields.update(more);
    const Result<ScheduleDefinition> definition = parse_schedule(fields);
    EXPECT_TRUE(definition) << definition.error().message;
    return desk_.add("minutes", *definition, "user:ann");
  };
  const auto edited = [this](const Json& fields) { return desk_.edit("minutes", {fields, {}}, "user:ann"); };
  const auto expect_lacks = [](const auto& refused, const std::string& key) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::invalid);
    EXPECT_EQ(refused.error().message, "Expected a key of 1 to 500 bytes at " + key +
                                           " of a start of graph waiting (singleton), but it has none.");
  };
  add_graph("singleton", {{"key", "/shop"}});
  expect_lacks(scheduled({{"input", {{"store", "x"}}}}), "/shop");
  EXPECT_FALSE(schedules_.row("minutes"));
  ASSERT_TRUE(scheduled({{"input", {{"shop", "x"}}}}));
  expect_lacks(edited({{"input", Json::object()}}), "/shop");
  add_graph("singleton", {{"key", "tag.shop"}});
  expect_lacks(edited({{"overlap", "buffer_one"}}), "tag.shop");
  EXPECT_TRUE(edited({{"tags", {{"shop", "x"}}}}));
  add_graph("singleton", {{"key", "tag.schedule"}});
  EXPECT_TRUE(edited({{"tags", Json::object()}})) << "a tag that each start of it has";
}

// As where a client asks again while its first request is in hand.
TEST_F(ScheduledStarts, of_two_backfills_of_the_same_times_at_once_one_starts_them) {
  add_graph("singleton", {{"key", "tag.occurrence"}});
  ASSERT_TRUE(add("skip"));
  ASSERT_TRUE(desk_.pause("minutes", "", "user:ann"));
  now_us_ += 3 * scheduler_minute_us;
  ASSERT_TRUE(desk_.resume("minutes", "user:ann"));
  const BackfillRange range{now_us_ - 3 * scheduler_minute_us, now_us_, Overlap::terminate_other};
  bool is_first = true;
  ScheduleCalls calls = schedules_.calls();
  calls.started = [&](const std::string& name, TimeUs from, TimeUs until) {
    const std::vector<TimeUs> started = schedules_.started(name, from, until);
    if (std::exchange(is_first, false)) {
      EXPECT_TRUE(desk_.backfill(name, range, "user:ann"));
    }
    return started;
  };
  ScheduleDesk slow(calls, *store_, client_, zones_);
  const auto filled = slow.backfill("minutes", range, "user:ann");
  ASSERT_TRUE(filled) << filled.error().message;
  EXPECT_TRUE(filled->empty());
  const std::vector<ScheduleNote> started = notes(NoteKind::started);
  ASSERT_EQ(started.size(), 3u);
  EXPECT_FALSE(is_ended(store_->run(*started[2].run)->status)) << "nothing takes the place of the last one";
}

}  // namespace
}  // namespace cairn
