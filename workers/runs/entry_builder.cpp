#include "workers/runs/entry_builder.hpp"

#include <algorithm>
#include <utility>

#include "engine/codec.hpp"
#include "workers/runs/projection.hpp"

namespace cairn {
namespace {

constexpr TimeUs ahead_us_min = 1'000'000;

HeldJob held_job(const RunState& after, const JobWrite& write, std::int64_t epoch) {
  HeldJob held;
  held.run = after.id;
  held.job = write.job;
  held.session = write.session;
  held.epoch = epoch;
  held.deadline_us = write.deadline_us;
  held.run_head = after.seq;
  return held;
}

EventRow row_of(Event&& event) {
  const EventType type = event_type(event.body);
  EventRow row;
  row.seq = event.seq;
  row.at_us = event.at_us;
  row.type = type.number;
  row.version = type.version;
  row.step = event.step;
  row.payload = encode_payload(event.body);
  row.actor = std::move(event.actor);
  return row;
}

}  // namespace

std::vector<BranchId> branches_above(const RunState& state, BranchId branch) {
  std::vector<BranchId> above;
  auto found = state.branches.find(branch);
  while (found != state.branches.end() && found->second.parent != 0) {
    above.push_back(found->second.parent);
    found = state.branches.find(above.back());
  }
  return above;
}

// --- rows -----------------------------------------------------------------------------------------------------------

const JobRow* JobRows::find(BranchId branch) const {
  const auto found = rows_.find(branch);
  return found == rows_.end() ? nullptr : &found->second;
}

void JobRows::assign(const RunState& state) {
  rows_.clear();
  for (const Job& job : jobs_of(state)) rows_.emplace_hint(rows_.end(), job.branch, JobRow{job.step, job.attempt});
}

void JobRows::assign(const RunState& state, const std::vector<BranchId>& touched) {
  for (const BranchId branch : touched) {
    if (const std::optional<Job> job = job_of(state, branch)) {
      rows_.insert_or_assign(branch, JobRow{job->step, job->attempt});
    } else {
      rows_.erase(branch);
    }
  }
}

void JobRows::apply(const std::vector<JobWrite>& writes) {
  for (const JobWrite& write : writes) {
    if (write.op == JobWrite::Op::drop) {
      rows_.erase(write.job.branch);
    } else {
      rows_.insert_or_assign(write.job.branch, JobRow{write.job.step, write.job.attempt});
    }
  }
}

// --- gathering ------------------------------------------------------------------------------------------------------

EntryBuilder::EntryBuilder(const RunId& run, std::int64_t head, const Hash& chain, BranchId last_branch)
    : last_branch_(last_branch) {
  entry_.run.id = run;
  entry_.head_before = head;
  entry_.chain_before = chain;
}

const HeldBranch* EntryBuilder::held(BranchId branch) const {
  const auto found = held_.find(branch);
  return found == held_.end() ? nullptr : &found->second;
}

bool EntryBuilder::takes(const Fence& fence) const {
  const HeldBranch* there = held(fence.branch);
  return there == nullptr || (there->fence.session == fence.session && there->fence.epoch == fence.epoch &&
                              there->fence.step == fence.step);
}

void EntryBuilder::fence(HeldBranch held) {
  CHECK(takes(held.fence));
  const BranchId branch = held.fence.branch;
  if (branch <= last_branch_) ancestors_.insert(held.ancestors.begin(), held.ancestors.end());
  held_.try_emplace(branch, std::move(held));
}

void EntryBuilder::add(std::vector<Event> events, const std::vector<BranchId>& touched) {
  touched_.insert(touched_.end(), touched.begin(), touched.end());
  for (Event& event : events) {
    CHECK(event.seq == entry_.head_before + static_cast<std::int64_t>(entry_.events.size()) + 1);
    note_questions(event);
    if (const auto* started = std::get_if<RunStarted>(&event.body))
      is_revived_ = is_revived_ || started->forked_from.has_value();
    is_revived_ = is_revived_ || std::holds_alternative<RunReopened>(event.body);
    entry_.events.push_back(row_of(std::move(event)));
    bytes_ += entry_.events.back().payload.size();
  }
}

void EntryBuilder::note_questions(const Event& event) {
  if (const auto* asked = std::get_if<QuestionAsked>(&event.body)) {
    asked_.push_back(asked->question);
  } else if (const auto* answered = std::get_if<QuestionAnswered>(&event.body)) {
    entry_.closed_questions.push_back(answered->question);
  } else if (const auto* expired = std::get_if<QuestionExpired>(&event.body)) {
    entry_.closed_questions.push_back(expired->question);
  } else if (const auto* finished = std::get_if<RunFinished>(&event.body)) {
    note_closed(finished->closed.questions);
  } else if (const auto* ending = std::get_if<RunEnding>(&event.body)) {
    note_closed(ending->closed.questions);
  }
}

void EntryBuilder::note_closed(const std::vector<std::string>& questions) {
  entry_.closed_questions.insert(entry_.closed_questions.end(), questions.begin(), questions.end());
}

// --- building -------------------------------------------------------------------------------------------------------

Entry EntryBuilder::build(const RunState& after, const JobRows& before, SessionId session, KeepRules& rules) {
  CHECK(after.seq == entry_.head_before + static_cast<std::int64_t>(entry_.events.size()));
  session_ = session;
  rules_ = &rules;
  entry_.run = run_row(after);
  for (const auto& [branch, one] : held_) entry_.fences.push_back(one.fence);
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  for (const BranchId branch : touched_) write_job(after, branch, before.find(branch));
  write_questions(after);
  rules_ = nullptr;
  return std::move(entry_);
}

void EntryBuilder::write_job(const RunState& after, BranchId branch, const JobRow* before) {
  std::optional<Job> job = job_of(after, branch);
  if (!job) {
    if (before == nullptr) return;
    JobWrite& dropped = entry_.jobs.emplace_back();
    dropped.op = JobWrite::Op::drop;
    dropped.job.branch = branch;
    return;
  }
  JobWrite write{.op = op_of(*job, before), .job = *std::move(job), .session = 0, .deadline_us = never_us};
  // As old as the offer, not as the step: a claim starts its scan where rows may have been offered lately, and would
  // miss a row that is dated back.
  if (write.op == JobWrite::Op::adjust || is_revived_)
    write.job.run_at_us = std::max(write.job.run_at_us, after.last_at);
  // A run that was written while the database's clock was ahead keeps that time, because its events never go back. A
  // job that is due at once by the run's time is due at once. (Clocks of two processes differ by less than a second.)
  const TimeUs now = rules_->now();
  if (write.job.run_at_us <= after.last_at && write.job.run_at_us > now + ahead_us_min) write.job.run_at_us = now;
  const bool is_offered = (write.op == JobWrite::Op::keep && !keep(write, after)) ||
                          (write.op == JobWrite::Op::insert_held && !create_held(write, after));
  if (is_offered) write.op = JobWrite::Op::offer;
  entry_.jobs.push_back(std::move(write));
}

// The write that keeps the branch's row in step with its job:
//   it is held by the reporting worker   keep, if it may stay in the queue that the row stands in; else offer
//   it has none: a new branch, or one whose branches a held step has just joined        created held
//   it has none: a call or a question was open, which no worker held                    offer
//   it stands for the same step and attempt (the run was paused, resumed, moved)        adjust, held or not
//   it stands for another step or attempt                                               offer
JobWrite::Op EntryBuilder::op_of(const Job& job, const JobRow* before) const {
  if (const HeldBranch* holder = held(job.branch))
    return holder->keep_in == job.queue ? JobWrite::Op::keep : JobWrite::Op::offer;
  if (before == nullptr) {
    const bool follows_from_held = job.branch > last_branch_ || ancestors_.contains(job.branch);
    return follows_from_held ? JobWrite::Op::insert_held : JobWrite::Op::offer;
  }
  return *before == JobRow{job.step, job.attempt} ? JobWrite::Op::adjust : JobWrite::Op::offer;
}

// For the holder that reports, which said that it may stay: a sweep, which commits another one's loss, does not.
bool EntryBuilder::keep(JobWrite& write, const RunState& after) {
  const HeldBranch& holder = *held(write.job.branch);
  const std::optional<TimeUs> deadline = rules_->kept_until(write.job, holder.keep_in);
  if (!deadline) return false;
  write.session = holder.fence.session;
  write.deadline_us = *deadline;
  kept_.emplace(write.job.branch, held_job(after, write, holder.fence.epoch));
  return true;
}

bool EntryBuilder::create_held(JobWrite& write, const RunState& after) {
  const std::optional<TimeUs> deadline = session_ == 0 ? std::nullopt : rules_->created_held_until(write.job);
  if (!deadline) return false;
  write.session = session_;
  write.deadline_us = *deadline;
  created_held_.push_back(held_job(after, write, 1));
  return true;
}

// Without those that were asked and closed again in the same commit.
void EntryBuilder::write_questions(const RunState& after) {
  if (!is_revived_ && asked_.empty()) return;
  entry_.asked = question_rows(after);
  if (is_revived_) return;
  std::erase_if(entry_.asked, [this](const QuestionRow& row) {
    return std::find(asked_.begin(), asked_.end(), row.id) == asked_.end();
  });
}

}  // namespace cairn
