// The second job on real input: recorded workflows whose tasks run once each in the order of their edges, whichever
// worker dies; and plans that a model wrote, the sound and the faulty.
#include <csignal>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>

#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

// --- recorded workflows ----------------------------------------------------------------------------------------------

// A WfFormat instance as a plan: a task is a sub-goal, its parents stand in `after`.
Json plan_of_instance(const std::filesystem::path& file) {
  const Json instance = Json::parse(read_file(file));
  Json plan = {{"goal", instance["name"]}, {"sub_goals", Json::array()}};
  for (const Json& task : instance["workflow"]["specification"]["tasks"])
    plan["sub_goals"].push_back(
        {{"id", task["id"]}, {"tool", "task"}, {"inputs", {{"name", task["name"]}}}, {"after", task["parents"]}});
  return plan;
}

std::vector<std::filesystem::path> instances() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(testing::samples() + "/wfinstances"))
    if (entry.path().extension() == ".json" && entry.path().filename() != "wfcommons-schema.json")
      files.push_back(entry.path());
  return files;
}

// A tool `task` that notes when each execution of a sub-goal starts and ends, and takes so many seconds.
struct Recorder {
  Recorder(const std::string& name, const std::string& seconds) : log(directory() / (name + ".log")) {
    const std::string script =
        write_file(name + ".sh",
                   "document=$(cat)\n"
                   "run=$(printf '%s' \"$document\" | sed 's/.*\"run\":\"\\([^\"]*\\)\".*/\\1/')\n"
                   "goal=$(printf '%s' \"$document\" | sed 's/.*\"sub_goal\":\"\\([^\"]*\\)\".*/\\1/')\n"
                   "echo \"start $run $goal\" >> " +
                       log.string() + "\nsleep " + seconds + "\necho \"end $run $goal\" >> " + log.string() +
                       "\necho '{\"done\": true}'\n");
    const Json document = {{"tools", {{"task", {{"exec", {"/bin/sh", script}}}}}}};
    tools = write_file(name + ".json", document.dump());
  }
  std::filesystem::path log;
  std::string tools;
};

struct Executions {
  std::map<std::string, int> starts;
  std::map<std::string, int> first_start;  // line numbers
  std::map<std::string, int> first_end;
};

Executions executions_of(const Recorder& recorder, const std::string& run) {
  Executions executions;
  std::istringstream text(read_file(recorder.log));
  std::string noted;
  for (int line = 0; std::getline(text, noted); ++line) {
    std::istringstream words(noted);
    std::string word, of, goal;
    // A program whose worker is killed while it hands over the document receives none, and notes that.
    if (!(words >> word >> of >> goal) || of != run) continue;
    if (word == "start") ++executions.starts[goal];
    (word == "start" ? executions.first_start : executions.first_end).emplace(goal, line);
  }
  return executions;
}

void expect_in_order(const Json& plan, const Executions& executions) {
  for (const Json& goal : plan["sub_goals"])
    for (const std::string parent : goal["after"])
      EXPECT_LT(executions.first_end.at(parent), executions.first_start.at(goal["id"]))
          << parent << " before " << goal["id"];
}

void expect_once_each(const Json& plan, const Executions& executions) {
  EXPECT_EQ(executions.starts.size(), plan["sub_goals"].size());
  for (const auto& [goal, count] : executions.starts) EXPECT_EQ(count, 1) << goal;
}

void expect_closed_once_each(const Json& plan, const std::string& run) {
  std::map<std::string, int> closed;
  for (const Json& event : cairn_ok({"events", run, "--json"}).lines())
    if (event["type"] == "sub_goal_closed") ++closed[event["sub_goal"]];
  EXPECT_EQ(closed.size(), plan["sub_goals"].size());
  for (const auto& [goal, count] : closed) EXPECT_EQ(count, 1) << goal;
}

std::vector<Beside> start_workers(int count, const Recorder& recorder, const std::string& concurrency) {
  std::vector<Beside> workers;
  for (int i = 0; i < count; ++i)
    workers.emplace_back(Arguments{"work", "--tools", recorder.tools, "--concurrency", concurrency});
  return workers;
}

