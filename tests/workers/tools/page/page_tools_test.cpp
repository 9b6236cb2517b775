// The page tools and the page agent on a real page in a real browser.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sstream>
#include <unistd.h>

#include "tests/paths.hpp"
#include "tests/waiting.hpp"
#include "tests/workers/planners/planner_run.hpp"
#include "tests/workers/ports/loopback.hpp"
#include "workers/ids.hpp"
#include "workers/planners/page_agent/rules.hpp"
#include "workers/ports/secrets.hpp"
#include "workers/tools/page/action.hpp"
#include "workers/tools/page/dom.hpp"
#include "workers/tools/page/tools.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;
using test::PlannerRun;

const std::string source = testing::source_dir();
const std::string register_page = source + "/workers/tools/page/pages/patient_register.html";

bool shows(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::unique_ptr<Tools> browser_tools(PageToolOptions options = {"file://" + source, ""}) {
  return make_tools(page_tools(std::move(options)), 2);
}

// Empty if the process has just ended: reading fails then, which a bare iterator over the stream would throw.
std::string command_line_of(const fs::path& process) {
  std::ostringstream line;
  line << std::ifstream(process / "cmdline", std::ios::binary).rdbuf();
  return line.str();
}

// The processes that stand for a browser of this one.
int browser_processes() {
  const std::string mark = "cairn-browser-" + std::to_string(getpid()) + "-";
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    count += shows(command_line_of(entry.path()), mark) ? 1 : 0;
  }
  return count;
}

// Ends the browsers of this process, as a crash of them would.
void end_browsers() {
  const std::string mark = "cairn-browser-" + std::to_string(getpid()) + "-";
  for (const auto& entry : fs::directory_iterator("/proc")) {
    if (shows(command_line_of(entry.path()), mark)) ::kill(std::atoi(entry.path().filename().c_str()), SIGKILL);
  }
}

bool wait_until_no_browser() {
  return test::wait_until([] { return browser_processes() == 0; });
}

// Calls of one run.
class Calls {
 public:
  explicit Calls(Tools& tools) : tools_(&tools), run_(new_run_id()) {}
  void go_on_with(Tools& others) { tools_ = &others; }
  ToolAnswer call(const std::string& tool, Json inputs, StepId step = 1) {
    ToolCall call;
    call.run = run_;
    call.step = step;
    call.tool = tool;
    call.key = to_string(run_) + "/" + std::to_string(step);
    call.inputs = std::move(inputs);
    return testing::run(tools_->call(std::move(call)));
  }
  Json observe(const std::string& url = register_page) {
    auto answer = call("page.observe", {{"url", url}});
    EXPECT_TRUE(answer.ok()) << answer.error().message;
    return answer ? *answer : Json::object();
  }
  Json act(const std::string& action, const Json& page, StepId step) {
    const PageElements elements = read_page(page.value("dom", ""));
    const PageElement* element = find_element(elements, parse_action(action)->number);
    auto answer = call(
        "page.act",
        {{"url", page["url"]}, {"action", action}, {"element", element == nullptr ? "?" : signature(*element)}}, step);
    EXPECT_TRUE(answer.ok()) << answer.error().message;
    return answer ? *answer : Json::object();
  }

 private:
  Tools* tools_;
  RunId run_;
};

std::string number_of(const Json& page, const std::string& label) {
  const PageElements elements = read_page(page.value("dom", ""));
  const PageElement* element = find_labelled(elements, label);
  return element == nullptr ? "0" : std::to_string(*element->number);
}

TEST(PageTools, a_page_is_told_and_acted_upon) {
  {
    const auto tools = browser_tools();
    Calls calls(*tools);
    Json page = calls.observe();
    EXPECT_EQ(page["title"], "Patient register");
    EXPECT_TRUE(shows(page["dom"], "<td>Ada Brown</td>")) << page["dom"];
    EXPECT_FALSE(shows(page["dom"], "<form")) << "what is hidden is not told";
    page = calls.act("click(" + number_of(page, "New patient") + ")", page, 2);
    EXPECT_EQ(page["performed"], true);
    page = calls.act("setValue(" + number_of(page, "Name") + ", \"Jäs <b>\")", page, 3);
    page = calls.act("setValue(" + number_of(page, "Date of birth") + ", \"1990-01-02\")", page, 4);
    page = calls.act("setValue(" + number_of(page, "Ward") + ", \"surgery\")", page, 5);
    EXPECT_TRUE(shows(page["dom"], "value=\"Jäs &lt;b&gt;\"")) << page["dom"];
    EXPECT_TRUE(shows(page["dom"], "value=\"1990-01-02\"")) << page["dom"];
    EXPECT_TRUE(shows(page["dom"], "value=\"Surgery\"")) << page["dom"];
    page = calls.act("click(" + number_of(page, "Save") + ")", page, 6);
    EXPECT_TRUE(shows(page["dom"], "<td>Jäs &lt;b&gt;</td>\n<td>1990-01-02</td>\n<td>Surgery</td>")) << page["dom"];
  }
  EXPECT_TRUE(wait_until_no_browser());
}

