// The sweeping of a session: losses, orphans, and the holds of sessions that are gone.
#include "workers/session/sweeping.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "tests/workers/session/times.hpp"
#include "tests/workers/small_graphs.hpp"

namespace cairn {
namespace {

using namespace test;

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
  // How many holds are released after a scan that finds one of our own, which no step here has.
  std::size_t released_of_own(std::vector<TimeUs> unanswered_since) {
    steady_ += 2 * second;
    sweeping_.tick(steady_, noon + steady_);
    sweeping_.scan_if_due();
    ScanSessions found = std::get<ScanSessions>(sweeping_.drain_actions().calls.at(0));
    found.answer.held.is_all = true;
    found.answer.held.own = {lost_job()};
    (void)sweeping_.scanned(found, {{}, std::move(unanswered_since)}, false);
    return sweeping_.drain_actions().releases.size();
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

// A worker's commit waited ten seconds for the answer that it had landed. Meanwhile the branches that it had begun were
// taken for strays, released, and executed by another worker; then the answer came, and they were executed here as
// well.
TEST_F(SweepingTest, a_hold_that_an_unanswered_call_may_bring_is_no_stray) {
  const TimeUs asked = steady_ + second;
  for (int scans = 0; scans < 10; ++scans) EXPECT_EQ(released_of_own({asked}), 0u) << "its answer may bring it";
  EXPECT_EQ(released_of_own({steady_}), 1u) << "a later call cannot bring it";
  EXPECT_EQ(released_of_own({never_us}), 1u);
}

TEST_F(SweepingTest, a_hold_that_no_answer_brings_is_released_after_half_of_the_time_to_live) {
  for (int scans = 0; scans < 3; ++scans) EXPECT_EQ(released_of_own({}), 0u) << scans;
  EXPECT_EQ(released_of_own({}), 1u);
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

// Each scan took over 200 of them, and there was one in two seconds.
TEST_F(Reaping, A14_ten_thousand_holds_are_taken_over_in_a_few_answers_within_one_look) {
  std::int32_t left = 10'000;
  int answers = 0;
  ReapSession reap = first_reap({5});
  for (bool is_all = false; !is_all && answers < 100; ++answers) {
    const std::int32_t found = std::min(left, ReapSession::holds_max);
    left -= found;
    const Sweeping::Actions taken = reaped(reap, found);
    for (const Submission& loss : taken.submissions) {
      Reply reply;
      reply.ticket = loss.ticket;
      (void)sweeping_.replied(reply);
    }
    const Sweeping::Actions next = sweeping_.drain_actions();
    is_all = next.calls.empty();
    if (!is_all) reap = std::get<ReapSession>(next.calls[0]);
  }
  EXPECT_EQ(left, 0);
  EXPECT_LE(answers, 10);
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
