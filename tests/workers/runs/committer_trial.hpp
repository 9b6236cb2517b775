// A committer for its tests: its actions are carried out one by one, in an order the test chooses; and runs of small
// graphs on a store in memory. For one thread.
#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph_parsing.hpp"
#include "storage/commit_rules.hpp"
#include "storage/memory/memory_store.hpp"
#include "tests/storage/forwarding_store.hpp"
#include "tests/workers/session/times.hpp"
#include "tests/workers/small_graphs.hpp"
#include "workers/catalogue.hpp"
#include "workers/client.hpp"
#include "workers/ids.hpp"
#include "workers/runs/committer.hpp"
#include "workers/runs/history.hpp"

namespace cairn::test {

// A committer with a store, whose actions are carried out one by one in an order the test chooses.
class Driven {
 public:
  using Change = std::function<void(CommitterOptions&)>;
  Driven(Store& store, SessionId session, std::int64_t snapshot_events = 2'000, const Change& change = {})
      : store_(store), committer_(options(store, session, snapshot_events, change)) {
    read_names();
    committer_.tick(noon);
    committer_.set_queues({{"default", GoesOn::open}, {"echo", GoesOn::open}});
  }

  Committer& operator*() { return committer_; }
  Committer* operator->() { return &committer_; }

  Ticket submit(const RunId& run, Command command, std::optional<Fence> fence = {}, bool may_keep = false) {
    Submission submission{.ticket = ++last_, .run = run, .command = std::move(command), .fence = fence};
    if (may_keep) submission.keep_in = "default";
    committer_.submit(std::move(submission));
    return last_;
  }

  void read_names() {
    for (const GraphRow& row : store_.graphs().all())
      committer_.add_graph(stored_graph(parse_stored(row.text), row.version), row.current);
    ++names_read;
  }

  // Takes new actions; true if something is left to be carried out.
  bool collect() {
    committer_.set_capacity({.is_accepting = keeps, .free_slots = 1'000});
    CommitterActions actions = committer_.drain_actions();
    for (Load& load : actions.loads) loads_.push_back(load);
    for (CommitBatch& batch : actions.commits) commits_.push_back(batch);
    for (LockedCommit& commit : actions.locked_commits) locked_commits_.push_back(std::move(commit));
    for (PutSnapshot& snapshot : actions.snapshots) store_.snapshots().put(snapshot.run, snapshot.row);
    snapshots += static_cast<int>(actions.snapshots.size());
    for (HeldJob& job : actions.created_held) created_held.push_back(std::move(job));
    gone_back.insert(gone_back.end(), actions.gone_back.begin(), actions.gone_back.end());
    for (Reply& reply : actions.replies) {
      EXPECT_FALSE(replies.contains(reply.ticket)) << "answered twice";
      replies.emplace(reply.ticket, std::move(reply));
    }
    return !loads_.empty() || !commits_.empty() || !locked_commits_.empty();
  }

  // The store locks the runs of the oldest locked commit, and writes what is decided.
  void commit_locked() {
    const LockedCommit commit = locked_commits_.front();
    locked_commits_.erase(locked_commits_.begin());
    LockedCommitted committed = store_.commit_locked(commit.shard, commit.runs, [&](std::vector<LockedRun> runs) {
      for (const LockedRun& run : runs) missed += std::ssize(run.missed);
      return committer_.decide_locked(commit.batch, std::move(runs));
    });
    std::move(committed.claimed.begin(), committed.claimed.end(), std::back_inserter(refilled));
    committer_.verdicts(commit.batch, std::move(committed.verdicts));
  }

  void step(std::mt19937& random) {
    const bool has_others = !loads_.empty() || !commits_.empty();
    if (!locked_commits_.empty() && (!has_others || random() % 2 == 0)) return commit_locked();
    const bool is_load = commits_.empty() || (!loads_.empty() && random() % 2 == 0);
    if (is_load) {
      const Load load = take(loads_, random);
      if (load.names) read_names();
      committer_.history(std::move(read_histories(store_, {&load, 1}).front()));
    } else {
      const CommitBatch batch = take(commits_, random);
      committer_.verdicts(batch.batch, store_.commit(batch.shard, *batch.entries, {}));
    }
  }

  void settle() {
    std::mt19937 random(1);
    while (collect()) step(random);
    EXPECT_TRUE(committer_.idle());
  }

  const Reply& reply(Ticket ticket) {
    EXPECT_TRUE(replies.contains(ticket));
    return replies[ticket];
  }

  std::vector<CommitBatch>& commits() { return commits_; }
  std::vector<LockedCommit>& locked_commits() { return locked_commits_; }
  std::vector<Load>& loads() { return loads_; }

  std::map<Ticket, Reply> replies;
  std::vector<HeldJob> created_held;
  std::vector<GoneBack> gone_back;
  int snapshots = 0;
  int names_read = 0;
  std::ptrdiff_t missed = 0;      // events that locks brought along
  std::vector<HeldJob> refilled;  // jobs that locked commits took along
  bool keeps = true;

 private:
  CommitterOptions options(Store& store, SessionId session, std::int64_t snapshot_events, const Change& change) {
    CommitterOptions of;
    of.snapshot_events = snapshot_events;
    of.shards = store.shards();
    of.actor = "user:test";
    of.tools = &tools_;
    of.session = session;
    of.new_id = new_run_id;
    of.draw = [] { return 0.5; };
    of.new_commit = next_commit_id;
    if (change) change(of);
    return of;
  }
  template <class T>
  T take(std::vector<T>& from, std::mt19937& random) {
    const auto at = from.begin() + static_cast<std::ptrdiff_t>(random() % from.size());
    T taken = std::move(*at);
    from.erase(at);
    return taken;
  }

  const ToolTable tools_{{"echo", ToolFacts{}}};
  Store& store_;
  Committer committer_;
  Ticket last_ = 0;
  std::vector<Load> loads_;
  std::vector<CommitBatch> commits_;
  std::vector<LockedCommit> locked_commits_;
};

// A store in which one run is of a newer release, until it is readable.
class NewerRelease final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::vector<StoredHistory> histories(std::span<const HistoryRequest> requests, std::int32_t limit) override {
    std::vector<StoredHistory> found = ForwardingStore::histories(requests, limit);
    for (std::size_t at = 0; at < requests.size(); ++at)
      if (requests[at].run == newer)
        for (EventRow& row : found[at].events) row.version = 9;
    return found;
  }
  RunId newer;
};

class CommitterTest : public ::testing::Test {
 protected:
  CommitterTest() : store_(make_memory_store(1, [this] { return now_; })), catalogue_(small_catalogue()) {
    client_ = client_with_graphs(*store_, *catalogue_);
  }
  RunId start(const std::string& graph, Json input = Json::object()) {
    StartRun command;
    command.graph = graph;
    command.input = std::move(input);
    return client_->start(std::move(command), "")->run;
  }
  HeldJob claim(SessionId session) { return claim(*store_, session); }
  static HeldJob claim(Store& store, SessionId session) {
    ClaimRequest request;
    request.queues = {"default", std::string(timer_queue)};
    request.session = session;
    request.now_us = noon + 1'000'000'000;
    std::vector<HeldJob> jobs = store.claim(request).jobs;
    EXPECT_EQ(jobs.size(), 1u);
    return jobs.empty() ? HeldJob{} : jobs[0];
  }
  static Fence fence(const HeldJob& job) { return {job.job.branch, job.session, job.epoch, job.job.step}; }
  static CompleteStep complete(const HeldJob& job, Json patch = Json::object()) {
    return {job.job.step, job.job.attempt, {"ok", std::move(patch), {}}, job.session, noon, 0};
  }
  RunStatus status(const RunId& run) { return store_->run(run)->status; }

  TimeUs now_ = noon;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Catalogue> catalogue_;
  std::unique_ptr<Client> client_;
};

}  // namespace cairn::test
