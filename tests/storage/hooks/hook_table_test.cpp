// The table of hooks, in PostgreSQL and in memory: hooks are read, and notices sent, by the one who took them last.
#include "storage/hooks/hook_table.hpp"

#include <gtest/gtest.h>
#include <set>
#include <tuple>

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

class HookTableTest : public ::testing::TestWithParam<const char*> {
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
    for (const HookDelivery& one : memory_ ? memory_->deliveries(name) : table_->deliveries(name))
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
                         ::testing::ValuesIn(has_citus_cluster()
                                                 ? std::vector<const char*>{"memory", "postgres", "citus"}
                                                 : std::vector<const char*>{"memory", "postgres"}),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(HookTableTest, a_name_is_given_once_and_a_new_hook_is_its_makers_for_a_while) {
  HookRow row = new_hook("a");
  EXPECT_EQ(calls_.add(row, long_us, {"added", "user:ann"}), 1);
  EXPECT_EQ(calls_.add(row, long_us, {"added", "user:ann"}), 2) << "its maker asks again";
  row.definition = "{}";
  EXPECT_EQ(calls_.add(row, long_us, {"added", "user:ben"}), std::nullopt);
  EXPECT_FALSE(hook("a").is_ready);
  EXPECT_EQ(hook("a").fence, 2);
  EXPECT_EQ(hook("a").notes, 1);
  EXPECT_EQ(calls_.take(long_us, long_us), std::nullopt);
  row = hook("a");
  row.is_ready = true;
  ASSERT_TRUE(calls_.keep({row, {}, 0}));
  EXPECT_EQ(calls_.add(row, long_us, {"added", "user:ann"}), std::nullopt);
}

TEST_P(HookTableTest, one_that_is_not_ready_is_its_takers_for_longer) {
  ASSERT_TRUE(calls_.add(new_hook("a"), 0, {"added", "user:ann"}));
  ASSERT_TRUE(calls_.take(0, long_us).has_value());
  EXPECT_EQ(calls_.take(0, 0), std::nullopt);
}

TEST_P(HookTableTest, only_the_last_reader_keeps_what_it_read) {
  add_ready("a");
  const std::optional<HookRow> first = calls_.take(0, 0);
  const std::optional<HookRow> second = calls_.take(long_us, long_us);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(calls_.take(long_us, long_us), std::nullopt) << "its reader has it";
  EXPECT_FALSE(calls_.keep({*first, {notice(1, 1)}, 0}));
  EXPECT_TRUE(deliveries("a").empty());
  EXPECT_TRUE(calls_.keep({*second, {notice(1, 1), notice(1, 2)}, 0}));
  EXPECT_EQ(deliveries("a").size(), 2u);
}

TEST_P(HookTableTest, a_notice_that_is_read_twice_is_kept_once_also_when_it_was_delivered) {
  add_ready("a");
  ASSERT_TRUE(calls_.keep({*calls_.take(0, 0), {notice(1, 1)}, 0}));
  ASSERT_TRUE(calls_.record_send(settlement(claim("a").front(), DeliveryStatus::delivered)));
  ASSERT_TRUE(calls_.keep({*calls_.take(0, 0), {notice(1, 1), notice(1, 1, NoticeKind::stalled)}, 0}));
  ASSERT_EQ(deliveries("a").size(), 2u);
  EXPECT_EQ(deliveries("a")[notice(1, 1)].status, DeliveryStatus::delivered);
  EXPECT_EQ(claim("a").size(), 1u) << "the standstill";
}

TEST_P(HookTableTest, a_notice_is_sent_by_the_one_who_took_it_last) {
  add_ready("a");
  ASSERT_TRUE(calls_.keep({*calls_.take(0, 0), {notice(1, 1), notice(2, 1)}, 0}));
  EXPECT_EQ(claim("a", 1).size(), 1u);
  const std::vector<HookDelivery> taken = claim("a");
  ASSERT_EQ(taken.size(), 1u) << "the other one is held";
  EXPECT_EQ(taken.front().sends, 1);
  EXPECT_TRUE(calls_.record_send(settlement(taken.front(), DeliveryStatus::waiting)));
  const std::vector<HookDelivery> again = claim("a");
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again.front().sends, 2);
  EXPECT_EQ(again.front().failures, 1);
  EXPECT_FALSE(calls_.record_send(settlement(taken.front(), DeliveryStatus::delivered))) << "it is another's by now";
  EXPECT_TRUE(calls_.record_send(settlement(again.front(), DeliveryStatus::delivered)));
  EXPECT_FALSE(calls_.record_send(settlement(again.front(), DeliveryStatus::delivered))) << "it is over";
  EXPECT_EQ(deliveries("a")[again.front().id].answer, 200);
}

