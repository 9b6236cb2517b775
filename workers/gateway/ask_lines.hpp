// The lines in which asks wait for steps: first in, first out, one line for all asks that serve the same queues. A line
// claims from the shards that may have a step for it: from all of them after a notification and at each poll, and from
// a shard again as long as its claims come back full. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/id.hpp"
#include "workers/gateway/ask.hpp"

namespace cairn {

class AskLines {
 public:
  using Queues = std::vector<std::string>;
  struct Waiting {
    AskId ask = 0;
    TimeUs until = 0;              // steady
    bool waits_first_time = true;  // an ask may join again after a claim that brought nothing
    bool has_something = false;    // to answer: it waits no longer than for the next claims
  };
  struct Claiming {
    AskId ask = 0;
    Queues queues;
    Shard shard = 0;
  };

  AskLines(std::int32_t shards, TimeUs poll_us) : shards_(static_cast<std::size_t>(shards)), poll_us_(poll_us) {}

  void tick(TimeUs steady_us);
  void notified();                         // something may be due in any queue
  void offered(const std::string& queue);  // a job is due there
  TimeUs due_us() const;                   // steady

  void join(const Queues& queues, const Waiting& one);
  void leave(AskId ask);
  void hurry(AskId ask);  // it waits no longer
  // The asks that claim now, each out of its line and from one shard. `may_claim`: false where the ask can take no step
  // as yet.
  std::vector<Claiming> next_claims(const std::function<bool(AskId)>& may_claim);
  // A claim has ended; `was_full`: it brought as much as it asked for, so there may be more.
  void claimed(const Queues& queues, Shard shard, bool was_full);
  // Those that wait no longer although nothing is claimed for them; they stay in line until they leave.
  std::vector<AskId> overdue();
  // Lines where none waits and no claim is under way.
  void forget_empty();

 private:
  struct Place {  // of a shard
    bool wants = true;
    bool is_claiming = false;
    bool is_open() const { return wants && !is_claiming; }
  };
  struct Line {
    std::vector<Place> places;
    std::size_t next = 0;
    TimeUs poll_at = 0;
    std::deque<AskId> waiting;
    std::vector<AskId> in_haste;  // of them, those that have something to answer

    void want_all();
    bool is_empty() const;
    Place* next_open();  // null: no shard has anything now, as far as is known
  };
  struct InLine {
    Line* line = nullptr;
    TimeUs until = 0;
  };
  void take_out(std::map<AskId, InLine>::iterator one);

  const std::size_t shards_;
  const TimeUs poll_us_;
  TimeUs steady_ = 0;
  std::map<Queues, Line> lines_;
  std::map<AskId, InLine> in_line_;
  std::set<std::pair<TimeUs, AskId>> deadlines_;
};

}  // namespace cairn
