// The lifecycle of a session by itself: opening, draining, closing, and waiting for the store.
#include "workers/session/session_lifecycle.hpp"

#include <gtest/gtest.h>

#include "tests/workers/session/times.hpp"

namespace cairn {
namespace {

using State = SessionLifecycle::State;

SessionLifecycle open_at(TimeUs now_us) {
  SessionLifecycle life;
  EXPECT_TRUE(life.begin_opening());
  life.opened();
  life.tick(now_us);
  return life;
}

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
  SessionLifecycle life = open_at(second);
  life.drain();
  EXPECT_EQ(life.due_us(), 21 * second);
  life.tick(21 * second);
  EXPECT_TRUE(life.is_drain_over());
  EXPECT_FALSE(life.is_finished());
  life.tick(life.due_us());
  EXPECT_TRUE(life.is_finished()) << "the store does not come back";
}

TEST(SessionLifecycle, D1_draining_ends_soon_when_the_store_says_nothing) {
  SessionLifecycle life = open_at(second);
  life.asked();
  life.tick(2 * second);
  life.drain();
  EXPECT_EQ(life.due_us(), 11 * second) << "ten seconds of silence";
  life.tick(11 * second);
  EXPECT_TRUE(life.is_abandoned());
  EXPECT_TRUE(life.is_finished());
}

TEST(SessionLifecycle, D1_a_store_that_answers_is_waited_for) {
  SessionLifecycle life = open_at(second);
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
  SessionLifecycle life = open_at(second);
  life.drain();
  EXPECT_FALSE(life.is_drain_over());
  life.hurry();
  EXPECT_TRUE(life.is_drain_over());
  EXPECT_EQ(life.due_us(), 3 * second);
  life.hurry();
  life.tick(3 * second);
  EXPECT_TRUE(life.is_finished());
}

}  // namespace
}  // namespace cairn
