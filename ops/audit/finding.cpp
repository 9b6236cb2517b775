#include "ops/audit/finding.hpp"

namespace cairn {

Json finding_json(const Finding& finding) {
  return {{"run", finding.run.is_nil() ? Json(nullptr) : Json(to_string(finding.run))},
          {"seq", finding.seq},
          {"kind", finding.kind},
          {"says", finding.says}};
}

}  // namespace cairn
