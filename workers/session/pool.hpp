// The dispatcher of a worker: the pool of the branches that it holds (its leases) and of its free slots. It decides
// when each shard is asked for jobs, whose next step stays here, what is released, and when it is drained. A state
// machine without I/O: its driver carries out the actions and returns their results. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "storage/store.hpp"
#include "workers/session/run_backoff.hpp"

namespace cairn {

struct PoolOptions {
  std::int32_t shards = 1;
  std::int32_t concurrency = 256;  // branches held at once
  TimeUs poll_us = 500'000;        // between claims, where no notification brings one earlier
  std::int64_t keep_steps = 64;    // a branch is let go after this many while every slot is taken
  bool keep = true;
  std::vector<RunId> only_runs;  // not empty: claims from these alone, some at a time
};

class Pool {
 public:
  using Slot = std::uint64_t;  // one step being executed; never used again

  struct Claim {
    Shard shard = 0;
    std::int32_t limit = 0;
    std::vector<RunId> only_runs;
    std::vector<RunId> not_of;
    bool notified_only = false;  // see ClaimRequest
  };
  struct Start {
    Slot slot = 0;
    HeldJob job;
    bool is_kept = false;  // the next step of a branch that was held, and no claim
  };
  struct Release {
    RunId run;
    Fence fence;
    TimeUs run_at_us = 0;
    bool is_of_others = false;  // a hold of another session, which may have begun meanwhile
  };
  struct Actions {
    std::vector<Claim> claims;      // answered by claimed() or claim_failed()
    std::vector<Start> starts;      // answered by done(), continues(), give_back() or leave_to_others()
    std::vector<Release> releases;  // not answered
    bool empty() const { return claims.empty() && starts.empty() && releases.empty(); }
  };

  explicit Pool(PoolOptions options);

  void tick(TimeUs steady_us, TimeUs database_us);
  void something_ready();  // any number of jobs may be ready
  void poll_every(TimeUs pause_us) { options_.poll_us = pause_us; }
  void notified();                 // the same; if it is one job, the store knows which
  void due(TimeUs run_at_us);      // a job will be ready then, by the database's clock
  void add_run(const RunId& run);  // one more of `only_runs`, if there are any
  // The session is the run's home, or is so no longer: its free jobs are found only by claims that name it.
  void add_home(const RunId& run);
  void remove_home(const RunId& run);
  bool executes(const RunId& run) const;  // it is one of `only_runs`, or any will do

  void claimed(Shard shard, std::vector<HeldJob> jobs);
  void claim_failed(Shard shard);
  void created_held(HeldJob job);            // a new branch, held from its first moment
  void continues(Slot slot, HeldJob next);   // the branch's next step stays here
  void refilled(std::vector<HeldJob> jobs);  // by a commit that freed as many slots, whose ends are heard of next
  void done(Slot slot);                      // nothing of it is held any more
  void give_back(Slot slot, TimeUs run_at_us);
  void leave_to_others(Slot slot, TimeUs run_at_us);  // as give_back, but no claim is made here at that time

  // Executes the run's next job with nothing else in this process: stops claiming, waits until no slot is taken, claims
  // one job of this run, and goes on as before once that is done, or at once if there is none.
  void make_room_for(const RunId& run);
  void bar(bool is_barred);  // while it is, nothing is claimed or kept

  // The run cannot be read here, or not be ended: its jobs are left to others, and not claimed here for a while, which
  // doubles each time until a step of it is committed here.
  void leave_run(const RunId& run) { backoff_.pause(run, now_); }
  void leave_run_to_others(Slot slot);
  void committed(Slot slot);  // its step

  // This process lacks means for the step: it is left to others, nothing is claimed for a second, and from then on as
  // many steps as go on here now; a quarter more each second.
  void fell_short(Slot slot, TimeUs run_at_us);

