// Sessions of a large pool look by themselves the more seldom, the more of them share the work.
#include "workers/session/crowd.hpp"

#include <gtest/gtest.h>

#include "storage/queue.hpp"
#include "tests/workers/session/times.hpp"

namespace cairn {
namespace {

constexpr TimeUs ten_s = 10'000'000;
constexpr TimeUs half_s = 500'000;
constexpr TimeUs two_s = 2'000'000;
const std::set<std::string, std::less<>> served = {"default"};

std::vector<SessionRow> sessions_of(std::int64_t count, const std::vector<std::string>& queues = {"default"}) {
  std::vector<SessionRow> rows;
  for (std::int64_t id = 1; id <= count; ++id) {
    SessionRow row;
    row.id = id;
    row.queues = queues;
    row.beat_at = noon;
    rows.push_back(row);
  }
  return rows;
}

TEST(Crowd, a_few_sessions_do_all_that_one_alone_does) {
  for (const std::int64_t count : {0, 1, 16}) {
    Crowd last(std::max<std::int64_t>(count, 1));
    last.seen(sessions_of(count), served, noon, ten_s);
    EXPECT_EQ(last.poll_us(half_s), half_s);
    EXPECT_EQ(last.scan_pause_us(two_s), two_s);
    EXPECT_TRUE(last.is_listener(noon));
  }
}

TEST(Crowd, however_many_share_the_work_a_few_poll_and_look) {
  for (const std::int64_t count : {64, 128}) {
    double polls = 0, looks = 0;
    for (std::int64_t id = 1; id <= count; ++id) {
      Crowd one(id);
      one.seen(sessions_of(count), served, noon, ten_s);
      polls += static_cast<double>(half_s) / static_cast<double>(one.poll_us(half_s));
      looks += static_cast<double>(two_s) / static_cast<double>(one.scan_pause_us(two_s));
    }
    EXPECT_GE(polls, 16) << count;
    EXPECT_LE(polls, 22) << count << ": no two at the same pace";
    EXPECT_LE(looks, 32) << count;
    EXPECT_GE(looks, 16) << count;
  }
}

TEST(Crowd, pauses_have_a_limit) {
  Crowd last(10'000);
  last.seen(sessions_of(10'000), served, noon, ten_s);
  EXPECT_LE(last.poll_us(half_s), 5'000'000);
  EXPECT_GE(last.poll_us(half_s), 3'750'000);
  EXPECT_EQ(last.poll_us(20'000'000), 20'000'000) << "as it was set";
  EXPECT_EQ(last.scan_pause_us(two_s), 300'000'000);
}

TEST(Crowd, the_queue_that_fewest_serve_decides) {
  std::vector<SessionRow> rows = sessions_of(200);
  rows[99].queues = {"default", "rare"};
  Crowd one(100);
  one.seen(rows, {"default", "rare"}, noon, ten_s);
  EXPECT_EQ(one.poll_us(half_s), half_s);
  EXPECT_TRUE(one.is_listener(noon));
  EXPECT_GT(one.scan_pause_us(two_s), two_s) << "others look after it all the same";
}

TEST(Crowd, those_that_are_silent_or_work_for_their_own_runs_do_not_count) {
  std::vector<SessionRow> rows = sessions_of(200);
  for (std::size_t at = 0; at < 190; ++at) rows[at].beat_at = noon - ten_s;
  Crowd one(200);
  one.seen(rows, served, noon, ten_s);
  EXPECT_EQ(one.scan_pause_us(two_s), two_s) << "so that ten of two hundred notice when the first ones died";
  EXPECT_TRUE(one.is_listener(noon));
  rows = sessions_of(200);
  for (std::size_t at = 0; at < 190; ++at) rows[at].only_own = true;
  one.seen(rows, served, noon, ten_s);
  EXPECT_EQ(one.poll_us(half_s), half_s);
  EXPECT_TRUE(one.is_listener(noon));
}

// The ids of those with the rows from `first` on that listen for the queue.
std::set<SessionId> listeners(const std::vector<SessionRow>& rows, std::size_t first, const std::string& queue,
                              TimeUs now_us) {
  std::set<SessionId> found;
  for (std::size_t at = first; at < rows.size(); ++at) {
    Crowd one(rows[at].id);
    one.seen(rows, {queue}, noon, ten_s);
    if (one.is_listener(now_us)) found.insert(rows[at].id);
  }
  return found;
}

TEST(Crowd, each_queue_has_its_listeners) {
  std::vector<SessionRow> rows = sessions_of(200);
  for (std::size_t at = 100; at < 200; ++at) rows[at].queues = {"later"};
  EXPECT_EQ(listeners(rows, 100, "later", noon).size(), 16u);
}

TEST(Crowd, all_listen_by_turns) {
  const std::vector<SessionRow> rows = sessions_of(40);
  std::set<SessionId> all;
  for (int turn = 0; turn < 40; ++turn) {
    const std::set<SessionId> now = listeners(rows, 0, "default", noon + turn * Crowd::turn_us);
    EXPECT_EQ(now.size(), 16u);
    all.insert(now.begin(), now.end());
  }
  EXPECT_EQ(all.size(), 40u);
  EXPECT_EQ(listeners(rows, 0, "default", noon), listeners(rows, 0, "default", noon + 1));
}

// A server listens once for all its workers over HTTP.
TEST(Crowd, workers_over_http_take_no_place_of_a_listener) {
  std::vector<SessionRow> rows = sessions_of(200);
  for (std::size_t at = 0; at < 196; ++at) rows[at].caller = "someone";
  EXPECT_EQ(listeners(rows, 196, "default", noon).size(), 4u);
}

}  // namespace
}  // namespace cairn
