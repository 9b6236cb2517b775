// Lists of runs: filters, cursors, short ids, causes, sums of bulk commands; on the command line and over HTTP.
#include <algorithm>
#include <gtest/gtest.h>
#include <regex>
#include <set>

#include "ops/service/database.hpp"
#include "tests/ops/api_client.hpp"
#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

// Fails at its only step, at an edge for it, with a reason that does not say why.
Json broken_graph(const std::string& name) {
  return {{"name", name},
          {"start", "make"},
          {"limits", {{"steps", 10}}},
          {"nodes",
           {{"make",
             {{"do", "tool.call"},
              {"with", {{"tool", "fail"}, {"inputs", {{"message", "No water."}}}}},
              {"on", {{"ok", "end"}, {"error", "none"}}}}},
            {"end", {{"end", "done"}}},
            {"none", {{"end", {{"status", "failed"}, {"reason", "No coffee today."}}}}}}}};
}

std::string broken_run(const std::string& graph, const std::string& tag) {
  const Ran ran = cairn({"start", graph, "--tag", "lists=" + tag, "--wait", "--json"});
  EXPECT_EQ(ran.exit, 1) << ran.err;
  return ran.json()["run"];
}

std::set<std::string> listed(Arguments options) {
  options.insert(options.begin(), "runs");
  options.emplace_back("--json");
  std::set<std::string> runs;
  for (const Json& line : cairn_ok(options).lines()) runs.insert(line["run"]);
  return runs;
}

TEST(Lists, F5_the_cause_stands_next_to_the_reason_and_finds_the_runs) {
  cairn_ok({"graph", "add", write_file("broken.json", broken_graph("lists_broken").dump())});
  const std::string run = broken_run("lists_broken", "cause");
  const Json row = cairn_ok({"runs", "--graph", "lists_broken", "--json"}).json();
  EXPECT_EQ(row["reason"], "No coffee today.");
  EXPECT_EQ(row["cause"]["node"], "make");
  EXPECT_EQ(row["cause"]["message"], "No water.");
  const std::string error = row["cause"]["error"];
  const std::string table = cairn_ok({"runs", "--graph", "lists_broken"}).out;
  EXPECT_NE(table.find("No coffee today. (make: " + error + ": No water.)"), std::string::npos) << table;
  EXPECT_NE(cairn_ok({"show", run}).out.find("Cause: make: " + error + ": No water."), std::string::npos);

  EXPECT_TRUE(listed({"--error", error, "--since", "1h"}).contains(run));
  EXPECT_TRUE(listed({"--where", "node=make,tool=fail,reason=COFFEE,until=2199-01-01"}).contains(run));
  EXPECT_FALSE(listed({"--where", "node=make,lasted=1h"}).contains(run));
  EXPECT_FALSE(listed({"--until", "1h"}).contains(run));
  EXPECT_TRUE(listed({"--version", row["version"].get<std::string>().substr(0, 12)}).contains(run));
  expect_refused(cairn({"runs", "--where", "eror=x"}), 2, "did you mean error?");
  expect_refused(cairn({"runs", "--since", "soon"}), 2, "Expected a duration like 90d, 12h, 30m or 10s, or a time");
  expect_refused(cairn({"runs", "--where", "tool=x,lineage=" + run}), 2, "either lineage or tool");
}

TEST(Lists, F3_a_list_says_how_many_there_are_and_goes_on_where_it_ended) {
  cairn_ok({"graph", "add", write_file("ask.json", ask_graph("lists_many"))});
  std::string inputs;
  for (int n = 0; n < 7; ++n) inputs += "{}\n";
  cairn_ok({"batch", "lists_many", "--inputs", write_file("seven.jsonl", inputs)});
  const std::string first = cairn_ok({"runs", "--graph", "lists_many", "--limit", "3"}).out;
  const std::size_t says = first.find("3 of 7. The next ones: --after ");
  ASSERT_NE(says, std::string::npos) << first;
  std::set<std::string> all = listed({"--graph", "lists_many"});
  EXPECT_EQ(all.size(), 7u);
  std::set<std::string> paged;
  std::string cursor;
  for (int page = 0; page < 3; ++page) {
    Arguments options{"--graph", "lists_many", "--limit", "3"};
    if (!cursor.empty()) options.insert(options.end(), {"--after", cursor});
    const std::set<std::string> runs = listed(options);
    EXPECT_EQ(runs.size(), page < 2 ? 3u : 1u);
    paged.insert(runs.begin(), runs.end());
    options.insert(options.begin(), "runs");
    const std::string out = cairn_ok(options).out;
    if (const std::size_t at = out.find("--after "); at != std::string::npos)
      cursor = out.substr(at + 8, out.find('\n', at) - at - 8);
  }
  EXPECT_EQ(paged, all);
  EXPECT_EQ(cairn_ok({"runs", "--graph", "lists_many"}).out.find(" of 7"), std::string::npos) << "all are listed";
  expect_refused(cairn({"runs", "--after", "yesterday"}), 2, "Expected the cursor");
}

