// The turns of a session's queues with keys or an ageing: in which shards no one waits for one, as the last claim there
// saw, or only jobs of one key. While branches go on in all slots no claim would see a job of another key that comes:
// a notification makes the session ask for such jobs, one question at a time for a shard. Decided from inputs alone.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/queue.hpp"
#include "workers/session/store_calls.hpp"

namespace cairn {

class QueueTurns {
 public:
  static constexpr TimeUs ask_pause_us = 10'000;  // from one question to the next, where they are answered at once

  // May a held branch take the next turn?
  enum class Free : std::uint8_t {
    no,
    of_its_key,  // jobs of its own key wait
    yes,
  };

  explicit QueueTurns(std::int32_t shards) : shards_(shards) {}

  // The queue has got this key, "" for none: nothing is known of it. With a key others may wait in each shard until a
  // claim there says otherwise.
  void begin(const std::string& queue, const std::string& key);
  void end(const std::string& queue);

  // A claim from it: others may wait in the shard, unless it says that no one does; that counts until then (steady).
  void claimed(const std::string& queue, Shard shard);
  void seen(const NoOneWaits& there, Shard shard, TimeUs until);

  // With keys the other shards count as well: a slot that is given up here may be theirs.
  Free free_for(const std::string& queue, Shard shard, const std::string& key, TimeUs now_us);

  void notified();  // jobs may have come
  // `pause_us`: between two questions of one shard, where it is more than ask_pause_us.
  std::vector<AskForOthers> asks(TimeUs now_us, TimeUs pause_us);
  void answered(const AskForOthers& ask, TimeUs now_us, TimeUs until);
  void failed(const AskForOthers& ask);
  TimeUs ask_due_us(TimeUs pause_us) const;  // when asks() has some; steady

 private:
  struct Turn {
    TimeUs until = 0;                        // no one waits before then, but those of a key
    std::optional<std::string> but_of = {};  // jobs of this one
    bool is_wanted = false;                  // by others, until a claim says otherwise
    bool is_heard = false;                   // a job may have come since
    bool is_asked = false;                   // the answer is on its way
    TimeUs asked_at = 0;
    TimeUs ask_again_at = 0;
  };
  struct Queue {
    bool has_keys = false;
    bool is_used = false;  // a branch went on here since the last question
    std::map<Shard, Turn> turns = {};
  };
  static bool may_ask(const Queue& queue, const Turn& turn);
  Turn* find(const AskForOthers& ask);

  const std::int32_t shards_;
  std::map<std::string, Queue> queues_;
};

}  // namespace cairn
