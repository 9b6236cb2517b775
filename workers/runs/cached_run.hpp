// A run as the committer has it at hand: its folded state, where it stands in the store, the tasks that wait for it,
// and its entry on the way. Included by the sources of the committer and of its cache alone. Not thread-safe.
#pragma once

#include <algorithm>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "engine/state.hpp"
#include "workers/runs/entry_builder.hpp"
#include "workers/runs/submission.hpp"

namespace cairn {

struct RunTask {
  enum class Kind : std::uint8_t {
    command,
    await_state,
    notice,         // FinishChild on behalf of a called run whose end is gathered
    notify_caller,  // of a called run whose end was committed without its caller
  };
  Kind kind = Kind::command;
  Submission what;
  std::int64_t min_head = 0;
  std::uint64_t serial = 0;  // a refusal counts only on a state read after this
  int tries = 0;

  bool begins() const { return kind == Kind::command && tries == 0 && std::holds_alternative<StartRun>(what.command); }
};

// First in, first out, with a way back to the front. It keeps its memory, because a run's queue fills and empties at
// every step.
class TaskQueue {
 public:
  bool empty() const { return begin_ == tasks_.size(); }
  std::size_t size() const { return tasks_.size() - begin_; }
  RunTask& front() { return tasks_[begin_]; }
  void push_back(RunTask task) { tasks_.push_back(std::move(task)); }
  void push_front(RunTask task) {
    if (begin_ > 0) {
      tasks_[--begin_] = std::move(task);
    } else {
      tasks_.insert(tasks_.begin(), std::move(task));
    }
  }
  void pop_front() {
    tasks_[begin_] = RunTask{};
    if (++begin_ < tasks_.size()) return;
    tasks_.clear();
    begin_ = 0;
  }
  std::vector<RunTask> drain() {
    tasks_.erase(tasks_.begin(), tasks_.begin() + static_cast<std::ptrdiff_t>(std::exchange(begin_, 0)));
    return std::exchange(tasks_, {});
  }
  template <class Which>
  std::size_t erase_if(Which which) {
    std::vector<RunTask> tasks = drain();
    const std::size_t erased = std::erase_if(tasks, which);
    tasks_ = std::move(tasks);
    return erased;
  }

 private:
  std::vector<RunTask> tasks_;
  std::size_t begin_ = 0;
};

struct CachedRun {
  enum class At : std::uint8_t { idle, loading, gathered, to_lock, under_way };
  RunId id;
  RunState state;
  bool loaded = false;
  At at = At::idle;
  std::int64_t head = 0;  // committed; state.seq is beyond it while an entry is gathered or under way
  Hash chain{};
  std::int64_t lost_head = 0;  // what was known when the store contradicted it, until it is read again
  Hash lost_chain{};
  JobRows rows;             // at `head`
  std::uint64_t fresh = 0;  // when what is known of the run's head was asked for
  std::uint64_t asked = 0;  // the same of the load or commit that is under way
  TaskQueue waiting;
  std::optional<EntryBuilder> entry;
  std::vector<RunTask> decided;     // in the entry
  std::uint32_t group = 0;          // entries that share a verdict
  bool awaits_parent = false;       // its end is to be decided on the run that called it before it may leave
  RunId ended_by{};                 // the run that it called, if that one's end ended it; in the entry
  std::int64_t conflict_head = -1;  // the committed head at the last conflict
  int conflicts = 0;                // one after another without a move of that head
  TimeUs not_before = 0;            // when its tasks are decided again
  TimeUs rivals_until = 0;          // others write it, too: it is locked before its tasks are decided
  bool is_locked = false;           // now
  bool has_missed = false;          // its last lock brought events of others along
  TimeUs lock_after = 0;            // until then its tasks gather
  bool one_by_one = false;          // the database refused an entry: its tasks leave alone, so that the others pass
  std::int64_t folded_events = 0;   // since the last snapshot
  std::int64_t folded_bytes = 0;
  std::int64_t snapshot_size = 0;  // of the last one known of
  std::int64_t added_bytes = 0;    // of events, since that snapshot
  std::int64_t measured = 0;       // its part of states_bytes_
  std::uint64_t kept_until = 0;    // the draining of actions after which its state is not read any more
  std::size_t open_steps_max = 0;  // since then: what they were about is in the state, though they have ended
  std::list<CachedRun*>::iterator use;

  bool wants_names = false;  // a graph that it calls was not at hand: to be read again, with the names
  bool has_names = false;    // that was done, and nothing was committed since: what is lacking now is not there

  bool processing = false;

  bool is_busy() const { return at != At::idle || !waiting.empty() || processing; }
  void drop_state() {
    state = RunState{};
    state.id = id;
    loaded = false;
    head = 0;
    chain = {};
    rows.clear();
    folded_events = folded_bytes = snapshot_size = added_bytes = 0;
    open_steps_max = 0;
  }
};

}  // namespace cairn
