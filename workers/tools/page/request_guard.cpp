#include "workers/tools/page/request_guard.hpp"

#include <algorithm>

namespace cairn {
namespace {

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
  } else if (event.method == "Network.dataReceived") {
    count(browser, 0, std::max(size_in(event.params, "dataLength"), size_in(event.params, "encodedDataLength")));
  } else if (event.method == "Page.javascriptDialogOpening") {
    const bool leaves = event.params.value("type", "") == "beforeunload";
    browser.send("Page.handleJavaScriptDialog", {{"accept", leaves}}, event.session);
  } else {
    hear_page(browser, event);
  }
}

void RequestGuard::begin() {
  requests_ = 0;
  bytes_ = 0;
  const std::lock_guard lock(mutex_);
  refused_page_.clear();
}

std::string RequestGuard::page_session() const {
  const std::lock_guard lock(mutex_);
  return session_;
}

std::string RequestGuard::page_frame() const {
  const std::lock_guard lock(mutex_);
  return frame_;
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
  const bool is_page = is_document && event.params.value("frameId", "") == page_frame();
  Json answer = {{"requestId", event.params.value("requestId", "")}};
  if (is_of_page(url) || (is_document ? pages_.may_open(url) : pages_.may_load(url))) {
    if (is_page) is_loading_ = true;
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
  if (type != "page" || !session_.empty()) return;
  session_ = session;
  frame_ = target.value("targetId", "");
}

void RequestGuard::hear_page(DevTools& browser, const DevToolsEvent& event) {
  const bool is_detached = event.method == "Target.detachedFromTarget";
  if (is_detached) --targets_;
  const std::string session = is_detached ? event.params.value("sessionId", "") : event.session;
  if (session.empty() || session != page_session()) return;
  if (is_detached || event.method == "Inspector.targetCrashed") {
    browser.end({"gone", "Expected the page to stay open, but it has closed or crashed."});
    return;
  }
  if (event.params.value("frameId", "") != page_frame()) return;
  if (event.method == "Page.frameStartedLoading") is_loading_ = true;
  if (event.method == "Page.frameStoppedLoading") is_loading_ = false;
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
