// Runs go out with all their bytes and come in elsewhere as they were; what was altered on the way is refused.
#include <algorithm>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <map>
#include <sstream>
#include <sys/file.h>
#include <unistd.h>

#include "storage/chain.hpp"
#include "storage/ground/base64.hpp"
#include "storage/postgres/connection.hpp"
#include "tests/ops/program.hpp"

namespace cairn::program {
namespace {

std::string own_dsn() { return owner_dsn(); }

// A second new database with the schema. Given to a command by --dsn.
std::string other_database(const std::string& name, int shards = 1) {
  PgConnection({own_dsn(), "a test"}).execute("CREATE DATABASE " + name);
  const std::string dsn = own_dsn() + " dbname=" + name;
  cairn_ok({"migrate", "--dsn", dsn, "--shards", std::to_string(shards)});
  return dsn;
}

std::int64_t count_in(const std::string& dsn, const std::string& table) {
  const PgStatement count{"", "select count(*) from cairn." + table};
  return PgConnection({dsn, "a test", false}).query(count).int8(0, 0);
}

// The file's path.
std::string exported(const Arguments& what, const std::string& dsn = "") {
  Arguments arguments = {"export"};
  arguments.insert(arguments.end(), what.begin(), what.end());
  if (!dsn.empty()) arguments.insert(arguments.end(), {"--dsn", dsn});
  static int count = 0;
  return write_file("export" + std::to_string(++count) + ".jsonl", cairn_ok(arguments).out);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// The lines that have this kind, sorted; `end` and `head` say when and where it was made.
std::vector<std::string> lines_of_kind(const std::string& file, const std::string& kind) {
  std::vector<std::string> found;
  for (const std::string& line : lines_of(read_file(file)))
    if (Json::parse(line)["kind"] == kind) found.push_back(line);
  std::sort(found.begin(), found.end());
  return found;
}

std::string start(const std::string& graph, const Json& input, const Arguments& more = {"--wait"}) {
  Arguments arguments = {"start", graph, "--input", input.dump(), "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return cairn(arguments).json()["run"];
}

Json plan(const std::string& text) {
  return {{"goal", "show it"},
          {"sub_goals",
           {{{"id", "a"}, {"tool", "echo"}, {"inputs", {{"text", text}}}},
            {{"id", "b"}, {"tool", "fail"}, {"inputs", {{"message", "on purpose"}}}},
            {{"id", "c"}, {"tool", "echo"}, {"after", {"b"}}, {"inputs", Json::object()}}}}};
}

std::string add_graph(const std::string& text, const std::string& name) {
  cairn_ok({"graph", "add", write_file(name + ".json", text)});
  return name;
}

std::string calling_graph() {
  const Json graph = {
      {"name", "export_caller"},
      {"start", "ask_another"},
      {"limits", {{"steps", 10}}},
      {"nodes",
       {{"ask_another",
         {{"call", "plan_runner"}, {"with", plan("from a child")}, {"on", {{"done", "finish"}, {"failed", "finish"}}}}},
        {"finish", {{"end", "done"}}}}}};
  return add_graph(graph.dump(), "export_caller");
}

TEST(Export, everything_comes_over_as_it_was) {
  PgConnection({own_dsn(), "a test"}).execute("TRUNCATE cairn.run, cairn.event, cairn.job, cairn.question");
  const std::string large(50'000, 'x');
  const std::string failed = start("plan_runner", plan("hello"));
  const std::string big = start("plan_runner", plan(large));
  const std::string caller = start(calling_graph(), Json::object());
  cairn_ok({"start", "plan_runner", "--input", plan("again").dump(), "--continues", failed, "--tag", "team=a"});
  const std::string waiting = start(add_graph(ask_graph("export_ask"), "export_ask"), Json::object());
  const std::string file = exported({"--all"});
  EXPECT_FALSE(lines_of_kind(file, "blob").empty());
  const auto runs = static_cast<std::int64_t>(lines_of_kind(file, "run").size());

  const std::string other = other_database("everything");
  expect_refused(cairn({"import", file, "--dsn", other}), 4, "--running");
  EXPECT_EQ(count_in(other, "event") + count_in(other, "run") + count_in(other, "blob"), 0);
  const Json imported = cairn_ok({"import", file, "--running", "--dsn", other, "--json"}).json();
  EXPECT_EQ(imported["imported"], runs);
  EXPECT_EQ(imported["left"], 0);
  const std::string back = exported({"--all"}, other);
  for (const std::string kind : {"run", "event", "blob", "graph"})
    EXPECT_EQ(lines_of_kind(back, kind), lines_of_kind(file, kind)) << kind;
  for (const std::string& run : {failed, big, caller, waiting}) {
    Json shown = cairn_ok({"show", run, "--json", "--dsn", other}).json();
    EXPECT_EQ(shown["imported"]["database"], Json::parse(lines_of_kind(file, "head")[0])["database"]);
    shown.erase("imported");
    EXPECT_EQ(shown, cairn_ok({"show", run, "--json"}).json());
    EXPECT_EQ(cairn_ok({"events", run, "--json", "--dsn", other}).out, cairn_ok({"events", run, "--json"}).out);
  }
  for (const std::string table : {"runs", "job", "question"})
    EXPECT_EQ(count_in(other, table), count_in(own_dsn(), table)) << table;
  const Json replayed = cairn_ok({"replay", "--all", "--json", "--dsn", other}).json();
  EXPECT_EQ(replayed, cairn_ok({"replay", "--all", "--json"}).json());
  EXPECT_EQ(replayed["same"], runs);

  const Json again = cairn_ok({"import", file, "--running", "--dsn", other, "--json"}).json();
  EXPECT_EQ(again["imported"], 0);
  EXPECT_EQ(again["left"], runs);
  cairn_ok({"answer", waiting, "--value", "\"north\"", "--dsn", other});
  EXPECT_EQ(cairn_ok({"show", waiting, "--json", "--dsn", other}).json()["output"]["region"], "north");
  EXPECT_EQ(cairn_ok({"import", file, "--running", "--dsn", other, "--json"}).json()["left"], runs)
      << "the run has gone on there";
}

TEST(Export, names_runs_or_filters_them_and_is_smaller_compressed) {
  const std::string tagged = start("plan_runner", plan("tagged"), {"--wait", "--tag", "export=yes"});
  const std::string named = exported({tagged});
  EXPECT_EQ(lines_of_kind(named, "run").size(), 1u);
  EXPECT_EQ(lines_of_kind(named, "graph").size(), 1u);
  const std::string found = exported({"--where", "tag.export=yes"});
  EXPECT_EQ(lines_of_kind(found, "event"), lines_of_kind(named, "event"));
  const std::string compressed = exported({tagged, "--zstd"});
  EXPECT_LT(read_file(compressed).size(), read_file(named).size() / 2);
  const std::string other = other_database("compressed");
  cairn_ok({"import", compressed, "--dsn", other});
  EXPECT_EQ(lines_of_kind(exported({"--all"}, other), "event"), lines_of_kind(named, "event"));
  expect_refused(cairn({"export", "00000000-0000-7000-8000-000000000000"}), 3, "none");
  const std::string into = (directory() / "export_into.jsonl.zst").string();
  EXPECT_NE(cairn_ok({"export", tagged, "--out", into}).out.find("Exported into " + into + ": 1 run with "),
            std::string::npos);
  EXPECT_EQ(cairn_ok({"export", tagged, "--out", into, "--json"}).json()["runs"], 1) << "the file is written again";
  EXPECT_EQ(cairn_ok({"verify", "--file", into}).exit, 0);
  EXPECT_FALSE(std::filesystem::exists(into + ".part"));
  const std::filesystem::path link = directory() / "export_link";
  std::filesystem::create_symlink(into, link);
  cairn_ok({"export", tagged, "--out", link.string()});
  EXPECT_TRUE(std::filesystem::is_symlink(link)) << "what is no file is written to as it is";
  EXPECT_NE(read_file(into).find(tagged), std::string::npos);
  expect_refused(cairn({"export", tagged, "--out", "/nowhere/at/all"}), 2, "/nowhere/at/all");
  expect_refused(cairn({"export"}), 2, "--all");
  expect_refused(cairn({"export", tagged, "--all"}), 2, "");
  expect_refused(cairn({"import", "/nowhere/at/all"}), 3, "/nowhere/at/all");
}

TEST(Export, into_a_file_that_another_export_writes_is_refused_and_one_that_was_killed_stands_in_no_way) {
  const std::string run = start("plan_runner", plan("overlapping"));
  const std::string into = (directory() / "overlapping.jsonl").string();
  cairn_ok({"export", run, "--out", into});
  const std::string whole = read_file(into);
  const std::string half = "half of what the other one writes";
  write_file("overlapping.jsonl.part", half);
  const int other = ::open((into + ".part").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  expect_refused(cairn({"export", run, "--out", into}), 4, into + ".part");
  EXPECT_EQ(read_file(into + ".part"), half);
  EXPECT_EQ(read_file(into), whole);
  ::close(other);
  cairn_ok({"export", run, "--out", into});
  EXPECT_EQ(cairn_ok({"verify", "--file", into, "--json"}).json()["runs"], 1);
  EXPECT_FALSE(std::filesystem::exists(into + ".part"));
}

TEST(Import, F18_a_graph_that_is_unknown_there_is_the_one_of_the_newest_run_and_a_known_one_stays) {
  const auto write = [](const std::string& says) {
    return write_file("known_by_import.json", R"({"name": "known_by_import", "start": "say", "limits": {"steps": 9},
        "nodes": {"say": {"do": "data.set", "with": {"set": {"said": ")" +
                                                  says + R"("}}, "on": {"ok": "finish"}},
        "finish": {"end": "done"}}})");
  };
  cairn_ok({"graph", "add", write("one")});
  const std::string first = start("known_by_import", Json::object(), {"--wait"});
  cairn_ok({"graph", "add", write("two")});
  const std::string second = start("known_by_import", Json::object(), {"--wait"});
  const std::string file = exported({second, first});
  const std::string other = other_database("graphs_of_imports");
  cairn_ok({"import", file, "--dsn", other});
  const auto version_of = [](const std::string& run, const std::string& dsn) {
    return cairn_ok({"show", run, "--json", "--dsn", dsn}).json()["version"];
  };
  const std::string started = cairn_ok({"start", "known_by_import", "--wait", "--json", "--dsn", other}).json()["run"];
  EXPECT_EQ(version_of(started, other), version_of(second, other));
  EXPECT_NE(version_of(started, other), version_of(first, other));

  const std::string third = other_database("graphs_known_before");
  cairn_ok({"graph", "add", write("three"), "--dsn", third});
  cairn_ok({"import", file, "--dsn", third});
  const std::string kept = cairn_ok({"start", "known_by_import", "--wait", "--json", "--dsn", third}).json()["run"];
  EXPECT_NE(version_of(kept, third), version_of(second, third));
}

// The version of the run that was read last stayed current, for good: its name was known by then.
TEST(Import, that_was_ended_in_the_middle_leaves_no_old_version_of_a_graph_current) {
  const auto start_saying = [](const std::string& says) {
    cairn_ok({"graph", "add",
              write_file("half_imported.json", R"({"name": "half_imported", "start": "say",
        "limits": {"steps": 9}, "nodes": {"say": {"do": "data.set", "with": {"set": {"said": ")" +
                                                   says +
                                                   R"("}}, "on": {"ok": "finish"}},
        "finish": {"end": "done"}}})")});
    return start("half_imported", Json::object());
  };
  const std::string first = start_saying("one");
  const std::string second = start_saying("two");
  const std::string file = exported({second, first});
  const std::string other = other_database("half_of_an_import");
  PgConnection owner({other, "a test"});
  owner.execute(
      "create function public.not_now() returns trigger language plpgsql as $$ begin raise 'the disk is full'; end $$");
  owner.execute("create trigger not_now before insert on cairn.event for each row when (new.run_id = '" + first +
                "') execute function public.not_now()");
  EXPECT_NE(cairn({"import", file, "--dsn", other}).exit, 0);
  EXPECT_EQ(count_in(other, "run"), 1);
  EXPECT_EQ(count_in(other, "graph where current and name = 'half_imported'"), 0);
  owner.execute("drop trigger not_now on cairn.event");
  owner.execute("drop function public.not_now");
  cairn_ok({"import", file, "--dsn", other});
  const std::string started = cairn_ok({"start", "half_imported", "--wait", "--json", "--dsn", other}).json()["run"];
  const auto version_of = [&](const std::string& run) {
    return cairn_ok({"show", run, "--json", "--dsn", other}).json()["version"];
  };
  EXPECT_EQ(version_of(started), version_of(second));
  EXPECT_NE(version_of(started), version_of(first));
}

// The process ended between the commit of the run and its checkpoint.
TEST(Import, again_signs_what_the_one_before_left_unsigned_and_nothing_twice) {
  const std::string run = start("plan_runner", plan("unsigned"));
  const std::string file = exported({run});
  const std::string other = other_database("unsigned_imports");
  const std::string signatures = "checkpoint where heads like '%" + run + "%'";
  cairn_ok({"import", file, "--dsn", other});
  ASSERT_EQ(count_in(other, signatures), 1);
  EXPECT_EQ(cairn_ok({"import", file, "--dsn", other, "--json"}).json()["left"], 1);
  EXPECT_EQ(count_in(other, signatures), 1) << "it is signed";
  PgConnection owner({other, "a test"});
  owner.execute("DELETE FROM cairn.checkpoint");
  EXPECT_EQ(cairn_ok({"import", file, "--dsn", other, "--json"}).json()["left"], 1);
  EXPECT_EQ(count_in(other, signatures), 1);
  owner.execute("DELETE FROM cairn.checkpoint");
  owner.execute("DELETE FROM cairn.import");
  EXPECT_EQ(cairn_ok({"import", file, "--dsn", other, "--json"}).json()["left"], 1);
  EXPECT_EQ(count_in(other, signatures), 0) << "this file did not bring it";
}

// The hashes that a stranger computes from the file alone.
TEST(Export, holds_what_is_hashed) {
  const std::string file = exported({start("plan_runner", plan("hashed"))});
  const Json run = Json::parse(lines_of_kind(file, "run")[0]);
  Hash chain = chain_start(*parse_run_id(run["run"].get<std::string>()), run["graph_version"].get<std::string>());
  for (const std::string& line : lines_of(read_file(file))) {
    const Json event = Json::parse(line);
    if (event["kind"] != "event") continue;
    EventRow row;
    row.seq = event["seq"];
    row.at_us = event["at_us"];
    row.type = event["type"];
    row.version = event["version"];
    row.commit = event["commit"];
    row.step = event["step"];
    row.actor = event["actor"];
    row.payload = event["payload"];
    chain = chain_next(chain, event["shard"], *parse_run_id(event["run"].get<std::string>()), row);
    EXPECT_EQ(hex(chain), event["chain_hash"]);
  }
  EXPECT_EQ(hex(chain), run["chain_hash"]);
}

using Alter = void (*)(std::vector<std::string>& lines);

std::size_t place_of(const std::vector<std::string>& lines, const std::string& part) {
  const auto found = std::find_if(lines.begin(), lines.end(),
                                  [&](const std::string& line) { return line.find(part) != std::string::npos; });
  EXPECT_NE(found, lines.end()) << part;
  return static_cast<std::size_t>(found - lines.begin());
}

void replace(std::vector<std::string>& lines, const std::string& part, const std::string& by) {
  std::string& line = lines[place_of(lines, part)];
  line.replace(line.find(part), part.size(), by);
}

// Makes the last line right again, as someone would who alters a file with care.
std::string resealed(std::vector<std::string> lines) {
  Json end = Json::parse(lines.back());
  lines.pop_back();
  std::map<std::string, int> kinds;
  for (const std::string& line : lines) {
    const Json read = Json::parse(line, nullptr, false);
    if (!read.is_discarded() && !read.value("more", false)) ++kinds[read.value("kind", "")];
  }
  for (const std::string kind : {"run", "event", "graph", "blob", "checkpoint"}) end[kind + "s"] = kinds[kind];
  end["sha256"] = hex(sha256(joined(lines)));
  return joined(lines) + end.dump() + "\n";
}

TEST(Import, whatever_was_altered_is_refused_and_nothing_is_written) {
  const std::vector<std::string> whole =
      lines_of(read_file(exported({start("plan_runner", plan(std::string(40'000, 'y')))})));
  const std::string other = other_database("altered");
  const std::vector<std::pair<std::string, Alter>> alterations = {
      {"a payload", [](auto& lines) { replace(lines, "on purpose", "by chance"); }},
      {"a time", [](auto& lines) { replace(lines, "\"at_us\":1", "\"at_us\":2"); }},
      {"an event is gone",
       [](auto& lines) { lines.erase(lines.begin() + static_cast<long>(place_of(lines, "\"seq\":3,"))); }},
      {"the tail is gone",
       [](auto& lines) {
         lines.erase(lines.begin() + static_cast<long>(place_of(lines, "\"kind\":\"checkpoint\"")) - 1);
       }},
      {"two change places",
       [](auto& lines) { std::swap(lines[place_of(lines, "\"seq\":4,")], lines[place_of(lines, "\"seq\":5,")]); }},
      {"the graph", [](auto& lines) { replace(lines, "\\\"steps\\\":", "\\\"steps\\\": "); }},
      {"a blob is gone",
       [](auto& lines) { lines.erase(lines.begin() + static_cast<long>(place_of(lines, "base64"))); }},
      {"a blob", [](auto& lines) { replace(lines, "eXl5", "eHh4"); }},
      {"the run's hash", [](auto& lines) { replace(lines, "\"kind\":\"run\"", "\"head\":3,\"kind\":\"run\""); }},
      {"the shard", [](auto& lines) { replace(lines, "\"shard\":0", "\"shard\":1"); }},
      {"the version", [](auto& lines) { replace(lines, "\"version\":2", "\"version\":3"); }},
      {"an unknown kind", [](auto& lines) { replace(lines, "\"kind\":\"run\"", "\"kind\":\"walk\""); }},
      {"no JSON", [](auto& lines) { lines[2] = "{"; }},
      {"a number beyond all", [](auto& lines) { replace(lines, "\"step\":", "\"step\":9999999999"); }},
      {"no head", [](auto& lines) { lines.erase(lines.begin()); }},
  };
  for (const auto& [what, alter] : alterations) {
    std::vector<std::string> lines = whole;
    alter(lines);
    const Ran ran = cairn({"import", write_file("altered.jsonl", resealed(lines)), "--dsn", other});
    EXPECT_EQ(ran.exit, 4) << what << ran.out << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << what << ran.err;
  }
  const std::string text = joined(whole);
  const std::vector<std::string> files = {text.substr(0, text.size() / 2),
                                          text.substr(0, text.size() - 1),
                                          "",
                                          "\n",
                                          text + "{\"kind\":\"end\"}\n",
                                          text + text};
  for (const std::string& file : files)
    EXPECT_EQ(cairn({"import", write_file("altered.jsonl", file), "--dsn", other}).exit, 4) << file.size();
  std::vector<std::string> lines = whole;
  replace(lines, "\"commit\":", "\"commit\": ");
  expect_refused(cairn({"import", write_file("altered.jsonl", joined(lines)), "--dsn", other}), 4, "SHA-256");
  for (const std::string table : {"run", "event", "job", "blob", "question"})
    EXPECT_EQ(count_in(other, table), 0) << table;
  EXPECT_EQ(cairn({"import", write_file("altered.jsonl", text), "--dsn", other}).exit, 0) << "as it was";
}

TEST(VerifyFile, names_the_event_that_was_altered_and_needs_no_database) {
  const std::string run = start("plan_runner", plan("looked over"));
  std::vector<std::string> lines = lines_of(read_file(exported({run})));
  const std::string sound = write_file("sound.jsonl", joined(lines));
  replace(lines, "on purpose", "by chance");
  const std::string altered = write_file("altered.jsonl", resealed(lines));
  const Ran ran = cairn({"verify", "--file", sound, "--json", "--dsn", "host=/nowhere"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.json()["runs"], 1);
  const Ran found = cairn({"verify", "--file", altered, "--json", "--dsn", "host=/nowhere"});
  EXPECT_EQ(found.exit, 1);
  ASSERT_EQ(found.json()["findings"].size(), 1u) << found.out;
  EXPECT_EQ(found.json()["findings"][0]["run"], run);
  EXPECT_EQ(found.json()["findings"][0]["kind"], "altered");
  expect_refused(cairn({"verify", "--file", "/nowhere/at/all"}), 3, "/nowhere/at/all");
  expect_refused(cairn({"verify", "--file", sound, "--all"}), 2, "");
}

TEST(VerifyFile, understands_a_handler_that_leaves_by_its_nodes_labels_here_and_by_its_own_there) {
  const std::string graph = R"({"name": "export_chats", "start": "choose", "limits": {"steps": 9}, "nodes": {
    "choose": {"do": "data.pick", "labels": ["silent", "talk"], "with": {"value": "silent"},
               "on": {"silent": "end", "talk": "plain"}},
    "plain": {"do": "model.chat", "with": {"prompt": "Who?"}, "on": {"ok": "calling"}},
    "calling": {"do": "model.chat", "labels": ["tools", "message"], "with": {"messages": "$said", "tools": "$tools"},
                "on": {"tools": "end", "message": "end"}},
    "end": {"end": "done"}}})";
  const std::string run = start(add_graph(graph, "export_chats"), Json::object());
  const Ran ran = cairn({"verify", "--file", exported({run}), "--json"});
  EXPECT_EQ(ran.exit, 0) << ran.out;
}

TEST(VerifyFile, understands_a_map_over_a_handler_that_it_does_not_have) {
  const std::string graph = R"({"name": "export_maps", "start": "check", "limits": {"steps": 9}, "nodes": {
    "check": {"map": {"over": [1], "do": "data.compute", "with": {"set": {"n": {"sum": ["$item", 1]}}}, "into": "found"},
              "on": {"joined": "end", "partial": "end"}},
    "end": {"end": "done"}}})";
  const std::string run = start(add_graph(graph, "export_maps"), Json::object());
  const std::string file = exported({run});
  const Ran ran = cairn({"verify", "--file", file, "--json"});
  EXPECT_EQ(ran.exit, 0) << ran.out;
  const std::string elsewhere = other_database("maps");
  const Ran imported = cairn({"import", file, "--dsn", elsewhere});
  EXPECT_EQ(imported.exit, 0) << imported.err;
}

TEST(Import, a_broken_frame_is_refused) {
  const std::string frame = read_file(exported({start("plan_runner", plan("frame")), "--zstd"}));
  const std::string other = other_database("frames");
  std::string flipped = frame;
  flipped[frame.size() / 2] = static_cast<char>(flipped[frame.size() / 2] ^ 4);
  for (const std::string& bad : {frame.substr(0, frame.size() / 2), flipped, frame + "x", frame + frame})
    EXPECT_EQ(cairn({"import", write_file("bad.zst", bad), "--dsn", other}).exit, 4) << bad.size();
  EXPECT_EQ(count_in(other, "event"), 0);
}

TEST(Import, another_number_of_shards_is_refused) {
  const std::string file = exported({start("plan_runner", plan("shards"))});
  expect_refused(cairn({"import", file, "--dsn", other_database("sharded", 3)}), 4, "3 shards");
}

TEST(Import, a_run_that_has_another_history_there_is_refused_before_anything_is_written) {
  const std::string other = other_database("contradicting");
  const std::string key = "the same";
  const std::string here = start("plan_runner", plan("keyed"), {"--wait", "--key", key});
  const std::string also = start("plan_runner", plan("not there"));
  EXPECT_EQ(start("plan_runner", plan("keyed"), {"--wait", "--key", key, "--dsn", other}), here);
  expect_refused(cairn({"import", exported({also, here}), "--dsn", other}), 4, here);
  EXPECT_EQ(count_in(other, "run"), 1);
}

// 14 MB of quotes, none of it a large value by itself: in a payload each takes two bytes, in a line of the export four.
TEST(Export, E20_A13_an_event_of_many_megabytes_comes_over_in_parts) {
  const std::string quotes(15'000, '"');
  Json input = Json::object();
  for (int n = 0; n < 460; ++n) input["q" + std::to_string(n)] = quotes;
  const std::string graph = add_graph(R"({"name": "export_ends", "start": "end", "limits": {"steps": 1}, "nodes": {
      "end": {"end": {"status": "done", "output": {}}}}})",
                                      "export_ends");
  const std::string path = write_file("big.json", input.dump());
  const std::string run = cairn_ok({"start", graph, "--input", "@" + path, "--wait", "--json"}).json()["run"];
  const std::string file = exported({run});
  EXPECT_FALSE(lines_of_kind(file, "part").empty());
  EXPECT_EQ(cairn_ok({"verify", "--file", file, "--json"}).json()["findings"], Json::array());
  const std::string other = other_database("parts");
  cairn_ok({"import", file, "--dsn", other});
  EXPECT_EQ(lines_of_kind(exported({run}, other), "part"), lines_of_kind(file, "part"));
}

TEST(Export, A13_goes_on_past_a_run_that_cannot_be_exported_and_names_it) {
  const std::string faulty = start("plan_runner", plan(std::string(50'000, 'z')), {"--wait", "--tag", "left=yes"});
  const std::string sound = start("plan_runner", plan("sound"), {"--wait", "--tag", "left=yes"});
  const std::string also = start("plan_runner", plan("also"), {"--wait", "--tag", "left=yes"});
  PgConnection({own_dsn(), "a test"}).execute("delete from cairn.blob where length(bytes) = 50002");
  const Ran ran = cairn({"export", "--where", "tag.left=yes", "--except", also});
  EXPECT_EQ(ran.exit, 1);
  EXPECT_NE(ran.err.find(faulty), std::string::npos) << ran.err;
  const std::string file = write_file("left_out.jsonl", ran.out);
  const Json verified = cairn_ok({"verify", "--file", file, "--json"}).json();
  EXPECT_EQ(verified["runs"], 1);
  EXPECT_EQ(lines_of_kind(file, "left_out").size(), 1u);
  const std::string other = other_database("left_out");
  EXPECT_EQ(cairn_ok({"import", file, "--dsn", other, "--json"}).json()["imported"], 1);
  EXPECT_EQ(cairn_ok({"show", sound, "--json", "--dsn", other}).json()["status"], "failed");
}

}  // namespace
}  // namespace cairn::program
