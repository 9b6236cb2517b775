// An operator's commands on runs, as scripts see them: signal, pause, resume, retry, cancel, each of one run and of
// many; explain; events that are followed.
#include <csignal>
#include <cstdio>
#include <gtest/gtest.h>
#include <map>

#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

// Graph `name` waits for the signal `go` and ends with what it carried.
std::string add_signal_graph(const std::string& name) {
  add_graph(
      {{"name", name},
       {"start", "wait"},
       {"limits", {{"steps", 10}}},
       {"nodes",
        {{"wait", {{"wait", {{"signal", "go"}}}, {"into", "went"}, {"on", {{"fired", "finish"}}}}},
         {"finish", {{"end", {{"status", "done"}, {"output", {{"went", {{"$", "went"}, {"default", nullptr}}}}}}}}}}}});
  return name;
}

// Graph `name` calls the tool `tool` and fails if that does.
std::string add_tool_graph(const std::string& name, const Json& with, const std::string& queue = "default") {
  add_graph({{"name", name},
             {"start", "work"},
             {"limits", {{"steps", 10}}},
             {"nodes",
              {{"work", {{"do", "tool.call"}, {"queue", queue}, {"with", with}, {"on", {{"ok", "finish"}}}}},
               {"finish", {{"end", "done"}}}}}});
  return name;
}

