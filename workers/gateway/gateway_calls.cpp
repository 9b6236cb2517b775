#include "workers/gateway/gateway_calls.hpp"

#include <algorithm>
#include <new>

#include "engine/corrupt_history.hpp"

namespace cairn {
namespace {

bool is_closed_by(const Closed& closed, StepId step) {
  return std::find(closed.steps.begin(), closed.steps.end(), step) != closed.steps.end();
}

// Whether the event ends the attempt of the claim: by this report or another, or with its run.
bool ends(const Event& event, const ClaimId& claim) {
  if (const auto* ending = std::get_if<RunEnding>(&event.body)) return is_closed_by(ending->closed, claim.fence.step);
  if (const auto* finished = std::get_if<RunFinished>(&event.body))
    return is_closed_by(finished->closed, claim.fence.step);
  if (event.step != claim.fence.step) return false;
  if (const auto* succeeded = std::get_if<StepSucceeded>(&event.body)) return succeeded->attempt == claim.attempt;
  if (const auto* failed = std::get_if<StepFailed>(&event.body)) return failed->attempt == claim.attempt;
  if (const auto* closed = std::get_if<SubGoalClosed>(&event.body)) return closed->attempt == claim.attempt;
  return false;
}

// Null: it has none.
Json values_of(const EventBody& end) {
  if (const auto* succeeded = std::get_if<StepSucceeded>(&end)) return parse_stored(succeeded->patch);
  const auto* closed = std::get_if<SubGoalClosed>(&end);
  return closed != nullptr && closed->status == GoalStatus::succeeded ? parse_stored(closed->outputs) : Json();
}

bool are_same_values(Store& store, const FindEnd& find, const EventBody& end) {
  Json recorded = values_of(end), reported = find.values;
  if (recorded == reported) return true;
  const Shard shard = shard_of(find.claim.run, store.shards());
  const ReadBlob read = [&](const Hash& hash) {
    for (const Blob& one : find.moved)
      if (one.hash == hash) return blob_text(one.bytes);
    return blob_text(store.values().get(shard, hash));
  };
  static_cast<void>(put_back({&recorded}, read));
  static_cast<void>(put_back({&reported}, read));
  return recorded == reported;
}

// False as well where the values cannot be read: that their event is there is known all the same.
bool has_same_values(Store& store, const FindEnd& find, const EventBody& end) {
  try {
    return are_same_values(store, find, end);
  } catch (const CorruptHistory&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

void OpenRemote::carry_out(const CallSite& at) {
  answer = {};
  if (named != 0) {
    const std::vector<SessionRow> rows = at.store.sessions().all();
    const auto found =
        std::find_if(rows.begin(), rows.end(), [this](const SessionRow& row) { return row.id == named; });
    const bool is_there = found != rows.end();
    answer.is_unknown = is_there ? found->caller != caller : worker != nullptr;
    if (is_there && !answer.is_unknown) answer.session = named;
    if (answer.session != 0 && worker == nullptr) answer.worker = declared_worker(*found);
  }
  if (worker == nullptr || answer.is_unknown) return;
  if (named == 0) answer.session = fresh;
  answer.worker = worker;
  SessionRow row = worker->row(answer.session);
  row.started_at = row.beat_at = at.store.database_time();
  at.store.sessions().open(row);
  if (named == answer.session) at.store.sessions().beat(named);
}

void RefreshGateway::carry_out(const CallSite& at) {
  answer = {};
  for (const SessionId session : beating) at.store.sessions().beat(session);
  answer.database_us = at.store.database_time();
  answer.steady_us = at.steady();
  answer.graphs = read_new_graphs(at.store, known, false);
  answer.queue_limits = at.store.limits().queue_limits();
  answer.sessions = at.store.sessions().all();
}

void FindEnd::carry_out(const CallSite& at) {
  answer = {};
  std::int64_t after = claim.head;
  for (;;) {
    const std::vector<EventRow> rows = at.store.events(claim.run, after, history_page);
    for (const EventRow& row : rows) {
      const Result<Event> event = event_of(row);
      if (!event || !ends(*event, claim)) continue;
      answer = {event->body, has_same_values(at.store, *this, event->body)};
      return;
    }
    if (std::ssize(rows) < history_page) return;
    after = rows.back().seq;
  }
}

void CheckGivenClaims::carry_out(const CallSite& at) {
  std::vector<std::pair<RunId, Fence>> holds;
  for (const ClaimId& claim : claims) holds.emplace_back(claim.run, claim.fence);
  answer = at.store.jobs().standing(holds);
}

const char* purpose(const GatewayCall& call) {
  return std::visit([](const auto& one) { return one.purpose(); }, call);
}

void carry_out(GatewayCall& call, const CallSite& at) {
  std::visit([&at](auto& one) { one.carry_out(at); }, call);
}

}  // namespace cairn
