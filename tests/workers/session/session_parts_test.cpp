// The parts of a session, each alone: its lifecycle, what it keeps, its steps in flight, its sweeping.
#include <gtest/gtest.h>

#include "storage/memory/memory_store.hpp"
#include "tests/workers/session/times.hpp"
#include "tests/workers/small_graphs.hpp"
#include "workers/runs/keep_rules.hpp"
#include "workers/runs/trace_ids.hpp"
#include "workers/session/session_lifecycle.hpp"
#include "workers/session/steps_in_flight.hpp"
#include "workers/session/sweeping.hpp"

namespace cairn {
namespace {

using namespace test;
using State = SessionLifecycle::State;

// --- lifecycle ------------------------------------------------------------------------------------------------------

TEST(SessionLifecycle, opens_again_after_pauses_that_grow) {
  SessionLifecycle life;
  life.tick(second);
  ASSERT_TRUE(life.begin_opening());
  EXPECT_FALSE(life.begin_opening()) << "it is opening";
  EXPECT_EQ(life.due_us(), never_us);
  life.open_failed();
  EXPECT_EQ(life.due_us(), second + second / 5);
  EXPECT_FALSE(life.begin_opening());
  life.tick(life.due_us());
  ASSERT_TRUE(life.begin_opening());
  life.open_failed();
  EXPECT_EQ(life.due_us(), second + second / 5 + 2 * second / 5);
}

TEST(SessionLifecycle, drains_when_idle_closes_and_ends) {
  SessionLifecycle life;
  ASSERT_TRUE(life.begin_opening());
  life.opened();
  EXPECT_EQ(life.state(), State::open);
  life.opened();
  EXPECT_EQ(life.state(), State::open) << "its row was written again";
  EXPECT_FALSE(life.begin_closing(true));
  life.drain();
  EXPECT_FALSE(life.begin_closing(false));
  ASSERT_TRUE(life.begin_closing(true));
  EXPECT_FALSE(life.is_finished());
  life.closed();
  EXPECT_TRUE(life.is_finished());
}

TEST(SessionLifecycle, one_that_drains_before_it_was_opened_ends_at_once) {
  SessionLifecycle life;
  life.drain();
  EXPECT_TRUE(life.is_finished());
  EXPECT_FALSE(life.begin_opening());
}

TEST(SessionLifecycle, one_that_drains_while_it_opens_is_closed_if_its_row_was_written) {
  SessionLifecycle yes, no;
  for (SessionLifecycle* life : {&yes, &no}) {
    ASSERT_TRUE(life->begin_opening());
    life->drain();
    EXPECT_FALSE(life->is_finished());
  }
  yes.opened();
  EXPECT_EQ(yes.state(), State::draining);
  no.open_failed();
  EXPECT_TRUE(no.is_finished());
}

TEST(SessionLifecycle, draining_has_an_end_and_so_has_waiting_for_the_store) {
  SessionLifecycle life;
  ASSERT_TRUE(life.begin_opening());
  life.opened();
  life.tick(second);
  life.drain();
  EXPECT_EQ(life.due_us(), 21 * second);
  life.tick(21 * second);
  EXPECT_TRUE(life.is_drain_over());
  EXPECT_FALSE(life.is_finished());
  life.tick(life.due_us());
  EXPECT_TRUE(life.is_finished()) << "the store does not come back";
}

TEST(SessionLifecycle, D1_draining_ends_soon_when_the_store_says_nothing) {
  SessionLifecycle life;
  ASSERT_TRUE(life.begin_opening());
  life.opened();
  life.tick(second);
  life.asked();
  life.tick(2 * second);
  life.drain();
  EXPECT_EQ(life.due_us(), 11 * second) << "ten seconds of silence";
  life.tick(11 * second);
  EXPECT_TRUE(life.is_abandoned());
  EXPECT_TRUE(life.is_finished());
}

TEST(SessionLifecycle, D1_a_store_that_answers_is_waited_for) {
  SessionLifecycle life;
  ASSERT_TRUE(life.begin_opening());
  life.opened();
  life.tick(second);
  life.asked();
  life.drain();
  life.tick(10 * second);
  life.answered(0);
  life.tick(20 * second);
  EXPECT_FALSE(life.is_finished()) << "nothing is asked any more";
  life.asked();
  life.answered(1);
  life.tick(25 * second);
  EXPECT_FALSE(life.is_abandoned()) << "another call was answered five seconds ago";
}

TEST(SessionLifecycle, D15_a_session_that_is_to_hurry_lets_go_at_once_and_waits_for_the_store_two_seconds) {
  SessionLifecycle life;
  ASSERT_TRUE(life.begin_opening());
  life.opened();
  life.tick(second);
  life.drain();
  EXPECT_FALSE(life.is_drain_over());
  life.hurry();
  EXPECT_TRUE(life.is_drain_over());
  EXPECT_EQ(life.due_us(), 3 * second);
  life.hurry();
  life.tick(3 * second);
  EXPECT_TRUE(life.is_finished());
}

// --- what stays -----------------------------------------------------------------------------------------------------

Job job_in(const char* queue) { return {.branch = 1, .step = 1, .queue = queue, .run_at_us = noon}; }

TEST(KeepRules, what_is_due_in_an_open_queue_stays_while_the_session_accepts) {
  KeepRules rules(true, 1'000);
  rules.set_queues({{"default", std::string(timer_queue)}, {}, {}});
  rules.tick(noon);
  EXPECT_FALSE(rules.kept_until(job_in("default"), {})) << "nobody has said that there is room";
  rules.set_capacity({.is_accepting = true, .free_slots = 0});
  EXPECT_EQ(rules.kept_until(job_in("default"), {}), noon + 6 * second) << "its timeout and the grace";
  EXPECT_FALSE(rules.kept_until(job_in("other"), {}));
  EXPECT_FALSE(rules.kept_until(job_in("cairn.timer"), {}));
  Job later = job_in("default");
  later.run_at_us = noon + 1;
  EXPECT_FALSE(rules.kept_until(later, {}));
  rules.set_capacity({});
  EXPECT_FALSE(rules.kept_until(job_in("default"), {}));
}

TEST(KeepRules, in_a_counted_queue_a_held_branch_goes_on_where_its_holder_may_keep_it) {
  KeepRules rules(true, 0);
  rules.set_queues({{"default"}, {"narrow"}, {}});
  rules.tick(noon);
  rules.set_capacity({.is_accepting = true, .free_slots = 2});
  EXPECT_TRUE(rules.kept_until(job_in("narrow"), "narrow"));
  EXPECT_TRUE(rules.may_execute(job_in("narrow"), "narrow"));
  EXPECT_FALSE(rules.kept_until(job_in("narrow"), {})) << "its holder has had its turn";
  EXPECT_FALSE(rules.may_execute(job_in("narrow"), "default")) << "it counts for another queue, or for none";
  EXPECT_FALSE(rules.created_held_until(job_in("narrow"))) << "one more would be held";
  EXPECT_FALSE(rules.kept_until(job_in("other"), "other"));
}

TEST(KeepRules, in_a_paced_queue_a_held_branch_stays_and_its_step_is_not_executed_before_it_has_a_start) {
  KeepRules rules(true, 0);
  rules.set_queues({{"default"}, {}, {"model"}});
  rules.tick(noon);
  rules.set_capacity({.is_accepting = true, .free_slots = 2});
  EXPECT_TRUE(rules.kept_until(job_in("model"), "model"));
  EXPECT_FALSE(rules.may_execute(job_in("model"), "model"));
  EXPECT_FALSE(rules.kept_until(job_in("model"), {})) << "its holder has had its turn";
  EXPECT_FALSE(rules.kept_until(job_in("model"), "default")) << "it was held in another queue";
  EXPECT_FALSE(rules.created_held_until(job_in("model"))) << "its first step is claimed";
  Job later = job_in("model");
  later.run_at_us = noon + 1;
  EXPECT_FALSE(rules.kept_until(later, "model"));
  rules.set_capacity({});
  EXPECT_FALSE(rules.kept_until(job_in("model"), "model"));
}

TEST(KeepRules, a_branch_is_created_held_only_where_a_slot_is_free) {
  KeepRules rules(true, 0);
  rules.set_queues({{"default"}, {}, {}});
  rules.tick(noon);
  rules.set_capacity({.is_accepting = true, .free_slots = 2});
  EXPECT_EQ(rules.created_held_until(job_in("default")), never_us) << "no timeout, no deadline";
  EXPECT_TRUE(rules.created_held_until(job_in("default")));
  EXPECT_FALSE(rules.created_held_until(job_in("default")));
  rules.released(1);
  EXPECT_TRUE(rules.created_held_until(job_in("default")));
  EXPECT_EQ(rules.created_held(), 2);
}

TEST(KeepRules, without_keeping_steps_may_still_be_executed_in_one_commit) {
  KeepRules rules(false, 0);
  rules.set_queues({{"default"}, {}, {}});
  rules.tick(noon);
  rules.set_capacity({.is_accepting = true, .free_slots = 2});
  EXPECT_TRUE(rules.may_execute(job_in("default"), {}));
  EXPECT_FALSE(rules.kept_until(job_in("default"), {}));
  EXPECT_FALSE(rules.created_held_until(job_in("default")));
}

// --- steps in flight ------------------------------------------------------------------------------------------------

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
    HeldJob held{run, store_->jobs(run).at(0).job, 5, 1, never_us, 1};
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
  const SetBegun call = std::get<SetBegun>(outside_.calls[0]);
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

TEST_F(StepsInFlightTest, A10_a_step_that_may_not_be_lost_is_given_back_when_no_row_can_say_so) {
  begin_what_may_not_be_lost();
  steps_.begun_not_set(std::get<SetBegun>(outside_.calls.at(0)));
  EXPECT_EQ(drain_actions().ended.at(0).how, StepsInFlight::Ended::How::given_back);
  EXPECT_TRUE(outside_.effects.empty());
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
  steps_.refused(1, {Code::corrupt, "it does not fit"});
  EXPECT_EQ(drain_actions().reports.size(), 1u);
  steps_.refused(1, {Code::corrupt, "nor does this"});
  EXPECT_EQ(drain_actions().ended.at(0).how, StepsInFlight::Ended::How::run_left_to_others);

  (void)begin("linear");
  steps_.ended(1, Outcome{"ok", Json::object(), {}});
  (void)drain_actions();
  steps_.refused(1, {Code::stale, "too late"});
  EXPECT_EQ(drain_actions().ended.at(0).how, StepsInFlight::Ended::How::done);
  EXPECT_EQ(steps_.late(), 1);
}

// It was given back and begun again, without end and without using up an attempt.
TEST_F(StepsInFlightTest, H24_a_report_that_there_was_no_memory_for_fails_the_attempt) {
  (void)begin("linear");
  steps_.ended(1, Outcome{"ok", Json::object(), {}});
  (void)drain_actions();
  steps_.refused(1, {Code::limit, "the memory is used up"});
  const StepsInFlight::Actions actions = drain_actions();
  ASSERT_EQ(actions.reports.size(), 1u);
  EXPECT_EQ(std::get<FailStep>(actions.reports[0].command).failure.error, "limit");
  steps_.refused(1, {Code::limit, "the memory is used up"});
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
  steps_.begin(1, {run, store_->jobs(run).at(0).job, 5, 1, never_us, 1});
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
    room_.begin(slot, HeldJob{run, store_->jobs(run).at(0).job, 5, 1, never_us, 1});
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
  StepsInFlight room_;
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

TEST_F(RoomForValues, A9_a_step_that_finds_no_room_for_long_is_given_back_and_so_are_all_when_the_session_drains) {
  for (const Ticket slot : {1U, 2U}) begin_large(slot);
  EXPECT_EQ(reading(), std::vector<Ticket>{1});
  EXPECT_EQ(room_.due_us(), noon + 10 * second);
  room_.tick(noon + 10 * second, noon + 10 * second);
  StepsInFlight::Actions actions = drain();
  ASSERT_EQ(actions.ended.size(), 1u);
  EXPECT_EQ(actions.ended[0].slot, 2u);
  EXPECT_EQ(actions.ended[0].how, StepsInFlight::Ended::How::given_back);
  begin_large(3);
  room_.drain();
  actions = drain();
  ASSERT_EQ(actions.ended.size(), 1u);
  EXPECT_EQ(actions.ended[0].slot, 3u);
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
    room_.begin(slot, HeldJob{run, store_->jobs(run).at(0).job, 5, 1, never_us, 1});
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
  EXPECT_EQ(room_.due_us(), noon + 10 * second);
  room_.tick(noon + 10 * second, noon + 10 * second);
  StepsInFlight::Actions actions = drain();
  ASSERT_EQ(actions.ended.size(), 1u);
  EXPECT_EQ(actions.ended[0].slot, 2u);
  EXPECT_EQ(actions.ended[0].how, StepsInFlight::Ended::How::given_back);
  begin(3);
  room_.drain();
  actions = drain();
  ASSERT_EQ(actions.ended.size(), 1u);
  EXPECT_EQ(actions.ended[0].slot, 3u);
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

// --- sweeping -------------------------------------------------------------------------------------------------------

HeldJob lost_job() {
  HeldJob held;
  held.run = RunId{{1}};
  held.job.branch = 1;
  held.job.step = 4;
  held.job.queue = "default";
  held.session = 9;
  held.epoch = 2;
  return held;
}

class SweepingTest : public ::testing::Test {
 protected:
  SweepingTest() : sweeping_({.session = 5, .dead_after_us = 10 * second, .held_max = 100}) {}
  // One scan that finds this.
  Sweeping::Actions scan(const std::vector<HeldJob>& overdue, const std::vector<RunId>& orphans = {},
                         const std::vector<LooseEnd>& loose_ends = {}) {
    steady_ += 2 * second;
    sweeping_.tick(steady_, noon + steady_);
    sweeping_.scan_if_due();
    Sweeping::Actions asked = sweeping_.drain_actions();
    EXPECT_EQ(asked.calls.size(), 1u);
    ScanSessions found = std::get<ScanSessions>(asked.calls.at(0));
    found.answer.held.overdue = overdue;
    found.answer.orphans = orphans;
    found.answer.loose_ends = loose_ends;
    (void)sweeping_.scanned(found, {}, false);
    return sweeping_.drain_actions();
  }
  TimeUs steady_ = 0;
  Sweeping sweeping_;
};

TEST_F(SweepingTest, one_scan_at_a_time_and_none_before_its_time) {
  sweeping_.tick(second, noon);
  sweeping_.scan_if_due();
  EXPECT_EQ(sweeping_.drain_actions().calls.size(), 1u);
  sweeping_.scan_if_due();
  EXPECT_TRUE(sweeping_.drain_actions().empty());
  EXPECT_EQ(sweeping_.due_us(), never_us);
  sweeping_.scan_failed();
  EXPECT_EQ(sweeping_.due_us(), 2 * second);
}

TEST_F(SweepingTest, a_loss_is_submitted_once_until_it_is_answered) {
  const Sweeping::Actions first = scan({lost_job()});
  ASSERT_EQ(first.submissions.size(), 1u);
  EXPECT_TRUE(Sweeping::is_internal(first.submissions[0].ticket));
  EXPECT_EQ(first.submissions[0].fence->session, 9) << "the dead one's fence";
  EXPECT_TRUE(scan({lost_job()}).submissions.empty());
  Reply reply;
  reply.ticket = first.submissions[0].ticket;
  (void)sweeping_.replied(reply);
  EXPECT_EQ(sweeping_.lost(), 1);
  EXPECT_EQ(scan({lost_job()}).submissions.size(), 1u);
}

TEST_F(SweepingTest, a_loss_of_a_run_that_cannot_be_read_is_released_for_others) {
  Reply reply;
  reply.ticket = scan({lost_job()}).submissions.at(0).ticket;
  reply.status = Error{Code::corrupt, "it cannot be read"};
  (void)sweeping_.replied(reply);
  const Sweeping::Actions actions = sweeping_.drain_actions();
  ASSERT_EQ(actions.releases.size(), 1u);
  EXPECT_EQ(actions.releases[0].run_at_us, noon + steady_) << "for others, at once";
  EXPECT_EQ(actions.unreadable, std::vector{lost_job().run}) << "for us, after a while";
  EXPECT_EQ(sweeping_.lost(), 0);
}

TEST_F(SweepingTest, A3_a_call_whose_run_has_ended_is_finished_and_then_tied) {
  const RunId run{{7}}, of_ended{{8}};
  const Sweeping::Actions first = scan({}, {}, {{run, true}, {of_ended, false}});
  ASSERT_EQ(first.calls.size(), 1u);
  EXPECT_EQ(std::get<TieEnds>(first.calls[0]).runs, std::vector{of_ended}) << "its caller needs nothing";
  ASSERT_EQ(first.to_finish.size(), 1u);
  EXPECT_EQ(first.to_finish[0].second, run);
  EXPECT_TRUE(scan({}, {}, {{run, true}}).to_finish.empty()) << "it is under way";
  Reply reply;
  reply.ticket = first.to_finish[0].first;
  reply.status = Error{Code::unsupported, "its caller cannot be read"};
  (void)sweeping_.replied(reply);
  EXPECT_TRUE(sweeping_.drain_actions().calls.empty());
  reply.ticket = scan({}, {}, {{run, true}}).to_finish.at(0).first;  // a pause of one second has passed
  reply.status = Done{};
  (void)sweeping_.replied(reply);
  EXPECT_EQ(std::get<TieEnds>(sweeping_.drain_actions().calls.at(0)).runs, std::vector{run});
}

TEST_F(SweepingTest, an_idle_session_rests_until_it_works_or_is_to_look) {
  (void)scan({});
  sweeping_.rest_for(60 * second);
  EXPECT_EQ(sweeping_.due_us(), steady_ + 2 * second);
  EXPECT_EQ(sweeping_.due_us(true), steady_ + 60 * second);
  steady_ += 3 * second;
  sweeping_.tick(steady_, noon + steady_);
  sweeping_.scan_if_due(true);
  EXPECT_TRUE(sweeping_.drain_actions().empty());
  sweeping_.scan_soon();
  sweeping_.scan_if_due(true);
  EXPECT_EQ(sweeping_.drain_actions().calls.size(), 1u);
}

// 10,000 holds of a worker that died: its runs are shared out, and each share is taken over without a pause.
class Reaping : public SweepingTest {
 protected:
  // Looks of session 5 among others, as often as it takes for 9, which stands still, to be dead.
  Sweeping::Actions look(std::vector<SessionId> living) {
    steady_ += 2 * second;
    sweeping_.tick(steady_, noon + steady_);
    sweeping_.scan_if_due();
    ScanSessions scan = std::get<ScanSessions>(sweeping_.drain_actions().calls.at(0));
    living.push_back(9);
    for (const SessionId id : living)
      scan.answer.sessions.push_back({.id = id, .host = {}, .queues = {}, .counter = id == 9 ? 0 : steady_});
    (void)sweeping_.scanned(scan, {}, false);
    return sweeping_.drain_actions();
  }
  ReapSession first_reap(const std::vector<SessionId>& living) {
    for (int looks = 0; looks < 10; ++looks) {
      const Sweeping::Actions actions = look(living);
      if (!actions.calls.empty()) return std::get<ReapSession>(actions.calls.at(0));
    }
    ADD_FAILURE() << "it is never dead";
    return {};
  }
  Sweeping::Actions reaped(ReapSession call, std::int32_t holds) {
    for (std::int32_t n = 0; n < holds; ++n) {
      call.answer.push_back(lost_job());
      call.answer.back().job.branch = ++branch_;
    }
    sweeping_.reaped(call);
    return sweeping_.drain_actions();
  }
  BranchId branch_ = 0;
};

TEST_F(Reaping, A14_each_survivor_takes_over_a_share_of_its_own) {
  const ReapSession reap = first_reap({3, 5, 8});
  EXPECT_EQ(reap.session, 9);
  EXPECT_EQ(reap.share.index, 1);
  EXPECT_EQ(reap.share.of, 3);
}

TEST_F(Reaping, A14_what_does_not_fit_in_one_answer_is_asked_for_as_soon_as_that_is_committed) {
  const Sweeping::Actions first = reaped(first_reap({5}), ReapSession::holds_max);
  ASSERT_EQ(first.submissions.size(), static_cast<std::size_t>(ReapSession::holds_max));
  EXPECT_TRUE(first.calls.empty());
  for (const Submission& loss : first.submissions) {
    EXPECT_TRUE(sweeping_.drain_actions().calls.empty()) << "too early";
    Reply reply;
    reply.ticket = loss.ticket;
    (void)sweeping_.replied(reply);
  }
  const Sweeping::Actions next = sweeping_.drain_actions();
  ASSERT_EQ(next.calls.size(), 1u) << "without a pause";
  const Sweeping::Actions last = reaped(std::get<ReapSession>(next.calls[0]), 1);
  Reply reply;
  reply.ticket = last.submissions.at(0).ticket;
  (void)sweeping_.replied(reply);
  EXPECT_TRUE(sweeping_.drain_actions().calls.empty()) << "that was all";
}

TEST_F(Reaping, A14_what_is_left_at_the_next_look_is_everybodys) {
  (void)reaped(first_reap({3, 5}), 0);
  const Sweeping::Actions next = look({3, 5});
  ASSERT_EQ(next.calls.size(), 1u);
  EXPECT_EQ(std::get<ReapSession>(next.calls[0]).share.of, 1);
}

TEST_F(SweepingTest, an_orphan_is_cancelled_once_until_it_is_answered) {
  const RunId orphan{{7}};
  Reply reply;
  reply.ticket = scan({}, {orphan}).submissions.at(0).ticket;
  EXPECT_TRUE(scan({}, {orphan}).submissions.empty());
  (void)sweeping_.replied(reply);
  EXPECT_EQ(scan({}, {orphan}).submissions.size(), 1u);
}

}  // namespace
}  // namespace cairn