std::string start(const std::string& graph, const Arguments& more = {}) {
  Arguments arguments = {"start", graph, "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return cairn_ok(arguments).json()["run"];
}

std::string status_of(const std::string& run) { return cairn_ok({"show", run, "--json"}).json()["status"]; }

std::size_t events_of(const std::string& run) { return cairn_ok({"events", run, "--json"}).lines().size(); }

// run -> its line.
std::map<std::string, Json> by_run(const Ran& ran) {
  std::map<std::string, Json> lines;
  for (const Json& line : ran.lines()) EXPECT_TRUE(lines.emplace(line["run"], line).second) << line;
  return lines;
}

Json only_reason(const std::string& run) {
  const Json explained = cairn_ok({"explain", run, "--json"}).json();
  EXPECT_EQ(explained["run"], run);
  EXPECT_EQ(explained["reasons"].size(), 1u) << explained;
  return explained["reasons"].empty() ? Json::object() : explained["reasons"][0];
}

// --- signal ----------------------------------------------------------------------------------------------------------

// H9: what a tool, a tag or a signal carried went to the operator's terminal as it was.
TEST(Control, no_foreign_escape_reaches_the_terminal) {
  const std::string evil = "\x1b[2J\x1b]0;owned\x07\x7f\u009b31m\u202e";
  const std::string run =
      cairn_ok({"start", add_signal_graph("evil"), "--tag", "team=" + evil, "--no-work", "--json"}).json()["run"];
  cairn_ok({"signal", run, "go", "--value", Json(evil).dump()});
  const auto is_clean = [](const std::string& text) {
    return text.find_first_of("\x1b\x07\x7f") == std::string::npos && text.find("\u009b") == std::string::npos &&
           text.find("\u202e") == std::string::npos;
  };
  for (const Arguments& asked : std::vector<Arguments>{{"show", run},
                                                       {"show", run, "--json"},
                                                       {"events", run},
                                                       {"events", run, "--json"},
                                                       {"explain", run},
                                                       {"runs"},
                                                       {"runs", "--json"},
                                                       {"signal", run, evil},
                                                       {"retry", run}}) {
    const Ran ran = cairn(asked);
    EXPECT_TRUE(is_clean(ran.out)) << asked.front() << ran.out;
    EXPECT_TRUE(is_clean(ran.err)) << asked.front() << ran.err;
  }
  EXPECT_EQ(cairn_ok({"show", run, "--json"}).json()["output"]["went"], evil) << "the value is the same";
  const auto shown = [&](const std::string& more) {
    const std::string command = testing::cairn_program() + " export " + run + more;
    return run_program("/usr/bin/script", {"--quiet", "--return", "--command", command, "/dev/null"});
  };
  Ran exported = shown("");
  EXPECT_TRUE(is_clean(exported.out)) << exported.out;
  EXPECT_EQ(shown(" --zstd").exit, 2) << "a terminal obeys what is compressed as well";
  std::erase(exported.out, '\r');  // the terminal's own
  EXPECT_EQ(cairn_ok({"verify", "--file", write_file("shown.jsonl", exported.out)}).exit, 0);
  EXPECT_FALSE(is_clean(cairn_ok({"export", run}).out)) << "what is no terminal gets the bytes as they are";
}

TEST(Signal, is_taken_by_the_wait_for_its_name_and_each_id_once) {
  const std::string run = start(add_signal_graph("signalled"));
  Json sent = cairn_ok({"signal", run, "other", "--value", "1", "--id", "s1", "--json"}).json();
  EXPECT_EQ(sent["waited_for"], false);
  EXPECT_NE(sent["hint"], "");
  for (const char* more : {"waited_for", "hint"}) sent.erase(more);
  EXPECT_EQ(sent, (Json{{"run", run}, {"signal", "other"}, {"id", "s1"}}));
  EXPECT_EQ(status_of(run), "waiting");
  expect_refused(cairn({"signal", run, "go", "--value", "2", "--id", "s1"}), 4, "s1");
  EXPECT_EQ(status_of(run), "waiting");
  cairn_ok({"signal", run, "go", "--value", R"({"far": true})"});
  const Json shown = cairn_ok({"show", run, "--json"}).json();
  EXPECT_EQ(shown["status"], "done");
  EXPECT_EQ(shown["output"]["went"], (Json{{"far", true}}));
  expect_refused(cairn({"signal", run, "go", "--value", "3"}), 4, "ended");
  expect_refused(cairn({"signal", nobody, "go", "--value", "3"}), 3, nobody);
  expect_refused(cairn({"signal", run, "go"}), 2, "--value");
  expect_refused(cairn({"signal", run, "", "--value", "1"}), 4, "");
}

// --- pause, resume, retry, cancel ------------------------------------------------------------------------------------

TEST(Control, a_paused_run_records_what_comes_and_goes_on_when_resumed) {
  const std::string run = start(add_signal_graph("paused"));
  EXPECT_EQ(cairn_ok({"pause", run, "--json"}).json(), (Json{{"run", run}, {"status", "paused"}}));
  expect_refused(cairn({"pause", run}), 4, "paused already");
  EXPECT_EQ(only_reason(start(add_signal_graph("paused")))["kind"], "signal");
  const Json explained = cairn_ok({"explain", run, "--json"}).json();
  EXPECT_EQ(explained["status"], "paused");
  EXPECT_EQ(explained["reasons"][0]["kind"], "paused");
  EXPECT_EQ(explained["reasons"][1]["kind"], "signal");
  EXPECT_EQ(cairn_ok({"resume", run, "--json"}).json(), (Json{{"run", run}, {"status", "waiting"}}));
  expect_refused(cairn({"resume", run}), 4, "");
  EXPECT_NE(cairn_ok({"cancel", run}).out.find("aborted"), std::string::npos);
}

TEST(Control, a_reason_stands_in_the_event_of_each_command_and_a_paused_run_shows_its_own) {
  const std::string run = start(add_signal_graph("reasons"));
  cairn_ok({"pause", run, "--reason", "The shelf moves."});
  EXPECT_EQ(cairn_ok({"show", run, "--json"}).json()["reason"], "The shelf moves.");
  const std::string says = cairn_ok({"explain", run, "--json"}).json()["reasons"][0]["says"];
  EXPECT_NE(says.find("The reason given: The shelf moves."), std::string::npos) << says;
  EXPECT_EQ(by_run(cairn_ok({"runs", "--graph", "reasons", "--json"})).at(run).contains("ending"), false)
      << "a reason of a pause is no end";
  cairn_ok({"resume", run, "--reason", "It stands."});
  EXPECT_TRUE(cairn_ok({"show", run, "--json"}).json()["reason"].is_null());
  std::map<std::string, Json> events;
  for (const Json& event : cairn_ok({"events", run, "--json"}).lines()) events[event["type"]] = event;
  EXPECT_EQ(events["run_paused"]["reason"], "The shelf moves.");
  EXPECT_EQ(events["run_resumed"]["reason"], "It stands.");
  EXPECT_FALSE(events["run_started"].contains("reason"));
  expect_refused(cairn({"pause", run, "--reason", std::string(501, 'r')}), 2, "at most 500 bytes");
  cairn_ok({"pause", run});
  EXPECT_TRUE(cairn_ok({"show", run, "--json"}).json()["reason"].is_null());
  cairn_ok({"cancel", run});
}

TEST(Control, a_failed_run_is_retried_from_its_failed_step) {
  const std::string graph =
      add_tool_graph("retried", {{"tool", "fail"}, {"inputs", {{"message", "no"}, {"times", 1}}}});
  const Ran failed = cairn({"start", graph, "--wait", "--json"});
  ASSERT_EQ(failed.exit, 1) << failed.err;
  const std::string run = failed.json()["run"];
  EXPECT_EQ(only_reason(run)["kind"], "ended");
  EXPECT_EQ(cairn_ok({"retry", run, "--reason", "mended", "--json"}).json(),
            (Json{{"run", run}, {"status", "running"}}));
  EXPECT_EQ(cairn_ok({"events", run, "--json"}).lines().back()["reason"], "mended");
  EXPECT_EQ(only_reason(run)["kind"], "no_worker");
  expect_refused(cairn({"retry", run}), 4, "has not ended");
  cairn_ok({"cancel", run});
  expect_refused(cairn({"retry", run}), 4, "aborted");
}

TEST(Control, each_of_several_runs_is_told_and_a_refusal_stops_none) {
  const std::string graph = add_signal_graph("several");
  const std::string one = start(graph);
  const std::string two = start(graph);
  cairn_ok({"pause", one});
  const Ran ran = cairn({"pause", one, nobody, "nonsense", two, "--json"});
  EXPECT_EQ(ran.exit, 4) << "the code of the first refusal";
  const std::map<std::string, Json> lines = by_run(ran);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines.at(two)["status"], "paused");
  for (const std::string& refused : {one, nobody, std::string("nonsense")}) {
    EXPECT_TRUE(lines.at(refused).contains("refused")) << lines.at(refused);
    EXPECT_FALSE(lines.at(refused).contains("status")) << lines.at(refused);
  }
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 3) << ran.err;
  EXPECT_EQ(cairn({"cancel", "nonsense", one, two}).exit, 3);
  EXPECT_EQ(status_of(two), "aborted");
}

