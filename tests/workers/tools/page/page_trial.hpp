// Pages that judge themselves, driven by page_agent in a real browser with a scripted model. For one thread.
//
// The plans are a JSON file: {"tasks": [{"name", "page", "actions", ...}]}.
//   name      of the task
//   page      the page's path below the folder of pages
//   actions   the acts in their order, as page_agent takes them (workers/tools/page/action.hpp): click("Submit"). Each
//   is
//             a step of the plan that the scripted model makes; it judges each as a success, and the last as the end.
//   seed      for pages with Math.seedrandom: what they draw is the same each time; default "1"
//   extracts  the model's replies to the acts extract(...), in their order: {"value", "quotes"}
//   input     more of the run's input, as "secrets"
//   verdict   what the page must say; default 1
//
// A page says its verdict by asking the server for /verdict?value=N. One of the MiniWoB++ form (core.startEpisodeReal,
// core.endEpisode, WOB_RAW_REWARD_GLOBAL) need not: it is started, and its verdict sent, by lines that are added to it;
// its own limit of time holds unless the trial is made with another.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/json.hpp"
#include "tests/waiting.hpp"
#include "tests/workers/planners/planner_run.hpp"
#include "tests/workers/tools/page/page_server.hpp"
#include "workers/models/models.hpp"
#include "workers/ports/tools.hpp"
#include "workers/tools/page/tools.hpp"

namespace cairn::test {

struct PageVerdict {
  std::optional<std::string> value;  // as the page said it first; nothing: it said nothing
  std::string reason;                // why the run ended
  Json output;
  Json page;            // as it was seen last
  std::string history;  // all events of the run, as text
  std::string prompts;  // all that the model was asked
  Json screenshot;      // the channel, as it is stored
  Json picture;         // the same, as it is read
};

class PageTrial {
 public:
  PageTrial(std::filesystem::path folder, std::int64_t episode_ms, PageToolOptions options = {})
      : folder_(std::move(folder)),
        episode_ms_(episode_ms),
        options_(std::move(options)),
        server_([this](const std::string& path) { return serve(path); }) {}

  std::string url(const std::string& path) const { return server_.url(path); }

  void use(PageToolOptions options) { options_ = std::move(options); }

  PageVerdict run(const Json& task) {
    seed_ = task.value("seed", "1");
    {
      const std::lock_guard lock(mutex_);
      verdict_.reset();
    }
    PageToolOptions options = options_;
    options.pages = server_.url("/") + " http://localhost:" + server_.port() + "/";
    PlannerRun planner(make_scripted_model(script_of(task)), make_tools(page_tools(options), 2));
    Json input = {{"goal", task.value("name", "a task")},
                  {"url", server_.url("/" + task.at("page").get<std::string>())},
                  {"settings", {{"velocity_limit", 1000}}}};
    input.update(task.value("input", Json::object()), true);
    const RunId run = planner.run("page_agent", input);
    const RunState state = planner.state(run);
    PageVerdict result;
    // The page may say it after its last change.
    if (state.status == RunStatus::done) wait_until([this] { return verdict().has_value(); });
    result.value = verdict();
    result.reason = state.reason;
    result.output = planner.output(run);
    result.page = planner.channel(run, "page");
    for (const Json& event : planner.events(run, "step_succeeded")) result.history += canonical(event) + "\n";
    for (const char* type : {"step_failed", "decision_proposed", "decision_enforced", "tool_called", "model_called"})
      for (const Json& event : planner.events(run, type)) result.history += canonical(event) + "\n";
    for (const ModelRequest& request : planner.model().requests) result.prompts += canonical(request.messages) + "\n";
    result.history += result.prompts;
    result.screenshot = read_channel(state, root_branch, "screenshot");
    result.picture = planner.channel(run, "screenshot");
    return result;
  }

