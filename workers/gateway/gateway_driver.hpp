// The driver of a gateway: threads of its own, which carry out its calls of the store and give it the time and
// notifications. They begin with the first ask, so that a process that no remote worker asks pays nothing. Safe from
// any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "workers/gateway/gateway.hpp"

namespace cairn {

class GatewayDriver {
 public:
  using OnAnswer = std::function<void(AskAnswer)>;

  // Both outlive it. `options`: shards are the store's.
  GatewayDriver(Store& store, const ToolTable& tools, GatewayOptions options);
  // All that wait have been answered, or are not any more.
  ~GatewayDriver();

  // `on_answer` is called once, on a thread of this one, and waits for nothing.
  AskId ask(Ask ask, OnAnswer on_answer);
  void hurry(AskId id);  // it waits for steps no longer
  // Its client is gone: what was claimed for it, or given to it by that answer, is offered again.
  void gone(AskId id);
  // As Gateway::hears.
  std::optional<std::vector<std::string>> hears(SessionId session, const std::string& caller,
                                                const std::vector<ClaimId>& has);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
