#include "ops/audit/export_version.hpp"

#include <algorithm>
#include <array>

namespace cairn {
namespace {

const ExportUpcaster* step_from(std::int64_t version, ExportUpcasters upcasters) {
  const auto found =
      std::find_if(upcasters.begin(), upcasters.end(), [&](const auto& one) { return one.version == version; });
  return found == upcasters.end() ? nullptr : &*found;
}

// Version 1 knew no checkpoints, no parts of events and no runs that were left out.
void lift_from_1(Json& line) {
  if (line.at("kind") == "end") line["checkpoints"] = 0;
}

constexpr std::array<ExportUpcaster, 1> shipped{{{1, lift_from_1}}};

}  // namespace

ExportUpcasters shipped_export_upcasters() { return shipped; }

bool is_readable_export(const Json& version, ExportUpcasters upcasters) {
  if (!version.is_number_integer() || version > export_version) return false;
  for (auto at = version.get<std::int64_t>(); at < export_version; ++at)
    if (step_from(at, upcasters) == nullptr) return false;
  return true;
}

void lift_export_line(Json& line, std::int64_t version, ExportUpcasters upcasters) {
  for (std::int64_t at = version; at < export_version; ++at) {
    const ExportUpcaster* step = step_from(at, upcasters);
    CHECK(step != nullptr);
    step->lift(line);
  }
  if (version < export_version && line.value("kind", "") == "head") line["version"] = export_version;
}

}  // namespace cairn
