// A session of the DevTools protocol with one Chromium, over the descriptors 3 and 4 of its process: JSON messages,
// each ended by a NUL. There is no port and no file to reach it by. Chromium and all that it started end with the
// object and with the process that holds it. Messages have at most `json_bytes_max` bytes and commands at most 30
// seconds; what is longer ends the browser. Safe from any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/json.hpp"
#include "engine/result.hpp"
#include "workers/ports/tool_process.hpp"

namespace cairn {

// A command that was not carried out. `word` says why: "gone" (the browser has ended), "refused" (the page led to
// the URL `says`, which may not be opened), "excess" (it asked for too much), "interrupted" (call() says when),
// "failed".
struct BrowserFault {
  std::string word;
  std::string says;
};

struct DevToolsEvent {
  std::string method;
  std::string session;  // of the target that it is about; "": the browser's own
  Json params;
};

class DevTools {
 public:
  using Answer = Result<Json, BrowserFault>;
  using OnEvent = std::function<void(DevTools&, const DevToolsEvent&)>;

  // Starts `argv`, whose stdout and stderr go into the file `log`. `on_event` runs on a thread of this object and only
  // sends. Throws std::system_error.
  DevTools(const std::vector<std::string>& argv, const std::string& log, OnEvent on_event);
  DevTools(const DevTools&) = delete;
  DevTools& operator=(const DevTools&) = delete;
  ~DevTools();

  // Waits for the command's result. Not from `on_event`. With `gives_up`, which is looked at after each event, it waits
  // no longer than that does not hold; then the fault is "interrupted".
  Answer call(const std::string& method, Json params = Json::object(), const std::string& session = "",
              const std::function<bool()>& gives_up = {});
  // The same for several, sent at once. In the order of `params`.
  std::vector<Answer> call_all(const std::string& method, std::vector<Json> params, const std::string& session,
                               const std::function<bool()>& gives_up = {});
  // No caller waits for the result.
  void send(const std::string& method, Json params = Json::object(), const std::string& session = "");
  // Waits until `holds`, which is looked at after each event, or the session has ended, or so many milliseconds have
  // passed. Whether it holds. Not from `on_event`.
  bool wait(const std::function<bool()>& holds, std::int64_t ms_max);
  // Ends Chromium. From now on each call answers this fault; the first one stays.
  void end(BrowserFault fault);
  std::optional<BrowserFault> ended() const;

 private:
  void read_all();
  void take(std::string_view text);
  void hand_on(const Json& message);
  std::int64_t begin(const std::string& method, Json params, const std::string& session);
  Answer finish(std::int64_t id, const std::function<bool()>& gives_up);
  void write(std::int64_t id, const std::string& method, Json params, const std::string& session);

  OnEvent on_event_;
  std::optional<LastingProcess> program_;  // ended by the thread
  int line_ = -1;
  std::atomic<bool> stops_ = false;

  std::mutex writing_;
  mutable std::mutex mutex_;
  std::condition_variable heard_;
  std::int64_t last_id_ = 0;
  std::map<std::int64_t, std::optional<Answer>> awaited_;  // by the command's id
  std::optional<BrowserFault> fault_;
  std::thread reader_;
};

}  // namespace cairn