TEST(Control, a_filter_finds_the_runs_also_beyond_a_page) {
  const std::string graph = add_signal_graph("filtered");
  std::string lines;
  for (int i = 0; i < 450; ++i) lines += R"({"i": )" + std::to_string(i) + "}\n";
  cairn_ok({"batch", graph, "--inputs", write_file("filtered.jsonl", lines)});
  const std::string tagged = start(graph, {"--tag", "team=a,b"});
  EXPECT_EQ(by_run(cairn_ok({"pause", "--where", "graph=" + graph + R"(,tag.team=a\,b)", "--json"})).size(), 1u);
  EXPECT_EQ(status_of(tagged), "paused");
  const std::map<std::string, Json> paused =
      by_run(cairn_ok({"pause", "--where", "graph=" + graph + ",status=waiting,since=2020-01-01", "--json"}));
  EXPECT_EQ(paused.size(), 450u);
  for (const auto& [run, line] : paused) EXPECT_EQ(line["status"], "paused");
  const Ran again = cairn({"resume", "--where", "graph=" + graph, "--json"});
  EXPECT_EQ(again.exit, 0) << again.err;
  EXPECT_EQ(by_run(again).size(), 451u);
  EXPECT_EQ(by_run(cairn_ok({"cancel", "--where", "graph=" + graph, "--json"})).size(), 451u);
  const Ran ended = cairn({"pause", "--where", "graph=" + graph, "--json"});
  EXPECT_EQ(ended.exit, 4);
  EXPECT_EQ(by_run(ended).size(), 451u);
  EXPECT_EQ(cairn_ok({"pause", "--where", "graph=nothing_of_that_name"}).out, "No run matches.\n");
}

