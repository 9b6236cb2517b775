// Finding runs: filters, pages, lineages.
#include <algorithm>
#include <functional>
#include <set>

#include "tests/storage/store_test.hpp"

namespace cairn {
namespace {

using namespace test;

class RunsTest : public StoreTest {};

std::vector<RunId> ids_of(const std::vector<RunRow>& rows) {
  std::vector<RunId> ids;
  for (const RunRow& row : rows) ids.push_back(row.id);
  return ids;
}

TEST_P(RunsTest, heads_say_how_far_runs_are_in_the_order_that_was_asked) {
  TestRun first = started_run(), second(store(), 0), none = new_run();  // of two shards, where there are any
  Entry entry = second.entry();
  entry.run.status = RunStatus::done;
  second.commit(entry);
  const std::vector<RunId> ids{second.id(), none.id(), first.id()};
  const auto heads = store().all_runs().heads(ids);
  EXPECT_EQ(heads,
            (std::vector<std::optional<RunHead>>{RunHead{store().run(second.id())->head, RunStatus::done}, std::nullopt,
                                                 RunHead{store().run(first.id())->head, RunStatus::running}}));
  EXPECT_TRUE(store().all_runs().heads({}).empty());
}

TEST_P(RunsTest, runs_are_found_by_each_filter_newest_first) {
  std::vector<TestRun> runs;
  for (int n = 0; n < 4; ++n) {
    runs.push_back(new_run());
    TestRun& run = runs.back();
    run.row.started_at = noon + n;
    run.row.graph = n < 2 ? "old" : "new";
    run.row.waiting = n == 1;
    run.row.tags = {{"n", std::to_string(n)}, {"half", n < 2 ? "first" : "second"}};
    Entry entry = run.entry();
    if (n == 3) entry.run.status = RunStatus::done;
    run.commit(entry);
  }
  const auto found = [&](const std::function<void(RunFilter&)>& set) {
    RunFilter filter;
    set(filter);
    std::string places;
    for (const RunId& id : ids_of(store().runs(filter))) {
      for (std::size_t n = 0; n < runs.size(); ++n) {
        if (runs[n].id() == id) places += std::to_string(n);
      }
    }
    return places;
  };
  EXPECT_EQ(found([](RunFilter&) {}), "3210");
  EXPECT_EQ(found([](RunFilter& filter) { filter.limit = 2; }), "32");
  EXPECT_EQ(found([](RunFilter& filter) { filter.limit = 0; }), "");
  EXPECT_EQ(found([](RunFilter& filter) { filter.graph = "old"; }), "10");
  EXPECT_EQ(found([](RunFilter& filter) { filter.status = RunStatus::done; }), "3");
  EXPECT_EQ(found([](RunFilter& filter) { filter.waiting = true; }), "1");
  EXPECT_EQ(found([](RunFilter& filter) { filter.waiting = false; }), "320");
  EXPECT_EQ(found([](RunFilter& filter) { filter.since = noon + 2; }), "32");
  EXPECT_EQ(found([](RunFilter& filter) { filter.tags = {{"half", "first"}}; }), "10");
  EXPECT_EQ(found([](RunFilter& filter) { filter.tags = {{"half", "first"}, {"n", "1"}}; }), "1");
  EXPECT_EQ(found([](RunFilter& filter) { filter.tags = {{"half", "third"}}; }), "");
  EXPECT_EQ(found([](RunFilter& filter) {
              filter.tags = {{"half", "second"}};
              filter.status = RunStatus::running;
            }),
            "2");
}

// The entry that ends the run with this number, of four.
Entry ended_entry(TestRun& run, int n) {
  const auto end_of = [](EventRow& event, const std::string& payload, std::int16_t type) {
    event.payload = payload;
    event.type = type;
  };
  Entry entry = run.entry(2);
  entry.run.updated_at = noon + n + n * 1'000'000;
  entry.run.reason = n == 1 ? "No Coffee today." : n == 2 ? "100% of it_" : "";
  entry.run.status = n == 3 ? RunStatus::done : RunStatus::failed;
  const std::string cause =
      n == 1   ? R"(,"cause":{"attempt":2,"error":"timeout","message":"Slow.","node":"make","step":3})"
      : n == 2 ? R"(,"cause":{"attempt":1,"error":"down","message":"x\u0000","node":"make","step":1})"
               : "";
  end_of(entry.events.front(), n == 0 ? R"({"tool":"echo"})" : R"({"tool":"fetch"})", 111);
  end_of(entry.events.back(), R"({"output":null)" + cause + "}", 7);
  return entry;
}

// The cause and the tools stand in the events, the rest in the row.
TEST_P(RunsTest, failures_are_found_by_cause_reason_tool_duration_and_version) {
  std::vector<TestRun> runs;
  for (int n = 0; n < 4; ++n) {
    runs.push_back(new_run());
    TestRun& run = runs.back();
    run.row.started_at = noon + n;
    run.row.version = n < 2 ? "aa11" : "aa22";
    run.row.tags = {{"all", "yes"}};
    run.commit(ended_entry(run, n));
  }
  const auto found = [&](const std::function<void(RunFilter&)>& set) {
    RunFilter filter;
    set(filter);
    std::string places;
    for (const RunId& id : ids_of(store().runs(filter)))
      for (std::size_t n = 0; n < runs.size(); ++n)
        if (runs[n].id() == id) places += std::to_string(n);
    EXPECT_EQ(store().all_runs().count(filter, 100), static_cast<std::int64_t>(places.size()));
    const std::size_t untagged = store().runs(filter).size();
    filter.tags = {{"all", "yes"}};  // another statement, with the same filters
    EXPECT_EQ(store().runs(filter).size(), untagged);
    EXPECT_EQ(store().all_runs().count(filter, 100), static_cast<std::int64_t>(untagged));
    return places;
  };
  EXPECT_EQ(found([](RunFilter&) {}), "3210");
  EXPECT_EQ(found([](RunFilter& filter) { filter.error = "timeout"; }), "1");
  EXPECT_EQ(found([](RunFilter& filter) { filter.node = "make"; }), store().identity() == "memory" ? "21" : "1")
      << "jsonb cannot hold the NUL of run 2";
  EXPECT_EQ(found([](RunFilter& filter) { filter.error = "time"; }), "") << "the whole word";
  EXPECT_EQ(found([](RunFilter& filter) { filter.reason = "coffee"; }), "1");
  EXPECT_EQ(found([](RunFilter& filter) { filter.reason = "0%"; }), "2") << "no pattern";
  EXPECT_EQ(found([](RunFilter& filter) { filter.tool = "echo"; }), "0");
  EXPECT_EQ(found([](RunFilter& filter) { filter.tool = "fetch"; }), "321");
  EXPECT_EQ(found([](RunFilter& filter) { filter.lasted_us = 2'000'000; }), "32");
  EXPECT_EQ(found([](RunFilter& filter) { filter.until = noon + 2; }), "10");
  EXPECT_EQ(found([](RunFilter& filter) { filter.version = "aa1"; }), "10");
  EXPECT_EQ(found([](RunFilter& filter) { filter.version = "aa"; }), "3210");
  EXPECT_EQ(found([](RunFilter& filter) {
              filter.version = "aa1";
              filter.tool = "fetch";
            }),
            "1");
  const std::optional<RunRow> row = store().run(runs[1].id());
  ASSERT_TRUE(row && row->cause);
  EXPECT_EQ(*row->cause, (CauseOfFailure{"timeout", "Slow.", "make", 3, 2}));
  EXPECT_FALSE(store().run(runs[3].id())->cause);
}

TEST_P(RunsTest, runs_are_counted_up_to_a_bound_whatever_the_page) {
  for (int n = 0; n < 5; ++n) {
    TestRun run = new_run();
    run.row.started_at = noon + n;
    run.row.tags = {{"half", n % 2 == 0 ? "first" : "second"}};
    run.commit(run.entry());
  }
  RunFilter filter;
  filter.limit = 2;
  filter.after = {noon + 1, RunId{}};
  EXPECT_EQ(store().all_runs().count(filter, 100), 5);
  EXPECT_EQ(store().all_runs().count(filter, 3), 3);
  filter.tags = {{"half", "first"}};
  EXPECT_EQ(store().all_runs().count(filter, 100), 3);
}

TEST_P(RunsTest, ids_are_found_between_two_in_their_order) {
  std::set<RunId> ids;
  for (int n = 0; n < 6; ++n) {
    TestRun run = new_run();
    run.commit(run.entry());
    ids.insert(run.id());
  }
  const std::vector<RunId> sorted(ids.begin(), ids.end());
  RunId highest;
  highest.bytes.fill(0xff);
  EXPECT_EQ(store().all_runs().between(RunId{}, highest, 100), sorted);
  EXPECT_EQ(store().all_runs().between(sorted[1], sorted[3], 100), (std::vector{sorted[1], sorted[2], sorted[3]}));
  EXPECT_EQ(store().all_runs().between(sorted[1], sorted[3], 2), (std::vector{sorted[1], sorted[2]}));
  EXPECT_EQ(store().all_runs().between(highest, highest, 2), std::vector<RunId>{});
}

TEST_P(RunsTest, runs_are_read_page_by_page_also_when_they_started_at_once) {
  std::set<RunId> expected;
  for (int n = 0; n < 7; ++n) {
    TestRun run = new_run();
    run.row.started_at = noon + n / 4;
    run.row.tags = {{"half", n % 2 == 0 ? "first" : "second"}};
    run.commit(run.entry());
    expected.insert(run.id());
  }
  for (const Tags& tags : {Tags{}, Tags{{"half", "first"}}}) {
    RunFilter filter;
    filter.tags = tags;
    const std::vector<RunId> all = ids_of(store().runs(filter));
    std::vector<RunId> paged;
    filter.limit = 2;
    for (std::vector<RunRow> page = store().runs(filter); !page.empty(); page = store().runs(filter)) {
      for (const RunRow& row : page) paged.push_back(row.id);
      filter.after = {page.back().started_at, page.back().id};
      ASSERT_LE(paged.size(), 7u);
    }
    EXPECT_EQ(paged, all);
    EXPECT_EQ(paged.size(), tags.empty() ? 7u : 4u);
  }
}

// They were kept for ever, also of runs that had ended.
TEST_P(RunsTest, A15_the_last_two_snapshots_of_a_run_are_kept_and_none_once_it_has_ended) {
  TestRun run(store());
  run.start(job_of(1, 1));
  const auto seq_of = [&](std::int32_t fold, std::int64_t at_most) {
    const std::optional<SnapshotRow> found = store().snapshots().newest(run.id(), fold, at_most);
    return found ? found->seq : 0;
  };
  for (const std::int64_t seq : {1, 3, 5, 7}) store().snapshots().put(run.id(), {seq, 4, Hash{}, "s"});
  EXPECT_EQ(seq_of(4, 100), 7);
  EXPECT_EQ(seq_of(4, 6), 5);
  EXPECT_EQ(seq_of(4, 4), 0);
  store().snapshots().put(run.id(), {8, 5, Hash{}, "s"});
  EXPECT_EQ(seq_of(5, 100), 8);
  EXPECT_EQ(seq_of(4, 100), 0) << "an older fold's are not read any more";
  Entry ending = run.entry();
  ending.run.status = RunStatus::done;
  ending.jobs = {drop(1)};
  ending.drops_snapshots = true;
  Entry stale = ending;
  stale.head_before = 99;
  stale.events.front().seq = 100;
  ASSERT_EQ(run.commit(stale).kind, Verdict::Kind::conflict);
  EXPECT_EQ(seq_of(5, 100), 8) << "the run is open";
  run.commit(ending);
  EXPECT_EQ(seq_of(5, 100), 0) << "they went with the same commit";
  store().snapshots().put(run.id(), {9, 5, Hash{}, "late"});
  EXPECT_EQ(seq_of(5, 100), 0);
}

TEST_P(RunsTest, A16_a_reader_of_graphs_is_given_what_it_does_not_know) {
  KnownGraphs known;
  const auto seen = [&](bool only_current = false) {
    std::vector<std::string> lines;
    for (const GraphRow& row : new_graphs(store(), known, only_current))
      lines.push_back(row.name + " " + row.version + (row.current ? " current " : " ") + row.text);
    return lines;
  };
  using Seen = std::vector<std::string>;
  EXPECT_EQ(seen(), Seen{});
  store().graphs().put({"g", "v", "{1}", true});
  EXPECT_EQ(seen(), Seen{"g v current {1}"});
  EXPECT_EQ(seen(), Seen{});
  store().graphs().put({"g", "w", "{2}", true});
  store().graphs().put({"h", "x", "{3}", false});
  EXPECT_EQ(seen(true), (Seen{"g v ", "g w current {2}"})) << "h x is not current";
  EXPECT_EQ(seen(true), Seen{});
  store().graphs().put({"g", "v", "{1}", true});
  EXPECT_EQ(seen(), (Seen{"g v current ", "g w ", "h x {3}"}));
}

TEST_P(RunsTest, a_graph_says_who_put_it_there_or_made_it_current_last_and_when) {
  const auto of = [&](const std::string& version) {
    for (GraphRow& row : store().graphs().names())
      if (row.version == version) return std::move(row);
    return GraphRow{};
  };
  const TimeUs before = store().database_time();
  store().graphs().put({"g", "v", "{1}", true, "ann"});
  store().graphs().put({"g", "w", "{2}", false, "ben"});
  const GraphRow first = of("v");
  EXPECT_EQ(first.actor, "ann");
  constexpr TimeUs off_us = 500'000;  // the store's time is an estimate
  EXPECT_GE(first.at_us, before - off_us);
  EXPECT_LE(first.at_us, store().database_time() + off_us);
  EXPECT_EQ(of("w").actor, "ben");
  store().graphs().put({"g", "v", "{1}", true, "cem"});
  EXPECT_EQ(of("v").actor, "ann") << "it was current";
  EXPECT_EQ(of("v").at_us, first.at_us);
  store().graphs().put({"g", "w", "{2}", true, "cem"});
  store().graphs().put({"g", "v", "{1}", true, "dan"});
  EXPECT_EQ(of("v").actor, "dan");
  EXPECT_GE(of("v").at_us, first.at_us);
  EXPECT_EQ(of("w").actor, "cem");
}

TEST_P(RunsTest, a_lineage_is_what_a_run_continues_and_what_continues_it) {
  std::vector<TestRun> runs;
  const auto add = [&](std::optional<RunId> continues) {
    runs.push_back(new_run());
    runs.back().row.started_at = noon + static_cast<TimeUs>(runs.size());
    runs.back().row.continues = continues;
    runs.back().commit(runs.back().entry());
    return runs.back().id();
  };
  const RunId first = add({});
  const RunId second = add(first);
  const RunId third = add(second);
  const RunId branch = add(first);
  add({});
  for (const RunId& start : {first, second, third, branch}) {
    RunFilter filter;
    filter.lineage = start;
    EXPECT_EQ(ids_of(store().runs(filter)), (std::vector<RunId>{branch, third, second, first}));
  }
  RunFilter filter;
  filter.lineage = second;
  filter.limit = 1;
  EXPECT_EQ(ids_of(store().runs(filter)), std::vector<RunId>{branch});
  filter.lineage = run_on(0, store().shards());
  EXPECT_TRUE(store().runs(filter).empty());
}

TEST_P(RunsTest, runs_that_a_run_called_are_found_by_their_parent_and_every_other_filter) {
  TestRun caller(store());
  caller.row.started_at = noon;
  Entry calling = caller.entry(3);
  std::vector<RunId> called;
  for (int n = 0; n < 3; ++n) {
    TestRun run(store());
    run.row.started_at = noon + 1 + n;
    run.row.parent = caller.id();
    run.row.graph = n == 1 ? "other" : "called";
    run.row.tags = {{"n", std::to_string(n)}};
    run.commit(run.entry());
    called.push_back(run.id());
    EventRow& event = calling.events[static_cast<std::size_t>(n)];
    event.type = 12;
    event.payload = R"({"child":")" + to_string(run.id()) + R"(","graph":"called","version":"v"})";
  }
  caller.commit(calling);
  TestRun stranger = new_run();
  stranger.commit(stranger.entry());
  const auto found = [&](const std::function<void(RunFilter&)>& set) {
    RunFilter filter;
    filter.parent = caller.id();
    set(filter);
    std::string places;
    for (const RunId& id : ids_of(store().runs(filter)))
      places += std::to_string(std::find(called.begin(), called.end(), id) - called.begin());
    EXPECT_EQ(store().all_runs().count(filter, 100), std::ssize(places));
    return places;
  };
  EXPECT_EQ(found([](RunFilter&) {}), "210");
  EXPECT_EQ(found([](RunFilter& filter) { filter.graph = "called"; }), "20");
  EXPECT_EQ(found([](RunFilter& filter) { filter.tags = {{"n", "1"}}; }), "1");
  EXPECT_EQ(found([&](RunFilter& filter) { filter.parent = stranger.id(); }), "");
}

INSTANTIATE_TEST_SUITE_P(Stores, RunsTest, ::testing::ValuesIn(every_store()), name_of_store);

}  // namespace
}  // namespace cairn
