#include "tests/workers/session/released_database.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "storage/chain.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "tests/storage/test_database.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn::test::released {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::unique_ptr<Store> open_store(const std::string& dsn) {
  Result<std::unique_ptr<Store>> store = open_postgres_store({.dsn = dsn});
  if (!store) throw std::runtime_error(store.error().message);
  return *std::move(store);
}

std::unique_ptr<Catalogue> catalogue() {
  const fs::path tools = fs::path(scratch_directory()) / "upgrade_tools.json";
  std::ofstream(tools) << R"({"tools": {"slow": {"exec": ["/bin/sh", "-c", "cat > /dev/null; echo {}"]}}})";
  CatalogueOptions options;
  options.tools_file = tools;
  Result<std::unique_ptr<Catalogue>> made = make_catalogue(options);
  if (!made) throw std::runtime_error(made.error().message);
  return *std::move(made);
}

std::map<std::string, RunRow> runs_by_state(Store& store) {
  std::map<std::string, RunRow> runs;
  for (const RunRow& row : store.runs({}))
    if (row.tags.contains("state")) runs[row.tags.at("state")] = row;
  return runs;
}

void work_until_ended(Store& store, Catalogue& with) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  WorkerOptions options;
  options.beat_ms = 50;
  options.dead_after_ms = 500;  // no other worker is at work here
  options.until = [&] {
    const std::vector<QuestionRow> asked = store.all_runs().questions({}, 10);
    const std::vector<RunRow> rows = store.runs({});
    const bool have_ended = std::all_of(rows.begin(), rows.end(), [&](const RunRow& row) {
      return is_ended(row.status) || std::any_of(asked.begin(), asked.end(),
                                                 [&](const QuestionRow& question) { return question.run == row.id; });
    });
    return have_ended || std::chrono::steady_clock::now() > limit;
  };
  Worker(store, with, options).run();
}

void expect_chain_holds(Store& store, const RunRow& run) {
  Hash hash = chain_start(run.id, run.version);
  for (const EventRow& row : store.events(run.id, 0, 10'000)) {
    hash = chain_next(hash, shard_of(run.id, store.shards()), run.id, row, row.commit);
    EXPECT_EQ(hash, row.chain_hash) << to_string(run.id) << " " << row.seq;
  }
  EXPECT_EQ(hash, run.chain_hash);
}

int expect_prepared(const fs::path& statements) {
  Administration old_worker(new_database(1), "an older release");
  int prepared = 0;
  for (const auto& entry : fs::directory_iterator(statements)) {
    const std::string name = entry.path().stem().stem();
    const std::string text = read_file(entry.path());
    old_worker.begin();
    EXPECT_NO_THROW(old_worker.execute(text.starts_with("lock table") ? text : "PREPARE " + name + " AS\n" + text))
        << name;
    old_worker.commit();
    ++prepared;
  }
  return prepared;
}

}  // namespace cairn::test::released
