// Many rows of the feed that wait: to be removed, to get a position, or to be read.
#include "tests/storage/feed/feed_rig.hpp"

namespace cairn::test {
namespace {

class FeedBacklog : public FeedTest {
 protected:
  // Commits of one run, each a row.
  void commit_rows(TestRun& run, int count) {
    for (int n = 0; n < count; ++n) commit(run);
  }
  void take_all(const std::string& name) {
    Got got;
    const Status moved = feed_->confirm(name, read_all(name, got));
    ASSERT_TRUE(moved) << moved.error().message;
  }
};
INSTANTIATE_TEST_SUITE_P(Feeds, FeedBacklog, ::testing::ValuesIn(servers_of_feed()), name_of_server);

TEST_P(FeedBacklog, that_a_consumer_leaves_goes_in_portions_and_each_confirm_removes_one_at_least) {
  open_feed({.trimmed_at_once = 4, .trimmed_for_us = 0});
  add("works", FeedStart::now);
  add("away", FeedStart::now);
  TestRun& run = new_run(3);
  commit_rows(run, 10);
  take_all("works");
  EXPECT_EQ(rows(), 10);
  ask(dsn_, "delete from cairn.feed_consumer where name = 'away'");  // a removal that was cut short
  for (const std::int64_t left : {7, 4, 1}) {
    commit(run);
    take_all("works");
    EXPECT_EQ(rows(), left);
  }
}

// A consumer may read a day's commits and confirm them once.
TEST_P(FeedBacklog, of_several_portions_goes_with_one_confirm_while_there_is_time) {
  open_feed({.trimmed_at_once = 4});
  add("nightly", FeedStart::now);
  commit_rows(new_run(3), 30);
  take_all("nightly");
  EXPECT_EQ(rows(), 1);
}

TEST_P(FeedBacklog, of_several_portions_goes_with_its_consumer) {
  open_feed({.trimmed_at_once = 4});
  add("works", FeedStart::now);
  add("away", FeedStart::now);
  for (Shard shard = 0; shard < shards_of_feed; ++shard) commit_rows(new_run(shard), 10);
  take_all("works");
  EXPECT_EQ(rows(), 10 * shards_of_feed);
  ASSERT_TRUE(feed_->remove("away"));
  EXPECT_EQ(rows(), shards_of_feed);
}

TEST_P(FeedBacklog, that_a_removal_left_goes_with_another_removal_of_that_name) {
  open_feed({.trimmed_at_once = 4});
  add("away", FeedStart::now);
  commit_rows(new_run(3), 10);
  take_all("away");
  commit_rows(*runs_.back(), 10);
  EXPECT_EQ(feed_->page("away", "", 100)->events.size(), 10u);  // so they have positions
  ask(dsn_, "delete from cairn.feed_consumer");
  EXPECT_GT(rows(), 10);
  EXPECT_EQ(feed_->remove("away").error().code, Code::not_found);
  EXPECT_EQ(rows(), 1);
}

// The first page came when all rows had their positions: after minutes, where days of them waited.
TEST_P(FeedBacklog, of_rows_without_positions_holds_up_no_page_and_is_given_in_order) {
  open_feed({.numbered_at_once = 4});
  add("late", FeedStart::now);
  commit_rows(new_run(3), 10);
  const Result<FeedPage> first = feed_->page("late", "", 1);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->events.size(), 1u);
  EXPECT_FALSE(first->is_last);
  EXPECT_TRUE(first->has_more);
  EXPECT_EQ(ask_number(dsn_, "select count(*) from cairn.feed where position is not null"), 4);
  for (Shard shard = 0; shard < shards_of_feed; ++shard) commit_rows(new_run(shard), 9);
  for (const std::int32_t limit : {1, 100}) {
    Got got;
    read_all("late", got, limit);
    EXPECT_EQ(got, all()) << limit;
  }
}

TEST_P(FeedBacklog, of_rows_without_positions_is_counted_to_a_limit_and_says_so) {
  open_feed({.counted_at_most = 4});
  add("one", FeedStart::now);
  add("two", FeedStart::now);
  commit_rows(new_run(3), 10);
  for (const FeedStanding& standing : feed_->consumers()) {
    EXPECT_EQ(standing.behind, 4);
    EXPECT_TRUE(standing.is_more);
    EXPECT_TRUE(standing.oldest);
  }
  ASSERT_TRUE(feed_->page("one", "", 1));
  for (const FeedStanding& standing : feed_->consumers()) {
    EXPECT_EQ(standing.behind, 10);
    EXPECT_FALSE(standing.is_more);
  }
}

TEST_P(FeedBacklog, of_runs_that_were_archived_before_it_was_read_is_counted_as_missing) {
  add("late", FeedStart::now);
  TestRun &gone = new_run(3), &kept = new_run(3);
  commit(gone, 3);
  commit(kept, 2);
  commit(gone, 2);
  for (const char* table : {"event", "run"})
    ask(dsn_, "delete from cairn." + std::string(table) + " where run_id = '" + to_string(gone.id()) + "'");
  for (const std::int32_t limit : {1, 3, 100}) {
    std::int64_t missing = 0;
    Got got;
    std::string cursor;
    for (bool is_last = false; !is_last;) {
      const Result<FeedPage> page = feed_->page("late", cursor, limit);
      ASSERT_TRUE(page) << page.error().message;
      for (const FeedEvent& event : page->events) got[event.run].push_back(event.row.seq);
      missing += page->missing;
      cursor = to_text(page->cursor);
      is_last = page->is_last;
    }
    EXPECT_EQ(got, (Got{{kept.id(), {1, 2}}})) << limit;
    EXPECT_EQ(missing, 5) << limit;
  }
}

// A page of many bytes ends within what it asked for, and the next one asks for the rest again.
TEST_P(FeedBacklog, of_runs_that_are_there_lacks_nothing_where_pages_are_cut_by_bytes) {
  add("large", FeedStart::now);
  TestRun &run = new_run(5), &gone = new_run(5);
  commit(gone, 2);
  Entry entry = run.entry(12);
  for (EventRow& event : entry.events) event.payload = "{\"text\":\"" + std::string(900'000, 'x') + "\"}";
  run.commit(entry);
  commit(gone, 1);
  for (const char* table : {"event", "run"})
    ask(dsn_, "delete from cairn." + std::string(table) + " where run_id = '" + to_string(gone.id()) + "'");
  std::int64_t missing = 0, events = 0;
  std::string cursor;
  for (bool is_last = false; !is_last;) {
    const Result<FeedPage> page = feed_->page("large", cursor, 1'000);
    ASSERT_TRUE(page) << page.error().message;
    missing += page->missing;
    events += std::ssize(page->events);
    cursor = to_text(page->cursor);
    is_last = page->is_last;
  }
  EXPECT_EQ(events, 12);
  EXPECT_EQ(missing, 3);
}

class FailingTrim : public FeedTest {};
INSTANTIATE_TEST_SUITE_P(Feeds, FailingTrim, ::testing::Values("one_server"), name_of_server);

TEST_P(FailingTrim, does_not_fail_the_confirm_that_has_moved_the_place) {
  add("works", FeedStart::now);
  TestRun& run = new_run(3);
  commit(run);
  commit(run);
  ask(dsn_,
      "create function cairn.refuse_to_trim() returns trigger language plpgsql as "
      "$$ begin raise exception 'no row goes'; end $$");
  ask(dsn_,
      "create trigger refuse_to_trim before delete on cairn.feed for each statement "
      "execute function cairn.refuse_to_trim()");
  Got got;
  const Status moved = feed_->confirm("works", read_all("works", got));
  EXPECT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(feed_->consumers().at(0).behind, 0);
  EXPECT_EQ(rows(), 2);
  ask(dsn_, "drop trigger refuse_to_trim on cairn.feed");
  commit(run);
  ASSERT_TRUE(feed_->confirm("works", read_all("works", got)));
  EXPECT_EQ(rows(), 1);
}

}  // namespace
}  // namespace cairn::test
