// A map over the items of a list, as a user meets it: real workers, a list beyond the bound of one inline value, runs
// called for each item, failures, another try, and what the commands say meanwhile.
#include <gtest/gtest.h>
#include <map>
#include <sstream>

#include "tests/ops/api_client.hpp"
#include "tests/ops/program.hpp"

namespace cairn::program {
namespace {

// `map`: the settings of the map of the graph's first node.
void add_mapping(const std::string& name, const Json& map, Json retry = Json::object()) {
  const Json graph = {
      {"name", name},
      {"start", "each"},
      {"limits", {{"steps", 100'000}}},
      {"nodes",
       {{"each", {{"map", map}, {"retry", std::move(retry)}, {"on", {{"joined", "done"}, {"partial", "some"}}}}},
        {"done", {{"end", {{"status", "done"}, {"output", {{"results", "$results"}}}}}}},
        {"some", {{"end", {{"status", "failed"}, {"reason", "Not all."}, {"output", {{"failed", "$failed"}}}}}}}}}};
  cairn_ok({"graph", "add", write_file(name + ".json", graph.dump())});
}

TEST(MapsOverItems, thousands_come_back_in_their_order_and_the_history_holds) {
  add_mapping("map_many", {{"over", "$list"},
                           {"do", "data.compute"},
                           {"with", {{"set", {{"twice", {{"sum", {"$item/n", "$item/n"}}}}}}}},
                           {"into", "results"}});
  Json list = Json::array();
  for (int i = 0; i < 3'000; ++i) list.push_back({{"n", i}, {"text", "an item of some length"}});
  ASSERT_GT(list.dump().size(), 100'000U) << "well beyond what stands inline";
  const std::filesystem::path input = write_file("many.input.json", Json{{"list", list}}.dump());
  const Json done = cairn_ok({"start", "map_many", "--input", "@" + input.string(), "--wait", "--json"}).json();
  const Json& results = done["output"]["results"];
  ASSERT_EQ(results.size(), 3'000U);
  for (int i = 0; i < 3'000; ++i) ASSERT_EQ(results[static_cast<std::size_t>(i)], (Json{{"twice", 2 * i}}));
  const std::string run = done["run"];
  EXPECT_EQ(cairn_ok({"verify", run}).exit, 0);
  EXPECT_EQ(cairn_ok({"replay", run}).exit, 0);
  const Json before = cairn_ok({"show", run, "--at", "1500", "--json"}).json();
  bool is_map_there = false;
  for (const Json& step : before["steps"])
    if (step.contains("items")) is_map_there = step["items"]["of"] == 3'000 && step["items"]["open"] == 100;
  EXPECT_TRUE(is_map_there) << before["steps"];
}

// Graphs that fill cups, each as a run of its own, and the file of their tool: a dry cup is filled once there is water.
std::string add_cups(const std::filesystem::path& water) {
  const Json tools = {{"tools",
                       {{"fill",
                         {{"exec",
                           {"sh", "-c",
                            "read item; case \"$item\" in *dry*) test -e " + water.string() +
                                " || { echo no water >&2; exit 1; };; esac; echo '{\"ml\": 200}'"}}}}}}};
  const Json cup = {{"name", "map_cup"},
                    {"start", "fill"},
                    {"limits", {{"steps", 9}}},
                    {"nodes",
                     {{"fill",
                       {{"do", "tool.call"},
                        {"with", {{"tool", "fill"}, {"inputs", {{"cup", "$cup"}}}, {"into", "filled"}}},
                        {"on", {{"ok", "end"}}}}},
                      {"end", {{"end", {{"status", "done"}, {"output", "$filled"}}}}}}}};
  cairn_ok({"graph", "add", write_file("cup.json", cup.dump())});
  add_mapping("map_cups", {{"over", "$cups"},
                           {"call", "map_cup"},
                           {"with", {{"cup", "$item"}}},
                           {"into", "results"},
                           {"failures", "failed"}});
  return write_file("fill.json", tools.dump()).string();
}

// Each item's events have its number, and the one that failed is item 1.
void expect_events_of_items(const std::string& run) {
  std::istringstream events(cairn_ok({"events", run}).out);
  int of_items = 0;
  for (std::string line; std::getline(events, line);) {
    const bool has_failed = line.find("label=failed") != std::string::npos;
    EXPECT_TRUE(!has_failed || line.find("node=each item=1 label=failed") != std::string::npos) << line;
    of_items += line.find("item=") != std::string::npos ? 1 : 0;
  }
  EXPECT_GE(of_items, 6) << "each was called and has ended";
}

TEST(MapsOverItems, a_run_for_each_item_and_what_failed_is_tried_again_alone) {
  const std::filesystem::path water = directory() / "map_water";
  const std::string file = add_cups(water);
  const Ran failed =
      cairn({"start", "map_cups", "--input", R"({"cups": ["a", "dry", "c"]})", "--wait", "--json", "--tools", file});
  ASSERT_EQ(failed.exit, 1) << failed.err;
  EXPECT_EQ(failed.json()["output"]["failed"][0]["index"], 1) << failed.out;
  const std::string run = failed.json()["run"];
  for (const char* command : {"explain", "show"})
    EXPECT_NE(cairn_ok({command, run}).out.find("1 of 3 items failed; the first was item 1: "), std::string::npos);
  EXPECT_NE(cairn_ok({"runs", "--graph", "map_cups"}).out.find("the first was item 1: "), std::string::npos);
  expect_events_of_items(run);

  const Json children = cairn_ok({"show", run, "--json"}).json()["children"];
  ASSERT_EQ(children.size(), 3u) << children;
  std::map<std::string, int> statuses;
  for (const Json& child : children) ++statuses[child["status"]];
  EXPECT_EQ(statuses, (std::map<std::string, int>{{"done", 2}, {"failed", 1}}));
  EXPECT_NE(cairn_ok({"show", run}).out.find("cairn runs --parent " + run), std::string::npos);
  EXPECT_EQ(cairn_ok({"show", run, "--at", "1", "--json"}).json()["children"].size(), 3u) << "called at once";
  EXPECT_EQ(cairn_ok({"runs", "--parent", run.substr(0, 30), "--json"}).lines().size(), 3u);
  EXPECT_EQ(cairn_ok({"runs", "--where", "parent=" + run + ",status=failed", "--json"}).lines().size(), 1u);
  EXPECT_EQ(cairn_ok({"runs", "--parent", children[0]["run"], "--json"}).out, "");
  const Server server;
  EXPECT_EQ(server.get("/api/v1/runs?parent=" + run.substr(0, 30)).json().size(), 3u);
  EXPECT_EQ(server.get("/api/v1/runs?status=failed&parent=" + run).json().size(), 1u);
  EXPECT_EQ(server.get("/api/v1/runs?parent=me").status, 400);
  const Reply with_children = server.get("/api/v1/runs/" + run);
  EXPECT_EQ(with_children.json()["children"], children);
  EXPECT_EQ(with_children.header("Link"), "") << "there are no more";

  write_file("map_water", "");
  const std::string fork = cairn_ok({"retry", run, "--json"}).json()["fork"];
  const Json done = cairn_ok({"wait", fork, "--work", "--json", "--tools", file}).json();
  EXPECT_EQ(done["status"], "done") << done;
  EXPECT_EQ(done["output"]["results"], Json(3, {{"ml", 200}}));
  EXPECT_EQ(cairn_ok({"verify", fork, run}).exit, 0);
}

TEST(MapsOverItems, an_open_one_is_shown_and_explained_and_cancelled_with_what_it_started) {
  const Json asks = {{"name", "map_asks"},
                     {"start", "ask"},
                     {"limits", {{"steps", 9}}},
                     {"nodes",
                      {{"ask", {{"ask", {{"prompt", "Go on?"}}}, {"on", {{"answered", "end"}, {"expired", "end"}}}}},
                       {"end", {{"end", "done"}}}}}};
  cairn_ok({"graph", "add", write_file("asks.json", asks.dump())});
  add_mapping("map_open", {{"over", {1, 2, 3}}, {"call", "map_asks"}, {"concurrency", 2}, {"into", "results"}});
  const std::string run = cairn_ok({"start", "map_open", "--json"}).json()["run"];
  const std::string explained = cairn_ok({"explain", run}).out;
  EXPECT_NE(explained.find("2 of 3 items are open"), std::string::npos) << explained;
  const std::string shown = cairn_ok({"show", run}).out;
  EXPECT_NE(shown.find("each item 1"), std::string::npos) << shown;
  const std::vector<Json> called = cairn_ok({"runs", "--where", "graph=map_asks,status=waiting", "--json"}).lines();
  ASSERT_EQ(called.size(), 2U);
  cairn_ok({"cancel", run});
  Beside worker({"work", "--json"});  // whose sweep ends what an ended run has called
  EXPECT_TRUE(wait_until([] {
    return cairn_ok({"runs", "--where", "graph=map_asks,status=aborted", "--json"}).lines().size() == 2;
  }));
}

TEST(MapsOverItems, a_run_that_called_more_than_a_hundred_links_to_the_rest_of_its_children) {
  const Json leaf = {
      {"name", "map_leaf"}, {"start", "end"}, {"limits", {{"steps", 2}}}, {"nodes", {{"end", {{"end", "done"}}}}}};
  cairn_ok({"graph", "add", write_file("leaf.json", leaf.dump())});
  add_mapping("map_leaves", {{"over", "$list"}, {"call", "map_leaf"}, {"into", "results"}});
  Json list = Json::array();
  for (int n = 0; n < 102; ++n) list.push_back(n);
  const std::string run =
      cairn_ok({"start", "map_leaves", "--input", Json{{"list", list}}.dump(), "--wait", "--json"}).json()["run"];
  const Server server;
  const Reply shown = server.get("/api/v1/runs/" + run);
  EXPECT_EQ(shown.json()["children"].size(), 100u);
  const std::string link = shown.header("Link"), begin = "<../runs?";
  ASSERT_TRUE(link.starts_with(begin)) << link;
  const Json rest = server.get("/api/v1/runs?" + link.substr(begin.size(), link.find('>') - begin.size())).json();
  EXPECT_EQ(rest.size(), 2u) << link;
}

}  // namespace
}  // namespace cairn::program
