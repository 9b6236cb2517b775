// The page agent as its users run it: a real page in a real browser, offline, and a worker that is killed at it.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <mutex>
#include <stdlib.h>

#include "tests/ops/planners/planner_runs.hpp"
#include "tests/paths.hpp"
#include "tests/workers/ports/loopback.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

// The working directory is the sources' root, below which the page lies.
class AtRoot {
 public:
  AtRoot() { fs::current_path(testing::source_dir()); }
  AtRoot(const AtRoot&) = delete;
  AtRoot& operator=(const AtRoot&) = delete;
  ~AtRoot() { fs::current_path(before_); }

 private:
  fs::path before_ = fs::current_path();
};

const std::string input =
    Json{{"goal", "Add a new patient with name Jas"},
         {"url", testing::source_dir() + std::string("/workers/tools/page/pages/patient_register.html")}}
        .dump();

int browser_processes(pid_t worker) {
  const std::string mark = "cairn-browser-" + std::to_string(worker) + "-";
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc"))
    count += has(read_file(entry.path() / "cmdline"), mark) ? 1 : 0;
  return count;
}

void expect_jas(const std::string& run) {
  const Json shown = cairn_ok({"show", run, "--json"}).json();
  EXPECT_EQ(shown["status"], "done") << shown;
  EXPECT_TRUE(has(shown["channels"]["page"]["dom"], "<td>Jas</td>")) << shown["channels"]["page"];
}

TEST(PageAgent, the_patient_is_in_the_register_and_the_plan_says_what_became_of_each_step) {
  const AtRoot root;
  const Json ended = cairn_ok({"start", "page_agent", "--input", input, "--wait", "--json"}).json();
  EXPECT_EQ(ended["output"]["outcome"], "achieved");
  expect_jas(ended["run"]);
  const std::string plan = cairn_ok({"plan", ended["run"]}).out;
  EXPECT_TRUE(has(plan, "1.1  succeeded  Click \"New patient\"")) << plan;
  EXPECT_TRUE(has(plan, "1.3  succeeded  Save the form")) << plan;
  EXPECT_EQ(cairn_ok({"plan", ended["run"], "--json"}).json()[0]["status"], "succeeded");
}

TEST(PageAgent, the_step_under_way_is_open_and_the_plan_of_before_is_skipped) {
  const auto page = [](const std::string& more) { return "<button id=1>New patient</button>" + more; };
  const Json begin = {
      {"goal", "Add a new patient with name Jas"}, {"client", true}, {"url", "http://a/"}, {"dom", page("")}};
  const std::string run = cairn({"start", "page_agent", "--input", begin.dump(), "--wait", "--json"}).json()["run"];
  const std::string plan = cairn_ok({"plan", run}).out;
  EXPECT_TRUE(has(plan, "1.1  open")) << plan;
  EXPECT_TRUE(has(plan, "1.2  planned")) << plan;
  const Json other = {{"url", "http://b/"},
                      {"dom", page("<p>Another page</p>")}};  // without the field of the next step
  cairn_ok({"answer", run, "--value", other.dump()});
  Beside worker({"work"});
  EXPECT_TRUE(wait_until([&] { return has(cairn_ok({"plan", run}).out, "2.1  open"); })) << cairn_ok({"plan", run}).out;
  EXPECT_TRUE(has(cairn_ok({"plan", run}).out, "1.1  succeeded"));
  EXPECT_TRUE(has(cairn_ok({"plan", run}).out, "1.2  skipped"));
  cairn_ok({"cancel", run});
}

TEST(PageAgent, a_killed_worker_leaves_no_browser_and_another_one_ends_the_run) {
  const AtRoot root;
  Beside first({"work"});
  const std::string run = cairn_ok({"start", "page_agent", "--input", input, "--json"}).json()["run"];
  const auto acts = [&] { return has(cairn_ok({"events", run, "--json"}).out, "\"node\":\"load_context\""); };
  EXPECT_TRUE(wait_until(acts));
  const pid_t killed = first.pid();
  EXPECT_GT(browser_processes(killed), 0);
  first.signal(SIGKILL);
  first.wait();
  EXPECT_TRUE(wait_until([&] { return browser_processes(killed) == 0; }));
  Beside second({"work"});
  EXPECT_TRUE(wait_until([&] { return cairn_ok({"show", run, "--json"}).json()["status"] == "done"; }));
  expect_jas(run);
  const pid_t ended = second.pid();
  second.signal(SIGTERM);
  EXPECT_EQ(second.wait(), 0);
  EXPECT_TRUE(wait_until([&] { return browser_processes(ended) == 0; }));
}

