#include "storage/postgres/commit_rows.hpp"

#include <algorithm>

#include "storage/commit_rules.hpp"
#include "storage/postgres/single_row.hpp"

namespace cairn {
namespace {

std::string tags_text(const Tags& tags) { return tags.empty() ? "{}" : canonical(Json(tags)); }

// Fences by binary search: an entry may have thousands of fences and jobs.
class FencesByBranch {
 public:
  explicit FencesByBranch(const Entry& entry) {
    fences_.reserve(entry.fences.size());
    for (const Fence& fence : entry.fences) fences_.push_back(&fence);
    std::sort(fences_.begin(), fences_.end(), [](const Fence* a, const Fence* b) { return a->branch < b->branch; });
  }
  const Fence* of(BranchId branch) const {
    const auto found = std::lower_bound(fences_.begin(), fences_.end(), branch,
                                        [](const Fence* fence, BranchId sought) { return fence->branch < sought; });
    return found == fences_.end() || (*found)->branch != branch ? nullptr : *found;
  }

 private:
  std::vector<const Fence*> fences_;
};

std::int64_t count_of(const PgArray& rows) { return static_cast<std::int64_t>(rows.size()); }

}  // namespace

void NewRunRows::add(const Entry& entry, const Hash& chain_hash) {
  const RunRow& run = entry.run;
  id_.add(run.id);
  waiting_.add(run.waiting);
  head_.add(entry.events.back().seq);
  started_at_.add(run.started_at);
  updated_at_.add(run.updated_at);
  parent_.add(run.parent);
  continues_.add(run.continues);
  chain_hash_.add(chain_hash);
  status_.add(to_string(run.status));
  graph_.add(run.graph);
  version_.add(run.version);
  reason_.add(run.reason);
  tags_.add(tags_text(run.tags));
  origin_.add(run.forked_from ? std::optional(run.forked_from->run) : std::nullopt);
  origin_seq_.add(run.forked_from ? std::optional(run.forked_from->seq) : std::nullopt);
  caller_knows_.add(entry.caller_knows);
}

void NewRunRows::send(PgConnection& connection, Shard shard, std::optional<std::int64_t> expected) const {
  send_rows(connection, "insert_runs", PgParameters().add(shard), id_, waiting_, head_, started_at_, updated_at_,
            parent_, continues_, chain_hash_, status_, graph_, version_, reason_, tags_, origin_, origin_seq_,
            caller_knows_, expected);
}

void OfferedRows::add(const RunId& of, const Job& job, std::int64_t with_epoch) {
  run.add(of);
  branch.add(job.branch);
  step.add(job.step);
  attempt.add(job.attempt);
  priority.add(job.priority);
  run_at.add(job.run_at_us);
  epoch.add(with_epoch);
  timeout_ms.add(job.timeout_ms);
  queue.add(job.queue);
}

void OfferedRows::send(PgConnection& connection, const PgParameters& on_shard) const {
  if (run.size() > 0)
    send_rows(connection, "offer_jobs", on_shard, run, branch, step, attempt, priority, run_at, epoch, timeout_ms,
              queue);
}

void AskedRows::add(const RunId& of, const QuestionRow& question) {
  run.add(of);
  id.add(question.id);
  step.add(question.step);
  asked_at.add(question.asked_at);
  expires_at.add(question.expires_at);
  kind.add(question.kind);
  prompt.add(canonical(question.prompt));
  schema.add(canonical(question.schema));
  question.fallback ? fallback.add(canonical(*question.fallback)) : fallback.add_null();
}

void AskedRows::send(PgConnection& connection, const PgParameters& on_shard) const {
  if (run.size() > 0)
    send_rows(connection, "insert_questions", on_shard, run, id, step, asked_at, expires_at, kind, prompt, schema,
              fallback);
}

void Writes::add(const Entry& entry, std::span<const Hash> hashes) {
  add_events(entry, hashes);
  if (entry.head_before != 0) add_run(entry, hashes.back());
  const FencesByBranch fences(entry);
  for (const JobWrite& write : entry.jobs) add_job(entry, write, fences.of(write.job.branch));
  add_unwritten_fences(entry);
  add_questions(entry);
  add_uses(entry);
  if (entry.drops_snapshots) ended_.add(entry.run.id);
}

void Writes::add_events(const Entry& entry, std::span<const Hash> hashes) {
  for (std::size_t at = 0; at < entry.events.size(); ++at) {
    const EventRow& event = entry.events[at];
    events_.run.add(entry.run.id);
    events_.seq.add(event.seq);
    events_.at.add(event.at_us);
    events_.type.add(event.type);
    events_.version.add(event.version);
    events_.step.add(event.step);
    events_.chain_hash.add(hashes[at]);
    events_.actor.add(event.actor);
    events_.payload.add(event.payload);
  }
}

void Writes::add_run(const Entry& entry, const Hash& chain_hash) {
  runs_.id.add(entry.run.id);
  runs_.head.add(entry.events.back().seq);
  runs_.chain_hash.add(chain_hash);
  runs_.status.add(to_string(entry.run.status));
  runs_.waiting.add(entry.run.waiting);
  runs_.updated_at.add(entry.run.updated_at);
  runs_.version.add(entry.run.version);
  runs_.reason.add(entry.run.reason);
  runs_.head_before.add(entry.head_before);
  runs_.chain_before.add(entry.chain_before);
  runs_.caller_knows.add(entry.caller_knows);
}

// Without a fence any session may hold the row.
void Writes::Fenced::add(const RunId& id, BranchId of, const Fence* fence) {
  run.add(id);
  branch.add(of);
  if (fence == nullptr) {
    session.add_null();
    epoch.add_null();
    held_step.add_null();
    return;
  }
  session.add(fence->session);
  epoch.add(fence->epoch);
  held_step.add(fence->step);
  ++expected;
}

// The fences that no written row checks: `keep` and `drop` check their own.
void Writes::add_unwritten_fences(const Entry& entry) {
  std::vector<BranchId> written;
  for (const JobWrite& write : entry.jobs)
    if (write.op == JobWrite::Op::keep || write.op == JobWrite::Op::drop) written.push_back(write.job.branch);
  std::sort(written.begin(), written.end());
  for (const Fence& fence : entry.fences)
    if (!std::binary_search(written.begin(), written.end(), fence.branch))
      unwritten_fences_.add(entry.run.id, fence.branch, &fence);
}

void Writes::add_job(const Entry& entry, const JobWrite& write, const Fence* fence) {
  const Job& job = write.job;
  switch (write.op) {
    case JobWrite::Op::offer:
      offers_.add(entry.run.id, job, first_epoch(entry.events.back().seq));
      return;
    case JobWrite::Op::keep:
      CHECK(fence != nullptr);  // as check_batch() has seen
      keeps_.run.add(entry.run.id);
      keeps_.branch.add(job.branch);
      keeps_.step.add(job.step);
      keeps_.attempt.add(job.attempt);
      keeps_.timeout_ms.add(job.timeout_ms);
      keeps_.deadline.add(write.deadline_us);
      keeps_.session.add(fence->session);
      keeps_.epoch.add(fence->epoch);
      keeps_.held_step.add(fence->step);
      return;
    case JobWrite::Op::insert_held:
      holds_.run.add(entry.run.id);
      holds_.branch.add(job.branch);
      holds_.step.add(job.step);
      holds_.attempt.add(job.attempt);
      holds_.priority.add(job.priority);
      holds_.run_at.add(job.run_at_us);
      holds_.session.add(write.session);
      holds_.deadline.add(write.deadline_us);
      holds_.timeout_ms.add(job.timeout_ms);
      holds_.queue.add(job.queue);
      holds_.queues.insert(job.queue);
      return;
    case JobWrite::Op::adjust:
      adjustments_.run.add(entry.run.id);
      adjustments_.branch.add(job.branch);
      adjustments_.queue.add(job.queue);
      adjustments_.priority.add(job.priority);
      adjustments_.run_at.add(job.run_at_us);
      adjustments_.timeout_ms.add(job.timeout_ms);
      return;
    case JobWrite::Op::drop:
      drops_.add(entry.run.id, job.branch, fence);
      return;
  }
}

void Writes::add_questions(const Entry& entry) {
  for (const QuestionRow& question : entry.asked) asked_.add(entry.run.id, question);
  for (const std::string& id : entry.closed_questions) {
    closed_.run.add(entry.run.id);
    closed_.id.add(id);
  }
}

void Writes::add_uses(const Entry& entry) {
  for (const StepUse& use : uses_of(entry)) {
    uses_.run.add(entry.run.id);
    uses_.branch.add(use.branch);
    uses_.tokens.add(use.tokens);
    uses_.cost.add(use.cost);
  }
}

void Writes::send_fenced(PgConnection& connection, std::string_view name, const PgParameters& on_shard,
                         const Fenced& rows) {
  send_rows(connection, name, on_shard, rows.run, rows.branch, rows.session, rows.epoch, rows.held_step, rows.expected);
}

void Writes::send(PgConnection& connection, Shard shard, std::int64_t commit) {
  PgParameters on_shard;
  on_shard.add(shard);
  if (runs_.id.size() > 0) {
    send_rows(connection, "update_runs", on_shard, runs_.id, runs_.head, runs_.chain_hash, runs_.status, runs_.waiting,
              runs_.updated_at, runs_.version, runs_.reason, runs_.head_before, runs_.chain_before, runs_.caller_knows,
              count_of(runs_.id));
  }
  if (ended_.size() > 0) send_rows(connection, "drop_snapshots", on_shard, ended_);
  if (unwritten_fences_.run.size() > 0) send_fenced(connection, "check_fences", on_shard, unwritten_fences_);
  if (events_.run.size() > 0) {
    PgParameters parameters = on_shard;
    parameters.add(commit);
    send_rows(connection, "insert_events", std::move(parameters), events_.run, events_.seq, events_.at, events_.type,
              events_.version, events_.step, events_.chain_hash, events_.actor, events_.payload);
  }
  if (uses_.run.size() > 0)
    send_rows(connection, "count_budgets", on_shard, uses_.run, uses_.branch, uses_.tokens, uses_.cost);
  if (keeps_.run.size() > 0) {
    send_rows(connection, "keep_jobs", on_shard, keeps_.run, keeps_.branch, keeps_.step, keeps_.attempt,
              keeps_.timeout_ms, keeps_.deadline, keeps_.session, keeps_.epoch, keeps_.held_step, count_of(keeps_.run));
  }
  offers_.send(connection, on_shard);
  if (holds_.run.size() > 0) {
    send_rows(connection, "hold_jobs", on_shard, holds_.run, holds_.branch, holds_.step, holds_.attempt,
              holds_.priority, holds_.run_at, holds_.session, holds_.deadline, holds_.timeout_ms, holds_.queue);
    PgArray queues(PgType::text);
    for (const std::string& queue : holds_.queues) queues.add(queue);
    PgParameters parameters = on_shard;
    parameters.add(std::move(queues));
    send_rows(connection, "permit_held", std::move(parameters), holds_.run, holds_.branch, holds_.queue);
  }
  if (adjustments_.run.size() > 0) {
    send_rows(connection, "adjust_jobs", on_shard, adjustments_.run, adjustments_.branch, adjustments_.queue,
              adjustments_.priority, adjustments_.run_at, adjustments_.timeout_ms);
  }
  if (drops_.run.size() > 0) send_fenced(connection, "drop_jobs", on_shard, drops_);
  // Closed questions go first: one that is closed and asked again in the same commit is open afterwards.
  if (closed_.run.size() > 0) send_rows(connection, "delete_questions", on_shard, closed_.run, closed_.id);
  asked_.send(connection, on_shard);
}

}  // namespace cairn
