// Clients: runs that are started with a key, their states as of any moment, runs that continue others.
#include "workers/client.hpp"

#include <gtest/gtest.h>

#include "engine/graph_parsing.hpp"
#include "storage/chain.hpp"
#include "tests/workers/runtime/worker_trial.hpp"

namespace cairn::test {
namespace {

class ClientTest : public WorkerTest {};

TEST_P(ClientTest, a_key_used_twice_is_one_run_and_another_input_a_conflict) {
  StartRun command;
  command.graph = "linear";
  command.input = {{"text", "x"}};
  const Result<Started> first = client_->start(command, "k");
  const Result<Started> again = client_->start(command, "k");
  ASSERT_TRUE(first && again);
  EXPECT_FALSE(first->existed);
  EXPECT_TRUE(again->existed);
  EXPECT_EQ(first->run, again->run);
  command.input = {{"text", "y"}};
  const Result<Started> other = client_->start(command, "k");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::conflict);
}

// One that runs already and one that begins; a row that was altered in the database comes first.
TEST_P(ClientTest, a_stored_graph_that_cannot_be_read_stops_its_own_runs_alone) {
  const auto text_of = [](const std::string& name, int steps) {
    Json graph = small_graph("linear");
    graph["name"] = name;
    graph["limits"]["steps"] = steps;
    return canonical(graph);
  };
  const std::string honest = text_of("altered", 30), other = text_of("altered", 40), healthy = text_of("healthy", 30);
  store_->graphs().put({"altered", graph_version(honest), other, true});
  store_->graphs().put({"healthy", graph_version(healthy), healthy, true});
  Client fresh(*store_, *catalogue_, "user:test");
  const Error fault{Code::corrupt, "Expected to read graph altered, but its text has the hash " + graph_version(other) +
                                       ", and not " + graph_version(honest) + ", which is its version."};
  for (Client* client : {client_.get(), &fresh}) {
    client->load_graphs();
    EXPECT_NE(client->graphs().current("healthy"), nullptr);
    for (const std::string& asked : {std::string("altered"), graph_version(honest)}) {
      const Result<GraphRef> graph = client->find_graph(asked);
      ASSERT_FALSE(graph) << asked;
      EXPECT_EQ(graph.error(), fault);
    }
    StartRun command;
    command.graph = "altered";
    const Result<Started> started = client->start(command, "");
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error(), fault);
    command.graph = "healthy";
    EXPECT_TRUE(client->start(command, ""));
  }
}

TEST_P(ClientTest, an_unknown_run_is_not_found) {
  const Result<Done> result = client_->command(new_run_id(), Cancel{"x"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::not_found);
  EXPECT_EQ(client_->state(new_run_id()).error().code, Code::not_found);
}

TEST_P(ClientTest, the_state_as_of_a_moment_is_the_fold_up_to_it) {
  const RunId run = start("linear", {{"text", "x"}});
  work_until_ended(run);
  const Result<RunState> then = client_->state(run, 2);
  ASSERT_TRUE(then);
  EXPECT_EQ(then->seq, 2);
  EXPECT_EQ(then->status, RunStatus::running);
  EXPECT_EQ(client_->state(run, 99).error().code, Code::invalid);
  const std::vector<EventRow> rows = store_->events(run, 0, 10);
  EXPECT_EQ(*client_->seq_at(run, rows.back().at_us), rows.back().seq);
  EXPECT_EQ(client_->seq_at(run, rows.front().at_us - 1).error().code, Code::invalid);
}

TEST_P(ClientTest, a_run_that_continues_another_carries_its_turns_on) {
  RunId last{};
  for (const int turn : {1, 2, 3}) {
    StartRun command;
    command.graph = "bulk";
    command.input = {{"parts", {turn}}};
    if (turn > 1) command.continues = last;
    const Result<Started> started = client_->start(command, "");
    ASSERT_TRUE(started) << started.error().message;
    last = started->run;
    if (turn < 3) work_until_ended(last);
  }
  const Json history = read_channel(*client_->state(last), root_branch, "history");
  ASSERT_EQ(history["parts"].size(), 6u);  // of each earlier run: its input, and what t.bulk appends
  EXPECT_EQ(history["parts"][0], 1);
  EXPECT_EQ(history["parts"][3], 2);
  StartRun early;
  early.graph = "linear";
  early.continues = last;
  EXPECT_EQ(client_->start(early, "").error().code, Code::conflict);
}

// The preview said that the call fails, while the command itself finds the graph.
TEST_P(ClientTest, a_preview_knows_a_called_graph_that_was_added_after_the_names_were_read) {
  ASSERT_TRUE(client_->add_graph(Json::parse(R"({"name": "early", "start": "a", "limits": {"steps": 9}, "nodes": {
      "a": {"ask": {"prompt": "?"}, "on": {"answered": "c", "expired": "z"}},
      "c": {"call": "late", "on": {"done": "z", "failed": "y"}}, "z": {"end": "done"}, "y": {"end": "failed"}}})")));
  const RunId run = start("early");
  Client other(*store_, *catalogue_, "user:other");
  ASSERT_TRUE(other.add_graph(Json::parse(R"({"name": "late", "start": "q", "limits": {"steps": 9}, "nodes": {
      "q": {"ask": {"prompt": "?"}, "on": {"answered": "z", "expired": "z"}}, "z": {"end": "done"}}})")));
  const Result<RunState> left = client_->state_if(run, Answer{"q1", 1, "ann", {}});
  ASSERT_TRUE(left) << left.error().message;
  EXPECT_EQ(left->status, RunStatus::running) << left->reason;
}

INSTANTIATE_TEST_SUITE_P(Stores, ClientTest,
                         ::testing::Values(WorkerStore{"memory", true, 1}, WorkerStore{"postgres", false, 1}),
                         [](const auto& variant) { return variant.param.name; });

}  // namespace
}  // namespace cairn::test
