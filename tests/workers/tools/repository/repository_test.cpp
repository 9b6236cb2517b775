// The five tools over a code base's history, and the rule book that reads questions about it.
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "tests/paths.hpp"
#include "tests/workers/tools/repository/repository_folder.hpp"
#include "workers/planners/seven_node/prompts.hpp"
#include "workers/planners/seven_node/question.hpp"
#include "workers/rule_book.hpp"
#include "workers/tools/repository/git_log.hpp"
#include "workers/tools/repository/history.hpp"
#include "workers/tools/repository/tools.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

const std::string samples = testing::source_dir() + "/tests/samples/gitlog/";

ToolAnswer call(const std::string& tool, const Json& inputs) {
  for (const ToolSpec& spec : repository_tools({"/"})) {
    ToolCall request;
    request.tool = tool;
    request.inputs = inputs;
    if (spec.name == tool) return std::get<NativeTool>(spec.does)(request);
  }
  return Failure{"not_found", "no such tool", false, {}};
}

Json answer(const std::string& tool, const Json& inputs) {
  ToolAnswer said = call(tool, inputs);
  if (!said) {
    ADD_FAILURE() << tool << ": " << said.error().message;
    return Json::object();
  }
  return *std::move(said);
}

std::string refusal(const std::string& tool, const Json& inputs) {
  const ToolAnswer said = call(tool, inputs);
  if (said) return "no failure";
  EXPECT_FALSE(said.error().retryable) << said.error().message;
  return said.error().message;
}

class Repository : public testing::RepositoryFolder {
 protected:
  void commit(const std::string& author) {
    git("add -A");
    git("commit --no-gpg-sign -m change --author='" + author + " <" + author + "@example.org>'");
  }
};

// --- the numstat file ------------------------------------------------------------------------------------------------
std::vector<std::vector<std::string>> rows_of(const std::string& file) {
  std::ifstream in(file);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string>& row = rows.emplace_back();
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, '\t');) row.push_back(field);
  }
  return rows;
}

TEST(RepositoryTools, every_directory_is_right_by_the_expected_table) {
  const auto rows = rows_of(samples + "EXPECTED.tsv");
  ASSERT_GT(rows.size(), 1U);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const std::vector<std::string>& row = rows[i];
    for (const std::string& place : {row[0], row[0].substr(row[0].rfind('/') + 1)}) {
      const Json inputs = {{"repository", samples + "medusa-numstat.tsv"}, {"path", place}};
      const Json owners = answer("owners", inputs);
      EXPECT_EQ(owners["path"], row[0]);
      EXPECT_EQ(owners["commits"], std::stoi(row[1])) << place;
      EXPECT_EQ(owners["authors"], std::stoi(row[2])) << place;
      EXPECT_EQ(owners["owner"], row[3]) << place;
      EXPECT_EQ(owners["owner_commits"], std::stoi(row[4])) << place;
      EXPECT_EQ(owners["last_commit_date"], row[6]) << place;
      EXPECT_EQ(answer("bus_factor", inputs)["bus_factor"], std::stoi(row[5])) << place;
    }
  }
}

constexpr const char* small_history =
    "c4\tann\t2024-03-04T10:00:00Z\t1\t1\tcore/a.c\n"
    "c4\tann\t2024-03-04T10:00:00Z\t2\t0\tcore/b.c\n"
    "c3\tbob\t2024-03-03T10:00:00Z\t5\t0\tcore/a.c\n"
    "c3\tbob\t2024-03-03T10:00:00Z\t-\t-\tdocs/x.png\n"
    "c2\tbob\t2024-03-05T10:00:00Z\t1\t0\tcore-extra/a.c\n"
    "c1\tann\t2024-03-01T10:00:00Z\t9\t0\tcore/a.c\n"
    "c1\tann\t2024-03-01T10:00:00Z\t9\t0\tcore/b.c\n";