TEST(Control, a_dry_run_tells_what_would_become_and_writes_nothing) {
  const std::string graph = add_signal_graph("dry");
  const std::string one = start(graph);
  const std::string two = start(graph);
  cairn_ok({"pause", two});
  const Ran ran = cairn({"pause", "--where", "graph=" + graph, "--dry-run", "--json"});
  EXPECT_EQ(ran.exit, 4);
  const std::map<std::string, Json> lines = by_run(ran);
  EXPECT_EQ(lines.at(one), (Json{{"run", one}, {"status", "paused"}, {"dry_run", true}}));
  EXPECT_TRUE(lines.at(two).contains("refused"));
  EXPECT_EQ(status_of(one), "waiting");
  EXPECT_EQ(cairn_ok({"cancel", one, "--dry-run"}).out, one + " would be aborted\n");
  EXPECT_EQ(events_of(one), 1u);
  cairn_ok({"cancel", one, two});
}

TEST(Control, what_names_no_runs_is_usage) {
  for (const char* command : {"pause", "resume", "retry", "cancel"}) {
    expect_refused(cairn({command}), 2, "--where");
    expect_refused(cairn({command, nobody, "--where", "graph=g"}), 2, "excludes");
    expect_refused(cairn({command, "--where", ""}), 2, "graph=");
    expect_refused(cairn({command, "--where", "graph"}), 2, "\"graph\"");
    expect_refused(cairn({command, "--where", "colour=red"}), 2, "\"colour\"");
    expect_refused(cairn({command, "--where", "graph=a,graph=b"}), 2, "twice");
    expect_refused(cairn({command, "--where", "status=sleeping"}), 2, "sleeping");
    expect_refused(cairn({command, "--where", "since=yesterday"}), 2, "yesterday");
    expect_refused(cairn({command, "--where", "lineage=me"}), 2, "\"me\"");
    expect_refused(cairn({command, "--where", "graph=a,,status=done"}), 2, "\"\"");
    expect_refused(cairn({command, "--where", "=a"}), 2, "=a");
  }
}

// --- runs ------------------------------------------------------------------------------------------------------------

TEST(Runs, where_means_what_the_options_mean) {
  const std::string graph = add_signal_graph("listed");
  const std::string one = start(graph, {"--tag", "team=a"});
  const std::string two = start(graph);
  cairn_ok({"cancel", two});
  const auto found = [](Arguments arguments) {
    arguments.insert(arguments.begin(), "runs");
    arguments.push_back("--json");
    std::vector<std::string> runs;
    for (const Json& line : cairn_ok(arguments).lines()) runs.push_back(line["run"]);
    return runs;
  };
  EXPECT_EQ(found({"--where", "graph=" + graph}), (std::vector<std::string>{two, one}));
  EXPECT_EQ(found({"--where", "graph=" + graph + ",tag.team=a"}), found({"--graph", graph, "--tag", "team=a"}));
  EXPECT_EQ(found({"--where", "graph=" + graph + ",status=aborted"}), std::vector<std::string>{two});
  EXPECT_EQ(found({"--where", "graph=" + graph + ",status=waiting"}), std::vector<std::string>{one});
  EXPECT_EQ(found({"--where", "graph=" + graph, "--limit", "1"}), std::vector<std::string>{two});
  EXPECT_EQ(found({"--where", "lineage=" + one}), std::vector<std::string>{one});
  EXPECT_TRUE(found({"--graph", graph, "--since", "2999-01-01"}).empty());
  expect_refused(cairn({"runs", "--where", "graph=" + graph, "--status", "done"}), 2, "excludes");
}

