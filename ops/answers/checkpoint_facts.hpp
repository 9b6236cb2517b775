// What the doctor asks of checkpoints: their ages, and whether those in the database and those outside are the same.
// verify looks over all of them, this only over the last ones. Not thread-safe.
#pragma once

#include <string>

#include "ops/answers/doctor.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/proof/checkpoint_files.hpp"

namespace cairn {

// Throws PostgresError.
CheckpointFacts read_checkpoint_facts(Administration& database, const CheckpointFiles& files);

}  // namespace cairn