TEST_P(HookTableTest, of_an_ordered_hook_each_run_has_one_under_way_and_one_that_is_parked_holds_the_rest) {
  add_ready("a", true);
  ASSERT_TRUE(calls_.keep(
      {*calls_.take(0, 0), {notice(1, 3), notice(1, 3, NoticeKind::stalled), notice(1, 5), notice(2, 1)}, 0}));
  std::vector<HookDelivery> taken = claim("a");
  ASSERT_EQ(taken.size(), 2u);
  const auto of_first =
      std::find_if(taken.begin(), taken.end(), [](const HookDelivery& one) { return one.id == notice(1, 3); });
  ASSERT_NE(of_first, taken.end());
  EXPECT_TRUE(calls_.record_send(settlement(*of_first, DeliveryStatus::parked)));
  EXPECT_TRUE(claim("a").empty());
  EXPECT_EQ(calls_.resend("a", {}, false), 1);
  taken = claim("a");
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken.front().id, notice(1, 3));
  EXPECT_TRUE(calls_.record_send(settlement(taken.front(), DeliveryStatus::delivered)));
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
  for (const std::size_t n : {0u, 1u}) ASSERT_TRUE(calls_.record_send(settlement(taken[n], DeliveryStatus::parked)));
  ASSERT_TRUE(calls_.record_send(settlement(taken[2], DeliveryStatus::delivered)));
  const std::vector<HookCounts> counts = table_->counts();
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_EQ(counts[0].hook, "a");
  EXPECT_EQ(counts[0].waiting, 2);
  EXPECT_EQ(counts[0].parked, 2);
  EXPECT_EQ(counts[0].oldest, std::min(taken[3].noted_at, taken[4].noted_at));
  EXPECT_EQ(counts[1].waiting + counts[1].parked, 0);
  EXPECT_EQ(counts[1].oldest, std::nullopt);
}

TEST_P(HookTableTest, notices_come_in_pages_the_newest_first_and_each_hook_has_its_last_one) {
  if (memory_) return;  // a table has it alone
  add_ready("a");
  add_ready("b");
  add_ready("idle");
  for (std::uint8_t n = 1; n <= 3; ++n) {
    HookRow row = hook("a");
    ASSERT_TRUE(calls_.keep({row, {notice(n, 1), notice(n, 2), notice(n, 2, NoticeKind::stalled)}, 0}));
  }
  ASSERT_TRUE(calls_.keep({hook("b"), {notice(9, 7)}, 0}));
  std::vector<NoticeId> seen;
  DeliveriesAsked asked{.limit = 2};
  for (std::vector<HookDelivery> page = table_->deliveries("a", asked); !page.empty();
       page = table_->deliveries("a", asked)) {
    for (const HookDelivery& one : page) seen.push_back(one.id);
    asked.after = DeliveryPlace{page.back().noted_at, page.back().id};
    ASSERT_LE(seen.size(), 9u) << "none comes twice";
  }
  ASSERT_EQ(seen.size(), 9u);
  EXPECT_EQ(std::set<NoticeId>(seen.begin(), seen.end()).size(), 9u);
  EXPECT_EQ(seen.front().run, run_of(3));
  EXPECT_EQ(seen.back(), notice(1, 1));
  const std::vector<HookDelivery> lasts = table_->lasts();
  ASSERT_EQ(lasts.size(), 2u) << "one of each hook that has any";
  EXPECT_EQ(lasts[0].id, seen.front());
  EXPECT_EQ(lasts[1].id, notice(9, 7));
  ASSERT_EQ(table_->lasts("b").size(), 1u);
  EXPECT_EQ(table_->deliveries("a", {.status = DeliveryStatus::parked}).size(), 0u);
}