// Each browser left a folder in the machine's own for temporary files. Here that is one which no other browser uses.
TEST(PageTools, a_browser_leaves_no_files_behind) {
  const fs::path before = fs::temp_directory_path();
  const fs::path folder = before / ("cairn_pages_" + std::to_string(getpid()));
  fs::create_directory(folder);
  ::setenv("TMPDIR", folder.c_str(), 1);
  {
    const auto tools = browser_tools();
    Calls(*tools).observe();
  }
  ::setenv("TMPDIR", before.c_str(), 1);
  EXPECT_TRUE(wait_until_no_browser());
  EXPECT_TRUE(fs::is_empty(folder));
  fs::remove_all(folder);
}

TEST(PageTools, U5_what_lies_over_a_page_is_told_first_and_what_it_covers_is_marked) {
  const auto tools = browser_tools();
  Calls calls(*tools);
  const Json page = calls.observe(source + "/tests/workers/tools/page/pages/consent.html");
  const std::string dom = page["dom"];
  const std::size_t reject = dom.find("Reject all");
  const std::size_t prices = dom.find(" covered>Show prices</button>");
  ASSERT_NE(reject, std::string::npos) << dom;
  ASSERT_NE(prices, std::string::npos) << dom;
  EXPECT_LT(reject, prices) << dom;
  const Json freed = calls.act("click(" + number_of(page, "Reject all") + ")", page, 2);
  EXPECT_TRUE(shows(freed["dom"], ">Show prices</button>")) << freed;
  EXPECT_FALSE(shows(freed["dom"], " covered")) << freed;
}

TEST(PageTools, U5_links_have_their_targets_and_pictures_and_titles_their_words) {
  const testing::LoopbackServer server([](const testing::LoopbackServer::Request&) {
    return testing::LoopbackServer::Reply{
        200,
        "<!doctype html><a href=\"/map?floor=2\">Map</a> <a href=\"https://elsewhere.example/shop\">Out</a>"
        "<img alt=\"A red lamp\"><button title=\"Save the plan\"></button>",
        false};
  });
  const auto tools = browser_tools({server.url("/"), ""});
  const Json page = Calls(*tools).observe(server.url("/"));
  const std::string dom = page["dom"];
  for (const char* told : {" href=\"/map?floor=2\">Map</a>", " href=\"https://elsewhere.example/shop\">Out</a>",
                           "<img label=\"A red lamp\">", " hint=\"Save the plan\""})
    EXPECT_TRUE(shows(dom, told)) << told << " in " << dom;
}

TEST(PageTools, one_key_acts_once_and_what_is_not_there_is_not_touched) {
  const auto tools = browser_tools();
  Calls calls(*tools);
  const Json page = calls.observe();
  const std::string open = "click(" + number_of(page, "New patient") + ")";
  const Json opened = calls.act(open, page, 2);
  const Json save = calls.act("click(" + number_of(opened, "Save") + ")", opened, 3);
  EXPECT_TRUE(shows(save["dom"], "A patient needs a name.")) << save["dom"];
  EXPECT_TRUE(shows(save["dom"], " invalid"));
  EXPECT_EQ(calls.act(open, opened, 3), save) << "the same step: what it answered before";
  const Json other = calls.act("click(1)", {{"dom", "<button id=1>Elsewhere</button>"}, {"url", page["url"]}}, 4);
  EXPECT_EQ(other["performed"], false);
  EXPECT_EQ(other["fault"]["kind"], "element_missing");
  const Json refused = calls.act("setValue(" + number_of(save, "Ward") + ", \"Nowhere\")", save, 5);
  EXPECT_EQ(refused["fault"]["kind"], "value_refused");
}