TEST_F(Repository, a_directory_is_not_a_prefix_of_letters) {
  const Json owners = answer("owners", {{"repository", numstat(small_history)}, {"path", "core"}});
  EXPECT_EQ(owners["commits"], 3);
  EXPECT_EQ(owners["owner"], "ann");
  EXPECT_EQ(owners["last_commit_date"], "2024-03-04");
}

TEST_F(Repository, hotspots_count_commits_then_lines) {
  const Json files = answer("hotspots", {{"repository", numstat(small_history)}, {"path", "core"}})["files"];
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0], (Json{{"path", "core/a.c"}, {"commits", 3}, {"authors", 2}, {"added", 15}, {"deleted", 1}}));
  EXPECT_EQ(files[1]["path"], "core/b.c");
}

TEST_F(Repository, co_changes_reach_beyond_the_directory) {
  const Json found = answer("co_changes", {{"repository", numstat(small_history)}, {"path", "core"}});
  ASSERT_EQ(found["pairs"].size(), 2U);
  EXPECT_EQ(found["pairs"][0], (Json{{"path", "core/a.c"}, {"with", "core/b.c"}, {"together", 2}, {"commits", 3}}));
  EXPECT_EQ(found["pairs"][1]["with"], "docs/x.png");
  EXPECT_EQ(found["left_out"], 0);
}

TEST_F(Repository, co_changes_leave_out_commits_of_too_many_files) {
  std::string rows;
  for (std::size_t i = 0; i <= co_change_files_max; ++i) {
    rows += "c1\tann\t2024-03-01T10:00:00Z\t1\t0\tcore/" + std::to_string(i) + ".c\n";
  }
  const Json found = answer("co_changes", {{"repository", numstat(rows)}, {"path", ""}});
  EXPECT_EQ(found["left_out"], 1);
  EXPECT_TRUE(found["pairs"].empty());
}

TEST_F(Repository, recent_changes_go_by_time_and_stop_at_the_limit) {
  const Json changes = answer("recent_changes", {{"repository", numstat(small_history)}, {"limit", 2}})["changes"];
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0]["commit"], "c2");
  EXPECT_EQ(changes[1]["commit"], "c4");
  EXPECT_EQ(changes[1]["files"], 2);
  EXPECT_EQ(changes[1]["added"], 3);
}

TEST_F(Repository, of_authors_with_equally_many_commits_the_later_one_owns) {
  const std::string rows =
      "c2\tzoe\t2024-03-02T10:00:00Z\t1\t0\tcore/a.c\nc1\tann\t2024-03-01T10:00:00Z\t1\t0\tcore/a.c\n";
  const Json inputs = {{"repository", numstat(rows)}, {"path", "core"}};
  EXPECT_EQ(answer("owners", inputs)["owner"], "zoe");
  EXPECT_EQ(answer("bus_factor", inputs)["bus_factor"], 1);
}

TEST_F(Repository, a_rename_counts_for_both_of_its_paths) {
  const std::string file =
      numstat("c2\tzoe\t2024-03-02T10:00:00Z\t2\t1\t{old => new}/a.c\nc1\tann\t2024-03-01T10:00:00Z\t1\t0\told/a.c\n");
  EXPECT_EQ(answer("owners", {{"repository", file}, {"path", "old"}})["commits"], 2);
  EXPECT_EQ(answer("owners", {{"repository", file}, {"path", "new"}})["owner"], "zoe");
}

TEST(RenamedPaths, come_in_four_forms) {
  using Paths = std::vector<std::string>;
  EXPECT_EQ(renamed_paths("a/b.c"), (Paths{"a/b.c"}));
  EXPECT_EQ(renamed_paths("a => b"), (Paths{"a", "b"}));
  EXPECT_EQ(renamed_paths("a/{b => c}/d"), (Paths{"a/b/d", "a/c/d"}));
  EXPECT_EQ(renamed_paths("a/{b => }/d"), (Paths{"a/b/d", "a/d"}));
  EXPECT_EQ(renamed_paths("a/{ => c}/d"), (Paths{"a/d", "a/c/d"}));
  EXPECT_EQ(renamed_paths("{a => b}.c"), (Paths{"a.c", "b.c"}));
}