TEST_P(HookTableTest, one_that_was_delivered_can_be_sent_again_and_one_that_is_over_is_not_passed_over) {
  add_ready("a");
  ASSERT_TRUE(calls_.keep({*calls_.take(0, 0), {notice(1, 1)}, 0}));
  ASSERT_TRUE(calls_.record_send(settlement(claim("a").front(), DeliveryStatus::delivered)));
  EXPECT_EQ(calls_.resend("a", notice(1, 1), true), 0);
  EXPECT_EQ(calls_.resend("a", {}, false), 0) << "nothing is parked";
  EXPECT_EQ(calls_.resend("a", notice(9, 1), false), 0);
  EXPECT_EQ(calls_.resend("a", notice(1, 1), false), 1);
  EXPECT_EQ(claim("a").size(), 1u);
}

TEST_P(HookTableTest, a_pause_stays_on_record_and_a_removal_takes_the_notices_along) {
  add_ready("a");
  ASSERT_TRUE(calls_.keep({*calls_.take(0, 0), {notice(1, 1)}, 0}));
  EXPECT_TRUE(calls_.change("a", {"user:ann", "it moves", false, {"paused", "user:ann", "it moves"}}));
  EXPECT_EQ(hook("a").paused_by, "user:ann");
  EXPECT_TRUE(hook("a").paused_at.has_value());
  EXPECT_TRUE(calls_.change("a", {"", "", false, {"resumed", "user:ann"}}));
  EXPECT_EQ(hook("a").paused_at, std::nullopt);
  calls_.erase("a");
  EXPECT_EQ(calls_.hooks().size(), 1u) << "only what is marked";
  EXPECT_TRUE(calls_.change("a", {"", "", true, {"removed", "user:ann"}}));
  EXPECT_TRUE(calls_.hooks().empty()) << "it is on its way out";
  EXPECT_FALSE(calls_.change("a", {"user:ann", "", false, {"paused", "user:ann"}}));
  EXPECT_EQ(calls_.note("a", {"tested", "user:ann"}), std::nullopt);
  EXPECT_FALSE(calls_.put("a", notice(3, 1)));
  EXPECT_TRUE(calls_.take(long_us, long_us).has_value()) << "a process ends what its remover did not";
  EXPECT_TRUE(calls_.change("a", {"", "", true, {"removed", "user:ben"}})) << "and so does another removal";
  calls_.erase("a");
  EXPECT_FALSE(calls_.change("a", {"", "", true, {"removed", "user:ann"}}));
  EXPECT_TRUE(deliveries("a").empty());
  std::vector<KeptHookNote> notes = memory_ ? memory_->notes("a") : table_->notes("a", 1'000, 10);
  if (!memory_) std::reverse(notes.begin(), notes.end());
  std::string kinds;
  for (const KeptHookNote& kept : notes) kinds += kept.note.kind + " ";
  EXPECT_EQ(kinds, "added paused resumed removed removed ");
  EXPECT_TRUE(calls_.add(new_hook("a"), 0, {"added", "user:ben"}));
  EXPECT_EQ(hook("a").notes, 6) << "its numbers go on";
}

TEST_P(HookTableTest, an_edit_takes_the_place_of_the_definition_that_was_read_and_of_no_other) {
  HookRow row = new_hook("a");
  ASSERT_TRUE(calls_.add(row, long_us, {"added", "user:ann"}));
  const HookEdit edit{
      row.definition, R"({"on":["ended"],"url":"https://h.example/new"})", true, {"edited", "user:ben"}};
  EXPECT_FALSE(calls_.edit("a", edit)) << "it is not ready yet";
  row = hook("a");
  row.is_ready = true;
  ASSERT_TRUE(calls_.keep({row, {}, 0}));
  EXPECT_TRUE(calls_.edit("a", edit));
  EXPECT_EQ(hook("a").definition, edit.definition);
  EXPECT_TRUE(hook("a").is_ordered);
  EXPECT_FALSE(calls_.edit("a", edit)) << "it is another one by now";
  EXPECT_FALSE(calls_.edit("b", edit));
  EXPECT_TRUE(calls_.change("a", {"", "", true, {"removed", "user:ann"}}));
  EXPECT_FALSE(calls_.edit("a", {edit.definition, edit.before, false, {"edited", "user:ben"}}))
      << "it is on its way out";
}

TEST_P(HookTableTest, what_waits_is_counted_up_to_a_bound_and_what_is_long_over_is_removed) {
  add_ready("a");
  ASSERT_TRUE(calls_.keep({*calls_.take(0, 0), {notice(1, 1), notice(2, 1), notice(3, 1, NoticeKind::stalled)}, 0}));
  EXPECT_EQ(calls_.count_waiting("a", 2), 2);
  EXPECT_EQ(calls_.count_waiting("a", 100), 3);
  for (const HookDelivery& taken : claim("a"))
    if (taken.id != notice(2, 1)) calls_.record_send(settlement(taken, DeliveryStatus::delivered));
  now_us_ += 10;
  EXPECT_EQ(calls_.trim("a", long_us, long_us, 100), 0);
  EXPECT_EQ(deliveries("a").size(), 3u);
  EXPECT_EQ(calls_.trim("a", 0, long_us, 100), 1);
  EXPECT_EQ(deliveries("a").size(), 2u) << "of a standstill it is kept for longer";
  EXPECT_EQ(calls_.trim("a", 0, 0, 100), 1);
  ASSERT_EQ(deliveries("a").size(), 1u);
  EXPECT_EQ(deliveries("a").begin()->first, notice(2, 1)) << "what waits is never removed";
}

std::vector<NoticeId> many_notices(std::int64_t count) {
  std::vector<NoticeId> all;
  for (std::int64_t n = 1; n <= count; ++n) all.push_back(notice(static_cast<std::uint8_t>(n % 7), n));
  return all;
}

TEST_P(HookTableTest, what_is_over_goes_in_portions_and_each_says_how_many_went) {
  add_ready("a");
  ASSERT_TRUE(calls_.keep({*calls_.take(0, 0), many_notices(5), 0}));
  for (const HookDelivery& taken : claim("a")) calls_.record_send(settlement(taken, DeliveryStatus::delivered));
  now_us_ += 10;
  EXPECT_EQ(calls_.trim("a", 0, 0, 3), 3);
  EXPECT_EQ(calls_.trim("a", 0, 0, 3), 2);
  EXPECT_TRUE(deliveries("a").empty());
}

TEST_P(HookTableTest, more_than_one_portion_is_parked_sent_again_and_removed) {
  add_ready("a");
  ASSERT_TRUE(calls_.keep({*calls_.take(0, 0), many_notices(2'001), 0}));
  EXPECT_FALSE(calls_.has_parked("a"));
  for (const HookDelivery& taken : claim("a", 2'001)) calls_.record_send(settlement(taken, DeliveryStatus::parked));
  EXPECT_TRUE(calls_.has_parked("a"));
  EXPECT_EQ(calls_.resend("a", {}, false), 2'001);
  EXPECT_EQ(calls_.count_waiting("a", 10'000), 2'001);
  EXPECT_FALSE(calls_.has_parked("a"));
  ASSERT_TRUE(calls_.change("a", {"", "", true, {"removed", "user:ann"}}));
  calls_.erase("a");
  EXPECT_TRUE(deliveries("a").empty());
}

TEST_P(HookTableTest, samples_of_an_ordered_hook_hold_nothing_back) {
  add_ready("a", true);
  ASSERT_TRUE(calls_.put("a", {RunId{}, 1, NoticeKind::test}));
  ASSERT_EQ(claim("a").size(), 1u);
  ASSERT_TRUE(calls_.put("a", {RunId{}, 2, NoticeKind::test}));
  EXPECT_EQ(claim("a").size(), 1u) << "the first is under way yet";
}

TEST_P(HookTableTest, an_answer_pauses_only_a_hook_that_is_on_and_was_not_resumed_since) {
  add_ready("a");
  ASSERT_TRUE(calls_.keep({*calls_.take(0, 0), {notice(1, 1)}, 0}));
  const HookDelivery taken = claim("a").front();
  HookChange disabled{"hooks", "410", false, {"disabled", "hooks", "410"}};
  disabled.taken_at = taken.next_at - long_us;
  now_us_ += 10;
  ASSERT_TRUE(calls_.change("a", {"user:ann", "it moves", false, {"paused", "user:ann"}}));
  EXPECT_FALSE(calls_.change("a", disabled));
  ASSERT_TRUE(calls_.change("a", {"", "", false, {"resumed", "user:ann"}}));
  EXPECT_FALSE(calls_.change("a", disabled));
  EXPECT_EQ(hook("a").paused_at, std::nullopt);
  disabled.taken_at = hook("a").resumed_at;
  EXPECT_TRUE(calls_.change("a", disabled));
  EXPECT_EQ(hook("a").paused_reason, "410");
}

// --- what people are shown ------------------------------------------------------------------------------------------

class ShownHooks : public HookTableTest {};
INSTANTIATE_TEST_SUITE_P(Hooks, ShownHooks, ::testing::Values("postgres"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(ShownHooks, counts_are_of_all_hooks_or_of_one_and_delivered_ones_are_counted_where_they_are_asked_for) {
  add_ready("a");
  add_ready("b");
  for (int n = 0; n < 2; ++n) ASSERT_TRUE(calls_.keep({*calls_.take(long_us, 0), many_notices(4), 0}));
  const std::vector<HookDelivery> taken = claim("a", 3);
  calls_.record_send(settlement(taken[0], DeliveryStatus::delivered));
  calls_.record_send(settlement(taken[1], DeliveryStatus::parked));
  const std::vector<HookCounts> all = table_->counts();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].hook, "a");
  EXPECT_EQ(std::tuple(all[0].waiting, all[0].parked, all[0].delivered), std::tuple(2, 1, 0));
  EXPECT_EQ(all[1].waiting, 4);
  EXPECT_TRUE(all[1].oldest && all[1].due);
  const std::vector<HookCounts> one = table_->counts({"a", true});
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].delivered, 1);
  ASSERT_TRUE(table_->delivery("a", taken[0].id).has_value());
  EXPECT_EQ(table_->delivery("a", taken[0].id)->status, DeliveryStatus::delivered);
  EXPECT_EQ(table_->delivery("a", notice(9, 9)), std::nullopt);
  ASSERT_TRUE(calls_.change("b", {"", "", true, {"removed", "user:ann"}}));
  EXPECT_EQ(table_->counts().size(), 1u) << "b is on its way out";
}

TEST_P(ShownHooks, a_delay_is_that_of_a_failure_of_one_that_holds_back_or_of_no_sender) {
  add_ready("a", true);
  ASSERT_TRUE(calls_.keep({*calls_.take(0, 0), {notice(1, 1), notice(1, 2)}, 0}));
  const auto delay = [this] { return table_->delays().at(0); };
  EXPECT_TRUE(delay().free_since.has_value());
  EXPECT_EQ(delay().moved_at, std::nullopt);
  const std::vector<HookDelivery> first = claim("a");
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(delay().free_since, std::nullopt) << "the second is behind it";
  calls_.record_send(settlement(first.front(), DeliveryStatus::waiting));
  EXPECT_EQ(delay().refused, "so");
  const std::vector<HookDelivery> again = claim("a");
  ASSERT_EQ(again.size(), 1u);
  calls_.record_send(settlement(again.front(), DeliveryStatus::delivered));
  EXPECT_EQ(delay().refused, "");
  EXPECT_TRUE(delay().moved_at.has_value());
  ASSERT_TRUE(calls_.change("a", {"user:ann", "", false, {"paused", "user:ann"}}));
  EXPECT_TRUE(table_->delays().empty());
}

}  // namespace
}  // namespace cairn::test
