// A hostile page reaches nothing but what is allowed: a real browser, and a server that counts the requests.
#include <arpa/inet.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <netinet/in.h>
#include <poll.h>
#include <set>
#include <sstream>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "tests/waiting.hpp"
#include "tests/workers/planners/planner_run.hpp"
#include "tests/workers/ports/loopback.hpp"
#include "tests/workers/tools/page/page_server.hpp"
#include "workers/ids.hpp"
#include "workers/tools/page/action.hpp"
#include "workers/tools/page/dom.hpp"
#include "workers/tools/page/tools.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

// --- a server that counts --------------------------------------------------------------------------------------------
using Page = test::ServedPage;
using CountingServer = test::PageServer;
using test::loopback_socket;

// Calls of one run.
class PageCalls {
 public:
  explicit PageCalls(std::string pages) : tools_(make_tools(page_tools({std::move(pages), ""}), 2)) {}
  ToolAnswer observe(const std::string& url) { return call("page.observe", {{"url", url}}); }
  ToolAnswer act(const std::string& url, const std::string& action) {
    return call("page.act", {{"url", url}, {"action", action}, {"element", ""}});
  }

 private:
  ToolAnswer call(const std::string& tool, Json inputs) {
    ToolCall call;
    call.run = run_;
    call.step = ++step_;
    call.tool = tool;
    call.key = std::to_string(step_);
    call.inputs = std::move(inputs);
    return testing::run(tools_->call(std::move(call)));
  }
  std::unique_ptr<Tools> tools_;
  RunId run_ = new_run_id();
  StepId step_ = 0;
};

// The answer once the page is refused; a page may ask for things after it was shown.
ToolAnswer looked_at(PageCalls& calls, const std::string& url) {
  ToolAnswer answer = calls.observe(url);
  for (int looks = 0; looks < 100 && answer.ok(); ++looks) answer = calls.act(url, "click(1)");
  return answer;
}

void expect_refused(const ToolAnswer& answer, const std::string& part) {
  ASSERT_FALSE(answer.ok()) << *answer;
  EXPECT_EQ(answer.error().error, "refused") << answer.error().message;
  EXPECT_NE(answer.error().message.find(part), std::string::npos) << answer.error().message << " for " << part;
}

std::string replaced(std::string text, const std::map<std::string, std::string>& words) {
  for (const auto& [from, to] : words) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  }
  return text;
}

// --- the hostile page ------------------------------------------------------------------------------------------------
// All that a page can make a browser ask for, each at a path of its own below /no. HERE is the server's host and port,
// OTHER another's, DATAGRAMS a port that takes datagrams.
const char* const hostile_page = R"html(<!doctype html><title>hostile</title>
<link rel=prefetch href=/no/prefetch><link rel=preconnect href=http://OTHER/><link rel=dns-prefetch href=http://OTHER/>
<link rel=preload as=script href=/no/preload><link rel=modulepreload href=/no/modulepreload>
    <link rel=manifest href=/no/manifest>
<link rel=icon href=/no/icon><link rel=prerender href=/no/prerender><link rel=stylesheet href=/no/stylesheet>
<script type=speculationrules>{"prefetch": [{"urls": ["/no/speculation_prefetch", "http://OTHER/"],
  "eagerness": "immediate"}],
  "prerender": [{"urls": ["/no/speculation_prerender"], "eagerness": "immediate"}]}</script>
<img src=/no/image><img src=http://OTHER/image><iframe src=/no/frame></iframe><iframe src=/app/redirect></iframe>
<iframe srcdoc="<img src=/no/in_srcdoc><script>fetch('/no/fetch_in_srcdoc')</script>"></iframe>
<video src=/no/video></video><object data=/no/object></object><embed src=/no/embed>
<iframe sandbox=allow-scripts src="data:text/html,<script>fetch('http://HERE/no/from_data',{mode:'no-cors'});
    new WebSocket('ws://HERE/no/socket_from_data')</script>"></iframe>