TEST(Lists, json_lines_that_end_early_have_their_cursor_on_stderr) {
  cairn_ok({"graph", "add", write_file("ask.json", ask_graph("lists_cut"))});
  for (int n = 0; n < 3; ++n) cairn_ok({"start", "lists_cut", "--wait"});
  const Ran runs = cairn_ok({"runs", "--graph", "lists_cut", "--limit", "2", "--json"});
  EXPECT_EQ(runs.lines().size(), 2u);
  EXPECT_NE(runs.err.find("cairn: 2 of 3. The next ones: --after "), std::string::npos) << runs.err;
  const Ran questions = cairn_ok({"questions", "--graph", "lists_cut", "--limit", "2", "--json"});
  EXPECT_EQ(questions.lines().size(), 2u);
  EXPECT_NE(questions.err.find("cairn: There may be more: --after "), std::string::npos) << questions.err;
  for (const std::string list : {"runs", "questions"})
    EXPECT_EQ(cairn_ok({list, "--graph", "lists_cut", "--json"}).err, "") << "all of them are there";
}

// The list in at most nine parts of one, from the cursor on, each asked for as the one before it says.
std::vector<std::string> parts_of(const std::string& dsn, Arguments command, std::string cursor = "") {
  command.insert(command.end(), {"--limit", "1", "--dsn", dsn});
  std::vector<std::string> parts;
  while (parts.size() < 9) {
    Arguments next = command;
    if (!cursor.empty()) next.insert(next.end(), {"--after", cursor});
    const std::string out = cairn_ok(next).out;
    parts.push_back(out);
    const std::string goes_on = ". The next ones: --after ";
    const std::size_t at = out.find(goes_on);
    if (at == std::string::npos) break;
    const std::size_t says = out.rfind('\n', at) + 1;
    const std::string shown = out.substr(says, at - says);
    EXPECT_TRUE(shown.starts_with("1 of ")) << shown;
    cursor = out.substr(at + goes_on.size(), out.find('\n', at) - at - goes_on.size());
    next.push_back("--json");
    const Ran json = cairn_ok(next);
    EXPECT_EQ(json.lines().size(), 1u) << out;
    EXPECT_NE(json.err.find("cairn: " + shown + goes_on + cursor + "\n"), std::string::npos) << json.err;
  }
  return parts;
}

TEST(Lists, F3_lists_of_what_is_set_come_in_parts) {
  const std::string dsn = new_database();
  for (const std::string name : {"part_c", "part_a", "part_b"}) {
    cairn_ok({"graph", "add", write_file("part.json", ask_graph(name)), "--dsn", dsn});
    cairn_ok({"queue", "set", name, "--concurrency", "1", "--dsn", dsn});
    cairn_ok({"schedule", "add", name, "--graph", name, "--every", "1h", "--dsn", dsn});
    cairn_ok({"hook", "add", name, "--url", "https://chat.example/in", "--on", "failed", "--dsn", dsn});
    cairn_ok({"feed", "add", name, "--dsn", dsn});
    new_token(dsn, name, {"--role", "read"});
  }
  const auto expect_parts = [](const std::vector<std::string>& parts) {
    ASSERT_GE(parts.size(), 3u);
    for (std::size_t n = 0; n < 3; ++n)
      EXPECT_NE(parts[n].find("part_" + std::string(1, static_cast<char>('a' + n))), std::string::npos) << parts[n];
  };
  for (const Arguments& command : {Arguments{"queue"}, {"schedule", "list"}, {"token", "list"}, {"hook", "list"}}) {
    const std::vector<std::string> parts = parts_of(dsn, command);
    EXPECT_EQ(parts.size(), 3u) << command.front();
    expect_parts(parts);
  }
  expect_parts(parts_of(dsn, {"graph", "list"}, "part_"));
  EXPECT_EQ(parts_of(dsn, {"feed", "list"}).size(), 6u) << "a hook is a consumer, too";
  EXPECT_EQ(cairn_ok({"queue", "--after", "part_b", "--json", "--dsn", dsn}).lines().size(), 1u);
  EXPECT_EQ(cairn_ok({"queue", "--dsn", dsn}).out.find("The next"), std::string::npos) << "without --limit it is whole";
  const std::string tokens = cairn_ok({"token", "list", "--limit", "1", "--after", "part_a", "--dsn", dsn}).out;
  EXPECT_NE(tokens.find("1 of 3. The next ones: --after part_b\n"), std::string::npos) << tokens;
  EXPECT_EQ(cairn_ok({"workers", "--limit", "1", "--after", "1", "--dsn", dsn}).out, "None.\n");
}