TEST(FindPlace, prefers_the_shallowest_directory_and_then_files) {
  const std::vector<std::string> paths = {"tests/engine/x.cpp", "engine/decide.cpp", "a/price-list/y",
                                          "a/b/decide.cpp"};
  EXPECT_EQ(find_place(paths, "engine"), "engine");
  EXPECT_EQ(find_place(paths, "ENGINE"), "engine");
  EXPECT_EQ(find_place(paths, "tests/engine"), "tests/engine");
  EXPECT_EQ(find_place(paths, "price list"), "a/price-list");
  EXPECT_EQ(find_place(paths, "decide.cpp"), "engine/decide.cpp");
  EXPECT_EQ(find_place(paths, "eng"), "");
}

TEST_F(Repository, F11_bad_input_is_a_sentence) {
  const std::string file = numstat(small_history);
  EXPECT_EQ(refusal("owners", {{"repository", file}, {"path", "payment"}}),
            "Expected a directory or file named \"payment\" in the repository " + file + ", but it has none.");
  EXPECT_EQ(
      refusal("owners", {{"repository", "/nowhere/at/all"}}),
      "Expected a git repository or a numstat file at /nowhere/at/all, but there is neither a directory nor a file.");
  EXPECT_EQ(refusal("owners", Json::object()), "Expected the path of a repository, but got \"\".");
  EXPECT_EQ(refusal("owners", {{"repository", "--upload-pack=x"}}),
            "Expected an absolute path of a repository, because each worker stands in a directory of its own, but it "
            "is --upload-pack=x.");
  EXPECT_NE(refusal("owners", {{"repository", "."}}).find("Expected an absolute path"), std::string::npos);
  EXPECT_EQ(refusal("owners", {{"repository", 7}}), "Expected the input `repository` to be a string, but it is 7.");
  EXPECT_EQ(refusal("owners", {{"repository", file}, {"limit", 0}}),
            "Expected the input `limit` to be 1 to 100, but it is 0.");
  EXPECT_EQ(refusal("owners", {{"repository", write("x.txt", "hello\n")}}),
            "Expected row 1 of the numstat file to name the columns commit author date added deleted path, but it does "
            "not.");
  EXPECT_EQ(refusal("owners", {{"repository", numstat("c\ta\t2024-03-01T10:00:00Z\t1\t0\n")}}),
            "Expected row 2 of the numstat file to have 6 fields with tabs between, but it has 5.");
  EXPECT_EQ(refusal("owners", {{"repository", numstat("c\ta\tsoon\t1\t0\tx\n")}}),
            "Expected row 2 of the numstat file to have a date, but it has soon.");
  EXPECT_EQ(refusal("owners", {{"repository", numstat("c\ta\t2024-03-01T10:00:00Z\tone\t0\tx\n")}}),
            "Expected row 2 of the numstat file to count lines, but it does not.");
  EXPECT_NE(refusal("owners", {{"repository", root_.string()}}).find("not a git repository"), std::string::npos);
}

// --- git -------------------------------------------------------------------------------------------------------------
TEST_F(Repository, git_history_counts_authors_renames_and_no_merges) {
  git("init -b main");
  write("core/a.c", "1\n2\n3\n4\n5\n");
  write("docs/odd\tname.md", "x\n");
  commit("Ann");
  git("mv core/a.c core/b.c");
  commit("Bob");
  git("checkout -b side");
  write("docs/y.md", "y\n");
  commit("Bob");
  git("checkout main");
  write("core/b.c", "1\n2\n3\n4\n5\n6\n");
  commit("Bob");
  git("merge --no-ff --no-gpg-sign side -m merge");
  const Json inputs = {{"repository", root_.string()}, {"path", "core"}};
  const Json owners = answer("owners", inputs);
  EXPECT_EQ(owners["commits"], 3);
  EXPECT_EQ(owners["owner"], "Bob");
  EXPECT_EQ(answer("owners", {{"repository", root_.string()}})["commits"], 4);
  EXPECT_EQ(answer("hotspots", {{"repository", root_.string()}, {"path", "docs"}})["files"].size(), 2U);
  EXPECT_EQ(answer("recent_changes", inputs)["changes"][0]["subject"], "change");
  EXPECT_EQ(answer("owners", {{"repository", (root_ / "docs").string()}, {"path", "core"}})["commits"], 3)
      << "paths are from the top, wherever in the repository one points";
  EXPECT_NE(refusal("owners", {{"repository", root_.string()}, {"path", "*"}}).find("named \"*\""), std::string::npos);
}

