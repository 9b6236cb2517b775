#include "workers/tools/page/tools.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <openssl/evp.h>
#include <system_error>
#include <thread>
#include <utility>

#include "storage/private_file.hpp"
#include "workers/ports/failures.hpp"
#include "workers/tools/page/allowed_pages.hpp"
#include "workers/tools/page/browser.hpp"
#include "workers/tools/page/dom.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t tool_ms_max = 120'000;
constexpr auto settle_pause = std::chrono::milliseconds(100);
constexpr int settle_looks_max = 30;
constexpr auto idle_max = std::chrono::minutes(10);

// --- which pages -----------------------------------------------------------------------------------------------------
std::string escaped(const std::string& path) {
  static constexpr std::string_view digits = "0123456789ABCDEF";
  std::string text;
  for (const char letter : path) {
    const auto c = static_cast<unsigned char>(letter);
    const bool is_plain =
        std::isalnum(c) != 0 || std::string_view("/-._~").find(static_cast<char>(c)) != std::string_view::npos;
    if (is_plain) {
      text += static_cast<char>(c);
    } else {
      text += '%';
      text += digits[c >> 4];
      text += digits[c & 15];
    }
  }
  return text;
}

// A path becomes a URL.
bool is_relative(const std::string& place) {
  return !place.empty() && place.front() != '/' && place.find(':') == std::string::npos;
}

std::string url_of(const std::string& place) {
  if (place.find("://") != std::string::npos) return place;
  const std::size_t query = std::min(place.find_first_of("?#"), place.size());
  std::error_code error;
  const fs::path path = fs::weakly_canonical(fs::absolute(place.substr(0, query), error), error);
  return "file://" + escaped(path.string()) + place.substr(query);
}

// --- one run's browser -----------------------------------------------------------------------------------------------
// Thrown when there is no browser any more, or when there must not be.
struct BrowserGone {
  BrowserFault fault;
};

Json value_of(Browser::Answer answer) {
  if (!answer) throw BrowserGone{std::move(answer).error()};
  return *std::move(answer);
}

Json fault_of(const std::string& kind, const std::string& says) { return {{"kind", kind}, {"says", says}}; }

class OpenPage {
 public:
  explicit OpenPage(const AllowedPages& pages) : browser_(pages) {}
  void open(const std::string& url) { value_of(browser_.open(url)); }

  // The page once it is stable: loaded, and the same twice in a row.
  Json observe() {
    Json before;
    for (int looks = 1; looks <= settle_looks_max; ++looks) {
      Browser::Answer seen = browser_.run(page_script("observe.js"), {0});
      const bool is_between_pages = !seen && seen.error().word == "failed" && looks < settle_looks_max;
      Json now = is_between_pages ? Json::object() : value_of(std::move(seen));
      if (now == before && now.value("ready", false)) break;
      before = std::move(now);
      std::this_thread::sleep_for(settle_pause);
    }
    before.erase("ready");
    return before;
  }

  // The fault that kept it from being performed; null if it was.
  Json perform(const PageAction& action, const std::string& element) {
    const Json seen = observe();
    const PageElements page = read_page(seen.value("dom", ""));
    const PageElement* found = find_element(page, action.number);
    if (found == nullptr || (!element.empty() && signature(*found) != element)) {
      return fault_of("element_missing", "Expected element " + std::to_string(action.number) +
                                             " to be as it was seen, but it is not there.");
    }
    const Json handle = value_of(browser_.find(page_script("observe.js"), {action.number}));
    if (action.kind == PageAction::Kind::click) return fault_in(browser_.click(handle));
    const Json is_set = value_of(browser_.run_on(handle, page_script("set_value.js"), {action.value}));
    if (is_set == true) return nullptr;
    if (is_set.is_null())
      return fault_of("value_refused", "Expected the field to take \"" + action.value + "\", but it does not.");
    return fault_in(browser_.type(handle, action.value));
  }

  std::string screenshot() { return value_of(browser_.screenshot()).get<std::string>(); }

  std::mutex mutex;  // one call at a time
  std::chrono::steady_clock::time_point used = std::chrono::steady_clock::now();
  std::string last_key;
  Json last_answer;

 private:
  static Json fault_in(const Browser::Answer& answer) {
    if (answer) return nullptr;
    if (answer.error().word != "failed") throw BrowserGone{answer.error()};
    return fault_of("not_interactable", answer.error().says);
  }

  Browser browser_;
};

// --- all of them -----------------------------------------------------------------------------------------------------
class OpenPages {
 public:
  explicit OpenPages(PageToolOptions options) : options_(std::move(options)), allowed_(options_.pages) {}

  ToolAnswer observe(const ToolCall& call) {
    return with_page(call, [&](const std::string& url) {
      const std::shared_ptr<OpenPage> page = page_of(call.run, true);
      const std::lock_guard lock(page->mutex);
      page->open(url);
      return seen(call, *page, Json::object());
    });
  }

