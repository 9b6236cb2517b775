// Routes that read: runs, their events, graphs, queues, workers, metrics, with what the caller's scope covers. Each
// function is safe from any thread, with a call of its own.
#pragma once

#include "ops/http/route_call.hpp"

namespace cairn {

RouteReply list_runs(RouteCall& call);
RouteReply show_run(RouteCall& call);
// ?wait_ms: how long the answer waits for the run's end; 0: not at all. Refuses `invalid`.
Result<std::int64_t> wait_asked(const ApiRequest& request);
// The request is answered again when the run has ended, or the time is over. `is_to_begin`: it may not be there yet.
ApiLater once_it_has_ended(const RouteCall& call, const RunId& run, std::int64_t wait_ms, bool is_to_begin);
// The run's state now, or what is known of a start that waits. REQUIRES: the scope covers it.
RouteReply state_response(RouteCall& call, const RunId& run);
RouteReply show_plan(RouteCall& call);
RouteReply diff_run(RouteCall& call);
RouteReply explain_run(RouteCall& call);
RouteReply show_events(RouteCall& call);
// The run as `cairn export` writes it, at most export_bytes_max, else `limit`. The signed checkpoints over its head,
// which name other runs too, are for tokens without a scope alone.
RouteReply export_run(RouteCall& call);
// {"run", "events", "sound", "findings"}: the chain of hashes, that each event can follow, large values, the origin of
// a fork and the derived rows. Signatures are compared by `cairn verify` alone, which knows the trusted keys.
RouteReply verify_run(RouteCall& call);
RouteReply list_graphs(RouteCall& call);
RouteReply show_graph(RouteCall& call);
RouteReply list_queues(RouteCall& call);
// Numbers for every name, also while the database is away; for a queue beyond the scope as if it did not exist.
RouteReply show_queue_age(RouteCall& call);
RouteReply budgets_of_queue(RouteCall& call);
RouteReply history_of_queue(RouteCall& call);
RouteReply list_starts(RouteCall& call);
RouteReply list_workers(RouteCall& call);
// A session with the steps that it holds, in pages of at most held_shown_max, of the first held_read_max; those of runs
// beyond the scope are left out.
RouteReply show_worker(RouteCall& call);
inline constexpr std::int32_t held_shown_max = 1'000;
inline constexpr std::int32_t held_read_max = 10'000;
RouteReply show_metrics(RouteCall& call);

}  // namespace cairn
