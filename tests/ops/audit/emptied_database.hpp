// A fixture for what removes runs: the program's embedded database without any run, read and changed by its owner.
// Not thread-safe.
#pragma once

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "storage/postgres/connection.hpp"
#include "tests/ops/program.hpp"

namespace cairn::program {

class EmptiedDatabase : public ::testing::Test {
 protected:
  void SetUp() override {
    dsn_ = owner_dsn();
    execute(
        "TRUNCATE cairn.run, cairn.event, cairn.job, cairn.question, cairn.snapshot, cairn.checkpoint, "
        "cairn.tombstone, cairn.import, cairn.blob, cairn.erasing");
    std::filesystem::remove_all(directory() / "data" / "checkpoints" / text("select id::text from cairn.identity"));
    file_ = (directory() / ("removed" + std::to_string(++count_) + ".jsonl")).string();
  }

  void execute(const std::string& sql) { PgConnection({dsn_, "a test"}).execute(sql); }
  std::string text(const std::string& sql) {
    return std::string(PgConnection({dsn_, "a test", false}).query({"", sql}).text(0, 0));
  }
  std::string count(const std::string& table) { return text("select count(*)::text from cairn." + table); }
  static std::vector<std::string> runs_left() {
    std::vector<std::string> ids;
    for (const Json& run : cairn_ok({"runs", "--json"}).lines()) ids.push_back(run["run"]);
    std::sort(ids.begin(), ids.end());
    return ids;
  }

  std::string dsn_;
  std::string file_;  // of each test its own; not there yet
  static inline int count_ = 0;
};

}  // namespace cairn::program
