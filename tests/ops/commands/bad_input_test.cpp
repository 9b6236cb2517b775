// Bad input at every door of the program: one sentence, the right exit code, and nothing half-written left behind.
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>

#include "storage/chain.hpp"
#include "storage/postgres/connection.hpp"
#include "storage/postgres/dsn.hpp"
#include "tests/ops/program.hpp"
#include "tests/ops/small_disk.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

// A text that no door takes, and what its sentence says.
struct Bad {
  const char* name;
  std::string text;
  const char* says;
};

const std::vector<Bad>& bad_texts() {
  static const std::vector<Bad> texts = {
      {"50_mb", R"({"a": ")" + std::string(50u << 20u, 'x') + "\"}", "at most 16777216 bytes, but it has"},
      {"depth_10000", R"({"a": )" + repeated("[", 10'000) + repeated("]", 10'000) + "}", "more than 200 levels"},
      {"invalid_utf8", "{\"a\": \"\xff\xfe\"}", "ill-formed UTF-8"},
      {"overlong_utf8", "{\"a\": \"\xc0\x80\"}", "ill-formed UTF-8"},
      {"nul_byte", std::string("{\"a\": \"x\0y\"}", 12), "the character NUL"},
      {"nul_escaped", R"({"a": "x\u0000y"})", "the character NUL"},
      {"lone_surrogate", R"({"a": "\ud800"})", "surrogate"},
      {"beyond_64_bits", R"({"a": 18446744073709551616})", "beyond 64 bits"},
      {"below_64_bits", R"({"a": -9223372036854775809})", "beyond 64 bits"},
      {"beyond_doubles", R"({"a": 1e400})", "number overflow"},
      {"not_a_number", R"({"a": NaN})", "invalid literal"},
      {"key_twice", R"({"a": 1, "a": 2})", "twice in one object"},
      {"key_twice_escaped", R"({"a": 1, "\u0061": 2})", "twice in one object"},
      {"cut_short", R"({"a": )", "end of input"},
      {"empty", "", "end of input"},
      {"more_behind", R"({"a": 1} x)", "invalid literal"},
  };
  return texts;
}

std::string file_of(const Bad& bad) { return write_file(std::string("bad_") + bad.name + ".json", bad.text); }

// The number of rows; a refusal must not change it.
struct Count {
  std::size_t runs = 0;
  std::size_t graphs = 0;
  bool operator==(const Count&) const = default;
};

Count count() {
  return {cairn_ok({"runs", "--limit", "1000000", "--json"}).lines().size(),
          cairn_ok({"graph", "list", "--json"}).lines().size()};
}

std::string run_that_asks() {
  cairn_ok({"graph", "add", write_file("asking.json", ask_graph("asking"))});
  return cairn_ok({"start", "asking", "--json"}).json()["run"];
}

void set_or_unset(const char* name, const std::string& value) {
  value.empty() ? unsetenv(name) : setenv(name, value.c_str(), 1);
}