  ToolAnswer act(const ToolCall& call) {
    const Result<PageAction> action = parse_action(call.inputs.value("action", ""));
    if (!action) return invalid_input(action.error().message);
    return with_page(call, [&](const std::string& url) {
      std::shared_ptr<OpenPage> page = page_of(call.run, false);
      if (page == nullptr) {
        page = page_of(call.run, true);
        const std::lock_guard lock(page->mutex);
        page->open(url);
        return seen(call, *page, {{"performed", false}, {"reopened", true}});
      }
      const std::lock_guard lock(page->mutex);
      if (page->last_key == call.key) return ToolAnswer(page->last_answer);
      const Json fault = page->perform(*action, call.inputs.value("element", ""));
      Json more = {{"performed", fault.is_null()}};
      if (!fault.is_null()) more["fault"] = fault;
      return seen(call, *page, std::move(more));
    });
  }

  ToolAnswer close(const ToolCall& call) {
    drop(call.run);
    return Json::object();
  }

 private:
  template <class Do>
  ToolAnswer with_page(const ToolCall& call, Do work) {
    const Json place = call.inputs.value("url", Json());
    if (!place.is_string())
      return invalid_input("Expected {\"url\": TEXT}, but got " + excerpt(call.inputs, 100) + ".");
    if (is_relative(place.get_ref<const std::string&>()))
      return invalid_input(
          "Expected a URL or an absolute path of a page, because each worker stands in a directory of "
          "its own, but got " +
          excerpt(place, 200) + ".");
    const std::string url = url_of(place.get<std::string>());
    if (!allowed_.may_open(url)) return refused(url);
    try {
      return work(url);
    } catch (const BrowserGone& gone) {
      drop(call.run);
      if (gone.fault.word == "refused") return refused(gone.fault.says);
      if (gone.fault.word == "excess") return failure("refused", gone.fault.says, false);
      return failure("browser_lost", gone.fault.says, true);
    } catch (const std::system_error& error) {
      if (is_shortage(error.code())) throw;
      return failure("not_started", std::string("Expected a browser, but: ") + error.what() + ".", false);
    }
  }

  static Failure refused(const std::string& url) {
    return failure("refused",
                   "Expected a page that this worker may open (CAIRN_BROWSER_PAGES, or an .html file below its working "
                   "directory), but it is " +
                       url + ".",
                   false);
  }

  // The answer, remembered under the call's key. A page that led elsewhere is left at once.
  ToolAnswer seen(const ToolCall& call, OpenPage& page, Json more) {
    Json observed = page.observe();
    const std::string url = observed.value("url", "");
    if (!allowed_.may_open(url)) {
      drop(call.run);
      return refused(url);
    }
    keep_screenshot(call, page);
    observed.update(more);
    page.last_key = call.key;
    page.last_answer = observed;
    page.used = std::chrono::steady_clock::now();
    return observed;
  }

  void keep_screenshot(const ToolCall& call, OpenPage& page) const {
    if (options_.screenshots.empty()) return;
    const std::string text = page.screenshot();
    std::string bytes(text.size() / 4 * 3 + 3, '\0');
    const int length =
        EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                        reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
    if (length < 0) return;
    std::error_code ignored;
    fs::create_directories(options_.screenshots, ignored);
    const fs::path path =
        fs::path(options_.screenshots) / (to_string(call.run) + "-" + std::to_string(call.step) + ".png");
    if (make_private_file(path)) std::ofstream(path, std::ios::binary).write(bytes.data(), length);
  }

  // The run's page; null if there is none and none is to be made. Making one takes a second, without the lock.
  std::shared_ptr<OpenPage> page_of(const RunId& run, bool make) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = pages_.find(run);
      if (found != pages_.end() || !make) return found == pages_.end() ? nullptr : found->second;
    }
    auto page = std::make_shared<OpenPage>(allowed_);
    std::vector<std::shared_ptr<OpenPage>> ended = make_room();
    const std::lock_guard lock(mutex_);
    return pages_[run] = std::move(page);
  }

  // Takes out the idle ones, and the least recently used one if there are too many; its last user ends it.
  std::vector<std::shared_ptr<OpenPage>> make_room() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<OpenPage>> out;
    const auto now = std::chrono::steady_clock::now();
    const auto older = [](const auto& a, const auto& b) { return a.second->used < b.second->used; };
    while (!pages_.empty()) {
      const auto oldest = std::min_element(pages_.begin(), pages_.end(), older);
      if (pages_.size() < browsers_max && now - oldest->second->used < idle_max) break;
      out.push_back(std::move(oldest->second));
      pages_.erase(oldest);
    }
    return out;
  }

  void drop(const RunId& run) {
    std::shared_ptr<OpenPage> ended;
    const std::lock_guard lock(mutex_);
    const auto found = pages_.find(run);
    if (found == pages_.end()) return;
    ended = std::move(found->second);
    pages_.erase(found);
  }

  PageToolOptions options_;
  AllowedPages allowed_;
  std::mutex mutex_;
  std::map<RunId, std::shared_ptr<OpenPage>> pages_;
};

ToolSpec spec(std::string name, NativeTool tool) { return {std::move(name), std::move(tool), tool_ms_max, {}}; }

}  // namespace

std::vector<ToolSpec> page_tools(PageToolOptions options) {
  // Shared by the three tools, and by a call that outlives its deadline.
  const auto pages = std::make_shared<OpenPages>(std::move(options));
  return {spec("page.observe", [pages](const ToolCall& call) { return pages->observe(call); }),
          spec("page.act", [pages](const ToolCall& call) { return pages->act(call); }),
          spec("page.close", [pages](const ToolCall& call) { return pages->close(call); })};
}

}  // namespace cairn
