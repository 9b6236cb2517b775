#include "ops/http/verify_route.hpp"

#include "ops/audit/auditor.hpp"
#include "ops/http/bodies/bodies.hpp"
#include "storage/proof/run_records.hpp"

namespace cairn {

RouteReply verify_run(RouteCall& call) {
  if (const Status known = only_query(call.request, {}); !known) return known.error();
  const Result<RunId> run = run_of(call);
  if (!run) return run.error();
  RunRecords records(call.side.opened.dsn, call.store().shards(), 1);
  Auditor auditor(call.store(), records, Auditor::Extent::with_values_and_origin);
  const Audited audited = auditor.audit(RunPlace{*run, call.shard(*run)});
  Json findings = Json::array();
  for (const Finding& finding : audited.findings) findings.push_back(finding_json(finding));
  return json_response({{"run", to_string(*run)},
                        {"events", audited.events},
                        {"sound", audited.findings.empty()},
                        {"findings", std::move(findings)}});
}

}  // namespace cairn