TEST_F(Repository, a_repository_cannot_make_git_run_its_programs) {
  git("init -b main");
  const std::string trap = write("trap.sh", "#!/bin/sh\ntouch " + (root_ / "sprung").string() + "\n");
  fs::permissions(trap, fs::perms::owner_all);
  write("core/a.c", "1\n");
  write(".gitattributes", "*.c diff=trap\n");
  commit("Ann");
  git("config diff.external " + trap);
  git("config diff.trap.textconv " + trap);
  git("config diff.trap.command " + trap);
  git("config core.fsmonitor " + trap);
  git("config core.pager " + trap);
  git("config gpg.program " + trap);
  git("config log.showSignature true");
  EXPECT_EQ(answer("owners", {{"repository", root_.string()}, {"path", "core"}})["owner"], "Ann");
  EXPECT_EQ(answer("co_changes", {{"repository", root_.string()}, {"path", "core"}})["left_out"], 0);
  EXPECT_FALSE(fs::exists(root_ / "sprung"));
}

// H23
TEST_F(Repository, H23_a_repository_cannot_name_files_that_git_reads_nor_change_what_is_read) {
  git("init -b main");
  write("core/a.c", "1\n");
  write("core/b.c", "1\n");
  commit("Ann");
  const Json before = answer("co_changes", {{"repository", root_.string()}, {"path", "core/a.c"}});
  for (const char* setting : {"mailmap.file /dev/zero", "log.follow true", "core.attributesFile /dev/zero",
                              "diff.orderFile /dev/zero", "log.showRoot false", "diff.relative true"})
    git(std::string("config ") + setting);
  EXPECT_EQ(answer("co_changes", {{"repository", root_.string()}, {"path", "core/a.c"}}), before);
  EXPECT_EQ(answer("owners", {{"repository", root_.string()}, {"path", "core"}})["owner"], "Ann");
}

// The first call waits for its configuration until this lets it go, the second one for ever for the files of the
// commit.
class LatePipe {
 public:
  LatePipe(std::string path, std::chrono::milliseconds after)
      : feeder_([path = std::move(path), after](const std::stop_token& stopped) {
          for (const auto began = std::chrono::steady_clock::now(); !stopped.stop_requested();
               std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
            if (std::chrono::steady_clock::now() - began < after) continue;
            if (const int pipe = ::open(path.c_str(), O_WRONLY | O_NONBLOCK); pipe >= 0) ::close(pipe);
          }
        }) {}

 private:
  std::jthread feeder_;
};