TEST(PageTools, a_lost_browser_is_opened_again_and_nothing_is_performed) {
  const auto tools = browser_tools();
  Calls calls(*tools);
  const Json page = calls.observe();
  EXPECT_TRUE(calls.call("page.close", Json::object()).ok());
  EXPECT_TRUE(wait_until_no_browser());
  const Json again = calls.act("click(" + number_of(page, "New patient") + ")", page, 2);
  EXPECT_EQ(again["performed"], false);
  EXPECT_EQ(again["reopened"], true);
  EXPECT_FALSE(shows(again["dom"], "<form"));
}

// A shop that knows its visitor by a cookie, the browser's storage and the session's.
testing::LoopbackServer::Reply basket(const testing::LoopbackServer::Request&) {
  return {200, R"html(<title>Basket</title><button>Take</button><p id="has"></p><script>
    const show = () => document.getElementById('has').textContent =
      ['cookie ' + document.cookie, 'local ' + localStorage.basket, 'session ' + sessionStorage.step].join(', ');
    document.querySelector('button').addEventListener('click', () => {
      document.cookie = 'visitor=ann; max-age=600';
      localStorage.basket = 'lamp';
      sessionStorage.step = 'second';
      show();
    });
    show();
  </script>)html",
          false};
}

TEST(PageTools, U8_a_page_is_opened_again_with_the_cookies_and_the_storage_that_it_had) {
  const testing::LoopbackServer server(basket);
  const testing::TemporaryFolder kept;
  const std::string known = "cookie visitor=ann, local lamp, session second";
  for (const bool is_elsewhere : {true, false}) {
    PageToolOptions options = {server.url("/"), ""};
    if (is_elsewhere) options.kept = kept.path().string();
    auto tools = browser_tools(options);
    auto others = is_elsewhere ? browser_tools(options) : nullptr;
    Calls calls(*tools);
    const Json page = calls.observe(server.url("/shop"));
    EXPECT_TRUE(shows(page["dom"], "cookie , local undefined, session undefined")) << page["dom"];
    const Json taken = calls.act("click(" + number_of(page, "Take") + ")", page, 2);
    EXPECT_TRUE(shows(taken["dom"], known)) << taken;
    if (is_elsewhere) {  // the worker dies, and another goes on
      tools.reset();
      EXPECT_TRUE(wait_until_no_browser());
      calls.go_on_with(*others);
    } else {  // its browser dies
      end_browsers();
      EXPECT_FALSE(calls.call("page.act", {{"url", page["url"]}, {"action", "click(1)"}}, 3).ok());
    }
    const Json again = calls.act("click(" + number_of(page, "Take") + ")", page, 4);
    EXPECT_EQ(again["reopened"], true);
    EXPECT_EQ(again["performed"], false);
    EXPECT_TRUE(shows(again["dom"], known)) << again;
    if (!is_elsewhere) continue;
    for (const auto& entry : fs::directory_iterator(kept.path()))
      EXPECT_EQ(fs::status(entry).permissions() & fs::perms::all, fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_TRUE(calls.call("page.close", Json::object(), 5).ok());
    EXPECT_TRUE(fs::is_empty(kept.path())) << "a run that has ended leaves nothing";
  }
}

// The page stores what was typed, as it should not.
TEST(PageTools, U7_the_value_of_a_secret_is_in_no_kept_state) {
  const testing::LoopbackServer server([](const testing::LoopbackServer::Request&) {
    return testing::LoopbackServer::Reply{
        200,
        "<!doctype html><label>Pin <input oninput=\"localStorage.pin = this.value; sessionStorage[this.value] = 1;"
        "localStorage.theme = 'dark'; document.cookie = 'pin=' + this.value; document.cookie = 'who=ann'\"></label>",
        false};
  });
  const std::string value = "4711-4712";
  ::setenv("CAIRN_TEST_PIN", value.c_str(), 1);
  const testing::TemporaryFolder kept;
  PageToolOptions options = {server.url("/"), ""};
  options.kept = kept.path().string();
  const Json place = {{"env", "CAIRN_TEST_PIN"}, {"urls", Json::array({server.url("/")})}};
  options.secrets = *Secrets::open(*parse_secrets({{"pin", place}}));
  const auto tools = browser_tools(std::move(options));
  Calls calls(*tools);
  const Json page = calls.observe(server.url("/"));
  const Json filled = calls.act("setSecret(" + number_of(page, "Pin") + ", \"pin\")", page, 2);
  EXPECT_EQ(filled["performed"], true) << filled;
  std::string all;
  for (const auto& entry : fs::directory_iterator(kept.path())) {
    std::ifstream file(entry.path(), std::ios::binary);
    all += std::string{std::istreambuf_iterator<char>(file), {}};
  }
  EXPECT_TRUE(shows(all, "\"theme\":\"dark\"")) << all;
  EXPECT_TRUE(shows(all, "who")) << all;
  EXPECT_FALSE(shows(all, value)) << all;
}

TEST(PageTools, U4_a_picture_is_evidence_and_shows_no_secret) {
  const testing::LoopbackServer server([](const testing::LoopbackServer::Request&) {
    return testing::LoopbackServer::Reply{
        200,
        "<!doctype html><label>Echoed <input oninput=\"document.getElementById('e').textContent = "
        "this.value\"></label><p id=e></p>",
        false};
  });
  ::setenv("CAIRN_TEST_ECHOED", "correct-horse", 1);
  const testing::TemporaryFolder pictures;
  PageToolOptions options = {server.url("/"), pictures.path().string()};
  const Json place = {{"env", "CAIRN_TEST_ECHOED"}, {"urls", Json::array({server.url("/")})}};
  const auto sources = parse_secrets({{"echoed", place}});
  ASSERT_TRUE(sources.ok()) << sources.error().message;
  auto secrets = Secrets::open(*sources);
  ASSERT_TRUE(secrets.ok()) << secrets.error().message;
  options.secrets = *std::move(secrets);
  const auto tools = browser_tools(std::move(options));
  Calls calls(*tools);
  const ToolAnswer opened = calls.call("page.observe", {{"url", server.url("/")}, {"screenshot", true}});
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const Json& page = *opened;
  EXPECT_TRUE(page["screenshot"].get<std::string>().starts_with("/9j/")) << "JPEG in base64";
  const ToolAnswer acted = calls.call("page.act",
                                      {{"url", page["url"]},
                                       {"action", "setSecret(" + number_of(page, "Echoed") + ", \"echoed\")"},
                                       {"screenshot", true}},
                                      2);
  ASSERT_TRUE(acted.ok()) << acted.error().message;
  const Json& filled = *acted;
  EXPECT_EQ(filled["performed"], true) << filled;
  EXPECT_FALSE(filled.contains("screenshot")) << "the secret stands in the page as text";
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(pictures.path())) {
    names.push_back(entry.path().filename());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_TRUE(bytes.starts_with("\x89PNG")) << entry.path();
    EXPECT_EQ(fs::status(entry).permissions() & fs::perms::all, fs::perms::owner_read | fs::perms::owner_write);
  }
  ASSERT_EQ(names.size(), 1U);
  EXPECT_TRUE(names[0].ends_with("-1.png")) << names[0];
}

