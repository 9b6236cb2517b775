// The table of hooks, in PostgreSQL and in memory: hooks are read, and notices sent, by the one who took them last.
#include "storage/hooks/hook_table.hpp"

#include <gtest/gtest.h>

#include "storage/hooks/memory_hooks.hpp"
#include "storage/hooks/stalled_runs.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/storage/test_runs.hpp"
#include "tests/waiting.hpp"

namespace cairn::test {
namespace {

constexpr TimeUs long_us = 3'600'000'000;

HookRow new_hook(const std::string& name, bool is_ordered = false) {
  HookRow row;
  row.name = name;
  row.definition = R"({"on":["ended"],"url":"https://h.example/in"})";
  row.is_ordered = is_ordered;
  return row;
}

RunId run_of(std::uint8_t n) {
  RunId run;
  run.bytes[0] = n;
  return run;
}

NoticeId notice(std::uint8_t run, std::int64_t seq, NoticeKind kind = NoticeKind::finished) {
  return {run_of(run), seq, kind};
}

class HookTableTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string kind = GetParam();
    if (kind == "memory") {
      memory_ = std::make_unique<MemoryHooks>([this] { return now_us_; });
      calls_ = memory_->calls();
      return;
    }
    const std::string dsn = kind == "citus" ? new_distributed_database(2) : new_database(2);
    table_ = std::make_unique<HookTable>(dsn, store_on(dsn)->identity());
    calls_ = table_->calls();
  }

  // A hook with its consumer, which is due now.
  HookRow add_ready(const std::string& name, bool is_ordered = false) {
    EXPECT_TRUE(calls_.add(new_hook(name, is_ordered), long_us, {"added", "user:ann"}));
    HookRow row = hook(name);
    row.is_ready = true;
    EXPECT_TRUE(calls_.keep({row, {}, 0}));
    return hook(name);
  }

  HookRow hook(const std::string& name) {
    for (const HookRow& row : calls_.hooks())
      if (row.name == name) return row;
    ADD_FAILURE() << "no hook " << name;
    return {};
  }