TEST(Lists, F3_the_api_links_to_the_next_page) {
  cairn_ok({"graph", "add", write_file("ask.json", ask_graph("lists_linked"))});
  const Server server;
  for (int n = 0; n < 5; ++n) EXPECT_EQ(server.post("/api/v1/runs", {{"graph", "lists_linked"}}).status, 201);
  std::string path = "/api/v1/runs?graph=lists_linked&limit=2";
  std::set<std::string> found;
  int pages = 0;
  for (; !path.empty() && pages < 9; ++pages) {
    const Reply page = server.get(path);
    ASSERT_EQ(page.status, 200) << page.body;
    for (const Json& run : page.json()) found.insert(run["run"]);
    const std::string link = page.header("link");
    path = link.empty() ? "" : "/api/v1/runs" + link.substr(1, link.find('>') - 1);
  }
  EXPECT_EQ(found.size(), 5u);
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(server.get("/api/v1/runs?after=none").status, 400);
}

TEST(Lists, F19_a_run_is_named_by_the_letters_that_no_other_begins_with) {
  cairn_ok({"graph", "add", write_file("ask.json", ask_graph("lists_short"))});
  // Ids by key are spread evenly, so that few letters distinguish them.
  const std::string run = cairn_ok({"start", "lists_short", "--key", "a", "--json"}).json()["run"];
  const std::string other = cairn_ok({"start", "lists_short", "--key", "b", "--json"}).json()["run"];
  const std::string shorter = run.substr(0, 12);
  EXPECT_EQ(cairn_ok({"show", shorter, "--json"}).json()["run"], run);
  EXPECT_NE(cairn_ok({"events", shorter}).out.find("lists_short"), std::string::npos);
  cairn_ok({"pause", shorter, other.substr(0, 12)});
  EXPECT_EQ(cairn_ok({"show", other, "--json"}).json()["status"], "paused");
  EXPECT_EQ(cairn_ok({"runs", "--lineage", shorter, "--json"}).lines().at(0)["run"], run);
  EXPECT_EQ(cairn_ok({"runs", "--where", "lineage=" + shorter, "--json"}).lines().at(0)["run"], run);
  EXPECT_NE(cairn_ok({"resume", "--where", "lineage=" + shorter}).out.find(run), std::string::npos);
  expect_refused(cairn({"runs", "--lineage", "ffffffff-ffff"}), 3, "Expected a run whose id begins with ffffffff-ffff");
  const Server server;
  EXPECT_EQ(server.get("/api/v1/runs/" + shorter).json()["run"], run);
  expect_refused(cairn({"show", "ffffffff-ffff"}), 3, "Expected a run whose id begins with ffffffff-ffff");
  expect_refused(cairn({"show", "123"}), 3, "is none");
  expect_refused(cairn({"show", "not-an-id"}), 3, "is none");
  expect_refused(cairn({"show", "01"}), 3, "is none");  // too few letters
}

