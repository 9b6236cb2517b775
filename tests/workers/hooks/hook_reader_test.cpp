// The reader of hooks and the desk over tables in memory: pages that are read again, places that are lost, hooks that
// are removed while they are made, and rows that are long over.
#include "workers/hooks/hook_reader.hpp"

#include <gtest/gtest.h>

#include "tests/workers/hooks/hook_rig.hpp"

namespace cairn::test {
namespace {

using HookReaderTest = HookRig;

constexpr TimeUs day_us = 86'400'000'000;

TEST_F(HookReaderTest, a_page_that_is_read_again_after_a_death_is_sent_once) {
  add_hook();
  const RunId run = ended_run();
  HookReader first = reader();
  HookSender one = sender();
  ASSERT_TRUE(first.scan());
  EXPECT_FALSE(first.scan()) << "it is not due again yet";
  std::vector<HookParcel> parcels = one.take();
  ASSERT_EQ(parcels.size(), 1u);
  EXPECT_EQ(parcels.front().id, to_string(run) + "/1");
  one.record_answer(parcels.front(), answer(204));
  now_us_ += second_us;
  HookReader second = reader();  // the same page: the first one did not confirm
  ASSERT_TRUE(second.scan());
  EXPECT_TRUE(one.take().empty());
  EXPECT_EQ(only_delivery().status, DeliveryStatus::delivered);
  EXPECT_EQ(confirmed_, 2);
}

TEST_F(HookReaderTest, a_question_of_an_autonomous_run_waits_for_nobody_and_is_no_notice) {
  add_hook({{"on", {"waits"}}});
  const auto asked = [this](const std::string& options) {
    TestRun run(*store_);
    Entry entry = run.entry(2);
    const auto put = [](EventRow& row, const EventType& type, const std::string& payload) {
      row.type = type.number;
      row.version = type.version;
      row.payload = payload;
    };
    put(entry.events[0], event_type_of<RunStarted>, R"({"graph":"g","version":"v","options":)" + options + "}");
    put(entry.events[1], event_type_of<QuestionAsked>, R"({"question":"q1","kind":"k","prompt":"p"})");
    EXPECT_EQ(run.commit(entry).kind, Verdict::Kind::committed);
    events_.push_back({run.id(), "g", store_->events(run.id(), 1, 1).front()});
    return run.id();
  };
  asked(R"({"autonomy":"full"})");
  const RunId waits = asked("{}");
  HookReader one = reader();
  ASSERT_TRUE(one.scan());
  HookSender sends = sender();
  const std::vector<HookParcel> parcels = sends.take();
  ASSERT_EQ(parcels.size(), 1u);
  EXPECT_EQ(parcels.front().id, to_string(waits) + "/2");
}

TEST_F(HookReaderTest, a_place_in_the_feed_that_is_lost_is_made_again_and_on_record) {
  add_hook();
  consumers_.clear();
  HookReader one = reader();
  ASSERT_TRUE(one.scan());
  EXPECT_EQ(kinds_of_notes(), "added gap ");
  ASSERT_TRUE(one.scan());
  EXPECT_TRUE(consumers_.contains("hook@h"));
}

TEST_F(HookReaderTest, a_removal_that_died_half_way_is_ended_by_a_reader_or_by_another_removal) {
  for (const bool by_reader : {true, false}) {
    add_hook();
    ASSERT_TRUE(hooks_.change("h", {"", "", true, {"removed", "user:ann"}}));
    EXPECT_TRUE(hooks_.hooks().empty()) << "it is not shown any more";
    EXPECT_NE(desk().add("h", hook_with(), "user:ben").error().message.find("the removal of h is under way"),
              std::string::npos);
    if (by_reader)
      EXPECT_TRUE(reader().scan());
    else
      EXPECT_TRUE(desk().remove("h", "user:ann").ok());
    EXPECT_TRUE(consumers_.empty());
    EXPECT_EQ(desk().remove("h", "user:ann").error().code, Code::not_found);
  }
}

TEST_F(HookReaderTest, a_hook_that_is_removed_while_it_is_made_leaves_no_consumer) {
  during_add_ = [this] { ASSERT_TRUE(desk().remove("h", "user:ben").ok()); };
  const Status added = desk().add("h", hook_with(), "user:ann");
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code, Code::conflict);
  EXPECT_EQ(added.error().message, "Expected to add hook h, but it was removed meanwhile.");
  EXPECT_TRUE(consumers_.empty());
  add_hook();
  consumers_.clear();
  HookReader one = reader();
  ASSERT_TRUE(one.scan()) << "its place is lost";
  during_add_ = [this] { ASSERT_TRUE(desk().remove("h", "user:ben").ok()); };
  ASSERT_TRUE(one.scan());
  EXPECT_TRUE(consumers_.empty());
}

// As the feed refuses a consumer that was removed while it was added.
TEST_F(HookReaderTest, a_maker_whose_consumer_was_removed_leaves_the_hook_to_those_who_have_it_now) {
  std::function<void()> meanwhile = [this] { ASSERT_TRUE(desk().remove("h", "user:ben").ok()); };
  HookFeed slow = feed_;
  slow.add = [&meanwhile](const FeedConsumer&) -> Status {
    meanwhile();
    return Error{Code::conflict, "Expected to add it, but it was removed meanwhile."};
  };
  const Status removed = HookDesk(hooks_.calls(), slow).add("h", hook_with(), "user:ann");
  ASSERT_FALSE(removed.ok());
  EXPECT_EQ(removed.error().message, "Expected to add hook h, but it was removed meanwhile.");
  meanwhile = [this] {
    now_us_ += 121 * second_us;
    ASSERT_TRUE(reader().scan()) << "another process makes it";
  };
  const Status taken = HookDesk(hooks_.calls(), slow).add("h", hook_with(), "user:ann");
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().message, "Expected to add hook h, but another process adds it as well.");
  EXPECT_EQ(hooks_.calls().hooks().size(), 1u);
  EXPECT_TRUE(consumers_.contains("hook@h"));
}

