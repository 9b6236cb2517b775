// The check of a run's hash chain: each event must follow from the one before it. It is fed with the rows in their
// stored order. If an event does not follow, the hashes near it show what was done: an event that follows from
// another place was moved, one that follows from nowhere was altered. Needs no database; memory is constant. Not
// thread-safe.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "ops/audit/finding.hpp"
#include "storage/store.hpp"

namespace cairn {

class ChainAudit {
 public:
  ChainAudit(const RunId& run, Shard shard) : run_(run), shard_(shard) {}

  void add(const EventRow& row);

  // By the number of the event, at most one each. A later row may show that an earlier one was sound.
  const std::map<std::int64_t, Finding>& findings() const { return findings_; }

  std::int64_t last_seq() const { return last_seq_; }
  const Hash& last_hash() const { return last_hash_; }  // as stored

 private:
  // A hash that an event may follow.
  struct Link {
    std::int64_t seq = 0;  // the number under which its event was written, as far as is known
    Hash hash{};
    std::int64_t at = 0;    // the number under which it is stored now
    bool is_sound = false;  // it follows from another link, or may be trusted
  };
  struct Place {
    std::size_t link = 0;
    std::int64_t seq = 0;  // the number under which the event was written
  };

  bool follows_plainly(const EventRow& row) const;
  void add_late(const EventRow& row);
  void search(const EventRow& row);
  std::optional<Place> place_of(EventRow row) const;
  void judge_placed(const EventRow& row, const Place& place);
  void judge_link_with_gap(const Place& place);
  void judge_loose();
  bool is_pushed_back(const EventRow& row, std::int64_t by);
  void keep_loose(const EventRow& row);
  void remember(const Link& link);
  void find(std::int64_t seq, const std::string& kind, const std::string& says);

  RunId run_;
  Shard shard_;
  std::map<std::int64_t, Finding> findings_;
  std::deque<Link> links_;      // the newest last
  std::deque<EventRow> loose_;  // events that follow from no known link yet
  std::int64_t last_seq_ = 0;
  Hash last_hash_{};
  std::int64_t shift_ = 0;  // stored number of the last event minus the number under which it was written
};

}  // namespace cairn
