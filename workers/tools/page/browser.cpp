#include "workers/tools/page/browser.hpp"

#include <algorithm>
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
constexpr std::int64_t tab_ms_max = 5'000;
constexpr int removals_max = 20;
constexpr std::size_t keys_max = 2'000;   // a longer text is pasted
constexpr const char* handles = "cairn";  // the group of all of them
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
  return {"env",
          "TMPDIR=" + profile.string(),  // it leaves folders there, also when it ends in peace
          "chromium",
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
    if (!chromium_->wait([this] { return !guard_.tab().session.empty(); }, start_ms_max)) {
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

// A dialog of the page keeps every answer of it away; the caller looks for one.
Browser::Answer Browser::call(const std::string& method, Json params, const std::string& session) {
  Answer answer = chromium_->call(method, std::move(params), session, [this] { return guard_.dialog().has_value(); });
  if (const std::string refused = guard_.refused_page(); !refused.empty()) return BrowserFault{"refused", refused};
  return answer;
}

Browser::Answer Browser::in_tab(const std::string& method, Json params) {
  return call(method, std::move(params), guard_.tab().session);
}

FramePlace Browser::top() const {
  const PageTab tab = guard_.tab();
  return {tab.session, tab.frame};
}

Browser::Answer Browser::open(const std::string& url) {
  Answer led = in_tab("Page.navigate", {{"url", url}});
  if (led && led->contains("errorText")) led = BrowserFault{"failed", led->value("errorText", "")};
  return settled(std::move(led));
}

Browser::Answer Browser::back() {
  const Answer history = in_tab("Page.getNavigationHistory");
  if (!history) return history;
  const auto current = history->value("currentIndex", std::int64_t{0});
  const Json entries = history->value("entries", Json::array());
  if (current <= 0 || static_cast<std::size_t>(current) > entries.size()) return Json(false);
  const Json& before = entries[static_cast<std::size_t>(current) - 1];
  if (before.value("url", "") == "about:blank") return Json(false);
  Answer led = settled(in_tab("Page.navigateToHistoryEntry", {{"entryId", before["id"]}}));
  return led ? Answer(Json(true)) : led;
}

Browser::Answer Browser::close_tab(const std::string& frame) {
  Answer closed = chromium_->call("Target.closeTarget", {{"targetId", frame}});
  const auto is_gone = [&] {
    const std::vector<PageTab> tabs = guard_.tabs();
    return std::none_of(tabs.begin(), tabs.end(), [&](const PageTab& one) { return one.frame == frame; });
  };
  chromium_->wait(is_gone, tab_ms_max);
  return closed;
}

Browser::Answer Browser::show_tab() { return in_tab("Page.bringToFront"); }

Browser::Answer Browser::answer_dialog(bool accepts, const std::string& text) {
  const std::optional<PageDialog> dialog = guard_.dialog();
  if (!dialog) return Json(false);
  Json params = {{"accept", accepts}};
  if (dialog->type == "prompt") params["promptText"] = text;
  Answer answered = chromium_->call("Page.handleJavaScriptDialog", std::move(params), dialog->session);
  chromium_->wait([this] { return !guard_.dialog(); }, tab_ms_max);
  return answered ? settled(Json(true)) : answered;
}

// The page that an act has led to is loaded, or it is known where it may not go. That an act leads on is known before
// the page answers the next command.
Browser::Answer Browser::settled(Answer answer) {
  if (answer) static_cast<void>(in_tab("Runtime.evaluate", {{"expression", "0"}}));
  chromium_->wait(
      [this] { return !guard_.is_loading() || !guard_.refused_page().empty() || guard_.dialog().has_value(); },
      page_load_ms_max);
  if (const std::string refused = guard_.refused_page(); !refused.empty()) return BrowserFault{"refused", refused};
  return answer;
}

Browser::Answer Browser::run(const FramePlace& at, const std::string& script, Json arguments) {
  return call_function(at, script, std::move(arguments), true);
}

Browser::Answer Browser::find(const FramePlace& at, const std::string& script, Json arguments) {
  return call_function(at, script, std::move(arguments), false);
}

Browser::Answer Browser::world_of(const FramePlace& at) {
  Answer world = call("Page.createIsolatedWorld", {{"frameId", at.frame}, {"worldName", "cairn"}}, at.session);
  return world ? Answer(world->value("executionContextId", Json())) : world;
}

Browser::Answer Browser::call_function(const FramePlace& at, const std::string& script, Json arguments, bool by_value) {
  Answer world = world_of(at);
  if (!world) return world;
  Json given = Json::array();
  for (Json& argument : arguments) {
    const bool is_handle = argument.is_object() && argument.contains("handle");
    given.push_back(is_handle ? Json{{"objectId", argument["handle"]}} : Json{{"value", std::move(argument)}});
  }
  Answer answer = call("Runtime.callFunctionOn",
                       {{"functionDeclaration", "function(){" + script + "\n}"},
                        {"arguments", std::move(given)},
                        {"executionContextId", *world},
                        {"objectGroup", handles},
                        {"returnByValue", by_value}},
                       at.session);
  if (!answer) return answer;
  if (answer->contains("exceptionDetails")) return BrowserFault{"failed", "javascript error"};
  const Json result = answer->value("result", Json::object());
  return result.value(by_value ? "value" : "objectId", Json());
}

Browser::Answer Browser::frame_in(const FramePlace& at, const Json& element, FramePlace& inner) {
  Answer node = call("DOM.describeNode", {{"objectId", element}}, at.session);
  if (!node) return node;
  inner.frame = node->value("node", Json::object()).value("frameId", "");
  inner.session = guard_.session_of_frame(inner.frame);
  if (inner.session.empty()) inner.session = at.session;
  return node;
}

// One by one, since Chromium crashes when it is asked for a whole tree with a date field in it. `pierce` makes it
// report what the page's own scripts listen to, not of ours alone.
Browser::Listeners Browser::listeners(const FramePlace& at, const std::vector<std::string>& presses,
                                      const std::vector<std::string>& moves, std::size_t count_max) {
  const Answer list = find(at, page_script("candidates.js"), {count_max});
  if (!list || !list->is_string()) return {};
  const Answer properties = call("Runtime.getProperties", {{"objectId", *list}, {"ownProperties", true}}, at.session);
  if (!properties) return {};
  std::vector<Json> asked;
  for (const Json& one : properties->value("result", Json::array())) {
    const Json value = one.value("value", Json::object());
    if (value.value("subtype", "") != "node") continue;
    asked.push_back({{"objectId", value["objectId"]}, {"depth", 1}, {"pierce", true}});
  }
  const std::vector<Json> elements = asked;
  const auto gives_up = [this] { return guard_.dialog().has_value(); };
  const std::vector<Answer> heard =
      chromium_->call_all("DOMDebugger.getEventListeners", std::move(asked), at.session, gives_up);
  const auto listens = [](const Answer& answer, const std::vector<std::string>& events) {
    const Json all = answer ? answer->value("listeners", Json::array()) : Json::array();
    return std::any_of(all.begin(), all.end(), [&events](const Json& one) {
      return std::find(events.begin(), events.end(), one.value("type", "")) != events.end();
    });
  };
  Listeners found;
  for (std::size_t place = 0; place < elements.size(); ++place) {
    const Json element = {{"handle", elements[place]["objectId"]}};
    if (listens(heard[place], presses))
      found.presses.push_back(element);
    else if (listens(heard[place], moves))
      found.moves.push_back(element);
  }
  return found;
}

void Browser::forget_handles(const FramePlace& at) {
  chromium_->send("Runtime.releaseObjectGroup", {{"objectGroup", handles}}, at.session);
}

// --- the mouse and the keys -----------------------------------------------------------------------------------------
Browser::Answer Browser::move(PagePoint to, int buttons) {
  return in_tab("Input.dispatchMouseEvent", {{"type", "mouseMoved"},
                                             {"x", to.x},
                                             {"y", to.y},
                                             {"button", buttons == 0 ? "none" : "left"},
                                             {"buttons", buttons}});
}

Browser::Answer Browser::press_button(PagePoint at, int clicks) {
  return in_tab(
      "Input.dispatchMouseEvent",
      {{"type", "mousePressed"}, {"x", at.x}, {"y", at.y}, {"button", "left"}, {"buttons", 1}, {"clickCount", clicks}});
}

Browser::Answer Browser::release_button(PagePoint at, int clicks) {
  return in_tab("Input.dispatchMouseEvent",
                {{"type", "mouseReleased"}, {"x", at.x}, {"y", at.y}, {"button", "left"}, {"clickCount", clicks}});
}

Browser::Answer Browser::drag_event(const std::string& type, PagePoint at, const Json& data) {
  return in_tab("Input.dispatchDragEvent", {{"type", type}, {"x", at.x}, {"y", at.y}, {"data", data}});
}

Browser::Answer Browser::intercept_drags(bool does) { return in_tab("Input.setInterceptDrags", {{"enabled", does}}); }

Browser::Answer Browser::type(const std::string& text) {
  const std::vector<std::string> characters = characters_of(text);
  if (characters.size() > keys_max) return in_tab("Input.insertText", {{"text", text}});
  Answer done = Json::object();
  for (const std::string& character : characters) {
    done = press(key_of(character), 0);
    if (!done) return done;
  }
  return done;
}

Browser::Answer Browser::press(const Json& key, int modifiers) {
  Json down = key;
  down["type"] = down.contains("text") ? "keyDown" : "rawKeyDown";
  down["modifiers"] = modifiers;
  chromium_->send("Input.dispatchKeyEvent", down, guard_.tab().session);
  down.erase("text");
  down.erase("commands");
  down["type"] = "keyUp";
  return in_tab("Input.dispatchKeyEvent", std::move(down));
}

Browser::Answer Browser::give_files(const FramePlace& at, const Json& element, const std::vector<std::string>& paths) {
  return call("DOM.setFileInputFiles", {{"files", paths}, {"objectId", element}}, at.session);
}

Browser::Answer Browser::screenshot(const std::string& format) {
  Json params = {{"format", format}};
  if (format == "jpeg") params["quality"] = 70;
  Answer answer = in_tab("Page.captureScreenshot", std::move(params));
  if (!answer) return answer;
  return answer->value("data", Json(""));
}

Browser::Answer Browser::cookies() {
  Answer answer = chromium_->call("Storage.getCookies");
  if (!answer) return answer;
  return answer->value("cookies", Json::array());
}

Browser::Answer Browser::set_cookies(Json cookies) {
  return chromium_->call("Storage.setCookies", {{"cookies", std::move(cookies)}});
}

}  // namespace cairn
