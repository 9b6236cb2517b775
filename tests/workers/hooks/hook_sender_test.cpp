// The sender of hooks over tables in memory: processes that die, receivers that are away, and notices that cannot be
// sent.
#include "workers/hooks/hook_sender.hpp"

#include <gtest/gtest.h>

#include "storage/forwarding_store.hpp"
#include "tests/workers/hooks/hook_rig.hpp"

namespace cairn::test {
namespace {

using HookSenderTest = HookRig;

TEST_F(HookSenderTest, what_a_dead_process_had_taken_is_sent_by_another_one_with_the_same_message) {
  add_hook({{"timeout_ms", 2'000}});
  ended_run();
  HookSender first = sender(), second = sender();
  ASSERT_TRUE(reader().scan());
  const std::vector<HookParcel> taken = first.take();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_TRUE(second.take().empty()) << "the first one has it";
  now_us_ += 8 * second_us;
  const std::vector<HookParcel> again = second.take();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again.front().body, taken.front().body);
  EXPECT_EQ(again.front().id, taken.front().id);
  second.record_answer(again.front(), answer(200));
  first.record_answer(taken.front(), answer(500));
  EXPECT_EQ(only_delivery().status, DeliveryStatus::delivered) << "the one who is late decides nothing";
}

TEST_F(HookSenderTest, a_process_that_cannot_send_leaves_the_notice_to_others) {
  add_hook();
  ended_run();
  can_send_ = false;
  HookSender one = sender();
  ASSERT_TRUE(reader().scan());
  EXPECT_TRUE(one.take().empty());
  EXPECT_EQ(only_delivery().sends, 0);
  can_send_ = true;
  EXPECT_EQ(one.take().size(), 1u);
}

TEST_F(HookSenderTest, a_receiver_that_is_away_rests_and_one_that_refuses_a_message_does_not) {
  add_hook();
  ended_run();
  ended_run();
  HookSender one = sender();
  ASSERT_TRUE(reader().scan());
  const std::vector<HookParcel> parcels = one.take();
  ASSERT_EQ(parcels.size(), 2u);
  one.record_answer(parcels[0], answer(400));
  const RunId third = ended_run();
  now_us_ += second_us / 2;
  ASSERT_TRUE(reader().scan());
  const std::vector<HookParcel> next = one.take();
  ASSERT_EQ(next.size(), 1u) << "the third; the first has its pause";
  EXPECT_EQ(next.front().delivery.id.run, third);
  one.record_answer(next.front(), answer(204));
  one.record_answer(parcels[1], answer(503));
  ended_run();
  now_us_ += second_us / 2;
  ASSERT_TRUE(reader().scan());
  EXPECT_TRUE(one.take().empty()) << "it is away";
  now_us_ += 2 * second_us;
  EXPECT_EQ(one.take().size(), 1u) << "one try, of three that are due";
}

TEST_F(HookSenderTest, a_receiver_that_is_gone_pauses_the_hook_and_nothing_is_lost) {
  add_hook({{"attempts", 1}});
  ended_run();
  HookSender one = sender();
  ASSERT_TRUE(reader().scan());
  one.record_answer(one.take().front(), answer(410));
  EXPECT_EQ(kinds_of_notes(), "added disabled ");
  now_us_ += 60 * second_us;
  EXPECT_TRUE(one.take().empty());
  EXPECT_EQ(only_delivery().status, DeliveryStatus::waiting);
  ASSERT_TRUE(desk().resume("h", "user:ann").ok());
  EXPECT_EQ(one.take().size(), 1u);
}

TEST_F(HookSenderTest, attempts_that_are_used_up_park_and_a_person_sends_again_or_passes_over) {
  add_hook({{"attempts", 1}});
  const RunId run = ended_run();
  HookSender one = sender();
  ASSERT_TRUE(reader().scan());
  one.record_answer(one.take().front(), answer(400));
  EXPECT_EQ(only_delivery().status, DeliveryStatus::parked);
  EXPECT_EQ(*desk().resend("h", to_string(run) + "/1", "user:ann"), 1);
  ASSERT_EQ(one.take().size(), 1u);
  ASSERT_TRUE(desk().skip("h", to_string(run) + "/1", "user:ann").ok());
  EXPECT_EQ(only_delivery().status, DeliveryStatus::skipped);
  EXPECT_EQ(desk().skip("h", to_string(run) + "/1", "user:ann").error().code, Code::not_found);
  EXPECT_EQ(desk().resend("h", "x", "user:ann").error().code, Code::invalid);
  EXPECT_EQ(desk().resend("none", "", "user:ann").error().code, Code::not_found);
  EXPECT_EQ(kinds_of_notes(), "added parked resent skipped ");
}

TEST_F(HookSenderTest, an_answer_to_one_that_was_under_way_does_not_end_the_pause_that_was_asked_for) {
  add_hook();
  HookSender one = sender();
  const std::vector<HookParcel> parcels = taken_of(one, 3);
  one.record_answer(parcels[0], answer(503, 10'000));
  one.record_answer(parcels[1], answer(204));
  one.record_answer(parcels[2], answer(400));
  ended_run();
  now_us_ += second_us;
  ASSERT_TRUE(reader().scan());
  EXPECT_TRUE(one.take().empty()) << "Retry-After";
  now_us_ += 9 * second_us;
  EXPECT_EQ(one.take().size(), 1u) << "one try";
}

TEST_F(HookSenderTest, one_that_waits_is_sent_by_the_definition_of_then) {
  add_hook();
  HookSender sending = sender();
  const std::vector<HookParcel> parcels = taken_of(sending, 1);
  ASSERT_EQ(parcels.size(), 1u);
  EXPECT_EQ(parcels.front().hook.url, "https://h.example/in");
  sending.record_answer(parcels.front(), answer(500));
  const Result<HookDefinition> edited = desk().edit("h", {{"url", "https://h.example/new"}}, "user:ann");
  ASSERT_TRUE(edited);
  EXPECT_EQ(edited->backoff_ms, 1'000) << "the rest of it stays";
  now_us_ += 3'600 * second_us;
  const std::vector<HookParcel> again = sending.take();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again.front().hook.url, "https://h.example/new");
  EXPECT_TRUE(desk().edit("h", {{"url", "https://h.example/new"}}, "user:ann")) << "nothing changes";
  EXPECT_EQ(desk().edit("h", {{"on", Json::array({"failed"})}}, "user:ann").error().code, Code::conflict);
  EXPECT_EQ(desk().edit("none", {{"attempts", 2}}, "user:ann").error().code, Code::not_found);
  EXPECT_EQ(kinds_of_notes(), "added edited ");
}

TEST_F(HookSenderTest, answers_of_the_receiver_before_an_edit_neither_hold_back_nor_pause) {
  add_hook();
  HookSender sending = sender();
  const std::vector<HookParcel> parcels = taken_of(sending, 2);
  sending.record_answer(parcels[0], answer(503, 600'000));
  ended_run();
  now_us_ += second_us;
  ASSERT_TRUE(reader().scan());
  EXPECT_TRUE(sending.take().empty()) << "Retry-After";
  ASSERT_TRUE(desk().edit("h", {{"url", "https://h.example/new"}}, "user:ann"));
  sending.record_answer(parcels[1], answer(410));
  EXPECT_FALSE(hooks_.hooks().front().paused_at);
  EXPECT_FALSE(sending.take().empty());
}

TEST_F(HookSenderTest, a_rest_ends_with_its_hook_and_when_the_hook_goes_on) {
  add_hook();
  HookSender one = sender();
  one.record_answer(taken_of(one, 1).front(), answer(503, 600'000));
  ended_run();
  now_us_ += second_us;
  ASSERT_TRUE(reader().scan());
  EXPECT_TRUE(one.take().empty());
  ASSERT_TRUE(desk().resume("h", "user:ann").ok());
  const std::vector<HookParcel> again = one.take();
  ASSERT_EQ(again.size(), 1u) << "the first has its own pause";
  one.record_answer(again.front(), answer(503, 600'000));
  ASSERT_TRUE(desk().remove("h", "user:ann").ok());
  now_us_ += second_us;
  add_hook();
  ASSERT_TRUE(desk().test("h", "user:ann").ok());
  EXPECT_EQ(one.take().size(), 1u) << "another hook of the name";
}

TEST_F(HookSenderTest, many_that_are_parked_are_one_note_until_none_is) {
  add_hook({{"attempts", 1}});
  HookSender one = sender();
  for (const HookParcel& parcel : taken_of(one, 3)) one.record_answer(parcel, answer(400));
  EXPECT_EQ(kinds_of_notes(), "added parked ");
  EXPECT_EQ(warnings_.size(), 1u);
  EXPECT_EQ(*desk().resend("h", "", "user:ann"), 3);
  for (const HookParcel& parcel : one.take()) one.record_answer(parcel, answer(400));
  EXPECT_EQ(kinds_of_notes(), "added parked resent parked ");
}

TEST_F(HookSenderTest, a_late_answer_neither_undoes_a_resume_nor_takes_the_place_of_an_operators_pause) {
  add_hook();
  HookSender one = sender();
  const std::vector<HookParcel> parcels = taken_of(one, 3);
  ASSERT_TRUE(desk().pause("h", "it moves", "user:ann").ok());
  one.record_answer(parcels[0], answer(410));
  EXPECT_EQ(hooks_.hooks().front().paused_reason, "it moves");
  now_us_ += second_us;
  ASSERT_TRUE(desk().resume("h", "user:ann").ok());
  one.record_answer(parcels[1], answer(410));
  EXPECT_EQ(hooks_.hooks().front().paused_at, std::nullopt) << "it was taken before";
  EXPECT_EQ(kinds_of_notes(), "added paused resumed ");
  now_us_ += 60 * second_us;
  const std::vector<HookParcel> later = one.take();
  ASSERT_FALSE(later.empty());
  one.record_answer(later.front(), answer(410));
  EXPECT_EQ(hooks_.hooks().front().paused_by, "hooks");
}

TEST_F(HookSenderTest, one_that_is_given_back_waits_and_has_not_failed) {
  add_hook();
  HookSender one = sender();
  one.release(taken_of(one, 1).front(), 5 * second_us);
  EXPECT_EQ(only_delivery().failures, 0);
  now_us_ += 4 * second_us;
  EXPECT_TRUE(one.take().empty());
  now_us_ += second_us;
  EXPECT_EQ(one.take().size(), 1u);
}

// A store that cannot read one run.
class UnreadableRun final : public ForwardingStore {
 public:
  UnreadableRun(Store& store, RunId unreadable) : ForwardingStore(store), unreadable_(unreadable) {}
  std::optional<RunRow> run(const RunId& id) override {
    if (id == unreadable_) throw std::runtime_error("a page of the disk is damaged");
    return ForwardingStore::run(id);
  }

 private:
  const RunId unreadable_;
};

TEST_F(HookSenderTest, one_that_cannot_be_read_fails_alone_and_those_with_it_are_sent) {
  add_hook();
  const RunId broken = ended_run(), whole = ended_run();
  UnreadableRun store(*store_, broken);
  HookSender one = sender(store);
  ASSERT_TRUE(reader().scan());
  const std::vector<HookParcel> parcels = one.take();
  ASSERT_EQ(parcels.size(), 1u);
  EXPECT_EQ(parcels.front().delivery.id.run, whole);
  for (const HookDelivery& delivery : hooks_.deliveries("h")) {
    if (delivery.id.run != broken) continue;
    EXPECT_EQ(delivery.failures, 1);
    EXPECT_EQ(delivery.says, "The message could not be made: a page of the disk is damaged");
    EXPECT_GT(delivery.next_at, now_us_);
  }
}

}  // namespace
}  // namespace cairn::test