TEST(Lists, F19_letters_name_a_run_in_every_command_and_route_that_takes_one) {
  cairn_ok({"graph", "add", write_file("ask.json", ask_graph("lists_letters"))});
  const std::string run = cairn_ok({"start", "lists_letters", "--key", "l", "--wait", "--json"}).json()["run"];
  const std::string letters = run.substr(0, 12);
  const std::string at = cairn_ok({"show", letters, "--json"}).json()["seq"].dump();
  const std::string fork = cairn_ok({"fork", letters, "--at", at, "--json"}).json()["run"];
  EXPECT_EQ(cairn({"diff", letters, fork, "--json"}).json(), cairn({"diff", run, fork, "--json"}).json());
  expect_refused(cairn({"retry", letters}), 4, "to have failed, but it has not ended.");
  cairn_ok({"signal", letters, "go", "--value", "1"});
  EXPECT_NE(cairn_ok({"export", letters}).out.find(run), std::string::npos);
  {
    const Server server;
    const std::string at_letters = "/api/v1/runs/" + letters;
    EXPECT_EQ(server.post(at_letters + "/signals", {{"name", "go"}, {"value", 1}}).json()["run"], run);
    EXPECT_EQ(server.post(at_letters + "/pause").json()["status"], "paused");
    EXPECT_EQ(server.post(at_letters + "/resume").json()["run"], run);
  }
  cairn_ok({"answer", letters, "--value", R"("north")", "--wait"});
  EXPECT_EQ(cairn_ok({"show", run, "--json"}).json()["status"], "done");
  const std::string later = cairn_ok({"start", "lists_letters", "--continues", letters, "--json"}).json()["run"];
  EXPECT_NE(cairn_ok({"runs", "--lineage", letters, "--json"}).out.find(later), std::string::npos);
  EXPECT_TRUE(cairn_ok({"reset", letters, "--to", "region", "--json"}).json()["fork"].is_string());
}

TEST(Lists, F27_several_runs_of_one_beginning_are_named) {
  cairn_ok({"graph", "add", write_file("ask.json", ask_graph("lists_same"))});
  const std::string run = cairn_ok({"start", "lists_same", "--json"}).json()["run"];
  cairn_ok({"start", "lists_same", "--json"});
  const Ran ran = cairn({"show", run.substr(0, 7)});  // some minutes have these letters
  expect_refused(ran, 4, "Expected the beginning of one run's id, but with " + run.substr(0, 7) + " begin ");
}

TEST(Lists, a_graph_or_version_that_nothing_has_is_told_with_what_is_near) {
  cairn_ok({"graph", "add", write_file("ask.json", ask_graph("lists_loan"))});
  expect_refused(cairn({"runs", "--graph", "lists_laon"}), 3,
                 "there is no graph lists_laon (did you mean lists_loan?)");
  EXPECT_EQ(cairn_ok({"runs", "--graph", "lists_loan", "--json"}).out, "") << "it is known and has no runs";
  const Ran cancelled = cairn_ok({"cancel", "--where", "graph=lists_laon"});
  EXPECT_EQ(cancelled.out, "No run matches.\n");
  EXPECT_NE(cancelled.err.find("there is no graph lists_laon (did you mean lists_loan?)"), std::string::npos);
  expect_refused(cairn({"report", "--graph", "nothing_of_the_kind"}), 3, "there is no graph nothing_of_the_kind.");
  expect_refused(cairn({"runs", "--version", "00000000zz"}), 3, "none begins with 00000000zz");
  const std::string list = cairn_ok({"graph", "list"}).out;
  const std::size_t at = list.find("lists_loan ") + 11;
  const std::string shown = list.substr(list.find_first_not_of(' ', at), 12);
  EXPECT_EQ(cairn_ok({"graph", "show", shown, "--json"}).json()["name"], "lists_loan") << list;
  expect_refused(cairn({"graph", "show", "000"}), 3, "there is none");
  const Server server;
  EXPECT_EQ(server.get("/api/v1/runs?graph=lists_loan").body, "[]\n");
  for (const char* place : {"runs", "questions", "report"}) {
    const Reply unknown = server.get(std::string("/api/v1/") + place + "?graph=lists_laon");
    EXPECT_EQ(unknown.status, 404) << place;
    EXPECT_NE(unknown.body.find("did you mean lists_loan?"), std::string::npos) << unknown.body;
  }
}

