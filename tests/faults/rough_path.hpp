// A network path over TCP to a server's socket: on demand it is slow, passes byte by byte, loses everything, resets
// connections in the midst of what they say, or brings nothing to those who listen for notifications. Has its own
// threads; thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace cairn::program {

class RoughPath {
 public:
  // Forwards to the server that the DSN names by its socket directory.
  explicit RoughPath(const std::string& server_dsn);
  ~RoughPath();
  RoughPath(const RoughPath&) = delete;
  RoughPath& operator=(const RoughPath&) = delete;

  std::string dsn() const { return dsn_; }

  // While true, what is sent is taken and lost, and nothing is closed. Connections that lost bytes are reset
  // afterwards.
  void swallow(bool does) { swallows_ = does; }
  void delay(std::chrono::milliseconds each_way) { delay_ms_ = each_way.count(); }
  void pass_single_bytes(bool does) { single_ = does; }
  // Each connection is reset (RST) after a number of bytes drawn up to this one, in either direction; 0: none any more.
  void reset_within(std::uint32_t bytes) { reset_within_ = bytes; }
  // While true, connections that listen are not read from.
  void deafen(bool does) { deafens_ = does; }

  int swallowed() const { return swallowed_; }  // pieces
  int resets() const { return resets_; }
  int deaf() const { return deaf_; }  // connections that listened while it was so

 private:
  class Relay;
  void accept_loop();
  std::uint32_t draw(std::uint32_t most);

  std::string server_path_;
  std::string dsn_;
  int listener_ = -1;
  std::atomic<bool> swallows_{false};
  std::atomic<bool> single_{false};
  std::atomic<bool> deafens_{false};
  std::atomic<std::int64_t> delay_ms_{0};
  std::atomic<std::uint32_t> reset_within_{0};
  std::atomic<int> swallowed_{0};
  std::atomic<int> resets_{0};
  std::atomic<int> deaf_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::mt19937_64 random_;
  std::vector<std::thread> relays_;
  std::thread accepting_;
};

}  // namespace cairn::program
