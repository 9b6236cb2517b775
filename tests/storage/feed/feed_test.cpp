// The feed: each event of each run, at least once and in its run's order, whatever becomes visible late.
#include "storage/feed/feed.hpp"

#include <future>
#include <limits>
#include <thread>

#include "storage/proof/run_records.hpp"
#include "tests/storage/feed/feed_rig.hpp"
#include "tests/waiting.hpp"

namespace cairn::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Feeds, FeedTest, ::testing::ValuesIn(servers_of_feed()), name_of_server);

TEST_P(FeedTest, gives_history_and_then_what_is_committed_in_the_order_of_each_run) {
  commit_some();
  for (const std::int32_t limit : {1, 2, 7, 1'000}) {
    SCOPED_TRACE(limit);
    const std::string name = "of_" + std::to_string(limit);
    add(name);
    Got got;
    const std::string cursor = read_all(name, got, limit);
    EXPECT_EQ(got, all());
    commit_some();
    for (const auto& run : runs_) commit(*run, 2);
    read_all(name, got, limit, cursor);
    EXPECT_EQ(got, all());
  }
}

TEST_P(FeedTest, gives_a_batch_of_many_runs_in_parts) {
  add("parts");
  std::vector<Entry> batch;
  for (int n = 0; n < 20; ++n) batch.push_back(new_run(3).entry(n % 4 + 1));
  for (std::size_t at = 0; at < batch.size(); ++at) {
    const Verdict verdict = store_->commit(3, {&batch[at], 1}, {})[0];
    runs_[at]->moved(batch[at], verdict);
  }
  batch.clear();
  for (const auto& run : runs_) batch.push_back(run->entry(3));
  const std::vector<Verdict> verdicts = store_->commit(3, batch, {});
  for (std::size_t at = 0; at < batch.size(); ++at) runs_[at]->moved(batch[at], verdicts[at]);
  for (const std::int32_t limit : {1, 4, 11}) {
    Got got;
    read_all("parts", got, limit);
    EXPECT_EQ(got, all()) << limit;
  }
}

TEST_P(FeedTest, begins_now_if_asked) {
  commit_some();
  add("later", FeedStart::now);
  Got got;
  const std::string cursor = read_all("later", got);
  EXPECT_TRUE(got.empty());
  TestRun& run = new_run(2);
  commit(run, 2);
  read_all("later", got, 100, cursor);
  EXPECT_EQ(got, (Got{{run.id(), {1, 2}}}));
}

TEST_P(FeedTest, goes_on_at_the_place_that_was_confirmed) {
  add("slow");
  add("quick");
  commit_some();
  Got got;
  const std::string cursor = read_all("quick", got);
  ASSERT_TRUE(feed_->confirm("quick", cursor));
  EXPECT_GE(rows(), 24);  // slow has nothing yet
  Got again;
  read_all("quick", again);
  EXPECT_TRUE(again.empty());
  read_all("slow", again);
  EXPECT_EQ(again, all());
}

TEST_P(FeedTest, keeps_nothing_that_all_consumers_have) {
  add("one");
  add("two");
  for (int round = 0; round < 3; ++round) {
    commit_some();
    for (const char* name : {"one", "two"}) {
      Got got;
      ASSERT_TRUE(feed_->confirm(name, read_all(name, got)));
      EXPECT_EQ(once(got).size(), std::size_t{shards_of_feed});
    }
    EXPECT_EQ(rows(), shards_of_feed);  // the newest of each shard says where positions go on
  }
  ASSERT_TRUE(feed_->remove("one"));
  ASSERT_TRUE(feed_->remove("two"));
  commit_some();
  EXPECT_EQ(rows(), shards_of_feed);
  EXPECT_EQ(ask_number(dsn_, "select count(*) from cairn.feed_place"), 0);
}

TEST_P(FeedTest, a_place_without_its_consumer_holds_nothing_up_and_is_removed_by_its_name) {
  add("one");
  ask(dsn_,
      "insert into cairn.feed_place (shard, consumer, position, skip, moved_at) "
      "select n, 'gone', 0, 0, 0 from generate_series(0, 7) n");
  commit_some();
  Got got;
  ASSERT_TRUE(feed_->confirm("one", read_all("one", got)));
  EXPECT_EQ(rows(), shards_of_feed);
  const Status removed = feed_->remove("gone");
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, Code::not_found);
  EXPECT_EQ(ask_number(dsn_, "select count(*) from cairn.feed_place"), shards_of_feed) << "those of the other one stay";
}