TEST(Lists, graphs_say_who_and_when_and_go_back_to_an_earlier_version) {
  const auto add = [](const std::string& prompt) {
    Json graph = Json::parse(ask_graph("lists_back"));
    graph["nodes"]["region"]["ask"]["prompt"] = prompt;
    return cairn_ok({"graph", "add", write_file("back.json", graph.dump()), "--json"}).json()["version"];
  };
  const std::string first = add("First?");
  const std::string second = add("Second?");
  const auto line_of = [](const std::string& version) {
    for (const Json& line : cairn_ok({"graph", "list", "--json"}).lines())
      if (line["version"] == version) return line;
    return Json();
  };
  EXPECT_EQ(line_of(first)["current"], false);
  const Json last = line_of(second);
  EXPECT_EQ(last["current"], true);
  EXPECT_EQ(last["actor"], current_actor());
  cairn_ok({"graph", "rollback", first.substr(0, 12)});
  EXPECT_EQ(line_of(first)["current"], true);
  EXPECT_GT(line_of(first)["at"], last["at"]);
  EXPECT_EQ(line_of(second)["at"], last["at"]);
  EXPECT_EQ(cairn_ok({"graph", "show", "lists_back", "--json"}).json()["nodes"]["region"]["ask"]["prompt"], "First?");
  expect_refused(cairn({"graph", "rollback", "lists_back"}), 3, "Expected a version of a graph, but none begins with");
  EXPECT_NE(cairn_ok({"graph", "list"}).out.find("SINCE"), std::string::npos);
}

TEST(Lists, a_queue_that_was_set_by_mistake_is_listed_until_its_setting_is_taken_back) {
  const auto is_listed = [] { return cairn_ok({"queue"}).out.find("lists_dfault") != std::string::npos; };
  cairn_ok({"queue", "set", "lists_dfault", "--concurrency", "3"});
  EXPECT_TRUE(is_listed());
  cairn_ok({"queue", "set", "lists_dfault", "--concurrency", "none"});
  EXPECT_FALSE(is_listed());
}

TEST(Lists, help_is_found_behind_options_of_the_program) {
  const std::string data = (directory() / "never_made").string();
  EXPECT_EQ(cairn_ok({"--data", data, "help", "runs"}).out, cairn_ok({"runs", "--help"}).out);
  expect_refused(cairn({"--data", data, "help", "strat"}), 2, "(did you mean start?)");
}

TEST(Lists, workers_say_which_handlers_they_have) {
  const Beside worker({"work"});
  Json own;
  ASSERT_TRUE(wait_until([&] {
    for (const Json& line : cairn_ok({"workers", "--json"}).lines())
      if (line["pid"] == worker.pid()) own = line;
    return !own.is_null();
  }));
  ASSERT_TRUE(own["handlers"].is_array()) << own;
  EXPECT_NE(std::find(own["handlers"].begin(), own["handlers"].end(), "data.set"), own["handlers"].end()) << own;
}

TEST(Lists, many_runs_are_summed_up) {
  cairn_ok({"graph", "add", write_file("ask.json", ask_graph("lists_bulk"))});
  std::string inputs;
  for (int n = 0; n < 25; ++n) inputs += "{}\n";
  cairn_ok({"batch", "lists_bulk", "--inputs", write_file("many.jsonl", inputs)});
  const Arguments cancel{"cancel", "--where", "graph=lists_bulk"};
  Arguments dry = cancel;
  dry.emplace_back("--dry-run");
  const std::string would = cairn_ok(dry).out;
  EXPECT_NE(would.find("25 runs, 25 would be aborted."), std::string::npos) << would;
  const std::string out = cairn_ok(cancel).out;
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 21) << out;
  EXPECT_NE(out.find("25 runs, 25 aborted.\n"), std::string::npos) << out;
  const Ran again = cairn(cancel);
  EXPECT_NE(again.out.find("25 runs, 25 refused."), std::string::npos) << again.out;
  EXPECT_EQ(std::count(again.err.begin(), again.err.end(), '\n'), 20) << "the first ones";
}

TEST(Lists, on_a_terminal_many_runs_show_their_progress_which_the_sum_takes_away) {
  cairn_ok({"graph", "add", write_file("ask.json", ask_graph("lists_shown"))});
  std::string inputs;
  for (int n = 0; n < 25; ++n) inputs += "{\"n\": " + std::to_string(n) + "}\n";
  cairn_ok({"batch", "lists_shown", "--inputs", write_file("shown.jsonl", inputs)});
  const std::string command = testing::cairn_program() + " pause --where graph=lists_shown";
  const std::string seen = run_program("/usr/bin/script", {"-qec", command, "/dev/null"}).out;
  const std::size_t shown = seen.find("\r\033[K1 of 25");
  ASSERT_NE(shown, std::string::npos) << seen;
  const std::size_t sum = seen.find("25 runs, 25 ");
  ASSERT_NE(sum, std::string::npos) << seen;
  EXPECT_EQ(seen.substr(sum - 4, 4), "\r\033[K") << "nothing of it is left";
}

// --- waiting ---------------------------------------------------------------------------------------------------------

