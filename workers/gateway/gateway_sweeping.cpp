// The sweep of the gateway: the same part as a session's, without steps of its own.
#include <map>
#include <type_traits>
#include <utility>

#include "workers/gateway/gateway.hpp"

namespace cairn {
namespace {

constexpr TimeUs between_scans_us = 5'000'000;  // between two scans: workers of other kinds sweep more often

}  // namespace

void Gateway::dispatch_sweeps() {
  Sweeping::Actions actions = sweeping_.drain_actions();
  for (StoreCall& one : actions.calls) {
    std::visit(
        [this](auto& of) {
          if constexpr (std::is_constructible_v<GatewayCall, decltype(of)>) call(std::move(of));
        },
        one);
  }
  std::map<TimeUs, std::vector<std::pair<RunId, Fence>>> by_time;
  for (const Pool::Release& one : actions.releases) by_time[one.run_at_us].emplace_back(one.run, one.fence);
  for (auto& [run_at, holds] : by_time) call(LetGo{std::move(holds), run_at});
  for (Submission& one : actions.submissions) committer_.submit(std::move(one));
  for (const auto& [ticket, run] : actions.to_finish) committer_.finish_call(ticket, run);
  for (const Sweeping::TakenOver& one : actions.taken_over)
    actions_.notes.push_back({Note::Level::info, "A step was lost, and is offered again: " + one.why,
                              Json{{"run", to_string(one.run)},
                                   {"step", one.fence.step},
                                   {"attempt", one.attempt},
                                   {"session", one.fence.session}}});
}

void Gateway::on_answer(ScanSessions& scan) {
  sweeping_.scanned(scan, {}, false);
  sweeping_.rest_for(between_scans_us);
  dispatch_sweeps();
}

void Gateway::on_answer(ReapSession& reap) {
  sweeping_.reaped(reap);
  dispatch_sweeps();
}

}  // namespace cairn