TEST_P(FeedTest, says_how_far_each_consumer_is) {
  commit_some();
  add("reader");
  EXPECT_TRUE(feed_->consumers().at(0).reads_history);
  Got got;
  ASSERT_TRUE(feed_->confirm("reader", read_all("reader", got)));
  EXPECT_FALSE(feed_->consumers().at(0).reads_history);
  EXPECT_EQ(feed_->consumers().at(0).behind, 0);
  EXPECT_FALSE(feed_->consumers().at(0).oldest);
  commit_some();
  const FeedStanding standing = feed_->consumers().at(0);
  EXPECT_EQ(standing.behind, 3 * shards_of_feed);
  EXPECT_TRUE(standing.oldest);
  EXPECT_EQ(standing.consumer.created_by, "user:ann");
}

TEST_P(FeedTest, passes_over_what_its_filter_does_not_name) {
  TestRun& other = new_run(1);
  other.row.graph = "other_graph";
  other.row.tags = {{"tenant", "acme"}, {"kind", "x"}};
  add("graphs", FeedStart::history, {.graph = "other_graph"});
  add("tags", FeedStart::history, {.tags = {{"tenant", "acme"}}});
  add("types", FeedStart::history, {.types = {"run_started"}});
  commit(other, 3);
  TestRun& run = new_run(1);
  commit(run, 2);
  commit(other, 1);
  const Got only_other = {{other.id(), {1, 2, 3, 4}}};
  const std::map<std::string, Got> expected = {
      {"graphs", only_other}, {"tags", only_other}, {"types", {{other.id(), {1}}, {run.id(), {1}}}}};
  for (const auto& [name, events] : expected) {
    Got got;
    const std::string cursor = read_all(name, got, 2);
    EXPECT_EQ(got, events) << name;
    ASSERT_TRUE(feed_->confirm(name, cursor));
    EXPECT_TRUE(feed_->page(name, "", 10)->is_last) << name;
  }
}

