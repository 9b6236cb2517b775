// A proxy before the cluster's socket that cuts a connection around a COMMIT, or swallows what is sent. Has its own
// threads; thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cairn::test {

class CuttingProxy {
 public:
  enum class Cut { none, before_it_arrives, after_it_landed };

  // Forwards to the server that the DSN names by its socket directory.
  explicit CuttingProxy(const std::string& server_dsn);
  ~CuttingProxy();
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  std::string dsn() const { return dsn_; }
  void cut_next_commit(Cut cut) { cut_ = cut; }
  int cuts() const { return cuts_; }
  // Called with each cut, after the server has lost its client and before the client sees it. Set before the first one.
  void on_cut(std::function<void()> call) { on_cut_ = std::move(call); }
  // From now on nothing is passed on, and nothing is closed: a network that loses everything.
  void swallow() { swallows_ = true; }
  int swallowed() const { return swallowed_; }  // pieces of what clients sent

 private:
  void accept_loop();
  void relay(int client);
  bool forward(int from, int to, std::string& seen);

  std::string server_path_;
  std::string directory_;
  std::string dsn_;
  int listener_ = -1;
  std::atomic<Cut> cut_{Cut::none};
  std::atomic<int> cuts_{0};
  std::function<void()> on_cut_;
  std::atomic<bool> swallows_{false};
  std::atomic<int> swallowed_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> relays_;
  std::thread accepting_;
};

}  // namespace cairn::test
