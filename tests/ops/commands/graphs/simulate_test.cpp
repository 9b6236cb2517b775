// `cairn simulate`: graphs of users in virtual time, under faults. Needs no database for files and built-in graphs.
#include <gtest/gtest.h>

#include "tests/ops/program.hpp"

namespace cairn::program {
namespace {

const char* const graph = R"({"name": "brew", "start": "heat", "limits": {"steps": 20}, "nodes": {
  "heat": {"do": "kitchen.heat", "labels": ["hot", "cold"], "retry": {"attempts": 2},
           "on": {"hot": "ask", "cold": "end_cold", "error": "end_cold"}},
  "ask": {"ask": {"kind": "question", "prompt": "Milk?", "schema": {"type": "boolean"}}, "into": "milk",
          "expires_ms": 600000, "on": {"answered": "pour", "expired": "pour"}},
  "pour": {"do": "kitchen.pour", "labels": ["ok"], "on": {"ok": "z"}},
  "end_cold": {"end": {"status": "failed", "reason": "It stayed cold."}}, "z": {"end": "done"}}})";

Json without_speed(Json report) {
  report.erase("seeds_per_second");
  return report;
}

TEST(Simulate, a_seed_does_the_same_each_time_and_counts_faults_and_endings) {
  const std::string file = write_file("brew.json", graph).string();
  const Arguments arguments{"simulate", file, "--seeds", "40", "--seed", "7", "--json"};
  const Json report = cairn_ok(arguments).json();
  EXPECT_EQ(report["seeds"], 40);
  EXPECT_EQ(report["seed"], 7);
  EXPECT_TRUE(report["finding"].is_null()) << report;
  EXPECT_GE(report["runs"].value("done", 0), 5) << report;
  EXPECT_GE(report["runs"].value("failed", 0), 5) << "one label leads there: " << report;
  EXPECT_GE(report["faults"].size(), 5u) << report;
  EXPECT_EQ(without_speed(cairn_ok(arguments).json()), without_speed(report));
}

TEST(Simulate, a_file_of_handlers_decides_how_runs_end) {
  const std::string file = write_file("brew.json", graph).string();
  const auto simulated = [&](const Json& handlers) {
    const std::string path = write_file("handlers.json", handlers.dump()).string();
    return cairn_ok({"simulate", file, "--seeds", "25", "--handlers", path, "--json"}).json()["runs"];
  };
  const Json warm = simulated({{"nodes", {{"heat", {{{"label", "hot"}}}}, {"pour", {{{"label", "ok"}}}}}}});
  EXPECT_FALSE(warm.contains("failed")) << warm;
  const Json cold = simulated({{"nodes", {{"heat", {{{"error", "broken"}, {"retryable", false}}}}}}});
  EXPECT_FALSE(cold.contains("done")) << cold;
  EXPECT_GE(cold.value("failed", 0), 20) << cold;
}

// A sum is what it is: with 60 a run never takes the way of the large ones.
const char* const till = R"({"name": "till", "start": "sum", "limits": {"steps": 20}, "nodes": {
  "sum": {"do": "data.compute", "with": {"set": {"total": {"sum": "$prices"}}}, "on": {"ok": "big", "error": "z"}},
  "big": {"do": "data.test", "with": {"if": {"gt": ["$total", 50]}}, "on": {"true": "large", "false": "z"}},
  "large": {"end": {"status": "failed", "reason": "Too large."}}, "z": {"end": "done"}}})";

TEST(Simulate, handlers_of_data_do_what_they_do_unless_the_file_says_otherwise) {
  const std::string file = write_file("till.json", till).string();
  const auto endings = [&](const std::string& input, const Json& handlers) {
    const std::string path = write_file("handlers.json", handlers.dump()).string();
    return cairn_ok({"simulate", file, "--seeds", "25", "--seed", "7", "--input", input, "--handlers", path, "--json"})
        .json()["runs"];
  };
  const Json none = Json::object();
  EXPECT_FALSE(endings(R"({"prices": [20, 40]})", none).contains("done"));
  EXPECT_FALSE(endings(R"({"prices": [20, 30]})", none).contains("failed"));
  const Json says = {{"nodes", {{"big", {{{"label", "true"}}}}}}};
  EXPECT_FALSE(endings(R"({"prices": [20, 30]})", says).contains("done"));
}

TEST(Simulate, built_in_graphs_are_found_by_name) {
  for (const char* name : {"seven_node", "plan_runner"}) {
    const Ran ran = cairn_ok({"simulate", name, "--seeds", "3"});
    EXPECT_NE(ran.out.find("Nothing was found."), std::string::npos) << ran.out;
  }
}

TEST(Simulate, a_run_that_never_ends_is_a_finding_with_its_seed_and_history) {
  const std::string file = write_file("forever.json", R"({"name": "forever", "start": "w", "limits": {"steps": 9},
    "nodes": {"w": {"wait": {"until": "2199-01-01T00:00:00Z"}, "on": {"fired": "z"}}, "z": {"end": "done"}}})")
                               .string();
  const Ran ran = cairn({"simulate", file, "--seeds", "50", "--seed", "1", "--json"});
  EXPECT_EQ(ran.exit, 1) << ran.err;
  const Json finding = ran.json()["finding"];
  EXPECT_GE(finding["seed"], 1);
  EXPECT_NE(finding["says"].get<std::string>().find("nothing moved"), std::string::npos) << finding;
  EXPECT_NE(finding["lines"].dump().find("run_started"), std::string::npos) << "the history tells what happened";
}

TEST(Simulate, what_cannot_be_simulated_is_refused_with_one_sentence) {
  const std::string file = write_file("brew.json", graph).string();
  const std::string lost = write_file("lost.json", R"({"nodes": {"stir": [{"label": "ok"}]}})").string();
  expect_refused(cairn({"simulate", file, "--handlers", lost}), 4, "but got \"stir\"");
  const std::string label = write_file("label.json", R"({"nodes": {"heat": [{"label": "warm"}]}})").string();
  expect_refused(cairn({"simulate", file, "--handlers", label}), 4, "but got \"warm\"");
  const std::string faulty = write_file("faulty.json", R"({"name": "f", "start": "nowhere", "nodes": {}})").string();
  EXPECT_EQ(cairn({"simulate", faulty}).exit, 4);
  const auto refused = [&](const Json& handlers, const std::string& says) {
    expect_refused(cairn({"simulate", file, "--handlers", write_file("handlers.json", handlers.dump()).string()}), 4,
                   says);
  };
  refused({{"node", Json::object()}}, "it has \"node\" (did you mean nodes?)");
  refused({{"nodes", {{"hat", {{{"label", "hot"}}}}}}}, "but got \"hat\" (did you mean heat?)");
  refused({{"nodes", {{"heat", {{{"lable", "hot"}}}}}}}, "it has \"lable\" (did you mean label?)");
  refused({{"answers", {{"aks", {true}}}}}, "but found \"aks\" (did you mean ask?)");
  refused({{"signals", {{"milk", {true}}}}}, "Expected the signals to name a signal that a node waits for");
}

}  // namespace
}  // namespace cairn::program
