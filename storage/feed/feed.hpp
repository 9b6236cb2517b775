// The feed: the events of all runs, in an order that consumers follow for days. A consumer has a name and a place that
// the database keeps. It first gets what was there before it, run by run, and then what is committed, commit by commit
// in each shard.
//
// Each event comes at least once; a run's events come in their order, but for those that come again. A commit that
// becomes visible late is never skipped: while there is a consumer, each commit leaves a row in the feed, and a row
// gets its position when it is visible (transactional outbox; no sequence number that a commit has before it can be
// seen). Safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/feed/feed_cursor.hpp"
#include "storage/log.hpp"
#include "storage/postgres/placements.hpp"

namespace cairn {

// The events that a consumer gets; the others are passed over.
struct FeedFilter {
  std::string graph = {};               // "": any
  Tags tags = {};                       // of the run; all must match
  std::vector<std::string> types = {};  // names of events; none: any
};

Error no_such_consumer(const std::string& name);

struct FeedConsumer {
  std::string name;
  FeedFilter filter = {};
  std::string created_by = {};
  TimeUs created_at = 0;  // set by the feed
  std::string id = {};    // set by the feed
};

enum class FeedStart : std::uint8_t { history, now };

// `back`: also to an earlier place, from which events come again.
enum class FeedMove : std::uint8_t { on, back };

struct FeedEvent {
  RunId run;
  std::string graph;  // "": the run's row is gone
  EventRow row;
};

struct FeedPage {
  std::vector<FeedEvent> events;
  FeedCursor cursor;         // after them
  bool is_last = false;      // nothing more was there
  bool has_more = false;     // when it was read, more was there after the cursor
  std::int64_t missing = 0;  // events before the cursor, of any filter, whose runs were archived or erased before
};

// How far a consumer is.
struct FeedStanding {
  FeedConsumer consumer;
  bool reads_history = false;
  std::int64_t behind = 0;            // commits that it has not confirmed, the history aside
  bool is_more = false;               // than `behind`: not all of those without a position were counted
  std::optional<TimeUs> oldest = {};  // when the first of them was committed; without places, when it was made
  TimeUs moved_at = 0;                // its place, last
  bool has_places = true;             // else it is being added, or that was cut short
};

struct FeedLimits {
  std::int64_t patience_ms = 10'000;  // how long a failing database is asked again
  // Rows of one transaction, so that it ends in time however many wait.
  std::int32_t numbered_at_once = 10'000;
  std::int32_t trimmed_at_once = 10'000;
  TimeUs trimmed_for_us = 1'000'000;  // after a confirm, portion by portion, until none is left or so long has passed
  // Rows of a shard without a position, which those who ask for the standing of consumers have counted each time.
  std::int32_t counted_at_most = 10'000;
};

class Feed {
 public:
  // Throws AnotherDatabase later if the DSN leads to another database than that of `identity`.
  Feed(std::string dsn, std::int32_t shards, const std::string& identity, FeedLimits limits = {});

  // All functions throw StoreUnavailable and PostgresError as the store does.

  // Waits for commits under way. Refuses `conflict`: the name is taken, the consumer was removed meanwhile, or a
  // session is at work whose program leaves no rows in the feed; `unavailable`: a writer did not make way in a minute.
  // Leaves no consumer where it fails; one that an ended process left without places is taken over after three minutes.
  Status add(const FeedConsumer& consumer, FeedStart from);
  std::vector<FeedStanding> consumers();  // writes nothing: a replica answers too
  // Refuses `not_found`.
  Result<FeedConsumer> consumer(const std::string& name);
  // And the rows that it alone had still to read, portion by portion. Refuses `not_found`, and removes rows that an
  // earlier call left when it was cut short.
  Status remove(const std::string& name);

  // At most `limit` events and some megabytes after the cursor; without one, after the consumer's place. Refuses
  // `not_found` (no such consumer), `invalid` (no cursor of it), `conflict` (the cursor is of a history that the
  // database has lost, as a standby that lagged when it was promoted, however far that has gone on since; or it is
  // older than the consumer's place, and rows from it on were removed; or add() was cut short before it had a place).
  // REQUIRES: limit >= 1.
  Result<FeedPage> page(const std::string& name, const std::string& cursor, std::int32_t limit);
  // The consumer has all before the cursor, which becomes its place. Rows that every consumer has are removed, for a
  // second at most; where that fails, or some are left, a later call does it. Refuses as page(), and `conflict` where
  // the place is further than the cursor, as with two readers of one name, or while other readers move it all the time.
  Status confirm(const std::string& name, const std::string& cursor, FeedMove move = FeedMove::on);
  // Gives each row that is visible its position. Called where the server's log has begun again, as after the import of
  // a dump, before the first commit: it may get an earlier place in the log than those of its run before it.
  void number_all();

 private:
  using ShardSet = std::vector<Shard>;
  struct FeedEnd {
    std::int64_t position = 0;  // the newest of a shard
    std::string mark;           // of the row that a cursor names, "": it is not there
  };
  struct WaitingRows {
    std::int64_t last = 0;              // the newest position of a shard
    std::int64_t count = 0;             // without a position
    std::optional<TimeUs> oldest = {};  // of those
  };
  struct PlaceMove {
    const FeedCursor& from;
    const FeedCursor& to;
    const ShardSet& shards;  // the others stay
  };

  Result<FeedCursor> cursor_of(const FeedConsumer& consumer, const std::string& text);
  Result<FeedCursor> place_of(const FeedConsumer& consumer);
  Status refuse_unfed();
  Status wait_for_writers();
  bool number_some();
  bool number_portion(Shard shard);
  Status put_consumer(const FeedConsumer& consumer);
  Status begin(const FeedConsumer& consumer, FeedStart from);
  void undo_add(const FeedConsumer& consumer);
  std::vector<FeedEnd> ends(const FeedCursor& cursor);
  Result<std::vector<std::int64_t>> prove(const FeedConsumer& consumer, FeedCursor& cursor);
  ShardSet all_shards() const;
  std::vector<ShardSet> reached_together();
  std::vector<WaitingRows> waiting_rows();
  void add_place(FeedStanding& standing, const PgResult& places, int row, const WaitingRows& shard) const;
  ShardSet shards_with_history();
  void begin_at_end(const FeedConsumer& consumer, FeedStart from);
  void put_places(const FeedConsumer& consumer, const std::vector<FeedPlace>& places);
  bool move_places(const FeedConsumer& consumer, const PlaceMove& move);
  void remove_places(const std::string& name);
  void trim_some(const ShardSet& changed);
  std::int64_t trim_portion(const ShardSet& shards, std::vector<std::int64_t>& begins);

  const std::int32_t shards_;
  const FeedLimits limits_;
  Placements placements_;
};

}  // namespace cairn
