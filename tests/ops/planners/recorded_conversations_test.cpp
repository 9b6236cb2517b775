// Recorded answers of real models, replayed over HTTP by a server that knows nothing else: conversations to their last
// word while workers die, planners that a verifier sends back, searches that gave up. Each ends, as it did or bounded.
#include <algorithm>
#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <stdlib.h>

#include "tests/ops/program.hpp"
#include "tests/paths.hpp"
#include "tests/workers/ports/loopback.hpp"

namespace cairn::program {
namespace {

using testing::LoopbackServer;
using ModelReply = LoopbackServer::Reply;
using Turns = std::vector<Json>;

constexpr std::chrono::seconds patience{120};

std::vector<Json> recorded(const std::string& prefix) {
  std::vector<Json> documents;
  for (const auto& entry : std::filesystem::directory_iterator(testing::samples() + "/trajectories"))
    if (entry.path().filename().string().starts_with(prefix)) documents.push_back(Json::parse(read_file(entry.path())));
  return documents;
}

Turns first(const Turns& turns, std::size_t count) {
  return {turns.begin(), turns.begin() + static_cast<std::ptrdiff_t>(count)};
}

ModelReply reply_of(const Json& body) { return {200, body.dump()}; }
ModelReply refusal(const std::string& says) { return {400, says}; }

// The model and the tools of some conversations. POST /v1/chat/completions, POST /tools/NAME.
class RecordedWorld {
 public:
  using Model = std::function<std::optional<Json>(const Turns& messages)>;  // the next turn; nothing: never recorded
  using Tool = std::function<Json(const std::string& name, const Json& call)>;

  RecordedWorld(Model model, Tool tool) : model_(std::move(model)), tool_(std::move(tool)) {
    for (const char* name : {"CAIRN_MODEL_URL", "CAIRN_MODEL"}) ::setenv(name, value_of(name).c_str(), 1);
  }
  ~RecordedWorld() {
    for (const char* name : {"CAIRN_MODEL_URL", "CAIRN_MODEL"}) ::unsetenv(name);
  }
  RecordedWorld(const RecordedWorld&) = delete;
  RecordedWorld& operator=(const RecordedWorld&) = delete;

  Arguments worker(const std::set<std::string>& tools) const {
    Json table = Json::object();
    for (const std::string& name : tools) table[name] = {{"http", server_.url("/tools/" + name)}};
    return {"work", "--tools", write_file("recorded_tools.json", Json{{"tools", table}}.dump())};
  }

  // Each `every`-th request that was not made before is not answered: `fault` is done in its place.
  void disturb(int every, std::function<void()> fault) {
    const std::lock_guard lock(mutex_);
    every_ = every;
    fault_ = std::move(fault);
  }

  int model_requests() const { return model_requests_; }
  int unknown_beginnings() const { return unknown_; }
  int faults() const { return faults_; }

 private:
  std::string value_of(const std::string& name) const {
    return name == "CAIRN_MODEL" ? "recorded" : server_.url("/v1");
  }

  ModelReply answer(const LoopbackServer::Request& request) {
    const std::lock_guard lock(mutex_);
    const std::string target(request.target());
    const Json body = Json::parse(request.body());
    if (fault_ && seen_.insert(target + request.body()).second && static_cast<int>(seen_.size()) % every_ == 0) {
      ++faults_;
      fault_();
      return refusal("nobody reads this");
    }
    if (target != "/v1/chat/completions") return reply_of(tool_(target.substr(std::string("/tools/").size()), body));
    ++model_requests_;
    const std::optional<Json> turn = model_(body["messages"].get<Turns>());
    unknown_ += turn ? 0 : 1;
    if (!turn) return refusal("Expected a recorded beginning.");
    return reply_of({{"choices", {{{"index", 0}, {"message", *turn}}}}});
  }

