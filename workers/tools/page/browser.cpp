#include "workers/tools/page/browser.hpp"

#include <boost/asio.hpp>
#include <charconv>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <stdlib.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "workers/ports/local_process.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

constexpr std::int64_t start_ms_max = 30'000;
constexpr std::int64_t command_ms_max = 30'000;
constexpr std::int64_t page_load_ms_max = 20'000;
constexpr int removals_max = 20;
constexpr const char* profile_prefix = "cairn-browser-";
constexpr const char* element_key = "element-6066-11e4-a52e-4f735466cecf";  // of the WebDriver standard

// Profiles left over from processes that are gone.
void remove_left_profiles() {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::temp_directory_path(), ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(profile_prefix)) continue;
    const std::string_view rest = std::string_view(name).substr(std::string_view(profile_prefix).size());
    std::int64_t pid = 0;
    const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), pid);
    if (read.ec == std::errc() && pid > 0 && is_gone(pid)) fs::remove_all(entry.path(), ignored);
  }
}

fs::path new_profile() {
  remove_left_profiles();
  std::string path = (fs::temp_directory_path() / (profile_prefix + std::to_string(::getpid()) + "-XXXXXX")).string();
  if (::mkdtemp(path.data()) == nullptr)
    throw std::system_error(errno, std::generic_category(), "making a browser's profile");
  return path;
}

// Through a pipe in place of a port Chromium ends when chromedriver does.
Json capabilities(const fs::path& profile) {
  const Json arguments = {"--headless",
                          "--no-sandbox",
                          "--disable-gpu",
                          "--disable-quic",
                          "--disable-dev-shm-usage",
                          "--no-first-run",
                          "--disable-background-networking",
                          "--disable-component-update",
                          "--disable-sync",
                          "--disable-breakpad",
                          "--window-size=1200,900",
                          "--remote-debugging-pipe",
                          "--user-data-dir=" + profile.string()};
  return {{"capabilities",
           {{"alwaysMatch",
             {{"goog:chromeOptions", {{"args", arguments}}},
              {"unhandledPromptBehavior", "dismiss"},
              {"timeouts", {{"pageLoad", page_load_ms_max}, {"script", page_load_ms_max}}}}}}}};
}

std::string port_of(const std::string& heard) {
  static constexpr std::string_view before = "successfully on port ";
  const std::size_t at = heard.find(before);
  if (at == std::string::npos) return "";
  const std::size_t from = at + before.size();
  return heard.substr(from, heard.find_first_not_of("0123456789", from) - from);
}

std::string id_of(const Json& element) { return element.is_object() ? element.value(element_key, "") : std::string(); }

}  // namespace

Browser::Browser() : profile_(new_profile()) {
  try {
    const std::string log = (profile_ / "log").string();
    driver_ = std::make_unique<LastingProcess>(std::vector<std::string>{"chromedriver", "--port=0"}, STDIN_FILENO,
                                               STDIN_FILENO, log);
    std::string heard;
    for (std::int64_t ms = 0; ms < start_ms_max && port_of(heard).empty(); ms += 20) {
      ::usleep(20'000);
      std::ifstream file(log);
      heard.assign(std::istreambuf_iterator<char>(file), {});
    }
    const std::string port = port_of(heard);
    if (port.empty()) {
      throw std::runtime_error(
          "Expected chromedriver (Debian packages chromium, chromium-driver) to start, but it did not: " +
          readable_line(heard, 200));
    }
    session_ = "http://127.0.0.1:" + port + "/session";
    const Answer made = command("", capabilities(profile_));
    if (!made) throw std::runtime_error("Expected Chromium to start, but it did not: " + made.error().says);
    session_ += "/" + made->value("sessionId", "");
  } catch (...) {
    driver_.reset();
    std::error_code ignored;
    fs::remove_all(profile_, ignored);
    throw;
  }
}

// Chromium is asked to end, so that its driver can reap it; whatever is left of it dies with the driver, so that no
// answer is needed. It may write into its profile to the last.
Browser::~Browser() {
  static_cast<void>(command("/goog/cdp/execute", {{"cmd", "Browser.close"}, {"params", Json::object()}}));
  driver_.reset();
  std::error_code error;
  for (int tries = 0; tries < removals_max; ++tries) {
    fs::remove_all(profile_, error);
    if (!error) return;
    ::usleep(20'000);
  }
}

Browser::Answer Browser::open(const std::string& url) { return command("/url", {{"url", url}}); }

Browser::Answer Browser::run(const std::string& script, Json arguments) {
  return command("/execute/sync", {{"script", script}, {"args", std::move(arguments)}});
}

Browser::Answer Browser::click(const Json& element) {
  return command("/element/" + id_of(element) + "/click", Json::object());
}

Browser::Answer Browser::type(const Json& element, const std::string& text) {
  Answer cleared = command("/element/" + id_of(element) + "/clear", Json::object());
  if (!cleared || text.empty()) return cleared;
  return command("/element/" + id_of(element) + "/value", {{"text", text}});
}

Browser::Answer Browser::screenshot() {
  Answer answer = command("/goog/cdp/execute", {{"cmd", "Page.captureScreenshot"}, {"params", Json::object()}});
  if (!answer) return answer;
  return answer->is_object() ? answer->value("data", Json("")) : Json("");
}

Browser::Answer Browser::command(const std::string& path, const Json& body) {
  HttpRequest request;
  request.url = session_ + path;
  request.headers = {{"content-type", "application/json; charset=utf-8"}};
  request.body = canonical(body);
  request.timeout_ms = command_ms_max;
  HttpResult result;
  asio::io_context io;
  asio::co_spawn(io, http_.post(std::move(request)),
                 [&result](const std::exception_ptr&, HttpResult came) { result = std::move(came); });
  io.run();
  if (!result) return BrowserFault{"gone", result.error().message};
  Result<Json> answer = parse_json(result->body, "chromedriver's answer");
  if (!answer) return BrowserFault{"gone", answer.error().message};
  Json value = answer->is_object() ? answer->value("value", Json()) : Json();
  if (result->status < 400) return value;
  const std::string word = value.is_object() ? value.value("error", "unknown error") : "unknown error";
  const bool is_gone = word == "invalid session id" || word == "session not created" || word == "no such window";
  const std::string says = value.is_object() ? value.value("message", word) : word;
  return BrowserFault{is_gone ? "gone" : word, readable_line(says.substr(0, says.find('\n')), 300)};
}

}  // namespace cairn
