#include "workers/tools/page/browser.hpp"

#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <stdlib.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "engine/embedded.hpp"
#include "workers/ports/local_process.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t start_ms_max = 30'000;
constexpr std::int64_t page_load_ms_max = 20'000;
constexpr int removals_max = 20;
constexpr std::size_t keys_max = 2'000;  // a longer text is pasted
constexpr const char* profile_prefix = "cairn-browser-";

// Without guessing what comes next (it would be fetched unseen), without payment addresses, and without a way of calls
// past the proxy, which there is not.
constexpr const char* preferences = R"({"net": {"network_prediction_options": 2},
  "payments": {"can_make_payment_enabled": false},
  "webrtc": {"ip_handling_policy": "disable_non_proxied_udp"}})";

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
  fs::create_directory(fs::path(path) / "Default");
  std::ofstream(fs::path(path) / "Default" / "Preferences") << preferences;
  return path;
}

// Requests that the guard does not see go nowhere: other hosts and ports are not found, and WebSockets, FedCM and all
// else that is neither http nor https is sent to a proxy that is not found.
std::vector<std::string> command_line(const fs::path& profile, const AllowedPages& pages) {
  return {"chromium",
          "--headless",
          "--no-sandbox",
          "--disable-gpu",
          "--disable-quic",
          "--disable-dev-shm-usage",
          "--no-first-run",
          "--no-default-browser-check",
          "--disable-background-networking",
          "--disable-component-update",
          "--disable-sync",
          "--disable-breakpad",
          "--disable-extensions",
          "--disable-default-apps",
          "--window-size=1200,900",
          "--remote-debugging-pipe",
          "--user-data-dir=" + profile.string(),
          "--host-resolver-rules=" + pages.host_rules(),
          "--proxy-server=http=direct://;https=direct://;socks=socks5://nowhere.invalid:1",
          "--proxy-bypass-list=<-loopback>",
          "--disable-features=FedCm,WebPayments,Prerender2,WebTransport",
          "--disable-blink-features=PaymentRequest,FedCm,WebTransport",
          "about:blank"};
}

