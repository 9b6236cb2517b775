// A command on its way to a run, as the committer takes it. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/command.hpp"
#include "storage/queue.hpp"

namespace cairn {

using Ticket = std::uint64_t;  // names the reply to a submission; 0: no reply is wanted

struct Submission {
  Ticket ticket = 0;
  RunId run;
  Command command;
  std::optional<Fence> fence = {};
  std::optional<std::string> keep_in = {};  // if the branch's next step may stay: the queue that its row stands in
  bool caller_has_ended = false;            // of a called run: its end need not be decided on its caller
};

}  // namespace cairn
