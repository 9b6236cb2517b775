// The sweep of the gateway: the same part as a session's, without steps of its own.
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
  for (LetGo& one : calls_of(actions.releases)) call(std::move(one));
  for (Submission& one : actions.submissions) committer_.submit(std::move(one));
  for (const auto& [ticket, run] : actions.to_finish) committer_.finish_call(ticket, run);
  for (const Sweeping::TakenOver& one : actions.taken_over)
    actions_.notes.push_back({Note::Level::info, "A step was lost, and is taken over: " + one.why,
                              fields_of(one, committer_.state(one.run))});
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
