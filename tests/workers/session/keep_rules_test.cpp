// The rules of what a session keeps: which jobs stay with their holder.
#include "workers/runs/keep_rules.hpp"

#include <gtest/gtest.h>

#include "tests/workers/session/times.hpp"

namespace cairn {
namespace {

Job job_in(const char* queue) { return {.branch = 1, .step = 1, .queue = queue, .run_at_us = noon}; }

TEST(KeepRules, what_is_due_in_an_open_queue_stays_while_the_session_accepts) {
  KeepRules rules(true, 1'000);
  rules.set_queues({{"default", GoesOn::open}, {std::string(timer_queue), GoesOn::open}});
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
  rules.set_queues({{"default", GoesOn::open}, {"narrow", GoesOn::freely}});
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
  rules.set_queues({{"default", GoesOn::open}, {"model", GoesOn::paced}});
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
  rules.set_queues({{"default", GoesOn::open}});
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
  rules.set_queues({{"default", GoesOn::open}});
  rules.tick(noon);
  rules.set_capacity({.is_accepting = true, .free_slots = 2});
  EXPECT_TRUE(rules.may_execute(job_in("default"), {}));
  EXPECT_FALSE(rules.kept_until(job_in("default"), {}));
  EXPECT_FALSE(rules.created_held_until(job_in("default")));
}

}  // namespace
}  // namespace cairn