TEST_F(Repository, H23_both_calls_of_git_share_the_time_of_the_tool) {
  using std::chrono::milliseconds;
  git("init -b main");
  write("a.c", "1\n");
  commit("Ann");
  git("rev-parse HEAD^{tree} >'" + (top_ / "tree").string() + "'; test -s '" + (top_ / "tree").string() + "'");
  std::string tree;
  std::ifstream(top_ / "tree") >> tree;
  const fs::path object = root_ / ".git/objects" / tree.substr(0, 2) / tree.substr(2);
  ASSERT_TRUE(fs::remove(object));
  const fs::path waits = top_ / "waits";
  for (const fs::path& pipe : {object, waits}) ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  git("config include.path " + waits.string());
  HistoryQuery query{root_.string(), "a.c", FilesOf::path, 3'000};
  const LatePipe late(waits.string(), milliseconds(2'000));
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(read_history(query).error().code, Code::unavailable);
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_GT(took, milliseconds(2'900));
  EXPECT_LT(took, milliseconds(4'700)) << "the second call had three seconds of its own";
}

TEST_F(Repository, H4_only_repositories_that_the_worker_allows_are_read) {
  const std::string inside = write("in/numstat.tsv", "commit\tauthor\tdate\tadded\tdeleted\tpath\n");
  const std::string outside = write("out/numstat.tsv", "commit\tauthor\tdate\tadded\tdeleted\tpath\n");
  fs::create_symlink(root_ / "out", root_ / "in" / "link");
  const auto refused = [this](const std::string& path) {
    ToolCall request;
    request.inputs = {{"repository", path}};
    const auto tools = repository_tools({(root_ / "in").string()});
    const ToolAnswer said = std::get<NativeTool>(tools.front().does)(request);
    return !said && said.error().error == "refused";
  };
  EXPECT_FALSE(refused(inside));
  EXPECT_FALSE(refused((root_ / "in/none").string())) << "it may be looked for";
  for (const std::string& path : {outside, (root_ / "in/../out").string(), (root_ / "in/link").string(), root_.string(),
                                  std::string("/etc/passwd")})
    EXPECT_TRUE(refused(path)) << path;
}

TEST_F(Repository, a_repository_without_commits_is_a_sentence) {
  git("init -b main");
  EXPECT_NE(refusal("owners", {{"repository", root_.string()}}).find("but git says: "), std::string::npos);
}

TEST(GitLog, that_does_not_begin_with_a_commit_is_refused) {
  const Result<std::vector<CodeCommit>> commits = parse_git_log(std::string_view("1\t2\tx\0", 6));
  ASSERT_FALSE(commits.ok());
  EXPECT_EQ(commits.error().message, "Expected a git log to begin with a commit, but it does not.");
}

// --- reading questions -----------------------------------------------------------------------------------------------
using Names = std::vector<std::string>;

TEST(RepositoryQuestion, kinds_and_entities_come_from_its_words) {
  struct Case {
    std::string text;
    Names kinds;
    Names entities;
  };
  const std::vector<Case> cases = {
      {"Who owns pricing AND tax?", {"ownership"}, {"pricing", "tax"}},
      {"who owns engine, storage and the workers?", {"ownership"}, {"engine", "storage", "workers"}},
      {"Who maintains packages/modules/tax?", {"ownership"}, {"packages/modules/tax"}},
      {"What is the bus factor of region?", {"risk"}, {"region"}},
      {"What changed recently in the pricing module?", {"recent_changes"}, {"pricing"}},
      {"Which files are the hotspots in tax?", {"hotspots"}, {"tax"}},
      {"Which files of pricing are changed most often?", {"hotspots"}, {"pricing"}},
      {"Which files change together in `price list`?", {"coupling"}, {"price list"}},
      {"Who is the expert for price list?", {"ownership"}, {"price list"}},
      {"Who owns pricing and what is its bus factor?", {"ownership", "risk"}, {"pricing"}},
      {"Who should review changes to tax?", {"ownership"}, {"tax"}},
      {"Who owns pricing, Pricing?", {"ownership"}, {"pricing"}},
      {"What is the bus factor of this repository?", {"risk"}, {}},
      {"pricing", {}, {"pricing"}}};
  for (const Case& one : cases) {
    const RepositoryQuestion question = read_question(one.text);
    EXPECT_EQ(question.kinds, one.kinds) << one.text;
    EXPECT_EQ(question.entities, one.entities) << one.text;
    EXPECT_TRUE(question.is_on_topic) << one.text;
  }
}

TEST(RepositoryQuestion, of_the_weather_is_off_topic) {
  for (const char* text : {"What is the weather in Tokyo?", "Tell me a joke", "What's the latest news?", "", "?",
                           "What is the capital of France?", "Write a poem about autumn leaves falling"}) {
    EXPECT_FALSE(read_question(text).is_on_topic) << text;
  }
}

TEST(RepositoryQuestion, a_follow_up_takes_what_it_leaves_out_from_before) {
  EXPECT_EQ(read_question("The owners, please", {"pricing"}).entities, (Names{"pricing"}));
  EXPECT_EQ(read_question("And tax?", {"Who owns pricing?"}).kinds, (Names{"ownership"}));
  EXPECT_TRUE(read_question("What about tax?", {"Who owns pricing?"}).is_on_topic);
  EXPECT_FALSE(read_question("What about the weather?", {"Who owns pricing?"}).is_on_topic);
  EXPECT_TRUE(read_question("Who owns the repository?", {"Who owns pricing?"}).entities.empty());
}

// --- the rule book ---------------------------------------------------------------------------------------------------
Json ruled(SevenNodeRole role, const Json& data) {
  ModelRequest request;
  request.schema_name = to_string(role);
  request.messages = prompt_messages(role, {{"system", "context"}}, data, "");
  return answer_by_rules(request).reply.value;
}

TEST(RuleBook, plans_one_call_for_each_entity_and_kind) {
  const Json tools = {{"owners", "x"}, {"bus_factor", "x"}};
  const Json plan = ruled(SevenNodeRole::query_planner, {{"question", "Who owns pricing AND tax?"},
                                                         {"intent", {{"entities", {"pricing", "tax", "x"}}}},
                                                         {"tools", tools}});
  ASSERT_EQ(plan["calls"].size(), 3U);
  EXPECT_EQ(plan["calls"][1]["tool"], "owners");
  EXPECT_EQ(plan["calls"][1]["inputs"], (Json{{"path", "tax"}}));
}

TEST(RuleBook, reflects_complete_only_with_a_result_for_each_entity) {
  Json data = {{"intent", {{"entities", {"pricing"}}}},
               {"results", {{{"status", "ok"}, {"inputs", {{"path", "pricing"}}}}}}};
  EXPECT_EQ(ruled(SevenNodeRole::reflector, data)["verdict"], "complete");
  data["results"][0]["status"] = "error";
  EXPECT_EQ(ruled(SevenNodeRole::reflector, data)["verdict"], "error");
  data["results"] = Json::array();
  EXPECT_EQ(ruled(SevenNodeRole::reflector, data)["verdict"], "error");
}

TEST(RuleBook, explains_the_outputs_of_each_tool_and_says_what_it_is) {
  const std::string file = samples + "medusa-numstat.tsv";
  for (const char* tool : {"owners", "bus_factor", "recent_changes", "hotspots", "co_changes"}) {
    const Json outputs = answer(tool, {{"repository", file}, {"path", "tax"}});
    const Json row = {{"status", "ok"}, {"tool", tool}, {"inputs", {{"path", "tax"}}}, {"outputs", outputs}};
    const Json data = {{"outcome", "answered"}, {"results", Json::array({row})}};
    const std::string text = ruled(SevenNodeRole::response_generator, data)["answer"].get<std::string>();
    EXPECT_EQ(text.find("cannot explain"), std::string::npos) << text;
    EXPECT_NE(text.find("tax (packages/modules/tax)"), std::string::npos) << text;
    EXPECT_NE(text.find("not by a language model"), std::string::npos) << text;
  }
}

TEST(RuleBook, admits_outputs_that_it_cannot_explain) {
  const Json row = {{"status", "ok"}, {"tool", "owners"}, {"inputs", {{"path", "tax"}}}, {"outputs", {{"a", 1}}}};
  const Json data = {{"outcome", "answered"}, {"results", Json::array({row})}};
  const std::string text = ruled(SevenNodeRole::response_generator, data)["answer"].get<std::string>();
  EXPECT_NE(text.find("The tool owners answered something that the rule book cannot explain"), std::string::npos)
      << text;
}

TEST(RuleBook, refuses_prompts_of_others) {
  ModelRequest request;
  request.node = "turn";
  request.messages = {{{"role", "user"}, {"content", "Hello"}}};
  const ModelAnswer answer = answer_by_rules(request);
  ASSERT_TRUE(answer.failure);
  EXPECT_EQ(
      answer.failure->message,
      "Expected a language model to answer node turn, but none is configured and the rule book does not know such "
      "prompts.");
}

}  // namespace
}  // namespace cairn