TEST(Waits, F14_answer_and_wait_bring_a_run_to_its_end) {
  cairn_ok({"graph", "add", write_file("ask.json", ask_graph("waits_ask"))});
  const std::string run = cairn_ok({"start", "waits_ask", "--wait", "--json"}).json()["run"];
  const Ran answered = cairn_ok({"answer", run, "--value", "\"north\"", "--wait"});
  EXPECT_NE(answered.out.find("north"), std::string::npos) << answered.out;
  EXPECT_NE(answered.out.find("\ndone, "), std::string::npos) << answered.out;
  EXPECT_EQ(cairn_ok({"wait", run, "--json"}).json()["status"], "done");
  expect_refused(cairn({"wait", nobody}), 3, nobody);
}

TEST(Waits, F14_a_wait_has_an_end_and_says_what_it_waits_for) {
  const Json graph = {
      {"name", "waits_long"},
      {"start", "pause"},
      {"limits", {{"steps", 3}}},
      {"nodes", {{"pause", {{"wait", {{"ms", 3'600'000}}}, {"on", {{"fired", "end"}}}}}, {"end", {{"end", "done"}}}}}};
  cairn_ok({"graph", "add", write_file("long.json", graph.dump())});
  const Ran late = cairn({"start", "waits_long", "--wait", "--timeout", "7s"});
  EXPECT_EQ(late.exit, 1);
  EXPECT_NE(late.err.find("cairn: Waiting. pause: "), std::string::npos) << late.err;
  EXPECT_NE(late.err.find("Expected the run to end within 7"), std::string::npos) << late.err;
  expect_refused(cairn({"start", "waits_long", "--wait", "--timeout", "soon"}), 2, "--timeout");
}

TEST(Waits, F14_what_a_run_waits_for_is_said_again_every_ten_seconds_with_how_long_that_has_been) {
  const Json graph = {
      {"name", "waits_again"},
      {"start", "pause"},
      {"limits", {{"steps", 3}}},
      {"nodes", {{"pause", {{"wait", {{"ms", 3'600'000}}}, {"on", {{"fired", "end"}}}}}, {"end", {{"end", "done"}}}}}};
  cairn_ok({"graph", "add", write_file("again.json", graph.dump())});
  const Ran late = cairn({"start", "waits_again", "--wait", "--timeout", "18s"});
  EXPECT_EQ(late.exit, 1);
  const std::size_t first = late.err.find("cairn: Waiting. pause: ");
  ASSERT_NE(first, std::string::npos) << late.err;
  const std::size_t again = late.err.find("cairn: Waiting, for 1", first + 1);
  ASSERT_NE(again, std::string::npos) << late.err;
  EXPECT_NE(late.err.find(" s so far. pause: ", again), std::string::npos) << late.err;
  EXPECT_EQ(late.err.find("cairn: Waiting", again + 1), std::string::npos) << late.err;
}

TEST(Waits, a_line_says_how_many_other_reasons_there_are) {
  const Json lacking = {{"do", "elsewhere.work"}, {"labels", {"ok"}}, {"on", {{"ok", "meet"}}}};
  const Json graph = {
      {"name", "waits_both"},
      {"start", "begin"},
      {"limits", {{"steps", 9}}},
      {"nodes",
       {{"begin", {{"do", "data.set"}, {"with", {{"set", {{"a", 1}}}}}, {"on", {{"ok", {"one", "two"}}}}}},
        {"one", lacking},
        {"two", lacking},
        {"meet", {{"do", "data.set"}, {"join", true}, {"with", {{"set", {{"b", 1}}}}}, {"on", {{"ok", "end"}}}}},
        {"end", {{"end", "done"}}}}}};
  cairn_ok({"graph", "add", write_file("both.json", graph.dump())});
  const Ran late = cairn({"start", "waits_both", "--wait", "--timeout", "2s"});
  EXPECT_EQ(late.exit, 1) << late.err;
  EXPECT_NE(late.err.find("cairn: Waiting. one: "), std::string::npos) << late.err;
  EXPECT_NE(late.err.find(" (and 1 more)\n"), std::string::npos) << late.err;
}