  std::map<NoticeId, HookDelivery> deliveries(const std::string& name) {
    std::map<NoticeId, HookDelivery> all;
    for (const HookDelivery& one : memory_ ? memory_->deliveries(name) : table_->deliveries(name, {}, 1'000))
      all.emplace(one.id, one);
    return all;
  }

  std::vector<HookDelivery> claim(const std::string& name, std::int32_t slots = 100) {
    return calls_.claim({{name, slots, long_us, hook(name).is_ordered}});
  }

  HookSettlement settlement(HookDelivery delivery, DeliveryStatus status, TimeUs pause_us = 0) {
    delivery.status = status;
    if (status != DeliveryStatus::delivered) ++delivery.failures;
    delivery.answer = status == DeliveryStatus::delivered ? 200 : 500;
    delivery.says = "so";
    return {delivery, pause_us};
  }

  TimeUs now_us_ = 1'800'000'000'000'000;
  std::unique_ptr<MemoryHooks> memory_;
  std::unique_ptr<HookTable> table_;
  HookCalls calls_;
};

INSTANTIATE_TEST_SUITE_P(Hooks, HookTableTest,
                         testing::ValuesIn(has_citus_cluster() ? std::vector<const char*>{"memory", "postgres", "citus"}
                                                               : std::vector<const char*>{"memory", "postgres"}),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(HookTableTest, a_name_is_given_once_and_a_new_hook_is_its_makers_for_a_while) {
  EXPECT_TRUE(calls_.add(new_hook("a"), long_us, {"added", "user:ann"}));
  EXPECT_FALSE(calls_.add(new_hook("a"), long_us, {"added", "user:ben"}));
  EXPECT_FALSE(hook("a").is_ready);
  EXPECT_EQ(hook("a").fence, 1);
  EXPECT_EQ(calls_.take(long_us), std::nullopt);
}

TEST_P(HookTableTest, only_the_last_reader_keeps_what_it_read) {
  add_ready("a");
  const std::optional<HookRow> first = calls_.take(0);
  const std::optional<HookRow> second = calls_.take(long_us);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(calls_.take(long_us), std::nullopt) << "its reader has it";
  EXPECT_FALSE(calls_.keep({*first, {notice(1, 1)}, 0}));
  EXPECT_TRUE(deliveries("a").empty());
  EXPECT_TRUE(calls_.keep({*second, {notice(1, 1), notice(1, 2)}, 0}));
  EXPECT_EQ(deliveries("a").size(), 2u);
}

TEST_P(HookTableTest, a_notice_that_is_read_twice_is_kept_once_also_when_it_was_delivered) {
  add_ready("a");
  ASSERT_TRUE(calls_.keep({*calls_.take(0), {notice(1, 1)}, 0}));
  ASSERT_TRUE(calls_.settle(settlement(claim("a").front(), DeliveryStatus::delivered)));
  ASSERT_TRUE(calls_.keep({*calls_.take(0), {notice(1, 1), notice(1, 1, NoticeKind::stalled)}, 0}));
  ASSERT_EQ(deliveries("a").size(), 2u);
  EXPECT_EQ(deliveries("a")[notice(1, 1)].status, DeliveryStatus::delivered);
  EXPECT_EQ(claim("a").size(), 1u) << "the standstill";
}

TEST_P(HookTableTest, a_notice_is_sent_by_the_one_who_took_it_last) {
  add_ready("a");
  ASSERT_TRUE(calls_.keep({*calls_.take(0), {notice(1, 1), notice(2, 1)}, 0}));
  EXPECT_EQ(claim("a", 1).size(), 1u);
  const std::vector<HookDelivery> taken = claim("a");
  ASSERT_EQ(taken.size(), 1u) << "the other one is held";
  EXPECT_EQ(taken.front().sends, 1);
  EXPECT_TRUE(calls_.settle(settlement(taken.front(), DeliveryStatus::waiting)));
  const std::vector<HookDelivery> again = claim("a");
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again.front().sends, 2);
  EXPECT_EQ(again.front().failures, 1);
  EXPECT_FALSE(calls_.settle(settlement(taken.front(), DeliveryStatus::delivered))) << "it is another's by now";
  EXPECT_TRUE(calls_.settle(settlement(again.front(), DeliveryStatus::delivered)));
  EXPECT_FALSE(calls_.settle(settlement(again.front(), DeliveryStatus::delivered))) << "it is over";
  EXPECT_EQ(deliveries("a")[again.front().id].answer, 200);
}

TEST_P(HookTableTest, of_an_ordered_hook_each_run_has_one_under_way_and_one_that_is_parked_holds_the_rest) {
  add_ready("a", true);
  ASSERT_TRUE(
      calls_.keep({*calls_.take(0), {notice(1, 3), notice(1, 3, NoticeKind::stalled), notice(1, 5), notice(2, 1)}, 0}));
  std::vector<HookDelivery> taken = claim("a");
  ASSERT_EQ(taken.size(), 2u);
  const auto of_first =
      std::find_if(taken.begin(), taken.end(), [](const HookDelivery& one) { return one.id == notice(1, 3); });
  ASSERT_NE(of_first, taken.end());
  EXPECT_TRUE(calls_.settle(settlement(*of_first, DeliveryStatus::parked)));
  EXPECT_TRUE(claim("a").empty());
  EXPECT_EQ(calls_.resend("a", {}, false), 1);
  taken = claim("a");
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken.front().id, notice(1, 3));
  EXPECT_TRUE(calls_.settle(settlement(taken.front(), DeliveryStatus::delivered)));
  EXPECT_EQ(claim("a").front().id, notice(1, 3, NoticeKind::stalled)) << "what came of an event is after it";
  EXPECT_EQ(calls_.resend("a", notice(1, 3, NoticeKind::stalled), true), 1) << "passed over";
  EXPECT_EQ(claim("a").front().id, notice(1, 5));
}

TEST_P(HookTableTest, a_backlog_is_what_waits_and_what_is_parked) {
  if (memory_) return;  // a table has it alone
  add_ready("a");
  add_ready("idle");
  HookRow row = hook("a");
  ASSERT_TRUE(calls_.keep({row, {notice(1, 1), notice(2, 1), notice(3, 1), notice(4, 1), notice(5, 1)}, 0}));
  const std::vector<HookDelivery> taken = claim("a");
  ASSERT_EQ(taken.size(), 5u);
  for (const std::size_t n : {0u, 1u}) ASSERT_TRUE(calls_.settle(settlement(taken[n], DeliveryStatus::parked)));
  ASSERT_TRUE(calls_.settle(settlement(taken[2], DeliveryStatus::delivered)));
  const std::vector<HookBacklog> backlogs = table_->backlogs();
  ASSERT_EQ(backlogs.size(), 2u);
  EXPECT_EQ(backlogs[0].hook, "a");
  EXPECT_EQ(backlogs[0].waiting, 2);
  EXPECT_EQ(backlogs[0].parked, 2);
  EXPECT_EQ(backlogs[0].oldest, std::min(taken[3].noted_at, taken[4].noted_at));
  EXPECT_EQ(backlogs[1].waiting + backlogs[1].parked, 0);
  EXPECT_EQ(backlogs[1].oldest, std::nullopt);
}

TEST_P(HookTableTest, one_that_was_delivered_can_be_sent_again_and_one_that_is_over_is_not_passed_over) {
  add_ready("a");
  ASSERT_TRUE(calls_.keep({*calls_.take(0), {notice(1, 1)}, 0}));
  ASSERT_TRUE(calls_.settle(settlement(claim("a").front(), DeliveryStatus::delivered)));
  EXPECT_EQ(calls_.resend("a", notice(1, 1), true), 0);
  EXPECT_EQ(calls_.resend("a", {}, false), 0) << "nothing is parked";
  EXPECT_EQ(calls_.resend("a", notice(9, 1), false), 0);
  EXPECT_EQ(calls_.resend("a", notice(1, 1), false), 1);
  EXPECT_EQ(claim("a").size(), 1u);
}

TEST_P(HookTableTest, a_pause_stays_on_record_and_a_removal_takes_the_notices_along) {
  add_ready("a");
  ASSERT_TRUE(calls_.keep({*calls_.take(0), {notice(1, 1)}, 0}));
  EXPECT_TRUE(calls_.change("a", {"user:ann", "it moves", false, {"paused", "user:ann", "it moves"}}));
  EXPECT_EQ(hook("a").paused_by, "user:ann");
  EXPECT_TRUE(hook("a").paused_at.has_value());
  EXPECT_TRUE(calls_.change("a", {"", "", false, {"resumed", "user:ann"}}));
  EXPECT_EQ(hook("a").paused_at, std::nullopt);
  calls_.erase("a");
  EXPECT_EQ(calls_.hooks().size(), 1u) << "only what is marked";
  EXPECT_TRUE(calls_.change("a", {"", "", true, {"removed", "user:ann"}}));
  EXPECT_FALSE(calls_.change("a", {"", "", true, {"removed", "user:ann"}}));
  EXPECT_EQ(calls_.note("a", {"tested", "user:ann"}), std::nullopt);
  EXPECT_FALSE(calls_.put("a", notice(3, 1)));
  EXPECT_TRUE(calls_.take(long_us).has_value()) << "a process ends what its remover did not";
  calls_.erase("a");
  EXPECT_TRUE(calls_.hooks().empty());
  EXPECT_TRUE(deliveries("a").empty());
  std::vector<KeptHookNote> notes = memory_ ? memory_->notes("a") : table_->notes("a", 1'000, 10);
  if (!memory_) std::reverse(notes.begin(), notes.end());
  std::string kinds;
  for (const KeptHookNote& kept : notes) kinds += kept.note.kind + " ";
  EXPECT_EQ(kinds, "added paused resumed removed ");
  EXPECT_TRUE(calls_.add(new_hook("a"), 0, {"added", "user:ben"}));
  EXPECT_EQ(hook("a").notes, 5) << "its numbers go on";
}

TEST_P(HookTableTest, what_waits_is_counted_up_to_a_bound_and_what_is_long_over_is_removed) {
  add_ready("a");
  ASSERT_TRUE(calls_.keep({*calls_.take(0), {notice(1, 1), notice(2, 1), notice(3, 1, NoticeKind::stalled)}, 0}));
  EXPECT_EQ(calls_.count_waiting("a", 2), 2);
  EXPECT_EQ(calls_.count_waiting("a", 100), 3);
  for (const HookDelivery& taken : claim("a"))
    if (taken.id != notice(2, 1)) calls_.settle(settlement(taken, DeliveryStatus::delivered));
  now_us_ += 10;
  calls_.trim("a", long_us, long_us);
  EXPECT_EQ(deliveries("a").size(), 3u);
  calls_.trim("a", 0, long_us);
  EXPECT_EQ(deliveries("a").size(), 2u) << "of a standstill it is kept for longer";
  calls_.trim("a", 0, 0);
  ASSERT_EQ(deliveries("a").size(), 1u);
  EXPECT_EQ(deliveries("a").begin()->first, notice(2, 1)) << "what waits is never removed";
}

}  // namespace
}  // namespace cairn::test
