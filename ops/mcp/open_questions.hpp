// The open questions of a run and of the runs that it has called: a client sees the call of one tool. Safe from any
// thread if the host is.
#pragma once

#include <optional>
#include <string>

#include "ops/mcp/forms.hpp"
#include "ops/mcp/host.hpp"
#include "ops/mcp/peer.hpp"

namespace cairn {

inline constexpr std::size_t asking_runs_max = 100;  // open runs of a call that are looked at

// As a run's state has them, each with its `run`, and with the `key` by which an input request names it: its id, or for
// a run that was called form_id(). `state` is what GET /runs/RUN answers. Runs that the caller may not read are left
// out.
Json open_questions(const McpHost& host, const Json& state);

// The means of the client, with those of this program.
Asking asking_of(const McpHost& host, const McpPeer& peer);

// The run whose call waits for this one: the first of those that have called each other, as far as the caller may read.
RunId first_caller(const McpHost& host, const Json& state);

// The id of a form that the server asks for, and the question that it names; nothing: it is none.
std::string form_id(const std::string& run, const std::string& question);
struct FormPlace {
  RunId run;
  std::string question;
};
std::optional<FormPlace> form_place(const Json& id);

}  // namespace cairn
