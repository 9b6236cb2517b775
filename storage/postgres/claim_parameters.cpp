#include "storage/postgres/claim_parameters.hpp"

#include <algorithm>

namespace cairn {
namespace {

constexpr std::int32_t jobs_keyed_at_once = 2'000;

}  // namespace

PgArray text_array(const std::vector<std::string>& values) {
  PgArray array(PgType::text);
  for (const std::string& value : values) array.add(value);
  return array;
}

PgArray id_array(const std::vector<RunId>& ids) {
  PgArray array(PgType::uuid);
  for (const RunId& id : ids) array.add(id);
  return array;
}

std::vector<RunId> wanted_runs(const ClaimRequest& request) {
  std::vector<RunId> wanted = request.only_runs;
  std::erase_if(wanted, [&](const RunId& run) {
    return std::find(request.not_of.begin(), request.not_of.end(), run) != request.not_of.end();
  });
  return wanted;
}

PgParameters claim_parameters(PgParameters scope, const ClaimRequest& request) {
  scope.add(request.now_us).add(request.session).add(request.default_timeout_ms).add(deadline_grace_ms);
  return scope;
}

PgParameters limited_parameters(const ClaimRequest& request) {
  PgParameters scope;
  scope.add(request.shard).add(text_array(request.queues)).add(request.limit);
  PgParameters parameters = claim_parameters(std::move(scope), request);
  parameters.add(id_array(request.only_runs.empty() ? request.not_of : wanted_runs(request)));
  return parameters;
}

PgParameters key_parameters(Shard shard, const std::string& queue, bool missing, const JobPlace& after) {
  PgParameters parameters = PgParameters().add(shard).add(queue).add(missing);
  parameters.add(after.priority).add(after.run_at_us).add(after.run).add(after.branch);
  return parameters.add(jobs_keyed_at_once);
}

PgParameters claim_of_runs_parameters(const ClaimRequest& request, std::optional<std::int64_t> ordered) {
  PgParameters scope;
  scope.add(request.shard).add(text_array(request.queues)).add(request.limit);
  PgParameters parameters = claim_parameters(std::move(scope), request);
  parameters.add(id_array(wanted_runs(request)));
  return ordered ? parameters.add(*ordered) : parameters.add_null(PgType::int8);
}

void check_claimed(const ClaimRequest& request, const std::vector<HeldJob>& claimed) {
  CHECK(std::ssize(claimed) <= std::max(request.limit, 0));
  for (const HeldJob& held : claimed) CHECK(held.session == request.session);
}

}  // namespace cairn
