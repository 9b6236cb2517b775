// The versions of the export format (export_format.md): this program writes the newest and reads every older one, whose
// lines are lifted one version at a time before anything else reads them. engine/versions.md says how to add a version.
// Pure functions and constant data, safe from any thread.
#pragma once

#include <cstdint>
#include <span>

#include "engine/json.hpp"

namespace cairn {

inline constexpr std::int64_t export_version = 2;

// One step, for any line of a file of `version`, the head included, to the version after it.
struct ExportUpcaster {
  std::int64_t version = 0;
  void (*lift)(Json& line) = nullptr;  // throws Json::exception for a line that is none of `version`
};
using ExportUpcasters = std::span<const ExportUpcaster>;

// The steps that this program ships.
ExportUpcasters shipped_export_upcasters();

// Whether files of that version can be read.
bool is_readable_export(const Json& version, ExportUpcasters upcasters);

// REQUIRES: is_readable_export(version).
void lift_export_line(Json& line, std::int64_t version, ExportUpcasters upcasters);

}  // namespace cairn
