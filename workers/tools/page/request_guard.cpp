#include "workers/tools/page/request_guard.hpp"

#include <algorithm>

namespace cairn {
namespace {

constexpr auto request_patience = std::chrono::seconds(8);  // then an answer is nothing to wait for
constexpr std::size_t dialogs_max = 20;

// A URL that is made of the page's own bytes asks no server.
bool is_of_page(const std::string& url) {
  return url.starts_with("data:") || url.starts_with("blob:") || url.starts_with("about:");
}

std::size_t size_in(const Json& params, const char* name) {
  const Json size = params.value(name, Json());
  return size.is_number() && size > 0 ? static_cast<std::size_t>(size.get<double>()) : 0;
}

}  // namespace

void RequestGuard::hear(DevTools& browser, const DevToolsEvent& event) {
  if (event.method == "Fetch.requestPaused") {
    decide(browser, event);
  } else if (event.method == "Target.attachedToTarget") {
    attach(browser, event);
  } else if (event.method == "Target.detachedFromTarget") {
    detach(browser, event.params.value("sessionId", ""));
  } else if (event.method.starts_with("Network.")) {
    hear_network(browser, event);
  } else if (event.method.starts_with("Page.javascriptDialog")) {
    hear_dialog(browser, event);
  } else {
    hear_page(browser, event);
  }
}

void RequestGuard::begin(bool dialogs_stay) {
  requests_ = 0;
  bytes_ = 0;
  const std::lock_guard lock(mutex_);
  refused_page_.clear();
  dismissed_.clear();
  drag_data_ = nullptr;
  dialogs_stay_ = dialogs_stay;
  network_ = Clock::now();
}

std::vector<PageTab> RequestGuard::tabs() const {
  const std::lock_guard lock(mutex_);
  return tabs_;
}

PageTab RequestGuard::tab() const {
  const std::lock_guard lock(mutex_);
  return tabs_.empty() ? PageTab{} : tabs_[std::min(chosen_, tabs_.size() - 1)];
}

void RequestGuard::choose_tab(const std::string& frame) {
  const std::lock_guard lock(mutex_);
  for (std::size_t place = 0; place < tabs_.size(); ++place)
    if (tabs_[place].frame == frame) chosen_ = place;
}

std::string RequestGuard::session_of_frame(const std::string& frame) const {
  const std::lock_guard lock(mutex_);
  const auto found = frames_.find(frame);
  return found == frames_.end() ? "" : found->second;
}

std::chrono::milliseconds RequestGuard::idle() const {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  const bool is_busy = std::any_of(under_way_.begin(), under_way_.end(),
                                   [now](const auto& one) { return now - one.second < request_patience; });
  return is_busy ? std::chrono::milliseconds(0) : std::chrono::duration_cast<std::chrono::milliseconds>(now - network_);
}

std::optional<PageDialog> RequestGuard::dialog() const {
  const std::lock_guard lock(mutex_);
  return dialog_;
}

std::vector<PageDialog> RequestGuard::dismissed() const {
  const std::lock_guard lock(mutex_);
  return dismissed_;
}

Json RequestGuard::drag_data() const {
  const std::lock_guard lock(mutex_);
  return drag_data_;
}

std::string RequestGuard::refused_page() const {
  const std::lock_guard lock(mutex_);
  return refused_page_;
}

void RequestGuard::decide(DevTools& browser, const DevToolsEvent& event) {
  count(browser, 1, 0);
  const Json request = event.params.value("request", Json::object());
  const std::string url = request.value("url", "");
  const bool is_document = event.params.value("resourceType", "") == "Document";
  const std::string frame = event.params.value("frameId", "");
  const bool is_page = is_document && frame == tab().frame;
  Json answer = {{"requestId", event.params.value("requestId", "")}};
  if (is_of_page(url) || (is_document ? pages_.may_open(url) : pages_.may_load(url))) {
    if (is_document) {
      const std::lock_guard lock(mutex_);
      for (PageTab& one : tabs_) one.is_loading = one.is_loading || one.frame == frame;
    }
    browser.send("Fetch.continueRequest", std::move(answer), event.session);
    return;
  }
  if (is_page) {
    const std::lock_guard lock(mutex_);
    refused_page_ = url;
  }
  answer["errorReason"] = "BlockedByClient";
  browser.send("Fetch.failRequest", std::move(answer), event.session);
}

// Each target waits until it is watched. Its frames and workers are targets as well.
void RequestGuard::attach(DevTools& browser, const DevToolsEvent& event) {
  ++targets_;
  count(browser, 1, 0);
  const Json target = event.params.value("targetInfo", Json::object());
  const std::string session = event.params.value("sessionId", "");
  const std::string type = target.value("type", "");
  browser.send("Network.enable", {{"maxTotalBufferSize", 0}, {"maxResourceBufferSize", 0}, {"maxPostDataSize", 0}},
               session);
  browser.send("Target.setAutoAttach", {{"autoAttach", true}, {"waitForDebuggerOnStart", true}, {"flatten", true}},
               session);
  if (type == "page" || type == "iframe") {
    browser.send("Page.enable", Json::object(), session);
    browser.send("Page.setInterceptFileChooserDialog", {{"enabled", true}}, session);
    browser.send("Inspector.enable", Json::object(), session);
  }
  browser.send("Runtime.runIfWaitingForDebugger", Json::object(), session);
  const std::lock_guard lock(mutex_);
  const std::string id = target.value("targetId", "");
  if (type == "page") tabs_.push_back({session, id});
  if (type == "iframe") frames_[id] = session;
}

void RequestGuard::detach(DevTools& browser, const std::string& session) {
  --targets_;
  bool was_last = false;
  {
    const std::lock_guard lock(mutex_);
    if (dialog_ && dialog_->session == session) dialog_.reset();
    std::erase_if(frames_, [&session](const auto& one) { return one.second == session; });
    std::erase_if(under_way_, [&session](const auto& one) { return one.first.first == session; });
    const auto found =
        std::find_if(tabs_.begin(), tabs_.end(), [&session](const PageTab& one) { return one.session == session; });
    if (found == tabs_.end()) return;
    const auto place = static_cast<std::size_t>(found - tabs_.begin());
    tabs_.erase(found);
    if (chosen_ > place || (chosen_ == place && chosen_ > 0)) --chosen_;
    was_last = tabs_.empty();
  }
  if (was_last) browser.end({"gone", "Expected the page to stay open, but it has closed or crashed."});
}

// A request that stays open by its nature, as a stream of events, is nothing to wait for.
void RequestGuard::hear_network(DevTools& browser, const DevToolsEvent& event) {
  if (event.method == "Network.dataReceived") {
    count(browser, 0, std::max(size_in(event.params, "dataLength"), size_in(event.params, "encodedDataLength")));
    return;
  }
  const std::pair<std::string, std::string> request = {event.session, event.params.value("requestId", "")};
  const std::string type = event.params.value("type", "");
  const bool stays_open = type == "EventSource" || type == "WebSocket" || type == "Ping" || type == "Media";
  const std::lock_guard lock(mutex_);
  if (event.method == "Network.requestWillBeSent" && !stays_open) {
    under_way_[request] = Clock::now();
    network_ = Clock::now();
  } else if (event.method == "Network.loadingFinished" || event.method == "Network.loadingFailed") {
    if (under_way_.erase(request) > 0) network_ = Clock::now();
  }
}

void RequestGuard::hear_dialog(DevTools& browser, const DevToolsEvent& event) {
  if (event.method == "Page.javascriptDialogClosed") {
    const std::lock_guard lock(mutex_);
    if (dialog_ && dialog_->session == event.session) dialog_.reset();
    return;
  }
  const std::string type = event.params.value("type", "");
  const PageDialog opened = {event.session, type, event.params.value("message", ""),
                             event.params.value("defaultPrompt", "")};
  {
    const std::lock_guard lock(mutex_);
    if (dialogs_stay_ && type != "beforeunload") {
      dialog_ = opened;
      return;
    }
    if (type != "beforeunload" && dismissed_.size() < dialogs_max) dismissed_.push_back(opened);
  }
  browser.send("Page.handleJavaScriptDialog", {{"accept", type == "beforeunload"}}, event.session);
}

PageTab* RequestGuard::tab_of(const std::string& session) {
  const auto found =
      std::find_if(tabs_.begin(), tabs_.end(), [&session](const PageTab& one) { return one.session == session; });
  return found == tabs_.end() ? nullptr : &*found;
}

void RequestGuard::hear_page(DevTools& browser, const DevToolsEvent& event) {
  bool has_crashed = false;
  {
    const std::lock_guard lock(mutex_);
    if (event.method == "Input.dragIntercepted") drag_data_ = event.params.value("data", Json());
    PageTab* tab = tab_of(event.session);
    if (tab == nullptr) return;
    has_crashed = event.method == "Inspector.targetCrashed";
    if (event.params.value("frameId", "") == tab->frame) {
      if (event.method == "Page.frameStartedLoading") tab->is_loading = true;
      if (event.method == "Page.frameStoppedLoading") tab->is_loading = false;
    }
  }
  if (has_crashed) browser.end({"gone", "Expected the page to stay open, but it has closed or crashed."});
}

void RequestGuard::count(DevTools& browser, std::size_t requests, std::size_t bytes) {
  requests_ += requests;
  bytes_ += bytes;
  if (requests_ <= page_requests_max && bytes_ <= page_bytes_max && targets_ <= page_targets_max) return;
  browser.end({"excess",
               "Expected a page that asks for at most 2000 requests and 64 MiB between two acts, but it asks "
               "for more."});
}

}  // namespace cairn
