// Workers over HTTP, many in one thread each: they claim steps from one `cairn serve` in batches and report them at
// once. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace cairn {

struct ClaimClientsOptions {
  std::string url;
  std::string queue;
  std::string handler;
  int connections = 1;  // each a session of its own
  int max = 1;          // steps that it takes at once
  std::int64_t wait_ms = 20'000;
};

// Runs until it is destroyed.
class ClaimClients {
 public:
  explicit ClaimClients(const ClaimClientsOptions& options);
  ~ClaimClients();
  std::int64_t steps() const;  // that were committed
  std::int64_t asks() const;   // that were answered
  void check() const;          // throws std::runtime_error if a request failed

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