struct SecretField {
  std::string value;
  std::string page;  // with one field, labelled Pin
};

// The answer of an act that fills the secret in, with a picture asked for; and how many pictures there are then.
std::pair<Json, int> filled_in(const SecretField& field) {
  const testing::LoopbackServer server([&field](const testing::LoopbackServer::Request&) {
    return testing::LoopbackServer::Reply{200, "<!doctype html>" + field.page, false};
  });
  ::setenv("CAIRN_TEST_FIELD", field.value.c_str(), 1);
  const testing::TemporaryFolder pictures;
  PageToolOptions options = {server.url("/"), pictures.path().string()};
  const Json place = {{"env", "CAIRN_TEST_FIELD"}, {"urls", Json::array({server.url("/")})}};
  options.secrets = *Secrets::open(*parse_secrets({{"pin", place}}));
  const auto tools = browser_tools(std::move(options));
  Calls calls(*tools);
  const Json page = calls.observe(server.url("/"));
  const ToolAnswer acted = calls.call(
      "page.act",
      {{"url", page["url"]}, {"action", "setSecret(" + number_of(page, "Pin") + ", \"pin\")"}, {"screenshot", true}},
      2);
  EXPECT_TRUE(acted.ok()) << acted.error().message;
  const auto files = fs::directory_iterator(pictures.path());
  return {acted ? *acted : Json::object(), static_cast<int>(std::distance(fs::begin(files), fs::end(files)))};
}

TEST(PageTools, no_picture_shows_a_secret_that_can_be_read_in_its_field) {
  const auto [text, text_pictures] = filled_in({"4711-4712", "<label>Pin <input></label>"});
  EXPECT_EQ(text["performed"], true) << text;
  EXPECT_FALSE(text.contains("screenshot"));
  EXPECT_EQ(text_pictures, 1) << "of the page before";
  const auto [dots, dots_pictures] = filled_in({"4711-4712", "<label>Pin <input type=password></label>"});
  EXPECT_EQ(dots["performed"], true) << dots;
  EXPECT_TRUE(dots.contains("screenshot")) << "it shows dots";
  EXPECT_EQ(dots_pictures, 2);
}

