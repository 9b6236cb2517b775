// The feed as its users see it: the command, the API, and a consumer that is killed again and again.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "storage/postgres/connection.hpp"
#include "tests/ops/api_client.hpp"
#include "tests/paths.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn::program {
namespace {

using Seen = std::map<std::string, std::set<std::int64_t>>;  // by run

std::string started(const std::string& dsn, int sub_goals = 2) {
  Json input = {{"goal", "g"}, {"sub_goals", Json::array()}};
  for (int n = 0; n < sub_goals; ++n)
    input["sub_goals"].push_back({{"id", std::to_string(n)}, {"tool", "echo"}, {"inputs", Json::object()}});
  return cairn_ok(on(dsn, {"start", "plan_runner", "--input", input.dump(), "--wait", "--json"})).json()["run"];
}

// The events of all runs that the database has.
Seen logged(const std::string& dsn) {
  Seen seen;
  const PgResult rows = test::ask(dsn, "select run_id::text, seq::text from cairn.event");
  for (int row = 0; row < rows.rows(); ++row)
    seen[std::string(rows.text(row, 0))].insert(std::stoll(std::string(rows.text(row, 1))));
  return seen;
}

// The events in lines that `cairn feed read --json` printed; the last cursor goes to `cursor`.
Seen seen_in(const std::vector<Json>& lines, std::string* cursor = nullptr) {
  Seen seen;
  for (const Json& line : lines) {
    if (line.contains("run")) seen[line["run"]].insert(line["seq"].get<std::int64_t>());
    if (line.contains("cursor") && cursor != nullptr) *cursor = line["cursor"];
  }
  return seen;
}

// Whole lines only: the last one of a killed program may be cut.
std::vector<Json> whole_lines(const std::string& text) {
  std::vector<Json> lines;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(Json::parse(text.substr(at, end - at)));
  return lines;
}

TEST(FeedCommand, gives_history_then_what_comes_and_goes_on_where_it_was_confirmed) {
  const std::string dsn = new_database();
  started(dsn);
  cairn_ok(on(dsn, {"feed", "add", "copy"}));
  std::string cursor;
  Seen seen = seen_in(cairn_ok(on(dsn, {"feed", "read", "copy", "--json"})).lines(), &cursor);
  EXPECT_EQ(seen, logged(dsn));
  cairn_ok(on(dsn, {"feed", "confirm", "copy", cursor}));
  const std::string run = started(dsn);
  const std::vector<Json> lines = cairn_ok(on(dsn, {"feed", "read", "copy", "--json", "--confirm"})).lines();
  EXPECT_EQ(seen_in(lines), (Seen{{run, logged(dsn)[run]}}));
  EXPECT_EQ(lines.front()["of_graph"], "plan_runner");
  EXPECT_EQ(lines.front()["type"], "run_started");
  EXPECT_TRUE(seen_in(cairn_ok(on(dsn, {"feed", "read", "copy", "--json"})).lines()).empty());
  const Json listed = cairn_ok(on(dsn, {"feed", "list", "--json"})).json();
  EXPECT_EQ(listed["behind"], 0);
  EXPECT_NE(cairn_ok(on(dsn, {"feed", "list"})).out.find("copy"), std::string::npos);
  cairn_ok(on(dsn, {"feed", "remove", "copy"}));
  expect_refused(cairn(on(dsn, {"feed", "read", "copy"})), 3, "none is named copy");
}

TEST(FeedCommand, the_list_says_which_consumer_was_not_added_to_the_end) {
  const std::string dsn = new_database();
  cairn_ok(on(dsn, {"feed", "add", "half"}));
  EXPECT_EQ(cairn_ok(on(dsn, {"feed", "list", "--json"})).json()["has_places"], true);
  test::ask(dsn, "delete from cairn.feed_place");
  EXPECT_EQ(cairn_ok(on(dsn, {"feed", "list", "--json"})).json()["has_places"], false);
  EXPECT_NE(cairn_ok(on(dsn, {"feed", "list"})).out.find("not added to the end"), std::string::npos);
}

TEST(FeedCommand, filters_and_refuses_in_one_sentence) {
  const std::string dsn = new_database();
  started(dsn);
  cairn_ok(on(dsn, {"feed", "add", "ends", "--type", "run_finished", "--graph", "plan_runner"}));
  const std::vector<Json> lines = cairn_ok(on(dsn, {"feed", "read", "ends", "--json"})).lines();
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(lines.front()["type"], "run_finished");
  EXPECT_TRUE(lines[1].contains("cursor"));
  expect_refused(cairn(on(dsn, {"feed", "add", "x", "--type", "step_suceeded"})), 2, "step_succeeded");
  expect_refused(cairn(on(dsn, {"feed", "add", "a b"})), 2, "Expected a name of letters");
  expect_refused(cairn(on(dsn, {"feed", "add", "x", "--from", "yesterday"})), 2, "history or now");
  expect_refused(cairn(on(dsn, {"feed", "add", "ends"})), 4, "is one already");
  expect_refused(cairn(on(dsn, {"feed", "confirm", "ends", "nonsense"})), 4, "Expected a cursor");
}

TEST(FeedCommand, a_consumer_that_is_killed_again_and_again_misses_nothing) {
  const std::string dsn = new_database();
  cairn_ok(on(dsn, {"feed", "add", "killed"}));
  std::string inputs;
  for (int n = 0; n < 300; ++n) inputs += Json{{"goal", std::to_string(n)}, {"sub_goals", Json::array()}}.dump() + "\n";
  const std::string file = write_file("killed.jsonl", inputs);
  Beside load(on(dsn, {"batch", "plan_runner", "--inputs", file, "--wait", "--json"}));
  Seen seen;
  const auto take = [&seen](const Beside& reader) {
    for (const auto& [run, seqs] : seen_in(whole_lines(reader.out()))) seen[run].insert(seqs.begin(), seqs.end());
  };
  for (int kills = 0; kills < 12; ++kills) {
    Beside reader(on(dsn, {"feed", "read", "killed", "--json", "--confirm", "--follow"}));
    wait_until([&] { return reader.out().size() > 2'000u || load.has_ended(); });
    reader.signal(SIGKILL);
    reader.wait();
    take(reader);
  }
  EXPECT_EQ(load.wait(), 0) << load.err();
  Beside last(on(dsn, {"feed", "read", "killed", "--json", "--confirm"}));
  EXPECT_EQ(last.wait(), 0);
  take(last);
  EXPECT_EQ(seen, logged(dsn));
}

TEST(FeedOverHttp, has_pages_streams_and_places) {
  const std::string dsn = new_database();
  const Server api({"--dsn", dsn});
  started(dsn);
  const std::string consumers = "/api/v1/consumers", feed = "/api/v1/feed?consumer=copy";
  EXPECT_EQ(api.get(feed).status, 404);
  EXPECT_EQ(api.get("/api/v1/feed").status, 404) << "there is no consumer to read along";
  EXPECT_EQ(api.post(consumers, {{"name", "copy"}}).status, 201);
  EXPECT_EQ(api.post(consumers, {{"name", "copy"}}).status, 409);
  EXPECT_EQ(api.post(consumers, {{"name", "copy"}, {"types", {"nonsense"}}}).status, 400);
  EXPECT_EQ(api.get("/api/v1/feed").status, 200);
  EXPECT_EQ(api.get("/api/v1/feed?after=x").status, 400);
  EXPECT_EQ(api.get(feed + "&after=x").status, 400);
  EXPECT_EQ(api.get(feed + "&limit=0").status, 400);

  Seen seen;
  std::string cursor;
  for (bool is_last = false; !is_last;) {
    const Json page = api.get(feed + "&limit=3" + (cursor.empty() ? "" : "&after=" + cursor)).json();
    for (const Json& event : page["events"]) seen[event["run"]].insert(event["seq"].get<std::int64_t>());
    cursor = page["cursor"];
    is_last = page["is_last"];
  }
  EXPECT_EQ(seen, logged(dsn));
  EXPECT_EQ(api.post(consumers + "/copy/confirm", {{"cursor", cursor}}).status, 200);
  EXPECT_EQ(api.get(consumers).json()[0]["behind"], 0);

  ApiStreamReader stream(api.port(), feed + "&follow=true");
  const std::string run = started(dsn);
  Seen streamed;
  std::string id;
  const Seen all = logged(dsn);
  while (streamed[run] != all.at(run)) {
    const std::optional<StreamedEvent> event = stream.next();
    ASSERT_TRUE(event);
    if (!event->id.empty()) id = event->id;
    streamed[event->data["run"]].insert(event->data["seq"].get<std::int64_t>());
  }
  EXPECT_EQ(streamed, (Seen{{run, all.at(run)}}));
  ASSERT_FALSE(id.empty());
  stream.close();

  const std::string next = started(dsn);
  ApiStreamReader again(api.port(), feed + "&follow=true", {{"Last-Event-ID", id}});
  EXPECT_EQ(again.next()->data["run"], next);
  again.close();
  EXPECT_NE(api.get("/metrics").body.find("cairn_feed_behind{consumer=\"copy\"}"), std::string::npos);

  ApiConnection connection(api.port());
  EXPECT_EQ(connection.ask("DELETE", consumers + "/copy").status, 200);
  EXPECT_EQ(connection.ask("DELETE", consumers + "/copy").status, 404);
}

TEST(FeedOverHttp, a_stream_reads_on_over_what_its_filter_passes_over) {
  const std::string dsn = new_database();
  const Server api({"--dsn", dsn});
  const std::string run = started(dsn);
  const Json rare = {{"name", "rare"}, {"from", "now"}, {"types", {"run_finished"}}};
  EXPECT_EQ(api.post("/api/v1/consumers", rare).status, 201);
  // Commits of its first event, and then one of its last.
  test::ask(dsn,
            "insert into cairn.feed (shard, lsn, run_id, at, runs, firsts, lasts) "
            "select r.shard, '0/0'::pg_lsn + n, r.run_id, 0, array[r.run_id], array[e.seq], array[e.seq] "
            "from cairn.run r cross join generate_series(1, 20001) n "
            "cross join lateral (select case n when 20001 then r.head else 1 end as seq) e "
            "where r.run_id = '" +
                run + "'");
  const auto asked_at = std::chrono::steady_clock::now();
  ApiStreamReader stream(api.port(), "/api/v1/feed?consumer=rare&follow=true");
  const std::optional<StreamedEvent> event = stream.next();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->data["run"], run);
  EXPECT_LT(std::chrono::steady_clock::now() - asked_at, std::chrono::seconds(8)) << "it paused after each page";
  stream.close();
}

// Its reader goes on from the consumer's place: who moves that leaves notices out, and no record says so.
TEST(FeedOverHttp, the_consumer_of_a_hook_is_the_hooks_own) {
  const std::string dsn = new_database();
  const std::string admin = new_token(dsn, "admin", {"--role", "admin"});
  const std::string reader = new_token(dsn, "reader", {"--role", "read"});
  const Server api({"--dsn", dsn});
  const Json hook = {{"name", "pager"}, {"on", {"failed"}}, {"url", "https://example.com/pager"}};
  ASSERT_EQ(api.post("/api/v1/hooks", hook, bearer(admin)).status, 201);
  const std::string own = "/api/v1/consumers/hook@pager";
  ASSERT_TRUE(wait_until(
      [&] { return api.get("/api/v1/consumers", bearer(admin)).body.find("hook@pager") != std::string::npos; }));
  for (const std::string& token : {reader, admin}) {
    EXPECT_EQ(api.get("/api/v1/feed?consumer=hook@pager", bearer(token)).status, 404);
    EXPECT_EQ(api.post(own + "/confirm", {{"cursor", "x"}}, bearer(token)).status, 404);
  }
  EXPECT_EQ(ApiConnection(api.port()).ask("DELETE", own, "", bearer(admin)).status, 404);
}

TEST(FeedOverHttp, roles_say_who_adds_a_consumer_and_who_reads) {
  const std::string dsn = new_database();
  const std::string reader = new_token(dsn, "reader", {"--role", "read"});
  const std::string operating = new_token(dsn, "operating", {"--role", "operate", "--role", "read"});
  const Server api({"--dsn", dsn});
  const std::string consumers = "/api/v1/consumers", feed = "/api/v1/feed?consumer=copy";
  EXPECT_EQ(api.post(consumers, {{"name", "copy"}}, bearer(reader)).status, 403);
  EXPECT_EQ(api.post(consumers, {{"name", "copy"}}, bearer(operating)).status, 201);
  EXPECT_EQ(api.get(feed, bearer(reader)).status, 200);
  EXPECT_EQ(api.get(consumers, bearer(reader)).json()[0]["created_by"], "token:operating");
}

// A stream of everything that a token may see, and of nothing else.
TEST(FeedOverHttp, a_token_with_a_scope_has_the_consumers_within_it) {
  const std::string dsn = new_database();
  const Server api({"--dsn", dsn});
  const std::string consumers = "/api/v1/consumers", feed = "/api/v1/feed?consumer=";
  EXPECT_EQ(api.post(consumers, {{"name", "all"}}).status, 201);
  started(dsn);
  const Json input = {{"goal", "g"}, {"sub_goals", Json::array()}};
  const std::string covered =
      cairn_ok(on(dsn, {"start", "plan_runner", "--input", input.dump(), "--tag", "team=a", "--wait", "--json"}))
          .json()["run"];
  const std::string scoped = new_token(
      dsn, "scoped", {"--role", "read", "--role", "operate", "--scope", "graph=plan_runner", "--scope", "tag=team=a"});
  EXPECT_TRUE(wait_until([&] { return api.get(consumers).status == 401; }));

  for (const Json& wide : {Json{{"graph", "page_agent"}}, Json{{"tags", {{"team", "b"}}}}}) {
    Json body = wide;
    body["name"] = "wide";
    const Reply refused = api.post(consumers, body, bearer(scoped));
    EXPECT_EQ(refused.status, 400);
    EXPECT_TRUE(refused.json()["error"]["message"].get<std::string>().starts_with("Expected a consumer with"));
  }
  EXPECT_EQ(api.post(consumers, {{"name", "own"}}, bearer(scoped)).status, 201);
  const Json listed = api.get(consumers, bearer(scoped)).json();
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0]["name"], "own");

