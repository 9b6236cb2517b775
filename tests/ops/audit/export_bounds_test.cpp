// The memory that an export makes its reader take is bounded, whatever is in it; a file that changes between the two
// readings of an import is refused.
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

// A database of one run that has ended, as an export in a file.
std::string exported_run(const std::string& name) {
  const std::unique_ptr<Store> store = make_memory_store(1);
  const Catalogue catalogue;
  Client client(*store, catalogue, "ann");
  EXPECT_TRUE(client.add_graph(
      {{"name", "g"}, {"start", "z"}, {"limits", {{"steps", 1}}}, {"nodes", {{"z", {{"end", "done"}}}}}}));
  StartRun command;
  command.graph = "g";
  command.input = Json::object();
  const Result<Started> started = client.start(command, "");
  EXPECT_TRUE(started) << started.error().message;
  const std::string path = path_of(name);
  std::ofstream file(path);
  ExportWriter writer([&](std::string_view part) { file << part; }, ExportForm::plain);
  Exporter exporter(*store, writer, "ann", Exporter::Purpose::copy);
  const RunRow run = *store->run(started->run);
  exporter.add({&run, 1}, [](const RunId&, const std::string& says) { ADD_FAILURE() << says; });
  exporter.end(nullptr);
  return path;
}

TEST(ExportBounds, H19_a_file_that_changes_between_the_two_readings_is_refused) {
  const std::string first = exported_run("first");
  const std::string second = exported_run("second");
  const std::unique_ptr<Store> memory = make_memory_store(1);
  ChangingStore store(*memory, [&] { fs::rename(second, first); });
  RunRecords records("host=/nowhere", 1, 1);
  GatheredHeads heads;
  CheckpointTable signatures("host=/nowhere", 1);
  const Result<ImportReport> report = Importer({store, records, signatures, heads}, {}).import(first);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Code::corrupt);
  EXPECT_NE(report.error().message.find("the file was changed"), std::string::npos) << report.error().message;
  EXPECT_TRUE(heads.empty());
  fs::remove(first);
}

}  // namespace
}  // namespace cairn