  Model model_;
  Tool tool_;
  std::mutex mutex_;
  int every_ = 0;
  std::function<void()> fault_;
  std::set<std::string> seen_;
  std::atomic<int> model_requests_ = 0;
  std::atomic<int> unknown_ = 0;
  std::atomic<int> faults_ = 0;
  LoopbackServer server_{[this](const LoopbackServer::Request& request) { return answer(request); }};
};

Json shown(const std::string& run) { return cairn_ok({"show", run, "--json"}).json(); }

void answer_question(const std::string& run, const Json& value) {
  cairn_ok({"answer", run, "--value", value.dump(), "--json"});
}

// "waiting" while a question is open; another than "running" and that at its end.
std::string settled_status(const std::string& run) {
  std::string status;
  EXPECT_TRUE(wait_until([&] { return (status = shown(run)["status"]) != "running"; }, patience)) << run;
  return status;
}

Json output_of(const std::string& run) { return shown(run)["output"]; }

// --- customer service ------------------------------------------------------------------------------------------------

std::optional<Json> next_turn(const Turns& conversation, const Turns& messages) {
  const bool is_beginning = messages.size() < conversation.size() && messages == first(conversation, messages.size());
  return is_beginning ? std::optional(conversation[messages.size()]) : std::nullopt;
}

// The recorded answer of each call, by tool and arguments, in order; the same again for the same key.
class RecordedTools {
 public:
  explicit RecordedTools(const Turns& turns) {
    for (std::size_t i = 0; i + 1 < turns.size(); ++i) {
      const Json calls = turns[i].value("tool_calls", Json::array());
      for (std::size_t c = 0; c < calls.size(); ++c) {
        const Json& function = calls[c]["function"];
        const std::string name = function["name"];
        names.insert(name);
        left_[name + Json::parse(function["arguments"].get<std::string>()).dump()].push_back(
            turns.at(i + 1 + c)["content"]);
      }
    }
  }

  Json operator()(const std::string& name, const Json& call) {
    const auto [told, is_new] = told_.try_emplace(call["key"]);
    std::vector<std::string>& texts = left_[name + call["inputs"].dump()];
    if (is_new && !texts.empty()) {
      told->second = texts.front();
      texts.erase(texts.begin());
    }
    return {{"content", told->second}};
  }

  std::set<std::string> names;

