// The steps in flight of a session: effects, reports, deadlines, and room for large values.
#include "workers/session/steps_in_flight.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "storage/commit_rules.hpp"
#include "storage/memory/memory_store.hpp"
#include "tests/workers/session/times.hpp"
#include "tests/workers/small_graphs.hpp"
#include "workers/runs/trace_ids.hpp"
#include "workers/session/sweeping.hpp"

namespace cairn {
namespace {

using namespace test;

class StepsInFlightTest : public ::testing::Test {
 protected:
  StepsInFlightTest()
      : store_(make_memory_store(1, [] { return noon; })),
        catalogue_(small_catalogue()),
        client_(client_with_graphs(*store_, *catalogue_)),
        ports_(*catalogue_->model, *catalogue_->tools),
        executor_(catalogue_->handlers, ports_, 5),
        steps_(executor_, {.session = 5, .shards = 1, .default_timeout_ms = 1'000}, outside_) {
    steps_.tick(noon, noon);
  }
  // A step of a run of this graph, executed as far as that goes without its driver.
  StepsInFlight::Actions begin(const std::string& graph) {
    StartRun command;
    command.graph = graph;
    command.input = {{"text", "x"}};
    const RunId run = client_->start(std::move(command), "")->run;
    HeldJob held{run, store_->jobs().of(run).at(0).job, 5, 1, never_us, 1};
    steps_.begin(1, std::move(held));
    const RunState state = *client_->state(run);
    steps_.execute(1, &state, client_->graphs());
    return drain_actions();
  }
  void begin_what_may_not_be_lost() {
    Json graph = small_graph("linear");
    graph["name"] = "once";
    for (Json& node : graph["nodes"])
      if (node.contains("do")) node["retry"] = {{"lost", 0}};
    ASSERT_TRUE(client_->add_graph(graph));
    (void)begin("once");
  }
  StepsInFlight::Actions drain_actions() {
    StepsInFlight::Actions drained;
    steps_.drain_actions(drained);
    return drained;
  }

  std::unique_ptr<Store> store_;
  std::unique_ptr<Catalogue> catalogue_;
  std::unique_ptr<Client> client_;
  Ports ports_;
  Executor executor_;
  SessionActions outside_;
  StepsInFlight steps_;
};

TEST_F(StepsInFlightTest, an_effect_runs_and_its_result_is_reported_once) {
  (void)begin("linear");
  ASSERT_EQ(outside_.effects.size(), 1u);
  steps_.ended(1, Outcome{"ok", Json::object(), {}});
  EXPECT_EQ(drain_actions().reports.size(), 1u);
  steps_.ended(1, Outcome{"ok", Json::object(), {}});
  EXPECT_TRUE(drain_actions().reports.empty());
  steps_.committed(1);
  EXPECT_EQ(steps_.job(1), nullptr);
  EXPECT_EQ(steps_.begun(), 1);
}

TEST_F(StepsInFlightTest, A10_a_step_that_may_not_be_lost_begins_once_its_session_s_row_says_so) {
  begin_what_may_not_be_lost();
  EXPECT_TRUE(outside_.effects.empty());
  const HeldJob& held = *steps_.job(1);
  ASSERT_EQ(outside_.calls.size(), 1u);
  SetBegun call = std::get<SetBegun>(outside_.calls[0]);
  call.answer = {HoldStanding::held};
  EXPECT_EQ(call.attempts, std::vector<std::string>{attempt_text(held)});
  EXPECT_EQ(call.slots, std::vector<Ticket>{1});
  const RunState state = *client_->state(held.run);
  steps_.begun_set(call);
  steps_.execute(1, &state, client_->graphs());
  EXPECT_EQ(outside_.effects.size(), 1u);
  EXPECT_EQ(steps_.said_begun(), call.attempts);
  steps_.ended(1, Outcome{"ok", Json::object(), {}});
  steps_.committed(1);
  EXPECT_TRUE(steps_.said_begun().empty());
}

// Its session stood still, was taken for dead, and the step was offered again as one that had not begun.
TEST_F(StepsInFlightTest, A10_a_step_that_may_not_be_lost_does_not_begin_once_its_hold_is_gone) {
  for (const HoldStanding standing : {HoldStanding::lost, HoldStanding::gone}) {
    outside_.calls.clear();
    begin_what_may_not_be_lost();
    SetBegun call = std::get<SetBegun>(outside_.calls.at(0));
    call.answer = {standing};
    steps_.begun_set(call);
    EXPECT_EQ(steps_.job(1), nullptr);
    EXPECT_EQ(drain_actions().ended.at(0).how, StepsInFlight::Ended::How::done) << "there is nothing to give back";
    EXPECT_TRUE(outside_.effects.empty());
    EXPECT_EQ(steps_.begun(), 0) << "that is no attempt";
  }
}

// The row was written, but the node of the job does not have it yet.
TEST_F(StepsInFlightTest, A10_a_step_that_may_not_be_lost_is_given_back_when_its_row_does_not_say_so_yet) {
  begin_what_may_not_be_lost();
  SetBegun call = std::get<SetBegun>(outside_.calls.at(0));
  call.answer = {HoldStanding::unsaid};
  steps_.begun_set(call);
  const StepsInFlight::Actions actions = drain_actions();
  EXPECT_EQ(actions.ended.at(0).how, StepsInFlight::Ended::How::given_back);
  EXPECT_TRUE(outside_.effects.empty());
  EXPECT_EQ(steps_.begun(), 0) << "that is no attempt";
}

TEST_F(StepsInFlightTest, A10_a_step_that_may_not_be_lost_is_given_back_when_no_row_can_say_so) {
  begin_what_may_not_be_lost();
  steps_.begun_not_set(std::get<SetBegun>(outside_.calls.at(0)));
  EXPECT_EQ(drain_actions().ended.at(0).how, StepsInFlight::Ended::How::given_back);
  EXPECT_TRUE(outside_.effects.empty());
}

// A worker that must end gave it back, and another one executed it again.
TEST_F(StepsInFlightTest, A10_a_step_that_may_not_be_lost_and_runs_when_its_worker_must_end_is_lost) {
  begin_what_may_not_be_lost();
  SetBegun call = std::get<SetBegun>(outside_.calls.at(0));
  call.answer = {HoldStanding::held};
  const RunState state = *client_->state(steps_.job(1)->run);
  steps_.begun_set(call);
  steps_.execute(1, &state, client_->graphs());
  ASSERT_EQ(outside_.effects.size(), 1u);
  steps_.stop_running();
  const StepsInFlight::Actions actions = drain_actions();
  EXPECT_TRUE(actions.ended.empty()) << "it is not given back";
  ASSERT_EQ(actions.reports.size(), 1u);
  const FailStep& lost = std::get<FailStep>(actions.reports[0].command);
  EXPECT_EQ(lost.failure.error, lost_error);
  EXPECT_TRUE(lost.begun);
  EXPECT_EQ(outside_.cancelled, std::vector<Ticket>{1});
}

TEST_F(StepsInFlightTest, past_its_deadline_an_effect_is_cancelled_and_its_attempt_fails) {
  (void)begin("linear");
  EXPECT_EQ(steps_.due_us(), noon + second);
  steps_.tick(noon + second, noon + second);
  steps_.expire();
  const StepsInFlight::Actions actions = drain_actions();
  EXPECT_EQ(outside_.cancelled, std::vector<Ticket>{1});
  ASSERT_EQ(actions.reports.size(), 1u);
  EXPECT_EQ(std::get<FailStep>(actions.reports[0].command).failure.error, "timeout");
  EXPECT_FALSE(steps_.has_deadlines());
}

TEST_F(StepsInFlightTest, a_step_whose_handler_is_not_here_is_left_to_others) {
  const StepsInFlight::Actions actions = begin("lacking");
  ASSERT_EQ(actions.ended.size(), 1u);
  EXPECT_EQ(actions.ended[0].how, StepsInFlight::Ended::How::left_to_others);
  EXPECT_EQ(steps_.begun(), 0) << "that is no attempt";
}

// D5: "Too many open files" was a failed attempt, and three of them passed in a second.
TEST_F(StepsInFlightTest,
       D5_a_step_that_this_process_has_no_means_for_is_given_back_unattempted_and_told_once_a_second) {
  for (int step = 0; step < 3; ++step) {
    (void)begin("linear");
    steps_.fell_short(1, "Expected to start \"sh\": Too many open files");
    const StepsInFlight::Actions actions = drain_actions();
    EXPECT_TRUE(actions.reports.empty());
    ASSERT_EQ(actions.ended.size(), 1u);
    EXPECT_EQ(actions.ended[0].how, StepsInFlight::Ended::How::fell_short);
    EXPECT_EQ(actions.ended[0].run_at_us, noon + second);
    EXPECT_EQ(steps_.begun(), 0);
    EXPECT_FALSE(steps_.has_deadlines());
  }
  EXPECT_TRUE(outside_.cancelled.empty());
  ASSERT_EQ(outside_.notes.size(), 1u);
  EXPECT_EQ(outside_.notes[0].level, Note::Level::warning);
  EXPECT_NE(outside_.notes[0].text.find("Too many open files. Step 1 of run"), std::string::npos);
  steps_.tick(noon + second, noon + second);
  (void)begin("linear");
  steps_.fell_short(1, "Expected to start \"sh\": Too many open files");
  ASSERT_EQ(outside_.notes.size(), 2u);
  EXPECT_NE(outside_.notes[1].text.find("as 2 others were"), std::string::npos) << outside_.notes[1].text;
}

TEST_F(StepsInFlightTest, a_stale_report_ends_its_step_and_an_unfit_one_fails_the_attempt_once) {
  (void)begin("linear");
  steps_.ended(1, Outcome{"ok", Json::object(), {}});
  (void)drain_actions();
  steps_.refused(1, {Code::corrupt, "it does not fit"}, nullptr);
  EXPECT_EQ(drain_actions().reports.size(), 1u);
  steps_.refused(1, {Code::corrupt, "nor does this"}, nullptr);
  EXPECT_EQ(drain_actions().ended.at(0).how, StepsInFlight::Ended::How::run_left_to_others);

  (void)begin("linear");
  steps_.ended(1, Outcome{"ok", Json::object(), {}});
  (void)drain_actions();
  steps_.refused(1, {Code::stale, "too late"}, nullptr);
  EXPECT_EQ(drain_actions().ended.at(0).how, StepsInFlight::Ended::How::done);
  EXPECT_EQ(steps_.late(), 1);
}

// Found by the simulator: a run that was ending got another limit while its timer was held.
TEST_F(StepsInFlightTest, a_timer_that_is_refused_is_offered_no_earlier_than_the_state_wants_it) {
  Json graph = small_graph("linear");
  graph["name"] = "limited";
  graph["limits"]["ms"] = 60'000;
  ASSERT_TRUE(client_->add_graph(graph));
  StartRun command;
  command.graph = "limited";
  command.input = {{"text", "x"}};
  const RunId run = client_->start(std::move(command), "")->run;
  const std::vector<HeldJob> jobs = store_->jobs().of(run);
  const auto timer = std::find_if(jobs.begin(), jobs.end(), [](const HeldJob& one) { return one.job.step == 0; });
  ASSERT_NE(timer, jobs.end());
  HeldJob held{run, timer->job, 5, 1, never_us, 1};
  held.job.run_at_us = noon;
  steps_.begin(1, held);
  const RunState state = *client_->state(run);
  steps_.refused(1, {Code::invalid, "too early"}, &state);
  const StepsInFlight::Actions actions = drain_actions();
  ASSERT_EQ(actions.ended.size(), 1u);
  EXPECT_EQ(actions.ended[0].how, StepsInFlight::Ended::How::given_back);
  EXPECT_EQ(actions.ended[0].run_at_us, noon + 60 * second);
}

// It was given back and begun again, without end and without using up an attempt.
TEST_F(StepsInFlightTest, H24_a_report_that_there_was_no_memory_for_fails_the_attempt) {
  (void)begin("linear");
  steps_.ended(1, Outcome{"ok", Json::object(), {}});
  (void)drain_actions();
  steps_.refused(1, {Code::limit, "the memory is used up"}, nullptr);
  const StepsInFlight::Actions actions = drain_actions();
  ASSERT_EQ(actions.reports.size(), 1u);
  EXPECT_EQ(std::get<FailStep>(actions.reports[0].command).failure.error, "limit");
  steps_.refused(1, {Code::limit, "the memory is used up"}, nullptr);
  EXPECT_EQ(drain_actions().ended.at(0).how, StepsInFlight::Ended::How::run_left_to_others);
}

TEST_F(StepsInFlightTest, A19_a_run_of_another_release_is_left_to_others_and_a_corrupt_one_stops) {
  (void)begin("linear");
  steps_.cannot_be_read(1, {Code::unsupported, "an event of version 9"});
  StepsInFlight::Ended ended = drain_actions().ended.at(0);
  EXPECT_EQ(ended.how, StepsInFlight::Ended::How::run_left_to_others);
  (void)begin("linear");
  steps_.cannot_be_read(1, {Code::corrupt, "it cannot follow"});
  ended = drain_actions().ended.at(0);
  EXPECT_EQ(ended.how, StepsInFlight::Ended::How::left_to_others);
  EXPECT_EQ(ended.run_at_us, never_us);
  EXPECT_NE(outside_.notes.back().text.find("stops"), std::string::npos);
}

TEST_F(StepsInFlightTest, a_line_names_the_trace_once_the_tags_are_known_that_may_name_it) {
  StartRun command;
  command.graph = "linear";
  command.tags = {{traceparent_tag, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}};
  const RunId run = client_->start(std::move(command), "")->run;
  steps_.begin(1, {run, store_->jobs().of(run).at(0).job, 5, 1, never_us, 1});
  steps_.cannot_be_read(1, {Code::corrupt, "it cannot follow"});
  EXPECT_FALSE(outside_.notes.back().fields.contains("trace")) << outside_.notes.back().fields;
  const RunState state = *client_->state(run);
  Sweeping::TakenOver taken{run, {}, 1, "its worker died"};
  taken.fence.session = 7;
  taken.fence.step = 1;
  const Json known = {{"run", to_string(run)},
                      {"step", 1},
                      {"attempt", 1},
                      {"worker", 7},
                      {"graph", "linear"},
                      {"node", "a"},
                      {"trace", "4bf92f3577b34da6a3ce929d0e0e4736"}};
  EXPECT_EQ(fields_of(taken, &state), known);
  EXPECT_EQ(fields_of(taken, nullptr), (Json{{"run", to_string(run)}, {"step", 1}, {"attempt", 1}, {"worker", 7}}));
}

TEST_F(StepsInFlightTest, F10_a_slow_step_is_a_line_with_run_step_node_and_attempt) {
  (void)begin("linear");
  const HeldJob held = *steps_.job(1);
  steps_.tick(noon + 10 * second, noon + 10 * second);
  steps_.ended(1, Outcome{"ok", Json::object(), {}});
  ASSERT_EQ(outside_.notes.size(), 1u);
  EXPECT_EQ(outside_.notes[0].level, Note::Level::info);
  EXPECT_EQ(outside_.notes[0].text, "A step was slow.");
  const Json fields = {
      {"run", to_string(held.run)},      {"graph", "linear"}, {"node", "a"}, {"step", 1}, {"attempt", 1}, {"worker", 5},
      {"trace", trace_id(held.run, {})}, {"took_ms", 10'000}};
  EXPECT_EQ(outside_.notes[0].fields, fields);
}

// A9: values were expanded for every step that was held.
class RoomForValues : public StepsInFlightTest {
 protected:
  // Each reads 160 KB of text, by two references, for which there is room once.
  RoomForValues() : room_(executor_, {5, 1, 60'000, 2'000'000}, outside_) { room_.tick(noon, noon); }
  void begin_large(Ticket slot) {
    StartRun command;
    command.graph = "linear";
    command.input = {{"text", std::string(80'000, 'x')}};
    const RunId run = client_->start(std::move(command), "")->run;
    room_.begin(slot, HeldJob{run, store_->jobs().of(run).at(0).job, 5, 1, never_us, 1});
    const RunState state = *client_->state(run);
    room_.execute(slot, &state, client_->graphs());
  }
  StepsInFlight::Actions drain() {
    StepsInFlight::Actions drained;
    room_.drain_actions(drained);
    return drained;
  }
  // The slots whose values are read since the last time.
  std::vector<Ticket> reading() {
    std::vector<Ticket> slots;
    for (StoreCall& call : std::exchange(outside_.calls, {})) {
      const auto& read = std::get<ReadBlobs>(call);
      slots.push_back(read.slot);
      room_.blobs_read(read);
    }
    return slots;
  }
  void expect_given_back_when_it_waited_for_long(Ticket slot) {
    EXPECT_EQ(room_.due_us(), noon + 10 * second);
    room_.tick(noon + 10 * second, noon + 10 * second);
    expect_given_back(slot);
  }
  void expect_given_back_when_it_drains(Ticket slot) {
    room_.drain();
    expect_given_back(slot);
  }

  StepsInFlight room_;

 private:
  void expect_given_back(Ticket slot) {
    const StepsInFlight::Actions actions = drain();
    ASSERT_EQ(actions.ended.size(), 1u);
    EXPECT_EQ(actions.ended[0].slot, slot);
    EXPECT_EQ(actions.ended[0].how, StepsInFlight::Ended::How::given_back);
  }
};

TEST_F(RoomForValues, A9_steps_that_read_large_values_begin_as_there_is_room) {
  for (const Ticket slot : {1U, 2U, 3U}) begin_large(slot);
  EXPECT_EQ(reading(), std::vector<Ticket>{1});
  room_.ended(1, Outcome{"ok", Json::object(), {}});
  EXPECT_EQ(drain().reports.size(), 1u);
  EXPECT_EQ(reading(), std::vector<Ticket>{2});
  room_.stop(2);
  (void)drain();
  EXPECT_EQ(reading(), std::vector<Ticket>{3});
}

// The simulator: a read of large values took 2.3 s, and an attempt that had 300 ms failed when it began.
TEST_F(RoomForValues, the_time_of_an_attempt_is_that_of_its_effect_and_not_of_a_slow_store) {
  begin_large(1);
  room_.tick(noon + 3 * second, noon + 3 * second);
  EXPECT_EQ(reading(), std::vector<Ticket>{1});
  EXPECT_EQ(room_.due_us(), noon + 63 * second);
  room_.tick(noon + 63 * second, noon + 63 * second);
  room_.expire();
  const StepsInFlight::Actions actions = drain();
  ASSERT_EQ(actions.reports.size(), 1u);
  EXPECT_EQ(std::get<FailStep>(actions.reports[0].command).failure.message, "Expected an outcome within 60000 ms.");
}

// Past the deadline of its hold others may take it: the effect ends before.
TEST_F(RoomForValues, the_time_of_an_attempt_ends_before_the_deadline_of_its_hold) {
  begin_large(1);
  room_.tick(noon + 30 * second, noon + 30 * second);
  EXPECT_EQ(reading(), std::vector<Ticket>{1});
  EXPECT_EQ(room_.due_us(), noon + 64 * second) << "a minute and less than the grace of the hold";
}

TEST_F(RoomForValues, A9_a_step_that_finds_no_room_for_long_is_given_back_and_so_are_all_when_the_session_drains) {
  for (const Ticket slot : {1U, 2U}) begin_large(slot);
  EXPECT_EQ(reading(), std::vector<Ticket>{1});
  expect_given_back_when_it_waited_for_long(2);
  begin_large(3);
  expect_given_back_when_it_drains(3);
}

// One that had lost its hold was taken off the attempts, though it was not given back.
TEST_F(RoomForValues, a_step_whose_hold_is_lost_while_it_waits_counts_the_same_however_long_it_waited) {
  for (const Ticket slot : {1U, 2U, 3U}) begin_large(slot);
  EXPECT_EQ(room_.begun(), 3);
  room_.stop(2);
  room_.tick(noon + 9 * second, noon + 9 * second);
  (void)drain();
  EXPECT_EQ(room_.begun(), 3);
  room_.stop(3);
  room_.tick(noon + 10 * second, noon + 10 * second);
  EXPECT_TRUE(drain().ended.size() == 1) << "it is done, and not given back";
  EXPECT_EQ(room_.begun(), 3);
}

// Each composes 1.5 MB of one text of 30 KB, which is no large value, for which there is room once.
class RoomForInlineValues : public RoomForValues {
 protected:
  void SetUp() override {
    Json all = Json::array();
    for (int n = 0; n < 50; ++n) all.push_back({{"$", "text"}});
    const Json graph = {
        {"name", "many"},
        {"start", "a"},
        {"limits", {{"steps", 9}}},
        {"nodes",
         {{"a", {{"do", "t.ok"}, {"with", {{"all", all}}}, {"on", {{"ok", "z"}}}}}, {"z", {{"end", "done"}}}}}};
    ASSERT_TRUE(client_->add_graph(graph));
  }
  void begin(Ticket slot) {
    StartRun command;
    command.graph = "many";
    command.input = {{"text", std::string(30'000, 'x')}};
    const RunId run = client_->start(std::move(command), "")->run;
    room_.begin(slot, HeldJob{run, store_->jobs().of(run).at(0).job, 5, 1, never_us, 1});
    execute(slot);
  }
  void execute(Ticket slot) {
    const RunState state = *client_->state(room_.job(slot)->run);
    room_.execute(slot, &state, client_->graphs());
  }
  // The slots that run since the last time, once those that now have room were given their states.
  std::vector<Ticket> running() {
    const std::vector<Ticket> with_room = drain().with_room;
    for (const Ticket slot : with_room) execute(slot);
    std::vector<Ticket> slots;
    for (const auto& effect : std::exchange(outside_.effects, {})) slots.push_back(effect.slot);
    return slots;
  }
};

// 256 steps of 32 MB took 8 GB.
TEST_F(RoomForInlineValues, A9_steps_whose_references_compose_much_begin_as_there_is_room) {
  for (const Ticket slot : {1U, 2U, 3U}) begin(slot);
  EXPECT_EQ(running(), std::vector<Ticket>{1});
  EXPECT_EQ(running(), std::vector<Ticket>{});
  EXPECT_EQ(room_.begun(), 1);
  room_.ended(1, Outcome{"ok", Json::object(), {}});
  EXPECT_EQ(running(), std::vector<Ticket>{2});
  room_.stop(2);
  EXPECT_EQ(running(), std::vector<Ticket>{3});
  begin_large(4);
  EXPECT_TRUE(outside_.calls.empty()) << "the room is the same";
  room_.stop(3);
  (void)drain();
  EXPECT_EQ(reading(), std::vector<Ticket>{4});
  EXPECT_EQ(running(), std::vector<Ticket>{4});
  begin(5);
  EXPECT_EQ(running(), std::vector<Ticket>{});
  room_.stop(4);
  EXPECT_EQ(running(), std::vector<Ticket>{5});
}

TEST_F(RoomForInlineValues, A9_one_that_finds_no_room_for_long_is_given_back_and_so_are_all_when_the_session_drains) {
  for (const Ticket slot : {1U, 2U}) begin(slot);
  EXPECT_EQ(running(), std::vector<Ticket>{1});
  expect_given_back_when_it_waited_for_long(2);
  begin(3);
  expect_given_back_when_it_drains(3);
  EXPECT_EQ(room_.begun(), 1);
}

TEST_F(StepsInFlightTest, draining_executes_nothing_and_stops_what_runs) {
  (void)begin("linear");
  steps_.drain();
  steps_.stop_running();
  const StepsInFlight::Actions actions = drain_actions();
  EXPECT_EQ(outside_.cancelled, std::vector<Ticket>{1});
  EXPECT_EQ(actions.ended.at(0).how, StepsInFlight::Ended::How::given_back);
  EXPECT_EQ(begin("linear").ended.at(0).how, StepsInFlight::Ended::How::given_back);
}

}  // namespace
}  // namespace cairn