TEST_P(FeedTest, cuts_a_page_by_bytes_and_loses_nothing) {
  add("large");
  for (const bool is_history : {false, true}) {
    SCOPED_TRACE(is_history);
    TestRun& run = new_run(5);
    Entry entry = run.entry(12);
    for (EventRow& event : entry.events) event.payload = "{\"text\":\"" + std::string(900'000, 'x') + "\"}";
    run.commit(entry);
    const std::string name = is_history ? "large_history" : "large";
    if (is_history) add(name);
    const Result<FeedPage> first = feed_->page(name, "", 1'000);
    ASSERT_TRUE(first);
    EXPECT_LT(first->events.size(), 12u);
    Got got;
    read_all(name, got, 1'000);
    EXPECT_EQ(got, all());
  }
}

TEST_P(FeedTest, refuses_what_means_nothing_to_it) {
  add("known");
  EXPECT_EQ(feed_->add({.name = "known"}, FeedStart::now).error().code, Code::conflict);
  EXPECT_EQ(feed_->page("unknown", "", 1).error().code, Code::not_found);
  EXPECT_EQ(feed_->confirm("unknown", "x").error().code, Code::not_found);
  EXPECT_EQ(feed_->remove("unknown").error().code, Code::not_found);
  const std::string cursor = to_text(feed_->page("known", "", 1)->cursor);
  for (const std::string& text : {std::string("x"), cursor + ".0", cursor.substr(0, cursor.size() - 2), cursor + "h7"})
    EXPECT_EQ(feed_->page("known", text, 1).error().code, Code::invalid) << text;
  ASSERT_TRUE(feed_->remove("known"));
  add("known");
  const Result<FeedPage> of_another = feed_->page("known", cursor, 1);
  ASSERT_FALSE(of_another);
  EXPECT_EQ(of_another.error().message,
            "Expected a cursor of consumer known, but it is of another one, or of one of that name before.");
}

TEST_P(FeedTest, refuses_a_cursor_of_a_history_that_was_lost) {
  add("ahead");
  commit_some();
  Got got;
  Result<FeedCursor> cursor = parse_feed_cursor(read_all("ahead", got), shards_of_feed);
  ASSERT_TRUE(cursor);
  cursor->places[3].position += 5;
  EXPECT_EQ(feed_->page("ahead", to_text(*cursor), 10).error().code, Code::conflict);
  const Status confirmed = feed_->confirm("ahead", to_text(*cursor));
  ASSERT_FALSE(confirmed) << "rows that are still to come would be trimmed before it has read them";
  EXPECT_EQ(confirmed.error().code, Code::conflict);
  Got again;
  read_all("ahead", again);
  EXPECT_EQ(again, all());
}

TEST_P(FeedTest, refuses_a_cursor_after_which_rows_were_removed) {
  add("restored");
  TestRun& run = new_run(3);
  Got got;
  std::vector<std::string> cursors;
  for (int n = 0; n < 4; ++n) {
    commit(run, 2);
    cursors.push_back(read_all("restored", got));
  }
  ASSERT_TRUE(feed_->confirm("restored", cursors[1]));
  got.clear();
  ASSERT_TRUE(feed_->confirm("restored", cursors[3]));
  const Result<FeedPage> page = feed_->page("restored", cursors[0], 100);
  ASSERT_FALSE(page) << "the events between were skipped";
  EXPECT_EQ(page.error().code, Code::conflict);
  EXPECT_EQ(page.error().message,
            "Expected the rows of the feed from this cursor on, but they were removed when all consumers had confirmed "
            "them: remove consumer restored and add it again, from the history.");
  const Status back = feed_->confirm("restored", cursors[0]);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, Code::conflict);
  EXPECT_FALSE(feed_->page("restored", cursors[2], 100)) << "the row that would prove it is gone";
  commit(run, 2);
  read_all("restored", got, 100, cursors[3]);
  EXPECT_EQ(got, (Got{{run.id(), {9, 10}}}));
  ASSERT_TRUE(feed_->confirm("restored", read_all("restored", got)));
  EXPECT_TRUE(feed_->page("restored", "", 100)->is_last);
}

TEST_P(FeedTest, goes_back_where_it_is_asked_to_a_cursor_whose_rows_another_consumer_keeps) {
  add("back");
  add("slow");
  commit_some();
  Got got;
  const std::string first = to_text(feed_->page("back", "", 8)->cursor);
  const std::string last = read_all("back", got);
  ASSERT_TRUE(feed_->confirm("back", last));
  got.clear();
  read_all("back", got, 100, first);
  EXPECT_FALSE(got.empty());
  EXPECT_EQ(feed_->confirm("back", first).error().code, Code::conflict);
  ASSERT_TRUE(feed_->confirm("back", first, FeedMove::back));
  Got again;
  read_all("back", again);
  EXPECT_EQ(again, got);
}

// The slower of the two moved the place back, or was asked to begin again from the history.
TEST_P(FeedTest, the_slower_of_two_readers_of_one_name_is_refused_as_the_other_is_further) {
  commit_some();
  for (const bool is_kept : {true, false}) {
    SCOPED_TRACE(is_kept);
    add("shared");
    if (is_kept) add("keeps");
    commit_some();
    std::vector<std::string> slow = {to_text(feed_->page("shared", "", 4)->cursor)};
    slow.push_back(to_text(feed_->page("shared", slow[0], 40)->cursor));
    Got got;
    const std::string quick = read_all("shared", got);
    ASSERT_TRUE(feed_->confirm("shared", quick));
    for (const std::string& cursor : slow) {
      const Status refused = feed_->confirm("shared", cursor);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, Code::conflict);
      EXPECT_EQ(refused.error().message,
                "Expected a cursor from the place of consumer shared on, but another reader of this name has confirmed "
                "more: each reader needs a consumer of its own. `cairn feed confirm shared CURSOR --back` moves the "
                "place back all the same.");
    }
    EXPECT_TRUE(feed_->confirm("shared", quick)) << "it is there already";
    EXPECT_TRUE(feed_->page("shared", "", 100)->is_last);
    ASSERT_TRUE(feed_->remove("shared"));
    if (is_kept) {
      ASSERT_TRUE(feed_->remove("keeps"));
    }
  }
}

TEST_P(FeedTest, gives_nothing_to_a_consumer_that_was_not_added_to_the_end) {
  commit_some();
  add("half");
  ask(dsn_, "delete from cairn.feed_place where shard = 3");
  const Result<FeedPage> page = feed_->page("half", "", 10);
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().message,
            "Expected a place of consumer half in each of 8 shards, but found 7: it was not added to the end; remove "
            "it and add it again.");
  ASSERT_TRUE(feed_->remove("half"));
  add("half");
  Got got;
  read_all("half", got);
  EXPECT_EQ(got, all());
}

