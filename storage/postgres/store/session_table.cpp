#include "storage/postgres/store/session_table.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "storage/postgres/rows.hpp"
#include "storage/postgres/store/joined_rows.hpp"

namespace cairn {
namespace {

bool in_no_order(const HeldJob&, const HeldJob&) { return false; }

PgParameters& add_texts(PgParameters& parameters, const std::optional<std::vector<std::string>>& texts) {
  if (!texts) return parameters.add_null_array(PgType::text);
  PgArray array(PgType::text);
  for (const std::string& text : *texts) array.add(text);
  return parameters.add(std::move(array));
}

void add_held(const PgResult& rows, SessionId session, TimeUs now_us, HeldScan& scan, std::vector<HeldJob>& stranded) {
  const std::vector<HeldJob> jobs = read_held_jobs(rows);
  const int is_unowned = rows.column("is_unowned"), is_stranded = rows.column("is_stranded");
  for (int row = 0; row < rows.rows(); ++row) {
    const HeldJob& job = jobs[static_cast<std::size_t>(row)];
    if (rows.boolean(row, is_stranded)) {
      stranded.push_back(job);
      continue;
    }
    if (job.session == session) scan.own.push_back(job);
    if (job.deadline_us < now_us) scan.overdue.push_back(job);
    if (rows.boolean(row, is_unowned)) scan.unowned.push_back(job);
  }
}

}  // namespace

void SessionTable::open(const SessionRow& session) {
  PgParameters parameters;
  parameters.add(session.id).add(session.counter).add(session.started_at).add(session.beat_at).add(session.pid);
  add_texts(parameters.add(session.host), session.queues).add(session.only_own);
  add_texts(add_texts(parameters, session.handlers), session.tools).add(session.machine);
  session.alone ? parameters.add(*session.alone) : parameters.add_null(PgType::text);
  session.has_model ? parameters.add(*session.has_model) : parameters.add_null(PgType::boolean);
  add_texts(parameters, session.allows);
  for (const std::optional<std::string>& text : {session.caller, session.declares})
    text ? parameters.add(*text) : parameters.add_null(PgType::text);
  add_texts(parameters, session.begun);
  placements_.whole().query("open_session", parameters);
}

void SessionTable::beat(SessionId session) { placements_.whole().query("beat", PgParameters().add(session)); }

void SessionTable::set_alone(SessionId session, const std::string& hold) {
  placements_.whole().query("set_alone", PgParameters().add(session).add(hold));
}

void SessionTable::set_begun(SessionId session, const std::vector<std::string>& attempts) {
  PgParameters parameters;
  placements_.whole().query("set_begun", add_texts(parameters.add(session), attempts));
}

void SessionTable::close(SessionId session) {
  placements_.whole().query("close_session", PgParameters().add(session));
  placements_.query_each("leave_homes", PgParameters().add(session));
  placements_.query_each_widely("drop_progress", PgParameters().add(session));
}

void SessionTable::set_home(SessionId session, const RunId& run, bool is_home) {
  const Shard shard = shard_of(run, shards_);
  placements_.query(shard, is_home ? "set_home" : "leave_home", PgParameters().add(shard).add(run).add(session));
}

std::vector<SessionRow> SessionTable::all() { return read_sessions(placements_.whole().query("sessions")); }

std::vector<HeldJob> SessionTable::held_by(SessionId session, std::int32_t limit, RunShare share) {
  PgParameters parameters;
  parameters.add(session).add(std::max(limit, 0)).add(share.index).add(share.of);
  return joined(placements_.query_each_widely("held_by", parameters), read_held_jobs, in_no_order, limit);
}

HeldScan SessionTable::scan_held(SessionId session, TimeUs now_us, std::int32_t limit) {
  HeldScan scan;
  scan.is_all = true;
  std::vector<HeldJob> stranded;
  for (const PgResult& part :
       placements_.query_each_widely("look_at_held", PgParameters().add(session).add(now_us).add(std::max(limit, 0)))) {
    scan.is_all = scan.is_all && part.rows() < limit;
    add_held(part, session, now_us, scan, stranded);
  }
  if (session != 0 && !stranded.empty()) offer_stranded(stranded);
  return scan;
}

// Lets claims find jobs that are free but not offered: their run's home is gone, or a worker of release 9 or older left
// them so.
void SessionTable::offer_stranded(std::span<const HeldJob> jobs) {
  std::map<Shard, std::pair<PgArray, PgArray>> by_shard;
  for (const HeldJob& job : jobs) {
    auto& [runs, branches] =
        by_shard.try_emplace(shard_of(job.run, shards_), PgArray(PgType::uuid), PgArray(PgType::int4)).first->second;
    runs.add(job.run);
    branches.add(job.job.branch);
  }
  for (auto& [shard, rows] : by_shard)
    placements_.query(shard, "offer_stranded",
                      PgParameters().add(shard).add(std::move(rows.first)).add(std::move(rows.second)));
}

std::map<SessionId, std::int64_t> SessionTable::held_counts() {
  std::map<SessionId, std::int64_t> counts;
  for (const PgResult& rows : placements_.query_each_widely("held_counts")) {
    const int session = rows.column("session"), count = rows.column("count");
    for (int row = 0; row < rows.rows(); ++row) counts[rows.int8(row, session)] += rows.int8(row, count);
  }
  return counts;
}

void SessionTable::end_stalled(std::int64_t after_ms) {
  placements_.query_each_widely("end_stalled", PgParameters().add(after_ms));
}

}  // namespace cairn
