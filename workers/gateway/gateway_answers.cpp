// The answers of the store to the gateway's calls: each goes to the part that asked; a call that failed goes again,
// unless something else follows from it.
#include <utility>

#include "workers/gateway/gateway.hpp"

namespace cairn {
namespace {

constexpr TimeUs between_scans_us = 5'000'000;  // workers of other kinds scan more often

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;  // clang 14 makes none for an aggregate

}  // namespace

void Gateway::answered(GatewayCall call) {
  --under_way_;
  CHECK(under_way_ >= 0);
  std::visit(
      Overloaded{
          [this](OpenRemote& open) {
            if (asks_.opened(open) && is_ready_) begin(open.ask);
          },
          [this](RefreshGateway& refresh) { refreshed(refresh); },
          [this](ReadHistories& read) { keep_histories(read); },
          [this](Commit& one) { committer_.verdicts(one.batch.batch, std::move(one.answer)); },
          [this](CommitLocked& one) { committer_.verdicts(one.commit.batch, std::move(one.answer.verdicts)); },
          [this](ClaimSteps& claim) { claims_.claimed(claim); }, [this](ReadBlobs& read) { claims_.blobs_read(read); },
          [this](KeepBlobs& keep) { claims_.has(keep.slot) ? claims_.blobs_kept(keep) : reports_.blobs_kept(keep); },
          [this](FindEnd& find) {
            if (!reports_.end_found(find)) later(std::move(find));
          },
          [this](LetGo& let_go) { reports_.let_go(let_go); }, [this](SayAlone& said) { claims_.said_alone(said); },
          [this](FindHolds& find) {
            claims_.add_holds(find.known);
            reports_.add_holds(find.known);
            sessions_.found(find);
          },
          [this](CheckGivenClaims& check) { sessions_.given_checked(check); },
          [this](ScanSessions& scan) {
            sweeping_.scanned(scan, {}, false);
            sweeping_.rest_for(between_scans_us);
            dispatch_sweeps();
          },
          [this](ReapSession& reap) {
            sweeping_.reaped(reap);
            dispatch_sweeps();
          },
          [](TieEnds&) {}, [](CloseSession&) {}, [](KeepSnapshot&) {}},
      call);
}

void Gateway::failed(const GatewayCall& call) {
  --under_way_;
  CHECK(under_way_ >= 0);
  std::visit(Overloaded{[this](const RefreshGateway&) {
                          for (const Load& load : after_names_.ended()) committer_.load_failed(load.run);
                        },
                        [this](const ReadHistories& read) {
                          for (const Load& load : read.loads) committer_.load_failed(load.run);
                        },
                        [this](const Commit& one) { committer_.batch_failed(one.batch.batch); },
                        [this](const CommitLocked& one) { committer_.batch_failed(one.commit.batch); },
                        [this](const ClaimSteps& claim) { claims_.claim_failed(claim); },
                        [this](const ScanSessions&) { sweeping_.scan_failed(); },
                        [](const ReapSession&) {},   // named again by the next scan
                        [](const TieEnds&) {},       // found again by a later scan
                        [](const KeepSnapshot&) {},  // a cache
                        [this](const auto& again) { later(again); }},
             call);
}

}  // namespace cairn
