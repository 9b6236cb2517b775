// Golden histories: events as they were once written fold to the states they folded to then. A file holds its graphs,
// its events and one state for each fold version; what stands in it is never changed. A fold that changes without a new
// version fails here; a new version adds its state (CAIRN_UPDATE_GOLDEN=1).
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/codec.hpp"
#include "engine/evolve.hpp"
#include "engine/graph_parsing.hpp"
#include "tests/engine/stored/stored_history.hpp"
#include "tests/engine/trial.hpp"
#include "tests/paths.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

const char* const golden_kid = R"({"name":"kid","start":"k","limits":{"steps":9},"nodes":{
  "k":{"do":"x.k","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})";
const char* const everything = R"({"name":"t","start":"f","limits":{"steps":99},"budgets":{"coins":{"cap":2}},
  "channels":{"list":{"reducer":"append"},"map":{"reducer":"merge"},"sum":{"reducer":"sum"},"top":{"reducer":"max"}},
  "nodes":{
  "f":{"do":"x.f","labels":["ok"],"retry":{"attempts":2,"backoff_ms":50},"on":{"ok":["a","c","w","q","p","s"]}},
  "a":{"do":"x.a","labels":["ok","more"],"spends":"coins","cache":true,"on":{"ok":"j","more":"a","exhausted":"j"}},
  "c":{"call":"kid","with":{"n":"$n"},"into":"child","on":{"done":"j","failed":"j"}},
  "w":{"wait":{"ms":5000},"on":{"fired":"j"}},
  "q":{"ask":{"kind":"approval","prompt":"$n","schema":{"type":"string"},"default":"no"},"expires_ms":60000,
       "into":"answer","on":{"answered":"j"}},
  "p":{"do":"x.p","labels":["ok"],"on":{"ok":"m"}},
  "m":{"map":"sub_goals","retry":{"attempts":2},"on":{"joined":"j","partial":"j"}},
  "s":{"wait":{"signal":"go","timeout_ms":9000},"into":"heard","on":{"fired":"j","timeout":"j"}},
  "j":{"do":"x.j","join":true,"labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})";

// Every kind of event but forks and moves; stopped before its end and, with `ended`, after it.
std::vector<Event> made_history(bool ended) {
  Trial trial(everything);
  trial.add_graph(golden_kid);
  trial.start(R"({"n":4,"list":[0],"plain":"é"})");
  trial.fail(1, "bad_reply");
  trial.then(Pause{});
  trial.then(Resume{});
  trial.complete(
      1, "ok", R"({"sum":1.5,"map":{"a":1}})",
      {PlanCreated{1, "know", {{"root", "All of it", {}, nullptr}}}, Record{RecordKind::model_called, "{}"}});
  trial.then(SendSignal{"go", Json{{"by", "ann"}}, "s1"});
  trial.then(SendSignal{"later", 1, ""});
  CompleteStep cached{2, 1, {"more", parse_stored(R"({"list":[1],"top":3})"), {}}, 7, trial.now_us, 0};
  cached.outcome.cache_key = "key";
  trial.then(cached);
  trial.now_us += 6 * Trial::second_us;
  trial.then(Due{4});
  trial.complete(6, "ok", "{}",
                 {sub_goal("one"), sub_goal("two", "slow", {"one"}), sub_goal("three", "nothing"), sub_goal("four"),
                  PlanRevised{2, "gap", parse_stored(R"([{"op":"add","id":"more","title":"More"}])")}});
  const auto step_of = [&](const char* goal, BranchId branch) { return find_goal(trial.state, branch, goal)->step; };
  const BranchId planning = trial.state.steps.rbegin()->second.branch;
  const BranchId map_branch = trial.state.branches.at(planning).parent;
  trial.fail(step_of("one", map_branch));
  trial.fail(step_of("one", map_branch), "lost");
  if (!ended) return trial.history;
  trial.complete(step_of("one", map_branch), "", R"({"v":1})");
  trial.fail(step_of("two", map_branch), "error", false);
  trial.complete(step_of("four", map_branch), "");
  cached.step = 8;
  cached.cached_from = 2;
  trial.then(cached);
  trial.then(FinishChild{3, trial.children.at(0).state.id, RunStatus::done, "", Json{{"r", 1}}});
  trial.now_us += 60 * Trial::second_us;
  trial.then(Due{5});
  trial.fail(trial.state.last_step);
  trial.then(Reopen{});
  trial.complete(trial.state.last_step, "ok", R"({"list":[2]})");
  return trial.history;
}

const char* const over_items = R"({"name":"t","start":"f","limits":{"steps":99},"budgets":{"coins":{"cap":3}},"nodes":{
  "f":{"do":"x.f","labels":["ok"],"on":{"ok":["m","c"]}},
  "m":{"map":{"over":"$list","do":"x.m","labels":["ok","odd"],"with":{"of":"$item","at":"$index"},"concurrency":2,
              "into":"results","failures":"failed"},"retry":{"attempts":2},"spends":"coins","on":{"joined":"j"}},
  "c":{"map":{"over":[7,8],"call":"kid","with":{"n":"$item"},"into":"ran"},"on":{"joined":"j","partial":"j"}},
  "j":{"do":"x.j","join":true,"labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})";

// Maps over items, by a handler and by calls: with a retry, a failure and a budget that runs out. Since fold version 6.
std::vector<Event> items_history() {
  Trial trial(over_items);
  trial.add_graph(golden_kid);
  trial.start(R"({"list":["a","b",{"c":1},"d"]})");
  trial.complete(1, "ok");
  trial.fail(3, "busy");
  trial.complete(4, "odd", R"({"n":2})");
  trial.fail(3, "busy");
  const auto child_of = [&](StepId step) { return trial.state.steps.at(step).child; };
  trial.then(FinishChild{7, child_of(7), RunStatus::failed, "no", {}});
  return trial.history;
}

const char* const cut_short = R"({"name":"t","start":"f","finally":"u","limits":{"steps":9,"ms":60000},
  "channels":{"made":{"reducer":"append"}},"nodes":{
  "f":{"do":"x.f","labels":["ok"],"on":{"ok":["a","q","m"]}},
  "a":{"do":"x.a","labels":["ok"],"on":{"ok":"j"}},
  "q":{"ask":{"kind":"question","prompt":"?"},"on":{"answered":"j","expired":"j"}},
  "m":{"map":{"over":[7,8],"do":"x.m","labels":["ok"],"concurrency":1,"into":"results"},"on":{"joined":"j"}},
  "j":{"do":"x.j","join":true,"labels":["ok"],"on":{"ok":"z"}},
  "u":{"do":"x.u","labels":["ok"],"on":{"ok":"w"}},"w":{"wait":{"signal":"s"},"on":{"fired":"z"}},"z":{"end":"done"}}})";

// A fan-out whose time is over, in its cleanup. Since fold version 7.
std::vector<Event> cleanup_history() {
  Trial trial(cut_short);
  trial.start();
  trial.complete(1, "ok", R"({"made":["f"]})");
  trial.complete(2, "ok", R"({"made":["a"]})");
  trial.complete(5, "ok", R"({"n":7})");
  trial.now_us += 60 * Trial::second_us;
  trial.then(Due{0});
  trial.complete(trial.state.last_step, "ok");
  return trial.history;
}

const char* const speaking = R"({"name":"t","start":"f","limits":{"steps":9},"channels":{"made":{"reducer":"append"}},
  "nodes":{
  "f":{"do":"x.f","labels":["ok"],"with":{"size":{"$":"size","default":"$usual"}},"on":{"ok":["a","b"]}},
  "a":{"do":"x.a","labels":["ok"],"on":{"ok":"j","error":"r"}},
  "r":{"do":"x.r","labels":["ok"],"with":{"says":"{{error/node}}: {{error/message}}"},"on":{"ok":"j"}},
  "b":{"ask":{"kind":"question","prompt":"{{size|none}} or {{usual}}, {{{{?","default":{"$":"size","default":"$usual"}},
       "expires_ms":1000,"into":"answer","on":{"answered":"j","expired":"j"}},
  "j":{"do":"x.j","join":true,"labels":["ok"],"on":{"ok":"e","error":"e"}},
  "e":{"end":{"status":"failed","reason":"{{error/error|none}} after {{answer}}: {{missing|$$nothing}}",
              "output":{"made":"$made","cause":{"$":"error","default":null},"text":"$$made"}}}}})";

