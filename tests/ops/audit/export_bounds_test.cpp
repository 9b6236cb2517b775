// The memory that an export makes its reader take is bounded, whatever is in it; a file that changes between the two
// readings of an import is refused, and so is a state that does not hang together.
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>
#include <utility>

#include "engine/graph_parsing.hpp"
#include "ops/audit/export_audit.hpp"
#include "ops/audit/exporter.hpp"
#include "ops/audit/importer.hpp"
#include "storage/chain.hpp"
#include "storage/memory/memory_store.hpp"
#include "tests/storage/forwarding_store.hpp"
#include "workers/catalogue.hpp"
#include "workers/client.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

std::string path_of(const std::string& name) {
  return (fs::temp_directory_path() / ("export_bounds_" + std::to_string(::getpid()) + "_" + name)).string();
}

std::string written(const std::function<void(ExportWriter&)>& write) {
  std::ostringstream text;
  ExportWriter writer([&](std::string_view part) { text << part; }, ExportForm::plain);
  writer.head({1, "memory", 1, "ann", false});
  write(writer);
  writer.end();
  return text.str();
}

std::vector<std::string> faults_of(const std::string& text) {
  const std::string path = path_of("file");
  std::ofstream(path) << text;
  std::vector<std::string> says;
  EXPECT_TRUE(ExportAudit(path, [&](const Finding& finding) { says.push_back(finding.says); }).run());
  fs::remove(path);
  return says;
}

std::string graph_of_nodes(int number, int nodes) {
  Json graph = {{"name", "g" + std::to_string(number)}, {"start", "n0"}, {"limits", {{"steps", 1}}}};
  for (int n = 0; n < nodes; ++n) {
    Json& node = graph["nodes"]["n" + std::to_string(n)];
    if (n + 1 == nodes) node["end"] = "done";
    if (n + 1 < nodes) node = {{"wait", {{"ms", 1}}}, {"on", {{"fired", "n" + std::to_string(n + 1)}}}};
  }
  return canonical(graph);
}