// A process was killed between the consumer's row and its places.
TEST_P(FeedTest, a_consumer_that_was_left_without_places_is_seen_and_is_taken_over_in_time) {
  commit_some();
  const std::int64_t now_us = ask_number(dsn_, "select extract(epoch from clock_timestamp()) * 1000000");
  const auto leave = [&](std::int64_t age_us) {
    ask(dsn_, "delete from cairn.feed_consumer");
    ask(dsn_,
        "insert into cairn.feed_consumer (name, id, created_at, graph, tags, types, created_by) "
        "values ('half', '0123456789ab', " +
            std::to_string(now_us - age_us) + ", null, '{}', '{}', 'user:ann')");
  };
  leave(0);
  EXPECT_EQ(feed_->add({.name = "half"}, FeedStart::history).error().code, Code::conflict) << "it may be under way";
  const FeedStanding standing = feed_->consumers().at(0);
  EXPECT_FALSE(standing.has_places);
  EXPECT_EQ(standing.oldest, standing.consumer.created_at);
  leave(600'000'000);
  add("half");
  EXPECT_TRUE(feed_->consumers().at(0).has_places);
  Got got;
  read_all("half", got);
  EXPECT_EQ(got, all());
  EXPECT_EQ(feed_->add({.name = "half"}, FeedStart::history).error().code, Code::conflict);
}

TEST_P(FeedTest, takes_any_numbers_of_a_cursor) {
  commit_some();
  add("numbers");
  Result<FeedCursor> cursor = parse_feed_cursor(to_text(feed_->page("numbers", "", 1)->cursor), shards_of_feed);
  ASSERT_TRUE(cursor);
  for (FeedPlace& place : cursor->places) place.skip = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(feed_->page("numbers", to_text(*cursor), 100));
}

TEST_P(FeedTest, has_runs_that_are_imported) {
  add("imports", FeedStart::now);
  const TestRun run(*store_, 4);
  const Entry entry = run.entry(3);
  Repair rows;
  rows.run = run.row;
  rows.run.head = 3;
  ImportOrigin origin;
  origin.by = "user:ann";
  ASSERT_TRUE(RunRecords(dsn_, shards_of_feed, 1).add(rows, entry.events, {}, origin));
  Got got;
  read_all("imports", got);
  EXPECT_EQ(got, (Got{{run.id(), {1, 2, 3}}}));
}

// Rows that were not numbered when a dump was made lie at places of the log that the new server comes to much later.
TEST_P(FeedTest, keeps_the_order_of_a_run_whose_rows_were_imported_into_a_server_with_a_younger_log) {
  add("restored", FeedStart::now);
  TestRun& run = new_run(3);
  commit(run, 2);
  commit(run);
  ask(dsn_, "update cairn.feed set lsn = 'FFFFFF/0'::pg_lsn + (lsn - '0/0'::pg_lsn)");
  feed_->number_all();
  commit(run, 2);
  Got got;
  read_all("restored", got);
  EXPECT_EQ(got, (Got{{run.id(), {1, 2, 3, 4, 5}}}));
}

TEST_P(FeedTest, needs_no_row_at_the_own_place_which_a_release_before_removes) {
  add("beside", FeedStart::now);
  TestRun& run = new_run(3);
  commit(run, 2);
  Got got;
  const std::string cursor = read_all("beside", got);
  ASSERT_TRUE(feed_->confirm("beside", cursor));
  commit(run, 2);
  read_all("beside", got);
  ask(dsn_, "delete from cairn.feed where position = 1");
  got.clear();
  read_all("beside", got, 100, cursor);
  EXPECT_EQ(got, (Got{{run.id(), {3, 4}}}));
}