  const Json page = api.get(feed + "own", bearer(scoped)).json();
  EXPECT_FALSE(page["events"].empty());
  for (const Json& event : page["events"]) EXPECT_EQ(event["run"], covered);
  EXPECT_EQ(api.post(consumers + "/own/confirm", {{"cursor", page["cursor"]}}, bearer(scoped)).status, 200);

  EXPECT_EQ(api.get(feed + "all", bearer(scoped)).status, 404);
  EXPECT_EQ(api.get(feed + "all&follow=true", bearer(scoped)).status, 404);
  EXPECT_EQ(api.post(consumers + "/all/confirm", {{"cursor", page["cursor"]}}, bearer(scoped)).status, 404);
  EXPECT_EQ(ApiConnection(api.port()).ask("DELETE", consumers + "/all", "", bearer(scoped)).status, 404);
}

TEST(FeedOverHttp, without_a_consumer_a_token_reads_what_it_may_see_by_its_own_cursor) {
  const std::string dsn = new_database();
  const std::string admin = new_token(dsn, "admin", {"--role", "admin"});
  const std::string two =
      new_token(dsn, "two", {"--role", "read", "--scope", "graph=feed_a", "--scope", "graph=feed_b"});
  const std::string team = new_token(dsn, "team", {"--role", "read", "--scope", "tag=team=a"});
  const Server api({"--dsn", dsn});
  EXPECT_EQ(api.post("/api/v1/consumers", {{"name", "rare"}, {"graph", "feed_a"}}, bearer(admin)).status, 201);
  EXPECT_EQ(api.get("/api/v1/feed", bearer(two)).status, 404) << "that one has a filter";
  EXPECT_EQ(api.post("/api/v1/consumers", {{"name", "everything"}}, bearer(admin)).status, 201);
  std::map<std::string, std::string> started_of;
  for (const char* name : {"feed_a", "feed_b", "feed_c"}) {
    EXPECT_EQ(api.post(graphs, Json::parse(ask_graph(name)), bearer(admin)).status, 201);
    const Json start = {{"graph", name}, {"tags", {{"team", std::string(name) == "feed_b" ? "a" : "b"}}}};
    started_of[name] = api.post(runs, start, bearer(admin)).json().at("run");
  }
  const auto read = [&](const std::string& token, const std::string& query) {
    std::set<std::string> seen;
    const Json page = api.get("/api/v1/feed" + query, bearer(token)).json();
    for (const Json& event : page.at("events")) seen.insert(event["run"]);
    return std::pair(seen, page.at("cursor").get<std::string>());
  };
  const auto [seen, cursor] = read(two, "");
  EXPECT_EQ(seen, (std::set<std::string>{started_of["feed_a"], started_of["feed_b"]}));
  EXPECT_EQ(read(team, "").first, std::set<std::string>{started_of["feed_b"]});
  EXPECT_EQ(read(admin, "").first.size(), 3u);
  EXPECT_TRUE(read(two, "?after=" + cursor).first.empty());
  const std::string next = api.post(runs, {{"graph", "feed_b"}}, bearer(admin)).json().at("run");
  EXPECT_EQ(read(two, "?after=" + cursor).first, std::set<std::string>{next}) << "it goes on where it was";
  Headers resumed = bearer(two);
  resumed.emplace_back("Last-Event-ID", cursor);
  ApiStreamReader stream(api.port(), "/api/v1/feed?follow=true", resumed);
  EXPECT_EQ(stream.next()->data["run"], next);
  stream.close();
  EXPECT_EQ(read(two, "").first.size(), 3u) << "a read moves nothing";
}