// References with defaults, texts with values in them, and the cause of a failure, in a step, a question and an end.
// Since fold version 8.
std::vector<Event> language_history() {
  Trial trial(speaking);
  trial.start(R"({"usual":3})");
  trial.complete(1, "ok", R"({"made":["f"]})");
  trial.fail(2, "busy");
  trial.complete(trial.state.last_step, "ok", R"({"made":["r"]})");
  trial.now_us += 2 * Trial::second_us;
  trial.then(Due{3});
  trial.fail(trial.state.last_step, "tired");
  return trial.history;
}

Json event_file_json(const Event& event) {
  const EventType type = event_type(event.body);
  return {{"seq", event.seq},
          {"at", event.at_us},
          {"step", event.step},
          {"actor", event.actor},
          {"type", type.number},
          {"version", type.version},
          {"payload", encode_payload(event.body)}};
}

Json read_golden(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str().empty() ? Json() : Json::parse(text.str());
}

struct GoldenFile {
  const char* name;
  const char* graph;
  std::vector<Event> (*history)();
};

// A history that is not there yet, and the state of a fold version that is not in it yet.
void add_what_is_missing(const fs::path& path, const GoldenFile& file) {
  Json golden = read_golden(path);
  if (golden.is_null()) {
    golden = {{"run", "01900000-0000-7000-8000-000000000000"}, {"states", Json::object()}, {"events", Json::array()}};
    golden["graphs"] = {Json::parse(file.graph), Json::parse(golden_kid)};
    for (const Event& event : file.history()) golden["events"].push_back(event_file_json(event));
  }
  const std::string version = std::to_string(fold_version);
  if (golden["states"].contains(version)) return;
  golden["states"][version] = snapshot_json(folded(golden));
  fs::create_directories(path.parent_path());
  std::ofstream(path) << golden.dump(1) << "\n";
}