// The end's own sentence is the same whatever failed.
TEST(Waits, who_waits_gets_the_cause_of_a_failure) {
  cairn_ok({"graph", "add", write_file("broken.json", broken_graph("waits_broken").dump())});
  const Ran text = cairn({"start", "waits_broken", "--wait"});
  EXPECT_NE(text.out.find("No coffee today. (make: "), std::string::npos) << text.out;
  const Json json = cairn({"start", "waits_broken", "--wait", "--json"}).json();
  EXPECT_EQ(json["cause"]["message"], "No water.") << json;
  const std::string inputs = write_file("waits_broken.jsonl", "{}\n");
  const Json line = cairn({"batch", "waits_broken", "--inputs", inputs, "--wait", "--json"}).json();
  EXPECT_EQ(line["cause"]["message"], "No water.") << line;
}

TEST(Waits, a_batch_is_waited_for_no_longer_than_its_timeout) {
  const Json graph = {
      {"name", "waits_batch"},
      {"start", "pause"},
      {"limits", {{"steps", 3}}},
      {"nodes", {{"pause", {{"wait", {{"ms", 3'600'000}}}, {"on", {{"fired", "end"}}}}}, {"end", {{"end", "done"}}}}}};
  cairn_ok({"graph", "add", write_file("waits_batch.json", graph.dump())});
  const std::string inputs = write_file("waits_batch.jsonl", "{}\n{}\n");
  const Ran late =
      cairn({"batch", "waits_batch", "--inputs", inputs, "--wait", "--no-work", "--timeout", "1s", "--json"});
  EXPECT_EQ(late.exit, 1) << late.err;
  EXPECT_NE(late.err.find("Expected the batch to end within 1"), std::string::npos) << late.err;
  ASSERT_EQ(late.lines().size(), 2u) << late.out;
  for (const Json& line : late.lines()) cairn_ok({"cancel", line["run"]});
}

TEST(Waits, F14_who_answers_hears_that_no_worker_is_there) {
  cairn_ok({"graph", "add", write_file("ask.json", ask_graph("waits_alone"))});
  EXPECT_EQ(cairn_ok({"start", "waits_alone"}).err, "") << "a script needs no hint";
  const std::string own = (directory() / "waits_data").string();  // no worker of another test is there
  const Ran started = run_program("/usr/bin/script",
                                  {"-qec", testing::cairn_program() + " start plan_runner --data " + own, "/dev/null"});
  cairn_ok({"down", "--data", own});
  EXPECT_NE(started.out.find("No worker is there to go on"), std::string::npos) << started.out << started.err;
}

// --- help ------------------------------------------------------------------------------------------------------------

TEST(Help, F30_every_command_has_a_group_and_an_example) {
  const std::string all = cairn_ok({"help"}).out;
  EXPECT_EQ(all, cairn_ok({"--help"}).out);
  EXPECT_EQ(all.find("\nSubcommands:"), std::string::npos) << "each has a group";
  for (const char* command :
       {"start", "runs", "graph check", "graph test", "queue set", "token add", "archive", "up"}) {
    Arguments words{"help"};
    const std::string text = command;
    words.push_back(text.substr(0, text.find(' ')));
    if (text.find(' ') != std::string::npos) words.push_back(text.substr(text.find(' ') + 1));
    const std::string help = cairn_ok(words).out;
    EXPECT_NE(help.find("Example:\n  cairn " + text), std::string::npos) << help;
    EXPECT_EQ(help.find("Excludes"), std::string::npos) << help;
    EXPECT_EQ(help.find(":INT"), std::string::npos) << help;
  }
}

// Each option in the example is one of the command.
void expect_example(Arguments words) {
  words.insert(words.begin(), "help");
  const std::string help = cairn_ok(words).out;
  const std::size_t at = help.find("Example:\n  ");
  ASSERT_NE(at, std::string::npos) << help;
  const std::string example = help.substr(at + 11);
  static const std::regex option(" (--[a-z-]+)");
  for (std::sregex_iterator found(example.begin(), example.end(), option), end; found != end; ++found)
    EXPECT_TRUE(std::regex_search(help.substr(0, at), std::regex("  " + (*found)[1].str() + "[ \\n]"))) << example;
}

TEST(Help, F30_examples_use_options_that_exist) {
  const std::string all = cairn_ok({"help"}).out;
  static const std::regex listed("\\n  ([a-z]+) ");
  int commands = 0;
  for (std::sregex_iterator found(all.begin(), all.end(), listed), end; found != end; ++found, ++commands)
    expect_example({(*found)[1].str()});
  EXPECT_GE(commands, 37);
}

