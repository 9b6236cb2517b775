// Tokens of the API (H7): names, roles and scopes, who stands as the actor, and what a wrong one costs. Each test has a
// database of its own, because a token that was ever made is asked of everyone.
#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "ops/http/api.hpp"
#include "storage/postgres/connection.hpp"
#include "tests/ops/api_client.hpp"

namespace cairn::program {
namespace {

using std::chrono::steady_clock;

Json waiting_graph(const std::string& name, const std::string& queue = "default") {
  return {{"name", name},
          {"start", "ask"},
          {"limits", {{"steps", 10}}},
          {"nodes",
           {{"ask", {{"ask", {{"prompt", "Go?"}}}, {"on", {{"answered", "set"}, {"expired", "end"}}}}},
            {"set", {{"do", "data.set"}, {"with", {{"set", {{"x", 1}}}}}, {"queue", queue}, {"on", {{"ok", "end"}}}}},
            {"end", {{"end", "done"}}}}}};
}

std::string path_of(const Reply& started) { return runs + "/" + started.json().at("run").get<std::string>(); }

Reply ask(const Server& server, const std::string& method, const std::string& path, const std::string& token) {
  Headers headers = bearer(token);
  headers.emplace_back("Content-Type", "application/json");
  return ApiConnection(server.port()).ask(method, path, method == "GET" ? "" : "{}", headers);
}

TEST(ApiTokens, H7_a_token_is_shown_once_kept_as_a_hash_listed_and_revoked) {
  const std::string dsn = new_database();
  const std::string token = new_token(dsn, "ann", {"--role", "read", "--role", "answer", "--scope", "tag=team=a=b"});
  EXPECT_EQ(token.size(), 70U);
  PgConnection database({dsn, "a test", false});
  const PgResult row = database.query({"whole", "select t::text || encode(hash, 'hex') from cairn.token t"});
  EXPECT_EQ(row.text(0, 0).find(token.substr(6)), std::string::npos);
  const Json shown = cairn_ok({"token", "list", "--dsn", dsn, "--json"}).lines().at(0);
  EXPECT_EQ(shown["name"], "ann");
  EXPECT_EQ(shown["roles"], (Json{"read", "answer"}));
  EXPECT_EQ(shown["scopes"], (Json{"tag=team=a=b"}));
  EXPECT_TRUE(shown["revoked_at"].is_null());
  expect_refused(cairn({"token", "add", "ann", "--role", "read", "--dsn", dsn}), 4, "ann was used");
  cairn_ok({"token", "revoke", "ann", "--dsn", dsn});
  EXPECT_FALSE(cairn_ok({"token", "list", "--dsn", dsn, "--json"}).lines().at(0)["revoked_at"].is_null());
  expect_refused(cairn({"token", "revoke", "bob", "--dsn", dsn}), 3, "bob");
  expect_refused(cairn({"token", "add", "ann", "--role", "read", "--dsn", dsn}), 4, "ann was used");
  for (const Arguments& bad : {Arguments{"--role", "king"}, Arguments{}, Arguments{"--role", "read", "--scope", "all"},
                               Arguments{"--role", "read", "--quota", "runs=none"}}) {
    Arguments arguments = {"token", "add", "eve", "--dsn", dsn};
    arguments.insert(arguments.end(), bad.begin(), bad.end());
    EXPECT_EQ(cairn(arguments).exit, 2);
  }
  expect_refused(cairn({"token", "add", "environment", "--role", "read", "--dsn", dsn}), 2, "environment");
}

// As the guide has it.
std::string role_by_guide(const RouteShown& route) {
  for (const char* of_workers : {"/api/v1/claims", "/api/v1/blobs"})
    if (route.path.starts_with(of_workers)) return "worker";
  if (route.method == "GET" || route.path.ends_with("/confirm")) return "read";
  for (const char* last : {"/answers", "/signals", "/links"})
    if (route.path.ends_with(last)) return "answer";
  if (route.path.ends_with("/hooks") || route.path == "/api/v1/hooks/{name}") return "admin";
  return route.path.ends_with("/runs") || route.path.ends_with("/fork") ? "run" : "operate";
}

TEST(ApiTokens, H7_every_route_refuses_every_role_that_is_not_enough) {
  const std::string dsn = new_database();
  std::map<std::string, std::string> tokens;
  for (const char* role : {"read", "answer", "run", "operate", "worker", "admin"})
    tokens[role] = new_token(dsn, role, {"--role", role});
  const Server server({"--dsn", dsn});
  int refused = 0;
  for (const RouteShown& route : api_routes()) {
    std::string path = route.path;
    EXPECT_EQ(to_string(route.role), role_by_guide(route)) << route.method << " " << path;
    if (const std::size_t at = path.find("{run}"); at != std::string::npos)
      path.replace(at, 5, "00000000-0000-7000-8000-000000000000");
    if (const std::size_t at = path.find("{name}"); at != std::string::npos) path.replace(at, 6, "none");
    if (const std::size_t at = path.find("{session}"); at != std::string::npos) path.replace(at, 9, "none");
    for (const std::string part : {"{claim}", "{hash}"})
      if (const std::size_t at = path.find(part); at != std::string::npos) path.replace(at, part.size(), "none");
    EXPECT_EQ(server.get(path).status, 401) << path;
    for (const auto& [role, token] : tokens) {
      const Reply reply = ask(server, route.method, path, token);
      const bool is_enough = role == to_string(route.role) || role == "admin";
      EXPECT_EQ(reply.status == 403, !is_enough) << route.method << " " << path << " " << role << " " << reply.body;
      EXPECT_NE(reply.status, 401) << path;
      refused += reply.status == 403 ? 1 : 0;
    }
  }
  EXPECT_GE(refused, 19 * 4);
}

TEST(ApiTokens, H7_the_actor_is_the_token_whatever_by_says) {
  const std::string dsn = new_database();
  const std::string token = new_token(dsn, "web", {"--role", "run", "--role", "answer", "--role", "operate"});
  const Server server({"--dsn", dsn});
  ASSERT_EQ(server.post(graphs, waiting_graph("asks"), bearer(token)).status, 201);
  const Reply started = server.post(runs, {{"graph", "asks"}}, bearer(token));
  const std::string run = started.json().at("run");
  for (const char* by : {"token:cfo", "user:root", "worker:1"})
    EXPECT_EQ(server.post(path_of(started) + "/answers", {{"value", "yes"}, {"by", by}}, bearer(token)).status, 400);
  const Json answer = {{"value", "yes"}, {"by", "cfo@example.com"}};
  EXPECT_EQ(server.post(path_of(started) + "/answers", answer, bearer(token)).status, 200);
  EXPECT_EQ(server.post(path_of(started) + "/signals", {{"name", "n"}, {"value", 1}}, bearer(token)).status, 200);
  for (const char* what : {"/pause", "/resume", "/cancel"})
    EXPECT_EQ(server.post(path_of(started) + what, Json::object(), bearer(token)).status, 200) << what;
  const Reply forked = server.post(path_of(started) + "/fork", {{"at", 2}}, bearer(token));
  EXPECT_EQ(forked.status, 201) << forked.body;
  std::set<std::string> seen;
  for (const std::string& of : {run, forked.json().at("run").get<std::string>()})
    for (const Json& event : cairn_ok({"events", of, "--json", "--dsn", dsn}).lines()) {
      const std::string type = event["type"];
      if (event["step"] != 0 && type != "question_answered") continue;  // else a step is its cause
      seen.insert(type);
      EXPECT_EQ(event["actor"], "token:web") << event;
      EXPECT_EQ(event.value("by", "cfo@example.com"), "cfo@example.com") << event;
    }
  EXPECT_EQ(seen, (std::set<std::string>{"question_answered", "run_finished", "run_paused", "run_resumed",
                                         "run_started", "signal_received"}));
}

TEST(ApiTokens, H7_several_runs_of_one_request_each_count_in_the_quota_and_lie_within_the_scope) {
  const std::string dsn = new_database();
  const std::string token = new_token(
      dsn, "many",
      {"--role", "run", "--role", "read", "--role", "operate", "--scope", "tag=team=a", "--quota", "runs=5/1h"});
  const Server server({"--dsn", dsn});
  ASSERT_EQ(server.post(graphs, waiting_graph("asks"), bearer(new_token(dsn, "adds", {"--role", "operate"}))).status,
            201);
  const auto several = [](int count, const std::string& key) {
    Json body = {{"graph", "asks"}, {"runs", Json::array()}};
    for (int n = 0; n < count; ++n) body["runs"].push_back({{"key", key + std::to_string(n)}});
    return body;
  };
  const Reply started = server.post(runs, several(3, "k"), bearer(token));
  ASSERT_EQ(started.status, 201) << started.body;
  const std::string run = started.json()["runs"][0]["run"];
  EXPECT_EQ(server.get(runs + "/" + run, bearer(token)).json()["tags"]["team"], "a");
  EXPECT_EQ(server.post(runs, several(3, "l"), bearer(token)).status, 429) << "two are left";
  EXPECT_EQ(server.post(runs, several(3, "k"), bearer(token)).status, 429)
      << "and it is not known before that none is new";
  EXPECT_EQ(server.post(runs, several(2, "k"), bearer(token)).status, 200) << "given back, as they existed";
  EXPECT_EQ(server.post(runs, several(2, "m"), bearer(token)).status, 201);
  EXPECT_EQ(server.post(runs, several(1, "n"), bearer(token)).status, 429);
  Json other = several(1, "o");
  other["runs"][0]["tags"] = {{"team", "b"}};
  EXPECT_NE(server.post(runs, other, bearer(token)).status, 201);
  const Reply exported = server.get(runs + "/" + run + "/export", bearer(token));
  EXPECT_EQ(exported.status, 200);
  EXPECT_EQ(exported.body.find("\"checkpoint\""), std::string::npos) << "those name runs of others";
}

// They would cancel, replace or join each other, whatever the roles.
TEST(ApiTokens, H7_starts_of_one_key_do_not_meet_across_scopes) {
  const std::string dsn = new_database();
  const std::string admin = new_token(dsn, "admin", {"--role", "admin"});
  const auto of_team = [&](const std::string& team) {
    return new_token(dsn, team, {"--role", "run", "--role", "read", "--scope", "tag=team=" + team});
  };
  const std::string ann = of_team("a"), bob = of_team("b");
  const Server server({"--dsn", dsn});
  const auto add = [&](const std::string& name, const std::string& key) {
    Json graph = waiting_graph(name);
    graph["singleton"] = {{"key", key}, {"when", "cancel"}};
    ASSERT_EQ(server.post(graphs, graph, bearer(admin)).status, 201);
  };
  add("by_shop", "/shop");
  add("by_team", "tag.team");
  const auto start = [&](const std::string& graph, const std::string& token) {
    return server.post(runs, {{"graph", graph}, {"input", {{"shop", "north"}}}}, bearer(token)).status;
  };
  EXPECT_EQ(start("by_shop", admin), 201);
  EXPECT_EQ(start("by_shop", bob), 403);
  EXPECT_EQ(start("by_team", ann), 201);
  EXPECT_EQ(start("by_team", bob), 201);
  EXPECT_EQ(server.get(runs + "?graph=by_team&status=aborted", bearer(admin)).json().size(), 0u);
}

// As if there were no such run.
void expect_hidden(const Server& server, const Reply& hidden, const std::string& token) {
  const Reply shown = server.get(path_of(hidden), bearer(token));
  const Reply nobody = server.get(runs + "/00000000-0000-7000-8000-000000000000", bearer(token));
  EXPECT_EQ(shown.status, 404);
  EXPECT_EQ(shown.body.substr(0, 50), nobody.body.substr(0, 50));
  for (const char* what : {"/plan", "/explain", "/events"})
    EXPECT_EQ(server.get(path_of(hidden) + what, bearer(token)).status, 404) << what;
  for (const char* what : {"/cancel", "/pause", "/resume", "/retry"})
    EXPECT_EQ(server.post(path_of(hidden) + what, Json::object(), bearer(token)).status, 404) << what;
  EXPECT_EQ(server.post(path_of(hidden) + "/answers", {{"value", "x"}}, bearer(token)).status, 404);
  EXPECT_EQ(server.post(path_of(hidden) + "/signals", {{"name", "n"}, {"value", 1}}, bearer(token)).status, 404);
  EXPECT_EQ(server.post(path_of(hidden) + "/fork", {{"at", 1}}, bearer(token)).status, 404);
  EXPECT_EQ(server.post(runs, {{"graph", "mine"}, {"continues", hidden.json()["run"]}}, bearer(token)).status, 404);
}

TEST(ApiTokens, H7_a_scope_bounds_what_is_seen_and_touched) {
  const std::string dsn = new_database();
  const std::string all = new_token(dsn, "all", {"--role", "admin"});
  const std::string some = new_token(dsn, "some",
                                     {"--role", "read", "--role", "run", "--role", "answer", "--role", "operate",
                                      "--scope", "graph=mine", "--scope", "tag=team=a", "--scope", "queue=here"});
  const Server server({"--dsn", dsn});
  for (const char* name : {"mine", "yours"})
    ASSERT_EQ(server.post(graphs, waiting_graph(name, "here"), bearer(all)).status, 201);
  const auto start = [&](const std::string& graph, const Json& tags, const std::string& token) {
    return server.post(runs, {{"graph", graph}, {"tags", tags}}, bearer(token));
  };
  const Reply own = start("mine", Json::object(), some);  // gets the tag of the scope
  ASSERT_EQ(own.status, 201) << own.body;
  EXPECT_EQ(start("mine", {{"team", "b"}}, some).status, 403);
  EXPECT_EQ(start("yours", Json::object(), some).status, 404);
  const Reply other_team = start("mine", {{"team", "b"}}, all);
  const Reply other_graph = start("yours", {{"team", "a"}}, all);
  const Json listed = server.get(runs, bearer(some)).json();
  ASSERT_EQ(listed.size(), 1U) << listed;
  EXPECT_EQ(listed[0]["run"], own.json()["run"]);
  EXPECT_EQ(listed[0]["tags"], (Json{{"team", "a"}}));
  EXPECT_EQ(server.get(runs + "?graph=yours", bearer(some)).body, "[]\n");
  EXPECT_EQ(server.get(runs + "?tag=team=b", bearer(some)).body, "[]\n");
  EXPECT_EQ(server.get(path_of(own), bearer(some)).status, 200);
  for (const Reply& hidden : {other_team, other_graph}) expect_hidden(server, hidden, some);
  EXPECT_EQ(server.get(graphs, bearer(some)).json().size(), 1U);
  EXPECT_EQ(server.get(graphs + "/yours", bearer(some)).status, 404);
  EXPECT_EQ(server.post(graphs, waiting_graph("yours", "here"), bearer(some)).status, 403);
  EXPECT_EQ(server.post(graphs, waiting_graph("mine", "elsewhere"), bearer(some)).status, 403);
  const Json calls = {
      {"name", "mine"},
      {"start", "c"},
      {"limits", {{"steps", 10}}},
      {"nodes",
       {{"c", {{"call", "yours"}, {"on", {{"done", "end"}, {"failed", "end"}}}}}, {"end", {{"end", "done"}}}}}};
  EXPECT_EQ(server.post(graphs, calls, bearer(some)).status, 403);
  const Json fork = {{"at", 1}, {"tags", {{"team", "b"}}}};
  EXPECT_EQ(server.post(path_of(own) + "/fork", fork, bearer(some)).status, 403);
  EXPECT_EQ(server.get("/metrics", bearer(some)).status, 403);
  ASSERT_EQ(server.post(graphs, waiting_graph("mine", "elsewhere"), bearer(all)).status, 201);
  EXPECT_EQ(start("mine", Json::object(), some).status, 403);
  cairn_ok({"queue", "set", "elsewhere", "--concurrency", "3", "--dsn", dsn});
  cairn_ok({"queue", "set", "here", "--concurrency", "3", "--dsn", dsn});
  for (const Json& queue : server.get("/api/v1/queues", bearer(some)).json()) EXPECT_EQ(queue["queue"], "here");
  const Beside worker({"work", "--queue", "elsewhere", "--dsn", dsn});
  EXPECT_TRUE(wait_until([&] { return server.get("/api/v1/workers", bearer(all)).json().size() == 1; }));
  EXPECT_EQ(server.get("/api/v1/workers", bearer(some)).body, "[]\n");
}

TEST(ApiTokens, S2_44_a_token_of_one_tenant_takes_no_turn_of_another_tenants_run) {
  const std::string dsn = new_database();
  const std::string all = new_token(dsn, "all", {"--role", "admin"});
  const std::string clinic =
      new_token(dsn, "clinic", {"--role", "read", "--role", "run", "--role", "answer", "--scope", "tag=tenant=clinic"});
  const Server server({"--dsn", dsn});
  const Beside worker({"work", "--dsn", dsn});
  const Json page = {{"dom", "<button id=1>New patient</button>"}, {"url", "http://a/"}};
  Json input = page;
  input.update({{"goal", "Add a new patient with name Jas"}, {"client", true}});
  const auto start = [&](const Json& tags, const std::string& token) {
    return server.post(runs, {{"graph", "page_agent"}, {"input", input}, {"tags", tags}}, bearer(token));
  };
  const auto turns = [&](const Reply& run) {
    const Json events = server.get(path_of(run) + "/events", bearer(all)).json();
    return std::count_if(events.begin(), events.end(),
                         [](const Json& event) { return event["type"] == "question_answered"; });
  };
  const Reply own = start(Json::object(), clinic);  // gets the tag of the scope
  const Reply other = start({{"tenant", "other"}}, all);
  for (const Reply& run : {own, other}) {
    ASSERT_EQ(run.status, 201) << run.body;
    ASSERT_TRUE(wait_until([&] { return server.get(path_of(run), bearer(all)).json()["status"] == "waiting"; }));
  }
  const auto turn = [&](const Reply& run, const std::string& tenant, const std::string& token) {
    Json value = page;
    value["tenant"] = tenant;
    return server.post(path_of(run) + "/answers", {{"value", value}}, bearer(token)).status;
  };
  for (const char* tenant : {"clinic", "other"}) EXPECT_EQ(turn(other, tenant, clinic), 404) << tenant;
  EXPECT_EQ(turn(own, "other", clinic), 400) << "the question of the run names its tenant";
  EXPECT_EQ(turns(own) + turns(other), 0);
  EXPECT_EQ(turn(own, "clinic", clinic), 200);
  EXPECT_EQ(turn(other, "other", all), 200) << "it was open all the time";
  EXPECT_EQ(turns(own) + turns(other), 2);
}

TEST(ApiTokens, H7_a_scope_of_queues_bounds_forks_and_schedules_as_it_bounds_starts) {
  const std::string dsn = new_database();
  const std::string all = new_token(dsn, "all", {"--role", "admin"});
  const std::string here =
      new_token(dsn, "here", {"--role", "read", "--role", "run", "--role", "operate", "--scope", "queue=here"});
  const Server server({"--dsn", dsn});
  ASSERT_EQ(server.post(graphs, waiting_graph("near", "here"), bearer(all)).status, 201);
  ASSERT_EQ(server.post(graphs, waiting_graph("far", "elsewhere"), bearer(all)).status, 201);
  const Reply far = server.post(runs, {{"graph", "far"}}, bearer(all));
  const Reply near = server.post(runs, {{"graph", "near"}}, bearer(here));
  ASSERT_EQ(near.status, 201) << near.body;
  EXPECT_EQ(server.post(runs, {{"graph", "far"}}, bearer(here)).status, 403);
  EXPECT_EQ(server.get(path_of(far), bearer(here)).status, 200) << "it is seen";
  EXPECT_EQ(server.post(path_of(far) + "/fork", {{"at", 1}}, bearer(here)).status, 403);
  EXPECT_EQ(server.post(path_of(far) + "/reset", {{"to", "1"}}, bearer(here)).status, 403);
  const Json reset = {{"command", "reset"}, {"to", "1"}, {"where", {{"graph", "far"}}}};
  const Reply bulk = server.post("/api/v1/bulk", reset, bearer(here));
  EXPECT_EQ(bulk.json()["refused"], 1) << bulk.body;
  EXPECT_NE(bulk.body.find("names elsewhere"), std::string::npos) << bulk.body;
  EXPECT_EQ(server.get(runs + "?graph=far", bearer(all)).json().size(), 1U);
  const Json at_now = {{"at", server.get(path_of(near), bearer(here)).json().at("seq")}};
  EXPECT_EQ(server.post(path_of(near) + "/fork", at_now, bearer(here)).status, 201);
  const Json schedule = {{"name", "nightly"}, {"graph", "far"}, {"cron", Json::array({"0 3 * * *"})}};
  EXPECT_EQ(server.post("/api/v1/schedules", schedule, bearer(here)).status, 403);
  ASSERT_EQ(server.post("/api/v1/schedules", schedule, bearer(all)).status, 201);
  for (const char* what : {"/trigger", "/pause", "/resume", "/backfill"})
    EXPECT_EQ(ask(server, "POST", "/api/v1/schedules/nightly" + std::string(what), here).status, 403) << what;
  EXPECT_EQ(ask(server, "DELETE", "/api/v1/schedules/nightly", here).status, 403);
  EXPECT_EQ(server.get("/api/v1/schedules/nightly", bearer(here)).status, 200);
}

TEST(ApiTokens, a_token_of_graphs_or_tags_changes_no_queue_but_those_of_its_scope) {
  const std::string dsn = new_database();
  const Arguments operates = {"--role", "read", "--role", "operate"};
  const auto scoped = [&](const std::string& name, const Arguments& scopes) {
    Arguments options = operates;
    for (const std::string& scope : scopes) options.insert(options.end(), {"--scope", scope});
    return new_token(dsn, name, options);
  };
  const std::string all = scoped("all", {});
  const std::string of_queue = scoped("of_queue", {"queue=here"});
  const std::string of_both = scoped("of_both", {"tag=team=a", "queue=here"});
  const Server server({"--dsn", dsn});
  const auto pause = [&](const std::string& queue, const std::string& token) {
    return server.post("/api/v1/queues/" + queue, {{"paused", true}}, bearer(token));
  };
  for (const std::string& token : {scoped("of_tag", {"tag=team=a"}), scoped("of_graph", {"graph=mine"})}) {
    const Reply refused = pause("other", token);
    EXPECT_EQ(refused.status, 403) << refused.body;
    EXPECT_NE(refused.body.find("Expected a token that covers all runs, or has queue other in its scope"),
              std::string::npos)
        << refused.body;
  }
  EXPECT_EQ(pause("other", of_both).status, 404);
  EXPECT_EQ(server.get("/api/v1/queues", bearer(all)).body, "[]\n") << "nothing was set";
  for (const std::string& token : {all, of_queue, of_both}) EXPECT_EQ(pause("here", token).status, 200);
}

TEST(ApiTokens, the_keys_of_weights_are_shown_to_a_token_that_may_see_all_runs) {
  const std::string dsn = new_database();
  cairn_ok({"queue", "set", "here", "--key", "tag.customer", "--weight", "acme=3", "--dsn", dsn});
  const std::string all = new_token(dsn, "all", {"--role", "read"});
  const std::string some = new_token(dsn, "some", {"--role", "read", "--scope", "tag=team=a"});
  const std::string both =
      new_token(dsn, "both", {"--role", "read", "--role", "operate", "--scope", "tag=team=a", "--scope", "queue=here"});
  const Server server({"--dsn", dsn});
  for (const std::string path : {"/api/v1/queues", "/api/v1/queues/here/history"}) {
    EXPECT_EQ(server.get(path, bearer(all)).json().at(0).at("weights"), (Json{{"acme", 3}})) << path;
    const Reply seen = server.get(path, bearer(some));
    EXPECT_EQ(seen.json().at(0).at("key"), "tag.customer") << path;
    EXPECT_EQ(seen.body.find("acme"), std::string::npos) << seen.body;
    EXPECT_FALSE(seen.json().at(0).contains("weights")) << path;
  }
  const Reply changed = server.post("/api/v1/queues/here", {{"concurrency", 4}}, bearer(both));
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(changed.body.find("acme"), std::string::npos) << changed.body;
}

TEST(ApiTokens, H7_a_key_of_a_run_beyond_the_scope_says_nothing_of_it) {
  const std::string dsn = new_database();
  const std::string all = new_token(dsn, "all", {"--role", "admin"});
  const std::string some = new_token(dsn, "some", {"--role", "run", "--scope", "tag=team=a"});
  const Server server({"--dsn", dsn});
  const Json order = {{"graph", "plan_runner"}, {"key", "order"}, {"tags", {{"team", "b"}}}};
  const std::string hidden = server.post(runs, order, bearer(all)).json().at("run");
  const Reply again = server.post(runs, {{"graph", "plan_runner"}, {"key", "order"}}, bearer(some));
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.body.find(hidden), std::string::npos) << again.body;
}

TEST(ApiTokens, H7_only_an_admin_replaces_a_built_in_graph) {
  const std::string dsn = new_database();
  const std::string operates = new_token(dsn, "operates", {"--role", "operate", "--role", "read", "--role", "run"});
  const std::string admin = new_token(dsn, "admin", {"--role", "admin"});
  const Server server({"--dsn", dsn});
  const Reply refused = server.post(graphs, waiting_graph("seven_node"), bearer(operates));
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(refused.body.find("admin"), std::string::npos) << refused.body;
  EXPECT_EQ(server.post(graphs, waiting_graph("own"), bearer(operates)).status, 201);
  EXPECT_EQ(server.post(graphs, waiting_graph("seven_node"), bearer(admin)).status, 201);
  std::map<std::string, Json> built_in;
  for (const Json& line : server.get(graphs, bearer(operates)).json())
    built_in[line["name"].get<std::string>()].push_back(line["built_in"]);
  EXPECT_EQ(built_in["own"], Json::array({false}));
  EXPECT_EQ(built_in["seven_node"], Json::array({true, true}));
  const std::string only_runs = new_token(dsn, "runs", {"--role", "run"});
  const Reply started = server.post(runs, {{"graph", "own"}}, bearer(only_runs));
  const Json fork = {{"at", 2}, {"graph", waiting_graph("own")}};
  EXPECT_EQ(server.post(path_of(started) + "/fork", fork, bearer(only_runs)).status, 403);
}

TEST(ApiTokens, H7_what_is_added_and_revoked_counts_in_a_running_server_within_seconds) {
  const std::string dsn = new_database();
  const Server server({"--dsn", dsn});
  EXPECT_EQ(server.get(runs).status, 200);  // no token was ever made
  const std::string token = new_token(dsn, "late", {"--role", "read", "--role", "run"});
  EXPECT_EQ(server.get(runs, bearer(token)).status, 200);
  EXPECT_TRUE(wait_until([&] { return server.get(runs).status == 401; }, std::chrono::seconds(5)));
  const Reply started =
      server.post(runs, {{"graph", "tool_agent"}, {"input", {{"messages", Json::array()}}}}, bearer(token));
  ApiConnection stream(server.port());
  stream.send("GET " + path_of(started) + "/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n" +
              "Authorization: Bearer " + token + "\r\n\r\n");
  EXPECT_TRUE(stream.read_line().starts_with("HTTP/1.1 200"));
  cairn_ok({"token", "revoke", "late", "--dsn", dsn});
  EXPECT_TRUE(wait_until([&] { return server.get(runs, bearer(token)).status == 401; }, std::chrono::seconds(5)));
  EXPECT_TRUE(stream.is_ended());
  EXPECT_EQ(server.get(runs).status, 401);                  // the last one is revoked, and the door stays shut
  for (const char* name : {"one", "two", "three", "four"})  // a token that is not known yet is looked up at once
    EXPECT_EQ(server.get(runs, bearer(new_token(dsn, name, {"--role", "read"}))).status, 200) << name;
}

TEST(ApiTokens, H7_wrong_tokens_are_counted_delayed_and_logged_without_the_token) {
  const std::string dsn = new_database();
  const std::string token = new_token(dsn, "right", {"--role", "read"});
  const Server server({"--dsn", dsn});
  const auto began = steady_clock::now();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(server.get(runs, bearer("cairn_guessed_secret")).status, 401);
  EXPECT_GE(steady_clock::now() - began, std::chrono::milliseconds(250 + 500 + 1'000));
  const auto then = steady_clock::now();
  EXPECT_EQ(server.get(runs, bearer(token)).status, 200);
  EXPECT_LT(steady_clock::now() - then, std::chrono::milliseconds(2'000)) << "a fourth wrong one would wait so long";
  const std::string metrics = server.get("/metrics", bearer(token)).body;
  EXPECT_NE(metrics.find("\ncairn_api_wrong_tokens 3\n"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("\ncairn_api_wrong_tokens_total 3\n"), std::string::npos) << metrics;
  EXPECT_NE(server.process().err().find("wrong token from 127.0.0.1"), std::string::npos) << server.process().err();
  EXPECT_EQ(server.process().err().find("guessed"), std::string::npos);
}

TEST(ApiTokens, H7_the_token_of_the_environment_is_an_admin_and_no_short_one_beyond_this_machine) {
  const std::string dsn = new_database();
  const std::string long_one = "sixteen bytes or more";
  {
    const Variable variable("CAIRN_TOKEN", "short");
    expect_refused(cairn({"serve", "--listen", "0.0.0.0:0", "--plain-http", "--dsn", dsn}), 4, "at least 16 bytes");
    const Server server({"--dsn", dsn});
    EXPECT_EQ(server.get(runs, bearer("short")).status, 200);
  }
  const Variable variable("CAIRN_TOKEN", long_one);
  const Server server({"--dsn", dsn, "--listen", "0.0.0.0:0", "--plain-http"});
  EXPECT_EQ(server.post(graphs, waiting_graph("seven_node"), bearer(long_one)).status, 201);
  const std::string run = server.post(runs, {{"graph", "seven_node"}}, bearer(long_one)).json().at("run");
  EXPECT_EQ(cairn_ok({"events", run, "--json", "--dsn", dsn}).lines().at(0)["actor"], "token:environment");
}

}  // namespace
}  // namespace cairn::program
