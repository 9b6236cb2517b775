// The rows of sessions, and what the sweeps look for: lapsed and ownerless holds, orphans.
#include <set>

#include "engine/codec.hpp"
#include "tests/storage/store_test.hpp"

namespace cairn {
namespace {

using namespace test;

class SessionsTest : public StoreTest {};

SessionRow session_row(SessionId id) {
  SessionRow session;
  session.id = id;
  session.host = "host";
  session.pid = 12;
  session.queues = {"default", "a,b \"c\""};
  session.started_at = noon + id;
  return session;
}

TEST_P(SessionsTest, sessions_are_opened_beaten_and_closed) {
  store().sessions().open(session_row(7));
  store().sessions().open(session_row(8));
  store().sessions().beat(7);
  store().sessions().beat(7);
  store().sessions().beat(99);
  std::vector<SessionRow> sessions = store().sessions().all();
  ASSERT_EQ(sessions.size(), 2u);
  EXPECT_EQ(sessions[0].id, 7);
  EXPECT_EQ(sessions[0].host, "host");
  EXPECT_EQ(sessions[0].pid, 12);
  EXPECT_EQ(sessions[0].queues, session_row(7).queues);
  EXPECT_EQ(sessions[0].counter, 2);
  EXPECT_EQ(sessions[1].counter, 0);
  store().sessions().close(7);
  sessions = store().sessions().all();
  ASSERT_EQ(sessions.size(), 1u);
  EXPECT_EQ(sessions[0].id, 8);
}

TEST_P(SessionsTest, a_session_says_when_it_last_beat_and_what_it_can_do) {
  SessionRow session = session_row(7);
  session.beat_at = noon;
  session.only_own = true;
  session.handlers = {"a", "b \"c\""};
  session.machine = "boot and namespace";
  session.has_model = true;
  session.allows = {"url https://a.example/x", "corpus *"};
  session.caller = "token:ann";
  session.declares = R"({"tools":[]})";
  session.begun = std::vector<std::string>{};
  store().sessions().open(session);
  store().sessions().open(session_row(8));
  EXPECT_EQ(store().sessions().all()[0].beat_at, noon);
  store().sessions().beat(7);
  const std::vector<SessionRow> sessions = store().sessions().all();
  EXPECT_NEAR(static_cast<double>(sessions[0].beat_at), static_cast<double>(store().database_time()), 5e6);
  EXPECT_TRUE(sessions[0].only_own);
  EXPECT_EQ(sessions[0].handlers, session.handlers);
  EXPECT_EQ(sessions[0].machine, "boot and namespace");
  EXPECT_EQ(sessions[1].machine, "");
  EXPECT_FALSE(sessions[0].tools) << "it did not say";
  EXPECT_EQ(sessions[0].has_model, std::optional<bool>(true));
  EXPECT_FALSE(sessions[1].has_model) << "it did not say";
  EXPECT_EQ(sessions[0].allows, session.allows);
  EXPECT_FALSE(sessions[1].allows) << "it did not say";
  EXPECT_EQ(sessions[0].caller, session.caller);
  EXPECT_EQ(sessions[0].declares, session.declares);
  EXPECT_FALSE(sessions[1].caller) << "it is a process of this program";
  EXPECT_EQ(sessions[0].begun, session.begun);
  EXPECT_FALSE(sessions[1].begun) << "it does not say";
  store().sessions().set_begun(7, {"a b", "c"});
  EXPECT_EQ(store().sessions().all()[0].begun, (std::vector<std::string>{"a b", "c"}));
  EXPECT_FALSE(sessions[1].only_own);
  EXPECT_EQ(sessions[1].beat_at, 0);
}

TEST_P(SessionsTest, a_session_opened_again_serves_what_it_says_now_and_keeps_its_counter) {
  store().sessions().open(session_row(7));
  store().sessions().beat(7);
  SessionRow again = session_row(7);
  again.queues = {"default", "model"};
  again.tools = {"echo"};
  store().sessions().open(again);
  const SessionRow found = store().sessions().all().at(0);
  EXPECT_EQ(found.queues, again.queues);
  EXPECT_EQ(found.tools, again.tools);
  EXPECT_EQ(found.counter, 1);
}

TEST_P(SessionsTest, what_a_session_holds_is_found) {
  TestRun run = started_run();
  started_run();
  started_run();
  claim_one(7);
  claim(8);
  EXPECT_EQ(store().sessions().held_by(7, 10, {}).size(), 1u);
  EXPECT_EQ(store().sessions().held_by(8, 10, {}).size(), 2u);
  EXPECT_EQ(store().sessions().held_by(8, 1, {}).size(), 1u);
  EXPECT_TRUE(store().sessions().held_by(9, 10, {}).empty());
  EXPECT_EQ(store().sessions().held_by(7, 10, {})[0].run_head, 1);
  const HeldScan look = store().sessions().scan_held(7, noon, 10);
  ASSERT_EQ(look.own.size(), 1u);
  EXPECT_EQ(look.own[0].run, store().sessions().held_by(7, 10, {})[0].run);
  EXPECT_EQ(look.own[0].run_head, 1);
  EXPECT_TRUE(look.is_all);
  started_run();
  EXPECT_EQ(store().sessions().held_counts(), (std::map<SessionId, std::int64_t>{{7, 1}, {8, 2}}))
      << "free ones are nobody's";
}

TEST_P(SessionsTest, A14_what_a_session_holds_is_shared_out_by_runs_and_nothing_is_left_over) {
  constexpr int runs = 40;
  constexpr std::int32_t shares = 3;
  for (int n = 0; n < runs; ++n) started_run();
  claim(7, runs);
  std::set<RunId> found;
  for (std::int32_t index = 0; index < shares; ++index) {
    const std::vector<HeldJob> part = store().sessions().held_by(7, runs, {index, shares});
    EXPECT_LT(part.size(), static_cast<std::size_t>(runs));
    for (const HeldJob& job : part) EXPECT_TRUE(found.insert(job.run).second) << "in two parts";
  }
  EXPECT_EQ(found.size(), static_cast<std::size_t>(runs));
}

TEST_P(SessionsTest, what_is_held_beyond_its_deadline_is_found) {
  started_run();
  started_run();
  const HeldJob held = claim_one(7);
  EXPECT_TRUE(store().sessions().scan_held(8, held.deadline_us, 10).overdue.empty());
  ASSERT_EQ(store().sessions().scan_held(8, held.deadline_us + 1, 10).overdue.size(), 1u);
  EXPECT_EQ(store().sessions().scan_held(8, held.deadline_us + 1, 10).overdue[0].run, held.run);
}

TEST_P(SessionsTest, what_is_held_by_a_session_without_a_row_is_found) {
  store().sessions().open(session_row(7));
  started_run();
  started_run();
  const HeldJob of_open = claim_one(7);
  const auto unowned = [&](std::int32_t limit) { return store().sessions().scan_held(9, noon, limit).unowned; };
  EXPECT_TRUE(unowned(10).empty());
  const HeldJob of_unknown = claim_one(8);
  ASSERT_EQ(unowned(10).size(), 1u);
  EXPECT_EQ(unowned(10)[0].run, of_unknown.run);
  store().sessions().close(7);
  EXPECT_EQ(unowned(10).size(), 2u);
  EXPECT_EQ(unowned(1).size(), 1u);
  EXPECT_FALSE(store().sessions().scan_held(9, noon, 1).is_all);
}

TEST_P(SessionsTest, open_children_of_ended_parents_are_found) {
  TestRun parent = started_run();
  TestRun open = new_run();
  TestRun ended = new_run();
  open.row.parent = ended.row.parent = parent.id();
  open.commit(open.entry());
  Entry entry = ended.entry();
  entry.run.status = RunStatus::done;
  ended.commit(entry);
  const auto orphans = [this] {
    OrphanMark from_the_first;
    return store().all_runs().orphans(from_the_first, 10);
  };
  EXPECT_TRUE(orphans().empty());
  Entry ending = parent.entry();
  ending.run.status = RunStatus::aborted;
  parent.commit(ending);
  EXPECT_EQ(orphans(), std::vector<RunId>{open.id()});
  Entry last = open.entry();
  last.run.status = RunStatus::aborted;
  open.commit(last);
  EXPECT_TRUE(orphans().empty());
}

// A parent that cleans up has a reason while it is under way, and its event names the children that it gave up.
TEST_P(SessionsTest, children_that_a_parent_gave_up_to_clean_up_are_found) {
  TestRun parent = started_run();
  TestRun given_up = new_run();
  TestRun called_since = new_run();
  given_up.row.parent = called_since.row.parent = parent.id();
  given_up.commit(given_up.entry());
  RunEnding begins;
  begins.reason = "Cancelled.";
  begins.closed.children = {given_up.id()};
  begins.next = "undo";
  Entry ending = parent.entry();
  ending.run.reason = begins.reason;
  ending.events.back().type = event_type(begins).number;
  ending.events.back().payload = encode_payload(begins);
  parent.commit(ending);
  called_since.commit(called_since.entry());
  OrphanMark from_the_first;
  EXPECT_EQ(store().all_runs().orphans(from_the_first, 10), std::vector<RunId>{given_up.id()});
}

// A child that cleans up has a reason as well.
TEST_P(SessionsTest, children_that_clean_up_are_no_orphans) {
  TestRun parent = started_run();
  TestRun child = new_run();
  child.row.parent = parent.id();
  child.commit(child.entry());
  Entry ended = parent.entry();
  ended.run.status = RunStatus::aborted;
  parent.commit(ended);
  OrphanMark from_the_first;
  EXPECT_EQ(store().all_runs().orphans(from_the_first, 10), std::vector<RunId>{child.id()});
  Entry cleaning = child.entry();
  cleaning.run.reason = "The run that called it has ended.";
  child.commit(cleaning);
  from_the_first = {};
  EXPECT_TRUE(store().all_runs().orphans(from_the_first, 10).empty());
}

// One look reads a slice, whatever number of children there are; the next one goes on after it.
TEST_P(SessionsTest, A19_open_children_are_looked_at_slice_by_slice) {
  std::set<RunId> expected;
  for (int n = 0; n < 6; ++n) {
    TestRun parent = started_run();
    TestRun child = new_run();
    child.row.parent = parent.id();
    child.commit(child.entry());
    if (n % 2 == 0) continue;
    Entry ending = parent.entry();
    ending.run.status = RunStatus::done;
    parent.commit(ending);
    expected.insert(child.id());
  }
  std::set<RunId> found;
  OrphanMark mark;
  for (int look = 0; look < 4; ++look)
    for (const RunId& run : store().all_runs().orphans(mark, 2)) found.insert(run);
  EXPECT_EQ(found, expected);
}

TEST_P(SessionsTest, A3_called_runs_that_ended_without_their_callers_are_found_until_they_are_tied) {
  TestRun caller = started_run();
  TestRun alone = new_run(), together = new_run(), open = new_run();
  for (TestRun* run : {&alone, &together, &open}) {
    run->row.parent = caller.id();
    run->commit(run->entry());
  }
  EXPECT_TRUE(store().all_runs().loose_ends({}, 10).empty());
  for (TestRun* run : {&alone, &together}) {
    Entry entry = run->entry();
    entry.run.status = RunStatus::done;
    entry.caller_knows = run == &together;
    run->commit(entry);
  }
  EXPECT_EQ(store().all_runs().loose_ends({}, 10), (std::vector<LooseEnd>{{alone.id(), true}}));
  EXPECT_TRUE(store().all_runs().loose_ends(alone.id(), 10).empty()) << "those after it";
  EXPECT_TRUE(store().all_runs().loose_ends({}, 0).empty());
  Entry ending = caller.entry();
  ending.run.status = RunStatus::aborted;
  caller.commit(ending);
  EXPECT_EQ(store().all_runs().loose_ends({}, 10), (std::vector<LooseEnd>{{alone.id(), false}}));
  store().all_runs().tie_ends(std::vector{alone.id(), open.id()});
  EXPECT_TRUE(store().all_runs().loose_ends({}, 10).empty());
}

INSTANTIATE_TEST_SUITE_P(Stores, SessionsTest, ::testing::ValuesIn(every_store_and_pooled()), name_of_store);

}  // namespace
}  // namespace cairn