<a id=pinged href=/app/pinged target=pinged_frame ping=/no/ping>x</a><iframe name=pinged_frame></iframe>
<form id=form action=/no/form method=post target=form_frame></form><iframe name=form_frame></iframe>
<button onclick="window.open('/no/window_by_click')">Open</button>
<script>
const attempts = [
  () => fetch('/no/fetch'), () => fetch('/no/keepalive', {keepalive: true, method: 'POST', body: 'x'}),
  () => fetch('/app/redirect'),
  () => fetch('/app/../no/dots'), () => fetch('/app/%2e%2e/no/escaped_dots'), () => fetch('/app/..%2fno/escaped_slash'),
  () => navigator.sendBeacon('/no/beacon', 'x'), () => new EventSource('/no/events'),
  () => { const ask = new XMLHttpRequest(); ask.open('GET', '/no/synchronous', false); ask.send(); },
  () => new WebSocket('ws://HERE/no/socket'), () => new WebSocket('ws://OTHER/socket'),
  () => new WebSocket('ws://HERE/app/socket'),
  () => new Worker('/no/worker'), () => new Worker('/app/worker.js'), () => new SharedWorker('/app/worker.js?shared'),
  () => navigator.serviceWorker.register('/app/worker.js?service'),
  () => new Worker(URL.createObjectURL(new Blob([`
      fetch('http://HERE/no/fetch_of_blob', {mode: 'no-cors'}).catch(() => 0);
      new WebSocket('ws://HERE/no/socket_of_blob'); new WebSocket('ws://OTHER/socket_of_blob');
      new Worker(URL.createObjectURL(new Blob(["new WebSocket('ws://HERE/no/socket_of_inner_blob')"])));
      try { importScripts('http://HERE/no/import_of_blob'); } catch (e) {}`]))),
  () => new WebTransport('https://127.0.0.1:DATAGRAMS/').closed,
  () => { for (const rtc of [RTCPeerConnection,
      document.body.appendChild(document.createElement('iframe')).contentWindow.RTCPeerConnection]) {
      const call = new rtc({iceServers: [{urls: 'stun:127.0.0.1:DATAGRAMS'},
        {urls: 'turn:OTHER?transport=tcp', username: 'a', credential: 'b'},
        {urls: 'turn:127.0.0.1:DATAGRAMS?transport=udp', username: 'a', credential: 'b'}]});
      call.createDataChannel('x'); call.createOffer().then((offer) => call.setLocalDescription(offer)); } },
  () => window.open('/no/window'), () => window.open('/no/window_without_opener', '_blank', 'noopener'),
  () => document.getElementById('form').submit(), () => document.getElementById('pinged').click(),
  () => navigator.credentials.get({identity: {providers: [{configURL: 'http://HERE/no/identity', clientId: '1'}]}}),
  () => new PaymentRequest([{supportedMethods: 'http://HERE/no/payment'}], {
      total: {label: 'x', amount: {currency: 'USD', value: '1'}}}).canMakePayment(),
  () => import('/no/module'), () => fetchLater('/no/later', {activateAfter: 100}),
  () => new FontFace('x', 'url(/no/font)').load(),
  () => { document.body.style.backgroundImage = 'url(/no/background)'; },
  () => caches.open('x').then((cache) => cache.add('/no/cache')),
  () => new Audio('/no/audio').play(), () => CSS.paintWorklet.addModule('/no/worklet'),
  () => { const rules = document.createElement('script'); rules.type = 'speculationrules';
      rules.textContent = `{"prefetch": [{"source": "list", "urls": ["http://HERE/no/later_speculation"],
        "eagerness": "immediate"}]}`;
      document.head.append(rules); },
];
for (const attempt of attempts) { try { Promise.resolve(attempt()).catch(() => 0); } catch (e) {} }
const ended = () => fetch('/app/ended').then(() => { document.title = 'ended'; });
setTimeout(() => fetch('/app/nearly').then(() => setTimeout(ended, 1000)), 1000);
</script>)html";

const char* const worker_script = R"js(
try { fetch('/no/fetch_of_worker').catch(() => 0); } catch (e) {}
try { new WebSocket('ws://HERE/no/socket_of_worker'); new WebSocket('ws://OTHER/socket_of_worker'); } catch (e) {}
try { importScripts('/no/import_of_worker'); } catch (e) {}
fetch('/app/worker_ran' + location.search);
)js";