std::string whole_file(const fs::path& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The characters of a text, for UTF-8.
std::vector<std::string> characters_of(const std::string& text) {
  std::vector<std::string> all;
  for (const char byte : text) {
    if (all.empty() || (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U) all.emplace_back();
    all.back() += byte;
  }
  return all;
}

// A key that is pressed, as Input.dispatchKeyEvent takes it.
Json key_of(const std::string& character) {
  if (character == "\n" || character == "\r")
    return {{"key", "Enter"}, {"code", "Enter"}, {"text", "\r"}, {"windowsVirtualKeyCode", 13}};
  if (character == "\t") return {{"key", "Tab"}, {"code", "Tab"}, {"windowsVirtualKeyCode", 9}};
  Json key = {{"key", character}, {"text", character}};
  const char c = character.size() == 1 ? character[0] : '\0';
  const bool is_small = c >= 'a' && c <= 'z';
  if (is_small || c == ' ' || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
    key["windowsVirtualKeyCode"] = is_small ? c - 'a' + 'A' : int{c};
  return key;
}

}  // namespace

const std::string& page_script(std::string_view name) {
  static const std::map<std::string, std::string, std::less<>> scripts = [] {
    std::map<std::string, std::string, std::less<>> all;
    for (const EmbeddedFile& file : page_files()) all.emplace(file.name, file.text);
    return all;
  }();
  const auto found = scripts.find(name);
  CHECK(found != scripts.end());
  return found->second;
}

Browser::Browser(const AllowedPages& pages) : profile_(new_profile()), guard_(pages) {
  try {
    const fs::path log = profile_ / "log";
    chromium_ = std::make_unique<DevTools>(
        command_line(profile_, pages), log.string(),
        [this](DevTools& browser, const DevToolsEvent& event) { guard_.hear(browser, event); });
    static_cast<void>(chromium_->call("Fetch.enable", {{"patterns", {{{"urlPattern", "*"}}}}}));
    static_cast<void>(chromium_->call("Browser.setDownloadBehavior", {{"behavior", "deny"}}));
    static_cast<void>(chromium_->call("Target.setAutoAttach",
                                      {{"autoAttach", true}, {"waitForDebuggerOnStart", true}, {"flatten", true}}));
    if (!chromium_->wait([this] { return !guard_.page_session().empty(); }, start_ms_max)) {
      throw std::runtime_error("Expected chromium (Debian package chromium) to start, but it did not: " +
                               readable_line(whole_file(log), 200));
    }
  } catch (...) {
    chromium_.reset();
    std::error_code ignored;
    fs::remove_all(profile_, ignored);
    throw;
  }
}

// Chromium may write into its profile to the last.
Browser::~Browser() {
  chromium_.reset();
  std::error_code error;
  for (int tries = 0; tries < removals_max; ++tries) {
    fs::remove_all(profile_, error);
    if (!error) return;
    ::usleep(20'000);
  }
}

Browser::Answer Browser::in_page(const std::string& method, Json params) {
  Answer answer = chromium_->call(method, std::move(params), guard_.page_session());
  if (const std::string refused = guard_.refused_page(); !refused.empty()) return BrowserFault{"refused", refused};
  return answer;
}

Browser::Answer Browser::open(const std::string& url) {
  guard_.begin();
  Answer led = in_page("Page.navigate", {{"url", url}});
  if (led && led->contains("errorText")) led = BrowserFault{"failed", led->value("errorText", "")};
  return settled(std::move(led));
}

// The page that an act has led to is loaded, or it is known where it may not go. That an act leads on is known before
// the page answers the next command.
Browser::Answer Browser::settled(Answer answer) {
  if (answer) static_cast<void>(in_page("Runtime.evaluate", {{"expression", "0"}}));
  chromium_->wait([this] { return !guard_.is_loading() || !guard_.refused_page().empty(); }, page_load_ms_max);
  if (const std::string refused = guard_.refused_page(); !refused.empty()) return BrowserFault{"refused", refused};
  return answer;
}

Browser::Answer Browser::run(const std::string& script, Json arguments) {
  return call_function(script, std::move(arguments), true);
}

Browser::Answer Browser::find(const std::string& script, Json arguments) {
  return call_function(script, std::move(arguments), false);
}

Browser::Answer Browser::run_on(const Json& element, const std::string& script, Json arguments) {
  Json all = Json::array({Json{{"handle", element}}});
  for (Json& argument : arguments) all.push_back(std::move(argument));
  return call_function(script, std::move(all), true);
}

Browser::Answer Browser::call_function(const std::string& script, Json arguments, bool by_value) {
  Answer world = in_page("Page.createIsolatedWorld", {{"frameId", guard_.page_frame()}, {"worldName", "cairn"}});
  if (!world) return world;
  Json given = Json::array();
  for (Json& argument : arguments) {
    const bool is_handle = argument.is_object() && argument.contains("handle");
    given.push_back(is_handle ? Json{{"objectId", argument["handle"]}} : Json{{"value", std::move(argument)}});
  }
  Answer answer = in_page("Runtime.callFunctionOn", {{"functionDeclaration", "function(){" + script + "\n}"},
                                                     {"arguments", std::move(given)},
                                                     {"executionContextId", (*world)["executionContextId"]},
                                                     {"returnByValue", by_value}});
  if (!answer) return answer;
  if (answer->contains("exceptionDetails")) return BrowserFault{"failed", "javascript error"};
  const Json result = answer->value("result", Json::object());
  return result.value(by_value ? "value" : "objectId", Json());
}

Browser::Answer Browser::click(const Json& element) {
  guard_.begin();
  Answer place = run_on(element, page_script("aim.js"), Json::array());
  if (!place) return place;
  if (!place->is_object() || place->contains("fault"))
    return BrowserFault{"failed", readable_line(place->is_object() ? place->value("fault", "") : "", 300)};
  Json mouse = {{"x", (*place)["x"]}, {"y", (*place)["y"]}, {"button", "none"}};
  Answer done;
  for (const char* type : {"mouseMoved", "mousePressed", "mouseReleased"}) {
    mouse["type"] = type;
    if (type != std::string_view("mouseMoved")) mouse.update({{"button", "left"}, {"clickCount", 1}});
    done = in_page("Input.dispatchMouseEvent", mouse);
    if (!done) return done;
  }
  return settled(std::move(done));
}

Browser::Answer Browser::type(const Json& element, const std::string& text) {
  guard_.begin();
  Answer cleared = run_on(element, page_script("clear.js"), Json::array());
  if (cleared && cleared->is_string()) return BrowserFault{"failed", cleared->get<std::string>()};
  if (!cleared || text.empty()) return cleared;
  const std::vector<std::string> characters = characters_of(text);
  if (characters.size() > keys_max) return settled(in_page("Input.insertText", {{"text", text}}));
  Answer done;
  for (const std::string& character : characters) {
    Json key = key_of(character);
    key["type"] = "keyDown";
    chromium_->send("Input.dispatchKeyEvent", key, guard_.page_session());
    key.erase("text");
    key["type"] = "keyUp";
    done = in_page("Input.dispatchKeyEvent", std::move(key));
    if (!done) return done;
  }
  return settled(std::move(done));
}

Browser::Answer Browser::screenshot() {
  Answer answer = in_page("Page.captureScreenshot");
  if (!answer) return answer;
  return answer->value("data", Json(""));
}

}  // namespace cairn
