// A budget in PostgreSQL under several workers at once, which claim steps and keep the next ones of their runs: each
// step uses what it reserves, so that one that begins without room is seen in what is used.
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <thread>

#include "engine/event_types.hpp"
#include "storage/limit_book.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/storage/test_runs.hpp"

namespace cairn {
namespace {

using namespace test;

constexpr std::int64_t of_a_step = 100;
constexpr StepId steps_of_a_run = 3;
constexpr UnitBudget sixty_steps{BudgetUnit::tokens, BudgetWindow::month, 60 * of_a_step};

class ExactBudget : public ::testing::Test {
 protected:
  ExactBudget() {
    for (int n = 0; n < 30; ++n) {
      TestRun run(*store_, n % shards);
      EXPECT_EQ(run.start(job_of(1, 1, noon, "model")).kind, Verdict::Kind::committed);
      runs_.emplace(run.id(), run);
    }
    const QueueLimits limits{.name = "model", .budgets = {sixty_steps}, .reserves = {{BudgetUnit::tokens, of_a_step}}};
    EXPECT_TRUE(store_->limits().change_limits({limits, "ada"}));
  }

  // Commits the end of the step, after which the next one is held by the same session, or the run is at its end.
  void end_step(HeldJob& held) {
    const std::lock_guard<std::mutex> one_writer(writing_);
    TestRun& run = runs_.at(held.run);
    Entry entry = run.entry();
    entry.events[0].type = static_cast<std::int16_t>(first_record + static_cast<int>(RecordKind::model_called));
    entry.events[0].step = held.job.step;
    entry.events[0].payload = canonical(Json{{"tokens_in", of_a_step}, {"tokens_out", 0}, {"cost", 0}});
    entry.fences.push_back(fence_of(held));
    const bool is_last = held.job.step == steps_of_a_run;
    entry.jobs = {is_last ? drop(1) : keep(job_of(1, held.job.step + 1, noon, "model"))};
    EXPECT_EQ(run.commit(entry).kind, Verdict::Kind::committed);
    ++held.job.step;
    ++ended_;
  }

  // Executes the claimed step, and the next ones of its run as far as starts can be taken for them.
  void execute(Store& own, HeldJob held) {
    for (;;) {
      end_step(held);
      if (held.job.step > steps_of_a_run) return;
      const KeyCounts given = own.limits().take_starts("model", {{"", 1}});
      const auto found = given.find("");
      if (found == given.end() || found->second == 0) break;
      ++kept_;
    }
    const std::vector<std::pair<RunId, Fence>> holds{{held.run, fence_of(held)}};
    own.jobs().release(holds, noon);
  }

  // Until all of the budget is used, and for a while after it.
  void work(SessionId session) {
    constexpr std::int64_t steps = sixty_steps.cap / of_a_step;
    const std::unique_ptr<Store> own = store_on(dsn_);
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    int more = 10;
    for (int n = 0; (ended_ < steps || more-- > 0) && std::chrono::steady_clock::now() < until; ++n) {
      ClaimRequest request = claim_request(session, 3, n % shards);
      request.queues = {"model"};
      for (HeldJob& held : own->claim(request).jobs) execute(*own, std::move(held));
      if (n % shards == 0) own->await_notification(5, NotifiedBy::any_process);
    }
  }

  static constexpr std::int32_t shards = 2;
  const std::string dsn_ = new_database(shards);
  const std::unique_ptr<Store> store_ = store_on(dsn_);
  std::map<RunId, TestRun> runs_;
  std::mutex writing_;  // of `runs_`, whose writer changes with their holder
  std::atomic<std::int64_t> ended_{0}, kept_{0};
};

TEST_F(ExactBudget, of_claimers_and_of_holders_who_keep_steps_no_more_is_used_than_the_cap_and_all_of_it) {
  std::vector<std::thread> threads;
  for (SessionId session = 1; session <= 4; ++session) threads.emplace_back([this, session] { work(session); });
  for (std::thread& thread : threads) thread.join();
  const std::map<std::string, QueueUse> uses = store_->limits().queue_uses({"model"});
  ASSERT_TRUE(uses.contains("model"));
  EXPECT_EQ(used_of(sixty_steps, uses.at("model").budgets, store_->database_time()), sixty_steps.cap);
  EXPECT_EQ(ended_ * of_a_step, sixty_steps.cap);
  EXPECT_GT(kept_, 0) << "steps were kept";
  std::int64_t held = 0;
  for (const QueueRow& row : store_->jobs().queues()) held += row.held;
  EXPECT_EQ(held, 0) << "what could not go on was given back";
}

}  // namespace
}  // namespace cairn
