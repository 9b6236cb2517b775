// The dispatcher of hooks over tables in memory: pages that are read again, a place that is lost, receivers that are
// away, and what a process cannot send.
#include "workers/hooks/hook_dispatcher.hpp"

#include <gtest/gtest.h>
#include <set>

#include "engine/event_types.hpp"
#include "storage/hooks/memory_hooks.hpp"
#include "storage/memory_store.hpp"
#include "tests/storage/test_runs.hpp"
#include "workers/hooks/hook_desk.hpp"

namespace cairn::test {
namespace {

constexpr TimeUs second_us = 1'000'000;

class HookDispatcherTest : public testing::Test {
 protected:
  HookDispatcherTest() : store_(make_memory_store(1, [this] { return now_us_; })), hooks_([this] { return now_us_; }) {
    feed_.add = [this](const FeedConsumer& consumer) -> Status {
      consumers_.insert(consumer.name);
      return Done{};
    };
    feed_.remove = [this](const std::string& consumer) -> Status {
      if (consumers_.erase(consumer) > 0) return Done{};
      return Error{Code::not_found, "Expected a consumer, but there is none."};
    };
    feed_.page = [this](const std::string& consumer, std::int32_t) -> Result<HookPage> {
      if (!consumers_.contains(consumer)) return Error{Code::not_found, "Expected a consumer, but there is none."};
      return HookPage{events_, std::to_string(events_.size()), true};
    };
    feed_.confirm = [this](const std::string&, const std::string&) -> Status {
      ++confirmed_;
      return Done{};
    };
    feed_.stalled = [](const StalledQuestion&, std::int32_t) { return StalledAnswer{{}, 0, {}, true}; };
  }

  HookDispatcher dispatcher() {
    HookSurroundings around{[this](const HookDefinition&) { return can_send_; }, [this] { return now_us_; },
                            [] { return 0.5; }, [](const std::string&) {}};
    return HookDispatcher(hooks_.calls(), feed_, *store_, std::move(around));
  }

