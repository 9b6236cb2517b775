// The concurrency of a queue and of its keys with real workers that are killed: what is held at once, as the database
// counts it with each claim.
#include <csignal>
#include <gtest/gtest.h>
#include <vector>

#include "tests/ops/program.hpp"
#include "tests/storage/limits/noted_holds.hpp"

namespace cairn::program {
namespace {

constexpr int runs_of_key = 30;

std::string graph_of_two_steps(const std::string& name) {
  const Json work = {{"do", "tool.call"},
                     {"queue", name},
                     {"with", {{"tool", "sleep"}, {"inputs", {{"ms", 30}}}}},
                     {"retry", {{"lost", 20}}},
                     {"on", {{"ok", "again"}}}};
  Json again = work;
  again["on"] = {{"ok", "finish"}};
  const Json graph = {{"name", name},
                      {"start", "work"},
                      {"limits", {{"steps", 100}}},
                      {"nodes", {{"work", work}, {"again", again}, {"finish", {{"end", "done"}}}}}};
  cairn_ok({"graph", "add", write_file(name + ".json", graph.dump()).string()});
  return name;
}

std::size_t ended(const std::string& graph) {
  return cairn_ok({"runs", "--graph", graph, "--status", "done", "--limit", "1000", "--json"}).lines().size();
}

TEST(QueueConcurrency, of_four_workers_of_which_three_are_killed_no_more_is_held_than_the_limits_and_nothing_leaks) {
  constexpr std::int64_t concurrency = 6, key_concurrency = 2;
  const std::vector<std::string> customers{"acme", "best", "corp", "dune"};
  const std::size_t runs = runs_of_key * customers.size();
  const std::string queue = graph_of_two_steps("counted");
  test::note_holds(owner_dsn());
  cairn_ok({"queue", "set", queue, "--concurrency", std::to_string(concurrency), "--key", "/customer",
            "--key-concurrency", std::to_string(key_concurrency)});
  std::string inputs;
  for (int run = 0; run < runs_of_key; ++run)
    for (const std::string& customer : customers) inputs += Json{{"customer", customer}}.dump() + "\n";
  cairn_ok({"batch", queue, "--inputs", write_file("counted.jsonl", inputs)});

  std::vector<Beside> workers;
  for (int worker = 0; worker < 4; ++worker)
    workers.emplace_back(Arguments{"work", "--queue", queue, "--concurrency", "4"});
  for (std::size_t killed = 0; killed < 3; ++killed) {
    const std::size_t before = ended(queue);
    ASSERT_TRUE(wait_until([&] { return ended(queue) >= before + 10; })) << workers[killed].err();
    workers[killed].signal(SIGKILL);
    workers[killed].wait();
  }
  ASSERT_TRUE(wait_until([&] { return ended(queue) == runs; }, std::chrono::seconds(120))) << ended(queue);
  const test::NotedHolds held = test::noted_holds(owner_dsn(), queue);
  EXPECT_GE(held.claims, static_cast<std::int64_t>(runs));
  EXPECT_EQ(held.most, concurrency) << "never more, and as many when there is enough to do";
  EXPECT_EQ(held.most_of_key, key_concurrency);
  for (const Json& line : cairn_ok({"queue", "--json"}).lines())
    EXPECT_TRUE(line["queue"] != queue || line["held"] == 0) << line;
}

}  // namespace
}  // namespace cairn::program
