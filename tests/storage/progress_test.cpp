// The text that a step has written so far, kept next to its hold.
#include "tests/storage/store_test.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn {
namespace {

using namespace test;

class ProgressTest : public StoreTest {
 protected:
  static ProgressRow row_of(const HeldJob& held, const std::string& text) {
    return {.place = {held.run, held.job.step, held.job.attempt},
            .branch = held.job.branch,
            .node = "respond",
            .text = text,
            .written = std::ssize(text)};
  }
  void open(SessionId session) {
    SessionRow row;
    row.id = session;
    store().sessions().open(row);
  }
  void say(const HeldJob& held, const std::string& text) {
    const ProgressRow row = row_of(held, text);
    store().progress().put(held.session, {&row, 1}, {});
  }
  void end(SessionId session, const ProgressPlace& place) { store().progress().put(session, {}, {&place, 1}); }
  std::string said(const TestRun& run) {
    std::string all;
    for (const ProgressRow& row : store().progress().of(run.id())) all += (all.empty() ? "" : "|") + row.text;
    return all;
  }
};

TEST_P(ProgressTest, the_last_text_of_a_held_step_is_seen) {
  const TestRun run = started_run(), other = started_run();
  open(7);
  for (const HeldJob& held : claim(7))
    if (held.run == run.id()) {
      say(held, "The");
      say(held, "The sky is \u00e4 \"blue\"\n");
    }
  const std::vector<ProgressRow> rows = store().progress().of(run.id());
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].text, "The sky is \u00e4 \"blue\"\n");
  EXPECT_EQ(rows[0].written, std::ssize(rows[0].text));
  EXPECT_EQ(rows[0].node, "respond");
  EXPECT_EQ(rows[0].place, (ProgressPlace{run.id(), 1, 1}));
  EXPECT_EQ(rows[0].session, 7);
  EXPECT_GT(rows[0].at_us, 0);
  EXPECT_TRUE(store().progress().of(other.id()).empty());
}

TEST_P(ProgressTest, many_steps_say_something_at_once) {
  std::vector<ProgressRow> rows;
  std::vector<TestRun> runs;
  open(7);
  for (int n = 0; n < 5; ++n) runs.push_back(started_run());
  for (const HeldJob& held : claim(7)) rows.push_back(row_of(held, to_string(held.run)));
  ASSERT_EQ(rows.size(), runs.size());
  store().progress().put(7, rows, {});
  for (const TestRun& run : runs) EXPECT_EQ(said(run), to_string(run.id()));
  const ProgressPlace ended = rows[0].place;
  rows.erase(rows.begin());
  for (ProgressRow& row : rows) row.text += ", and more";
  store().progress().put(7, rows, {&ended, 1});
  for (const TestRun& run : runs) EXPECT_EQ(said(run), run.id() == ended.run ? "" : to_string(run.id()) + ", and more");
}

TEST_P(ProgressTest, what_the_session_does_not_hold_is_dropped) {
  const TestRun run = started_run();
  open(7);
  open(8);
  HeldJob held = claim_one(7);
  held.session = 8;
  say(held, "of a session that does not hold it");
  held.session = 7;
  held.job.attempt = 2;
  say(held, "of another attempt");
  held.job.attempt = 1;
  held.job.step = 2;
  say(held, "of another step");
  EXPECT_EQ(said(run), "");
}

TEST_P(ProgressTest, a_step_that_was_taken_over_has_the_text_of_its_holder) {
  const TestRun run = started_run();
  open(7);
  open(8);
  const HeldJob before = claim_one(7);
  say(before, "first");
  const std::pair<RunId, Fence> hold = {run.id(), fence_of(before)};
  store().jobs().release({&hold, 1}, noon);
  EXPECT_EQ(said(run), "") << "nobody writes it now";
  const HeldJob after = claim_one(8);
  EXPECT_EQ(said(run), "");
  say(before, "first, too late");
  EXPECT_EQ(said(run), "");
  say(after, "second");
  EXPECT_EQ(said(run), "second");
  end(7, {run.id(), 1, 1});
  EXPECT_EQ(said(run), "second") << "the end of the first holder is not that of the second";
  end(8, {run.id(), 1, 1});
  EXPECT_EQ(said(run), "");
}

TEST_P(ProgressTest, a_session_takes_its_texts_along_and_those_of_sessions_without_a_row) {
  const TestRun first = started_run();
  open(7);
  open(8);
  const HeldJob held = claim_one(7);
  say(held, "of 7");
  const TestRun second = started_run();
  const HeldJob others = claim_one(9);  // which never wrote its row, or lost it
  say(others, "of 9");
  EXPECT_EQ(said(second), "of 9");
  store().sessions().close(8);
  EXPECT_EQ(said(first), "of 7");
  EXPECT_EQ(said(second), "");
  store().sessions().close(7);
  EXPECT_EQ(said(first), "");
}

TEST_P(ProgressTest, a_step_that_has_moved_on_has_none) {
  TestRun run = started_run();
  open(7);
  const HeldJob held = claim_one(7);
  say(held, "The answer");
  Entry entry = run.entry();
  entry.fences = {fence_of(held)};
  entry.jobs = {keep(job_of(1, 2))};
  ASSERT_EQ(run.commit(entry).kind, Verdict::Kind::committed);
  EXPECT_EQ(said(run), "");
}

INSTANTIATE_TEST_SUITE_P(Stores, ProgressTest, ::testing::ValuesIn(every_store()), name_of_store);

}  // namespace
}  // namespace cairn