TEST(PageTools, a_secret_with_signs_of_markup_is_in_no_answer_and_no_picture) {
  const auto [answer, pictures] =
      filled_in({"ab&cd<ef1",
                 "<label>Pin <input type=password oninput=\"document.getElementById('e').textContent = "
                 "this.value\"></label><p id=e></p>"});
  EXPECT_EQ(answer["performed"], true) << answer;
  EXPECT_FALSE(answer.contains("screenshot"));
  EXPECT_EQ(pictures, 1) << "of the page before";
  EXPECT_FALSE(shows(answer.dump(), "cd&lt;ef1")) << answer;
  EXPECT_TRUE(shows(answer.dump(), "***")) << answer;
}

// A page may write it so far back in a long text that what is shown of the text ends within it.
TEST(PageTools, U7_a_secret_that_is_cut_off_is_in_no_answer_and_no_picture) {
  const std::string script =
      "const far = (n) => 'x'.repeat(n) + this.value; link.href = '/' + far(110); button.textContent = far(390); "
      "field.placeholder = ''; near.textContent = this.value + ' ' + 'y '.repeat(26)";
  const auto [answer, pictures] =
      filled_in({"correct-horse-battery",
                 "<label>Pin <input type=password oninput=\"" + script +
                     "\"></label><a id=link href='/'>Link</a><button id=button>Go</button><br><span id=near></span>"
                     "<input id=field>"});
  EXPECT_EQ(answer["performed"], true) << answer;
  EXPECT_FALSE(answer.contains("screenshot")) << "the button shows it";
  EXPECT_EQ(pictures, 1) << "of the page before";
  const std::string secret = "correct-horse-battery";
  for (std::size_t at = 0; at + 5 <= secret.size(); ++at)
    EXPECT_FALSE(shows(answer.dump(), secret.substr(at, 5))) << secret.substr(at, 5) << " in " << answer;
  EXPECT_TRUE(shows(answer.value("dom", ""), "xxx***\u2026")) << answer;
}

TEST(PageTools, only_pages_that_the_worker_allows_are_opened) {
  const auto tools = browser_tools({"http://127.0.0.1:1/allowed", ""});
  Calls calls(*tools);
  for (const char* url : {"file:///etc/passwd", "/etc/passwd", "http://127.0.0.1:1/allowed.evil", "http://127.0.0.1:2/",
                          "file:///tmp/x.html", "chrome://version", "file:///proc/self/cwd/../x.html"}) {
    const auto answer = calls.call("page.observe", {{"url", url}});
    ASSERT_FALSE(answer.ok()) << url;
    EXPECT_EQ(answer.error().error, "refused") << url << answer.error().message;
  }
}

TEST(PageTools, a_page_that_leads_elsewhere_is_left) {
  const testing::LoopbackServer server([](const testing::LoopbackServer::Request& request) {
    const bool is_start = request.target() == "/start/";
    return testing::LoopbackServer::Reply{200, is_start ? "<a href=\"/elsewhere\">Out</a>" : "<p>secret</p>", false};
  });
  const auto tools = browser_tools({server.url("/start"), ""});
  Calls calls(*tools);
  const Json page = calls.observe(server.url("/start/"));
  const auto answer = calls.call("page.act", {{"url", page["url"]}, {"action", "click(1)"}, {"element", ""}}, 2);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().error, "refused");
  EXPECT_FALSE(shows(answer.error().message, "secret"));
}

TEST(PageTools, an_address_with_a_secret_to_which_a_page_leads_is_refused_without_it) {
  const testing::LoopbackServer server([](const testing::LoopbackServer::Request&) {
    return testing::LoopbackServer::Reply{
        200,
        "<!doctype html><label>Pin <input oninput=\"if (this.value.length > 8) location.href = '/elsewhere?pin=' + "
        "this.value\"></label>",
        false};
  });
  const std::string value = "4711-4712";
  ::setenv("CAIRN_TEST_LED_PIN", value.c_str(), 1);
  PageToolOptions options = {server.url("/start"), ""};
  const Json place = {{"env", "CAIRN_TEST_LED_PIN"}, {"urls", Json::array({server.url("/start")})}};
  options.secrets = *Secrets::open(*parse_secrets({{"pin", place}}));
  const auto tools = browser_tools(std::move(options));
  Calls calls(*tools);
  const Json page = calls.observe(server.url("/start/"));
  const auto answer = calls.call(
      "page.act",
      {{"url", page["url"]}, {"action", "setSecret(" + number_of(page, "Pin") + ", \"pin\")"}, {"element", ""}}, 2);
  ASSERT_FALSE(answer.ok()) << *answer;
  EXPECT_EQ(answer.error().error, "refused");
  EXPECT_FALSE(shows(answer.error().message, value)) << answer.error().message;
  EXPECT_TRUE(shows(answer.error().message, "pin=***")) << answer.error().message;
}