TEST(PageGuard, H16_nothing_leaves_for_what_is_not_allowed) {
  const CountingServer other([](const std::string&) { return Page{}; });
  std::uint16_t datagrams_port = 0;
  const int datagrams = loopback_socket(SOCK_DGRAM, datagrams_port);
  std::map<std::string, std::string> words = {{"OTHER", "127.0.0.1:" + other.port()},
                                              {"DATAGRAMS", std::to_string(datagrams_port)}};
  std::promise<std::string> own;
  const std::shared_future<std::string> here = own.get_future().share();
  const CountingServer server([&](const std::string& path) {
    Page page;
    page.headers +=
        "Link: </no/linked>; rel=preload; as=image\r\nSpeculation-Rules: \"/no/speculation_file\"\r\n"
        "Content-Security-Policy-Report-Only: img-src 'none'; report-uri /no/report\r\n"
        "Reporting-Endpoints: default=\"/no/report_of_network\"\r\n";
    if (path == "/app/") page.body = replaced(replaced(hostile_page, words), {{"HERE", here.get()}});
    if (path.starts_with("/app/worker.js")) page.headers = "Content-Type: text/javascript\r\n";
    if (path.starts_with("/app/worker.js"))
      page.body = replaced(replaced(worker_script, words), {{"HERE", here.get()}});
    if (path == "/app/redirect") page.status = "302 Found";
    if (path == "/app/redirect") page.headers = "Location: /no/redirected\r\n";
    return page;
  });
  own.set_value("127.0.0.1:" + server.port());
  PageCalls calls(server.url("/app"));
  const ToolAnswer page = calls.observe(server.url("/app/"));
  ASSERT_TRUE(page.ok()) << page.error().message;
  EXPECT_TRUE(calls.act(server.url("/app/"), "click(2)").ok());
  EXPECT_TRUE(test::wait_until([&] { return server.asked().contains("/app/ended"); }));
  EXPECT_EQ(server.asked("/app/"), std::set<std::string>());
  EXPECT_FALSE(server.asked().contains("/app/..%2fno/escaped_slash"));
  EXPECT_EQ(other.asked(), std::set<std::string>());
  EXPECT_EQ(other.connections(), 0);
  pollfd came{datagrams, POLLIN, 0};
  EXPECT_EQ(::poll(&came, 1, 0), 0) << "a datagram";
  ::close(datagrams);
  for (const char* path : {"/app/redirect", "/app/worker_ran", "/app/worker_ran?shared", "/app/pinged"})
    EXPECT_TRUE(server.asked().contains(path)) << "what is allowed does leave: " << path;
  EXPECT_FALSE(server.asked().contains("/app/socket")) << "WebSockets are not seen by the guard, so there are none";
}

TEST(PageGuard, H16_a_page_that_leads_to_what_is_not_allowed_is_refused_before_it_is_asked_for) {
  const CountingServer server([](const std::string& path) {
    if (path == "/app/redirect") return Page{"", "Location: /no/redirected\r\n", "302 Found"};
    if (path == "/app/twice") return Page{"", "Location: /app/redirect\r\n", "307 Temporary Redirect"};
    if (path == "/app/refresh") return Page{"<meta http-equiv=refresh content='0;url=/no/refreshed'>x"};
    return Page{
        "<a href='/app/../no/linked'>Out</a><a href='/app/redirect'>Round</a>"
        "<form action=/no/sent method=post><button>Send</button></form>"};
  });
  PageCalls calls(server.url("/app/"));
  for (const char* path : {"/app/../no/x", "/app/%2e%2e/no/x", "/app/..%2fno", "/no", "/apple"})
    expect_refused(calls.observe(server.url(path)), "Expected a page that this worker may open");
  EXPECT_EQ(server.connections(), 0) << "no browser was started for them";
  expect_refused(calls.observe(server.url("/app/redirect")), server.url("/no/redirected"));
  expect_refused(calls.observe(server.url("/app/twice")), server.url("/no/redirected"));
  expect_refused(looked_at(calls, server.url("/app/refresh")), server.url("/no/refreshed"));
  const std::string start = server.url("/app/");
  const std::pair<const char*, const char*> acts[] = {
      {"click(\"Out\")", "/no/linked"}, {"click(\"Round\")", "/no/redirected"}, {"click(\"Send\")", "/no/sent"}};
  for (const auto& [action, url] : acts) {
    const ToolAnswer page = calls.observe(start);
    ASSERT_TRUE(page.ok()) << page.error().message;
    const Result<PageAction> aimed = aimed_action(*parse_action(action), read_page((*page)["dom"].get<std::string>()));
    ASSERT_TRUE(aimed.ok()) << aimed.error().message;
    expect_refused(calls.act(start, action_text(*aimed)), server.url(url));
  }
  EXPECT_EQ(server.asked("/app/"), std::set<std::string>());
}

