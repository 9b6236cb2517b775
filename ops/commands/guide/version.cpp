#include <CLI/CLI.hpp>
#include <boost/version.hpp>
#include <nlohmann/json.hpp>
#include <spdlog/version.h>
#include <zlib.h>
#include <zstd.h>

#include "engine/snapshot.hpp"
#include "ops/audit/export_version.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/service/build_facts.hpp"
#include "ops/terminal/print.hpp"
#include "storage/ground/library_versions.hpp"
#include "storage/postgres/schema.hpp"
#include "workers/ports/allocator.hpp"

namespace cairn {
namespace {

std::string dotted(int major, int minor, int patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

Json linked_libraries() {
  Json libraries = {
      {"boost", dotted(BOOST_VERSION / 100'000, BOOST_VERSION / 100 % 1'000, BOOST_VERSION % 100)},
      {"cli11", CLI11_VERSION},
      {"nlohmann_json", dotted(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
      {"spdlog", dotted(SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH)},
      {"zlib", zlibVersion()},
      {"zstd", ZSTD_versionString()}};
  for (const auto& [name, version] : storage_library_versions()) libraries[name] = version;
  if (const std::optional<std::string> version = jemalloc_version()) libraries["jemalloc"] = *version;
  return libraries;
}

Json version_json() {
  const BuildFacts facts = build_facts();
  return {{"version", facts.version},
          {"released", facts.released},
          {"commit", facts.commit.empty() ? Json(nullptr) : Json(facts.commit)},
          {"build_type", facts.build_type},
          {"compiler", facts.compiler},
          {"libraries", linked_libraries()},
          {"schema", newest_schema()},
          {"export", export_version},
          {"fold", fold_version}};
}

Exit show_version(const Settings& settings) {
  const BuildFacts facts = build_facts();
  if (settings.json)
    print_json(version_json());
  else
    print_line("cairn " + std::string(facts.version) +
               (facts.commit.empty() ? "" : ", commit " + std::string(facts.commit.substr(0, 12))) + ", schema " +
               std::to_string(newest_schema()));
  return exit_ok;
}

}  // namespace

void add_version(CommandLine& line) {
  add_command(line, "version", "The program's version; with --json its commit, compiler, libraries and formats too",
              "cairn version --json", show_version);
}

}  // namespace cairn
