#include "workers/tools/page/tools.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <openssl/evp.h>
#include <system_error>
#include <utility>

#include "storage/ground/private_file.hpp"
#include "workers/ports/failures.hpp"
#include "workers/ports/untrusted_text.hpp"
#include "workers/tools/page/action.hpp"
#include "workers/tools/page/allowed_pages.hpp"
#include "workers/tools/page/open_page.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t tool_ms_max = 120'000;
constexpr std::size_t kept_states_max = 64;
constexpr std::size_t fault_bytes_max = 1'000;  // of what an act says that was not performed
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

// --- what runs leave behind ------------------------------------------------------------------------------------------
// The cookies and the storage of each run's browser, so that it can be opened again as it was.
class KeptStates {
 public:
  explicit KeptStates(std::string folder) : folder_(std::move(folder)) {}

  void put(const RunId& run, const Json& state) {
    const std::lock_guard lock(mutex_);
    if (folder_.empty()) {
      if (states_.size() >= kept_states_max && !states_.contains(run)) states_.erase(states_.begin());
      states_[run] = state;
      return;
    }
    std::error_code ignored;
    fs::create_directories(folder_, ignored);
    fs::path part = file_of(run);
    part += ".part";
    if (make_private_file(part)) std::ofstream(part, std::ios::binary) << canonical(state);
    fs::rename(part, file_of(run), ignored);
  }

  Json get(const RunId& run) const {
    const std::lock_guard lock(mutex_);
    if (folder_.empty()) {
      const auto found = states_.find(run);
      return found == states_.end() ? Json::object() : found->second;
    }
    std::ifstream file(file_of(run), std::ios::binary);
    const Result<Json> state =
        parse_json(std::string(std::istreambuf_iterator<char>(file), {}), "the kept state of a browser");
    return state && state->is_object() ? *state : Json::object();
  }

  void drop(const RunId& run) {
    const std::lock_guard lock(mutex_);
    states_.erase(run);
    std::error_code ignored;
    if (!folder_.empty()) fs::remove(file_of(run), ignored);
  }

 private:
  fs::path file_of(const RunId& run) const { return fs::path(folder_) / (to_string(run) + ".json"); }

  std::string folder_;
  mutable std::mutex mutex_;
  std::map<RunId, Json> states_;
};

// The files that may be given to pages.
Result<std::vector<std::string>, std::string> files_named(const std::vector<std::string>& names,
                                                          const std::string& folder) {
  if (folder.empty())
    return std::string("Expected a worker that gives files to pages, but CAIRN_BROWSER_UPLOADS is not set.");
  std::vector<std::string> paths;
  std::error_code error;
  const fs::path top = fs::canonical(folder, error);
  for (const std::string& name : names) {
    const fs::path path = fs::weakly_canonical(top / name, error);
    const fs::path below = path.lexically_relative(top);
    const bool is_inside = !below.empty() && *below.begin() != "..";
    if (error || !is_inside || !fs::is_regular_file(path, error))
      return "Expected a file of the folder for uploads, but there is no " + excerpt(Json(name), 100) + " in it.";
    paths.push_back(path.string());
  }
  return paths;
}

// --- one run's browser -----------------------------------------------------------------------------------------------
struct RunPage {
  explicit RunPage(const AllowedPages& pages) : page(pages) {}

  OpenPage page;
  std::mutex mutex;  // one call at a time
  std::chrono::steady_clock::time_point used = std::chrono::steady_clock::now();
  std::string last_key;
  Json last_answer;
};

// --- all of them -----------------------------------------------------------------------------------------------------
class OpenPages {
 public:
  explicit OpenPages(PageToolOptions options)
      : options_(std::move(options)), allowed_(options_.pages), kept_(options_.kept) {}

  ToolAnswer observe(const ToolCall& call) {
    return with_page(call, [&](const std::string& url) {
      const std::shared_ptr<RunPage> page = page_of(call.run, true);
      const std::lock_guard lock(page->mutex);
      page->page.open(url, Json::object(), asks(call));
      return seen(call, *page, Json::object());
    });
  }

  ToolAnswer act(const ToolCall& call) {
    WantedAct wanted;
    Result<PageAction> action = parse_action(call.inputs.value("action", ""));
    if (!action) return invalid_input(action.error().message);
    wanted.action = *std::move(action);
    wanted.element = call.inputs.value("element", "");
    wanted.to = call.inputs.value("to", "");
    wanted.dialogs_stay = asks(call);
    return with_page(call, [&](const std::string& url) {
      std::shared_ptr<RunPage> page = page_of(call.run, false);
      if (page == nullptr) {
        page = page_of(call.run, true);
        const std::lock_guard lock(page->mutex);
        page->page.open(url, kept_.get(call.run), asks(call));
        return seen(call, *page, {{"performed", false}, {"reopened", true}});
      }
      const std::lock_guard lock(page->mutex);
      if (page->last_key == call.key) return ToolAnswer(page->last_answer);
      Json more = lacking(*page, wanted);
      if (more.is_null()) more = page->page.perform(wanted);
      return seen(call, *page, std::move(more));
    });
  }

  ToolAnswer close(const ToolCall& call) {
    drop(call.run);
    kept_.drop(call.run);
    return Json::object();
  }

 private:
  static bool asks(const ToolCall& call) { return call.inputs.value("dialogs", Json()) == "ask"; }

