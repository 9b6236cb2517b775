// The ages of queues, as an autoscaler asks for them: numbers for every name, while the database is away too.
#include <condition_variable>
#include <future>
#include <gtest/gtest.h>
#include <mutex>

#include "ops/service/queue_ages.hpp"
#include "storage/forwarding_store.hpp"
#include "storage/memory/memory_store.hpp"
#include "tests/ops/api_client.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn::program {
namespace {

std::string age_of(const std::string& queue) { return "/api/v1/queues/" + queue + "/age"; }

std::string waiting_job_graph() {
  return R"({"name": "aged", "start": "make", "limits": {"steps": 10}, "nodes": {
    "make": {"do": "aged.make", "queue": "aged", "labels": ["ok"], "on": {"ok": "finish"}},
    "finish": {"end": "done"}}})";
}

TEST(QueueAge, is_zero_for_a_queue_that_nothing_has_named) {
  const Server server({"--dsn", new_database()});
  const Reply reply = server.get(age_of("nothing"));
  EXPECT_EQ(reply.status, 200);
  Json age = reply.json();
  for (const char* since : {"counted_seconds_ago", "jobs_counted_seconds_ago"}) {
    EXPECT_GE(age[since], 0) << since;
    age.erase(since);
  }
  EXPECT_EQ(
      age,
      Json(
          {{"queue", "nothing"}, {"oldest_seconds", 0.0}, {"ready", 0}, {"later", 0}, {"held", 0}, {"counted", true}}));
  EXPECT_EQ(server.get(age_of("nothing") + "?x=1").status, 400);
  EXPECT_EQ(server.post(age_of("nothing")).status, 405);
}

TEST(QueueAge, is_that_of_the_oldest_job_and_stays_while_the_database_is_away) {
  const std::string data = (directory() / "aged_data").string();
  write_file("aged.json", waiting_job_graph());
  cairn_ok({"graph", "add", (directory() / "aged.json").string(), "--data", data});
  cairn_ok({"start", "aged", "--data", data});
  const Server server({"--data", data});
  const auto is_counted = [&] {
    const Json age = server.get(age_of("aged")).json();
    return age["ready"] == 1 && age["oldest_seconds"] > 0.0;
  };
  ASSERT_TRUE(wait_until(is_counted)) << server.get(age_of("aged")).body;
  cairn_ok({"down", "--data", data});
  ASSERT_TRUE(wait_until([&] { return server.get("/readyz").status == 503; }));
  ASSERT_TRUE(wait_until([&] { return server.get(age_of("aged")).json()["counted_seconds_ago"] > 5.0; }));
  for (int look = 0; look < 3; ++look) {
    const Reply reply = server.get(age_of("aged"));
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.json()["ready"], 1) << reply.body;
    EXPECT_GT(reply.json()["oldest_seconds"], 0.0) << reply.body;
  }
  EXPECT_EQ(server.get(age_of("other")).json()["ready"], 0);
  EXPECT_EQ(server.get("/api/v1/queues").status, 503);
}

TEST(QueueAge, shows_nothing_of_queues_beyond_the_scope) {
  const std::string dsn = new_database();
  write_file("aged.json", waiting_job_graph());
  cairn_ok({"graph", "add", (directory() / "aged.json").string(), "--dsn", dsn});
  cairn_ok({"start", "aged", "--dsn", dsn});
  const std::string mine = new_token(dsn, "mine", {"--role", "read", "--scope", "queue=aged"});
  const std::string other = new_token(dsn, "other", {"--role", "read", "--scope", "queue=others"});
  const Server server({"--dsn", dsn});
  EXPECT_EQ(server.get(age_of("aged"), bearer(mine)).json()["ready"], 1);
  EXPECT_EQ(server.get(age_of("aged"), bearer(other)).json()["ready"], 0);
  EXPECT_EQ(server.get(age_of("aged")).status, 401);
}

