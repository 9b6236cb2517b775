// A feed with the runs of a test, on one server and on a Citus cluster where there is one. Not thread-safe.
#pragma once

#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "storage/feed/feed.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/storage/test_runs.hpp"

namespace cairn::test {

inline constexpr std::int32_t shards_of_feed = 8;

// The events that a consumer got, as it got them.
using Got = std::map<RunId, std::vector<std::int64_t>>;

class FeedTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const bool is_cluster = std::string(GetParam()) == "citus";
    open(is_cluster ? new_distributed_database(shards_of_feed) : new_database(shards_of_feed));
  }
  void open(const std::string& dsn) {
    dsn_ = dsn;
    store_ = store_on(dsn_);
    open_feed();
  }
  void open_feed(FeedLimits limits = {}) {
    feed_ = std::make_unique<Feed>(dsn_, shards_of_feed, store_->identity(), limits);
  }

  TestRun& new_run(Shard shard) { return *runs_.emplace_back(std::make_unique<TestRun>(*store_, shard)); }
  void commit(TestRun& run, int events = 1) { ASSERT_EQ(run.commit(run.entry(events)).kind, Verdict::Kind::committed); }
  // A run of three commits in each shard.
  void commit_some() {
    for (Shard shard = 0; shard < shards_of_feed; ++shard) {
      TestRun& run = new_run(shard);
      for (const int events : {1, 3, 2}) commit(run, events);
    }
  }

  // Reads pages until the last one. The cursor after it.
  std::string read_all(const std::string& name, Got& got, std::int32_t limit = 100, std::string cursor = "") {
    for (;;) {
      const Result<FeedPage> page = feed_->page(name, cursor, limit);
      EXPECT_TRUE(page) << page.error().message;
      if (!page) return cursor;
      for (const FeedEvent& event : page->events) got[event.run].push_back(event.row.seq);
      cursor = to_text(page->cursor);
      if (page->is_last) return cursor;
    }
  }
  // All events of all runs, each once.
  Got all() const {
    Got all;
    for (const auto& run : runs_)
      for (std::int64_t seq = 1; seq <= run->head; ++seq) all[run->id()].push_back(seq);
    return all;
  }
  static Got once(const Got& got) {
    Got sorted;
    for (const auto& [run, seqs] : got) {
      const std::set<std::int64_t> one(seqs.begin(), seqs.end());
      sorted[run].assign(one.begin(), one.end());
    }
    return sorted;
  }
  std::int64_t rows() const { return ask_number(dsn_, "select count(*) from cairn.feed"); }
  void add(const std::string& name, FeedStart from = FeedStart::history, const FeedFilter& filter = {}) {
    const Status added = feed_->add({.name = name, .filter = filter, .created_by = "user:ann"}, from);
    ASSERT_TRUE(added) << added.error().message;
  }

  std::string dsn_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Feed> feed_;
  std::vector<std::unique_ptr<TestRun>> runs_;
};

inline std::vector<const char*> servers_of_feed() {
  return has_citus_cluster() ? std::vector<const char*>{"one_server", "citus"} : std::vector<const char*>{"one_server"};
}

inline std::string name_of_server(const ::testing::TestParamInfo<const char*>& one) { return one.param; }

}  // namespace cairn::test