 private:
  static Json script_of(const Json& task) {
    const Json actions = task.at("actions");
    Json steps = Json::array();
    Json replies = Json::array();
    const auto says = [&replies](const char* node, Json value) {
      replies.push_back({{"node", node}, {"value", std::move(value)}});
    };
    for (const Json& action : actions) {
      steps.push_back({{"description", action},
                       {"reasoning", "It is the next act of the plan."},
                       {"tool_type", "DOM"},
                       {"expected_outcome", "The act is done."},
                       {"phase", "all"}});
    }
    says("context_analysis", {{"needs_search", false},
                              {"query", ""},
                              {"rag_sufficient", true},
                              {"grounding_confidence", 1},
                              {"reason", "The plan is given."}});
    says("planning", {{"steps", steps}, {"contingencies", Json::array()}});
    says("decompose_plan", {{"sub_tasks",
                             {{{"name", "all"},
                               {"objective", "all"},
                               {"inputs", Json::array()},
                               {"outputs", Json::array()},
                               {"estimated_steps", 9}}}}});
    for (std::size_t at = 0; at < actions.size(); ++at) {
      says("step_refinement", {{"thought", "t"}, {"tool_type", "DOM"}, {"action", actions[at]}});
      says("verification",
           {{"action_succeeded", true}, {"task_completed", at + 1 == actions.size()}, {"confidence", 0.9}});
      says("replanning", {{"valid", true},
                          {"reason", "The plan holds."},
                          {"suggested_changes", Json::array()},
                          {"needs_full_replan", false}});
    }
    for (const Json& extract : task.value("extracts", Json::array())) says("act", extract);
    return {{"replies", std::move(replies)}};
  }

  std::optional<std::string> verdict() const {
    const std::lock_guard lock(mutex_);
    return verdict_;
  }

  ServedPage serve(const std::string& asked) {
    static const std::string question = "/verdict?value=";
    if (asked.starts_with(question)) {
      const std::lock_guard lock(mutex_);
      if (!verdict_) verdict_ = asked.substr(question.size());
      return {"", "Content-Type: text/plain\r\n"};
    }
    std::string path = asked.substr(0, asked.find_first_of("?#"));
    ServedPage page;
    if (path.starts_with("/after/")) {  // /after/MS/PATH
      page.delay_ms = std::stoi(path.substr(7));
      path = path.substr(path.find('/', 7));
    }
    std::ifstream file(folder_ / path.substr(1), std::ios::binary);
    if (!file) {
      page.headers = "Content-Type: text/plain\r\n";
      page.status = "404 Not Found";
      return page;
    }
    page.body = std::string(std::istreambuf_iterator<char>(file), {});
    const std::string ending = std::filesystem::path(path).extension().string();
    const std::string type = ending == ".html"   ? "text/html; charset=utf-8"
                             : ending == ".js"   ? "text/javascript"
                             : ending == ".css"  ? "text/css"
                             : ending == ".json" ? "application/json"
                             : ending == ".png"  ? "image/png"
                             : ending == ".gif"  ? "image/gif"
                                                 : "application/octet-stream";
    page.headers = "Content-Type: " + type + "\r\n";
    if (ending == ".html") page.body += starting();
    return page;
  }

  // Starts an episode of a page of that form once it has loaded, and sends its verdict.
  std::string starting() const {
    const std::string limit = episode_ms_ == 0 ? "" : "core.EPISODE_MAX_TIME = " + std::to_string(episode_ms_) + ";";
    return "<script>addEventListener('load', () => {"
           "if (typeof core === 'undefined' || !core.startEpisodeReal) return;" +
           limit +
           "const end = core.endEpisode; core.endEpisode = function () { const before = WOB_EPISODE_ID;"
           "end.apply(core, arguments); if (WOB_EPISODE_ID !== before) fetch('/verdict?value=' + "
           "WOB_RAW_REWARD_GLOBAL); };"
           "Math.seedrandom(" +
           canonical(Json(seed_)) + "); core.startEpisodeReal(); });</script>";
  }

  std::filesystem::path folder_;
  std::int64_t episode_ms_;
  PageToolOptions options_;
  std::string seed_;
  mutable std::mutex mutex_;
  std::optional<std::string> verdict_;
  PageServer server_;
};

}  // namespace cairn::test