TEST(Runs, the_limit_counts_over_pages) {
  const std::string graph = add_signal_graph("limited");
  std::string lines;
  for (int i = 0; i < 430; ++i) lines += R"({"i": )" + std::to_string(i) + "}\n";
  cairn_ok({"batch", graph, "--inputs", write_file("limited.jsonl", lines)});
  EXPECT_EQ(by_run(cairn_ok({"runs", "--graph", graph, "--limit", "401", "--json"})).size(), 401u);
  EXPECT_EQ(by_run(cairn_ok({"runs", "--graph", graph, "--limit", "1000", "--json"})).size(), 430u);
  cairn_ok({"cancel", "--where", "graph=" + graph});
}

// --- explain ---------------------------------------------------------------------------------------------------------

TEST(ExplainProgram, tells_the_lack_of_a_worker_of_a_tool_and_of_a_queue) {
  const std::string graph = add_tool_graph("explained", {{"tool", "echo"}, {"inputs", Json::object()}}, "quarry");
  const std::string run = start(graph);
  const Json lonely = only_reason(run);
  EXPECT_EQ(lonely["kind"], "no_worker");
  EXPECT_EQ(lonely["step"], 1);
  EXPECT_EQ(lonely["node"], "work");
  EXPECT_EQ(lonely["queue"], "quarry");
  Beside worker({"work", "--queue", "default", "--json"});
  ASSERT_TRUE(wait_until([&] { return worker.out().find("ready") != std::string::npos; }));
  EXPECT_EQ(only_reason(run)["kind"], "no_worker") << "it serves another queue";
  EXPECT_NE(cairn_ok({"explain", run}).out.find("no_worker"), std::string::npos);
  const Ran late = cairn({"wait", run, "--timeout", "1s"});
  EXPECT_EQ(late.exit, 1);
  EXPECT_NE(late.err.find("Waiting. work: No worker"), std::string::npos) << late.err;
  expect_refused(cairn({"explain", nobody}), 3, nobody);
  expect_refused(cairn({"explain", "nonsense"}), 3, "nonsense");
  cairn_ok({"cancel", run});
}

