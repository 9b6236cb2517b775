// Outputs that people read: they fit a terminal of 80 columns, nothing that matters is cut, times name their zone, and
// a run is shown with all that it was started with.
#include <algorithm>
#include <gtest/gtest.h>
#include <regex>

#include "engine/id.hpp"
#include "ops/terminal/local_time.hpp"
#include "ops/terminal/print.hpp"
#include "tests/ops/api_client.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

const char* const asking_graph = R"({"name": "reading", "start": "ask", "limits": {"steps": 9}, "nodes": {
  "ask": {"ask": {"kind": "question", "prompt": "Which of the many sizes that we have on offer this week do you want?",
                  "schema": {"enum": ["small", "large"]}, "default": "small"},
          "expires_ms": 600000, "into": "size", "on": {"answered": "pay", "expired": "end"}},
  "pay": {"wait": {"signal": "paid"}, "on": {"fired": "end"}},
  "end": {"end": "done"}}})";

std::string asking_run(Arguments more = {}) {
  cairn_ok({"graph", "add", write_file("reading.json", asking_graph)});
  more.insert(more.begin(), {"start", "reading", "--no-work", "--json"});
  return cairn_ok(more).json()["run"];
}

// The lines of a command on a terminal of 80 columns, without their colours and what was overwritten.
std::vector<std::string> on_a_terminal(const std::string& command) {
  const Ran ran = run_program("/usr/bin/script",
                              {"-qec", "stty cols 80; " + testing::cairn_program() + " " + command, "/dev/null"});
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  const std::string left = std::regex_replace(ran.out, std::regex("[^\n]*\r\x1b\\[K"), "");
  const std::string plain = std::regex_replace(left, std::regex("\x1b\\[[0-9;]*[A-Za-z]|\r"), "");
  std::vector<std::string> lines;
  std::istringstream all(plain);
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  EXPECT_FALSE(lines.empty());
  return lines;
}