// The rest is about one server. A copy of the database, as a standby that is promoted or a backup that is restored,
// has the same identity and goes on by itself.
class GoneBack : public FeedTest {
 protected:
  std::string copied() {
    const std::string name = ask_text(dsn_, "select current_database()");
    runs_.clear();
    feed_.reset();
    store_.reset();
    ask(cluster_dsn(), "create database " + name + "_copy template " + name);
    open(dsn_);
    return cluster_dsn() + " dbname=" + name + "_copy";
  }
  void expect_lost(const std::string& cursor) {
    const Result<FeedPage> page = feed_->page("reader", cursor, 100);
    ASSERT_FALSE(page) << "what the copy has at its positions was skipped";
    EXPECT_EQ(page.error().code, Code::conflict);
    EXPECT_EQ(page.error().message,
              "Expected a cursor of the history that is there, but this one is of another: the database has gone back "
              "since it was given. Without a cursor, consumer reader goes on from its place, which went back with it.");
    const Status confirmed = feed_->confirm("reader", cursor);
    ASSERT_FALSE(confirmed) << "so was the place";
    EXPECT_EQ(confirmed.error().message, page.error().message);
  }
};
INSTANTIATE_TEST_SUITE_P(Feeds, GoneBack, ::testing::Values("one_server"), name_of_server);

TEST_P(GoneBack, a_cursor_is_refused_also_once_others_stand_at_its_positions) {
  add("reader", FeedStart::now);
  commit(new_run(3), 2);
  Got got;
  const std::string shared = read_all("reader", got);
  ASSERT_TRUE(feed_->confirm("reader", shared));
  const std::string copy = copied();
  TestRun& lost = new_run(3);
  for (int n = 0; n < 3; ++n) commit(lost, 4);
  const std::string in_a_commit = to_text(feed_->page("reader", shared, 2)->cursor);
  const std::string after_all = read_all("reader", got);

  open(copy);
  TestRun& other = new_run(3);
  for (const bool is_overtaken : {false, true}) {
    SCOPED_TRACE(is_overtaken);
    for (int n = 0; n < (is_overtaken ? 7 : 1); ++n) commit(other, 4);
    expect_lost(in_a_commit);
    expect_lost(after_all);
  }
  for (const std::string& cursor : {shared, std::string()}) {
    got.clear();
    read_all("reader", got, 5, cursor);
    EXPECT_EQ(got[other.id()].size(), 32u) << cursor;
    EXPECT_EQ(got.size(), 1u);
  }
  EXPECT_EQ(feed_->consumers().at(0).behind, 8);
}

class FailingAdd : public FeedTest {};
INSTANTIATE_TEST_SUITE_P(Feeds, FailingAdd, ::testing::Values("one_server"), name_of_server);

TEST_P(FailingAdd, leaves_no_consumer) {
  ask(dsn_,
      "create function cairn.refuse_places() returns trigger language plpgsql as "
      "$$ begin raise exception 'no place is put'; end $$");
  ask(dsn_,
      "create trigger refuse_places before insert on cairn.feed_place for each statement "
      "execute function cairn.refuse_places()");
  EXPECT_THROW(static_cast<void>(feed_->add({.name = "half"}, FeedStart::now)), PostgresError);
  EXPECT_TRUE(feed_->consumers().empty());
  ask(dsn_, "drop trigger refuse_places on cairn.feed_place");
  add("half");
}

// A transaction is left open by hand.
class LateCommit : public FeedTest {
 protected:
  // The commit of the second event of a run of shard 2, as the store writes it, but for its COMMIT.
  static void write_second(PgConnection& slow, const TestRun& run) {
    slow.execute("BEGIN");
    slow.execute(
        "insert into cairn.event select shard, step, 2, at, commit, type, version, run_id, chain_hash, actor, "
        "payload from cairn.event where run_id = '" +
        to_string(run.id()) + "'");
    slow.execute(
        "insert into cairn.feed (shard, lsn, run_id, at, runs, firsts, lasts) values (2, pg_current_wal_insert_lsn(), "
        "'" +
        to_string(run.id()) + "', 0, array['" + to_string(run.id()) + "'::uuid], '{2}', '{2}')");
  }
};
INSTANTIATE_TEST_SUITE_P(Feeds, LateCommit, ::testing::Values("one_server"), name_of_server);

