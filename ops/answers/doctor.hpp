// Health checks of the database: facts that a command has gathered, judged by pure functions. Safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/feed/feed.hpp"
#include "storage/hooks/hook_rows.hpp"
#include "storage/migration/distribution.hpp"
#include "storage/postgres/reachable.hpp"
#include "storage/store.hpp"

namespace cairn {

struct ServerFacts {
  std::int32_t version_number = 0;  // 150004
  std::string version;
  std::string fsync;
  std::string synchronous_commit;
  std::string full_page_writes;
  std::string autovacuum;
  std::string track_activities;
  std::string track_counts;
  std::string track_io_timing;
  std::int32_t connections_max = 0;
  std::int64_t connections = 0;
  std::string user;
  bool sees_all = false;      // of other users' activity
  std::string encoding;       // of the database
  std::int64_t timeline = 1;  // of its log of changes; 0: a replica
};

struct RoleFacts {
  std::string role;
  bool exists = false;
  std::string event_rights;  // rights it must not have: "delete, update"; "": none
};

// The only role that may remove a history.
struct ArchiveFacts {
  bool exists = false;
  bool may = false;       // this login may assume it
  std::string others;     // roles that may and must not: "cairn_app"; "": none
  std::int64_t gone = 0;  // runs that were archived
  std::int64_t erased = 0;
  std::int64_t erasing = 0;  // large values of removed runs that are still there
};

struct CheckpointFacts {
  std::string folder;
  TimeUs newest_us = 0;                          // in the table; 0: there is none
  std::optional<TimeUs> unsigned_since_us = {};  // commits since then are unsigned
  std::int64_t compared = 0;                     // processes whose file and table were compared
  std::int64_t elsewhere = 0;                    // processes without a file here
  std::vector<std::string> differences = {};     // between file and table
  std::string key_in_folder = {};                // the signing key, if it lies in the folder; else ""
  std::string key_better = {};                   // where it belongs then
  std::optional<TimeUs> lost_us = {};            // the newest that a file has and the table lacks
};

// A holder of an old snapshot, which keeps vacuum from its work or might.
struct HolderFacts {
  std::string kind;  // transaction, prepared, slot
  std::string pid;
  std::string who;                // application, name of the prepared transaction or of the slot
  std::int64_t transactions = 0;  // begun since its snapshot; 0: it has no snapshot
  std::int64_t seconds = 0;
  std::string node = {};  // of a Citus cluster, if it is not the one that the DSN names
};

// On a Citus cluster of all nodes together.
struct TableFacts {
  std::string name;
  std::int64_t live = 0;
  std::int64_t dead = 0;
  std::int64_t vacuumed_seconds_ago = -1;  // -1: never
  bool autovacuum_off = false;
};

struct DiskFacts {
  std::string directory;
  std::uint64_t free_bytes = 0;
  std::uint64_t bytes = 0;
};

// A folder of this machine in which something is kept.
struct FolderFacts {
  std::string what;  // is kept there: "checkpoints"
  std::string path;
  Status written;  // else the reason why it cannot be
};

// The content of the schema; read only if its version is this program's.
struct SchemaFacts {
  std::vector<RoleFacts> roles;
  std::vector<TableFacts> tables;
  std::vector<SessionRow> sessions;
  std::map<SessionId, std::int64_t> held;  // jobs by holder
  std::int64_t held_by_nobody = 0;         // jobs whose holder is gone; counted up to a hundred
  ArchiveFacts archive = {};
  CheckpointFacts checkpoints = {};
  std::vector<FeedStanding> consumers = {};  // of the feed
  std::string login_rights = {};             // on events that this login itself has: "delete, update"; "": none
  std::vector<std::string> keeping = {};     // graphs that say how long they keep their runs
  std::vector<std::string> overdue = {};     // those of them whose runs should have been archived an hour ago
  std::optional<TimeUs> next_schedule = {};  // when the first has to be looked at; none: there is no schedule
  std::vector<HookCounts> hooks = {};        // those that are not paused
  std::vector<HookDelay> hook_delays = {};   // of those
  std::vector<std::string> paused_hooks = {};
};

// The replica that CAIRN_READ_DSN names.
struct ReplicaFacts {
  bool is_replica = true;             // it takes no writes itself
  std::int64_t bytes_behind = 0;      // after waiting a moment for it to follow
  std::int64_t followed_ms = 0;       // how long it took to replay what was there when it was asked; -1: longer
  std::int64_t replayed_seconds = 0;  // since the commit that it replayed last; -1: none since its start
};

struct DoctorFacts {
  ServerFacts server;
  bool is_replica = false;  // the server itself
  Result<WakeUpFound> wake_up = WakeUpFound{};
  std::optional<Result<ReplicaFacts>> replica = {};  // nothing: none is named
  bool is_local = true;                              // the server, by its DSN
  std::string sslmode;                               // libpq's, for one elsewhere
  std::string model_url;                             // CAIRN_MODEL_URL; "": none
  std::string embed_url;                             // CAIRN_EMBED_URL; "": none, or that of the model
  std::string schema_fault;                          // "" if the schema is this program's
  std::int32_t schema_version = 0;
  std::int32_t shards = 1;
  std::vector<HolderFacts> holders;
  std::optional<SchemaFacts> schema;
  std::optional<DiskFacts> disk;  // of an embedded database
  std::vector<FolderFacts> folders = {};
  std::vector<ClusterNode> nodes;  // of a Citus cluster
  Status written = Done{};         // a small table, for a test
  std::int64_t jobs_ahead = 0;     // of runs whose last event is later than the database's clock
  std::int64_t ahead_seconds = 0;  // the farthest
  TimeUs database_us = 0;
  TimeUs here_us = 0;                            // this machine's clock at that moment
  std::string (*time_said)(TimeUs) = time_text;  // in what was found
};

struct Check {
  std::string name;
  bool ok = false;
  std::string found;  // one sentence or a value
};

std::vector<Check> checks_of(const DoctorFacts& facts);

}  // namespace cairn