 private:
  std::map<std::string, std::vector<std::string>> left_;
  std::map<std::string, std::string> told_;
};

// The person says what they said then, until the conversation's last turn.
void converse(const std::string& run, const Turns& turns) {
  for (std::size_t at = 2; at < turns.size(); ++at) {
    if (turns[at]["role"] != "user") continue;
    ASSERT_EQ(settled_status(run), "waiting") << at << " " << shown(run)["reason"];
    answer_question(run, at + 1 == turns.size() ? Json{{"end", true}} : turns[at]["content"]);
  }
  EXPECT_EQ(settled_status(run), "done");
}

TEST(RecordedConversations, are_had_to_the_end_over_HTTP_while_workers_are_killed) {
  if (!testing::has_samples()) GTEST_SKIP() << "there is no folder of samples";
  int killed = 0;
  for (const Json& episodes : recorded("tau-")) {
    for (const Json& episode : episodes) {
      const Turns turns = episode["traj"].get<Turns>();
      RecordedTools tools(turns);
      RecordedWorld world([&](const Turns& messages) { return next_turn(turns, messages); }, std::ref(tools));
      const Arguments work = world.worker(tools.names);
      Beside worker(work);
      world.disturb(6, [&] { worker = Beside(work); });
      const Json input = {{"messages", first(turns, 2)}};
      const std::string run = cairn_ok({"start", "tool_agent", "--input",
                                        "@" + write_file("episode.json", input.dump()).string(), "--json"})
                                  .json()["run"];
      converse(run, turns);
      world.disturb(1, nullptr);
      EXPECT_EQ(output_of(run)["messages"], Json(first(turns, turns.size() - 1)));
      EXPECT_EQ(world.unknown_beginnings(), 0);
      killed += world.faults();
    }
  }
  EXPECT_GT(killed, 3) << "nobody was killed";
}

// --- a planner and its verifier --------------------------------------------------------------------------------------

constexpr int rounds_max = 15;

Json backprompt_graph() {
  return Json::parse(R"({
    "name": "backprompt", "start": "plan",
    "channels": {"messages": {"reducer": "append"}},
    "limits": {"steps": 100}, "budgets": {"rounds": {"cap": 15}},
    "nodes": {
      "plan": {"do": "model.chat", "with": {"messages": "$messages"}, "spends": "rounds",
               "on": {"ok": "say", "exhausted": "gave_up"}},
      "say": {"do": "data.set", "with": {"set": {"messages": [{"role": "assistant", "content": "$reply"}]}},
              "on": {"ok": "verify"}},
      "verify": {"do": "tool.call", "with": {"tool": "verifier", "inputs": {"messages": "$messages"}, "into": "verdict"},
                 "on": {"ok": "judge"}},
      "judge": {"do": "data.pick", "labels": ["right", "wrong"],
                "with": {"value": "$verdict/correct", "labels": {"true": "right", "false": "wrong"}},
                "on": {"right": "solved", "wrong": "tell"}},
      "tell": {"do": "data.set", "with": {"set": {"messages": [{"role": "user", "content": "$verdict/feedback"}]}},
               "on": {"ok": "plan"}},
      "solved": {"end": {"status": "done", "output": {"plan": "$reply"}}},
      "gave_up": {"end": {"status": "failed", "reason": "Expected a correct plan within 15 rounds, but got none."}}}})");
}

// The feedback that followed in the record, or, at its end, the record's word on the plan.
Json verdict_on(const std::vector<Json>& instances, const Turns& messages) {
  for (const Json& instance : instances) {
    const Turns turns = instance["messages"].get<Turns>();
    if (messages == turns) return {{"correct", instance["correct"]}, {"feedback", "The above plan is invalid."}};
    if (const std::optional<Json> next = next_turn(turns, messages))
      return {{"correct", false}, {"feedback", (*next)["content"]}};
  }
  return {{"correct", true}, {"feedback", ""}};  // would end with a plan that was never made
}

TEST(RecordedConversations, a_planner_is_sent_back_by_its_verifier_until_it_is_right_or_has_had_its_rounds) {
  if (!testing::has_samples()) GTEST_SKIP() << "there is no folder of samples";
  std::vector<Json> instances;
  for (const Json& document : recorded("planbench-backprompt-"))
    for (const Json& instance : document["instances"]) instances.push_back(instance);
  const auto model = [&](const Turns& messages) -> std::optional<Json> {
    for (const Json& instance : instances)
      if (std::optional<Json> next = next_turn(instance["messages"].get<Turns>(), messages)) return next;
    return std::nullopt;
  };
  RecordedWorld world(model, [&](const std::string&, const Json& call) {
    return verdict_on(instances, call["inputs"]["messages"].get<Turns>());
  });
  const Arguments work = world.worker({"verifier"});
  cairn_ok({"graph", "add", write_file("backprompt.json", backprompt_graph().dump()), "--json"});
  std::string inputs;
  for (const Json& instance : instances)
    inputs += Json{{"messages", first(instance["messages"].get<Turns>(), 2)}}.dump() + "\n";
  const std::string out = directory() / "backprompt.out";
  Beside worker(work);
  const Ran ran = cairn({"batch", "backprompt", "--inputs", write_file("backprompt.jsonl", inputs), "--out", out,
                         "--tools", work[2], "--wait"});
  EXPECT_EQ(ran.exit, 1) << ran.err;  // one is never right
  std::istringstream text(read_file(out));
  std::size_t n = 0;
  for (std::string line; std::getline(text, line); ++n) {
    const Json result = Json::parse(line);
    const Json& instance = instances.at(n);
    const int steps = instance["steps"];
    EXPECT_LE(steps, rounds_max);
    EXPECT_EQ(result["status"], instance["correct"] == true ? "done" : "failed") << result;
    const Json state = shown(result["run"]);
    EXPECT_EQ(state["budgets"]["rounds"]["used"], steps) << state["budgets"];
    if (instance["correct"] == true)
      EXPECT_EQ(result["output"]["plan"], instance["messages"].back()["content"]);
    else
      EXPECT_NE(result["reason"].get<std::string>().find("within 15 rounds"), std::string::npos) << result;
  }
  EXPECT_EQ(n, instances.size());
  EXPECT_EQ(world.unknown_beginnings(), 0);
}

// --- a depth-first search over tools ---------------------------------------------------------------------------------

struct Action {
  std::string thought;
  std::string tool;
  std::string arguments;  // as the model wrote them; perhaps no JSON
  std::string observation;
};
using Path = std::vector<Action>;

// Each way from the root to a leaf, given up or not.
void paths_below(const Json& node, Path path, std::vector<Path>& paths) {
  const std::string type = node["node_type"];
  const std::string said = node["description"];
  if (type == "Thought") {
    path.push_back({said, "", "", ""});
  } else if (type == "Action") {
    if (path.empty() || !path.back().tool.empty()) path.push_back({});
    path.back().tool = said;
  } else if (!path.empty()) {
    path.back().arguments = said;
    path.back().observation = node.value("observation", "");
  }
  for (const Json& child : node["children"]) paths_below(child, path, paths);
  if (node["children"].empty()) paths.push_back(std::move(path));
}

Json turn_of(const Action& action, std::size_t at) {
  Json turn = {{"role", "assistant"}, {"content", action.thought}};
  if (!action.tool.empty())
    turn["tool_calls"] = {{{"id", "call" + std::to_string(at)},
                           {"type", "function"},
                           {"function", {{"name", action.tool}, {"arguments", action.arguments}}}}};
  return turn;
}

std::optional<Json> next_action(const Path& path, const Turns& messages) {
  const auto said = static_cast<std::size_t>(std::count_if(
      messages.begin(), messages.end(), [](const Json& message) { return message["role"] == "assistant"; }));
  if (said < path.size()) return turn_of(path[said], said);
  return Json{{"role", "assistant"}, {"content", "This is the end of the record."}};
}

// Replays the same calls, each with its observation, whatever their outcome.
void search_again(const Json& document, const Path& path) {
  std::set<std::string> offered = {"Finish"};
  for (const Json& function : document["answer_generation"]["function"]) offered.insert(function["name"]);
  const auto observe = [&](const std::string& tool, const Json& call) -> Json {
    const auto same = [&](const Action& action) {
      return action.tool == tool && Json::parse(action.arguments, nullptr, false) == call["inputs"];
    };
    const auto asked = std::find_if(path.begin(), path.end(), same);
    return {{"content", asked == path.end() ? "never asked in the record" : asked->observation}};
  };
  RecordedWorld world([&](const Turns& messages) { return next_action(path, messages); }, observe);
  Beside worker(world.worker(offered));
  const Json input = {{"messages", {{{"role", "user"}, {"content", document["answer_generation"]["query"]}}}}};
  const std::string run =
      cairn_ok({"start", "tool_agent", "--input", "@" + write_file("search.json", input.dump()).string(), "--json"})
          .json()["run"];
  for (bool is_over = false; !is_over;) {  // a thought without an action asks the person, who says no more than that
    ASSERT_EQ(settled_status(run), "waiting") << shown(run)["reason"];
    is_over = world.model_requests() > static_cast<int>(path.size());
    answer_question(run, is_over ? Json{{"end", true}} : Json("Go on."));
  }
  EXPECT_EQ(settled_status(run), "done");
  std::vector<std::string> told;
  const Json output = output_of(run);
  for (const Json& message : output["messages"])
    if (message["role"] == "tool") told.push_back(message["content"]);
  std::size_t next = 0;
  for (const Action& action : path) {
    if (action.tool.empty()) continue;
    ASSERT_LT(next, told.size());
    const Json arguments = Json::parse(action.arguments, nullptr, false);
    const bool is_sound = offered.contains(action.tool) && arguments.is_object();
    if (is_sound)
      EXPECT_EQ(told[next], action.observation) << action.tool;
    else
      EXPECT_TRUE(told[next].starts_with("Error: Expected")) << told[next];
    ++next;
  }
  EXPECT_EQ(next, told.size());
}

TEST(RecordedConversations, each_path_of_a_search_over_tools_comes_to_its_end) {
  if (!testing::has_samples()) GTEST_SKIP() << "there is no folder of samples";
  std::size_t count = 0;
  for (const Json& document : recorded("toolbench-dfs-")) {
    std::vector<Path> paths;
    paths_below(document["tree"]["tree"], {}, paths);
    for (const Path& path : paths) search_again(document, path);
    count += paths.size();
  }
  EXPECT_GT(count, 0U);
}

}  // namespace
}  // namespace cairn::program