TEST_P(LateCommit, is_not_skipped_by_a_consumer_that_went_on_meanwhile) {
  add("patient");
  TestRun& late = new_run(2);
  commit(late, 1);
  Got got;
  ASSERT_TRUE(feed_->confirm("patient", read_all("patient", got)));

  PgConnection slow({dsn_, "slow", false});
  write_second(slow, late);
  TestRun& quick = new_run(2);
  commit(quick, 2);
  ASSERT_TRUE(feed_->confirm("patient", read_all("patient", got)));
  EXPECT_EQ(got, (Got{{late.id(), {1}}, {quick.id(), {1, 2}}}));
  slow.execute("COMMIT");
  read_all("patient", got);
  EXPECT_EQ(got, (Got{{late.id(), {1, 2}}, {quick.id(), {1, 2}}}));
}

// The test above means something: a reader that goes by what a commit has before it can be seen (a sequence's number, a
// place in the log) is past the late one when that becomes visible.
TEST_P(LateCommit, is_skipped_by_a_reader_in_the_order_of_the_log_and_not_by_one_of_the_feed) {
  add("patient", FeedStart::now);
  std::map<std::string, int> commits;  // that the naive reader got, by run
  std::string last = "0/0";
  const auto read_in_order_of_log = [&] {
    const PgResult rows =
        ask(dsn_, "select run_id::text, lsn::text from cairn.feed where lsn > '" + last + "' order by lsn");
    for (int row = 0; row < rows.rows(); ++row) {
      ++commits[std::string(rows.text(row, 0))];
      last = rows.text(row, 1);
    }
  };
  TestRun& late = new_run(2);
  commit(late, 1);
  read_in_order_of_log();
  PgConnection slow({dsn_, "slow", false});
  write_second(slow, late);
  TestRun& quick = new_run(2);
  commit(quick, 2);
  read_in_order_of_log();
  Got got;
  const std::string cursor = read_all("patient", got);
  slow.execute("COMMIT");
  read_in_order_of_log();
  EXPECT_EQ(commits, (std::map<std::string, int>{{to_string(late.id()), 1}, {to_string(quick.id()), 1}}))
      << "the late one came all the same: this shows nothing";
  read_all("patient", got, 100, cursor);
  EXPECT_EQ(got, (Got{{late.id(), {1, 2}}, {quick.id(), {1, 2}}}));
}

TEST_P(LateCommit, that_began_before_the_consumer_is_waited_for) {
  TestRun& run = new_run(6);
  commit(run, 1);
  // A commit that looked for consumers before there was one: it has locked the feed and written no row.
  PgConnection slow({dsn_, "slow", false});
  slow.execute("BEGIN");
  slow.execute(
      "insert into cairn.feed (shard, lsn, run_id, at, runs, firsts, lasts) select 6, '0/0', gen_random_uuid(), 0, "
      "'{}', '{}', '{}' where false");
  slow.execute(
      "insert into cairn.event select shard, step, 2, at, commit, type, version, run_id, chain_hash, actor, "
      "payload from cairn.event where run_id = '" +
      to_string(run.id()) + "'");
  std::future<Status> added =
      std::async(std::launch::async, [&] { return feed_->add({.name = "new"}, FeedStart::history); });
  ASSERT_TRUE(wait_until([&] {
    return ask_number(dsn_, "select count(*) from pg_locks where not granted and relation = 'cairn.feed'::regclass") >
           0;
  }));
  EXPECT_EQ(ask_number(dsn_, "select count(*) from cairn.feed_place"), 0);
  slow.execute("COMMIT");
  ASSERT_TRUE(added.get());
  Got got;
  read_all("new", got);
  EXPECT_EQ(got, (Got{{run.id(), {1, 2}}}));
}