void stop(std::vector<Beside>& workers) {
  for (Beside& worker : workers) worker.signal(SIGTERM);
  for (Beside& worker : workers) EXPECT_EQ(worker.wait(), 0);
}

struct Begun {
  Json plan;
  std::string run;
};

std::vector<Begun> start_all(const Recorder& recorder) {
  std::vector<Begun> begun;
  for (const std::filesystem::path& file : instances()) {
    Json plan = plan_of_instance(file);
    const std::string input = "@" + write_file("plan.json", plan.dump()).string();
    const Ran ran = cairn_ok({"start", "plan_runner", "--input", input, "--tools", recorder.tools, "--json"});
    begun.push_back({std::move(plan), ran.json()["run"]});
  }
  return begun;
}

bool have_ended(const std::vector<Begun>& begun) {
  return std::all_of(begun.begin(), begun.end(), [](const Begun& one) {
    return cairn_ok({"show", one.run, "--json"}).json()["status"] != "running";
  });
}

void execute_with(int processes) {
  const Recorder recorder("workflow" + std::to_string(processes), "0");
  std::vector<Beside> workers = start_workers(processes, recorder, "16");
  const std::vector<Begun> begun = start_all(recorder);
  ASSERT_EQ(begun.size(), 4u);
  EXPECT_TRUE(wait_until([&] { return have_ended(begun); }, std::chrono::seconds(120)));
  stop(workers);
  for (const Begun& one : begun) {
    EXPECT_EQ(cairn_ok({"show", one.run, "--json"}).json()["status"], "done");
    const Executions executions = executions_of(recorder, one.run);
    expect_once_each(one.plan, executions);
    expect_in_order(one.plan, executions);
    expect_closed_once_each(one.plan, one.run);
  }
}

TEST(PlanRunner, recorded_workflows_run_each_task_once_with_one_worker) {
  if (!testing::has_samples()) GTEST_SKIP() << "there is no folder of samples";
  execute_with(1);
}

TEST(PlanRunner, recorded_workflows_run_each_task_once_with_four_workers) {
  if (!testing::has_samples()) GTEST_SKIP() << "there is no folder of samples";
  execute_with(4);
}

TEST(PlanRunner, recorded_workflows_survive_a_worker_killed_every_second) {
  if (!testing::has_samples()) GTEST_SKIP() << "there is no folder of samples";
  const Recorder recorder("killed", "0.3");
  std::vector<Beside> workers = start_workers(4, recorder, "6");
  const std::vector<Begun> begun = start_all(recorder);
  std::size_t kills = 0;
  auto next = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  const bool ended = wait_until(
      [&] {
        if (std::chrono::steady_clock::now() >= next) {
          Beside& victim = workers[kills++ % workers.size()];
          victim = Beside({"work", "--tools", recorder.tools, "--concurrency", "6"});
          next += std::chrono::seconds(1);
        }
        return have_ended(begun);
      },
      std::chrono::seconds(300));
  EXPECT_TRUE(ended);
  EXPECT_GE(kills, 3u);
  stop(workers);
  for (const Begun& one : begun) {
    EXPECT_EQ(cairn_ok({"show", one.run, "--json"}).json()["status"], "done");
    expect_in_order(one.plan, executions_of(recorder, one.run));
    expect_closed_once_each(one.plan, one.run);
  }
}

// --- plans that a model wrote ----------------------------------------------------------------------------------------

