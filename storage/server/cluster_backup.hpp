// Backups of the embedded cluster, and their restoration. A backup is a folder for its owner alone:
//
//   cairn_backup.json              what it is of; written last
//   data/                          a base copy of the server's data, with the WAL that makes it one moment
//   owner.pass                     the password of its owner
//   checkpoints/                   the signed checkpoints, copied before the data
//   checkpoints_signing_key.pem    the key that signs them
//
// Nothing is half-written. Both work in a folder of their own (DIR.partial, DATA/restoring) and rename the result at
// the end. Safe from any thread.
#pragma once

#include <cstdint>
#include <string>

#include "engine/result.hpp"
#include "storage/server/cluster.hpp"
#include "storage/server/incarnation.hpp"

namespace cairn {

// Parts of a database outside of its server.
struct ProofPlaces {
  std::string checkpoints;  // the folder; it may be missing
  std::string signing_key;  // the file; it may be missing
};

struct ClusterBackup {
  std::string program;   // the version of Cairn that made it
  int schema = 0;        // the newest migration that the database had
  std::string identity;  // of the database
  int postgres = 0;      // the major version
};

// Copies a running cluster while others work on it. Refuses `invalid` (no place, or one in the server's data),
// `conflict` (the folder is there already, or an interrupted backup is), `limit` (too little space for it),
// `unavailable` (the copy failed: the server's words).
Result<ClusterBackup> back_up_cluster(const Cluster& cluster, const ProofPlaces& places, const std::string& program,
                                      const std::string& folder);

// Makes the cluster in `directory`, which holds no data yet, and leaves it stopped: as it was when the copy was made,
// or at the moment of the archived WAL that `recovery` names. No hold of the backup is honoured there. Checkpoints and
// key come along unless `places` has some already: those are newer, and `verify` then says which runs lack their end.
// Refuses `not_found` (no such folder, or none with WAL), `invalid` (it holds no whole backup, or began after the
// moment), `unsupported` (data of another PostgreSQL, a newer schema or format), `corrupt` (the files are not those
// that were copied), `conflict` (something is in the directory), `limit` (too little space), `unavailable` (no start,
// as where the WAL does not reach the moment: the server's words; WAL that the server's user may not read). After a
// refusal DATA/restoring is gone, unless a server there does not stop.
Result<ForgottenSessions> restore_cluster(const std::string& folder, const std::string& directory,
                                          const ProofPlaces& places, const Recovery& recovery);

}  // namespace cairn
