// Calls that the database refuses for good, as after a lost right or in a damaged page: each harms what it is about,
// ends as a recorded fault or leaves the step to others, and is not sent without end.
#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>

#include "engine/event.hpp"
#include "storage/memory/memory_store.hpp"
#include "tests/storage/forwarding_store.hpp"
#include "tests/workers/small_graphs.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn {
namespace {

using namespace test;

// Refuses what is asked for; a PostgresError that no other try would cure is such an exception.
class RefusingStore : public ForwardingStore {
 public:
  explicit RefusingStore(Store& store) : ForwardingStore(store), values_(store.values()) {
    values_.put = [this](Shard shard, const Hash& hash, std::string_view bytes) {
      refuse_if(values_fail, "permission denied for table blob");
      store_.values().put(shard, hash, bytes);
    };
  }

  bool commits = false;
  std::optional<RunId> commits_of = {};
  bool values_fail = false;
  std::optional<RunId> history = {};

  std::vector<Verdict> commit(Shard shard, std::span<const Entry> entries, CommitOptions options) override {
    refuse_if(commits, "permission denied for table event");
    for (const Entry& entry : entries) refuse_if(entry.run.id == commits_of, "cached plan must not change result type");
    return ForwardingStore::commit(shard, entries, options);
  }
  LockedCommitted commit_locked(Shard shard, std::span<const KnownRun> runs, const DecideLocked& decide) override {
    refuse_if(commits, "permission denied for table event");
    return ForwardingStore::commit_locked(shard, runs, decide);
  }
  ValueBook& values() override { return values_; }
  std::vector<StoredHistory> histories(std::span<const HistoryRequest> requests, std::int32_t limit) override {
    for (const HistoryRequest& request : requests)
      refuse_if(request.run == history, "invalid page in block 7 of relation event");
    return ForwardingStore::histories(requests, limit);
  }
  ClaimedBatch claim(const ClaimRequest& request) override {
    ClaimedBatch claimed = ForwardingStore::claim(request);
    claimed.histories.clear();  // each is read
    return claimed;
  }

 private:
  static void refuse_if(bool refuses, const char* says) {
    if (refuses) throw std::runtime_error(says);
  }

  ValueBook values_;
};

class RefusedCalls : public ::testing::Test {
 protected:
  RunId start(Json input = {{"text", "hello"}}) {
    StartRun command;
    command.graph = "linear";
    command.input = std::move(input);
    const Result<Started> started = client_->start(std::move(command), "");
    EXPECT_TRUE(started) << (started ? "" : started.error().message);
    return started ? started->run : RunId{};
  }
  bool has_ended(const RunId& run) { return is_ended(store_->run(run)->status); }

  WorkerReport work(Store& store, const std::function<bool()>& holds) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    WorkerOptions options;
    options.until = [&] { return std::chrono::steady_clock::now() > limit || holds(); };
    return Worker(store, *catalogue_, options).run();
  }

  std::unique_ptr<Store> store_ = make_memory_store(1);
  std::unique_ptr<Catalogue> catalogue_ = small_catalogue();
  std::unique_ptr<Client> client_ = client_with_graphs(*store_, *catalogue_);
  RefusingStore refusing_{*store_};
};

TEST_F(RefusedCalls, D4_a_session_whose_commits_are_all_refused_says_so_and_leaves_its_steps_to_others) {
  const RunId run = start();
  refusing_.commits = true;
  const WorkerReport report = work(refusing_, [] { return false; });
  EXPECT_NE(report.refusal.find("permission denied for table event"), std::string::npos) << report.refusal;
  EXPECT_TRUE(store_->sessions().all().empty()) << "its row holds nothing back";
  EXPECT_FALSE(has_ended(run));
  EXPECT_EQ(work(*store_, [&] { return has_ended(run); }).refusal, "");
  EXPECT_EQ(store_->run(run)->status, RunStatus::done);
}

// Each commit of the other lane began the count again, and the lane that was refused kept what it held.
TEST_F(RefusedCalls, A1_a_session_one_of_whose_batches_is_always_refused_ends_although_others_pass) {
  const RunId bad = start();
  refusing_.commits_of = bad;
  std::vector<RunId> others;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const WorkerReport report = work(refusing_, [&] {
    const bool is_batch_under_way = store_->jobs().of(bad).at(0).session != 0;
    if (is_batch_under_way && (others.empty() || has_ended(others.back()))) others.push_back(start());
    return std::chrono::steady_clock::now() > limit;
  });
  EXPECT_NE(report.refusal.find("cached plan must not change"), std::string::npos) << report.refusal;
  EXPECT_GT(std::count_if(others.begin(), others.end(), [&](const RunId& run) { return has_ended(run); }), 5);
  EXPECT_TRUE(store_->sessions().all().empty()) << "its row holds nothing back";
  work(*store_, [&] { return has_ended(bad); });
  EXPECT_EQ(store_->run(bad)->status, RunStatus::done);
}

TEST_F(RefusedCalls, A1_a_large_value_that_is_refused_fails_the_attempt) {
  const RunId run = start({{"text", std::string(40'000, 'x')}});  // it is put before by the client
  refusing_.values_fail = true;
  work(refusing_, [&] { return has_ended(run); });
  EXPECT_EQ(store_->run(run)->status, RunStatus::failed);
  const Result<std::vector<Event>> events = client_->events(run, 0, 100);
  ASSERT_TRUE(events);
  const auto* failed = std::get_if<StepFailed>(&events->at(1).body);
  ASSERT_NE(failed, nullptr);
  EXPECT_NE(failed->message.find("permission denied for table blob"), std::string::npos) << failed->message;
}

TEST_F(RefusedCalls, D4_a_history_that_cannot_be_read_is_left_and_the_others_go_on) {
  const RunId bad = start();
  const RunId good = start();
  refusing_.history = bad;
  const auto is_left = [&] {
    for (const HeldJob& job : store_->jobs().of(bad))
      if (job.session == 0) return true;
    return false;
  };
  bool was_left = false;
  work(refusing_, [&] {
    was_left = was_left || (is_left() && store_->jobs().of(bad).at(0).epoch > 1);
    return was_left && has_ended(good);
  });
  EXPECT_TRUE(was_left);
  EXPECT_EQ(store_->run(good)->status, RunStatus::done);
  refusing_.history.reset();
  work(refusing_, [&] { return has_ended(bad); });
  EXPECT_EQ(store_->run(bad)->status, RunStatus::done);
}

}  // namespace
}  // namespace cairn