// The words after `cairn help COMMAND` that are commands of their own.
std::vector<std::string> commands_under(const std::string& command) {
  const std::string help = cairn_ok({"help", command}).out;
  const std::size_t at = help.find("\nSubcommands:");
  if (at == std::string::npos) return {};
  const std::string listed = help.substr(at, help.find("\n\n", at) - at);
  static const std::regex word("\n  ([a-z]+)\\b");
  std::vector<std::string> words;
  for (std::sregex_iterator found(listed.begin(), listed.end(), word), end; found != end; ++found)
    words.push_back((*found)[1]);
  return words;
}

TEST(Help, F30_every_command_under_another_has_an_example) {
  const std::string all = cairn_ok({"help"}).out;
  static const std::regex listed("\n  ([a-z]+) ");
  int commands = 0;
  for (std::sregex_iterator found(all.begin(), all.end(), listed), end; found != end; ++found)
    for (const std::string& word : commands_under((*found)[1])) {
      ++commands;
      expect_example({(*found)[1], word});
      EXPECT_NE(cairn_ok({"help", (*found)[1], word}).out.find("\n  cairn " + (*found)[1].str() + " " + word),
                std::string::npos);
    }
  EXPECT_GE(commands, 18) << "graph, token, queue, dataset, corpus, planners";
}

TEST(Help, F27_a_word_that_is_none_is_answered_with_the_one_that_was_meant) {
  expect_refused(cairn({"strat", "order"}), 2, "(did you mean start?)");
  expect_refused(cairn({"graph", "chek"}), 2, "(did you mean check?)");
  expect_refused(cairn({"delete", "--help"}), 2, "\"delete\" is none");
  expect_refused(cairn({"help", "strat"}), 2, "(did you mean start?)");
  expect_refused(cairn({"--json", "strat"}), 2, "(did you mean start?)");
  expect_refused(cairn({"start", "order", "--inptu", "{}"}), 2, "--inptu (did you mean --input?)");
  expect_refused(cairn({"start", "seven_nod"}), 3, "(did you mean seven_node?)");
  expect_refused(cairn({"start", "order", "--input"}), 2, "Expected JSON|@FILE|@- after --input, but found none");
}

TEST(Help, F27_what_the_command_line_lacks_or_has_too_large_is_a_sentence) {
  const auto refused = [](const Arguments& command, const std::string& says) {
    expect_refused(cairn(command), 2, says + ": see `cairn " + command.front());
  };
  refused({"wait"}, "Expected RUN, but found none");
  refused({"runs", "--limit", "0"}, "Expected --limit from 1 to 1000000, but found 0");
  refused({"runs", "--limit", "many"}, "Expected --limit from 1 to 1000000, but found many");
  refused({"events", nobody, "--progress"}, "Expected --follow with --progress, but found none");
  refused({"runs", "--dsn", "host=x", "--data", "z"},
          "Expected --dsn or --data, but found both: one excludes the other");
  refused({"graph", "show", "plan_runner", "--format", "pdf"},
          "Expected --format as one of json,mermaid,dot,svg, but found pdf");
}

TEST(Help, F27_faults_of_json_say_where_and_how_it_is_given) {
  const std::string file = write_file("input.json", "{\n  \"a\": 1,\n  b\n}\n").string();
  expect_refused(cairn({"start", "plan_runner", "--input", file}), 2, "A file is read with @" + file);
  for (const std::string missing : {"nofile.json", "inputs/none", "~/none.jsonl"})
    expect_refused(cairn({"start", "plan_runner", "--input", missing}), 2, "A file is read with @" + missing);
  expect_refused(cairn({"start", "plan_runner", "--input", "@" + file}), 2, "at line 3, column 3");
  expect_refused(cairn({"answer", nobody, "--value", "large"}), 2, "A text needs its quotes: '\"large\"'");
}

TEST(Help, F28_what_is_likely_a_slip_is_said) {
  expect_refused(cairn({"start", "plan_runner", "--key", ""}), 2, "Expected a key, but it is empty");
  expect_refused(cairn({"start", "plan_runner", "--tag", "a=1", "--tag", "a=2"}), 2, "the tag a once");
  const Ran queue = cairn_ok({"queue", "set", "dfault", "--concurrency", "3"});
  EXPECT_NE(queue.err.find("(did you mean default?)"), std::string::npos) << queue.err;
  const Server server;
  EXPECT_EQ(server.post("/api/v1/runs", {{"graph", "plan_runner"}, {"key", ""}}).status, 400);
}

}  // namespace
}  // namespace cairn::program
