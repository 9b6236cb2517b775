// Output that is longer than the screen of a terminal: what the pager gets, what is printed, and how a command ends.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>

#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

struct Screen {
  std::string variables;  // as words of a shell
  int rows = 24;
  std::string keys = {};  // that are typed
};

// A command as a terminal of 80 columns shows it to a person with these variables and no other ones of pagers.
Ran on_screen(const std::string& command, const Screen& screen) {
  const std::string shell = "stty rows " + std::to_string(screen.rows) +
                            " cols 80; exec env -u CAIRN_PAGER -u PAGER -u LESS -u LESSCHARSET TERM=xterm " +
                            screen.variables + " " + testing::cairn_program() + " " + command;
  Ran ran = run_program("/usr/bin/script", {"-qec", shell, "/dev/null"}, screen.keys);
  std::erase(ran.out, '\r');
  return ran;
}

fs::path mark_named(const std::string& name) { return directory() / (name + ".mark"); }

// A pager that prints all, and leaves what LESS is for it in a file.
std::string marking(const std::string& name) {
  return "'printf %s \"$LESS\" > " + mark_named(name).string() + "; cat'";
}

constexpr int many_rows = 5'000;
const char* const schema = "graph schema";  // long, and needs no database

std::string schema_text() { return cairn_ok({"graph", "schema"}).out; }

std::string ended_run() {
  const char* const plan = R"({"goal": "say", "sub_goals": [{"id": "a", "tool": "echo", "inputs": {"x": 1}}]})";
  return cairn_ok({"start", "plan_runner", "--input", plan, "--wait", "--json"}).json()["run"];
}

std::string faulty_graph() {
  return write_file("paged.json", R"({"name": "x", "start": "a", "nodes": {"a": {"end": "done"}, "b": {}, "c": {}}})");
}

TEST(Pager, F30_gets_what_the_screen_has_no_room_for) {
  const std::string text = schema_text();
  const Ran paged = on_screen(schema, {"CAIRN_PAGER=" + marking("long")});
  EXPECT_EQ(paged.exit, 0);
  EXPECT_EQ(paged.out, text);
  EXPECT_EQ(read_file(mark_named("long")), "FRX") << "what LESS is where it was not set";
  on_screen(schema, {"LESS=S CAIRN_PAGER=" + marking("long")});
  EXPECT_EQ(read_file(mark_named("long")), "S");
  const Ran printed = on_screen(schema, {"CAIRN_PAGER=" + marking("short"), many_rows});
  EXPECT_EQ(printed.out, text);
  EXPECT_FALSE(fs::exists(mark_named("short"))) << "there is room for all of it";
}

TEST(Pager, F30_is_the_one_of_cairn_before_the_one_of_all_programs) {
  on_screen(schema, {"PAGER=" + marking("of_all") + " CAIRN_PAGER=" + marking("of_cairn")});
  EXPECT_TRUE(fs::exists(mark_named("of_cairn")));
  EXPECT_FALSE(fs::exists(mark_named("of_all")));
  on_screen(schema, {"PAGER=" + marking("of_all")});
  EXPECT_TRUE(fs::exists(mark_named("of_all")));
}

TEST(Pager, F30_is_none_where_none_is_wanted_or_of_use) {
  const std::string text = schema_text(), mark = marking("unwanted");
  const std::string command = schema, paging = "CAIRN_PAGER=" + mark;
  for (const auto& [variables, line] : std::vector<std::pair<std::string, std::string>>{
           {"CAIRN_PAGER= PAGER=" + mark, command},
           {"CAIRN_PAGER=cat PAGER=" + mark, command},
           {"PAGER=cat", command},
           {paging, "--no-pager " + command},
           {paging, command + " --no-pager"},
           {paging + " TERM=dumb", command},
           {paging, command + " | cat"},
       })
    EXPECT_EQ(on_screen(line, {variables}).out, text) << variables << " " << line;
  on_screen("help --no-pager", {paging});
  on_screen(schema, {paging, 0});
  EXPECT_FALSE(fs::exists(mark_named("unwanted")));
}

TEST(Pager, F30_is_for_a_history_that_is_read_and_not_for_one_that_is_followed) {
  const std::string run = ended_run();
  const Ran followed = on_screen("events " + run + " --follow", {"CAIRN_PAGER=" + marking("followed"), 4});
  EXPECT_NE(followed.out.find("run_finished"), std::string::npos) << followed.out;
  EXPECT_FALSE(fs::exists(mark_named("followed")));
  EXPECT_EQ(on_screen("events " + run, {"CAIRN_PAGER=" + marking("read"), 4}).out, followed.out);
  EXPECT_TRUE(fs::exists(mark_named("read")));
}

TEST(Pager, F30_gets_the_width_and_the_colours_of_the_terminal) {
  for (const Arguments& words : {Arguments{"help"}, Arguments{"graph", "list"}}) {
    const std::string command = words.front() + (words.size() > 1 ? " " + words.back() : "");
    const Ran paged = on_screen(command, {"CAIRN_PAGER=" + marking(words.back()), 4});
    EXPECT_TRUE(fs::exists(mark_named(words.back()))) << command;
    EXPECT_EQ(paged.out, on_screen(command, {"CAIRN_PAGER=", many_rows}).out) << command;
    EXPECT_NE(paged.out, cairn_ok(words).out) << "where there is no terminal, " << command << " is wider and plain";
  }
}