TEST_F(HookReaderTest, one_whose_addition_broke_off_can_be_added_again_as_it_was) {
  HookCalls calls = hooks_.calls();
  calls.add = [this](const HookRow& row, TimeUs lease_us, const HookNote& note) -> std::optional<std::int64_t> {
    hooks_.add(row, lease_us, note);
    throw StoreUnavailable("its answer is lost");
  };
  EXPECT_THROW(static_cast<void>(HookDesk(calls, feed_).add("h", hook_with(), "user:ann")), StoreUnavailable);
  EXPECT_EQ(desk().add("h", hook_with({{"ordered", true}}), "user:ann").error().code, Code::conflict);
  EXPECT_TRUE(desk().add("h", hook_with(), "user:ann").ok());
  EXPECT_TRUE(consumers_.contains("hook@h"));
  EXPECT_EQ(desk().add("h", hook_with(), "user:ann").error().code, Code::conflict) << "it is there";
  EXPECT_EQ(kinds_of_notes(), "added ");
}

TEST_F(HookReaderTest, a_maker_has_longer_than_a_reader) {
  add_hook();
  consumers_.clear();
  ASSERT_TRUE(reader().scan()) << "its place is lost";
  during_add_ = [] { throw StoreUnavailable("it died"); };
  HookReader one = reader();
  EXPECT_THROW(one.scan(), StoreUnavailable);
  now_us_ += 31 * second_us;
  EXPECT_FALSE(reader().scan());
  now_us_ += 90 * second_us;
  EXPECT_TRUE(reader().scan());
}

TEST_F(HookReaderTest, a_page_with_more_after_it_is_soon_followed_by_another_and_by_no_search) {
  add_hook({{"on", {"ended", "stalled"}}, {"stalled_after_ms", 60'000}});
  HookReader one = reader();
  has_more_ = true;
  ASSERT_TRUE(one.scan());
  EXPECT_FALSE(one.scan()) << "no loop without a pause";
  now_us_ += second_us / 50;
  ASSERT_TRUE(one.scan());
  EXPECT_EQ(searched_, 0);
  has_more_ = false;
  now_us_ += second_us / 50;
  ASSERT_TRUE(one.scan());
  EXPECT_EQ(searched_, 1);
  now_us_ += second_us / 50;
  EXPECT_FALSE(one.scan());
}

TEST_F(HookReaderTest, rows_that_are_long_over_are_removed_in_portions_until_none_is_left) {
  add_hook();
  HookReader one = reader();
  ASSERT_TRUE(one.scan());
  for (std::int64_t n = 1; n <= 1'001; ++n) ASSERT_TRUE(hooks_.put("h", {RunId{}, n, NoticeKind::test}));
  EXPECT_EQ(hooks_.resend("h", NoticeId{RunId{}, 1, NoticeKind::test}, true), 1);
  for (std::int64_t n = 2; n <= 1'001; ++n) hooks_.resend("h", NoticeId{RunId{}, n, NoticeKind::test}, true);
  now_us_ += 8 * day_us;
  ASSERT_TRUE(one.scan());
  EXPECT_EQ(hooks_.deliveries("h").size(), 1u);
  now_us_ += second_us;
  ASSERT_TRUE(one.scan());
  EXPECT_TRUE(hooks_.deliveries("h").empty());
}

}  // namespace
}  // namespace cairn::test
