// Traces as a collector gets them: from `cairn export --otlp` and from `cairn serve --otlp`.
#include <gtest/gtest.h>
#include <map>

#include "tests/ops/api_client.hpp"
#include "tests/ops/traces/collector.hpp"
#include "tests/paths.hpp"
#include "workers/runs/trace_ids.hpp"

namespace cairn::program {
namespace {

// The parent of each span is there, in the same trace, and lasts at least as long; one root has none.
void expect_whole_traces(const std::vector<Json>& spans, std::size_t traces) {
  std::map<std::string, Json> by_id;
  for (const Json& span : spans) EXPECT_TRUE(by_id.emplace(span.at("spanId"), span).second) << span;
  std::size_t roots = 0;
  for (const Json& span : spans) {
    if (!span.contains("parentSpanId")) {
      ++roots;
      continue;
    }
    const auto parent = by_id.find(span.at("parentSpanId"));
    ASSERT_NE(parent, by_id.end()) << span;
    EXPECT_EQ(parent->second.at("traceId"), span.at("traceId"));
    EXPECT_LE(parent->second.at("startTimeUnixNano"), span.at("startTimeUnixNano"));
    EXPECT_GE(parent->second.at("endTimeUnixNano"), span.at("endTimeUnixNano"));
  }
  EXPECT_EQ(roots, traces);
}

const std::string old_export = "/tests/golden/exports/version_1.jsonl";
const std::string old_run = "01a20f79-c093-73e9-9e3d-c7f78fe5e11a";

TEST(Traces, a_run_of_an_old_export_is_sent_and_twice_it_is_the_same_bytes) {
  const std::string dsn = new_database();
  cairn_ok({"import", testing::source_dir() + old_export, "--dsn", dsn});
  const Collector collector;
  for (int n = 0; n < 2; ++n) {
    const Json sent = cairn_ok({"export", old_run, "--dsn", dsn, "--otlp", collector.url(), "--json"}).json();
    EXPECT_EQ(sent["runs"], 1);
    EXPECT_EQ(sent["spans"], 5) << "the run, three nodes and the sub-goal";
  }
  ASSERT_EQ(collector.documents(), 2);
  EXPECT_EQ(collector.document(1), collector.document(2));
  const Json whole = Json::parse(collector.document(1));
  const Json trace = whole.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans");
  expect_whole_traces(trace, 1);
  EXPECT_EQ(trace.back()["name"], "invoke_workflow plan_runner");
  EXPECT_EQ(trace.back()["traceId"], trace_id(*parse_run_id(old_run), {}));
}

TEST(Traces, all_runs_are_sent_with_a_filter_and_those_under_way_are_left_out) {
  const std::string dsn = new_database();
  cairn_ok({"graph", "add", "--dsn", dsn, write_file("traced_ask.json", ask_graph("traced_ask"))});
  cairn_ok({"start", "traced_ask", "--dsn", dsn, "--wait"});
  const std::string plan = R"({"goal": "g", "sub_goals": [{"id": "a", "tool": "fail", "inputs": {"message": "no"}}]})";
  EXPECT_EQ(cairn({"start", "plan_runner", "--dsn", dsn, "--wait", "--input", plan}).exit, 1);
  const std::string asking =
      R"({"goal": "Is it raining?", "sub_goals": [{"id": "a", "tool": "echo", "inputs": {"text": "raining"}}]})";
  cairn_ok({"start", "plan_runner", "--dsn", dsn, "--wait", "--tag", "wet=yes", "--input", asking});
  const Collector all;
  const Json sent = cairn_ok({"export", "--all", "--dsn", dsn, "--otlp", all.url(), "--json"}).json();
  EXPECT_EQ(sent["runs"], 2);
  EXPECT_EQ(sent["under_way"], 1);
  EXPECT_EQ(sent["spans"], all.spans().size());
  expect_whole_traces(all.spans(), 2);
  EXPECT_NE(Json(all.spans()).dump().find("\"exception.message\""), std::string::npos);
  EXPECT_EQ(Json(all.spans()).dump().find("raining"), std::string::npos) << "contents were not asked for";
  const Collector some;
  cairn_ok({"export", "--where", "tag.wet=yes", "--dsn", dsn, "--otlp", some.url(), "--otlp-contents"});
  expect_whole_traces(some.spans(), 1);
  EXPECT_NE(Json(some.spans()).dump().find("raining"), std::string::npos);
}

TEST(Traces, a_collector_that_is_full_is_asked_again_and_one_that_refuses_is_not) {
  const std::string dsn = new_database();
  cairn_ok({"import", testing::source_dir() + old_export, "--dsn", dsn});
  const Collector full({"503:1", "429", "502"});
  const Variable headers("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20secret");
  cairn_ok({"export", old_run, "--dsn", dsn, "--otlp", full.url()});
  ASSERT_EQ(full.documents(), 1);
  EXPECT_EQ(full.headers(1)["authorization"], "Bearer secret");
  const Collector refusing({"401", "200"});
  expect_refused(cairn({"export", old_run, "--dsn", dsn, "--otlp", refusing.url()}), 5, "401");
  expect_refused(cairn({"export", old_run, "--dsn", dsn, "--otlp", "nowhere"}), 2, "a URL");
  expect_refused(cairn({"serve", "--dsn", dsn, "--otlp-contents"}), 2, "--otlp");
  expect_refused(cairn({"export", old_run, "--dsn", dsn, "--otlp-contents"}), 2, "--otlp");
  expect_refused(cairn({"export", old_run, "--dsn", dsn, "--otlp", full.url(), "--out", "x"}), 2, "both");
}

TEST(Traces, a_large_trace_goes_in_several_documents) {
  const std::string dsn = new_database();
  Json plan = {{"goal", "g"}, {"sub_goals", Json::array()}};
  for (int n = 0; n < 150; ++n)
    plan["sub_goals"].push_back(
        {{"id", "g" + std::to_string(n)}, {"tool", "echo"}, {"inputs", {{"text", std::string(9'000, 'x')}}}});
  cairn_ok({"start", "plan_runner", "--dsn", dsn, "--wait", "--input",
            "@" + write_file("large_plan.json", plan.dump()).string()});
  const Collector collector;
  cairn_ok({"export", "--all", "--dsn", dsn, "--otlp", collector.url(), "--otlp-contents"});
  EXPECT_GE(collector.documents(), 2);
  EXPECT_EQ(collector.spans().size(), 154u) << "the run, three nodes, and each sub-goal";
  expect_whole_traces(collector.spans(), 1);
}

TEST(Traces, serve_sends_each_run_when_it_has_ended_under_the_span_that_it_was_started_under) {
  const std::string dsn = new_database();
  const Collector collector({"503"});
  const Server server({"--dsn", dsn, "--otlp", collector.url()});
  const Beside worker({"work", "--dsn", dsn});
  const std::string parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const Reply started = server.post(runs, {{"graph", "plan_runner"}, {"input", {{"goal", "g"}}}},
                                    {{"traceparent", parent}, {"Idempotency-Key", "k"}});
  ASSERT_EQ(started.status, 201) << started.body;
  const std::string run = started.json()["run"];
  EXPECT_TRUE(wait_until([&] { return collector.documents() > 0; })) << server.process().err();
  bool is_found = false;
  for (const Json& span : collector.spans()) {
    EXPECT_EQ(span["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
    if (span["spanId"] != run_span_id(*parse_run_id(run))) continue;
    is_found = true;
    EXPECT_EQ(span["parentSpanId"], "00f067aa0ba902b7");
  }
  EXPECT_TRUE(is_found);
  const Reply again =
      server.post(runs, {{"graph", "plan_runner"}, {"input", {{"goal", "g"}}}},
                  {{"traceparent", "00-" + std::string(32, 'a') + "-00f067aa0ba902b7-01"}, {"Idempotency-Key", "k"}});
  EXPECT_EQ(again.status, 200) << "the same run, whatever asks for it again: " << again.body;
  EXPECT_EQ(again.json()["run"], run);
  const Reply other =
      server.post(runs, {{"graph", "plan_runner"}, {"input", {{"goal", "h"}}}}, {{"traceparent", "no such thing"}});
  EXPECT_EQ(other.status, 201) << "a header that is none is passed over";
  const std::string own = trace_id(*parse_run_id(other.json()["run"].get<std::string>()), {});
  EXPECT_TRUE(wait_until([&] { return Json(collector.spans()).dump().find(own) != std::string::npos; }));
  cairn_ok({"verify", run, "--dsn", dsn});
}

TEST(Traces, runs_that_are_started_together_are_under_the_span_of_their_request) {
  const std::string dsn = new_database();
  const Server server({"--dsn", dsn});
  const std::string parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const Json own = "00-" + std::string(32, 'a') + "-00f067aa0ba902b7-01";
  const Json one = {{"input", {{"goal", "g"}}}};
  Json tagged = one;
  tagged["tags"] = {{"traceparent", own}};
  const Reply started = server.post(runs, {{"graph", "plan_runner"}, {"runs", Json::array({one, one, tagged})}},
                                    {{"traceparent", parent}});
  ASSERT_EQ(started.status, 201) << started.body;
  const Json made = started.json()["runs"];
  ASSERT_EQ(made.size(), 3u) << started.body;
  for (std::size_t n = 0; n < made.size(); ++n) {
    const Json shown = cairn_ok({"show", made[n].at("run").get<std::string>(), "--json", "--dsn", dsn}).json();
    EXPECT_EQ(shown["tags"]["traceparent"], n < 2 ? Json(parent) : own) << shown;
  }
}

}  // namespace
}  // namespace cairn::program
