// The graphs that a session keeps, and how it reads those that it does not.
#include "workers/runs/graph_shelf.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "engine/graph_parsing.hpp"
#include "storage/chain.hpp"
#include "storage/forwarding_store.hpp"
#include "storage/memory/memory_store.hpp"
#include "tests/workers/small_graphs.hpp"
#include "workers/client.hpp"

namespace cairn {
namespace {

using namespace test;

GraphRef graph_named(const std::string& name, int steps) {
  const Json text = {{"name", name},
                     {"start", "a"},
                     {"limits", {{"steps", steps}}},
                     {"nodes",
                      {{"a", {{"do", "t.ok"}, {"queue", name + std::to_string(steps)}, {"on", {{"ok", "z"}}}}},
                       {"z", {{"end", "done"}}}}}};
  return stored_graph(text, name + std::to_string(steps));
}

TEST(GraphShelf, A16_keeps_the_current_versions_and_of_the_others_those_that_came_last) {
  const std::int64_t one = memory_of(*graph_named("a", 10));
  GraphShelf shelf({}, 2 * one);
  const auto has = [&](const std::string& version) { return shelf.graphs().by_version(version) != nullptr; };
  for (const int steps : {10, 11, 12, 13, 14}) shelf.add(graph_named("a", steps), true);
  shelf.add(graph_named("b", 10), true);
  shelf.add(graph_named("b", 11), false);
  EXPECT_EQ(shelf.bytes(), 5 * one) << "nothing goes before the turn is over";
  EXPECT_TRUE(has("a10"));
  shelf.trim();
  EXPECT_EQ(shelf.bytes(), 2 * one);
  EXPECT_EQ(shelf.graphs().current("a")->version, "a14");
  EXPECT_EQ(shelf.graphs().current("b")->version, "b10");
  for (const char* version : {"a10", "a11", "a12"}) EXPECT_FALSE(has(version)) << version;
  for (const char* version : {"a13", "b11", "a14", "b10"}) EXPECT_TRUE(has(version)) << version;
  shelf.add(graph_named("a", 13), true);  // current again
  EXPECT_EQ(shelf.graphs().current("a")->version, "a13");
  EXPECT_EQ(shelf.bytes(), 2 * one) << "a14 in its place";
  shelf.add(graph_named("b", 11), false);
  EXPECT_EQ(shelf.bytes(), 2 * one) << "it was there";
}

GraphRef stored_named(const std::string& name, int steps) {
  const Json text = parse_stored(graph_named(name, steps)->text);
  return stored_graph(text, graph_version(canonical(text)));
}

TEST(GraphShelf, A16_of_new_versions_only_the_current_ones_are_kept_and_the_queues_of_all_are_known) {
  const std::unique_ptr<Store> store = make_memory_store(1);
  const auto put = [&](const GraphRef& graph, bool is_current) {
    store->graphs().put({graph->name, graph->version, graph->text, is_current});
  };
  for (int steps = 10; steps < 50; ++steps) put(stored_named("a", steps), true);
  KnownGraphs known;
  ReadGraphsOf read = read_new_graphs(*store, known, true);
  ASSERT_EQ(read.graphs.size(), 1u);
  EXPECT_EQ(read.graphs[0]->version, stored_named("a", 49)->version);
  EXPECT_EQ(read.queues.size(), 40u);
  EXPECT_TRUE(read_new_graphs(*store, known, true).graphs.empty());
  put(stored_named("a", 10), true);
  read = read_new_graphs(*store, known, true);
  ASSERT_EQ(read.graphs.size(), 1u) << "it is current again, and was not kept";
  EXPECT_EQ(read.graphs[0]->version, stored_named("a", 10)->version);
  KnownGraphs of_one_with_queues;
  read = read_new_graphs(*store, of_one_with_queues, false);
  EXPECT_EQ(read.queues, std::set<std::string>{"a10"}) << "it serves those that it was told to";
  store->graphs().put({"b", "b1", "no graph", true});
  read = read_new_graphs(*store, known, true);
  EXPECT_EQ(read.faults.size(), 1u);
}

// Rules that were altered in the database would decide runs whose events are signed by honest workers.
TEST(GraphShelf, a_text_that_is_not_that_of_its_version_decides_nothing) {
  const std::unique_ptr<Store> store = make_memory_store(1);
  const GraphRef honest = stored_named("a", 10), altered = stored_named("a", 11);
  store->graphs().put({"a", honest->version, altered->text, true});
  KnownGraphs known;
  const ReadGraphsOf read = read_new_graphs(*store, known, true);
  EXPECT_TRUE(read.graphs.empty());
  ASSERT_EQ(read.faults.size(), 1u);
  EXPECT_EQ(read.faults[0], "Expected to read graph a, but its text has the hash " + altered->version + ", and not " +
                                honest->version + ", which is its version.");
  const Result<GraphRef> graph = graph_of({"a", honest->version, altered->text, true}, {});
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error(), (Error{Code::corrupt, read.faults[0]}));
}

// The first page names one of them, the last event another one.
TEST(GraphShelf, A16_the_versions_of_a_long_history_are_all_read) {
  const std::unique_ptr<Store> store = make_memory_store(1);
  const std::unique_ptr<Catalogue> catalogue = small_catalogue();
  const std::unique_ptr<Client> client = client_with_graphs(*store, *catalogue);
  StartRun command;
  command.graph = "wait";
  const RunId run = client->start(std::move(command), "")->run;
  const std::string first = client->graphs().current("wait")->version;
  Json changed = parse_stored(client->graphs().current("wait")->text);
  changed["limits"]["steps"] = 60;
  const Result<GraphRef> second = client->add_graph(changed);
  ASSERT_TRUE(second);
  ASSERT_TRUE(client->command(run, MoveRun{(*second)->version}));
  Load load{run, 0, true, true};
  std::vector<History> histories = read_histories(*store, {&load, 1});
  const auto versions = [&] {
    std::set<std::string> found;
    for (const GraphRef& graph : read_graphs_of(*store, {&load, 1}, histories).graphs) found.insert(graph->version);
    return found;
  };
  const std::set<std::string> both = {first, (*second)->version};
  EXPECT_EQ(versions(), both);
  histories[0].rows.resize(1);
  EXPECT_EQ(versions(), std::set<std::string>{first});
  histories[0].complete = false;
  EXPECT_EQ(versions(), both);
  load.graphs = false;
  EXPECT_TRUE(versions().empty());
}

// Counts the graphs that are read with their texts.
class CountedGraphs final : public ForwardingStore {
 public:
  explicit CountedGraphs(Store& store) : ForwardingStore(store), book_(store.graphs()) {
    book_.all = [this] { return counted(store_.graphs().all()); };
    book_.of = [this](std::span<const std::string> versions) { return counted(store_.graphs().of(versions)); };
  }
  GraphBook& graphs() override { return book_; }
  std::int64_t read = 0;