constexpr const char* sign_in_page = R"html(<!doctype html><title>Sign in</title>
  <form><label>User <input name="user"></label><label>Password <input name="password" type="password"></label>
  <button>Sign in</button></form><p id="says"></p>
  <script>
    document.querySelector('form').addEventListener('submit', (event) => {
      event.preventDefault();
      const fields = event.target.elements;
      localStorage.setItem('last', fields.password.value);
      console.log('signing in with ' + fields.password.value);
      fetch('/signed', {method: 'POST', body: fields.user.value + ':' + fields.password.value});
      document.getElementById('says').textContent = 'Welcome, ' + fields.user.value;
    });
  </script>)html";

// The rule book fills in `{{NAME}}` by its name; the program logs all it can.
TEST(PageAgent, U7_the_rule_book_fills_in_a_secret_and_its_value_is_in_no_log_line_and_no_event) {
  const std::string value = "correct-horse-battery";
  std::mutex mutex;
  std::string signed_in;
  testing::LoopbackServer server([&](const testing::LoopbackServer::Request& request) {
    const std::lock_guard lock(mutex);
    if (request.target() == "/signed") signed_in = request.body();
    return testing::LoopbackServer::Reply{200, request.target() == "/" ? sign_in_page : "", false};
  });
  const std::string place = server.url("/");
  const Json secret = {{"env", "CAIRN_TEST_SIGN_IN"}, {"urls", {place}}};
  const fs::path tools =
      write_file("sign_in.json", Json{{"tools", Json::object()}, {"secrets", {{"shop_password", secret}}}}.dump());
  const fs::path log = directory() / "sign_in.log";
  const std::map<std::string, std::string> variables = {
      {"CAIRN_TEST_SIGN_IN", value},    {"CAIRN_BROWSER_PAGES", place},
      {"CAIRN_TOOLS", tools.string()},  {"CAIRN_LOG", "debug"},
      {"CAIRN_LOG_FILE", log.string()}, {"CAIRN_BROWSER_KEPT", (directory() / "kept_browsers").string()}};
  fs::create_directories(directory() / "kept_browsers");
  for (const auto& [name, text] : variables) setenv(name.c_str(), text.c_str(), 1);
  const Json task = {
      {"goal", "Sign in with user ann and password {{shop_password}}"}, {"url", place}, {"secrets", {"shop_password"}}};
  const Ran ran = cairn({"start", "page_agent", "--input", task.dump(), "--wait", "--json"});
  Json elsewhere = task;  // which fails, and says so in the log
  elsewhere["url"] = "http://127.0.0.1:1/";
  EXPECT_NE(cairn({"start", "page_agent", "--input", elsewhere.dump(), "--wait", "--json"}).exit, 0);
  for (const auto& [name, text] : variables) unsetenv(name.c_str());
  {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(signed_in, "ann:" + value) << ran.err;
  }
  EXPECT_EQ(ran.json()["status"], "done") << ran.out;
  const std::string events = cairn_ok({"events", ran.json()["run"], "--json"}).out;
  EXPECT_TRUE(has(events, "shop_password")) << events;
  const std::string logged = read_file(log);
  EXPECT_TRUE(has(logged, "An attempt failed")) << logged;
  for (const std::string* text : {&ran.out, &ran.err, &events, &logged}) EXPECT_FALSE(has(*text, value)) << *text;
}