TEST(PageGuard, H16_a_page_reads_no_files_but_its_own) {
  const testing::TemporaryFolder outside;
  const std::string secret = outside.write("secret.html", "<script>parent.postMessage('read', '*')</script>secret");
  const fs::path before = fs::current_path();
  const testing::TemporaryFolder folder;
  fs::current_path(folder.path());
  const std::string image = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'></svg>";
  folder.write("own.svg", image);
  const std::string other = outside.write("other.svg", image);
  folder.write("page.html",
               "<p id=p>read:</p><script>const tell = (what) => p.append(' ' + what);"
               "onmessage = (event) => tell(event.data)</script>"
               "<iframe src='file://" +
                   secret +
                   "'></iframe>"
                   "<img src=own.svg onload=tell('own') onerror=tell('no_own')>"
                   "<img src='file://" +
                   other + "' onload=tell('other') onerror=tell('no_other')>");
  PageCalls calls("");
  const ToolAnswer page = calls.observe((folder.path() / "page.html").string());
  EXPECT_EQ(calls.observe("page.html").error().error, "invalid") << "each worker stands in a directory of its own";
  fs::current_path(before);
  ASSERT_TRUE(page.ok()) << page.error().message;
  const std::string dom = (*page)["dom"];
  EXPECT_NE(dom.find("own"), std::string::npos) << dom;
  EXPECT_EQ(dom.find("no_own"), std::string::npos) << dom;
  EXPECT_NE(dom.find("no_other"), std::string::npos) << dom;
  EXPECT_EQ(dom.find("read: read"), std::string::npos) << dom;
}

TEST(PageGuard, H16_a_page_that_asks_for_too_much_is_closed) {
  const CountingServer server([](const std::string& path) {
    if (path == "/app/many") return Page{"<script>for (let i = 0; i < 3000; ++i) fetch('/app/x' + i)</script>"};
    if (path == "/app/workers")
      return Page{
          "<script>const made = URL.createObjectURL(new Blob(['onmessage = () => 0']));"
          "for (let i = 0; i < 150; ++i) (window.all ||= []).push(new Worker(made))</script>"};
    if (path == "/app/long") return Page{"<script>for (let i = 0; i < 9; ++i) fetch('/app/10MB?' + i)</script>"};
    return Page{path.starts_with("/app/10MB") ? std::string(10'000'000, ' ') : "", "Content-Type: text/plain\r\n"};
  });
  PageCalls calls(server.url("/app/"));
  for (const char* path : {"/app/many", "/app/workers", "/app/long"})
    expect_refused(looked_at(calls, server.url(path)), "at most 2000 requests and 64 MiB");
}

// --- ports -----------------------------------------------------------------------------------------------------------
std::map<std::string, std::string> parents() {
  std::map<std::string, std::string> all;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    const std::size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos) continue;
    std::istringstream fields(stat.substr(name_end + 1));
    std::string state;
    fields >> state >> all[entry.path().filename().string()];
  }
  return all;
}

// The processes that this one started, and those that they did.
std::set<std::string> descendants() {
  const std::map<std::string, std::string> parent_of = parents();
  std::set<std::string> found = {std::to_string(::getpid())};
  for (std::size_t before = 0; before != found.size();) {
    before = found.size();
    for (const auto& [pid, parent] : parent_of)
      if (found.contains(parent)) found.insert(pid);
  }
  found.erase(std::to_string(::getpid()));
  return found;
}

// The lines of the kernel's tables of sockets that take connections or datagrams from anybody and belong to one of
// these processes.
std::set<std::string> open_ports(const std::set<std::string>& processes) {
  std::set<std::string> inodes;
  for (const std::string& pid : processes) {
    std::error_code gone;
    for (const auto& entry : fs::directory_iterator("/proc/" + pid + "/fd", gone)) {
      const std::string target = fs::read_symlink(entry.path(), gone).string();
      if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
    }
  }
  std::set<std::string> open;
  for (const char* table : {"tcp", "tcp6", "udp", "udp6"}) {
    std::ifstream lines(std::string("/proc/net/") + table);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream fields(line);
      std::string place;
      std::string local;
      std::string remote;
      std::string state;
      std::string inode;
      fields >> place >> local >> remote >> state;
      for (int skipped = 0; skipped < 6; ++skipped) fields >> inode;
      const bool is_open = state == "0A" || std::string_view(table).starts_with("udp");
      if (is_open && inodes.contains(inode)) open.insert(std::string(table) + " " + local);
    }
  }
  return open;
}