  void add_hook(const Json& more = Json::object()) {
    Json fields = {{"url", "https://h.example/in"}, {"on", Json::array({"ended"})}, {"backoff_ms", 1'000}};
    fields.update(more);
    HookDesk desk(hooks_.calls(), feed_);
    ASSERT_TRUE(desk.add("h", *parse_hook(fields), "user:ann").ok());
  }

  // A run whose first event is its end.
  RunId ended_run() {
    TestRun run(*store_);
    Entry entry = run.entry(1);
    entry.events.front().type = event_type_of<RunFinished>.number;
    entry.events.front().version = 1;
    entry.events.front().payload = R"({"status":"done","reason":"","output":{}})";
    EXPECT_EQ(run.commit(entry).kind, Verdict::Kind::committed);
    events_.push_back({run.id(), "g", store_->events(run.id(), 0, 1).front()});
    return run.id();
  }

  HookDelivery only_delivery() {
    const std::vector<HookDelivery> all = hooks_.deliveries("h");
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? HookDelivery{} : all.front();
  }

  std::string kinds_of_notes() {
    std::string kinds;
    for (const KeptHookNote& kept : hooks_.notes("h")) kinds += kept.note.kind + " ";
    return kinds;
  }

  static HookAnswer answer(std::int32_t status) {
    HookAnswer made;
    made.status = status;
    made.is_success = status / 100 == 2;
    made.is_gone = status == 410;
    made.is_busy = status >= 500;
    made.says = "The receiver answered " + std::to_string(status) + ".";
    return made;
  }

  TimeUs now_us_ = noon;
  std::unique_ptr<Store> store_;
  MemoryHooks hooks_;
  HookFeed feed_;
  std::set<std::string> consumers_;
  std::vector<FeedEvent> events_;
  int confirmed_ = 0;
  bool can_send_ = true;
};

TEST_F(HookDispatcherTest, a_page_that_is_read_again_after_a_death_is_sent_once) {
  add_hook();
  const RunId run = ended_run();
  HookDispatcher first = dispatcher();
  ASSERT_TRUE(first.look());
  EXPECT_FALSE(first.look()) << "it is not due again yet";
  std::vector<HookParcel> parcels = first.take();
  ASSERT_EQ(parcels.size(), 1u);
  EXPECT_EQ(parcels.front().id, to_string(run) + "/1");
  first.settle(parcels.front(), answer(204));
  now_us_ += second_us;
  HookDispatcher second = dispatcher();  // the same page: the first one did not confirm
  ASSERT_TRUE(second.look());
  EXPECT_TRUE(second.take().empty());
  EXPECT_EQ(only_delivery().status, DeliveryStatus::delivered);
  EXPECT_EQ(confirmed_, 2);
}

TEST_F(HookDispatcherTest, what_a_dead_process_had_taken_is_sent_by_another_one_with_the_same_message) {
  add_hook({{"timeout_ms", 2'000}});
  ended_run();
  HookDispatcher first = dispatcher(), second = dispatcher();
  ASSERT_TRUE(first.look());
  const std::vector<HookParcel> taken = first.take();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_TRUE(second.take().empty()) << "the first one has it";
  now_us_ += 8 * second_us;
  const std::vector<HookParcel> again = second.take();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again.front().body, taken.front().body);
  EXPECT_EQ(again.front().id, taken.front().id);
  second.settle(again.front(), answer(200));
  first.settle(taken.front(), answer(500));
  EXPECT_EQ(only_delivery().status, DeliveryStatus::delivered) << "the one who is late decides nothing";
}

TEST_F(HookDispatcherTest, a_place_in_the_feed_that_is_lost_is_made_again_and_on_record) {
  add_hook();
  consumers_.clear();
  HookDispatcher reader = dispatcher();
  ASSERT_TRUE(reader.look());
  EXPECT_EQ(kinds_of_notes(), "added gap ");
  ASSERT_TRUE(reader.look());
  EXPECT_TRUE(consumers_.contains("hook@h"));
}

TEST_F(HookDispatcherTest, a_removal_that_died_half_way_is_ended_by_a_reader) {
  add_hook();
  ASSERT_TRUE(hooks_.change("h", {"", "", true, {"removed", "user:ann"}}));
  HookDispatcher reader = dispatcher();
  ASSERT_TRUE(reader.look());
  EXPECT_TRUE(hooks_.hooks().empty());
  EXPECT_TRUE(consumers_.empty());
}

TEST_F(HookDispatcherTest, a_process_that_cannot_send_leaves_the_notice_to_others) {
  add_hook();
  ended_run();
  can_send_ = false;
  HookDispatcher one = dispatcher();
  ASSERT_TRUE(one.look());
  EXPECT_TRUE(one.take().empty());
  EXPECT_EQ(only_delivery().sends, 0);
  can_send_ = true;
  EXPECT_EQ(one.take().size(), 1u);
}

TEST_F(HookDispatcherTest, a_receiver_that_is_away_rests_and_one_that_refuses_a_message_does_not) {
  add_hook();
  ended_run();
  ended_run();
  HookDispatcher one = dispatcher();
  ASSERT_TRUE(one.look());
  const std::vector<HookParcel> parcels = one.take();
  ASSERT_EQ(parcels.size(), 2u);
  one.settle(parcels[0], answer(400));
  const RunId third = ended_run();
  now_us_ += second_us / 2;
  ASSERT_TRUE(one.look());
  const std::vector<HookParcel> next = one.take();
  ASSERT_EQ(next.size(), 1u) << "the third; the first has its pause";
  EXPECT_EQ(next.front().delivery.id.run, third);
  one.settle(next.front(), answer(204));
  one.settle(parcels[1], answer(503));
  ended_run();
  now_us_ += second_us / 2;
  ASSERT_TRUE(one.look());
  EXPECT_TRUE(one.take().empty()) << "it is away";
  now_us_ += 2 * second_us;
  EXPECT_EQ(one.take().size(), 1u) << "one try, of three that are due";
}

TEST_F(HookDispatcherTest, a_receiver_that_is_gone_pauses_the_hook_and_nothing_is_lost) {
  add_hook({{"attempts", 1}});
  ended_run();
  HookDispatcher one = dispatcher();
  ASSERT_TRUE(one.look());
  one.settle(one.take().front(), answer(410));
  EXPECT_EQ(kinds_of_notes(), "added disabled ");
  now_us_ += 60 * second_us;
  EXPECT_TRUE(one.take().empty());
  EXPECT_EQ(only_delivery().status, DeliveryStatus::waiting);
  HookDesk desk(hooks_.calls(), feed_);
  ASSERT_TRUE(desk.resume("h", "user:ann").ok());
  EXPECT_EQ(one.take().size(), 1u);
}

TEST_F(HookDispatcherTest, attempts_that_are_used_up_park_and_a_person_sends_again_or_passes_over) {
  add_hook({{"attempts", 1}});
  const RunId run = ended_run();
  HookDispatcher one = dispatcher();
  ASSERT_TRUE(one.look());
  one.settle(one.take().front(), answer(400));
  EXPECT_EQ(only_delivery().status, DeliveryStatus::parked);
  HookDesk desk(hooks_.calls(), feed_);
  EXPECT_EQ(*desk.resend("h", to_string(run) + "/1", "user:ann"), 1);
  ASSERT_EQ(one.take().size(), 1u);
  ASSERT_TRUE(desk.skip("h", to_string(run) + "/1", "user:ann").ok());
  EXPECT_EQ(only_delivery().status, DeliveryStatus::skipped);
  EXPECT_EQ(desk.skip("h", to_string(run) + "/1", "user:ann").error().code, Code::not_found);
  EXPECT_EQ(desk.resend("h", "x", "user:ann").error().code, Code::invalid);
  EXPECT_EQ(desk.resend("none", "", "user:ann").error().code, Code::not_found);
  EXPECT_EQ(kinds_of_notes(), "added parked resent skipped ");
}

}  // namespace
}  // namespace cairn::test