TEST(GoldenHistory, events_once_written_fold_to_the_states_they_folded_to_then) {
  const fs::path folder = fs::path(testing::source_dir()) / "tests/golden/histories";
  const GoldenFile files[] = {{"everything_open.json", everything, [] { return made_history(false); }},
                              {"everything_ended.json", everything, [] { return made_history(true); }},
                              {"map_items.json", over_items, items_history},
                              {"cleanup.json", cut_short, cleanup_history},
                              {"language.json", speaking, language_history}};
  for (const GoldenFile& file : files) {
    const fs::path path = folder / file.name;
    if (std::getenv("CAIRN_UPDATE_GOLDEN") != nullptr) add_what_is_missing(path, file);
    const Json golden = read_golden(path);
    ASSERT_TRUE(golden.is_object()) << path << " is missing; CAIRN_UPDATE_GOLDEN=1 makes it";
    const std::string version = std::to_string(fold_version);
    ASSERT_TRUE(golden["states"].contains(version)) << "run with CAIRN_UPDATE_GOLDEN=1 to add fold version " << version;
    EXPECT_EQ(snapshot_json(folded(golden)).dump(1), golden["states"][version].dump(1))
        << "the fold has changed: raise fold_version, then run with CAIRN_UPDATE_GOLDEN=1";
  }
}

}  // namespace
}  // namespace cairn