  // May the branch's next step stay? REQUIRES: the slot is taken.
  bool may_keep(Slot slot) const;
  // How long the branch has been held here at most, from when its claim was asked for. REQUIRES: the slot is taken.
  TimeUs held_us(Slot slot) const { return now_ - slots_.at(slot).since_us; }
  // Slots that neither a step nor a claim under way has taken.
  std::int32_t free_slots() const;
  // A claim costs as much as many steps: while steps run here it waits until so many slots are free.
  std::int32_t worth_a_claim() const { return std::clamp(room_ / 4, 1, 64); }
  // Steps leave slots enough for a claim of a job that comes; one under way may bring it.
  bool would_claim() const {
    return !takes_nothing() && room_ - static_cast<std::int32_t>(slots_.size()) >= worth_a_claim();
  }

  // How many of the slots that commits free they may fill with further jobs of their runs before a claim is due:
  // bounded, so that a run whose jobs follow one another keeps no other waiting.
  std::int32_t refills() const;

  void drain();  // from now on nothing is claimed, started or kept
  bool is_draining() const { return draining_; }
  bool is_idle() const { return slots_.empty() && claiming_ == 0; }
  std::size_t held() const { return slots_.size(); }
  bool finds_nothing() const { return slots_.empty() && found_nothing_; }  // nor did the latest claim

  Actions drain_actions();
  TimeUs due_us() const;  // steady: when drain_actions() is worth a call although nothing arrived

 private:
  struct Taken {
    HeldJob job;
    std::int64_t kept = 0;  // steps of this branch in a row
    TimeUs since_us = 0;    // steady; of the first of them
  };
  enum class Wants : std::uint8_t { nothing, notified, anything };  // notified: the one job that it names is enough
  struct Source {                                                   // one shard's queue
    bool claiming = false;
    Wants wants = Wants::anything;
    Wants claims = Wants::nothing;      // by the claim under way
    bool notified = false;              // since the last claim began
    bool answers_notification = false;  // the claim under way does
    std::int32_t limit = 0;             // of the claim under way
    TimeUs asked_at = 0;                // likewise; steady
    TimeUs poll_at = 0;
    std::vector<RunId> only_runs;
    std::size_t next = 0;          // of these, where the next claim begins
    std::vector<RunId> homes;      // runs whose home this is: claimed by name, before any others
    bool are_homes_asked = false;  // since something was wanted
    bool claims_homes = false;     // the claim under way does
    std::size_t unscanned = 0;     // of these, how many no claim has named yet, from `next` on
  };

  void want_all();
  void want_all_soon(Wants wants);
  static void want(Source& source, Wants wants);
  Slot start(HeldJob job);
  Slot start(HeldJob job, std::int64_t kept, TimeUs since_us);
  bool takes_nothing() const { return is_barred_ || room_for_ || slots_.contains(alone_); }
  void claim_alone();
  void claimed_alone(std::vector<HeldJob> jobs);
  void release(const HeldJob& job, TimeUs run_at_us);
  void claim(Shard shard, Source& source);
  void claimed_homes(Source& source, std::vector<HeldJob> jobs);
  static std::vector<RunId> some_runs(const Source& source);
  static void pass_runs(Source& source);
  void end_claim(Source& source);

  PoolOptions options_;
  const bool takes_any_run_;
  TimeUs now_ = 0;       // steady
  TimeUs database_ = 0;  // the database's clock; it may be set back
  bool draining_ = false;
  bool found_nothing_ = false;
  bool is_barred_ = false;
  std::optional<RunId> room_for_;
  bool is_claiming_alone_ = false;
  TimeUs alone_asked_at_ = 0;  // steady
  Slot alone_ = 0;             // the one that the claim for room_for_ brought
  Slot last_slot_ = 0;
  std::unordered_map<Slot, Taken> slots_;
  std::vector<Source> sources_;
  Shard first_ = 0;  // the shard that is asked first next
  std::unordered_set<RunId> only_runs_;
  std::int64_t refilled_ = 0;  // since the last claim of any run's jobs
  std::int32_t claiming_ = 0;  // slots set aside for claims under way
  std::int32_t room_;          // slots in use at most: `concurrency`, or what a shortage leaves of it
  TimeUs room_grows_at_ = 0;
  TimeUs claims_from_ = 0;  // nothing is claimed before
  std::set<TimeUs> due_;    // the earliest ones, by the database's clock
  RunBackoff backoff_;
  Actions actions_;
};

}  // namespace cairn
