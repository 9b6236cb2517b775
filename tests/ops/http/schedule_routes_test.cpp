// Schedules over HTTP: as the commands do it, each change under the caller's name.
#include <gtest/gtest.h>

#include "tests/ops/api_client.hpp"

namespace cairn::program {
namespace {

const std::string schedules = "/api/v1/schedules";

Json weekly(const std::string& name) {
  return {{"name", name},
          {"graph", "plan_runner"},
          {"cron", Json::array({"0 9 * * MON"})},
          {"zone", "Europe/Berlin"},
          {"input", {{"goal", "g"}, {"sub_goals", Json::array()}}}};
}

std::string message_in(const Reply& reply) { return reply.json().at("error").at("message"); }

TEST(ScheduleRoutes, a_schedule_is_added_shown_listed_edited_and_removed) {
  const Server server({"--dsn", new_database()});
  const Reply added = server.post(schedules, weekly("weekly"));
  ASSERT_EQ(added.status, 201) << added.body;
  EXPECT_EQ(added.json()["words"], "Mondays at 09:00 in Europe/Berlin");
  EXPECT_NE(added.header("Location").find("weekly"), std::string::npos);
  EXPECT_EQ(server.post(schedules, weekly("weekly")).status, 409);
  EXPECT_EQ(server.get(schedules + "/weekly").json(), added.json());
  EXPECT_EQ(server.get(schedules).json(), Json::array({added.json()}));
  const Reply edited = server.post(schedules + "/weekly", {{"cron", Json::array({"0 8 * * MON"})}, {"revision", 1}});
  ASSERT_EQ(edited.status, 200) << edited.body;
  EXPECT_EQ(edited.json()["revision"], 2);
  EXPECT_EQ(edited.json()["zone"], "Europe/Berlin");
  const Reply stale = server.post(schedules + "/weekly", {{"overlap", "allow_all"}, {"revision", 1}});
  EXPECT_EQ(stale.status, 409);
  EXPECT_EQ(message_in(stale), "Expected revision 1 of schedule weekly to edit, but it has revision 2 by now.");
  EXPECT_EQ(ApiConnection(server.port()).ask("DELETE", schedules + "/weekly").status, 200);
  EXPECT_EQ(server.get(schedules + "/weekly").status, 404);
  const Json history = server.get(schedules + "/weekly/history").json();
  ASSERT_EQ(history.size(), 3u);
  EXPECT_EQ(history[0]["kind"], "removed") << "the newest first";
  const Reply page = server.get(schedules + "/weekly/history?before=3&limit=1");
  EXPECT_EQ(page.json()[0]["number"], 2);
  EXPECT_EQ(page.header("Link"), "<?limit=1&before=2>; rel=\"next\"");
  EXPECT_EQ(server.get(schedules + "/weekly/history?before=2&limit=1").header("Link"), "") << "the first of all";
}

TEST(ScheduleRoutes, coming_times_and_reasons_are_those_of_the_commands) {
  const Server server({"--dsn", new_database()});
  ASSERT_EQ(server.post(schedules, weekly("weekly")).status, 201);
  const Json next = server.get(schedules + "/weekly/next?from=2026-11-23&count=2").json();
  EXPECT_EQ(next, Json::parse(R"([{"at": "2026-11-23T08:00:00Z", "local": "2026-11-23 09:00", "zone": "CET"},
                                  {"at": "2026-11-30T08:00:00Z", "local": "2026-11-30 09:00", "zone": "CET"}])"));
  EXPECT_EQ(server.get(schedules + "/weekly/next").json().size(), 10u);
  const Json says = server.get(schedules + "/weekly/explain?at=2037-03-02").json()["says"];
  EXPECT_EQ(says, Json::array({"The occurrence of 2037-03-02 09:00 CET is still to come."}));
  EXPECT_EQ(server.get(schedules + "/weekly/explain?at=soon").status, 400);
}

TEST(ScheduleRoutes, a_pause_a_trigger_and_a_backfill_stand_under_the_callers_name) {
  const std::string dsn = new_database();
  const std::string token = new_token(dsn, "ops", {"--role", "operate", "--role", "read"});
  const Server server({"--dsn", dsn});
  ASSERT_EQ(server.post(schedules, weekly("weekly"), bearer(token)).status, 201);
  const std::string path = schedules + "/weekly";
  const Reply paused = server.post(path + "/pause", {{"reason", "closed"}}, bearer(token));
  ASSERT_EQ(paused.status, 200) << paused.body;
  EXPECT_EQ(paused.json()["paused"]["by"], "token:ops");
  EXPECT_TRUE(paused.json()["next_at"].is_null());
  EXPECT_EQ(server.post(path + "/pause", Json::object(), bearer(token)).status, 409);
  EXPECT_EQ(server.post(path + "/resume", Json::object(), bearer(token)).status, 200);
  const Reply triggered = server.post(path + "/trigger", {{"overlap", "allow_all"}}, bearer(token));
  ASSERT_EQ(triggered.status, 200) << triggered.body;
  const Json started = triggered.json()["notes"][0];
  EXPECT_EQ(started["kind"], "started");
  const Json run = server.get(runs + "/" + started["run"].get<std::string>(), bearer(token)).json();
  EXPECT_EQ(run["tags"]["schedule"], "weekly");
  const Reply filled =
      server.post(path + "/backfill",
                  {{"from", "2026-11-02"}, {"until", "2026-11-16T08:00:00Z"}, {"overlap", "allow_all"}}, bearer(token));
  ASSERT_EQ(filled.status, 200) << filled.body;
  EXPECT_EQ(filled.json()["notes"].size(), 3u);
  for (const Json& range : {Json{{"from", "2026-11-16"}, {"until", "2026-11-02"}}, Json{{"from", "2200-01-01"}}}) {
    const Reply refused = server.post(path + "/backfill", range, bearer(token));
    EXPECT_EQ(refused.status, 400) << refused.body;
    EXPECT_NE(refused.body.find("\"message\":\"Expected "), std::string::npos) << refused.body;
  }
  for (const Json& note : server.get(path + "/history", bearer(token)).json())
    EXPECT_EQ(note["actor"], "token:ops") << note;
}

TEST(ScheduleRoutes, what_cannot_be_is_refused) {
  const std::string dsn = new_database();
  const std::string scoped = new_token(dsn, "one", {"--role", "admin", "--scope", "graph=plan_runner"});
  const Server server({"--dsn", dsn});
  EXPECT_EQ(server.get(schedules, bearer(scoped)).status, 403);
  const std::string token = new_token(dsn, "all", {"--role", "admin"});
  const auto add = [&](const Json& changed) {
    Json body = weekly("bad");
    body.update(changed);
    return server.post(schedules, body, bearer(token));
  };
  for (const Json& bad : {Json{{"cron", Json::array({"0 9 30 2 *"})}}, Json{{"name", "a b"}}, Json{{"name", 1}},
                          Json{{"when", "always"}}, Json{{"input", 5}}, Json{{"every_ms", 1'500}}})
    EXPECT_EQ(add(bad).status, 400) << bad;
  EXPECT_EQ(add({{"zone", "Europe/Berln"}}).status, 404);
  EXPECT_EQ(add({{"graph", "none"}}).status, 404);
  EXPECT_EQ(server.get(schedules + "/bad", bearer(token)).status, 404);
  EXPECT_EQ(server.post(schedules + "/bad", {{"zone", "UTC"}}, bearer(token)).status, 404);
}

}  // namespace
}  // namespace cairn::program
