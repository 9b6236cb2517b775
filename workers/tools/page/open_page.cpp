#include "workers/tools/page/open_page.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "workers/ports/secrets.hpp"
#include "workers/tools/page/dom.hpp"

namespace cairn {
namespace {

// A page that searches as one types waits for a pause of the typing, commonly a quarter of a second, before it asks.
constexpr auto quiet = std::chrono::milliseconds(300);
constexpr auto quiet_after_keys = std::chrono::milliseconds(450);
constexpr auto between_pages = std::chrono::milliseconds(50);
constexpr int looks_max = 60;
constexpr std::size_t kept_bytes_max = 1024 * 1024;

Json checked(Browser::Answer answer) {
  if (answer) return *std::move(answer);
  throw BrowserGone{std::move(answer).error()};
}

// A dialog that opens with the page is seen next.
void led(Browser::Answer answer) {
  if (!answer && answer.error().word != "interrupted") throw BrowserGone{std::move(answer).error()};
}

bool types_keys(PageAction::Kind kind) {
  using Kind = PageAction::Kind;
  return kind == Kind::set_value || kind == Kind::set_secret || kind == Kind::type || kind == Kind::press;
}

Json fault_json(const ActFault& fault) {
  return {{"performed", false}, {"fault", {{"kind", fault.kind}, {"says", fault.says}}}};
}

// However the page writes it, whole or cut off.
bool has_secret(const std::string& text, const std::vector<std::string>& secrets) {
  return std::any_of(secrets.begin(), secrets.end(), [&text](const std::string& secret) {
    return Secrets::unnamed(secret).redacted_cut(text) != text;
  });
}

constexpr const char* storage_script =
    "const all = (of) => { try { return Object.fromEntries(Object.entries(of())); } catch (e) { return {}; } };"
    "return {origin: location.origin, local: all(() => localStorage), session: all(() => sessionStorage)};";
constexpr const char* restore_script =
    "let count = 0; const put = (from, to) => { for (const [key, value] of Object.entries(from || {}))"
    " if (to.getItem(key) === null) { to.setItem(key, value); ++count; } };"
    "try { put(arguments[0].local, localStorage); put(arguments[0].session, sessionStorage); } catch (e) { }"
    "return count;";

}  // namespace

void OpenPage::open(const std::string& url, const Json& kept, bool dialogs_stay) {
  browser_.guard().begin(dialogs_stay);
  const Json cookies = kept.value("cookies", Json::array());
  if (!cookies.empty()) static_cast<void>(browser_.set_cookies(cookies));
  led(browser_.open(url));
  const Json storage = kept.value("storage", Json::object());
  if (!storage.empty()) {
    const Browser::Answer origin = browser_.run(browser_.top(), "return location.origin", Json::array());
    const Json own = origin && origin->is_string() ? storage.value(origin->get<std::string>(), Json()) : Json();
    const Browser::Answer put = own.is_object() ? browser_.run(browser_.top(), restore_script, {own}) : Json(0);
    if (put && put->is_number() && *put > 0) led(browser_.open(url));
    kept_ = kept;
  }
  eyes_.forget();
  eyes_.rest(quiet);
}

// Between two pages there is none for a moment.
Json OpenPage::look() {
  for (int looks = 1;; ++looks) {
    Browser::Answer seen = eyes_.look();
    const bool is_between = !seen && (seen.error().word == "failed" || seen.error().word == "interrupted");
    if (!is_between || looks == looks_max) return checked(std::move(seen));
    std::this_thread::sleep_for(between_pages);
  }
}

// The number under which the element is now: it may have been drawn again. 0: it is not there.
std::int64_t OpenPage::aimed(std::int64_t number, const std::string& element, const Json& seen) const {
  const PageElements page = read_page(seen.value("dom", ""));
  const PageElement* found = find_element(page, number);
  if (found != nullptr) return element.empty() || signature(*found) == element ? number : 0;
  if (element.empty()) return 0;
  std::int64_t only = 0;
  for (const PageElement& other : page) {
    if (!other.number || signature(other) != element) continue;
    if (only != 0) return 0;
    only = *other.number;
  }
  return only;
}

Json OpenPage::perform(const WantedAct& wanted) {
  PageAction action = wanted.action;
  const bool has_dialog = browser_.guard().dialog().has_value();
  browser_.guard().begin(wanted.dialogs_stay);
  if (action.has_target && action.number > 0 && !has_dialog) {
    const Json seen = look();
    const std::int64_t number = aimed(action.number, wanted.element, seen);
    const std::int64_t to = action.to == 0 ? 0 : aimed(action.to, wanted.to, seen);
    if (number == 0 || (to == 0 && action.to != 0))
      return fault_json({"element_missing", "Expected element " +
                                                std::to_string(number == 0 ? action.number : action.to) +
                                                " to be as it was seen, but it is not there."});
    action.number = number;
    action.to = to;
  }
  if (!wanted.things.secret.empty()) secrets_.push_back(wanted.things.secret);
  const std::vector<PageTab> before = browser_.guard().tabs();
  eyes_.act_begins();
  Result<Hands::Answer, BrowserFault> done = hands_.perform(action, wanted.things);
  if (!done) throw BrowserGone{std::move(done).error()};
  eyes_.rest(types_keys(action.kind) ? quiet_after_keys : quiet);
  look_at_new_tab(before);
  if (!*done) return fault_json(done->error());
  return {{"performed", true}};
}

// As a person's browser shows a tab that a click has opened.
void OpenPage::look_at_new_tab(const std::vector<PageTab>& before) {
  for (const PageTab& tab : browser_.guard().tabs()) {
    const bool was_there =
        std::any_of(before.begin(), before.end(), [&tab](const PageTab& one) { return one.frame == tab.frame; });
    if (was_there || browser_.guard().dialog()) continue;
    const Browser::Answer url = browser_.run({tab.session, tab.frame}, "return location.href", Json::array());
    if (!url || !url->is_string() || !allowed_.may_open(url->get<std::string>())) continue;
    browser_.guard().choose_tab(tab.frame);
    eyes_.rest(quiet);
  }
}

Json OpenPage::see() {
  Json seen = look();
  seen.erase("ready");
  Json dismissed = Json::array();
  for (const PageDialog& dialog : browser_.guard().dismissed())
    dismissed.push_back({{"type", dialog.type}, {"message", dialog.message}});
  if (!dismissed.empty()) seen["dismissed"] = std::move(dismissed);
  shows_secret_ = seen.value("shows", false) || has_secret(seen.value("dom", ""), secrets_);
  seen.erase("shows");
  return seen;
}

// A page may store what was filled in: such an entry is not kept.
bool OpenPage::holds_secret(const Json& entry) const {
  if (entry.is_string()) return has_secret(entry.get_ref<const std::string&>(), secrets_);
  return entry.is_structured() &&
         std::any_of(entry.begin(), entry.end(), [this](const Json& part) { return holds_secret(part); });
}

Json OpenPage::without_secrets(const Json& entries) const {
  Json kept = entries.is_array() ? Json::array() : Json::object();
  for (const auto& [name, entry] : entries.items()) {
    if (holds_secret(entry) || (entries.is_object() && holds_secret(name))) continue;
    if (entries.is_array())
      kept.push_back(entry);
    else
      kept[name] = entry;
  }
  return kept;
}

Json OpenPage::keep() {
  const Browser::Answer cookies = browser_.cookies();
  if (cookies) kept_["cookies"] = without_secrets(*cookies);
  const Browser::Answer storage = browser_.run(browser_.top(), storage_script, Json::array());
  if (storage && storage->is_object()) {
    const std::string origin = storage->value("origin", "");
    kept_["storage"][origin] = {{"local", without_secrets(storage->value("local", Json::object()))},
                                {"session", without_secrets(storage->value("session", Json::object()))}};
  }
  if (canonical(kept_).size() > kept_bytes_max) kept_.erase("storage");
  return kept_;
}

std::string OpenPage::screenshot(const std::string& format) {
  if (shows_secret_ || browser_.guard().dialog()) return "";
  const Browser::Answer picture = browser_.screenshot(format);
  return picture && picture->is_string() ? picture->get<std::string>() : "";
}

}  // namespace cairn
