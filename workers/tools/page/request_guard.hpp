// The guard between a page and the network: sees each request of the browser's pages, frames and workers while it is
// paused, before it leaves, also after a redirect, and lets it go on only if it is allowed. Counts what is asked for
// and what comes, and ends the browser that passes the bounds. Dismisses dialogs. `hear` is for the thread of one
// DevTools; the rest is safe from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>

#include "workers/tools/page/allowed_pages.hpp"
#include "workers/tools/page/devtools.hpp"

namespace cairn {

// Between two acts on the page.
inline constexpr std::size_t page_requests_max = 2'000;
inline constexpr std::size_t page_bytes_max = 64u * 1024 * 1024;
// At a time: windows, frames of other sites, workers.
inline constexpr int page_targets_max = 100;

class RequestGuard {
 public:
  explicit RequestGuard(const AllowedPages& pages) : pages_(pages) {}  // which outlive it

  void hear(DevTools& browser, const DevToolsEvent& event);
  // An act begins: what is counted, and what was refused, is counted from here.
  void begin();
  // The session of the browser's first page; "" until there is one.
  std::string page_session() const;
  std::string page_frame() const;
  bool is_loading() const { return is_loading_; }
  // The URL that the page led to and that may not be opened; "" if there is none.
  std::string refused_page() const;

 private:
  void decide(DevTools& browser, const DevToolsEvent& event);
  void attach(DevTools& browser, const DevToolsEvent& event);
  void hear_page(DevTools& browser, const DevToolsEvent& event);
  void count(DevTools& browser, std::size_t requests, std::size_t bytes);

  const AllowedPages& pages_;
  std::atomic<std::size_t> requests_ = 0;
  std::atomic<std::size_t> bytes_ = 0;
  std::atomic<int> targets_ = 0;
  std::atomic<bool> is_loading_ = false;
  mutable std::mutex mutex_;  // nothing is sent under it
  std::string session_;
  std::string frame_;
  std::string refused_page_;
};

}  // namespace cairn
