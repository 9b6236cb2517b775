// Databases that older releases made (tests/golden/release_N), and what tests do with each. Not thread-safe.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "storage/store.hpp"
#include "workers/catalogue.hpp"

namespace cairn::test::released {

std::string read_file(const std::filesystem::path& path);

std::unique_ptr<Store> open_store(const std::string& dsn);  // throws std::runtime_error

// With the tool `slow` that a run of the first release was in when its worker was killed.
std::unique_ptr<Catalogue> catalogue();

// The runs by their tag `state`.
std::map<std::string, RunRow> runs_by_state(Store& store);

// Until all runs have ended, except those that wait for a person.
void work_until_ended(Store& store, Catalogue& with);

void expect_chain_holds(Store& store, const RunRow& run);

// Each NAME.sql.golden of the folder is understood by a database of the newest schema. How many there are.
int expect_prepared(const std::filesystem::path& statements);

}  // namespace cairn::test::released
