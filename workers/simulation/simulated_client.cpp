#include "workers/simulation/simulated_client.hpp"

#include <algorithm>
#include <utility>

namespace cairn::simulation {

SimulatedClient::SimulatedClient(World& world, std::size_t number, bool insists)
    : world_(world), number_(number), insists_(insists) {
  begin();
}

void SimulatedClient::begin() {
  CommitterOptions of;
  of.shards = world_.scenario.shards;
  of.lanes = 1;
  of.actor = "client:" + std::to_string(number_);
  of.tools = &world_.tools;
  of.new_id = [this] { return world_.new_run(); };
  of.draw = [this] { return world_.chance.part(); };
  of.new_commit = [this] { return ++world_.last_commit; };
  gone_ = std::make_shared<bool>(false);
  committer_ = std::make_unique<Committer>(std::move(of), world_.graphs);
  next_pump_ = never_us;
}

void SimulatedClient::command(const RunId& run, Command command) {
  const Ledger::Entry entry = Ledger::entry_of(run, command);
  world_.ledger.asked(entry);
  if (world_.keeps_story)
    world_.write("client " + std::to_string(number_ + 1),
                 "wants " + std::string(entry.event) + " " + entry.name + " of run " + to_string(run).substr(0, 8));
  asked_.emplace(++last_ticket_, entry);
  committer_->tick(world_.now());
  committer_->submit({.ticket = last_ticket_, .run = run, .command = std::move(command)});
  pump();
}

void SimulatedClient::pump_at(TimeUs when) {
  if (when >= next_pump_) return;
  next_pump_ = when;
  world_.agenda.at(when - epoch_us, [this, gone = gone_] {
    if (*gone) return;
    next_pump_ = never_us;
    pump();
  });
}

void SimulatedClient::pump() {
  committer_->tick(world_.now());
  CommitterActions actions = committer_->drain_actions();
  if (!actions.loads.empty()) send(ReadHistories{std::move(actions.loads)});
  for (const CommitBatch& batch : actions.commits) send(Commit{batch});
  for (LockedCommit& commit : actions.locked_commits) send(CommitLocked{std::move(commit)});
  for (PutSnapshot& snapshot : actions.snapshots) send(KeepSnapshot{std::move(snapshot)});
  for (const Reply& reply : actions.replies) replied(reply);
  if (const TimeUs due = committer_->due_us(); due < never_us) pump_at(std::max(due, world_.now() + 1));
}

void SimulatedClient::send(StoreCall call) {
  Trouble trouble;
  const bool is_calm = world_.scenario.faults.empty() || world_.agenda.now() > world_.scenario.faults_end_us;
  if (!is_calm && world_.chance.one_in(12)) {
    const std::uint64_t kind = world_.chance.below(3);
    trouble.is_lost = kind == 0;
    trouble.is_answerless = kind == 1;
    if (kind == 2) trouble.lands_late_us = world_.chance.between(1'000, 1'500'000);
    ++world_.faults["client's call"];
    if (world_.keeps_story)
      world_.write("client " + std::to_string(number_ + 1), std::string("cannot, it seems, ") + purpose(call));
  }
  const auto decide = [this, gone = gone_](std::uint64_t batch, std::vector<LockedRun> runs) {
    if (*gone) throw StoreUnavailable("Expected a decision under the lock, but its client is away.");
    committer_->tick(world_.now());
    return committer_->decide_locked(batch, std::move(runs));
  };
  world_.send(
      std::move(call), trouble, [this] { return world_.agenda.now(); }, decide, gone_,
      [this](StoreCall& sent, bool is_answered) { answered(sent, is_answered); });
}

void SimulatedClient::answered(StoreCall& call, bool is_answered) {
  if (!is_answered && !insists_) return forget();
  committer_->tick(world_.now());
  if (auto* read = std::get_if<ReadHistories>(&call)) {
    if (is_answered) {
      for (History& history : read->answer.histories) committer_->history(std::move(history));
    } else {
      for (const Load& load : read->loads) committer_->load_failed(load.run);
    }
  } else if (auto* commit = std::get_if<Commit>(&call)) {
    settled(commit->batch.batch, commit->answer, is_answered);
  } else if (auto* locked = std::get_if<CommitLocked>(&call)) {
    settled(locked->commit.batch, locked->answer.verdicts, is_answered);
  }
  pump();
}

void SimulatedClient::settled(std::uint64_t batch, std::vector<Verdict>& verdicts, bool is_answered) {
  if (is_answered) {
    committer_->verdicts(batch, std::move(verdicts));
  } else {
    committer_->batch_failed(batch);
  }
}

void SimulatedClient::forget() {
  *gone_ = true;
  for (const auto& [ticket, entry] : std::exchange(asked_, {}))
    world_.ledger.answered(entry, Ledger::Response::nothing);
  begin();
}

void SimulatedClient::replied(const Reply& reply) {
  const auto asked = asked_.extract(reply.ticket);
  if (asked.empty()) found("A client was answered twice.");
  world_.ledger.answered(asked.mapped(), reply.status ? Ledger::Response::done : Ledger::Response::refused);
  if (!world_.keeps_story) return;
  const std::string about = std::string(asked.mapped().event) + " " + asked.mapped().name;
  world_.write("client " + std::to_string(number_ + 1),
               reply.status ? "has " + about : "is refused " + about + ": " + reply.status.error().message);
}

}  // namespace cairn::simulation