TEST(ExportBounds, H19_graphs_take_a_bounded_memory_together) {
  const std::string text = written([](ExportWriter& writer) {
    for (int number = 0; number < 60; ++number) {
      const std::string graph = graph_of_nodes(number, 5'000);
      writer.graph({"g" + std::to_string(number), graph_version(graph), graph, false});
    }
  });
  const std::vector<std::string> says = faults_of(text);
  ASSERT_EQ(says.size(), 1u);
  EXPECT_NE(says[0].find("export fewer runs at once"), std::string::npos) << says[0];
}

TEST(ExportBounds, H19_a_long_line_holds_texts_and_numbers_only) {
  std::string lists = "[]";
  for (int n = 0; n < 100'000; ++n) lists += ",[]";
  std::string fields = "\"f\":1";
  for (int n = 0; n < 20'000; ++n) fields += ",\"f" + std::to_string(n) + "\":1";
  std::string text = written([](ExportWriter&) {});
  text.erase(text.find('\n') + 1);
  for (const std::string& line : {"{\"kind\":\"graph\",\"text\":[" + lists + "]}\n", "{" + fields + "}\n"}) {
    const std::vector<std::string> says = faults_of(text + line);
    ASSERT_EQ(says.size(), 1u);
    EXPECT_NE(says[0].find("Expected texts and numbers in line 2"), std::string::npos) << says[0];
  }
}

TEST(ExportBounds, H19_findings_have_an_end) {
  const std::string graph = graph_of_nodes(0, 2);
  const std::string text = written([&](ExportWriter& writer) {
    writer.graph({"g0", graph_version(graph), graph, false});
    RunRow run;
    run.head = 1;
    for (int n = 0; n < 10'100; ++n) {
      run.id.bytes[0] = static_cast<std::uint8_t>(n >> 8);
      run.id.bytes[1] = static_cast<std::uint8_t>(n);
      writer.run(run, 0);
    }
  });
  const std::vector<std::string> says = faults_of(text);
  EXPECT_EQ(says.size(), 10'001u);
  EXPECT_NE(says.back().find("what follows was not looked at"), std::string::npos) << says.back();
}

// Each of its runs is asked for: then the file becomes another one.
class ChangingStore final : public test::ForwardingStore {
 public:
  ChangingStore(Store& store, std::function<void()> change) : ForwardingStore(store), change_(std::move(change)) {}
  std::optional<RunRow> run(const RunId&) override {
    if (change_) std::exchange(change_, nullptr)();
    return std::nullopt;
  }

 private:
  std::function<void()> change_;
};

// One run of a graph that ends or waits for a signal, on a store in memory.
struct OneRun {
  explicit OneRun(const Json& nodes, const Json& input = Json::object()) {
    EXPECT_TRUE(client.add_graph({{"name", "g"}, {"start", "a"}, {"limits", {{"steps", 9}}}, {"nodes", nodes}}));
    StartRun command;
    command.graph = "g";
    command.input = input;
    const Result<Started> started = client.start(command, "");
    EXPECT_TRUE(started) << started.error().message;
    run = started->run;
  }
  const std::unique_ptr<Store> store = make_memory_store(1);
  const Catalogue catalogue;
  Client client{*store, catalogue, "ann"};
  RunId run;
};

const Json ending_nodes = {{"a", {{"end", "done"}}}};
const Json waiting_nodes = {{"a", {{"wait", {{"signal", "go"}}}, {"on", {{"fired", "z"}}}}}, {"z", {{"end", "done"}}}};

// An export of one run that has ended, in a file.
std::string exported_run(const std::string& name, const Json& input = Json::object()) {
  const OneRun one(ending_nodes, input);
  const std::string path = path_of(name);
  std::ofstream file(path);
  ExportWriter writer([&](std::string_view part) { file << part; }, ExportForm::plain);
  Exporter exporter(*one.store, writer, "ann", Exporter::Purpose::copy);
  const RunRow run = *one.store->run(one.run);
  exporter.add({&run, 1}, [](const RunId&, const std::string& says) { ADD_FAILURE() << says; });
  exporter.end(nullptr);
  return path;
}

Result<ImportReport> report_of_import(Store& store, const std::string& path, ImportOptions options) {
  RunRecords records("host=/nowhere", 1, 1);
  GatheredHeads heads;
  CheckpointTable signatures("host=/nowhere", 1);
  Result<ImportReport> report = Importer({store, records, signatures, heads}, std::move(options)).import(path);
  EXPECT_TRUE(report || heads.empty());
  return report;
}

TEST(ExportBounds, H19_a_file_that_changes_between_the_two_readings_is_refused) {
  const std::string first = exported_run("first");
  const std::string second = exported_run("second");
  const std::unique_ptr<Store> memory = make_memory_store(1);
  ChangingStore store(*memory, [&] { fs::rename(second, first); });
  const Result<ImportReport> report = report_of_import(store, first, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Code::corrupt);
  EXPECT_NE(report.error().message.find("the file was changed"), std::string::npos) << report.error().message;
  fs::remove(first);
}

TEST(ExportBounds, H19_a_run_of_more_bytes_than_an_import_keeps_is_refused) {
  const std::string file = exported_run("large", {{"text", std::string(20'000, 'x')}});
  const std::unique_ptr<Store> store = make_memory_store(1);
  ImportOptions options;
  options.run_bytes_max = 20'000;
  const Result<ImportReport> report = report_of_import(*store, file, options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Code::limit) << report.error().message;
  EXPECT_NE(report.error().message.find("at most 20000 bytes of events and large values"), std::string::npos)
      << report.error().message;
  fs::remove(file);
}

// Its lineage had no end: `show` took all memory, although `verify` and `import` had found nothing.
TEST(ExportBounds, A11_a_fork_whose_branch_is_its_own_parent_is_found_and_not_imported) {
  OneRun one(waiting_nodes);
  const Result<Started> fork = one.client.fork(one.run, {.seq = one.store->run(one.run)->head});
  ASSERT_TRUE(fork) << fork.error().message;
  RunRow row = *one.store->run(fork->run);
  std::vector<EventRow> events = one.store->events(row.id, 0, 100);
  const auto exported = [&] {
    return written([&](ExportWriter& writer) {
      for (const GraphRow& graph : one.store->graphs().all()) writer.graph(graph);
      Hash chain = chain_start(row.id, row.version);
      for (EventRow& event : events) chain = event.chain_hash = chain_next(chain, 0, row.id, event);
      row.chain_hash = chain;
      writer.run(row, 0);
      for (const EventRow& event : events) EXPECT_TRUE(writer.event(row.id, 0, event));
    });
  };
  EXPECT_EQ(faults_of(exported()), std::vector<std::string>{});
  Json payload = Json::parse(events.front().payload);
  payload["forked_from"]["state"]["branches"][0]["parent"] = 1;
  events.front().payload = canonical(payload);
  const std::string hostile = exported();
  const std::vector<std::string> says = faults_of(hostile);
  ASSERT_EQ(says.size(), 1u);
  EXPECT_NE(says[0].find("branch 1, the first, lies in another one"), std::string::npos) << says[0];
  const std::string path = path_of("hostile");
  std::ofstream(path) << hostile;
  const std::unique_ptr<Store> store = make_memory_store(1);
  const Result<ImportReport> report = report_of_import(*store, path, {.running = true, .by = {}});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Code::corrupt) << report.error().message;
  fs::remove(path);
}

}  // namespace
}  // namespace cairn
