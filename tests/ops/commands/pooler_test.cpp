// The program behind a pooler in transaction mode.
#include <csignal>
#include <gtest/gtest.h>

#include "tests/ops/program.hpp"
#include "tests/storage/postgres/transaction_pooler.hpp"

namespace cairn {
namespace {

using namespace program;

TEST(BehindAPooler, D11_commands_workers_and_audits_pass) {
  const std::string data = directory() / "pooled";
  const std::string dsn = cairn({"doctor", "--json", "--data", data}).json().at("dsn");
  const test::TransactionPooler pooler(dsn, directory());
  const auto on_it = [&](Arguments arguments) {
    arguments.insert(arguments.end(), {"--dsn", pooler.dsn()});
    return arguments;
  };
  const Json plan = {{"goal", "g"},
                     {"sub_goals",
                      {{{"id", "a"}, {"tool", "echo"}, {"inputs", {{"x", 1}}}},
                       {{"id", "b"}, {"tool", "echo"}, {"inputs", {{"x", 2}}}, {"after", {"a"}}}}}};
  EXPECT_EQ(cairn_ok(on_it({"start", "plan_runner", "--wait", "--json", "--input", plan.dump()})).json().at("status"),
            "done");
  {
    Beside worker(on_it({"work"}));
    std::vector<std::string> runs;
    for (int n = 0; n < 5; ++n)
      runs.push_back(cairn_ok(on_it({"start", "plan_runner", "--json", "--input", plan.dump()})).json().at("run"));
    for (const std::string& run : runs)
      EXPECT_TRUE(wait_until([&] {
        return cairn(on_it({"show", run, "--json"})).json().at("status") == "done";
      })) << run;
    worker.signal(SIGTERM);
    EXPECT_EQ(worker.wait(), 0) << worker.err();
    EXPECT_EQ(worker.err(), "");
  }
  for (const Arguments& arguments : {Arguments{"runs"},
                                     {"queue"},
                                     {"workers"},
                                     {"graph", "list"},
                                     {"verify", "--all"},
                                     {"rebuild", "--check"},
                                     {"migrate"}})
    cairn_ok(on_it(arguments));
  cairn_ok({"down", "--data", data});
}

}  // namespace
}  // namespace cairn