// Columns of a line, each character of several bytes as one.
std::size_t columns_of(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(
      line.begin(), line.end(), [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

TEST(Reading, F13_lists_events_and_explanations_fit_80_columns) {
  const std::string run = asking_run({"--tag", "customer=" + std::string(60, 'c'), "--tag", "reading=width"});
  for (const std::string& command :
       {std::string("runs --tag reading=width"), "events " + run, "explain " + run, std::string("runs"),
        std::string("queue"), std::string("graph list"), std::string("workers")})
    for (const std::string& line : on_a_terminal(command)) EXPECT_LE(columns_of(line), 80u) << command << "\n" << line;
}

// A line that is to be copied stays one line.
bool is_command_line(const std::string& line) { return line.starts_with("  cairn "); }

TEST(Reading, F13_a_run_a_report_tokens_and_a_doctor_fit_80_columns) {
  const std::string dsn = new_database();
  const std::string tag(60, 'c');
  cairn_ok({"graph", "add", write_file("reading.json", asking_graph), "--dsn", dsn});
  const std::string run =
      cairn_ok({"start", "reading", "--no-work", "--json", "--tag", "customer=" + tag, "--key", std::string(90, 'k'),
                "--input", Json{{"text", std::string(300, 'x')}}.dump(), "--dsn", dsn})
          .json()["run"];
  new_token(dsn, "a_dashboard_of_the_reading_room",
            {"--role", "read", "--role", "answer", "--scope", "graph=reading", "--scope", "tag=customer=" + tag});
  int lines = 0;
  for (const std::string& command :
       {"show " + run, std::string("report"), std::string("token list"), std::string("doctor")})
    for (const std::string& line : on_a_terminal(command + " --dsn '" + dsn + "'; true")) {
      ++lines;
      EXPECT_TRUE(columns_of(line) <= 80u || is_command_line(line)) << command << "\n" << line;
    }
  EXPECT_GT(lines, 30);
}

TEST(Reading, F13_what_is_set_and_its_histories_fit_80_columns) {
  const std::string dsn = new_database(), why(120, 'w');
  cairn_ok({"graph", "add", write_file("reading.json", asking_graph), "--dsn", dsn});
  cairn_ok({"start", "reading", "--no-work", "--tag", "customer=" + std::string(60, 'c'), "--dsn", dsn});
  cairn_ok({"queue", "set", "reading", "--rate", "50", "--per", "1s", "--burst", "10", "--concurrency", "4", "--ageing",
            "10m", "--budget", "tokens=2000000/hour", "--reserve", "tokens=4000", "--dsn", dsn});
  cairn_ok({"schedule", "add", "reading", "--graph", "reading", "--every", "1h", "--dsn", dsn});
  cairn_ok({"schedule", "pause", "reading", "--reason", "It waits for " + why, "--dsn", dsn});
  int lines = 0;
  for (const std::string command : {"questions", "queue", "queue budgets reading", "queue history reading",
                                    "schedule list", "schedule history reading"})
    for (const std::string& line : on_a_terminal(command + " --dsn '" + dsn + "'")) {
      ++lines;
      EXPECT_LE(columns_of(line), 80u) << command << "\n" << line;
    }
  EXPECT_GE(lines, 14);
}

// A database in which all that has a name has a long one.
struct LongNames {
  std::string name = std::string(49, 'g');
  std::string words = "It waits for what a person would say in a rather long sentence of many words, again and again.";
  std::string dsn = new_database();
  std::string run;   // it asks
  std::string plan;  // one that has failed

  LongNames() {
    Json graph = Json::parse(asking_graph);
    graph["name"] = name;
    graph["singleton"] = {{"key", "/key"}};
    made({"graph", "add", write_file("long.json", graph.dump())});
    made({"queue", "set", name, "--rate", "50000", "--per", "90m", "--burst", "1000", "--budget",
          "tokens=2000000000/month"});
    made({"schedule", "add", name, "--graph", name, "--every", "1h", "--input",
          Json{{"text", words}, {"key", "k"}}.dump()});
    made({"schedule", "pause", name, "--reason", words});
    made({"hook", "add", name, "--url", "https://chat.example/in/" + name + name, "--on", "waits", "--graph", name});
    made({"hook", "pause", name, "--reason", words});
    made({"feed", "add", name, "--graph", name});
    new_token(dsn, name, {"--role", "read", "--scope", "graph=" + name, "--scope", "tag=customer=" + name});
    const Json input = {{"key", name + name}, {"text", words + words}, {name + name, words}};
    run = made({"start", name, "--no-work", "--tag", "customer=" + name, "--input", input.dump(), "--json"})
              .json()["run"];
    const Json goals =
        Json::array({{{"id", "one"}, {"tool", "echo"}, {"title", words + words}, {"inputs", {{"a", words}}}},
                     {{"id", name}, {"tool", "no_such_tool_" + name}, {"inputs", Json::object()}}});
    const Ran planned = cairn({"start", "plan_runner", "--wait", "--json", "--dsn", dsn, "--input",
                               Json{{"goal", words}, {"sub_goals", goals}}.dump()});
    plan = planned.json()["run"];
  }

  Ran made(Arguments command) const { return cairn_ok(on(dsn, std::move(command))); }
};

TEST(Reading, F13_every_list_fits_80_columns_with_long_names) {
  const LongNames of;
  const std::string name = " " + of.name;
  int lines = 0;
  for (const std::string& command : {std::string("runs"),
                                     "runs --lineage " + of.run,
                                     "show " + of.run,
                                     "show " + of.plan,
                                     "explain " + of.run,
                                     "events " + of.plan,
                                     "plan " + of.plan,
                                     std::string("questions"),
                                     std::string("starts"),
                                     std::string("queue"),
                                     "queue budgets" + name,
                                     "queue history" + name,
                                     std::string("graph list"),
                                     std::string("schedule list"),
                                     "schedule show" + name,
                                     "schedule history" + name,
                                     "schedule explain" + name + " --at 2026-11-23",
                                     std::string("hook list"),
                                     "hook show" + name,
                                     "hook history" + name,
                                     std::string("token list"),
                                     std::string("feed list"),
                                     "feed read" + name,
                                     std::string("report"),
                                     "diff " + of.run + " " + of.plan + "; true",
                                     "replay " + of.plan,
                                     "blame " + of.plan,
                                     std::string("blame --all"),
                                     std::string("verify --all; true"),
                                     std::string("doctor; true")}) {
    const std::size_t more = command.find("; true");
    const std::string told =
        command.substr(0, more) + " --dsn '" + of.dsn + "'" + (more < command.size() ? "; true" : "");
    for (const std::string& line : on_a_terminal(told)) {
      if (line == "Output") break;  // a JSON document, to be copied
      ++lines;
      EXPECT_TRUE(columns_of(line) <= 80u || is_command_line(line)) << command << "\n" << line;
    }
  }
  EXPECT_GT(lines, 150);
}

TEST(Reading, what_is_cut_in_no_list_is_a_reason_a_tool_or_a_goal) {
  const LongNames of;
  std::string words;
  for (const std::string& command : {"plan " + of.plan, "schedule show " + of.name, "hook show " + of.name})
    for (const std::string& line : on_a_terminal(command + " --dsn '" + of.dsn + "'"))
      words += " " + std::regex_replace(line, std::regex("^[ │]+"), "");
  for (const std::string& part :
       {"echo  " + of.words + of.words, "there is no tool no_such_tool_" + of.name, "UTC " + of.words})
    EXPECT_NE(words.find(part), std::string::npos) << part << "\n" << words;
}

TEST(Reading, a_table_is_narrowed_for_a_terminal_alone_and_its_ids_stay_whole) {
  const std::string graph(60, 'g'), dsn = new_database();
  cairn_ok({"graph", "add", write_file("wide.json", ask_graph(graph)), "--dsn", dsn});
  const std::string called =
      Json{{"name", "calls_wide"},
           {"start", "call"},
           {"limits", {{"steps", 9}}},
           {"nodes",
            {{"call", {{"call", graph}, {"on", {{"done", "end"}, {"failed", "end"}}}}}, {"end", {{"end", "done"}}}}}}
          .dump();
  cairn_ok({"graph", "add", write_file("calls.json", called), "--dsn", dsn});
  const std::string run = cairn_ok({"start", "calls_wide", "--json", "--dsn", dsn}).json()["run"];
  const std::string child = cairn_ok({"runs", "--parent", run, "--json", "--dsn", dsn}).lines().at(0)["run"];
  std::string shown;
  for (const std::string& line : on_a_terminal("show " + run + " --dsn '" + dsn + "'")) {
    shown += line + "\n";
    EXPECT_TRUE(columns_of(line) <= 80u || is_command_line(line)) << line;
  }
  EXPECT_NE(shown.find(child), std::string::npos) << shown;
  EXPECT_EQ(shown.find(graph), std::string::npos) << "narrowed\n" << shown;
  EXPECT_NE(cairn_ok({"show", run, "--dsn", dsn}).out.find(graph), std::string::npos) << "a script gets it whole";
}

TEST(Reading, a_help_text_is_wrapped_to_the_terminal_and_not_cut) {
  std::string words;
  for (const std::string command : {"help", "help runs", "help fork", "runs --help", "help graph", "help archive"})
    for (const std::string& line : on_a_terminal(command)) {
      EXPECT_LE(columns_of(line), 80u) << command << "\n" << line;
      words += " " + std::regex_replace(line, std::regex("^ +"), "");
    }
  for (const char* part : {"started by the first command that needs it and stopped by `cairn down`.",
                           "those it came from (by a fork, by --continues) and all that came from them",
                           "Ask no model and no tool: what they said in RUN counts again"})
    EXPECT_NE(words.find(part), std::string::npos) << part << "\n" << words;
}

TEST(Reading, F13_an_explanation_is_wrapped_and_not_cut) {
  std::string words;
  for (const std::string& line : on_a_terminal("explain " + asking_run()))
    words += std::regex_replace(line, std::regex("^ +"), " ");
  EXPECT_NE(words.find("Which of the many sizes that we have on offer this week do you want?"), std::string::npos)
      << words;
}

TEST(Reading, F20_times_name_their_zone_and_json_says_them_as_iso) {
  const std::string run = asking_run();
  const std::regex iso(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)");
  for (const Json& event : cairn_ok({"events", run, "--json"}).lines())
    for (const auto& [name, value] : event.items())
      if (name == "at" || name.ends_with("_at")) {
        ASSERT_TRUE(value.is_string()) << event;
        EXPECT_TRUE(std::regex_match(value.get<std::string>(), iso)) << event;
      }
  EXPECT_NE(cairn_ok({"show", run}).out.find(" UTC"), std::string::npos);
  const Ran elsewhere = run_program("/usr/bin/env", {"TZ=Asia/Tokyo", testing::cairn_program(), "show", run});
  EXPECT_NE(elsewhere.out.find(" JST"), std::string::npos) << elsewhere.out << elsewhere.err;
}

Ran in_tokyo(Arguments command) {
  command.insert(command.begin(), {"TZ=Asia/Tokyo", testing::cairn_program()});
  Ran ran = run_program("/usr/bin/env", command);
  EXPECT_EQ(ran.exit, 0) << ran.err;
  return ran;
}

TEST(Reading, F20_a_time_as_it_is_printed_can_be_given_back) {
  const std::string run = asking_run();
  const std::string now = in_tokyo({"show", run}).out;
  static const std::regex head(R"(at event (\d+), (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d))");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(now, found, head)) << now;
  EXPECT_EQ(in_tokyo({"show", run, "--at", found[2]}).out, now);
  const auto in_berlin = [&run](const std::string& time) {
    return run_program("/usr/bin/env", {"TZ=Europe/Berlin", testing::cairn_program(), "show", run, "--at", time});
  };
  EXPECT_EQ(in_berlin("2099-07-01 12:00:00").exit, 0);
  EXPECT_EQ(in_berlin("2099-02-31 12:00:00").exit, 2) << "there is no such day";
  EXPECT_EQ(in_berlin("2026-10-25 02:30:00").exit, 2) << "clocks are put back then: it was twice";
  EXPECT_EQ(in_berlin("2026-03-29 02:30:00").exit, 2) << "it was left out";
}

TEST(Reading, F20_a_refusal_says_times_in_utc_wherever_it_is_read) {
  const std::string run = asking_run();
  const Ran refused = run_program(
      "/usr/bin/env", {"TZ=Asia/Tokyo", testing::cairn_program(), "show", run, "--at", "2001-02-03T04:05:06Z"});
  static const std::regex utc(R"(at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z, but found 2001-02-03T04:05:06)");
  EXPECT_TRUE(std::regex_search(refused.err, utc)) << refused.err;
}

TEST(Reading, F20_explain_tokens_and_imports_say_times_in_the_readers_zone) {
  static const std::regex iso(R"(\d{4}-\d\d-\d\dT\d\d:\d\d)");
  const std::string run = asking_run();
  const std::string why = in_tokyo({"explain", run}).out;
  EXPECT_NE(why.find(" JST: \"Which of the many sizes"), std::string::npos) << why;
  EXPECT_FALSE(std::regex_search(why, iso)) << why;
  EXPECT_TRUE(std::regex_search(in_tokyo({"explain", run, "--json"}).out, iso));
  const std::string dsn = new_database();
  new_token(dsn, "reader", {"--role", "read"});
  const std::string tokens = in_tokyo({"token", "list", "--dsn", dsn}).out;
  EXPECT_NE(tokens.find("MADE (JST)"), std::string::npos) << tokens;
  EXPECT_FALSE(std::regex_search(tokens, iso)) << tokens;
  const std::string file = (directory() / "reading.jsonl").string();
  cairn_ok({"cancel", run});
  cairn_ok({"export", run, "--out", file});
  cairn_ok({"import", file, "--dsn", dsn});
  const std::string shown = in_tokyo({"show", run, "--dsn", dsn}).out;
  EXPECT_TRUE(std::regex_search(shown, std::regex("Imported by \\S+ at [-0-9]+ [:0-9]+ JST from database"))) << shown;
}

TEST(Reading, a_refusal_of_one_of_many_runs_has_a_line_of_its_own) {
  const std::string tag = "reading=refusals";
  for (int n = 0; n < 3; ++n) cairn_ok({"cancel", asking_run({"--tag", tag})});
  int refused = 0;
  for (const std::string& line : on_a_terminal("pause --where tag." + tag + "; true")) {
    EXPECT_TRUE(line.find("cairn: ") == std::string::npos || line.starts_with("cairn: Expected run ")) << line;
    refused += line.starts_with("cairn: Expected run ") ? 1 : 0;
  }
  EXPECT_EQ(refused, 3);
}

TEST(Reading, F20_schedules_and_hooks_say_times_in_the_readers_zone) {
  static const std::regex iso(R"(\d{4}-\d\d-\d\dT\d\d:\d\d)");
  const LongNames of;
  for (const Arguments& command : {Arguments{"schedule", "list"},
                                   {"schedule", "show", of.name},
                                   {"hook", "list"},
                                   {"hook", "show", of.name},
                                   {"hook", "history", of.name},
                                   {"feed", "list"}}) {
    // The next times are said in the schedule's zone, and as --at takes them.
    const std::string said = std::regex_replace(in_tokyo(on(of.dsn, command)).out, std::regex("next: [^\n]*\n"), "");
    EXPECT_FALSE(std::regex_search(said, iso)) << said;
  }
  EXPECT_NE(in_tokyo(on(of.dsn, {"schedule", "list"})).out.find("NEXT (JST)"), std::string::npos);
  EXPECT_NE(in_tokyo(on(of.dsn, {"hook", "show", of.name})).out.find(" JST It waits"), std::string::npos);
  EXPECT_TRUE(std::regex_search(in_tokyo(on(of.dsn, {"schedule", "list", "--json"})).out, iso));
}

TEST(Reading, F20_the_time_of_a_retry_is_said_as_other_times_are) {
  const std::string at = "2026-11-23T17:13:02.000000Z";
  const std::string line = event_summary({{"type", "step_failed"}, {"error", "timeout"}, {"retry_at", at}}, 200);
  EXPECT_EQ(line, "error=timeout retry_at=" + local_time(*parse_time(at)));
}

TEST(Reading, F25_a_run_is_shown_with_its_input_tags_key_and_times) {
  const std::string run = asking_run({"--input", R"({"cups": 2})", "--tag", "customer=jane", "--key", "reading 25"});
  const Json shown = cairn_ok({"show", run, "--json"}).json();
  EXPECT_EQ(shown["input"], Json({{"cups", 2}}));
  EXPECT_EQ(shown["tags"], Json({{"customer", "jane"}}));
  EXPECT_EQ(shown["key"], "reading 25");
  for (const char* name : {"started_at", "updated_at", "parent", "continues", "graph", "version"})
    EXPECT_TRUE(shown.contains(name)) << name;
  const std::string text = cairn_ok({"show", run}).out;
  for (const char* part : {"customer=jane", "Key reading 25", R"(Input {"cups":2})", "Started 2",
                           R"(one of "small", "large")", R"(else "small")", "until 2"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Reading, F24_a_report_tells_cancelled_runs_from_failed_ones) {
  const std::string run = asking_run({"--tag", "reading=report"});
  asking_run({"--tag", "reading=report"});
  cairn_ok({"cancel", run});
  const Json report = cairn_ok({"report", "--tag", "reading=report", "--json"}).json();
  EXPECT_EQ(report["runs"], 2);
  EXPECT_EQ(report["failures"], 0);
  EXPECT_EQ(report["cancelled"], 1);
  EXPECT_EQ(report["failures_of"], 0) << "none has ended otherwise";
  EXPECT_NE(cairn_ok({"report", "--tag", "reading=report"}).out.find("0 of 0 ended, cancelled ones aside"),
            std::string::npos);
  for (const char* part : {"by_model", "by_graph", "by_tag", "by_day"}) EXPECT_TRUE(report[part].is_object()) << part;
  EXPECT_EQ(report["by_graph"]["reading"]["runs"], 2);
  EXPECT_EQ(report["by_tag"]["reading=report"]["runs"], 2);
}

TEST(Reading, F24_a_report_sums_failures_up_by_error_and_node) {
  const auto failing = [](const std::string& tool) {
    const Json graph = {
        {"name", "reading_fails"},
        {"start", "work"},
        {"limits", {{"steps", 9}}},
        {"nodes",
         {{"work",
           {{"do", "tool.call"}, {"with", {{"tool", tool}, {"inputs", Json::object()}}}, {"on", {{"ok", "end"}}}}},
          {"end", {{"end", "done"}}}}}};
    cairn_ok({"graph", "add", write_file("fails.json", graph.dump())});
    EXPECT_EQ(cairn({"start", "reading_fails", "--wait", "--tag", "reading=errors"}).exit, 1);
  };
  failing("fail");
  failing("fail");
  failing("a_tool_that_is_none");
  const Json report = cairn_ok({"report", "--tag", "reading=errors", "--json"}).json();
  EXPECT_EQ(report["failures"], 3);
  const Json& by_error = report["by_error"];
  ASSERT_EQ(by_error.size(), 2u) << by_error;
  EXPECT_EQ(by_error["unknown_tool"], (Json{{"runs", 1}, {"nodes", {{"work", 1}}}}));
  const std::string text = cairn_ok({"report", "--tag", "reading=errors"}).out;
  EXPECT_NE(text.find("ERROR"), std::string::npos) << text;
  EXPECT_LT(text.find("work (2)"), text.find("unknown_tool")) << "the most frequent first\n" << text;
}

TEST(Reading, F27_refusals_name_the_real_cause) {
  const std::string run = asking_run();
  expect_refused(cairn({"retry", run}), 4, "to have failed, but it has not ended.");
  cairn_ok({"answer", run, "--value", R"("large")", "--wait"});
  expect_refused(cairn({"answer", run, "--value", R"("large")"}), 4, "q1 of run " + run + " to be open, but it was");
  expect_refused(cairn({"start", "reading", "--options", R"({"budgets": {"cups": 1}})"}), 4,
                 "Expected a budget that graph reading has, but found cups.");
  expect_refused(cairn({"verson"}), 2, "did you mean version?");
}

TEST(Reading, a_second_answer_hears_who_gave_the_first_one_and_when) {
  const std::string run = asking_run();
  cairn_ok({"answer", run, "--value", R"("large")", "--by", "ann"});
  for (const Arguments& named : {Arguments{}, Arguments{"--question", "q1"}}) {
    Arguments again{"answer", run, "--value", R"("small")"};
    again.insert(again.end(), named.begin(), named.end());
    expect_refused(cairn(again), 4,
                   "Expected question q1 of run " + run + " to be open, but it was answered by ann at 2");
  }
  expect_refused(cairn({"answer", run, "--question", "q7", "--value", "1"}), 3, "there is none of that id");
  cairn_ok({"cancel", run});
  expect_refused(cairn({"answer", run, "--value", R"("small")"}), 4, "was answered by ann at 2");
  const std::string cancelled = asking_run();
  cairn_ok({"cancel", cancelled});
  expect_refused(cairn({"answer", cancelled, "--value", R"("small")"}), 4, "has ended as aborted");
}

TEST(Reading, F28_a_signal_that_no_wait_takes_is_told_by_explain) {
  const std::string run = asking_run();
  cairn_ok({"answer", run, "--value", R"("large")", "--wait"});
  EXPECT_NE(cairn_ok({"show", run}).out.find("the signal paid"), std::string::npos) << "it said: a signal";
  cairn_ok({"signal", run, "payed", "--value", "1"});
  EXPECT_NE(
      cairn_ok({"explain", run}).out.find("It waits for the signal paid; what came instead and was not taken: payed."),
      std::string::npos);
}

TEST(Reading, F28_a_signal_that_nothing_waits_for_is_said_on_stderr) {
  const std::string run = asking_run();
  EXPECT_EQ(cairn_ok({"signal", run, "payed", "--value", "1"}).err,
            "cairn: No node of graph reading waits for a signal payed; it is kept for nothing.\n");
  EXPECT_EQ(cairn_ok({"signal", run, "payed", "--value", "1", "--json"}).err, "") << "a program reads the JSON";
  EXPECT_EQ(cairn_ok({"signal", run, "paid", "--value", "1"}).err, "") << "this one is waited for";
}

TEST(Reading, a_finding_about_a_whole_file_names_no_run_and_no_event) {
  const std::string run = asking_run();
  const std::string file = (directory() / "altered.jsonl").string();
  cairn_ok({"cancel", run});
  cairn_ok({"export", run, "--out", file});
  write_file("altered.jsonl", read_file(file) + "{}\n");
  const Ran found = cairn({"verify", "--file", file});
  EXPECT_EQ(found.exit, 1);
  EXPECT_EQ(found.out.find("- 0"), std::string::npos) << found.out;
  EXPECT_EQ(found.out.find("file: "), 0u) << found.out;
}

TEST(Reading, F30_no_command_on_a_terminal_is_answered_with_the_help) {
  const Ran bare = run_program("/usr/bin/script", {"-qec", testing::cairn_program(), "/dev/null"});
  EXPECT_EQ(bare.exit, 2);
  for (const char* part : {"Many runs, or another way", "Expected a command, but found none: see `cairn --help`."})
    EXPECT_NE(bare.out.find(part), std::string::npos) << bare.out;
}

TEST(Reading, people_and_scripts_hear_that_the_embedded_database_is_made_and_started) {
  const std::string data = (directory() / "reading_data").string();
  const auto said = [&](const std::string& more) {
    return run_program("/usr/bin/script",
                       {"-qec", testing::cairn_program() + " runs --data " + data + more, "/dev/null"})
        .out;
  };
  const std::string made = "cairn: Making and starting the embedded database in " + data;
  const std::string started = "cairn: Starting the embedded database in " + data;
  EXPECT_EQ(said("").find(made), 0u);
  EXPECT_EQ(said("").find("cairn: "), std::string::npos) << "it runs";
  cairn_ok({"down", "--data", data});
  EXPECT_EQ(said("").find(started), 0u);
  cairn_ok({"down", "--data", data});
  EXPECT_EQ(said(" --json").find("cairn: "), std::string::npos) << "a program reads this";
  cairn_ok({"down", "--data", data});
  EXPECT_EQ(cairn_ok({"runs", "--data", data}).err.find(started), 0u) << "a script's log should say it as well";
  cairn_ok({"down", "--data", data});
}

}  // namespace
}  // namespace cairn::program