// The script of the guide, with the table in the same database.
Ran copy_events(const std::string& dsn) {
  const std::filesystem::path bin = directory() / "copy_bin";
  if (std::filesystem::create_directories(bin))
    std::filesystem::create_symlink(testing::cairn_program(), bin / "cairn");
  const Variable source("CAIRN_DSN", dsn), path("PATH", bin.string() + ":" + std::getenv("PATH"));
  return run_program("/bin/bash", {testing::source_dir() + "/ops/guide/feed_to_table.sh", "copying", dsn, "--once"});
}

std::int64_t copied_rows(const std::string& dsn) { return test::ask_number(dsn, "select count(*) from cairn_event"); }
std::int64_t logged_rows(const std::string& dsn) { return test::ask_number(dsn, "select count(*) from cairn.event"); }

TEST(FeedToTable, goes_on_from_the_tables_own_cursor_and_ends_where_that_is_of_a_lost_history) {
  const std::string dsn = new_database();
  started(dsn);
  cairn_ok(on(dsn, {"feed", "add", "copying"}));
  for (int n = 0; n < 2; ++n) {
    const Ran ran = copy_events(dsn);
    ASSERT_EQ(ran.exit, 0) << ran.err;
    EXPECT_EQ(copied_rows(dsn), logged_rows(dsn));
    started(dsn);
  }
  const std::int64_t before = copied_rows(dsn);
  test::ask(dsn, "update cairn_feed_place set cursor = regexp_replace(cursor, '-[0-9a-f]{12}', '-000000000000', 'g')");
  const Ran lost = copy_events(dsn);
  EXPECT_EQ(lost.exit, 4);
  EXPECT_NE(lost.err.find("the database has gone back since it was given"), std::string::npos) << lost.err;
  EXPECT_EQ(copied_rows(dsn), before) << "what is at its places now was copied next to what is lost";
}

TEST(FeedToTable, ends_where_the_feed_has_another_event_in_the_place_of_one_of_the_table) {
  const std::string dsn = new_database();
  started(dsn);
  cairn_ok(on(dsn, {"feed", "add", "copying"}));
  ASSERT_EQ(copy_events(dsn).exit, 0);
  for (const bool is_another : {false, true}) {
    test::ask(dsn, "delete from cairn_feed_place");
    if (is_another) test::ask(dsn, "update cairn_event set at = at + interval '1 s' where seq = 2");
    cairn_ok(on(dsn, {"feed", "remove", "copying"}));
    cairn_ok(on(dsn, {"feed", "add", "copying"}));  // from the history
    const Ran ran = copy_events(dsn);
    EXPECT_EQ(ran.exit, is_another ? 3 : 0) << ran.err;
    EXPECT_EQ(ran.err.find("the feed gives others in their place") != std::string::npos, is_another) << ran.err;
  }
}

}  // namespace
}  // namespace cairn::program