TEST_P(LateCommit, holds_up_a_consumer_that_is_removed_meanwhile_and_leaves_no_places) {
  add("other");
  PgConnection slow({dsn_, "slow", false});
  slow.execute("BEGIN");
  slow.execute(
      "insert into cairn.feed (shard, lsn, run_id, at, runs, firsts, lasts) select 6, '0/0', gen_random_uuid(), 0, "
      "'{}', '{}', '{}' where false");
  std::future<Status> added =
      std::async(std::launch::async, [&] { return feed_->add({.name = "new"}, FeedStart::history); });
  ASSERT_TRUE(wait_until([&] {
    return ask_number(dsn_, "select count(*) from pg_locks where not granted and relation = 'cairn.feed'::regclass") >
           0;
  }));
  ASSERT_TRUE(feed_->remove("new"));
  slow.execute("COMMIT");
  const Status refused = added.get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "Expected to add consumer new of the feed, but it was removed meanwhile.");
  EXPECT_EQ(ask_number(dsn_, "select count(*) from cairn.feed_place where consumer = 'new'"), 0);
  commit_some();
  Got got;
  ASSERT_TRUE(feed_->confirm("other", read_all("other", got)));
  EXPECT_EQ(rows(), shards_of_feed);
}

// Its places cannot be put while another transaction has one of them in hand.
TEST_P(LateCommit, a_consumer_that_is_being_added_misses_nothing_that_others_confirm_meanwhile) {
  add("quick");
  PgConnection slow({dsn_, "slow", false});
  slow.execute("BEGIN");
  slow.execute("insert into cairn.feed_place (shard, consumer, position, skip, moved_at) values (0, 'new', 0, 0, 0)");
  std::future<Status> added =
      std::async(std::launch::async, [&] { return feed_->add({.name = "new"}, FeedStart::now); });
  ASSERT_TRUE(wait_until([&] {
    return ask_number(dsn_, "select count(*) from pg_locks where not granted and locktype = 'transactionid'") > 0;
  }));
  commit_some();
  Got got;
  ASSERT_TRUE(feed_->confirm("quick", read_all("quick", got)));
  EXPECT_EQ(rows(), shards_of_feed);
  slow.execute("ROLLBACK");
  ASSERT_TRUE(added.get());
  TestRun& run = new_run(3);
  commit(run, 2);
  got.clear();
  read_all("new", got);
  EXPECT_EQ(got, (Got{{run.id(), {1, 2}}}));
}

// A shard was empty when its history was asked for.
TEST_P(LateCommit, a_consumer_from_the_beginning_has_the_first_events_of_a_shard_that_came_while_it_was_added) {
  PgConnection slow({dsn_, "slow", false});
  slow.execute("BEGIN");
  slow.execute("insert into cairn.feed_place (shard, consumer, position, skip, moved_at) values (0, 'new', 0, 0, 0)");
  std::future<Status> added =
      std::async(std::launch::async, [&] { return feed_->add({.name = "new"}, FeedStart::history); });
  ASSERT_TRUE(wait_until([&] {
    return ask_number(dsn_, "select count(*) from pg_locks where not granted and locktype = 'transactionid'") > 0;
  }));
  TestRun& run = new_run(3);
  commit(run, 2);
  slow.execute("ROLLBACK");
  ASSERT_TRUE(added.get());
  Got got;
  read_all("new", got);
  EXPECT_EQ(got, (Got{{run.id(), {1, 2}}}));
}

TEST_P(LateCommit, a_slow_confirm_does_not_move_a_place_back_before_rows_that_are_gone) {
  add("both", FeedStart::now);
  TestRun& first = new_run(0);
  commit(first);
  TestRun& second = new_run(5);
  for (int n = 0; n < 3; ++n) commit(second);
  Result<FeedCursor> slow_one = parse_feed_cursor(to_text(feed_->page("both", "", 1)->cursor), shards_of_feed);
  ASSERT_TRUE(slow_one);
  for (FeedPlace& place : slow_one->places) place = {};
  FeedCursor quick_one = *slow_one;
  slow_one->places[0].position = slow_one->places[5].position = 1;
  quick_one.places[5].position = 3;
  PgConnection holder({dsn_, "holder", false});
  holder.execute("BEGIN; SELECT FROM cairn.feed_place WHERE shard = 0 FOR UPDATE");
  std::future<Status> slow = std::async(std::launch::async, [&] { return feed_->confirm("both", to_text(*slow_one)); });
  ASSERT_TRUE(wait_until([&] {
    return ask_number(dsn_, "select count(*) from pg_locks where not granted and locktype = 'transactionid'") > 0;
  }));
  ASSERT_TRUE(feed_->confirm("both", to_text(quick_one)));
  holder.execute("COMMIT");
  const Status refused = slow.get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::conflict);
  commit(second, 2);
  Got got;
  read_all("both", got);
  EXPECT_EQ(got, (Got{{second.id(), {4, 5}}}));
}

