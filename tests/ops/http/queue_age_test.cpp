// The ages of queues, as an autoscaler asks for them: numbers for every name, while the database is away too.
#include <gtest/gtest.h>

#include "tests/ops/http/api_client.hpp"

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
  EXPECT_GE(age["counted_seconds_ago"], 0);
  age.erase("counted_seconds_ago");
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

}  // namespace
}  // namespace cairn::program