// --- the planner on it -----------------------------------------------------------------------------------------------
Json add_jas(const std::string& page = register_page) {
  return {{"goal", "Add a new patient with name Jas"}, {"url", page}};
}

std::unique_ptr<Model> rules() { return make_rule_model("rules", answer_page_prompt); }

void expect_jas(PlannerRun& planner, const RunId& run) {
  EXPECT_EQ(planner.state(run).status, RunStatus::done) << planner.state(run).reason;
  const std::string dom = planner.channel(run, "page")["dom"];
  EXPECT_TRUE(shows(dom, "<td>Jas</td>")) << dom;
  EXPECT_TRUE(shows(dom, "Jas was added to the register.")) << dom;
}

TEST(PageAgentInBrowser, a_new_patient_is_in_the_register) {
  PlannerRun planner(rules(), browser_tools());
  const RunId run = planner.run("page_agent", add_jas());
  expect_jas(planner, run);
  EXPECT_EQ(planner.channel(run, "actions").size(), 3U);
  EXPECT_TRUE(wait_until_no_browser());
}

TEST(PageAgentInBrowser, S2_30_a_dialog_in_the_way_is_closed_by_the_plans_contingency) {
  PlannerRun planner(rules(), browser_tools());
  const RunId run = planner.run("page_agent", add_jas(register_page + "?notice"));
  expect_jas(planner, run);
  EXPECT_EQ(planner.events(run, "contingency_matched").size(), 1U);
  EXPECT_TRUE(planner.model().of("correction").empty());
  EXPECT_EQ(planner.channel(run, "actions").size(), 5U) << "open, close the notice, open, enter, save";
}

TEST(PageAgentInBrowser, all_fields_of_the_form_are_filled_in) {
  PlannerRun planner(rules(), browser_tools());
  Json input = add_jas();
  input["goal"] = "Add a new patient with name Jas, date of birth 1990-01-02 and ward surgery";
  const RunId run = planner.run("page_agent", input);
  EXPECT_EQ(planner.state(run).status, RunStatus::done) << planner.state(run).reason;
  const std::string dom = planner.channel(run, "page")["dom"];
  EXPECT_TRUE(shows(dom, "<td>Jas</td>\n<td>1990-01-02</td>\n<td>Surgery</td>")) << dom;
}

// Hands calls on; before the third act the run's browser is gone, as after the death of its worker.
class ForgetfulTools final : public Tools {
 public:
  explicit ForgetfulTools(std::unique_ptr<Tools> tools) : tools_(std::move(tools)) {}
  boost::asio::awaitable<ToolAnswer> call(ToolCall call) override {
    if (call.tool == "page.act" && ++acts_ == 3) {
      ToolCall close = call;
      close.tool = "page.close";
      static_cast<void>(co_await tools_->call(std::move(close)));
    }
    co_return co_await tools_->call(std::move(call));
  }
  const ToolTable& table() const override { return tools_->table(); }

 private:
  std::unique_ptr<Tools> tools_;
  int acts_ = 0;
};

TEST(PageAgentInBrowser, a_browser_that_is_lost_between_acts_leads_to_a_new_plan) {
  PlannerRun planner(rules(), std::make_unique<ForgetfulTools>(browser_tools()));
  const RunId run = planner.run("page_agent", add_jas());
  expect_jas(planner, run);
  std::vector<std::string> after_loss;
  for (const Json& decided : planner.events(run, "replan_decided")) {
    if (decided["cause"] == "session_lost") after_loss.push_back(decided["action"].get<std::string>());
  }
  EXPECT_EQ(after_loss, std::vector<std::string>{"regenerate"});
  EXPECT_EQ(planner.channel(run, "plan_version"), 2);
}

}  // namespace
}  // namespace cairn