TEST_P(LateCommit, of_a_worker_of_an_earlier_release_would_be_missed_so_the_consumer_is_refused) {
  SessionRow session;
  session.id = 7;
  session.host = "old";
  session.queues = {"default"};
  store_->sessions().open(session);
  store_->sessions().beat(7);
  ask(dsn_,
      "update cairn.worker set feeds = false, beat_at = (extract(epoch from clock_timestamp()) * 1000000)::bigint");
  const Status refused = feed_->add({.name = "new"}, FeedStart::now);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::conflict);
  EXPECT_NE(refused.error().message.find("session 7 on old"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(feed_->consumers().empty());
}

TEST_P(LateCommit, readers_and_writers_side_by_side_miss_nothing) {
  add("beside");
  std::vector<std::unique_ptr<Store>> stores;
  std::vector<std::thread> writers;
  std::mutex mutex;
  Got written;
  for (int writer = 0; writer < 4; ++writer) {
    stores.push_back(store_on(dsn_));
    writers.emplace_back([&, store = stores.back().get()] {
      for (int n = 0; n < 40; ++n) {
        TestRun run(*store, n % shards_of_feed);
        for (int commits = 0; commits < 3; ++commits) run.commit(run.entry(2));
        const std::lock_guard lock(mutex);
        for (std::int64_t seq = 1; seq <= run.head; ++seq) written[run.id()].push_back(seq);
      }
    });
  }
  Got got;
  std::string cursor;
  for (int page = 0; page < 200; ++page) {
    cursor = read_all("beside", got, 50, cursor);
    if (page % 10 == 0) {
      ASSERT_TRUE(feed_->confirm("beside", cursor));
    }
  }
  for (std::thread& writer : writers) writer.join();
  read_all("beside", got, 50, cursor);
  EXPECT_EQ(got, written);  // and each run's in order, none twice
}

TEST(FeedCursorText, is_read_back) {
  const FeedCursor cursor{"0123456789ab",
                          {{12, 0, {}}, {12, 3, {}}, {0, 0, HistoryPlace{}}, {4, 2, HistoryPlace{run_on(0, 1), 77}}}};
  const Result<FeedCursor> read = parse_feed_cursor(to_text(cursor), 4);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, cursor);
}

TEST(FeedPlaces, are_in_the_order_in_which_they_are_read) {
  const RunId one = run_on(0, 1), other = run_on(0, 1);
  const std::vector<FeedPlace> places = {{4, 0, HistoryPlace{}},
                                         {4, 0, HistoryPlace{std::min(one, other), 7}},
                                         {4, 0, HistoryPlace{std::max(one, other), 2}},
                                         {4, 0, {}},
                                         {4, 3, {}},
                                         {5, 0, {}}};
  for (std::size_t at = 0; at < places.size(); ++at)
    for (std::size_t to = 0; to < places.size(); ++to) EXPECT_EQ(is_before(places[at], places[to]), at < to);
}

TEST(FeedCursorText, has_marks_that_texts_of_a_release_before_lack) {
  FeedCursor cursor{"0123456789ab", {{12, 0, {}}, {12, 3, {}}, {7, 2, HistoryPlace{run_on(0, 1), 77}}}};
  EXPECT_TRUE(to_text(cursor).starts_with("0123456789ab.12.12_3.7_2h"));
  for (FeedPlace& place : cursor.places) place.mark = "00ab12cd34ef";
  const Result<FeedCursor> read = parse_feed_cursor(to_text(cursor), 3);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, cursor);
  for (const char* wrong : {"a.12-", "a.12-00ab12cd34e", "a.12-00ab12cd34eg", "a.12-00ab12cd34ef-", "a.-00ab12cd34ef"})
    EXPECT_FALSE(parse_feed_cursor(wrong, 1)) << wrong;
}

}  // namespace
}  // namespace cairn::test