 private:
  std::vector<GraphRow> counted(std::vector<GraphRow> rows) {
    read += std::ssize(rows);
    return rows;
  }

  GraphBook book_;
};

// Versions of one name that take 4 MB each when they are parsed; the last is current.
std::vector<std::string> put_versions(Store& store, int count) {
  std::vector<std::string> versions;
  for (int at = 1; at <= count; ++at) {
    Json graph = small_graph("linear");
    graph["nodes"]["a"]["with"] = {{"pad", std::string(350'000, 'p')}};
    graph["limits"]["steps"] = 100 + at;
    const std::string text = canonical(graph);
    versions.push_back(graph_version(text));
    store.graphs().put({"linear", versions.back(), text, true});
  }
  return versions;
}

TEST(GraphShelf, A16_a_client_reads_of_a_name_that_it_does_not_know_that_version_alone) {
  const std::unique_ptr<Store> memory = make_memory_store(1);
  const std::vector<std::string> versions = put_versions(*memory, 12);
  CountedGraphs store(*memory);
  const std::unique_ptr<Catalogue> catalogue = small_catalogue();
  Client client(store, *catalogue, "user:test");
  client.load_graphs();
  store.read = 0;
  EXPECT_EQ((*client.find_graph("linear"))->version, versions.back());
  EXPECT_EQ(*client.find_graph("none"), nullptr);
  EXPECT_EQ(store.read, 0);
  EXPECT_EQ((*client.find_graph(versions.front()))->version, versions.front());
  EXPECT_EQ(store.read, 1);
  EXPECT_EQ((*client.find_graph(versions.front()))->version, versions.front());
  EXPECT_EQ(store.read, 1) << "it is at hand now";
}

TEST(GraphShelf, A16_what_a_client_keeps_of_versions_that_are_not_current_is_bounded_in_bytes) {
  const std::unique_ptr<Store> store = make_memory_store(1);
  const std::vector<std::string> versions = put_versions(*store, 20);
  const std::unique_ptr<Catalogue> catalogue = small_catalogue();
  Client client(*store, *catalogue, "user:test");
  client.load_graphs();
  const std::int64_t one = memory_of(**client.find_graph("linear"));
  const auto kept = [&] {
    return std::count_if(versions.begin(), versions.end(),
                         [&](const std::string& version) { return client.graphs().by_version(version) != nullptr; });
  };
  for (const std::string& version : versions) EXPECT_NE(*client.find_graph(version), nullptr);
  EXPECT_LE((kept() - 2) * one, WorkerOptions{}.graphs_bytes_max) << "but the current one and that which came last";
  EXPECT_GE(kept(), 3);
  EXPECT_EQ((*client.find_graph(versions.front()))->version, versions.front()) << "one that was dropped is read again";
}

// It was current, was replaced, dropped, and is current again: the names of the graphs say so, without its text.
TEST(GraphShelf, A16_a_version_that_a_client_dropped_may_become_current_again) {
  const std::unique_ptr<Store> store = make_memory_store(1);
  const std::string first = put_versions(*store, 1).front();
  const std::unique_ptr<Catalogue> catalogue = small_catalogue();
  Client client(*store, *catalogue, "user:test");
  client.load_graphs();
  const std::vector<std::string> versions = put_versions(*store, 20);
  client.load_graphs();
  for (const std::string& version : versions) EXPECT_NE(*client.find_graph(version), nullptr);
  ASSERT_EQ(client.graphs().by_version(first), nullptr) << "it was dropped";
  const std::string text = store->graphs().of({&first, 1}).front().text;
  store->graphs().put({"linear", first, text, true});
  client.load_graphs();
  EXPECT_EQ((*client.find_graph("linear"))->version, first);
}

}  // namespace
}  // namespace cairn
