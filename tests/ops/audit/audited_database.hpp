// A private database with the real program on it, and a superuser who may change what the product's logins may not.
// Not thread-safe.
#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "storage/postgres/connection.hpp"
#include "storage/store.hpp"
#include "tests/ops/program.hpp"

namespace cairn::program {

class AuditedDatabase : public ::testing::Test {
 protected:
  static void TearDownTestSuite();
  // Empties the database and connects as its superuser.
  void SetUp() override;

  static std::string data();
  static const std::string& dsn();
  static Arguments on_it(Arguments arguments);  // with --data

  void sql(const std::string& text) { superuser_->execute(text); }
  std::string sql_text(const std::string& query);  // of one row and column
  std::unique_ptr<Store> store() const;
  void forget_checkpoints();  // removes what processes have signed, in the database and outside

  // Runs in different states.
  std::string start(const std::string& graph, const Arguments& more = {});
  void add_graph(const Json& graph);
  std::string done_run();                  // plan_runner with two sub-goals
  std::string asking_run();                // waits for the answer to its question q1
  std::string signalled_run(int signals);  // waits for another one than those it was sent
  std::string waiting_job();               // a job in the queue `default`, not claimed yet

  // The findings of `cairn verify RUN --json` as "altered 3, job 5"; expects an exit code that fits them, and no
  // finding of another run.
  std::string found(const std::string& run);
  static std::string found_by(const Arguments& arguments, const std::string& only_of = "");

 private:
  std::unique_ptr<PgConnection> superuser_;
};

}  // namespace cairn::program