TEST(PageGuard, H1_a_browser_has_no_open_port) {
  const CountingServer server([](const std::string&) { return Page{"<p>Here</p>"}; });
  PageCalls calls(server.url("/"));
  const ToolAnswer page = calls.observe(server.url("/"));
  ASSERT_TRUE(page.ok()) << page.error().message;
  int profiles = 0;
  for (const auto& entry : fs::directory_iterator(fs::temp_directory_path())) {
    if (!entry.path().filename().string().starts_with("cairn-browser-" + std::to_string(::getpid()) + "-")) continue;
    EXPECT_EQ(entry.status().permissions(), fs::perms::owner_all);
    ++profiles;
  }
  EXPECT_EQ(profiles, 1);
  const std::set<std::string> processes = descendants();
  EXPECT_GE(processes.size(), 3U) << "a keeper, Chromium and its helpers";
  EXPECT_EQ(open_ports(processes), std::set<std::string>());
}

TEST(PageGuard, H1_a_worker_without_chromium_says_which_package_it_needs) {
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);
  PageCalls calls("http://127.0.0.1:1/");
  const ToolAnswer page = calls.observe("http://127.0.0.1:1/");
  ::setenv("PATH", path.c_str(), 1);
  ASSERT_FALSE(page.ok());
  EXPECT_NE(page.error().message.find("Debian package chromium"), std::string::npos) << page.error().message;
}

// --- what a person would do ------------------------------------------------------------------------------------------
TEST(PageGuard, a_page_is_used_as_by_a_person) {
  const CountingServer server([](const std::string& path) {
    if (path == "/file") return Page{"x", "Content-Disposition: attachment; filename=x.html\r\n"};
    if (path == "/nothing") return Page{"", "", "204 No Content"};
    if (path == "/next") return Page{"<title>Next</title><p>There</p>", "Content-Type: text/html\r\n", "200 OK", 500};
    return Page{
        R"(<input aria-label=Name value=old><input type=password aria-label=Secret><input type=file aria-label=File>
        <button onclick="alert('x'); confirm('y'); this.textContent = 'Asked'">Ask</button><a href=/next>Next</a>
        <a href=/file>File</a><a href=/nothing>Nothing</a>
        <button onclick="fetch('/bytes', {method: 'POST', body: new Uint8Array([0, 255, 0, 65])});
        document.title = 'a\0\ud800b'">Bytes</button>
        <p id=keys></p><div style="position: relative"><button>Covered</button>
        <div style="position: absolute; inset: 0">over</div></div>
        <script>addEventListener('keydown', (event) => keys.append(event.key + event.keyCode + ' '))</script>)"};
  });
  PageCalls calls(server.url("/"));
  const std::string start = server.url("/");
  ASSERT_TRUE(calls.observe(start).ok());
  const auto dom_after = [&](const std::string& action) {
    const ToolAnswer page = calls.act(start, action);
    EXPECT_TRUE(page.ok()) << action << ": " << page.error().message;
    return page ? canonical(*page) : "";
  };
  const auto expect_in = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const std::string typed = dom_after("setValue(1, \"Jé1\")");
  expect_in(typed, R"(value=\"Jé1\")");
  expect_in(typed, "J74 é0 149");
  expect_in(dom_after("setValue(2, \"hidden\")"), R"(value=\"***\")");
  expect_in(dom_after("setValue(3, \"/etc/passwd\")"), "not_interactable");
  expect_in(dom_after("click(3)"), R"("performed":true)");
  expect_in(dom_after("click(4)"), "Asked");
  for (const char* action : {"click(6)", "click(7)", "click(8)"})
    expect_in(dom_after(action), R"("performed":true)");  // a file that is not taken, nothing, bytes that are no text
  EXPECT_TRUE(test::wait_until([&] { return server.asked().contains("/bytes"); }));
  expect_in(dom_after("click(9)"), "element click intercepted");
  const std::string long_text(5'000, 'x');
  expect_in(dom_after("setValue(1, \"" + long_text + "\")"), long_text);
  expect_in(dom_after("click(5)"), "There");
}

TEST(PageGuard, a_page_that_goes_on_by_itself_is_shown_where_it_stays) {
  const CountingServer server([](const std::string& path) {
    const int page = std::stoi("0" + path.substr(1));
    const std::string next = "setTimeout(() => { location = '/" + std::to_string(page + 1) + "' }, 20)";
    return Page{page < 20 ? "<p>Wait</p><script>" + next + "</script>" : "<p>There</p>"};
  });
  PageCalls calls(server.url("/"));
  const ToolAnswer page = calls.observe(server.url("/0"));
  ASSERT_TRUE(page.ok()) << page.error().message;
  EXPECT_EQ((*page)["dom"], "<p>There</p>\n");
}

}  // namespace
}  // namespace cairn