TEST(ExplainProgram, names_who_holds_a_step_and_notices_that_he_is_gone) {
  const std::string graph = add_tool_graph("held", {{"tool", "sleep"}, {"inputs", {{"ms", 60'000}}}}, "slow");
  const std::string run = start(graph);
  Beside worker({"work", "--queue", "slow", "--json"});
  ASSERT_TRUE(wait_until([&] { return only_reason(run)["kind"] == "held"; }));
  const Json held = only_reason(run);
  EXPECT_EQ(held["pid"], worker.pid());
  EXPECT_TRUE(held.contains("since") && held.contains("deadline")) << held;
  const std::string later = start(graph);
  Json session;
  for (const Json& line : cairn_ok({"workers", "--json"}).lines())
    if (line["pid"] == worker.pid()) session = line;
  EXPECT_EQ(session["alive"], true) << session;
  EXPECT_EQ(session["held"].get<int>(), 1 + (only_reason(later)["kind"] == "held" ? 1 : 0));
  EXPECT_EQ(session["queues"], Json{"slow"});
  EXPECT_TRUE(session["last_beat"].is_string()) << session;
  worker.signal(SIGKILL);
  worker.wait();
  EXPECT_TRUE(wait_until([&] { return only_reason(run)["kind"] == "dead_worker"; }));
  EXPECT_NE(cairn({"doctor"}).out.find("dead: session"), std::string::npos);
  cairn_ok({"cancel", run, later});
}

TEST(ExplainProgram, tells_that_the_queue_is_paused_or_full) {
  const std::string graph = add_tool_graph("bounded", {{"tool", "sleep"}, {"inputs", {{"ms", 60'000}}}}, "bounded");
  const std::string first = start(graph);
  cairn_ok({"queue", "set", "bounded", "--pause"});
  EXPECT_EQ(only_reason(first)["kind"], "queue_paused");
  cairn_ok({"queue", "set", "bounded", "--resume", "--concurrency", "1"});
  Beside worker({"work", "--queue", "bounded", "--json"});
  ASSERT_TRUE(wait_until([&] { return only_reason(first)["kind"] == "held"; }));
  const std::string second = start(graph);
  const Json full = only_reason(second);
  EXPECT_EQ(full["kind"], "queue_limit") << full;
  EXPECT_EQ(full["held"], 1);
  EXPECT_EQ(full["concurrency"], 1);
  cairn_ok({"cancel", first, second});
}

TEST(ExplainProgram, a_step_that_is_ready_counts_those_before_it) {
  const std::string graph = add_tool_graph("counted", {{"tool", "sleep"}, {"inputs", {{"ms", 60'000}}}}, "counted");
  Beside worker({"work", "--queue", "counted", "--concurrency", "1", "--json"});
  const std::string first = start(graph);
  ASSERT_TRUE(wait_until([&] { return only_reason(first)["kind"] == "held"; }));
  const std::string second = start(graph);
  const std::string third = start(graph);
  EXPECT_EQ(only_reason(second)["kind"], "ready");
  EXPECT_EQ(only_reason(second)["before"], 0);
  EXPECT_EQ(only_reason(third)["before"], 1);
  cairn_ok({"cancel", first, second, third});
}

TEST(ExplainProgram, a_worker_says_so_when_it_learns_to_serve_another_queue) {
  Beside worker({"work", "--json"});
  const auto queues = [&] {
    for (const Json& line : cairn_ok({"workers", "--json"}).lines())
      if (line["pid"] == worker.pid()) return line["queues"];
    return Json();
  };
  const auto serves = [&](const char* queue) {
    const Json served = queues();
    return std::find(served.begin(), served.end(), Json(queue)) != served.end();
  };
  ASSERT_TRUE(wait_until([&] { return serves("default"); })) << queues();
  EXPECT_FALSE(serves("later")) << queues();
  add_tool_graph("later", {{"tool", "echo"}, {"inputs", Json::object()}}, "later");
  EXPECT_TRUE(wait_until([&] { return serves("later"); })) << queues();
}

// --- events that are followed ----------------------------------------------------------------------------------------

TEST(Follow, an_interrupt_ends_it_with_exit_0) {
  const std::string run = start(add_signal_graph("watched"));
  Beside follower({"events", run, "--follow", "--json"});
  ASSERT_TRUE(wait_until([&] { return follower.out().find("run_started") != std::string::npos; }));
  cairn_ok({"signal", run, "other", "--value", "1"});
  ASSERT_TRUE(wait_until([&] { return follower.out().find("signal_received") != std::string::npos; }))
      << "it did not stream";
  follower.signal(SIGINT);
  EXPECT_EQ(follower.wait(), 0);
  cairn_ok({"cancel", run});
}

// It never ended when the reader of its pipe had gone and the run had no more events.
TEST(Follow, ends_when_nobody_reads_it_any_more) {
  const std::string run = start(add_signal_graph("unread"));
  const Ran ran = run_program("/bin/bash", {"-c", testing::cairn_program() + " events " + run +
                                                      " --follow --json | head -n 1; echo ${PIPESTATUS[0]}"});
  EXPECT_NE(ran.out.find("run_started"), std::string::npos) << ran.out;
  EXPECT_TRUE(ran.out.ends_with("\n0\n")) << ran.out << ran.err;
  cairn_ok({"cancel", run});
}

// With descriptor 1 closed the database's connection took its number, and the answer went there.
TEST(Follow, a_closed_stdout_is_told_and_harms_nothing) {
  const std::string run = start(add_signal_graph("closed"));
  for (const std::string& command :
       {"events " + run + " --follow --json >&-", std::string("runs --json >&-"), "show " + run + " >&-"}) {
    const Ran ran = run_program("/bin/bash", {"-c", testing::cairn_program() + " " + command});
    EXPECT_EQ(ran.exit, 1) << command;
    EXPECT_NE(ran.err.find("stdout"), std::string::npos) << command << ran.err;
  }
  EXPECT_EQ(status_of(run), "waiting");
  cairn_ok({"cancel", run});
}

}  // namespace
}  // namespace cairn::program
