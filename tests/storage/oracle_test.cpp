// The store in memory as oracle: the same random commands get the same answers.
#include <map>
#include <random>

#include "storage/memory/memory_store.hpp"
#include "tests/storage/set_limits.hpp"
#include "tests/storage/store_test.hpp"

namespace cairn {
namespace {

using namespace test;
using Kind = Verdict::Kind;

class OracleTest : public StoreTest {};

// The same random commands go to the store and to the model; every answer must agree.
class Twins {
 public:
  Twins(Store& store, Shard shard, std::uint64_t seed)
      : store_(store), model_(make_memory_store(store.shards(), [] { return noon; })), shard_(shard), random_(seed) {}

  void run(int rounds) {
    for (int n = 0; n < rounds && !::testing::Test::HasFailure(); ++n) {
      switch (pick(9)) {
        case 0:
        case 1:
          claim();
          break;
        case 2:
        case 3:
          release();
          break;
        case 4:
          set_queue();
          break;
        default:
          commit();
          break;
      }
      compare();
    }
  }

 private:
  struct Known {
    std::int64_t head = 0;
    Hash in_store{};
    Hash in_model{};
    bool open = true;
  };

  int pick(int below) { return static_cast<int>(random_() % static_cast<std::uint64_t>(below)); }

  void commit() {
    std::vector<Entry> batch;
    for (int n = pick(4); n >= 0; --n) add_entry(batch);
    std::vector<Entry> for_model = batch;
    for (std::size_t at = 0; at < batch.size(); ++at) {
      batch[at].chain_before = known_[batch[at].run.id].in_store;
      for_model[at].chain_before = known_[batch[at].run.id].in_model;
    }
    const std::vector<Verdict> ours = store_.commit(shard_, batch, {});
    const std::vector<Verdict> models = model_->commit(shard_, for_model, {});
    for (std::size_t at = 0; at < batch.size(); ++at) {
      EXPECT_EQ(ours[at].kind, models[at].kind);
      EXPECT_EQ(ours[at].head, models[at].head);
      EXPECT_EQ(ours[at].stale, models[at].stale);
      if (ours[at].kind != Kind::committed) continue;
      known_[batch[at].run.id] = {ours[at].head, ours[at].chain_hash, models[at].chain_hash,
                                  !is_ended(batch[at].run.status)};
    }
  }

  void add_entry(std::vector<Entry>& batch) {
    const bool fresh = known_.empty() || pick(4) == 0;
    const RunId id = fresh ? run_on(shard_, store_.shards()) : some_run();
    for (const Entry& entry : batch) {
      if (entry.run.id == id) return;
    }
    Known& known = known_[id];
    Entry entry;
    entry.run.id = id;
    entry.run.version = "v";
    entry.run.status = pick(8) == 0 ? RunStatus::done : RunStatus::running;
    entry.head_before = known.head > 0 && pick(8) == 0 ? known.head - 1 : known.head;
    entry.link = pick(3) == 0 ? 1 : 0;
    for (int n = 0, events = 1 + pick(3); n < events; ++n) {
      EventRow event;
      event.seq = entry.head_before + n + 1;
      event.payload = "{}";
      entry.events.push_back(std::move(event));
    }
    add_jobs(entry, model_->jobs().of(id));
    batch.push_back(std::move(entry));
  }

  void add_jobs(Entry& entry, const std::vector<HeldJob>& jobs) {
    for (BranchId branch = 1; branch <= 4; ++branch) {
      const HeldJob* found = nullptr;
      for (const HeldJob& job : jobs) {
        if (job.job.branch == branch) found = &job;
      }
      const Job job = job_of(branch, pick(5), noon + pick(3), pick(2) == 0 ? "default" : "other", pick(3));
      if (found != nullptr && found->session != 0 && pick(2) == 0) {
        entry.fences.push_back(fence_of(*found));
        entry.fences.back().epoch += pick(8) == 0 ? 1 : 0;
        if (pick(2) == 0) entry.jobs.push_back(keep(job));
      } else if (const int op = pick(6); op == 0) {
        entry.jobs.push_back(offer(job));
      } else if (op == 1) {
        entry.jobs.push_back(adjust(job));
      } else if (op == 2) {
        entry.jobs.push_back(drop(branch));
      } else if (op == 3 && found == nullptr) {
        entry.jobs.push_back(hold(job, 7));
      }
    }
  }

  void claim() {
    ClaimRequest request = claim_request(1 + pick(3), 1 + pick(4), shard_);
    if (pick(4) == 0 && !known_.empty()) request.only_runs = {some_run(), some_run()};
    const std::vector<HeldJob> ours = store_.claim(request).jobs;
    const std::vector<HeldJob> models = model_->claim(request).jobs;
    ASSERT_EQ(ours.size(), models.size());
    for (std::size_t at = 0; at < ours.size(); ++at) expect_same(ours[at], models[at]);
  }

  void set_queue() {
    QueueLimits settings{.name = "default"};
    if (pick(2) == 0) settings.concurrency = 1 + pick(6);
    settings.paused = pick(4) == 0;
    EXPECT_TRUE(set_limits(store_, settings));
    EXPECT_TRUE(set_limits(*model_, settings));
  }

  void release() {
    std::vector<std::pair<RunId, Fence>> holds;
    for (const HeldJob& held : model_->sessions().held_by(1 + pick(3), 5, {})) {
      holds.emplace_back(held.run, fence_of(held));
      if (pick(6) == 0) ++holds.back().second.step;
    }
    const TimeUs run_at_us = noon + pick(5);
    EXPECT_EQ(store_.jobs().release(holds, run_at_us), model_->jobs().release(holds, run_at_us));
  }

  void compare() {
    for (const auto& [id, known] : known_) {
      const auto ours = store_.run(id);
      const auto models = model_->run(id);
      ASSERT_EQ(ours.has_value(), models.has_value());
      if (!ours) continue;
      EXPECT_EQ(ours->head, models->head);
      EXPECT_EQ(ours->status, models->status);
      const std::vector<HeldJob> jobs = store_.jobs().of(id);
      const std::vector<HeldJob> model_jobs = model_->jobs().of(id);
      ASSERT_EQ(jobs.size(), model_jobs.size());
      for (std::size_t at = 0; at < jobs.size(); ++at) expect_same(jobs[at], model_jobs[at]);
    }
  }

  static void expect_same(const HeldJob& ours, const HeldJob& models) {
    EXPECT_EQ(ours.run, models.run);
    EXPECT_EQ(ours.job, models.job);
    EXPECT_EQ(ours.session, models.session);
    EXPECT_EQ(ours.epoch, models.epoch);
    EXPECT_EQ(ours.deadline_us, models.deadline_us);
    EXPECT_EQ(ours.run_head, models.run_head);
  }

  RunId some_run() {
    auto at = known_.begin();
    std::advance(at, pick(static_cast<int>(known_.size())));
    return at->first;
  }

  Store& store_;
  std::unique_ptr<Store> model_;
  Shard shard_;
  std::mt19937_64 random_;
  std::map<RunId, Known> known_;
};

TEST_P(OracleTest, random_commands_get_the_answers_of_the_model) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Twins(store(), last_shard(), seed).run(150);
}

INSTANTIATE_TEST_SUITE_P(Stores, OracleTest, ::testing::ValuesIn(every_store()), name_of_store);

}  // namespace
}  // namespace cairn