std::vector<Json> lines_of(const std::filesystem::path& file) {
  std::vector<Json> lines;
  std::istringstream text(read_file(file));
  for (std::string line; std::getline(text, line);)
    if (!line.empty()) lines.push_back(Json::parse(line));
  return lines;
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

Json plan_of_tasks(const Json& written) {
  Json plan = {{"goal", written["user_request"]}, {"sub_goals", Json::array()}};
  for (const Json& node : written["task_nodes"]) {
    Json after = Json::array();
    for (const Json& link : written["task_links"])
      if (link["target"] == node["task"]) after.push_back(link["source"]);
    plan["sub_goals"].push_back({{"id", node["task"]},
                                 {"tool", node["task"]},
                                 {"inputs", {{"arguments", node.value("arguments", Json::array())}}},
                                 {"after", after}});
  }
  return plan;
}

// Stand-ins for the tools of the tool graph, and for those of the reference plans, whose graph is not here.
std::string stand_ins(const std::filesystem::path& folder) {
  const std::string script = write_file("stand_in.sh", "cat > /dev/null\necho '{\"text\": \"done\"}'\n");
  Json tools = Json::object();
  const auto add = [&](const std::string& name) { tools[name] = {{"exec", {"/bin/sh", script}}}; };
  const Json graph = Json::parse(read_file(folder / "graph_desc.huggingface.json"));
  for (const Json& node : graph["nodes"]) add(node["id"]);
  for (const Json& plan : lines_of(folder / "gold.tmdb.jsonl"))
    for (const Json& node : plan["task_nodes"]) add(node["task"]);
  return write_file("stand_ins.json", Json{{"tools", tools}}.dump());
}

// "file id" -> verdict
std::map<std::string, std::string> verdicts(const std::filesystem::path& folder) {
  std::map<std::string, std::string> found;
  std::istringstream text(read_file(folder / "EXPECTED.tsv"));
  std::string file, id, nodes, links, verdict;
  std::getline(text, verdict);
  while (text >> file >> id >> nodes >> links >> verdict) found[file + " " + id] = verdict;
  return found;
}

struct Written {
  std::string verdict;
  Json plan;
};

// Sub-goals of a faulty plan: each has a result, or a reason why not.
void expect_every_sub_goal_explained(const Written& written, const Json& result) {
  const Json& output = result["output"];
  EXPECT_EQ(result["status"], "failed") << written.verdict;
  EXPECT_FALSE(output["failed"].empty()) << written.verdict << " " << output;
  std::set<std::string> told;
  for (const auto& [id, outputs] : output["results"].items()) told.insert(id);
  for (const Json& skipped : output["skipped"])
    told.insert(skipped.is_object() ? text_of(skipped["id"]) : text_of(skipped));
  for (const auto& [id, error] : output["failed"].items()) {
    told.insert(id);
    EXPECT_GT(text_of(error).size(), 10u) << id;
  }
  for (const Json& goal : written.plan["sub_goals"])
    EXPECT_TRUE(told.contains(goal["id"])) << goal["id"] << " " << output;
}

TEST(PlanRunner, the_plans_of_a_model_end_done_or_say_what_is_wrong) {
  if (!testing::has_samples()) GTEST_SKIP() << "there is no folder of samples";
  const std::filesystem::path folder = testing::samples() + "/taskbench";
  const std::map<std::string, std::string> expected = verdicts(folder);
  std::vector<Written> all;
  std::string inputs;
  for (const char* file : {"llm-plans.huggingface.codellama-13b.jsonl", "gold.tmdb.jsonl"}) {
    for (const Json& written : lines_of(folder / file)) {
      all.push_back({expected.at(std::string(file) + " " + text_of(written["id"])), plan_of_tasks(written)});
      inputs += all.back().plan.dump() + "\n";
    }
  }
  ASSERT_EQ(all.size(), 240u);
  const std::string out = directory() / "taskbench.out";
  const Ran ran = cairn({"batch", "plan_runner", "--inputs", write_file("taskbench.jsonl", inputs), "--out", out,
                         "--tools", stand_ins(folder), "--wait"});
  EXPECT_EQ(ran.exit, 1) << ran.err;  // some of them fail
  const std::vector<Json> results = lines_of(out);
  ASSERT_EQ(results.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].verdict == "valid")
      EXPECT_EQ(results[i]["status"], "done") << results[i];
    else
      expect_every_sub_goal_explained(all[i], results[i]);
  }
}

}  // namespace
}  // namespace cairn::program
