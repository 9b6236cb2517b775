#include "workers/session/entry_builder.hpp"

#include <algorithm>
#include <utility>

#include "engine/codec.hpp"
#include "workers/session/projection.hpp"

namespace cairn {
namespace {

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

Draft::Draft(const RunId& run, std::int64_t head, const Hash& chain, Numbering before) : before_(before) {
  entry_.run.id = run;
  entry_.head_before = head;
  entry_.chain_before = chain;
}

const Draft::Held* Draft::held(BranchId branch) const {
  const auto found = held_.find(branch);
  return found == held_.end() ? nullptr : &found->second;
}

void Draft::fence(const Fence& fence, const std::string& keep_in, const std::vector<BranchId>& above) {
  held_.try_emplace(fence.branch, Held{fence, keep_in});
  if (fence.branch <= before_.last_branch) rowless_.insert(above.begin(), above.end());
}

void Draft::add(std::vector<Event> events, const std::vector<BranchId>& touched) {
  touched_.insert(touched_.end(), touched.begin(), touched.end());
  for (Event& event : events) {
    note_questions(event);
    if (const auto* failed = std::get_if<StepFailed>(&event.body); failed != nullptr && failed->retry_at)
      retried_.insert(event.step);
    if (const auto* started = std::get_if<RunStarted>(&event.body)) whole_ = whole_ || started->forked_from.has_value();
    whole_ = whole_ || std::holds_alternative<RunReopened>(event.body);
    entry_.events.push_back(row_of(std::move(event)));
  }
}

void Draft::note_questions(const Event& event) {
  if (const auto* asked = std::get_if<QuestionAsked>(&event.body)) {
    asked_.push_back(asked->question);
  } else if (const auto* answered = std::get_if<QuestionAnswered>(&event.body)) {
    entry_.closed_questions.push_back(answered->question);
  } else if (const auto* expired = std::get_if<QuestionExpired>(&event.body)) {
    entry_.closed_questions.push_back(expired->question);
  } else if (const auto* finished = std::get_if<RunFinished>(&event.body)) {
    const std::vector<std::string>& left = finished->closed.questions;
    entry_.closed_questions.insert(entry_.closed_questions.end(), left.begin(), left.end());
  }
}

Entry Draft::seal(const RunState& after, SessionId session, const Stays& stays) {
  entry_.run = run_row(after);
  for (const auto& [branch, one] : held_) entry_.fences.push_back(one.fence);
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  for (const BranchId branch : touched_) write_job(after, branch, session, stays);
  write_questions(after);
  return std::move(entry_);
}

void Draft::write_job(const RunState& after, BranchId branch, SessionId session, const Stays& stays) {
  std::optional<Job> job = job_of(after, branch);
  if (!job) {
    const bool had_row = branch <= before_.last_branch && !rowless_.contains(branch);
    if (!had_row) return;
    JobWrite& dropped = entry_.jobs.emplace_back();
    dropped.op = JobWrite::Op::drop;
    dropped.job.branch = branch;
    return;
  }
  const Held* holder = held(branch);
  JobWrite write{.op = place(*job, holder), .job = *std::move(job), .session = 0, .deadline_us = never_us};
  // As old as the offer, not as the step: claims begin where free rows may have been offered lately.
  if (write.op == JobWrite::Op::adjust || whole_) write.job.run_at_us = std::max(write.job.run_at_us, after.last_at);
  const bool is_born = write.op == JobWrite::Op::insert_held;
  if (is_born || write.op == JobWrite::Op::keep) {
    const bool is_ours = session != 0 && (is_born || holder->fence.session == session);
    if (const std::optional<TimeUs> deadline = is_ours ? stays(write.job, is_born) : std::nullopt) {
      write.session = session;
      write.deadline_us = *deadline;
      HeldJob stays_here{after.id, write.job, session, is_born ? 1 : holder->fence.epoch, *deadline, after.seq};
      if (is_born) {
        born_.push_back(std::move(stays_here));
      } else {
        kept_.emplace(branch, std::move(stays_here));
      }
    } else {
      write.op = JobWrite::Op::offer;
    }
  }
  entry_.jobs.push_back(std::move(write));
}

// Where the branch's row stands now, and so what may become of it.
JobWrite::Op Draft::place(const Job& job, const Held* holder) const {
  if (holder != nullptr) return holder->keep_in == job.queue ? JobWrite::Op::keep : JobWrite::Op::offer;
  if (job.branch > before_.last_branch || rowless_.contains(job.branch)) return JobWrite::Op::insert_held;
  const bool moved_on = job.step > before_.last_step || retried_.contains(job.step);
  return moved_on || whole_ ? JobWrite::Op::offer : JobWrite::Op::adjust;
}

// Those asked and closed again in the same commit are not open any more.
void Draft::write_questions(const RunState& after) {
  if (!whole_ && asked_.empty()) return;
  entry_.asked = question_rows(after);
  if (whole_) return;
  std::erase_if(entry_.asked, [this](const QuestionRow& row) {
    return std::find(asked_.begin(), asked_.end(), row.id) == asked_.end();
  });
}

}  // namespace cairn
