#include "workers/session/pool.hpp"

#include <algorithm>

namespace cairn {
namespace {

constexpr std::size_t due_max = 1'000;  // later ones are found by polling
constexpr std::int32_t claim_limit_max = 256;
constexpr std::size_t claim_runs_max = 500;
constexpr std::size_t left_runs_max = 200;  // named in a claim
constexpr TimeUs shortage_pause_us = 1'000'000;
constexpr TimeUs offered_ahead_us = 2'000;  // the clock of an offering session may be ahead of ours by this much

}  // namespace

Pool::Pool(PoolOptions options)
    : options_(std::move(options)),
      takes_any_run_(options_.only_runs.empty()),
      sources_(static_cast<std::size_t>(options_.shards)),
      room_(options_.concurrency) {
  for (const RunId& run : std::exchange(options_.only_runs, {})) add_run(run);
}

void Pool::tick(TimeUs steady_us, TimeUs database_us) {
  now_ = std::max(now_, steady_us);
  database_ = database_us;
  if (room_ < options_.concurrency && now_ >= room_grows_at_) {
    room_ = std::min(options_.concurrency, room_ + std::max(1, room_ / 4));
    room_grows_at_ = now_ + shortage_pause_us;
  }
  if (due_.empty() || *due_.begin() > database_) return;
  due_.erase(due_.begin(), due_.upper_bound(database_));
  want_all();
}

void Pool::want_all() {
  for (Source& source : sources_) want(source, Wants::anything);
}

void Pool::want(Source& source, Wants wants) {
  source.wants = std::max(source.wants, wants);
  source.are_homes_asked = false;
  source.unscanned = source.only_runs.size();
}

void Pool::something_ready() { want_all_soon(Wants::anything); }
void Pool::notified() { want_all_soon(Wants::notified); }

void Pool::want_all_soon(Wants wants) {
  for (Source& source : sources_) {
    want(source, wants);
    source.notified = true;
  }
}

void Pool::due(TimeUs run_at_us) {
  if (run_at_us <= database_) return want_all();
  due_.insert(run_at_us);
  if (due_.size() > due_max) due_.erase(std::prev(due_.end()));
}

void Pool::add_run(const RunId& run) {
  if (takes_any_run_ || !only_runs_.insert(run).second) return;
  Source& source = sources_[static_cast<std::size_t>(shard_of(run, options_.shards))];
  source.only_runs.push_back(run);
  want(source, Wants::anything);
}

void Pool::add_home(const RunId& run) {
  Source& source = sources_[static_cast<std::size_t>(shard_of(run, options_.shards))];
  if (std::find(source.homes.begin(), source.homes.end(), run) == source.homes.end()) source.homes.push_back(run);
}

void Pool::remove_home(const RunId& run) {
  std::erase(sources_[static_cast<std::size_t>(shard_of(run, options_.shards))].homes, run);
}

bool Pool::executes(const RunId& run) const { return takes_any_run_ || only_runs_.contains(run); }

// --- what is held ---------------------------------------------------------------------------------------------------

Pool::Slot Pool::start(HeldJob job) { return start(std::move(job), 0, now_); }

Pool::Slot Pool::start(HeldJob job, std::int64_t kept, TimeUs since_us) {
  if (draining_) {
    release(job, database_);
    return 0;
  }
  const Slot slot = ++last_slot_;
  actions_.starts.push_back({slot, job, kept > 0});
  slots_.emplace(slot, Taken{std::move(job), kept, since_us});
  return slot;
}

// No earlier than the run says: the process that opened the step may have a clock that is ahead, or the time by which
// this one decided is some moments old, or the step waits for its backoff.
void Pool::release(const HeldJob& job, TimeUs run_at_us) {
  actions_.releases.push_back(
      {job.run,
       {.branch = job.job.branch, .session = job.session, .epoch = job.epoch, .step = job.job.step},
       std::max(run_at_us, job.job.run_at_us)});
}

void Pool::created_held(HeldJob job) { start(std::move(job)); }

void Pool::refilled(std::vector<HeldJob> jobs) {
  refilled_ += std::ssize(jobs);
  if (!jobs.empty() && refilled_ >= options_.keep_steps) want_all();
  for (HeldJob& job : jobs) start(std::move(job));
}

std::int32_t Pool::refills() const {
  if (!options_.keep || draining_ || takes_nothing()) return 0;
  return static_cast<std::int32_t>(std::max<std::int64_t>(options_.keep_steps - refilled_, 0));
}

void Pool::continues(Slot slot, HeldJob next) {
  const auto taken = slots_.extract(slot);
  CHECK(!taken.empty());
  HeldJob& before = taken.mapped().job;
  if (next.job.queue == before.job.queue) next.key = std::move(before.key);
  start(std::move(next), taken.mapped().kept + 1, taken.mapped().since_us);
}

void Pool::done(Slot slot) { slots_.erase(slot); }

void Pool::leave_to_others(Slot slot, TimeUs run_at_us) {
  const auto taken = slots_.extract(slot);
  CHECK(!taken.empty());
  release(taken.mapped().job, run_at_us);
}

void Pool::give_back(Slot slot, TimeUs run_at_us) {
  const TimeUs offered_us = std::max(run_at_us, slots_.at(slot).job.job.run_at_us);
  leave_to_others(slot, offered_us);
  due(offered_us);
}

// At once, as our own claims pass it by. Where too many runs are left for that, after the pause.
void Pool::leave_run_to_others(Slot slot) {
  const RunId run = slots_.at(slot).job.run;
  const TimeUs until = backoff_.pause(run, now_);
  const bool are_all_named = backoff_.paused(now_, left_runs_max).size() < left_runs_max;
  leave_to_others(slot, are_all_named ? database_ : database_ + (until - now_));
}

void Pool::committed(Slot slot) {
  if (!backoff_.empty()) backoff_.forget(slots_.at(slot).job.run);
}

void Pool::fell_short(Slot slot, TimeUs run_at_us) {
  leave_to_others(slot, run_at_us);
  room_ = std::max(1, std::min(room_, static_cast<std::int32_t>(slots_.size())));
  room_grows_at_ = claims_from_ = now_ + shortage_pause_us;
}

bool Pool::may_keep(Slot slot) const {
  if (!options_.keep || draining_ || takes_nothing()) return false;
  return slots_.at(slot).kept + 1 < options_.keep_steps || free_slots() > 0;
}

std::int32_t Pool::free_slots() const {
  if (takes_nothing()) return 0;
  return room_ - static_cast<std::int32_t>(slots_.size()) - claiming_;
}

// --- one job that runs alone ----------------------------------------------------------------------------------------

void Pool::make_room_for(const RunId& run) {
  if (!room_for_) room_for_ = run;
}

void Pool::bar(bool is_barred) {
  if (std::exchange(is_barred_, is_barred) && !is_barred) want_all();
}

// No other claim is under way.
void Pool::claim_alone() {
  is_claiming_alone_ = true;
  alone_asked_at_ = now_;
  claiming_ = 1;
  actions_.claims.push_back(
      {.shard = shard_of(*room_for_, options_.shards), .limit = 1, .only_runs = {*room_for_}, .not_of = {}});
}

void Pool::claimed_alone(std::vector<HeldJob> jobs) {
  is_claiming_alone_ = false;
  claiming_ = 0;
  room_for_.reset();
  for (HeldJob& job : jobs) alone_ = start(std::move(job), 0, alone_asked_at_);
  want_all();
}

// --- claims ---------------------------------------------------------------------------------------------------------

void Pool::end_claim(Source& source) {
  CHECK(source.claiming);  // set by claim(): each claim is answered once
  source.claiming = false;
  claiming_ -= source.limit;
  // A claim for a notified job says nothing about other jobs, so the poll timer is left as it is.
  if (source.claims_homes) return;
  source.are_homes_asked = false;
  refilled_ = 0;
  if (source.claims == Wants::anything) source.poll_at = now_ + options_.poll_us;
}

// At most claim_runs_max: a claim costs as much as it names.
std::vector<RunId> Pool::some_runs(const Source& source) {
  std::vector<RunId> runs;
  const std::size_t count = std::min(source.only_runs.size(), claim_runs_max);
  for (std::size_t n = 0; n < count; ++n) runs.push_back(source.only_runs[(source.next + n) % source.only_runs.size()]);
  return runs;
}

// The claim has found all that was ready of the runs that it named.
void Pool::pass_runs(Source& source) {
  const std::size_t passed = std::min(source.only_runs.size(), claim_runs_max);
  if (passed > 0) source.next = (source.next + passed) % source.only_runs.size();
  source.unscanned -= std::min(source.unscanned, passed);
}

void Pool::claimed(Shard shard, std::vector<HeldJob> jobs) {
  if (is_claiming_alone_) return claimed_alone(std::move(jobs));
  Source& source = sources_[static_cast<std::size_t>(shard)];
  end_claim(source);
  if (source.claims_homes) return claimed_homes(source, std::move(jobs));
  const bool is_filled = static_cast<std::int32_t>(jobs.size()) == source.limit;
  if (!is_filled) pass_runs(source);
  if (is_filled || source.unscanned > 0) source.wants = Wants::anything;
  found_nothing_ = jobs.empty() && source.unscanned == 0;
  // The notified job may not be due by our clock yet: one more claim a moment later.
  if (source.answers_notification && jobs.empty()) due(database_ + offered_ahead_us);
  for (HeldJob& job : jobs) start(std::move(job), 0, source.asked_at);
}

// Then all runs are asked for what the claim was wanted for.
void Pool::claimed_homes(Source& source, std::vector<HeldJob> jobs) {
  source.are_homes_asked = static_cast<std::int32_t>(jobs.size()) < source.limit;
  source.wants = std::max(source.wants, source.claims);
  source.notified = source.notified || source.answers_notification;
  for (HeldJob& job : jobs) start(std::move(job), 0, source.asked_at);
}

void Pool::claim_failed(Shard shard) {
  if (is_claiming_alone_) return claimed_alone({});
  Source& source = sources_[static_cast<std::size_t>(shard)];
  end_claim(source);
  source.wants = Wants::nothing;
  if (source.claims == Wants::anything) source.poll_at = now_ + options_.poll_us;  // also where it was for the homes
}

// One shard asks for its share of the slots at most, so that it does not starve the others; eight at least, because a
// claim has a fixed cost.
void Pool::claim(Shard shard, Source& source) {
  CHECK(!source.claiming);
  const std::int32_t fair = std::max(8, options_.concurrency / options_.shards);
  source.limit = std::min({free_slots(), fair, claim_limit_max});
  source.claiming = true;
  source.asked_at = now_;
  if (source.unscanned == 0) source.unscanned = source.only_runs.size();
  source.claims = now_ >= source.poll_at ? Wants::anything : source.wants;
  source.wants = Wants::nothing;  // until it is notified or the claim is filled
  source.answers_notification = std::exchange(source.notified, false);
  source.claims_homes = takes_any_run_ && !source.homes.empty() && !source.are_homes_asked;
  claiming_ += source.limit;
  actions_.claims.push_back({.shard = shard,
                             .limit = source.limit,
                             .only_runs = source.claims_homes ? source.homes : some_runs(source),
                             .not_of = backoff_.paused(now_, left_runs_max),
                             .notified_only = source.claims == Wants::notified && !source.claims_homes});
}

Pool::Actions Pool::drain_actions() {
  if (room_for_ && slots_.empty() && claiming_ == 0 && !is_barred_ && !draining_) claim_alone();
  const bool may_claim = !draining_ && now_ >= claims_from_;
  for (Shard n = 0; may_claim && n < options_.shards; ++n) {
    const Shard shard = (first_ + n) % options_.shards;
    Source& source = sources_[static_cast<std::size_t>(shard)];
    const bool is_asked = source.wants != Wants::nothing && (slots_.empty() || free_slots() >= worth_a_claim());
    const bool is_barred = source.claiming || (!takes_any_run_ && source.only_runs.empty());
    if (!is_barred && free_slots() > 0 && (is_asked || now_ >= source.poll_at)) claim(shard, source);
  }
  // Where a limit leaves room for few, the shard that is asked first gets them.
  if (!actions_.claims.empty()) first_ = (first_ + 1) % options_.shards;
  return std::exchange(actions_, {});
}

void Pool::drain() { draining_ = true; }

TimeUs Pool::due_us() const {
  if (draining_) return never_us;
  // A wait that overflows is for a job that is never due.
  TimeUs due = due_.empty() || *due_.begin() > never_us - now_ ? never_us : now_ + (*due_.begin() - database_);
  if (room_ < options_.concurrency) due = std::min(due, room_grows_at_);
  if (free_slots() <= 0 || now_ < claims_from_) return due;
  for (const Source& source : sources_)
    if (!source.claiming && (takes_any_run_ || !source.only_runs.empty())) due = std::min(due, source.poll_at);
  return due;
}

}  // namespace cairn
