// Keys of starts and the starts that wait, as every store keeps them.
#include "storage/starts/start_book.hpp"

#include <thread>

#include "tests/storage/store_test.hpp"

namespace cairn::test {
namespace {

class StartBookTest : public StoreTest {
 protected:
  StartBook& book() { return store().starts(); }
  // Adds starts with these runs, and sets state and time.
  void keep(const StartKey& of, const std::vector<RunId>& runs, TimeUs due_at = never_us) {
    book().decide_named({of}, [&](TimeUs now_us, const std::vector<StartKeyRow>& rows) {
      StartKeyWrite write{rows.front()};
      for (const RunId& run : runs) write.added.push_back({++write.row.numbers, run, now_us, "user:ann", "{}"});
      write.row.state = "kept";
      write.row.due_at = due_at;
      return std::vector{write};
    });
  }
  void change(const StartKey& of, const std::function<void(StartKeyWrite&)>& change_write) {
    book().decide_named({of}, [&](TimeUs, const std::vector<StartKeyRow>& rows) {
      StartKeyWrite write{rows.front()};
      change_write(write);
      return std::vector{write};
    });
  }
  StartKeyRow row(const StartKey& of) {
    StartKeyRow found;
    book().decide_named({of}, [&](TimeUs, const std::vector<StartKeyRow>& rows) {
      found = rows.front();
      return std::vector<StartKeyWrite>();
    });
    return found;
  }
  std::vector<std::int64_t> numbers(const StartKey& of) {
    std::vector<std::int64_t> all;
    for (const WaitingStart& start : book().starts(of, 1, 1'000'000)) all.push_back(start.number);
    return all;
  }
  RunId some_run() { return new_run().id(); }
};

const StartKey ann{"mails", "ann"};
const StartKey ben{"mails", "ben"};
using Numbers = std::vector<std::int64_t>;

TEST_P(StartBookTest, keeps_what_is_decided_and_gives_the_first_that_waits) {
  const RunId first = some_run(), second = some_run();
  EXPECT_EQ(row(ann).state, "") << "it is made";
  EXPECT_FALSE(row(ann).front);
  keep(ann, {first, second});
  const StartKeyRow kept = row(ann);
  EXPECT_EQ(kept.state, "kept");
  EXPECT_EQ(kept.numbers, 2);
  ASSERT_TRUE(kept.front);
  EXPECT_EQ(*kept.front, std::pair(std::int64_t{1}, first));
  const std::vector<WaitingStart> starts = book().starts(ann, 2, 2);
  ASSERT_EQ(starts.size(), 1u);
  EXPECT_EQ(starts.front().run, second);
  EXPECT_EQ(starts.front().actor, "user:ann");
  EXPECT_FALSE(starts.front().refusal);
  EXPECT_EQ(numbers(ben), Numbers{});
}

TEST_P(StartBookTest, forgets_what_became_a_run_and_keeps_refusals_for_a_time) {
  const RunId run = some_run(), refused = some_run();
  keep(ann, {run, run, refused});
  change(ann, [](StartKeyWrite& write) {
    write.removed.push_back({1, 2});
    write.refused.emplace_back(StartNumbers{3, 3}, "no such graph");
  });
  EXPECT_EQ(numbers(ann), Numbers{3});
  EXPECT_EQ(book().count(10), 0);
  EXPECT_FALSE(row(ann).front) << "a refused start does not wait";
  const std::optional<FoundStart> found = book().start_of_run(refused);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->of, ann);
  EXPECT_EQ(found->start.refusal, "no such graph");
  EXPECT_EQ(found->state, "kept");
  EXPECT_FALSE(book().start_of_run(run));
  change(ann, [](StartKeyWrite& write) { write.removed.push_back({1, 9}); });
  EXPECT_EQ(numbers(ann), Numbers{3}) << "it is no start any more";
  book().forget_refused(found->start.asked_at);
  EXPECT_EQ(numbers(ann), Numbers{3});
  book().forget_refused(found->start.asked_at + 1);
  EXPECT_EQ(numbers(ann), Numbers{});
}

TEST_P(StartBookTest, a_key_that_was_due_in_more_than_a_day_is_due_now_when_they_are_recalled) {
  const TimeUs now_us = book().next_due().now_us;
  keep(ann, {some_run()}, now_us + 2 * clock_ahead_max_us);
  keep(ben, {some_run()});
  book().recall();
  EXPECT_LE(row(ann).due_at, book().next_due().now_us);
  EXPECT_EQ(row(ben).due_at, never_us);
  keep(ann, {}, now_us + clock_ahead_max_us / 2);
  book().recall();
  EXPECT_EQ(row(ann).due_at, now_us + clock_ahead_max_us / 2);
}

TEST_P(StartBookTest, counts_what_waits_up_to_a_number) {
  keep(ann, {some_run(), some_run()});
  keep(ben, {some_run()});
  EXPECT_EQ(book().count(10), 3);
  EXPECT_EQ(book().count(2), 2);
}

TEST_P(StartBookTest, a_key_that_is_made_again_goes_on_with_the_numbers_of_refused_starts) {
  keep(ann, {some_run(), some_run()});
  change(ann, [](StartKeyWrite& write) {
    write.removed.push_back({1, 1});
    write.refused.emplace_back(StartNumbers{2, 2}, "no");
    write.is_removed = true;
  });
  EXPECT_TRUE(book().keys("", {}, 10).empty());
  EXPECT_EQ(row(ann).numbers, 2);
}

TEST_P(StartBookTest, gives_what_is_due_the_longest_due_first) {
  const TimeUs now_us = store().database_time();
  keep(ann, {}, now_us - 1'000);
  keep(ben, {}, now_us - 2'000);
  keep({"mails", "later"}, {}, now_us + 3'600'000'000);
  EXPECT_EQ(book().next_due().at_us, now_us - 2'000);
  std::vector<StartKey> due;
  const auto look = [&](TimeUs, const std::vector<StartKeyRow>& rows) {
    std::vector<StartKeyWrite> writes;
    for (const StartKeyRow& one : rows) {
      due.push_back(one.of);
      writes.push_back({one});
      writes.back().row.due_at = never_us;
    }
    return writes;
  };
  EXPECT_EQ(book().decide_due(1, look), 1u);
  EXPECT_EQ(book().decide_due(10, look), 1u);
  EXPECT_EQ(book().decide_due(10, look), 0u);
  EXPECT_EQ(due, (std::vector{ben, ann}));
}

TEST_P(StartBookTest, lists_keys_of_a_graph_page_by_page) {
  for (const char* key : {"a", "b", "c"}) keep({"mails", key}, {});
  keep({"letters", "z"}, {});
  const auto keys = [&](const std::string& graph, const StartKey& after, std::int32_t limit) {
    std::string all;
    for (const StartKeyRow& one : book().keys(graph, after, limit)) all += one.of.key;
    return all;
  };
  EXPECT_EQ(keys("", {}, 10), "zabc");
  EXPECT_EQ(keys("mails", {}, 2), "ab");
  EXPECT_EQ(keys("mails", {"mails", "b"}, 2), "c");
}

TEST_P(StartBookTest, many_threads_number_the_starts_of_a_key_without_a_gap) {
  constexpr int threads_count = 4, each = 15;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < threads_count; ++thread)
    threads.emplace_back([&] {
      for (int n = 0; n < each; ++n) {
        if (n % 5 == 4) change(ann, [](StartKeyWrite& write) { write.is_removed = write.row.state.empty(); });
        change(ann, [&](StartKeyWrite& write) {
          write.added.push_back({++write.row.numbers, {}, 1, "a", "{}"});
          write.row.state = "used";
        });
      }
    });
  threads.clear();
  EXPECT_EQ(std::ssize(numbers(ann)), threads_count * each);
  EXPECT_EQ(row(ann).numbers, threads_count * each);
}

INSTANTIATE_TEST_SUITE_P(Stores, StartBookTest, ::testing::ValuesIn(every_store()), name_of_store);

}  // namespace
}  // namespace cairn::test