// Between two actions a person answers, and each answer brings the run back into the queue, where two workers wait. The
// other one would open the page again, and what was typed into it would be gone.
TEST(PageAgent, U8_the_runs_steps_come_to_the_worker_that_has_its_browser) {
  const AtRoot root;
  const std::string page = testing::source_dir() + std::string("/workers/tools/page/pages/patient_register.html");
  const Json graph = {
      {"name", "typed"},
      {"start", "open"},
      {"limits", {{"steps", 100}}},
      {"nodes",
       {{"open",
         {{"do", "tool.call"},
          {"with", {{"tool", "page.observe"}, {"inputs", {{"url", page}}}}},
          {"on", {{"ok", "more"}, {"error", "lost"}}}}},
        {"more",
         {{"ask", {{"prompt", "Go on?"}, {"schema", {{"type", "boolean"}}}}},
          {"on", {{"answered", "act"}, {"expired", "lost"}}}}},
        {"act",
         {{"do", "tool.call"},
          {"with",
           {{"tool", "page.act"}, {"inputs", {{"url", page}, {"action", "scroll(\"down\")"}}}, {"into", "saw"}}},
          {"on", {{"ok", "more"}, {"error", "lost"}}}}},
        {"lost", {{"end", "failed"}}}}}};
  cairn_ok({"graph", "add", write_file("typed.json", graph.dump())});
  Beside first({"work"});
  Beside second({"work"});
  const std::string run = cairn_ok({"start", "typed", "--json"}).json()["run"];
  const auto waits = [&] { return cairn_ok({"show", run, "--json"}).json()["status"] == "waiting"; };
  const auto saw = [&] { return cairn_ok({"show", run, "--json"}).json()["channels"]["saw"]; };
  for (int actions = 0; actions < 8; ++actions) {
    ASSERT_TRUE(wait_until(waits)) << cairn_ok({"events", run}).out;
    const bool was_reopened = actions > 0 && saw().contains("reopened");
    EXPECT_FALSE(was_reopened) << "after " << actions;
    cairn_ok({"answer", run, "--value", "true"});
  }
  ASSERT_TRUE(wait_until(waits));

  // The worker that has it dies: the other one is not kept waiting.
  Beside& at_home = browser_processes(first.pid()) > 0 ? first : second;
  EXPECT_GT(browser_processes(at_home.pid()), 0);
  at_home.signal(SIGKILL);
  at_home.wait();
  cairn_ok({"answer", run, "--value", "true"});
  ASSERT_TRUE(wait_until(waits));
  EXPECT_EQ(saw()["reopened"], true);
  cairn_ok({"cancel", run});
}

// A failed attempt brings the step back into the queue, too.
TEST(PageAgent, U8_a_step_that_is_tried_again_comes_to_the_worker_that_has_its_browser) {
  const AtRoot root;
  const std::string page = testing::source_dir() + std::string("/workers/tools/page/pages/patient_register.html");
  constexpr int acts = 6;
  const auto node = [](const std::string& tool, Json inputs, const std::string& next) {
    return Json{{"do", "tool.call"},
                {"with", {{"tool", tool}, {"inputs", std::move(inputs)}}},
                {"on", {{"ok", next}, {"error", "lost"}}}};
  };
  Json nodes = {{"lost", {{"end", "failed"}}}, {"stumble" + std::to_string(acts), {{"end", "done"}}}};
  nodes["open"] = node("page.observe", {{"url", page}}, "stumble0");
  for (int i = 0; i < acts; ++i) {
    const std::string n = std::to_string(i);
    nodes["stumble" + n] = node("fail", {{"times", 1}}, "act" + n);
    nodes["stumble" + n]["retry"] = {{"attempts", 2}, {"backoff_ms", 200}};
    nodes["act" + n] =
        node("page.act", {{"url", page}, {"action", "press(\"Tab\")"}}, "stumble" + std::to_string(i + 1));
    nodes["act" + n]["with"]["into"] = "saw" + n;
  }
  const Json graph = {{"name", "stumbles"}, {"start", "open"}, {"limits", {{"steps", 100}}}, {"nodes", nodes}};
  cairn_ok({"graph", "add", write_file("stumbles.json", graph.dump())});
  Beside first({"work"});
  Beside second({"work"});
  const std::string run = cairn_ok({"start", "stumbles", "--json"}).json()["run"];
  for (int i = 0; i < acts; ++i) {
    Json saw;
    ASSERT_TRUE(wait_until([&] {
      saw = cairn_ok({"show", run, "--json"}).json()["channels"]["saw" + std::to_string(i)];
      return saw.is_object();
    })) << cairn_ok({"events", run}).out;
    EXPECT_EQ(saw["performed"], true) << saw;
    EXPECT_FALSE(saw.contains("reopened")) << saw;
  }
}

TEST(PageAgent, F11_a_relative_path_is_refused_when_the_run_starts) {
  for (const char* url : {"x.html", "./x.html", "pages/x.html", "shop.example/cart"})
    expect_refused(cairn({"start", "page_agent", "--input", Json{{"goal", "g"}, {"url", url}}.dump()}), 4, "url");
  for (const char* url : {"https://shop.example/", "/srv/x.html", "file:///srv/x.html"}) {
    const Json input = {{"goal", "g"}, {"url", url}};
    cairn_ok({"cancel", cairn_ok({"start", "page_agent", "--input", input.dump(), "--json"}).json()["run"]});
  }
}

}  // namespace
}  // namespace cairn::program
