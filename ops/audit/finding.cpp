#include "ops/audit/finding.hpp"

namespace cairn {

Json finding_json(const Finding& finding) {
  return {{"run", to_string(finding.run)}, {"seq", finding.seq}, {"kind", finding.kind}, {"says", finding.says}};
}

}  // namespace cairn