// A variable of the environment for as long as this lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set_or_unset(name, value);
  }
  ~Variable() { set_or_unset(name_, before_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
};

// --- JSON from outside -----------------------------------------------------------------------------------------------

TEST(BadInput, no_door_for_json_takes_what_is_none_of_ours) {
  const std::string run = run_that_asks();
  const Count before = count();
  for (const Bad& bad : bad_texts()) {
    SCOPED_TRACE(bad.name);
    const std::string file = file_of(bad);
    expect_refused(cairn({"start", "asking", "--input", "@" + file}), 2, bad.says);
    expect_refused(cairn({"start", "asking", "--input", "@-"}, bad.text), 2, bad.says);
    expect_refused(cairn({"answer", run, "--value", "@" + file}), 2, bad.says);
    expect_refused(cairn({"signal", run, "go", "--value", "@" + file}), 2, bad.says);
    expect_refused(cairn({"graph", "check", file}), 2, bad.says);
    expect_refused(cairn({"graph", "add", file}), 2, bad.says);
    expect_refused(cairn({"work", "--tools", file}), 2, bad.says);
    const Variable script("CAIRN_MODEL_SCRIPT", file);
    expect_refused(cairn({"start", "asking"}), 2, bad.says);
  }
  EXPECT_EQ(count(), before);
  EXPECT_EQ(cairn_ok({"events", run, "--json"}).lines().size(), 2u);
  cairn_ok({"cancel", run});
}

TEST(BadInput, a_fault_in_a_file_of_one_line_has_a_line_and_a_column) {
  expect_refused(cairn({"graph", "check", write_file("one_line.json", R"({"a": NaN})").string()}), 2,
                 "at line 1, column 7");
  expect_refused(cairn({"graph", "check", write_file("blank.json", " \n").string()}), 2, "blank.json is empty.");
}

TEST(BadInput, an_option_is_no_directory_of_the_database) {
  expect_refused(cairn({"runs", "--data", "--json"}), 2, "Expected a directory after --data, but found the option");
  EXPECT_FALSE(std::filesystem::exists("--json"));
}

TEST(BadInput, a_batch_takes_no_bad_line_and_starts_none_of_the_good_ones) {
  const Count before = count();
  for (const Bad& bad : bad_texts()) {
    if (std::string_view(bad.name) == "empty") continue;  // an empty line says nothing
    SCOPED_TRACE(bad.name);
    const std::string file = write_file(std::string("lines_") + bad.name + ".jsonl", "{}\n" + bad.text + "\n{}\n");
    const Ran ran = cairn({"batch", "plan_runner", "--inputs", file});
    expect_refused(ran, 2, bad.says);
    EXPECT_NE(ran.err.find("line 2"), std::string::npos) << ran.err;
  }
  EXPECT_EQ(count(), before);
}

// Integers of 64 bits and doubles come back as they went in; -0 is the integer 0, -0.0 the double it is.
TEST(BadInput, values_at_the_edges_are_kept_as_they_are) {
  cairn_ok({"graph", "add", write_file("asking.json", ask_graph("asking"))});
  const std::string kept =
      R"({"a":9223372036854775807,"b":-9223372036854775808,"c":18446744073709551615,"d":-0.0,"e":5e-324,)"
      R"("f":1.7976931348623157e308,"g":"\u00e9\ud83d\ude00","h":0.1,"i":"\u2028\u007f"})";
  const Json started =
      cairn_ok({"start", "asking", "--input", kept, "--options", R"({"autonomy":"full"})", "--wait", "--json"}).json();
  const Json channels = cairn_ok({"show", started["run"], "--json"}).json()["channels"];
  const Json expected = Json::parse(kept);
  for (const auto& [name, value] : expected.items()) EXPECT_EQ(channels[name], value) << name;
  EXPECT_EQ(channels["d"].dump(), "-0.0");
  const std::string zero = cairn_ok({"start", "asking", "--input", R"({"a": -0})", "--json"}).json()["run"];
  EXPECT_EQ(cairn_ok({"show", zero, "--json"}).json()["channels"]["a"].dump(), "0");
  cairn_ok({"cancel", zero});
}

// --- files -----------------------------------------------------------------------------------------------------------

// A directory in a file's place ended the program by an exception, or with "it broke".
TEST(BadInput, what_is_no_file_to_read_is_told_at_each_door) {
  const std::string folder = directory() / "a_folder";
  fs::create_directory(folder);
  const std::string none = directory() / "no_such_file";
  for (const std::string& path : {folder, none}) {
    expect_refused(cairn({"start", "plan_runner", "--input", "@" + path}), 2, path);
    expect_refused(cairn({"answer", nobody, "--value", "@" + path}), 2, path);
    expect_refused(cairn({"graph", "check", path}), 2, path);
    expect_refused(cairn({"graph", "add", path}), 2, path);
    expect_refused(cairn({"batch", "plan_runner", "--inputs", path}), 2, path);
    expect_refused(cairn({"work", "--tools", path}), 2, path);
    const Variable tools("CAIRN_TOOLS", path);
    expect_refused(cairn({"start", "plan_runner"}), 2, path);
    const Variable script("CAIRN_MODEL_SCRIPT", path);
    expect_refused(cairn({"work"}), 2, path);
  }
}

// Each was read whole, whatever its size, before it was refused.
TEST(BadInput, an_endless_file_is_not_read_to_its_end) {
  expect_refused(cairn({"start", "plan_runner", "--input", "@/dev/zero"}), 2, "but it has more");
  expect_refused(cairn({"batch", "plan_runner", "--inputs", "/dev/zero"}), 2, "but it has more");
  expect_refused(cairn({"work", "--tools", "/dev/zero"}), 2, "but it has more");
}

// The runs had been started and executed when the results turned out to go nowhere.
TEST(BadInput, a_batch_whose_results_cannot_be_written_starts_nothing) {
  const Count before = count();
  const std::string inputs = write_file("good.jsonl", R"({"goal": "g", "sub_goals": []})");
  const std::string folder = directory() / "a_folder";
  fs::create_directory(folder);
  expect_refused(cairn({"batch", "plan_runner", "--inputs", inputs, "--out", folder, "--wait"}), 2, folder);
  expect_refused(cairn({"batch", "plan_runner", "--inputs", inputs, "--out", folder + "/none/out"}), 2, "none/out");
  expect_refused(cairn({"batch", "plan_runner", "--inputs", inputs, "--out", ""}), 2, "cannot be written");
  EXPECT_EQ(count(), before);
}

// --- arguments -------------------------------------------------------------------------------------------------------

// Some of them broke the command, one was written into an event.
TEST(BadInput, arguments_that_are_not_utf8_are_usage) {
  const std::string run = run_that_asks();
  const Count before = count();
  const std::string bad = "a\xff";
  for (const Arguments& arguments :
       {Arguments{"start", bad}, Arguments{"start", "asking", "--tag", "k=" + bad},
        Arguments{"start", "asking", "--key", bad}, Arguments{"cancel", run, "--reason", bad},
        Arguments{"answer", run, "--value", "\"x\"", "--by", bad}, Arguments{"signal", run, bad, "--value", "1"},
        Arguments{"show", bad}, Arguments{"runs", "--graph", bad}, Arguments{"runs", "--where", "tag.a=" + bad}})
    expect_refused(cairn(arguments), 2, "UTF-8");
  EXPECT_EQ(count(), before);
  EXPECT_EQ(cairn_ok({"events", run, "--json"}).lines().size(), 2u);
  cairn_ok({"cancel", run});
}

TEST(BadInput, an_option_for_a_place_must_name_one) {
  expect_refused(cairn({"runs", "--dsn", ""}), 2, "--dsn");
  expect_refused(cairn({"runs", "--data", ""}), 2, "--data");
  expect_refused(cairn({"work", "--tools", ""}), 2, "--tools");
  expect_refused(cairn({"runs", "--dsn", "host=x", "--data", "y"}), 2, "excludes");
}

TEST(BadInput, a_sentence_stays_short_whatever_it_is_about) {
  const Ran ran = cairn({"start", std::string(100'000, 'x')});
  expect_refused(ran, 3, "xxx");
  EXPECT_LT(ran.err.size(), 2'100u);
}

// --- tools and models ------------------------------------------------------------------------------------------------

const std::string one_goal = R"({"goal": "g", "sub_goals": [{"id": "a", "tool": "odd", "inputs": {}}]})";

TEST(BadInput, a_tools_reply_that_is_none_of_ours_fails_its_sub_goal) {
  for (const Bad& bad : bad_texts()) {
    SCOPED_TRACE(bad.name);
    const Json tools = {{"tools", {{"odd", {{"exec", {"/bin/cat", file_of(bad)}}}}}}};
    const Ran ran = cairn({"start", "plan_runner", "--input", one_goal, "--tools",
                           write_file("odd_tools.json", tools.dump()), "--wait", "--json"});
    EXPECT_EQ(ran.exit, 1) << ran.err;
    const Json ended = ran.json();
    EXPECT_EQ(ended["status"], "failed");
    EXPECT_FALSE(ended["output"]["failed"]["a"].get<std::string>().empty()) << ended;
    EXPECT_FALSE(cairn_ok({"events", ended["run"], "--json"}).lines().empty());
  }
  for (const std::string reply : {"[]", "1", "null", "\"text\""}) {
    const Json tools = {{"tools", {{"odd", {{"exec", {"/bin/echo", reply}}}}}}};
    const Ran ran = cairn({"start", "plan_runner", "--input", one_goal, "--tools",
                           write_file("odd_tools.json", tools.dump()), "--wait", "--json"});
    EXPECT_EQ(ran.exit, 1) << reply << ran.err;
    EXPECT_NE(ran.json()["output"]["failed"]["a"].get<std::string>().find("object"), std::string::npos) << ran.out;
  }
}

TEST(BadInput, a_tools_file_that_is_none_is_told_with_the_tools_name) {
  const std::vector<std::pair<std::string, std::string>> files = {
      {"[]", "tools"},
      {R"({"tools": []})", "tools"},
      {R"({"tools": {"x": 1}})", "x"},
      {R"({"tools": {"x": {}}})", "x"},
      {R"({"tools": {"x": {"exec": []}}})", "x"},
      {R"({"tools": {"x": {"exec": [1]}}})", "x"},
      {R"({"tools": {"x": {"exec": ["a"], "http": "http://h/"}}})", "x"},
      {R"({"tools": {"x": {"http": "ftp://h/"}}})", "x"},
      {R"({"tools": {"x": {"exec": ["a"], "timeout_ms": -1}}})", "x"},
      {R"({"tools": {"x": {"exec": ["a"], "timeout_ms": 1e99}}})", "x"},
      {R"({"tools": {"x": {"exec": ["a"], "queue": ""}}})", "x"},
      {R"({"tools": {"x": {"exec": ["a"], "colour": "red"}}})", "colour"},
  };
  for (const auto& [text, says] : files) {
    SCOPED_TRACE(text);
    expect_refused(cairn({"work", "--tools", write_file("bad_tools.json", text)}), 2, says);
  }
}

TEST(BadInput, a_models_script_that_is_none_is_told) {
  for (const std::string text : {"[]", R"({"replies": 1})", R"({"replies": [1]})", R"({"replies": [{}]})",
                                 R"({"replies": [{"value": 1, "error": {}}]})", R"({"replies": [{"reply": "x"}]})",
                                 R"({"replies": [{"value": 1, "node": 2}]})", R"({"replies": [{"error": 1}]})"}) {
    SCOPED_TRACE(text);
    const Variable script("CAIRN_MODEL_SCRIPT", write_file("bad_script.json", text));
    expect_refused(cairn({"work"}), 2, "Expected");
  }
}

TEST(BadInput, a_models_reply_that_does_not_fit_is_a_failed_attempt) {
  const Json graph = {
      {"name", "model_door"},
      {"start", "ask"},
      {"limits", {{"steps", 10}}},
      {"nodes",
       {{"ask",
         {{"do", "model.decide"},
          {"labels", {"yes", "no"}},
          {"with",
           {{"messages", {{{"role", "user"}, {"content", "?"}}}},
            {"schema",
             {{"type", "object"}, {"properties", {{"label", {{"enum", {"yes", "no"}}}}}}, {"required", {"label"}}}}}},
          {"on", {{"yes", "finish"}, {"no", "finish"}}}}},
        {"finish", {{"end", "done"}}}}}};
  cairn_ok({"graph", "add", write_file("model_door.json", graph.dump())});
  for (const Json& content : {Json("no JSON"), Json("{\"label\": \"maybe\"}"), Json("{\"a\": 1, \"a\": 2}"), Json(7),
                              Json(repeated("[", 10'000)), Json("{\"label\": \"x\\u0000\"}")}) {
    SCOPED_TRACE(content.dump().substr(0, 40));
    const Json script = {{"replies", {{{"reply", {{"role", "assistant"}, {"content", content}}}}}}};
    const Variable variable("CAIRN_MODEL_SCRIPT", write_file("odd_script.json", script.dump()));
    const Ran ran = cairn({"start", "model_door", "--wait", "--json"});
    EXPECT_EQ(ran.exit, 1) << ran.err;
    EXPECT_EQ(ran.json()["status"], "failed") << ran.out;
    EXPECT_NE(ran.json()["reason"].get<std::string>().find("bad_reply"), std::string::npos) << ran.out;
  }
}

// --- the environment -------------------------------------------------------------------------------------------------

// An unknown level turned the log off; a URL that is none was found out at the first question to the model.
TEST(BadInput, a_variable_that_says_nothing_we_know_is_told_at_once) {
  {
    const Variable log("CAIRN_LOG", "shouting");
    expect_refused(cairn({"runs"}), 2, "CAIRN_LOG");
  }
  for (const std::string every : {"soon", "0", "-1", "1.5", "99999999999999999999"}) {
    const Variable variable("CAIRN_CHECKPOINT_MS", every);
    expect_refused(cairn({"runs"}), 2, "CAIRN_CHECKPOINT_MS");
  }
  for (const std::string url : {"nonsense", "ftp://host/v1", "http://", "http://host:99999/v1", "http://u:p@host/v1"}) {
    const Variable variable("CAIRN_MODEL_URL", url);
    expect_refused(cairn({"start", "plan_runner"}), 2, "CAIRN_MODEL_URL");
  }
  {
    const Variable programs("CAIRN_PG_BIN", "/nowhere");
    expect_refused(cairn({"runs", "--data", directory() / "no_programs"}), 5, "CAIRN_PG_BIN");
  }
  {
    const Variable port("PGPORT", "many");
    const Variable host("PGHOST", "localhost");
    expect_refused(cairn({"runs"}), 5, "many");
  }
}

// --- databases -------------------------------------------------------------------------------------------------------

std::string embedded_dsn() { return owner_dsn(); }

// A new database of the embedded cluster.
std::string fresh_database(const std::string& name) {
  PgConnection connection({embedded_dsn() + " dbname=postgres", "test", false});
  connection.execute("CREATE DATABASE " + name);
  return embedded_dsn() + " dbname=" + name;
}

void run_sql(const std::string& dsn, const std::string& sql) { PgConnection({dsn, "test", false}).execute(sql); }

TEST(BadInput, a_connection_string_that_is_none_is_usage_and_not_shown) {
  for (const std::string dsn :
       {"foo=bar", "host=x password=a b sesame", "postgresql://u:sesame@[::1", "host='x", "postgresql://h/d?x=y"}) {
    const Ran ran = cairn({"runs", "--dsn", dsn});
    expect_refused(ran, 2, "connection string");
    EXPECT_EQ(ran.err.find("sesame"), std::string::npos) << ran.err;
  }
}

TEST(BadInput, a_word_alone_is_the_name_of_a_database_where_the_variables_of_libpq_lead) {
  const auto runs_of = [](const std::string& word) {
    Arguments command;
    for (const auto& [name, value] : variables_of(embedded_dsn()).variables) command.push_back(name + "=" + value);
    command.insert(command.end(), {testing::cairn_program(), "runs", "--dsn", word});
    return run_program("/usr/bin/env", command);
  };
  EXPECT_EQ(runs_of("cairn").exit, 0);
  expect_refused(runs_of("garbage"), 5, "\"garbage\" does not exist");
  static const std::regex says("a\\s+word\\s+alone\\s+is\\s+its\\s+name");
  EXPECT_TRUE(std::regex_search(cairn_ok({"runs", "--help"}).out, says));
}

TEST(BadInput, a_database_that_cannot_be_reached_is_unavailable_with_its_reason) {
  const std::string dsn = embedded_dsn();
  expect_refused(cairn({"runs", "--dsn", "host=no-such-host.invalid dbname=x"}), 5, "no-such-host.invalid");
  expect_refused(cairn({"runs", "--dsn", "host=127.0.0.1 port=1 dbname=x"}), 5, "refused");
  expect_refused(cairn({"runs", "--dsn", dsn + " dbname=nowhere"}), 5, "\"nowhere\" does not exist");
  expect_refused(cairn({"runs", "--dsn", "host=" + (directory() / "data").string() + " user=nobody_here dbname=cairn"}),
                 5, "nobody_here");
}

TEST(BadInput, a_wrong_password_is_unavailable_and_not_shown) {
  const std::string dsn = embedded_dsn() + " dbname=cairn";
  run_sql(dsn, "CREATE ROLE locked LOGIN PASSWORD 'right'");
  const fs::path rules = directory() / "data" / "data" / "cairn_hba.conf";
  const std::string before = read_file(rules);
  std::ofstream(rules) << "local all locked scram-sha-256\n" << before;
  run_sql(dsn, "SELECT pg_reload_conf()");
  const std::string locked = "host=" + (directory() / "data").string() + " user=locked dbname=cairn password=sesame";
  EXPECT_TRUE(wait_until([&] {
    return cairn({"runs", "--dsn", locked}).err.find("password auth") != std::string::npos;
  }));
  const Ran ran = cairn({"runs", "--dsn", locked});
  expect_refused(ran, 5, "password authentication failed");
  EXPECT_EQ(ran.err.find("sesame"), std::string::npos) << ran.err;
  std::ofstream(rules) << before;
  run_sql(dsn, "SELECT pg_reload_conf()");
  run_sql(dsn, "DROP ROLE locked");
}

// It was printed as a refusal, and by `migrate` as a database that cannot be reached, with a piece of it.
TEST(BadInput, a_connection_string_in_the_environment_that_is_none_is_usage_and_not_shown) {
  const Variable dsn("CAIRN_DSN", "host=x sesame");
  for (const char* command : {"runs", "migrate", "doctor", "work", "down"}) {
    const Ran ran = cairn({command});
    expect_refused(ran, 2, "CAIRN_DSN");
    EXPECT_EQ(ran.err.find("sesame"), std::string::npos) << ran.err;
  }
  cairn_ok({"runs", "--data", directory() / "data"});
}

// `up` printed it, and gave it to its workers as an argument, which everybody may read.
TEST(BadInput, a_password_in_the_environment_stays_there) {
  cairn_ok({"runs"});
  const Variable dsn("CAIRN_DSN",
                     "host=" + (directory() / "data").string() + " user=cairn dbname=cairn password=sesame");
  Beside up({"up", "--workers", "1", "--json"});
  ASSERT_TRUE(wait_until([&] { return up.out().find("\"ready\"") != std::string::npos; }));
  EXPECT_EQ(up.out().find("sesame"), std::string::npos) << up.out();
  int workers = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    const std::string line = read_file(entry.path() / "cmdline");
    workers += line.starts_with(std::string("cairn\0work", 10)) ? 1 : 0;
    EXPECT_EQ(line.find("sesame"), std::string::npos);
  }
  EXPECT_GE(workers, 1);
  up.signal(SIGTERM);
  EXPECT_EQ(up.wait(), 0);
}

TEST(BadInput, a_database_without_our_schema_says_how_to_make_it) {
  const std::string dsn = fresh_database("bare");
  expect_refused(cairn({"runs", "--dsn", dsn}), 5, "`cairn migrate` creates it");
  const Ran check = cairn({"migrate", "--check", "--dsn", dsn});
  EXPECT_EQ(check.exit, 1);
  EXPECT_NE(check.out.find("There is no schema yet; `cairn migrate` would lead to version"), std::string::npos);
  cairn_ok({"migrate", "--dsn", dsn});
  EXPECT_NE(cairn_ok({"migrate", "--check", "--dsn", dsn}).out.find("nothing is to be done."), std::string::npos);
  cairn_ok({"runs", "--dsn", dsn});
}

// The message was that there is no schema.
TEST(BadInput, an_older_schema_is_told_and_moved_forward_by_migrate) {
  const std::string dsn = fresh_database("older");
  cairn_ok({"migrate", "--dsn", dsn});
  const int newest = cairn_ok({"migrate", "--dsn", dsn, "--json"}).json()["to"];
  run_sql(
      dsn,
      "DELETE FROM cairn.migration WHERE number > 2; ALTER TABLE cairn.worker DROP COLUMN beat_at, "
      "DROP COLUMN only_own, DROP COLUMN handlers, DROP COLUMN tools, "
      "DROP COLUMN machine, DROP COLUMN alone, DROP COLUMN has_model, DROP COLUMN allows, "
      "DROP COLUMN feeds, DROP COLUMN caller, DROP COLUMN declares, DROP COLUMN begun; ALTER TABLE cairn.job "
      "DROP COLUMN offered, "
      "DROP COLUMN on_release; "
      "CREATE INDEX job_due ON cairn.job (shard, queue); DROP TABLE cairn.passage, cairn.identity, "
      "cairn.tombstone, cairn.import, cairn.token, cairn.erasing, cairn.home, cairn.progress, "
      "cairn.feed, cairn.feed_consumer, cairn.feed_place, cairn.schedule, cairn.schedule_note, cairn.saved_view, "
      "cairn.link_key, cairn.rate, cairn.key_turn, cairn.budget_use, cairn.queue_change, cairn.hook, cairn.hook_note, "
      "cairn.hook_delivery, cairn.start_key, cairn.waiting_start; ALTER TABLE cairn.queue DROP COLUMN limits, "
      "DROP COLUMN revision, DROP COLUMN change_began, DROP COLUMN before_revision, DROP COLUMN before_concurrency, "
      "DROP COLUMN before_paused, DROP COLUMN before_limits; ALTER TABLE cairn.job DROP COLUMN limit_key; ALTER TABLE "
      "cairn.permit DROP COLUMN key; "
      "ALTER TABLE "
      "cairn.blob DROP COLUMN put_at; DROP "
      "INDEX cairn.checkpoint_at; ALTER TABLE cairn.graph DROP COLUMN at, DROP COLUMN actor; ALTER TABLE cairn.run "
      "DROP COLUMN caller_knows, DROP COLUMN origin CASCADE, DROP COLUMN origin_seq CASCADE, ADD CONSTRAINT "
      "run_head_check CHECK (head >= 1), "
      "ADD CONSTRAINT run_status_check CHECK (status <> ''); DELETE FROM cairn.checkpoint; "
      "ALTER TABLE cairn.checkpoint DROP COLUMN key");
  expect_refused(cairn({"runs", "--dsn", dsn}), 5, "found version 2: `cairn migrate` moves it forward");
  const Ran check = cairn({"migrate", "--check", "--dsn", dsn, "--json"});
  EXPECT_EQ(check.exit, 1);
  EXPECT_EQ(check.json()["version"], 2);
  EXPECT_EQ(check.json()["newest"], newest);
  EXPECT_EQ(check.json()["migrations"][0], (Json{{"number", 3}, {"name", "sessions_say_what_they_do"}}));
  EXPECT_EQ(cairn({"migrate", "--check", "--dsn", dsn, "--json"}).out, check.out) << "nothing was written";
  EXPECT_EQ(cairn({"doctor", "--dsn", dsn}).exit, 1);
  const Json moved = cairn_ok({"migrate", "--dsn", dsn, "--json"}).json();
  EXPECT_EQ(moved["from"], 2);
  EXPECT_EQ(moved["to"], newest);
  cairn_ok({"runs", "--dsn", dsn});
}

TEST(BadInput, a_newer_schema_is_refused_and_left_alone) {
  const std::string dsn = fresh_database("newer");
  cairn_ok({"migrate", "--dsn", dsn});
  run_sql(dsn, "INSERT INTO cairn.migration (number, name, shards) VALUES (99, 'future', 1)");
  for (const char* command : {"runs", "migrate", "work"}) expect_refused(cairn({command, "--dsn", dsn}), 4, "99");
  expect_refused(cairn({"migrate", "--check", "--dsn", dsn}), 4, "99");
  EXPECT_EQ(cairn({"doctor", "--dsn", dsn}).exit, 1);
}

// All that open the database, each with what it cannot do without.
std::vector<Arguments> all_that_open() {
  const std::string graph = write_file("fits.json", ask_graph("fits"));
  const std::string lines = write_file("fits.jsonl", "{}\n");
  const std::string run = "01a20a3b-9a88-7d93-9598-3ab59324150a";
  return {{"work"},
          {"serve", "--listen", "127.0.0.1:0"},
          {"up", "--workers", "1"},
          {"start", "plan_runner", "--input", "{}"},
          {"batch", "plan_runner", "--inputs", lines},
          {"runs"},
          {"show", run},
          {"events", run},
          {"explain", run},
          {"plan", run},
          {"questions"},
          {"answer", run, "--value", "1"},
          {"signal", run, "go", "--value", "1"},
          {"pause", run},
          {"cancel", run},
          {"fork", run, "--at", "1"},
          {"report"},
          {"queue"},
          {"queue", "set", "default", "--pause"},
          {"workers"},
          {"token", "list"},
          {"token", "add", "one", "--role", "read"},
          {"graph", "list"},
          {"graph", "add", graph},
          {"corpus", "list"},
          {"verify", "--all"},
          {"replay", "--all"},
          {"blame", "--all"},
          {"rebuild", "--check"},
          {"export", "--all"},
          {"archive", "--older-than", "0s", "--out", (directory() / "fits.archive.jsonl").string()},
          {"erase", "--where", "graph=fits"},
          {"distribute"}};
}

TEST(BadInput, every_command_says_that_a_schema_is_too_new_or_too_old_and_leaves_it_alone) {
  const std::string newer = fresh_database("newer_for_all");
  const std::string older = fresh_database("older_for_all");
  for (const std::string& dsn : {newer, older}) cairn_ok({"migrate", "--dsn", dsn});
  run_sql(newer, "INSERT INTO cairn.migration (number, name, shards) VALUES (99, 'future', 1)");
  run_sql(older, "DELETE FROM cairn.migration WHERE number > 2");
  for (Arguments arguments : all_that_open()) {
    const std::string command = arguments[0] + (arguments.size() > 1 ? " " + arguments[1] : "");
    arguments.insert(arguments.end(), {"--dsn", newer});
    SCOPED_TRACE(command);
    expect_refused(cairn(arguments), 4, "99");
    arguments.back() = older;
    const Ran ran = cairn(arguments);
    EXPECT_GE(ran.exit, 3);
    EXPECT_NE(ran.err.find("version 2"), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("`cairn migrate`"), std::string::npos) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
  for (const char* table : {"event", "graph", "queue", "token", "worker"})
    for (const std::string& dsn : {newer, older}) {
      PgConnection connection({dsn, "test", false});
      EXPECT_EQ(connection.query({"rows", std::string("select count(*) from cairn.") + table}).int8(0, 0), 0) << table;
    }
}

// One was taken for a database that cannot be reached, another ended the program.
TEST(BadInput, what_has_the_form_of_a_large_value_is_no_other_runs_value) {
  const auto echoed = [](const Json& text) {
    const Json plan = {{"goal", "g"}, {"sub_goals", {{{"id", "a"}, {"tool", "echo"}, {"inputs", {{"text", text}}}}}}};
    return cairn_ok({"start", "plan_runner", "--input", plan.dump(), "--wait", "--json"}).json();
  };
  const Json secret = echoed(std::string(40'000, 's'));
  EXPECT_EQ(secret["status"], "done");
  const std::string bytes = "\"" + std::string(40'000, 's') + "\"";
  const Json guessed = {{"$blob", hex(sha256(bytes))}, {"bytes", bytes.size()}};
  const Json curious = echoed(guessed);
  EXPECT_EQ(curious["output"]["results"]["a"]["text"], guessed);
  EXPECT_EQ(cairn_ok({"verify", curious["run"], "--json"}).json()["findings"], Json::array());
  expect_refused(cairn({"start", "plan_runner", "--input", guessed.dump()}), 4, "Expected fields");
}

TEST(BadInput, a_schema_of_our_name_that_is_not_ours_is_refused_and_left_alone) {
  const std::string others = fresh_database("others");
  run_sql(others, "CREATE SCHEMA cairn; CREATE TABLE cairn.stones (n int)");
  const std::string alike = fresh_database("alike");
  run_sql(alike, "CREATE SCHEMA cairn; CREATE TABLE cairn.migration (id int, note text)");
  const std::string emptied = fresh_database("emptied");
  cairn_ok({"migrate", "--dsn", emptied});
  run_sql(emptied, "DELETE FROM cairn.migration");
  for (const char* command : {"runs", "migrate"}) {
    expect_refused(cairn({command, "--dsn", others}), 4, "another of that name");
    expect_refused(cairn({command, "--dsn", alike}), 4, "another of that name");
    expect_refused(cairn({command, "--dsn", emptied}), 4, "table migration is empty");
  }
  PgConnection connection({others, "test", false});
  const PgResult found = connection.query({"tables", "SELECT count(*) FROM pg_tables WHERE schemaname = 'cairn'"});
  EXPECT_EQ(found.int8(0, 0), 1);
}

// --- the data directory ----------------------------------------------------------------------------------------------

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

// A lock file was left in a directory that holds something else.
TEST(BadInput, a_directory_that_is_not_ours_is_refused_and_left_alone) {
  const fs::path others = directory() / "others_data";
  fs::create_directory(others);
  std::ofstream(others / "letter") << "dear";
  expect_refused(cairn({"runs", "--data", others}), 4, "letter");
  expect_refused(cairn({"up", "--data", others}), 4, "letter");
  EXPECT_EQ(names_in(others), std::set<std::string>{"letter"});
  const std::string file = write_file("data_file", "x");
  expect_refused(cairn({"runs", "--data", file}), 4, "data_file");
  expect_refused(cairn({"runs", "--data", file + "/below"}), 4, "below");
  EXPECT_EQ(read_file(file), "x");
  expect_refused(cairn({"down", "--data", others}), 3, "others_data");
}

TEST(BadInput, a_place_where_nothing_can_be_written_is_refused) {
  expect_refused(cairn({"runs", "--data", "/proc/cairn"}), 4, "/proc/cairn");
}

TEST(BadInput, a_disk_that_is_full_loses_nothing_that_was_told_and_stands_in_nobodys_way_later) {
  const SmallDisk disk("small_disk", 20);
  if (!disk.is_there()) GTEST_SKIP() << "a small disk: mounting one of its own needs root";
  const std::string data = disk.place() / "data";
  expect_refused(cairn({"runs", "--data", data}), 5, "");
  disk.grow(400);
  cairn_ok({"graph", "add", write_file("asking.json", ask_graph("asking")), "--data", data});
  std::set<std::string> told;
  told.insert(cairn_ok({"start", "asking", "--data", data, "--json"}).json()["run"]);
  disk.fill();
  const std::string input = Json{{"text", std::string(900'000, 'x')}}.dump();
  Ran ran = cairn({"start", "asking", "--input", "@-", "--data", data, "--json"}, input);
  for (int i = 0; ran.exit == 0 && i < 100; ++i) {
    told.insert(ran.json()["run"]);
    ran = cairn({"start", "asking", "--input", "@-", "--data", data, "--json"}, input);
  }
  expect_refused(ran, 5, "");
  disk.empty();
  std::set<std::string> found;
  for (const Json& run : cairn_ok({"runs", "--data", data, "--json"}).lines()) found.insert(run["run"]);
  for (const std::string& run : told) EXPECT_TRUE(found.contains(run)) << run;
  for (const std::string& run : found) EXPECT_EQ(cairn_ok({"show", run, "--data", data, "--json"}).json()["seq"], 2);
  cairn_ok({"down", "--data", data});
}

}  // namespace
}  // namespace cairn::program
