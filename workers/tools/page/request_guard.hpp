// The guard between a page and the network: sees each request of the browser's pages, frames and workers while it is
// paused, before it leaves, also after a redirect, and lets it go on only if it is allowed. Counts what is asked for
// and what comes, and ends the browser that passes the bounds. Knows the browser's tabs, their frames in processes of
// their own, what is under way on the network, and the dialogs that pages open (alert, confirm, prompt). `hear` is for
// the thread of one DevTools; the rest is safe from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workers/tools/page/allowed_pages.hpp"
#include "workers/tools/page/devtools.hpp"

namespace cairn {

// Between two acts on the page.
inline constexpr std::size_t page_requests_max = 2'000;
inline constexpr std::size_t page_bytes_max = 64u * 1024 * 1024;
// At a time: windows, frames of other sites, workers.
inline constexpr int page_targets_max = 100;

struct PageTab {
  std::string session;
  std::string frame;  // its main frame, and its target
  bool is_loading = false;
};

// A dialog of the browser that keeps the page waiting. `type`: alert, confirm, prompt.
struct PageDialog {
  std::string session;
  std::string type;
  std::string message;
  std::string value;  // what a prompt offers
};

class RequestGuard {
 public:
  explicit RequestGuard(const AllowedPages& pages) : pages_(pages) {}  // which outlive it

  void hear(DevTools& browser, const DevToolsEvent& event);
  // An act begins: what is counted, and what was refused, is counted from here. Dialogs stay open if `dialogs_stay`,
  // else they are dismissed.
  void begin(bool dialogs_stay);

  // The oldest first; closed ones are gone.
  std::vector<PageTab> tabs() const;
  // The tab that is acted upon: the first, until another one is chosen or it has closed.
  PageTab tab() const;
  void choose_tab(const std::string& frame);
  // The session of a frame in a process of its own; "": it has none.
  std::string session_of_frame(const std::string& frame) const;

  bool is_loading() const { return tab().is_loading; }
  // For how long nothing has been under way on the network, but for what has been so for seconds.
  std::chrono::milliseconds idle() const;
  std::optional<PageDialog> dialog() const;
  // Those that were dismissed since begin().
  std::vector<PageDialog> dismissed() const;
  // The data of a drag that Chromium has handed over since begin(); null: none.
  Json drag_data() const;
  // The URL that the page led to and that may not be opened; "" if there is none.
  std::string refused_page() const;

 private:
  using Clock = std::chrono::steady_clock;
  void decide(DevTools& browser, const DevToolsEvent& event);
  void attach(DevTools& browser, const DevToolsEvent& event);
  void detach(DevTools& browser, const std::string& session);
  void hear_network(DevTools& browser, const DevToolsEvent& event);
  void hear_dialog(DevTools& browser, const DevToolsEvent& event);
  void hear_page(DevTools& browser, const DevToolsEvent& event);
  void count(DevTools& browser, std::size_t requests, std::size_t bytes);
  PageTab* tab_of(const std::string& session);

  const AllowedPages& pages_;
  std::atomic<std::size_t> requests_ = 0;
  std::atomic<std::size_t> bytes_ = 0;
  std::atomic<int> targets_ = 0;
  mutable std::mutex mutex_;  // nothing is sent under it
  std::vector<PageTab> tabs_;
  std::size_t chosen_ = 0;                                                      // a place in tabs_
  std::map<std::string, std::string> frames_;                                   // session by target
  std::map<std::pair<std::string, std::string>, Clock::time_point> under_way_;  // session and request
  Clock::time_point network_ = Clock::now();
  bool dialogs_stay_ = false;
  std::optional<PageDialog> dialog_;
  std::vector<PageDialog> dismissed_;
  Json drag_data_;
  std::string refused_page_;
};

}  // namespace cairn
