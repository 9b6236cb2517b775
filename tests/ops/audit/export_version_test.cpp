// Files of older versions of the export format: version 1 as it was shipped, and a version 0 that no program ever
// wrote, whose step is the test's; the way through ExportAudit is the product's.
#include "ops/audit/export_version.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

#include "engine/snapshot.hpp"
#include "ops/audit/export_audit.hpp"
#include "storage/chain.hpp"
#include "tests/paths.hpp"

namespace cairn {
namespace {

const std::string graph_text =
    canonical(Json::parse(R"({"name":"g","start":"z","limits":{"steps":1},"nodes":{"z":{"end":"done"}}})"));

// Version 0 called the number of shards "shard_count" and the version of a graph "hash".
void lift_first(Json& line) {
  const char* const from = line.at("kind") == "head" ? "shard_count" : "hash";
  const char* const to = line.at("kind") == "head" ? "shards" : "version";
  if (line.at("kind") == "end") return;
  line[to] = line.at(from);
  line.erase(from);
}
const std::array<ExportUpcaster, 2> first_steps{{{0, lift_first}, shipped_export_upcasters()[0]}};

std::string written_as(bool as_version_0) {
  std::ostringstream text;
  ExportWriter writer([&](std::string_view part) { text << part; }, ExportForm::plain);
  writer.head({3, "a database", 1, "ann", false});
  writer.graph({"g", graph_version(graph_text), graph_text, true});
  writer.end();
  if (!as_version_0) return text.str();
  std::istringstream lines(text.str());
  std::string older;
  for (std::string line; std::getline(lines, line);) {
    Json fields = Json::parse(line);
    if (fields["kind"] == "end") fields["sha256"] = hex(sha256(older));
    if (fields["kind"] == "head") fields["version"] = 0;
    if (fields["kind"] == "head") fields["shard_count"] = fields["shards"];
    if (fields["kind"] == "graph") fields["hash"] = fields["version"];
    fields.erase(fields["kind"] == "head" ? "shards" : fields["kind"] == "graph" ? "version" : "nothing");
    older += canonical(fields) + "\n";
  }
  return older;
}

struct Seen {
  std::vector<std::string> faults;
  std::int32_t shards = 0;
  std::string graph;
};

Seen read(const std::string& text, ExportUpcasters upcasters = shipped_export_upcasters()) {
  const auto path = std::filesystem::temp_directory_path() / ("export_version_" + std::to_string(::getpid()));
  std::ofstream(path) << text;
  Seen seen;
  ExportTaker taker;
  taker.head = [&](const ExportHead& head) -> Status {
    seen.shards = head.shards;
    return Done{};
  };
  taker.graph = [&](const GraphRow& graph) -> Status {
    seen.graph = graph.name + " " + graph.version;
    return Done{};
  };
  ExportAudit audit(
      path.string(), [&](const Finding& finding) { seen.faults.push_back(finding.says); }, taker, upcasters);
  EXPECT_TRUE(audit.run());
  std::filesystem::remove(path);
  return seen;
}

TEST(ExportVersion, an_older_file_is_read_line_by_line) {
  for (const Seen& seen :
       {read(written_as(false)), read(written_as(true), first_steps), read(written_as(false), first_steps)}) {
    EXPECT_EQ(seen.faults, std::vector<std::string>{});
    EXPECT_EQ(seen.shards, 3);
    EXPECT_EQ(seen.graph, "g " + graph_version(graph_text));
  }
}

TEST(ExportVersion, a_version_without_a_step_is_refused) {
  EXPECT_EQ(read(written_as(true)).faults,
            std::vector<std::string>{"Expected an export of version 2, but found \"cairn-export\" of version 0."});
  for (const char* version : {"3", "-1", "\"1\"", "1.5", "null", "9999999999999999999"}) {
    std::string text = written_as(false);
    text.replace(text.find("\"version\":2"), 11, std::string("\"version\":") + version);
    EXPECT_EQ(read(text, first_steps).faults.size(), 1u) << version;
    EXPECT_EQ(read(text, first_steps).shards, 0) << version;
  }
}

TEST(ExportVersion, a_line_that_is_none_of_its_version_is_a_fault) {
  std::string text = written_as(true);
  text.replace(text.find("\"hash\""), 6, "\"hush\"");
  EXPECT_EQ(read(text, first_steps).faults,
            std::vector<std::string>{"Expected line 2 to have the fields of its kind, but it has not."});
}

TEST(ExportVersion, a_file_of_version_1_is_read_as_it_was_shipped) {
  std::vector<std::string> faults;
  ExportAudit audit(testing::source_dir() + "/tests/golden/exports/version_1.jsonl",
                    [&](const Finding& finding) { faults.push_back(finding.says); });
  EXPECT_TRUE(audit.run());
  EXPECT_EQ(faults, std::vector<std::string>{});
  EXPECT_EQ(audit.counts(), (ExportCounts{1, 9, 1, 3, 0}));
}

TEST(ExportVersion, the_page_on_versions_names_todays) {
  std::ifstream file(testing::source_dir() + "/engine/versions.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const std::string& says : {"the export of version " + std::to_string(export_version),
                                  "the fold of version " + std::to_string(fold_version)})
    EXPECT_NE(page.find(says), std::string::npos) << says;
}

}  // namespace
}  // namespace cairn