// All jobs were counted for it, however many waited, and the metrics had no age of a queue before they had passed them.
TEST(QueueAge, is_known_at_once_where_more_jobs_wait_than_one_count_passes) {
  const std::string dsn = new_database();
  test::ask(
      dsn,
      "insert into cairn.job (shard, run_id, branch, step, attempt, priority, run_at, epoch, deadline, "
      "timeout_ms, queue) select 0, md5(n::text)::uuid, 1, 1, 1, n % 3, (extract(epoch from now()) * 1e6)::bigint "
      "- n * 60000::bigint, 1, 0, 0, 'long' from generate_series(1, 150000) n");
  test::ask(dsn,
            "insert into cairn.job (shard, run_id, branch, step, attempt, priority, run_at, epoch, deadline, "
            "timeout_ms, queue) values (0, 'ffffffff-ffff-ffff-ffff-ffffffffffff', 1, 1, 1, 0, 1, 1, 0, 0, 'last')");
  const Server server({"--dsn", dsn});
  Json age;
  ASSERT_TRUE(wait_until([&] {
    age = server.get(age_of("long")).json();
    return age["counted"] == true;
  }));
  EXPECT_GE(age["oldest_seconds"], 9'000.0) << age;
  EXPECT_LT(age["oldest_seconds"], 9'600.0) << age;
  EXPECT_EQ(age["ready"], 100'000) << "those that were passed";
  EXPECT_EQ(age["jobs_counted_seconds_ago"], nullptr) << age;
  EXPECT_EQ(server.get(age_of("last")).json()["ready"], 1) << "there is one, as its age says";
  const std::string metrics = server.get("/metrics").body;
  EXPECT_NE(metrics.find("\ncairn_oldest_ready_seconds{queue=\"long\"} 9"), std::string::npos) << metrics;
  EXPECT_EQ(metrics.find("\ncairn_jobs{"), std::string::npos) << metrics;
  const auto is_passed = [&] {
    age = server.get(age_of("long")).json();
    return age["jobs_counted_seconds_ago"] != nullptr;
  };
  ASSERT_TRUE(wait_until(is_passed, std::chrono::seconds(300))) << age;
  EXPECT_EQ(age["ready"], 150'000) << age;
  EXPECT_GT(age["jobs_counted_seconds_ago"], age["counted_seconds_ago"]) << age;
  test::ask(dsn,
            "insert into cairn.job (shard, run_id, branch, step, attempt, priority, run_at, epoch, deadline, "
            "timeout_ms, queue) values (0, '00000000-0000-0000-0000-000000000001', 1, 1, 1, 0, 1, 1, 0, 0, 'new')");
  ASSERT_TRUE(wait_until([&] {
    age = server.get(age_of("new")).json();
    return age["oldest_seconds"] > 0;
  }));
  EXPECT_EQ(age["ready"], 1) << "it came after the last pass, which has none: " << age;
}

// Accepts a question, and says nothing until it may.
class SilentStore final : public ForwardingStore {
 public:
  explicit SilentStore(Store& store) : ForwardingStore(store), jobs_(store.jobs()) {
    jobs_.queues = [this] {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return may_speak_; });
      return store_.jobs().queues();
    };
  }
  JobBook& jobs() override { return jobs_; }
  void speak() {
    const std::lock_guard lock(mutex_);
    may_speak_ = true;
    changed_.notify_all();
  }

 private:
  JobBook jobs_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool may_speak_ = false;
};

TEST(QueueAges, are_given_while_the_database_accepts_and_says_nothing) {
  const auto memory = make_memory_store(1, [] { return TimeUs{1'000'000}; });
  SilentStore store(*memory);
  QueueAges ages(store, "");
  auto asked = std::async(std::launch::async, [&] { return ages.of("any"); });
  const bool is_answered = asked.wait_for(std::chrono::seconds(60)) == std::future_status::ready;
  store.speak();
  EXPECT_TRUE(is_answered);
  EXPECT_EQ(asked.get()["counted"], !is_answered);
  EXPECT_TRUE(wait_until([&] { return ages.of("any")["counted"] == true; }));
}

TEST(RareCount, takes_a_twentieth_of_the_time_and_a_failed_one_earns_no_long_rest) {
  using std::chrono::seconds;
  const RareCount::Clock::time_point began{};
  RareCount times;
  EXPECT_TRUE(times.is_due(began));
  times.end(began, began + seconds(60));
  EXPECT_FALSE(times.is_due(began + seconds(60 + 20 * 60 - 1)));
  EXPECT_TRUE(times.is_due(began + seconds(60 + 20 * 60)));
  times.end(began, began);
  EXPECT_FALSE(times.is_due(began + seconds(4)));
  EXPECT_TRUE(times.is_due(began + seconds(5)));
  times.fail(began + seconds(60));
  EXPECT_FALSE(times.is_due(began + seconds(64)));
  EXPECT_TRUE(times.is_due(began + seconds(65)));
}

}  // namespace
}  // namespace cairn::program