TEST(Pager, F30_one_that_is_left_early_ends_the_command_with_its_own_exit_code_and_no_word) {
  const Ran left = on_screen("completion zsh", {"CAIRN_PAGER='head -n 1'"});  // more than a pipe holds
  EXPECT_EQ(left.exit, 0);
  EXPECT_EQ(left.out, "#compdef cairn\n");
  EXPECT_EQ(on_screen("completion zsh", {"CAIRN_PAGER=true"}).exit, 0) << "it reads nothing";
  const Ran history = on_screen("events " + ended_run() + " --json", {"CAIRN_PAGER=true", 4});
  EXPECT_EQ(history.exit, 0);
  EXPECT_EQ(history.out, "");
  const Ran finding = on_screen("graph check " + faulty_graph(), {"CAIRN_PAGER=true", 2});
  EXPECT_EQ(finding.exit, 1) << "a graph with faults";
  EXPECT_EQ(finding.out, "");
}

TEST(Pager, F30_a_list_is_read_no_further_once_its_pager_was_left) {
  const Json graph = {
      {"name", "paged_runs"},
      {"start", "wait"},
      {"limits", {{"steps", 3}}},
      {"nodes", {{"wait", {{"wait", {{"signal", "go"}}}, {"on", {{"fired", "end"}}}}}, {"end", {{"end", "done"}}}}}};
  cairn_ok({"graph", "add", write_file("paged_runs.json", graph.dump())});
  std::string lines;
  for (int n = 0; n < 250; ++n) lines += "{}\n";
  const std::string inputs = write_file("paged_runs.jsonl", lines);
  cairn_ok({"batch", "paged_runs", "--inputs", inputs, "--tag", "note=" + std::string(200, 'x')});
  const std::string command = "runs --graph paged_runs --json --limit 249";
  const Ran whole = on_screen(command, {"CAIRN_PAGER='sed -n 249p'"});
  EXPECT_NE(whole.out.find("cairn: 249 of 250. The next ones: "), std::string::npos) << whole.out;
  const Ran left = on_screen(command, {"CAIRN_PAGER='head -n 1'"});  // its page is more than a pipe holds
  EXPECT_EQ(left.exit, 0);
  EXPECT_TRUE(left.out.starts_with("{")) << left.out;
  EXPECT_EQ(std::count(left.out.begin(), left.out.end(), '\n'), 1) << "the list was not read to its end: " << left.out;
  cairn_ok({"cancel", "--where", "graph=paged_runs"});
}

TEST(Pager, F30_one_that_is_not_there_leaves_the_output_to_be_printed) {
  for (const std::string command : {"graph schema", "completion zsh"}) {  // less, and more than a pipe holds
    const std::size_t blank = command.find(' ');
    const std::string text = cairn_ok({command.substr(0, blank), command.substr(blank + 1)}).out;
    const Ran missing = on_screen(command, {"CAIRN_PAGER=/nowhere/pager"});
    EXPECT_EQ(missing.exit, 0);
    EXPECT_TRUE(missing.out.ends_with("\n" + text)) << missing.out.substr(0, 200);
    EXPECT_EQ(missing.out.substr(0, missing.out.find(':')), "cairn");
    EXPECT_NE(missing.out.substr(0, missing.out.find('\n')).find("/nowhere/pager"), std::string::npos) << "the shell's";
    EXPECT_EQ(on_screen(command, {"PATH=/nowhere"}).out, text) << "no word of a less that no one asked for";
  }
  const Ran finding = on_screen("graph check " + faulty_graph(), {"CAIRN_PAGER=/nowhere/pager", 2});
  EXPECT_EQ(finding.exit, 1);
  EXPECT_NE(finding.out.find("Expected the graph's limits"), std::string::npos) << finding.out;
}

TEST(Pager, F30_less_shows_a_screen_and_waits_for_its_reader) {
  if (!fs::exists("/usr/bin/less")) GTEST_SKIP() << "less is not installed.";
  const std::string text = schema_text();
  const Ran left = on_screen(schema, {"", 10, "\nq"});
  EXPECT_EQ(left.exit, 0);
  const std::size_t second = text.find('\n') + 1;
  EXPECT_NE(left.out.find(text.substr(second, text.find('\n', second) - second)), std::string::npos) << left.out;
  EXPECT_LT(left.out.size(), text.size() / 2);
}

TEST(Pager, F30_an_interrupt_is_for_the_pager_to_handle) {
  const Ran ran = on_screen(schema, {"CAIRN_PAGER='kill -INT 0; cat; echo It was shown.'"});  // as Ctrl-C does
  EXPECT_EQ(ran.exit, 0);
  EXPECT_EQ(ran.out, schema_text() + "It was shown.\n");
}

TEST(Pager, F30_stderr_comes_after_what_was_shown) {
  for (int runs = 0; runs < 2; ++runs) ended_run();
  const Ran ran = on_screen("runs --json --limit 1", {"CAIRN_PAGER='cat; sleep 0.2; echo It was shown.'", 3});
  const std::size_t shown = ran.out.find("It was shown.\n");
  ASSERT_NE(shown, std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("cairn: 1 of ", shown), shown + 14) << ran.out;
  EXPECT_EQ(ran.out.find("cairn: "), shown + 14) << ran.out;
  const Ran printed = on_screen("runs --json --limit 1", {"CAIRN_PAGER=true", many_rows});
  EXPECT_EQ(printed.out.find('{'), 0u) << printed.out;
  EXPECT_NE(printed.out.find("}\ncairn: 1 of "), std::string::npos) << printed.out;
}

}  // namespace
}  // namespace cairn::program