  // Finds the secret or the files that the act names; what is lacking as the answer's fault.
  Json lacking(RunPage& page, WantedAct& wanted) {
    const auto refused_act = [](const std::string& says) -> Json {
      return {{"performed", false}, {"fault", {{"kind", "refused"}, {"says", says}}}};
    };
    if (wanted.action.kind == PageAction::Kind::upload) {
      Result<std::vector<std::string>, std::string> files = files_named(wanted.action.values, options_.uploads);
      if (!files) return refused_act(files.error());
      wanted.things.files = *std::move(files);
    }
    if (wanted.action.kind != PageAction::Kind::set_secret) return nullptr;
    const std::string& name = wanted.action.value;
    const std::string url = page.page.url_around(wanted.action.number);
    const std::lock_guard lock(secrets_mutex_);
    if (!options_.secrets.may_go_to_page(name, url))
      return refused_act("Expected a secret of this worker that may go to this page (\"urls\" of the secret), but " +
                         excerpt(Json(name), 100) + " is none.");
    const Result<std::string, Failure> value = options_.secrets.value(name);
    if (!value) return refused_act(value.error().message);
    wanted.things.secret = *value;
    return nullptr;
  }

  // A page's address may hold what was filled in.
  template <class Do>
  ToolAnswer with_page(const ToolCall& call, Do work) {
    ToolAnswer answer = at_page(call, std::move(work));
    const std::lock_guard lock(secrets_mutex_);
    if (!answer) answer.error().message = options_.secrets.redacted(answer.error().message);
    return answer;
  }

  template <class Do>
  ToolAnswer at_page(const ToolCall& call, Do work) {
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
  ToolAnswer seen(const ToolCall& call, RunPage& page, Json more) {
    Json observed = page.page.see();
    const std::string url = observed.value("url", "");
    if (!allowed_.may_open(url)) {
      drop(call.run);
      return refused(url);
    }
    keep_screenshot(call, page);
    if (call.inputs.value("screenshot", Json()) == true) {
      std::string picture = page.page.screenshot("jpeg");
      if (!picture.empty()) more["screenshot"] = std::move(picture);
    }
    kept_.put(call.run, page.page.keep());
    observed.update(more);
    {
      const std::lock_guard lock(secrets_mutex_);
      const Json picture = observed.value("screenshot", Json());
      observed.erase("screenshot");
      observed = options_.secrets.redacted_json(observed);
      if (const auto dom = observed.find("dom"); dom != observed.end() && dom->is_string())
        *dom = options_.secrets.redacted_cut(dom->get_ref<const std::string&>());
      if (const auto fault = observed.find("fault"); fault != observed.end())
        (*fault)["says"] = readable_line(fault->value("says", ""), fault_bytes_max);
      if (picture.is_string()) observed["screenshot"] = picture;
    }
    page.last_key = call.key;
    page.last_answer = observed;
    page.used = std::chrono::steady_clock::now();
    return observed;
  }

  void keep_screenshot(const ToolCall& call, RunPage& page) const {
    if (options_.screenshots.empty()) return;
    const std::string text = page.page.screenshot("png");
    if (text.empty()) return;
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
  std::shared_ptr<RunPage> page_of(const RunId& run, bool make) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = pages_.find(run);
      if (found != pages_.end() || !make) return found == pages_.end() ? nullptr : found->second;
    }
    auto page = std::make_shared<RunPage>(allowed_);
    std::vector<std::shared_ptr<RunPage>> ended = make_room();
    const std::lock_guard lock(mutex_);
    options_.local->add(run);
    return pages_[run] = std::move(page);
  }

  // Takes out the idle ones, and the least recently used one if there are too many; its last user ends it.
  std::vector<std::shared_ptr<RunPage>> make_room() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<RunPage>> out;
    const auto now = std::chrono::steady_clock::now();
    const auto older = [](const auto& a, const auto& b) { return a.second->used < b.second->used; };
    while (!pages_.empty()) {
      const auto oldest = std::min_element(pages_.begin(), pages_.end(), older);
      if (pages_.size() < browsers_max && now - oldest->second->used < idle_max) break;
      options_.local->remove(oldest->first);
      out.push_back(std::move(oldest->second));
      pages_.erase(oldest);
    }
    return out;
  }

  void drop(const RunId& run) {
    std::shared_ptr<RunPage> ended;
    const std::lock_guard lock(mutex_);
    const auto found = pages_.find(run);
    if (found == pages_.end()) return;
    ended = std::move(found->second);
    options_.local->remove(run);
    pages_.erase(found);
  }

  PageToolOptions options_;
  AllowedPages allowed_;
  KeptStates kept_;
  std::mutex secrets_mutex_;  // of options_.secrets
  std::mutex mutex_;
  std::map<RunId, std::shared_ptr<RunPage>> pages_;
};

ToolSpec spec(std::string name, NativeTool tool) {
  ToolSpec made{std::move(name), std::move(tool), tool_ms_max, {}};
  made.reach = {"page", "url"};
  return made;
}

}  // namespace

std::vector<ToolSpec> page_tools(PageToolOptions options) {
  // Shared by the three tools, and by a call that outlives its deadline.
  const auto pages = std::make_shared<OpenPages>(std::move(options));
  return {spec("page.observe", [pages](const ToolCall& call) { return pages->observe(call); }),
          spec("page.act", [pages](const ToolCall& call) { return pages->act(call); }),
          spec("page.close", [pages](const ToolCall& call) { return pages->close(call); })};
}

}  // namespace cairn
