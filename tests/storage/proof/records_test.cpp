// The records that are kept next to the log: questions, blobs, snapshots, graphs.
#include "storage/chain.hpp"
#include "tests/storage/store_test.hpp"

namespace cairn {
namespace {

using namespace test;

class RecordsTest : public StoreTest {};

QuestionRow question_row(const TestRun& run, const std::string& id, TimeUs asked_at) {
  QuestionRow question;
  question.run = run.id();
  question.id = id;
  question.step = 3;
  question.kind = "question";
  question.prompt = {{"text", "Which region?"}};
  question.schema = {{"type", "number"}, {"minimum", 1.0}};
  question.asked_at = asked_at;
  return question;
}

TEST_P(RecordsTest, questions_are_open_until_they_are_closed) {
  TestRun run = started_run();
  TestRun other = started_run();
  Entry entry = run.entry();
  entry.asked = {question_row(run, "q3", noon + 2), question_row(run, "q4", noon + 1)};
  entry.asked[0].fallback = Json(nullptr);
  entry.asked[0].expires_at = noon + 500;
  run.commit(entry);
  Entry more = other.entry();
  more.asked = {question_row(other, "q3", noon)};
  other.commit(more);

  const std::vector<QuestionRow> of_run = store().all_runs().questions(run.id(), 10);
  ASSERT_EQ(of_run.size(), 2u);
  EXPECT_EQ(of_run[0].id, "q4");
  EXPECT_FALSE(of_run[0].fallback);
  EXPECT_FALSE(of_run[0].expires_at);
  EXPECT_EQ(of_run[1].id, "q3");
  EXPECT_EQ(of_run[1].run, run.id());
  EXPECT_EQ(of_run[1].step, 3);
  EXPECT_EQ(of_run[1].kind, "question");
  EXPECT_EQ(of_run[1].prompt, entry.asked[0].prompt);
  EXPECT_EQ(of_run[1].schema, entry.asked[0].schema);
  ASSERT_TRUE(of_run[1].fallback);
  EXPECT_TRUE(of_run[1].fallback->is_null()) << "a default of null is a default";
  EXPECT_EQ(of_run[1].expires_at, noon + 500);
  EXPECT_EQ(of_run[1].asked_at, noon + 2);

  EXPECT_EQ(store().all_runs().questions({}, 10).size(), 3u);
  EXPECT_EQ(store().all_runs().questions({}, 10)[0].run, other.id());
  EXPECT_EQ(store().all_runs().questions({}, 2).size(), 2u);
  Entry closing = run.entry();
  closing.closed_questions = {"q3"};
  run.commit(closing);
  ASSERT_EQ(store().all_runs().questions(run.id(), 10).size(), 1u);
  EXPECT_EQ(store().all_runs().questions(run.id(), 10)[0].id, "q4");
}

std::int64_t bytes_of(const std::vector<QuestionRow>& questions) {
  std::int64_t bytes = 0;
  for (const QuestionRow& question : questions) bytes += std::ssize(canonical(question.prompt));
  return bytes;
}

// Six of 3 MB, the third of which has little; one run is of another shard where there are several.
TEST_P(RecordsTest, H3_D14_what_is_read_of_open_questions_at_once_is_bounded_in_bytes) {
  constexpr std::int64_t bytes_max = 7'000'000;
  TestRun run = started_run();
  TestRun other = started_run();
  Entry entry = run.entry();
  Entry more = other.entry();
  for (int at = 0; at < 6; ++at) {
    const std::string id = "q" + std::to_string(at);
    Entry& of = at % 2 == 0 ? entry : more;
    of.asked.push_back(question_row(at % 2 == 0 ? run : other, id, noon + at));
    if (at != 2) of.asked.back().prompt = std::string(3'000'000, 'p');
  }
  run.commit(entry);
  other.commit(more);

  std::vector<std::string> ids;
  QuestionPlace place;
  int calls = 0;
  for (bool is_end = false; !is_end && calls < 10; ++calls) {
    const std::vector<QuestionRow> page = store().all_runs().questions_after(place, 200, bytes_max);
    EXPECT_LE(bytes_of(page), bytes_max);
    for (const QuestionRow& question : page) {
      ids.push_back(question.id);
      place = {question.asked_at, question.run, question.id};
    }
    is_end = page.empty();
  }
  EXPECT_EQ(ids, (std::vector<std::string>{"q0", "q1", "q2", "q3", "q4", "q5"}));
  EXPECT_EQ(store().all_runs().questions_after({}, 200, 1).size(), 1u) << "one that is larger comes alone";
  EXPECT_EQ(store().all_runs().questions_after({}, 1, bytes_max).size(), 1u);
  EXPECT_TRUE(store().all_runs().questions_after({}, 0, bytes_max).empty());
}

TEST_P(RecordsTest, a_blob_is_stored_once) {
  const std::string bytes("a\0b\xff", 4);
  const Hash hash = sha256(bytes);
  EXPECT_FALSE(store().values().get(last_shard(), hash));
  store().values().put(last_shard(), hash, bytes);
  store().values().put(last_shard(), hash, "something else");
  EXPECT_EQ(store().values().get(last_shard(), hash), bytes);
}

TEST_P(RecordsTest, the_newest_fitting_snapshot_is_found) {
  TestRun run = started_run();
  const auto put = [&](std::int64_t seq, std::int32_t version, const std::string& state) {
    store().snapshots().put(run.id(), {seq, version, sha256(state), state});
  };
  put(4, 2, "other");
  put(2, 1, "two");
  put(5, 1, "five");
  EXPECT_EQ(store().snapshots().newest(run.id(), 1, 9)->state, "five");
  EXPECT_EQ(store().snapshots().newest(run.id(), 1, 5)->seq, 5);
  EXPECT_EQ(store().snapshots().newest(run.id(), 1, 4)->state, "two");
  EXPECT_EQ(store().snapshots().newest(run.id(), 1, 4)->chain_hash, sha256("two"));
  EXPECT_FALSE(store().snapshots().newest(run.id(), 1, 1));
  EXPECT_EQ(store().snapshots().newest(run.id(), 2, 9)->state, "other");
  EXPECT_FALSE(store().snapshots().newest(run.id(), 3, 9));
  put(5, 1, "five again");
  EXPECT_EQ(store().snapshots().newest(run.id(), 1, 9)->state, "five again");
}

TEST_P(RecordsTest, a_large_snapshot_comes_back_as_it_was) {
  TestRun run = started_run();
  std::string state = "{\"all\":[";
  for (int n = 0; n < 100'000; ++n) state += std::to_string(n) + ",";
  state += "0]}";
  store().snapshots().put(run.id(), {2, 1, sha256(state), state});
  EXPECT_EQ(store().snapshots().newest(run.id(), 1, 9)->state, state);
  const std::vector<HistoryRequest> requests{{run.id(), 0, 1}};
  EXPECT_EQ(store().histories(requests, 10).at(0).snapshot->state, state);
}

TEST_P(RecordsTest, a_history_begins_with_a_snapshot_of_the_fold_asked_for_or_with_its_first_event) {
  TestRun run = started_run();
  for (int n = 0; n < 3; ++n) run.commit(run.entry());
  store().snapshots().put(run.id(), {2, 2, Hash{}, "of this one"});
  store().snapshots().put(run.id(), {3, 1, Hash{}, "of an older fold"});  // by an older program, which still runs
  const std::vector<HistoryRequest> requests{{run.id(), 0, 1}, {run.id(), 0, 2}, {run.id(), 0, 3}, {run.id(), 0, {}}};
  const std::vector<StoredHistory> found = store().histories(requests, 10);
  ASSERT_EQ(found.size(), 4u);
  ASSERT_TRUE(found[0].snapshot);
  EXPECT_EQ(found[0].snapshot->state, "of an older fold");
  EXPECT_EQ(found[0].events.size(), 1u);
  ASSERT_TRUE(found[1].snapshot);
  EXPECT_EQ(found[1].snapshot->state, "of this one");
  EXPECT_EQ(found[1].events.size(), 2u);
  for (const std::size_t at : {2u, 3u}) {
    EXPECT_FALSE(found[at].snapshot) << at;
    ASSERT_EQ(found[at].events.size(), 4u) << at;
    EXPECT_EQ(found[at].events[0].seq, 1) << at;
  }
}

TEST_P(RecordsTest, a_name_has_one_current_graph) {
  store().graphs().put({"g", "v1", "{1}", true});
  store().graphs().put({"g", "v2", "{2}", false});
  store().graphs().put({"h", "v1", "{3}", true});
  store().graphs().put({"g", "v1", "other text", false});
  std::vector<GraphRow> graphs = store().graphs().all();
  ASSERT_EQ(graphs.size(), 3u);
  EXPECT_EQ(graphs[0].name, "g");
  EXPECT_EQ(graphs[0].version, "v1");
  EXPECT_EQ(graphs[0].text, "{1}");
  EXPECT_TRUE(graphs[0].current);
  EXPECT_FALSE(graphs[1].current);
  store().graphs().put({"g", "v2", "{2}", true});
  graphs = store().graphs().all();
  EXPECT_FALSE(graphs[0].current);
  EXPECT_TRUE(graphs[1].current);
  EXPECT_TRUE(graphs[2].current);
}

INSTANTIATE_TEST_SUITE_P(Stores, RecordsTest, ::testing::ValuesIn(every_store()), name_of_store);

}  // namespace
}  // namespace cairn
