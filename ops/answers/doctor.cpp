#include "ops/answers/doctor.hpp"

#include <algorithm>
#include <cstdlib>

#include "ops/answers/sessions.hpp"
#include "ops/answers/words.hpp"
#include "ops/requests/listen_address.hpp"
#include "storage/postgres/schema.hpp"

namespace cairn {
namespace {

constexpr std::int64_t snapshot_seconds_max = 300;
constexpr std::int64_t bloated_snapshot_seconds_max = 60;  // when dead rows have gathered already
constexpr std::int64_t snapshot_transactions_max = 1'000'000;
constexpr std::int64_t transaction_seconds_max = 600;
constexpr TimeUs clock_us_max = 1'000'000;
constexpr std::int64_t replica_seconds_max = 60;
constexpr TimeUs unsigned_us_max = 60'000'000;  // six times what is usual between two checkpoints
constexpr std::int64_t dead_rows_fine = 100'000;
constexpr TimeUs unread_us_max = TimeUs{24} * 3600 * 1'000'000;
constexpr TimeUs unplaced_us_max = 180'000'000;  // of a consumer that is being added
constexpr std::uint64_t free_bytes_min = 1'000'000'000;
constexpr TimeUs hook_late_us = 60'000'000;

std::string seconds_text(std::int64_t seconds) { return duration_text(seconds * 1'000'000); }

Check is_on(const std::string& name, const std::string& setting) { return {name, setting == "on", setting}; }

std::string holder_text(const HolderFacts& holder) {
  std::string text = holder.kind + " of " + holder.who;
  if (!holder.pid.empty()) text += " (process " + holder.pid + ")";
  if (!holder.node.empty()) text += " on " + holder.node;
  return text;
}

// --- the server ------------------------------------------------------------------------------------------------------

void add_server(const ServerFacts& server, std::vector<Check>& checks) {
  checks.push_back(
      {"postgres_version", server.version_number >= server_version_min, server.version + ", at least 15 needed"});
  checks.push_back({"encoding", server.encoding == "UTF8", server.encoding});
  checks.push_back(is_on("fsync", server.fsync));
  const bool waits = server.synchronous_commit != "off";
  checks.push_back({"synchronous_commit", waits, server.synchronous_commit});
  checks.push_back(is_on("full_page_writes", server.full_page_writes));
  checks.push_back({"tracking", server.track_activities == "on" && server.track_counts == "on",
                    "track_activities " + server.track_activities + ", track_counts " + server.track_counts +
                        ", track_io_timing " + server.track_io_timing});
  checks.push_back({"connections", server.connections * 5 < std::int64_t{server.connections_max} * 4,
                    std::to_string(server.connections) + " of " + std::to_string(server.connections_max)});
  if (server.timeline == 0) return;
  checks.push_back({"timeline", true,
                    std::to_string(server.timeline) +
                        (server.timeline > 1 ? ": a standby was promoted, or a backup restored, before" : "")});
}

// --- what holds vacuum back ------------------------------------------------------------------------------------------

bool is_bloated(const TableFacts& table) {
  return (table.name == "job" || table.name == "run") && table.dead > std::max(dead_rows_fine, table.live);
}

// A snapshot of a minute is to blame then already.
bool is_bloated(const DoctorFacts& facts) {
  return facts.schema && std::any_of(facts.schema->tables.begin(), facts.schema->tables.end(),
                                     [](const TableFacts& table) { return is_bloated(table); });
}

Check oldest_snapshot(const DoctorFacts& facts) {
  const HolderFacts* oldest = nullptr;
  for (const HolderFacts& holder : facts.holders)
    if (holder.transactions > 0 && (oldest == nullptr || holder.transactions > oldest->transactions)) oldest = &holder;
  const std::string sight = facts.server.sees_all ? "" : ", as far as " + facts.server.user + " may see";
  if (oldest == nullptr) return {"oldest_snapshot", true, "no one holds one" + sight};
  const std::int64_t seconds_max = is_bloated(facts) ? bloated_snapshot_seconds_max : snapshot_seconds_max;
  const bool ok = oldest->transactions < snapshot_transactions_max && oldest->seconds < seconds_max;
  return {"oldest_snapshot", ok,
          holder_text(*oldest) + ", " + std::to_string(oldest->transactions) + " transactions and " +
              seconds_text(oldest->seconds) + " old" + sight};
}

// Holders of one kind: fine while each is younger than the limit. A slot has no age in time and is fine without a
// snapshot.
Check holders_of(const DoctorFacts& facts, const std::string& name, const std::string& kind, std::int64_t seconds_max) {
  std::string found;
  std::int64_t recent = 0;
  for (const HolderFacts& holder : facts.holders) {
    if (holder.kind != kind) continue;
    if (holder.seconds < seconds_max) {
      ++recent;
      continue;
    }
    found += (found.empty() ? "" : "; ") + holder_text(holder);
    found += kind == "slot" ? ", " + std::to_string(holder.transactions) + " transactions"
                            : ", open for " + seconds_text(holder.seconds);
  }
  if (!found.empty()) return {name, false, found};
  return {name, true, recent == 0 ? "none" : std::to_string(recent) + ", all recent"};
}

void add_holders(const DoctorFacts& facts, std::vector<Check>& checks) {
  checks.push_back(oldest_snapshot(facts));
  checks.push_back(holders_of(facts, "long_transactions", "transaction", transaction_seconds_max));
  checks.push_back(holders_of(facts, "prepared_transactions", "prepared", transaction_seconds_max));
  checks.push_back(holders_of(facts, "replication_slots", "slot", 0));
}

// --- the schema ------------------------------------------------------------------------------------------------------

Check rights(const SchemaFacts& schema, const std::string& user) {
  std::string faults;
  for (const RoleFacts& role : schema.roles) {
    if (role.exists && role.event_rights.empty()) continue;
    faults += (faults.empty() ? "role " : "; role ") + role.role;
    faults += role.exists ? " may " + role.event_rights + " events" : " is missing";
  }
  if (!faults.empty()) return {"roles", false, faults};
  return {"roles", true, "cairn_app and cairn_read may not change an event; this login is " + user};
}

Check login(const SchemaFacts& schema, const std::string& user) {
  const std::string it = "this login, " + user + ", may ";
  if (schema.login_rights.empty()) return {"login", true, it + "not change an event"};
  return {"login", false,
          it + "itself " + schema.login_rights +
              " events: give workers and commands one in the role cairn_app, and this one to `cairn migrate` alone"};
}

// Without the role nothing can be archived, and nothing is wrong.
Check archive_role(const ArchiveFacts& archive, const std::string& user) {
  std::string gone = std::to_string(archive.gone) + " runs were archived";
  if (archive.erased > 0) gone += ", " + std::to_string(archive.erased) + " erased";
  if (archive.erasing > 0)
    gone += "; " + std::to_string(archive.erasing) +
            " large values of theirs are still there: an archive by policy removes them, or any `cairn erase`";
  if (!archive.exists) return {"archive_role", true, "there is no role cairn_archive: no one may archive; " + gone};
  if (!archive.others.empty())
    return {"archive_role", false,
            archive.others + " may take on the role cairn_archive and remove histories; " + gone};
  return {"archive_role", true,
          "this login, " + user + ", may " + (archive.may ? "" : "not ") + "take on cairn_archive; " + gone};
}

Check last_checkpoint(const CheckpointFacts& checkpoints, TimeUs now_us) {
  const bool is_any = checkpoints.newest_us > 0;
  const std::string age = is_any ? "the last one is " + duration_text(now_us - checkpoints.newest_us) + " old" : "none";
  if (!checkpoints.unsigned_since_us) return {"last_checkpoint", true, age + "; nothing was committed since"};
  const TimeUs unsigned_us = now_us - *checkpoints.unsigned_since_us;
  return {"last_checkpoint", unsigned_us <= unsigned_us_max,
          age + "; what was committed since is unsigned for " + duration_text(unsigned_us)};
}

Check checkpoint_files(const CheckpointFacts& checkpoints) {
  std::string found;
  for (const std::string& difference : checkpoints.differences) found += (found.empty() ? "" : "; ") + difference;
  if (!found.empty()) return {"checkpoint_files", false, found + " (`cairn verify --all` says more)"};
  found = std::to_string(checkpoints.compared) + " files in " + checkpoints.folder + " agree with the table";
  if (checkpoints.elsewhere > 0)
    found += "; of " + std::to_string(checkpoints.elsewhere) + " other processes there is no file here";
  return {"checkpoint_files", true, found};
}

// A checkpoint later than all that the database knows was signed in a present that a restored one lacks. Sessions that
// are older than it are of the past, and some of them may live on.
Check restored_past(const DoctorFacts& facts) {
  const SchemaFacts& schema = *facts.schema;
  const std::optional<TimeUs>& lost_us = schema.checkpoints.lost_us;
  if (!lost_us) return {"restored_past", true, "no file has a checkpoint that the database lacks"};
  const std::string lacks = "the database lacks checkpoints up to " + facts.time_said(*lost_us);
  const auto of_past = std::count_if(schema.sessions.begin(), schema.sessions.end(),
                                     [&](const SessionRow& session) { return session.started_at <= *lost_us; });
  if (of_past == 0) return {"restored_past", true, lacks + "; all sessions began after that"};
  return {"restored_past", false,
          lacks + ", and " + std::to_string(of_past) + " of its sessions began before: if it was restored, end the " +
              "workers and run `cairn restore --in-place`, so that no hold of that past is honoured"};
}

// The folder is collected where one verifies; the key must not go with it.
Check signing_key(const CheckpointFacts& checkpoints) {
  if (checkpoints.key_in_folder.empty()) return {"signing_key", true, "not in the folder of the checkpoints"};
  return {"signing_key", false,
          checkpoints.key_in_folder + " lies in the folder that is collected where one verifies: move it to " +
              checkpoints.key_better};
}

std::string names_in(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Check kept_runs(const SchemaFacts& schema) {
  if (!schema.overdue.empty())
    return {"kept_runs", false,
            "runs of " + names_in(schema.overdue) +
                " are here for longer than \"keep\" says: a worker or server with CAIRN_ARCHIVE would archive them"};
  return {"kept_runs", true,
          schema.keeping.empty() ? "no graph says how long it keeps its runs"
                                 : "none is overdue of " + names_in(schema.keeping)};
}

Check bloat(const SchemaFacts& schema) {
  bool ok = true;
  std::string found;
  for (const TableFacts& table : schema.tables) {
    if (table.name != "job" && table.name != "run") continue;
    ok = ok && !is_bloated(table);
    found += (found.empty() ? "" : "; ") + table.name + " " + std::to_string(table.dead) + " dead of " +
             std::to_string(table.dead + table.live) + " rows";
  }
  return {"bloat", ok, found};
}

Check autovacuum(const SchemaFacts& schema, const std::string& setting) {
  bool ok = setting == "on";
  std::string found = setting;
  for (const TableFacts& table : schema.tables) {
    ok = ok && !table.autovacuum_off;
    found += "; " + table.name + " ";
    found += table.autovacuum_off             ? "has it off"
             : table.vacuumed_seconds_ago < 0 ? "never yet"
                                              : seconds_text(table.vacuumed_seconds_ago) + " ago";
  }
  return {"autovacuum", ok, found};
}

Check sessions(const SchemaFacts& schema, TimeUs now_us) {
  std::string dead;
  std::int64_t alive = 0;
  for (const SessionRow& session : schema.sessions) {
    const auto held = schema.held.find(session.id);
    if (!is_silent(session, now_us))
      ++alive;
    else
      dead += (dead.empty() ? "; dead: " : ", ") + session_text(session) + " with " +
              std::to_string(held == schema.held.end() ? 0 : held->second) + " held";
  }
  return {"sessions", dead.empty(), std::to_string(alive) + " alive" + dead};
}

// One run should see one set of data, whichever worker takes its step.
Check data_sources(const SchemaFacts& schema, TimeUs now_us) {
  std::vector<const SessionRow*> telling;
  for (const SessionRow& session : schema.sessions)
    if (!is_silent(session, now_us) && !session.only_own && session.allows) telling.push_back(&session);
  for (const SessionRow* one : telling) {
    for (const SessionRow* other : telling) {
      if (one->id >= other->id) continue;
      const auto found = difference_of_sources(*one, *other);
      if (!found) continue;
      return {"data_sources", false,
              "sessions that serve the same queues answer from different data: " + session_text(*one) + " has \"" +
                  found->first + "\", " + session_text(*other) + " has \"" + found->second +
                  "\"; give one of them a queue of its own"};
    }
  }
  return {"data_sources", true, telling.empty() ? "no session says its own" : "the sessions of a queue have the same"};
}

// A process that fires looks once a second.
Check schedules(const SchemaFacts& schema, TimeUs now_us) {
  constexpr TimeUs late_us = 60'000'000;
  if (!schema.next_schedule) return {"schedules", true, "no schedule"};
  const TimeUs since_us = now_us - *schema.next_schedule;
  if (since_us < late_us) return {"schedules", true, "none is late"};
  return {"schedules", false,
          "one has been due for " + duration_text(since_us) +
              ", and no process has fired it: `cairn work` and `cairn serve` fire schedules"};
}

// The reason why one is late; "": it waits for an earlier one of its run, which is named where it is parked.
std::string cause_of_delay(const HookDelay& delay, TimeUs now_us) {
  const auto is_late = [now_us](const std::optional<TimeUs>& since) { return since && now_us - *since > hook_late_us; };
  const bool is_free = is_late(delay.free_since), goes_on = delay.moved_at && !is_late(delay.moved_at);
  if (is_free && goes_on) return ", as more come than its receiver takes";
  if (!delay.refused.empty()) return ", after failures: " + delay.refused;
  return is_free ? ", and no process has sent it: `cairn work` and `cairn serve` do, where they have its secret" : "";
}

std::string delay_of_hook(const HookCounts& counts, const std::vector<HookDelay>& delays, TimeUs now_us) {
  const auto delay =
      std::find_if(delays.begin(), delays.end(), [&counts](const HookDelay& one) { return one.hook == counts.hook; });
  if (!counts.due || now_us - *counts.due <= hook_late_us || delay == delays.end()) return "";
  const std::string cause = cause_of_delay(*delay, now_us);
  if (cause.empty()) return "";
  return counts.hook + " has one that has been due for " + duration_text(now_us - *counts.due) + cause;
}

// A process that sends looks several times a second.
Check hooks(const SchemaFacts& schema, TimeUs now_us) {
  if (schema.hooks.empty() && schema.paused_hooks.empty()) return {"hooks", true, "no hook"};
  std::string found;
  const auto add = [&found](const std::string& says) {
    if (!says.empty()) found += (found.empty() ? "" : "; ") + says;
  };
  for (const HookCounts& counts : schema.hooks) {
    if (counts.parked > 0)
      add(counts.hook + " has " + std::to_string(counts.parked) + " parked: `cairn hook resend " + counts.hook +
          "` sends them again");
    add(delay_of_hook(counts, schema.hook_delays, now_us));
  }
  const bool is_fine = found.empty();
  for (const std::string& name : schema.paused_hooks) add(name + " is paused");
  return {"hooks", is_fine, found.empty() ? "nothing is late or parked" : found};
}

struct ConsumerFound {
  bool ok = true;
  std::string says;
};

ConsumerFound found_of_consumer(const FeedStanding& standing, TimeUs now_us) {
  const TimeUs age_us = standing.oldest ? std::max<TimeUs>(now_us - *standing.oldest, 0) : 0;
  if (!standing.has_places && age_us < unplaced_us_max) return {true, " is being added"};
  if (!standing.has_places)
    return {false,
            " was not added to the end and gets nothing, while commits are kept for it: add it again, or remove it"};
  const TimeUs still_us = std::max<TimeUs>(now_us - standing.moved_at, 0);
  const bool is_stuck = standing.reads_history && still_us >= unread_us_max;
  std::string says;
  if (standing.behind > 0)
    says = std::string(standing.is_more ? " is at least " : " is ") + std::to_string(standing.behind) +
           " commits behind, the oldest " + duration_text(age_us) + " old";
  if (standing.reads_history)
    says += std::string(says.empty() ? " " : ", and ") +
            (is_stuck ? "has read no further in the history for " + duration_text(still_us) : "reads history");
  if (says.empty()) says = " has everything";
  return {age_us < unread_us_max && !is_stuck, says};
}

// Commits that a consumer has not confirmed are kept for it.
Check feed(const SchemaFacts& schema, TimeUs now_us) {
  if (schema.consumers.empty()) return {"feed", true, "no consumer"};
  bool ok = true;
  std::string found;
  for (const FeedStanding& standing : schema.consumers) {
    const ConsumerFound one = found_of_consumer(standing, now_us);
    ok = ok && one.ok;
    found += (found.empty() ? "" : "; ") + standing.consumer.name + one.says;
  }
  return {"feed", ok, found};
}

void add_schema(const DoctorFacts& facts, std::vector<Check>& checks) {
  if (!facts.schema) {
    checks.push_back({"schema_version", false, facts.schema_fault});
    return;
  }
  checks.push_back({"schema_version", true,
                    "version " + std::to_string(facts.schema_version) + ", shards " + std::to_string(facts.shards)});
  checks.push_back(rights(*facts.schema, facts.server.user));
  checks.push_back(login(*facts.schema, facts.server.user));
  checks.push_back(archive_role(facts.schema->archive, facts.server.user));
  checks.push_back(last_checkpoint(facts.schema->checkpoints, facts.database_us));
  checks.push_back(checkpoint_files(facts.schema->checkpoints));
  checks.push_back(restored_past(facts));
  checks.push_back(signing_key(facts.schema->checkpoints));
  checks.push_back(kept_runs(*facts.schema));
  checks.push_back(bloat(*facts.schema));
  checks.push_back(autovacuum(*facts.schema, facts.server.autovacuum));
  checks.push_back(sessions(*facts.schema, facts.database_us));
  checks.push_back(data_sources(*facts.schema, facts.database_us));
  checks.push_back(feed(*facts.schema, facts.database_us));
  checks.push_back(schedules(*facts.schema, facts.database_us));
  checks.push_back(hooks(*facts.schema, facts.database_us));
  checks.push_back({"held_by_nobody", facts.schema->held_by_nobody == 0,
                    std::to_string(facts.schema->held_by_nobody) + " jobs held by sessions that are gone"});
}

// --- here ------------------------------------------------------------------------------------------------------------

Check clock(const DoctorFacts& facts) {
  const TimeUs difference_us = facts.here_us - facts.database_us;
  const std::string amount = duration_text(std::abs(difference_us));
  return {"clock", std::abs(difference_us) <= clock_us_max,
          "this machine is " + amount + (difference_us < 0 ? " behind" : " ahead of") + " the database"};
}

Check ahead(const DoctorFacts& facts) {
  if (facts.jobs_ahead == 0) return {"ahead_of_clock", true, "no job of a run that was written by a later clock"};
  return {"ahead_of_clock", false,
          std::to_string(facts.jobs_ahead) + " jobs of runs whose last event is up to " +
              seconds_text(facts.ahead_seconds) + " later than the database's clock; what they wait for is due then"};
}

Check wake_ups(const Result<WakeUpFound>& found) {
  if (!found) return {"wake_ups", false, found.error().message};
  if (!found->direct_way) return {"wake_ups", false, found->direct_way.error().message + " Workers poll."};
  switch (found->how) {
    case WakeUp::notifications:
      return {"wake_ups", true, "workers are woken by notifications"};
    case WakeUp::notifications_past_pooler:
      return {"wake_ups", true, "behind a pooler; workers are woken by notifications over CAIRN_DSN_DIRECT"};
    case WakeUp::polls:
      return {"wake_ups", true, "behind a pooler; workers poll, CAIRN_DSN_DIRECT would let them be woken"};
  }
  CHECK(false);
}

Check read_replica(const Result<ReplicaFacts>& read) {
  const std::string name = "read_replica";
  if (!read) return {name, false, read.error().message};
  const ReplicaFacts& replica = *read;
  if (!replica.is_replica) return {name, true, "takes writes itself: nothing lags there"};
  if (replica.followed_ms >= 0) return {name, true, "follows within " + std::to_string(replica.followed_ms) + " ms"};
  if (replica.replayed_seconds < 0)
    return {name, false,
            std::to_string(replica.bytes_behind) + " bytes behind; it has replayed nothing since its start"};
  return {name, replica.replayed_seconds < replica_seconds_max,
          std::to_string(replica.bytes_behind) + " bytes behind; its last commit is " +
              seconds_text(replica.replayed_seconds) + " old"};
}

// Each node answers, and none has two shards more than another.
Check cluster(const DoctorFacts& facts) {
  std::int64_t fewest = never_us, most = 0;
  std::string found, fault;
  for (const ClusterNode& node : facts.nodes) {
    const std::string name = node.host + ":" + node.port;
    fewest = std::min(fewest, node.shards);
    most = std::max(most, node.shards);
    found += (found.empty() ? "" : ", ") + name + " has " + std::to_string(node.shards) + " shards";
    if (!node.reached && fault.empty()) {
      const std::string& says = node.reached.error().message;
      fault = name + " does not answer: " + says.substr(0, says.find('\n'));
    }
  }
  if (!fault.empty()) return {"cluster", false, fault};
  if (most > fewest + 1) return {"cluster", false, found + ": `cairn distribute` evens them out"};
  return {"cluster", true, found};
}

// A server elsewhere is asked to write a little, because its disk cannot be seen from here.
Check writing(const DoctorFacts& facts) {
  if (!facts.written) return {"writing", false, facts.written.error().message};
  return {"writing", true, "a small table could be written"};
}

// They may be on other disks than the database's.
Check folders(const std::vector<FolderFacts>& folders) {
  std::string faults, kept;
  for (const FolderFacts& folder : folders) {
    std::string& list = folder.written ? kept : faults;
    list += (list.empty() ? "" : "; ") + folder.what + " in " + folder.path;
    if (!folder.written) list += " cannot be written: " + folder.written.error().message;
  }
  if (!faults.empty()) return {"folders", false, faults};
  return {"folders", true, kept.empty() ? "nothing is kept here" : kept + ": can be written"};
}

Check disk(const DiskFacts& disk) {
  const std::uint64_t megabytes = disk.free_bytes / 1'000'000;
  return {
      "disk", disk.free_bytes >= free_bytes_min && disk.free_bytes >= disk.bytes / 20,
      std::to_string(megabytes) + " MB of " + std::to_string(disk.bytes / 1'000'000) + " MB free at " + disk.directory};
}

void add_endpoint(const char* name, const std::string& url, const std::string& what, std::vector<Check>& checks) {
  if (url.empty()) return;
  const bool is_plain = url.starts_with("http://");
  const std::string rest = is_plain ? url.substr(7) : "";
  const std::optional<HostParts> host = host_parts(rest.substr(0, rest.find('/')));
  const bool is_here = host && (host->name == "localhost" || is_loopback(host->name));
  checks.push_back({name, !is_plain || is_here,
                    !is_plain ? "https"
                    : is_here ? "http on this machine"
                              : "http: " + what + " and key go in the clear"});
}

// The ways over a network: to a database elsewhere, to the model, and to the vectors' endpoint.
void add_ways(const DoctorFacts& facts, std::vector<Check>& checks) {
  if (!facts.is_local) {
    const bool verifies = facts.sslmode == "verify-full" || facts.sslmode == "verify-ca";
    const bool encrypts = verifies || facts.sslmode == "require";
    checks.push_back({"database_tls", encrypts,
                      "sslmode " + facts.sslmode +
                          (verifies   ? ""
                           : encrypts ? ", which takes any server for ours; verify-full is safer"
                                      : ", which may send all in the clear; verify-full is safe")});
  }
  add_endpoint("model_tls", facts.model_url, "prompts", checks);
  add_endpoint("embed_tls", facts.embed_url, "passages", checks);
}

}  // namespace

std::vector<Check> checks_of(const DoctorFacts& facts) {
  std::vector<Check> checks;
  add_server(facts.server, checks);
  add_schema(facts, checks);
  add_holders(facts, checks);
  checks.push_back(clock(facts));
  checks.push_back(ahead(facts));
  if (facts.is_replica)
    checks.push_back({"server", false, "a replica, in recovery: it takes no writes, and reads there may lag"});
  checks.push_back(writing(facts));
  checks.push_back(wake_ups(facts.wake_up));
  if (facts.replica) checks.push_back(read_replica(*facts.replica));
  if (!facts.nodes.empty()) checks.push_back(cluster(facts));
  checks.push_back(folders(facts.folders));
  if (facts.disk) checks.push_back(disk(*facts.disk));
  add_ways(facts, checks);
  return checks;
}

}  // namespace cairn
