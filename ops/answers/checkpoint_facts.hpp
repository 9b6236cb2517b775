// Facts about checkpoints for the doctor: their ages, and whether those in the database and those outside agree. Only
// the last ones are read; `cairn verify` checks all of them. Not thread-safe.
#pragma once

#include <string>

#include "ops/answers/doctor.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/proof/checkpoint_files.hpp"

namespace cairn {

// Throws PostgresError.
CheckpointFacts read_checkpoint_facts(Administration& database, const CheckpointFiles& files);

}  // namespace cairn
