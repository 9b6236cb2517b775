// The doctor's judgement, fact by fact; then on a real database.
#include "ops/answers/doctor.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>

#include "storage/postgres/connection.hpp"
#include "storage/postgres/dsn.hpp"
#include "tests/ops/api_client.hpp"
#include "tests/ops/program.hpp"

namespace cairn {
namespace {

constexpr TimeUs noon = 1'800'000'000'000'000;

DoctorFacts healthy() {
  DoctorFacts facts;
  facts.server = {150'004, "15.4", "on", "on", "on", "on", "on", "on", "off", 100, 5, "ann", true, "UTF8"};
  facts.schema_version = 3;
  facts.database_us = noon;
  facts.here_us = noon + 1'000;
  SchemaFacts schema;
  schema.roles = {{"cairn_app", true, ""}, {"cairn_read", true, ""}};
  schema.tables = {{"job", 10, 100, 30, false}, {"run", 1'000, 10, -1, false}};
  schema.archive = {true, false, "", 4};
  schema.checkpoints = {"/data/checkpoints", noon - 8'000'000, noon - 5'000'000, 2, 1, {}};
  facts.schema = schema;
  facts.disk = DiskFacts{"/data", 50'000'000'000, 100'000'000'000};
  facts.folders = {{"the database", "/data", Done{}}, {"checkpoints", "/data/checkpoints", Done{}}};
  return facts;
}

// The checks that are not ok, with what was found.
std::map<std::string, std::string> faults(const DoctorFacts& facts) {
  std::map<std::string, std::string> found;
  for (const Check& check : checks_of(facts))
    if (!check.ok) found.emplace(check.name, check.found);
  return found;
}

void expect_fault(const DoctorFacts& facts, const std::string& name, const std::string& says) {
  const std::map<std::string, std::string> found = faults(facts);
  EXPECT_EQ(found.size(), 1u) << name;
  ASSERT_TRUE(found.contains(name)) << name;
  EXPECT_NE(found.at(name).find(says), std::string::npos) << found.at(name);
}

TEST(Doctor, finds_nothing_wrong_with_a_healthy_database) {
  EXPECT_TRUE(faults(healthy()).empty());
  std::set<std::string> names;
  for (const Check& check : checks_of(healthy())) {
    EXPECT_TRUE(names.insert(check.name).second) << check.name;
    EXPECT_NE(check.found, "") << check.name;
  }
  EXPECT_EQ(names, (std::set<std::string>{"postgres_version",
                                          "encoding",
                                          "login",
                                          "fsync",
                                          "synchronous_commit",
                                          "full_page_writes",
                                          "tracking",
                                          "connections",
                                          "timeline",
                                          "schema_version",
                                          "roles",
                                          "archive_role",
                                          "last_checkpoint",
                                          "checkpoint_files",
                                          "restored_past",
                                          "signing_key",
                                          "bloat",
                                          "autovacuum",
                                          "sessions",
                                          "data_sources",
                                          "feed",
                                          "schedules",
                                          "hooks",
                                          "held_by_nobody",
                                          "kept_runs",
                                          "oldest_snapshot",
                                          "long_transactions",
                                          "prepared_transactions",
                                          "replication_slots",
                                          "clock",
                                          "ahead_of_clock",
                                          "writing",
                                          "wake_ups",
                                          "folders",
                                          "disk"}));
}

TEST(Doctor, D9_names_jobs_that_were_written_while_the_clock_was_ahead) {
  DoctorFacts facts = healthy();
  facts.jobs_ahead = 3;
  facts.ahead_seconds = 3'000;
  expect_fault(facts, "ahead_of_clock", "3 jobs of runs whose last event is up to");
}

TEST(Doctor, a_schedule_that_no_process_fires_is_a_fault) {
  DoctorFacts facts = healthy();
  facts.schema->next_schedule = noon - 61'000'000;
  expect_fault(facts, "schedules", "one has been due for 61 s, and no process has fired it");
  for (const TimeUs at : {noon - 5'000'000, noon + 5'000'000, never_us}) {
    facts.schema->next_schedule = at;
    EXPECT_TRUE(faults(facts).empty());
  }
}

// It had no places, so nothing of it was behind: it "has everything".
TEST(Doctor, a_consumer_of_the_feed_that_was_not_added_to_the_end_is_a_fault) {
  DoctorFacts facts = healthy();
  FeedStanding standing{.consumer = {.name = "half"}};
  standing.has_places = false;
  standing.oldest = noon - 200'000'000;
  facts.schema->consumers = {standing};
  expect_fault(facts, "feed", "half was not added to the end and gets nothing");
  facts.schema->consumers[0].oldest = noon - 60'000'000;
  EXPECT_TRUE(faults(facts).empty());
}

// No commit was behind it, so it was fine for ever.
TEST(Doctor, a_consumer_of_the_feed_that_has_stopped_in_the_history_is_a_fault) {
  constexpr TimeUs hour_us = 3'600'000'000;
  DoctorFacts facts = healthy();
  FeedStanding standing{.consumer = {.name = "slow"}};
  standing.reads_history = true;
  standing.moved_at = noon - 25 * hour_us;
  facts.schema->consumers = {standing};
  expect_fault(facts, "feed", "slow has read no further in the history for");
  facts.schema->consumers[0].moved_at = noon - hour_us;
  EXPECT_TRUE(faults(facts).empty());
}

TEST(Doctor, a_restored_past_whose_sessions_were_not_forgotten_is_a_fault) {
  DoctorFacts facts = healthy();
  facts.schema->checkpoints.lost_us = noon - 20'000'000;
  EXPECT_TRUE(faults(facts).empty());
  SessionRow session{.id = 8, .host = "stone", .pid = 3, .queues = {"default"}, .beat_at = noon};
  session.started_at = noon - 30'000'000;
  facts.schema->sessions = {session};
  expect_fault(facts, "restored_past", "and 1 of its sessions began before: if it was restored, end the workers and");
  facts.schema->sessions[0].started_at = noon - 10'000'000;
  EXPECT_TRUE(faults(facts).empty());
}

TEST(Doctor, F20_a_time_that_was_found_is_said_as_the_reader_has_it) {
  DoctorFacts facts = healthy();
  facts.schema->checkpoints.lost_us = noon;
  const auto past = [&facts] {
    for (const Check& check : checks_of(facts))
      if (check.name == "restored_past") return check.found;
    return std::string();
  };
  EXPECT_EQ(past(), "the database lacks checkpoints up to " + time_text(noon) + "; all sessions began after that");
  facts.time_said = [](TimeUs at_us) { return std::string(at_us == noon ? "noon in Tokyo" : "another time"); };
  EXPECT_EQ(past(), "the database lacks checkpoints up to noon in Tokyo; all sessions began after that");
}

TEST(Doctor, a_hook_that_has_parked_notices_or_that_no_process_sends_for_is_a_fault) {
  DoctorFacts facts = healthy();
  facts.schema->hooks = {{"chat", 0, 2, 0, {}, {}}};
  expect_fault(facts, "hooks", "chat has 2 parked: `cairn hook resend chat` sends them again");
  facts.schema->hooks = {{"chat", 1, 0, 0, noon - 70'000'000, noon - 61'000'000}};
  facts.schema->hook_delays = {{"chat", noon - 61'000'000, noon - 80'000'000, ""}};
  expect_fault(facts, "hooks", "chat has one that has been due for 61 s, and no process has sent it");
  facts.schema->hooks = {{"chat", 1, 0, 0, noon - 70'000'000, noon - 5'000'000}};
  facts.schema->paused_hooks = {"desk"};
  EXPECT_TRUE(faults(facts).empty());
}

TEST(Doctor, a_hook_that_is_late_has_the_cause_that_is_so) {
  DoctorFacts facts = healthy();
  facts.schema->hooks = {{"chat", 9, 0, 0, noon - 70'000'000, noon - 61'000'000}};
  facts.schema->hook_delays = {{"chat", noon - 61'000'000, noon - 1'000'000, "The receiver answered 503."}};
  expect_fault(facts, "hooks", "chat has one that has been due for 61 s, as more come than its receiver takes");
  facts.schema->hook_delays = {{"chat", noon - 61'000'000, {}, "The receiver answered 503."}};
  expect_fault(facts, "hooks", "chat has one that has been due for 61 s, after failures: The receiver answered 503.");
  facts.schema->hook_delays = {{"chat", noon - 1'000'000, {}, "The receiver answered 400."}};
  expect_fault(facts, "hooks", "due for 61 s, after failures: The receiver answered 400.");
  facts.schema->hook_delays = {{"chat", {}, {}, ""}};
  EXPECT_TRUE(faults(facts).empty()) << "each is behind one that is under way";
}

TEST(Doctor, D15_tells_a_server_that_cannot_write) {
  DoctorFacts facts = healthy();
  facts.written = Error{Code::unavailable, "ERROR:  could not extend file: No space left on device"};
  expect_fault(facts, "writing", "No space left");
}

TEST(Doctor, how_workers_are_woken_is_said_and_a_way_that_is_none_is_a_fault) {
  DoctorFacts facts = healthy();
  for (const WakeUp how : {WakeUp::notifications, WakeUp::notifications_past_pooler, WakeUp::polls}) {
    facts.wake_up = WakeUpFound{how};
    EXPECT_TRUE(faults(facts).empty());
  }
  facts.wake_up =
      WakeUpFound{WakeUp::polls, Error{Code::unavailable, "Expected one past the pooler, but it leads to one."}};
  expect_fault(facts, "wake_ups", "but it leads to one. Workers poll.");
}

TEST(Doctor, a_replica_that_lags_far_or_cannot_be_read_is_a_fault) {
  DoctorFacts facts = healthy();
  facts.replica = ReplicaFacts{.followed_ms = 3};
  EXPECT_TRUE(faults(facts).empty());
  facts.replica = ReplicaFacts{.bytes_behind = 900, .followed_ms = -1, .replayed_seconds = 20};
  EXPECT_TRUE(faults(facts).empty());
  facts.replica = ReplicaFacts{.is_replica = false, .replayed_seconds = 20'000};
  EXPECT_TRUE(faults(facts).empty()) << "it takes writes itself";
  facts.replica = ReplicaFacts{.bytes_behind = 900, .followed_ms = -1, .replayed_seconds = 7'200};
  expect_fault(facts, "read_replica", "900 bytes behind; its last commit is 2 h");
  facts.replica =
      Result<ReplicaFacts>(Error{Code::unavailable, "Expected to reach the database in CAIRN_READ_DSN, but: refused"});
  expect_fault(facts, "read_replica", "but: refused");
}

TEST(Doctor, a_node_that_does_not_answer_or_has_too_much_is_named) {
  DoctorFacts facts = healthy();
  facts.nodes = {{"east", "5432", 4, Done{}}, {"west", "5432", 3, Done{}}};
  EXPECT_TRUE(faults(facts).empty());
  facts.nodes = {{"east", "5432", 5, Done{}}, {"west", "5432", 3, Done{}}};
  expect_fault(facts, "cluster", "east:5432 has 5 shards, west:5432 has 3 shards: `cairn distribute` evens them out");
  facts.nodes = {{"east", "5432", 4, Done{}},
                 {"west", "5432", 4, Error{Code::unavailable, "connection refused\nIs it running?"}}};
  expect_fault(facts, "cluster", "west:5432 does not answer: connection refused");
}

TEST(Doctor, D15_a_snapshot_of_a_minute_is_named_when_dead_rows_have_gathered) {
  DoctorFacts facts = healthy();
  facts.holders = {{"transaction", "77", "report", 1'000, 95}};
  EXPECT_TRUE(faults(facts).empty()) << "young, and it does no harm yet";
  facts.schema->tables[0].dead = 680'000;
  const std::map<std::string, std::string> found = faults(facts);
  EXPECT_TRUE(found.contains("bloat"));
  EXPECT_TRUE(found.contains("oldest_snapshot"));
}

struct Ill {
  const char* check;
  const char* says;
  void (*make)(DoctorFacts&);
};

class DoctorFinds : public ::testing::TestWithParam<Ill> {};

TEST_P(DoctorFinds, what_is_wrong_and_nothing_else) {
  DoctorFacts facts = healthy();
  GetParam().make(facts);
  expect_fault(facts, GetParam().check, GetParam().says);
}

const Ill ills[] = {
    {"postgres_version", "14.9", [](DoctorFacts& f) { f.server.version_number = 140'009, f.server.version = "14.9"; }},
    {"database_tls", "in the clear", [](DoctorFacts& f) { f.is_local = false, f.sslmode = "prefer"; }},
    {"model_tls", "in the clear", [](DoctorFacts& f) { f.model_url = "http://models.example/v1"; }},
    {"embed_tls", "passages and key go in the clear", [](DoctorFacts& f) { f.embed_url = "http://models.example/v1"; }},
    {"encoding", "LATIN1", [](DoctorFacts& f) { f.server.encoding = "LATIN1"; }},
    {"fsync", "off", [](DoctorFacts& f) { f.server.fsync = "off"; }},
    {"synchronous_commit", "off", [](DoctorFacts& f) { f.server.synchronous_commit = "off"; }},
    {"full_page_writes", "off", [](DoctorFacts& f) { f.server.full_page_writes = "off"; }},
    {"tracking", "track_counts off", [](DoctorFacts& f) { f.server.track_counts = "off"; }},
    {"tracking", "track_activities off", [](DoctorFacts& f) { f.server.track_activities = "off"; }},
    {"connections", "90 of 100", [](DoctorFacts& f) { f.server.connections = 90; }},
    {"schema_version", "none yet", [](DoctorFacts& f) { f.schema.reset(), f.schema_fault = "there is none yet"; }},
    {"roles", "role cairn_app may update events", [](DoctorFacts& f) { f.schema->roles[0].event_rights = "update"; }},
    {"roles", "role cairn_read is missing", [](DoctorFacts& f) { f.schema->roles[1].exists = false; }},
    {"archive_role", "cairn_app may take on the role cairn_archive",
     [](DoctorFacts& f) { f.schema->archive.others = "cairn_app"; }},
    {"last_checkpoint", "the last one is 8000 ms old; what was committed since is unsigned for 61 s",
     [](DoctorFacts& f) { f.schema->checkpoints.unsigned_since_us = noon - 61'000'000; }},
    {"last_checkpoint", "none; what was committed since is unsigned for 61 s",
     [](DoctorFacts& f) {
       f.schema->checkpoints.newest_us = 0;
       f.schema->checkpoints.unsigned_since_us = noon - 61'000'000;
     }},
    {"checkpoint_files", "process 7: the table has 3, its file 1; process 8: its file has some, the table none",
     [](DoctorFacts& f) {
       f.schema->checkpoints.differences = {"process 7: the table has 3, its file 1",
                                            "process 8: its file has some, the table none"};
     }},
    {"signing_key", "move it to /data/checkpoints_signing_key.pem",
     [](DoctorFacts& f) {
       f.schema->checkpoints.key_in_folder = "/data/checkpoints/signing_key.pem";
       f.schema->checkpoints.key_better = "/data/checkpoints_signing_key.pem";
     }},
    {"folders", "checkpoints in /data/checkpoints cannot be written: Read-only file system",
     [](DoctorFacts& f) {
       f.folders[1].written = Error{Code::unavailable, "Read-only file system"};
     }},
    {"bloat", "job 200000 dead of 200010 rows", [](DoctorFacts& f) { f.schema->tables[0].dead = 200'000; }},
    {"autovacuum", "job has it off", [](DoctorFacts& f) { f.schema->tables[0].autovacuum_off = true; }},
    {"autovacuum", "run has it off", [](DoctorFacts& f) { f.schema->tables[1].autovacuum_off = true; }},
    {"autovacuum", "off", [](DoctorFacts& f) { f.server.autovacuum = "off"; }},
    {"data_sources", "has \"data a b\", session 12 (process 4 on other) has \"data c d\"; give one of them a queue",
     [](DoctorFacts& f) {
       SessionRow other{.id = 8, .host = "stone", .pid = 3, .queues = {"default"}, .beat_at = noon};
       other.allows = {"url https://a.example", "data a b"};
       f.schema->sessions = {other};
       other.id = 12;
       other.pid = 4;
       other.host = "other";
       other.allows = {"data c d"};
       f.schema->sessions.push_back(other);
       other.id = 13;
       other.queues = {"elsewhere"};
       f.schema->sessions.push_back(other);
     }},
    {"sessions", "dead: session 8 (process 3 on stone) with 2 held",
     [](DoctorFacts& f) {
       f.schema->sessions = {{.id = 8, .host = "stone", .pid = 3, .queues = {}, .beat_at = noon - 60'000'000}};
       f.schema->held = {{8, 2}};
     }},
    {"held_by_nobody", "3 jobs", [](DoctorFacts& f) { f.schema->held_by_nobody = 3; }},
    {"oldest_snapshot", "transaction of psql (process 42), 5 transactions and 6 min old",
     [](DoctorFacts& f) {
       f.holders = {{"transaction", "42", "psql", 5, 400}};
     }},
    {"oldest_snapshot", "2000000 transactions",
     [](DoctorFacts& f) {
       f.holders = {{"transaction", "42", "psql", 2'000'000, 4}};
     }},
    {"oldest_snapshot", "transaction of psql (process 42), 5 transactions and 6 min old",
     [](DoctorFacts& f) {
       f.holders = {{"transaction", "41", "young", 3, 1}, {"transaction", "42", "psql", 5, 400}};
     }},
    {"oldest_snapshot", "transaction of psql (process 42) on east:5432, 5 transactions and 6 min old",
     [](DoctorFacts& f) {
       f.holders = {{"transaction", "42", "psql", 5, 400, "east:5432"}, {"transaction", "41", "young", 3, 1}};
     }},
    {"long_transactions", "psql (process 42), open for 16 min",
     [](DoctorFacts& f) {
       f.holders = {{"transaction", "42", "psql", 0, 1'000}};
     }},
    {"prepared_transactions", "prepared of two-phase, open for 16 min",
     [](DoctorFacts& f) {
       f.holders = {{"prepared", "", "two-phase", 0, 1'000}};
     }},
    {"replication_slots", "slot of copy, 7 transactions",
     [](DoctorFacts& f) {
       f.holders = {{"slot", "", "copy", 7, 0}};
     }},
    {"clock", "5000 ms behind", [](DoctorFacts& f) { f.here_us = noon - 5'000'000; }},
    {"clock", "5000 ms ahead of", [](DoctorFacts& f) { f.here_us = noon + 5'000'000; }},
    {"disk", "4000 MB of 100000 MB", [](DoctorFacts& f) { f.disk->free_bytes = 4'000'000'000; }},
    {"disk", "500 MB of 2000 MB",
     [](DoctorFacts& f) {
       f.disk = DiskFacts{"/data", 500'000'000, 2'000'000'000};
     }},
    {"disk", "10 MB", [](DoctorFacts& f) { f.disk->free_bytes = 10'000'000; }},
};

INSTANTIATE_TEST_SUITE_P(Ills, DoctorFinds, ::testing::ValuesIn(ills),
                         [](const auto& ill) { return std::string(ill.param.check) + std::to_string(ill.index); });

TEST(Doctor, what_is_large_but_in_proportion_is_fine) {
  DoctorFacts facts = healthy();
  facts.schema->tables = {{"job", 300'000, 200'000, 30, false}, {"event", 1'000, 900'000, 30, false}};
  EXPECT_TRUE(faults(facts).empty());
}

TEST(Doctor, what_nobody_may_archive_or_has_committed_is_fine) {
  DoctorFacts facts = healthy();
  facts.schema->archive = {};
  facts.schema->checkpoints.newest_us = noon - 86'400'000'000;
  facts.schema->checkpoints.unsigned_since_us.reset();
  EXPECT_TRUE(faults(facts).empty());
}

TEST(Doctor, says_what_it_saw_where_all_is_well) {
  DoctorFacts facts = healthy();
  facts.holders = {{"transaction", "41", "young", 3, 1}};
  SessionRow session;
  session.id = 8;
  session.beat_at = noon;
  facts.schema->sessions = {session};
  std::map<std::string, std::string> found;
  for (const Check& check : checks_of(facts)) {
    EXPECT_TRUE(check.ok) << check.name << ": " << check.found;
    found.emplace(check.name, check.found);
  }
  EXPECT_EQ(found["long_transactions"], "1, all recent");
  EXPECT_EQ(found["prepared_transactions"], "none");
  EXPECT_EQ(found["oldest_snapshot"], "transaction of young (process 41), 3 transactions and 1000 ms old");
  EXPECT_EQ(found["autovacuum"], "on; job 30 s ago; run never yet");
  EXPECT_EQ(found["sessions"], "1 alive");
  EXPECT_EQ(found["bloat"], "job 100 dead of 110 rows; run 10 dead of 1010 rows");
}

TEST(Doctor, only_what_may_be_seen_is_vouched_for) {
  DoctorFacts facts = healthy();
  facts.server.sees_all = false;
  for (const Check& check : checks_of(facts)) {
    EXPECT_TRUE(check.name != "oldest_snapshot" || check.found == "no one holds one, as far as ann may see");
  }
}

// --- connection strings ----------------------------------------------------------------------------------------------

TEST(Dsn, is_shown_without_its_secrets) {
  EXPECT_EQ(public_dsn("host=h user=u password=secret dbname=d"), "user='u' dbname='d' host='h'");
  EXPECT_EQ(public_dsn("postgresql://u:secret@h:5433/d"), "user='u' dbname='d' host='h' port='5433'");
  EXPECT_EQ(public_dsn("host=h sslpassword=secret"), "host='h'");
  EXPECT_EQ(public_dsn("d"), "dbname='d'");
  EXPECT_EQ(public_dsn("postgresql://u:secret@[::1"), "");
}

TEST(Dsn, has_limits_on_a_silent_network_unless_it_brings_its_own) {
  const std::string limits = with_network_limits("host=h");
  for (const char* setting : {"host='h'", "connect_timeout='5'", "tcp_user_timeout='10000'", "keepalives_idle='5'",
                              "keepalives_interval='3'", "keepalives_count='3'"})
    EXPECT_NE(limits.find(setting), std::string::npos) << setting;
  const std::string own = with_network_limits("postgresql://u:p'w@h/d?connect_timeout=2&keepalives_idle=60");
  for (const char* setting : {"connect_timeout='2'", "keepalives_idle='60'", "password='p\\'w'", "dbname='d'"})
    EXPECT_NE(own.find(setting), std::string::npos) << setting << " in " << own;
  EXPECT_EQ(own.find("connect_timeout='5'"), std::string::npos);
  EXPECT_NE(with_network_limits("d").find("dbname='d'"), std::string::npos);
  for (const char* several : {"host=a,b", "postgresql://u@a:1,b:2/d", "hostaddr=10.0.0.1,10.0.0.2"})
    EXPECT_NE(with_network_limits(several).find("connect_timeout='3'"), std::string::npos) << several;
  EXPECT_EQ(with_network_limits("postgresql://u@[::1"), "postgresql://u@[::1");
}

TEST(Dsn, is_led_to_another_host_whatever_it_named) {
  for (const char* dsn : {"host=a,b hostaddr=10.0.0.1,10.0.0.2 port=1,2 dbname=d", "postgresql://u@a:1,b:2/d", "d"}) {
    const std::string led = with_host(dsn, "/tmp/it's", "9701");
    EXPECT_TRUE(led.ends_with(" host='/tmp/it\\'s' hostaddr='' port='9701'")) << led;
    EXPECT_NE(led.find("dbname='d'"), std::string::npos) << led;
  }
}

TEST(Dsn, H22_the_way_to_the_server_is_that_of_its_host_and_of_libpq_s_variables) {
  using program::Variable;
  struct Way {
    const char* dsn;
    bool is_local;
    const char* sslmode;
  };
  const Way all[] = {{"dbname=d", true, "prefer"},
                     {"d", true, "prefer"},
                     {"host=/tmp", true, "prefer"},
                     {"host=localhost sslmode=disable", true, "disable"},
                     {"host=127.0.0.5", true, "prefer"},
                     {"hostaddr=::1", true, "prefer"},
                     {"postgresql://u@[::1]:5432/d", true, "prefer"},
                     {"host=/tmp,localhost", true, "prefer"},
                     {"host=db.example", false, "prefer"},
                     {"host=127.example.com", false, "prefer"},
                     {"host=localhost.example.com", false, "prefer"},
                     {"host=localhost,db.example", false, "prefer"},
                     {"host=localhost hostaddr=10.0.0.1", false, "prefer"},
                     {"host=db.example sslmode=verify-full", false, "verify-full"},
                     {"postgresql://u@db.example/d?sslmode=require", false, "require"}};
  const auto expect_way = [](const Way& wanted) {
    const ServerWay way = way_to_server(wanted.dsn);
    EXPECT_EQ(way.is_local, wanted.is_local) << wanted.dsn;
    EXPECT_EQ(way.sslmode, wanted.sslmode) << wanted.dsn;
  };
  for (const Way& wanted : all) expect_way(wanted);
  const Variable host("PGHOST", "db.example"), mode("PGSSLMODE", "verify-ca");
  for (const Way& wanted : {Way{"dbname=d", false, "verify-ca"}, Way{"d", false, "verify-ca"},
                            Way{"host=/tmp sslmode=allow", true, "allow"}})
    expect_way(wanted);
}

// libpq quotes what it cannot read, and that was printed.
TEST(Dsn, a_fault_shows_nothing_of_it) {
  for (const char* bad : {"host=x password=a b secret", "postgresql://u:secret@[::1", "host=x password='secret"}) {
    const Status dsn = check_dsn(bad, "--dsn");
    ASSERT_FALSE(dsn) << bad;
    EXPECT_EQ(dsn.error().message.find("secret"), std::string::npos) << dsn.error().message;
  }
  EXPECT_NE(check_dsn("foo=bar", "--dsn").error().message.find("invalid connection option \"foo\""), std::string::npos);
  for (const char* good : {"", "d", "host=h dbname=d", "postgresql://u:p@h/d"})
    EXPECT_TRUE(check_dsn(good, "--dsn")) << good;
}

// libpq takes what is before an unescaped "/" of a password for the port, what is after it for the database, and says
// so.
TEST(Dsn, a_password_that_a_URL_breaks_is_refused_before_libpq_names_it) {
  for (const char* bad :
       {"postgresql://alice:s3cr3t/x@h/app", "postgresql://alice:1234/s3cr3t@h/app", "postgres://alice:/s3cr3t@h/app",
        "postgresql://alice:1234/x?s3cr3t=y@h/app", "postgresql://alice:x@s3cr3t@h/app",
        "postgresql://u:s3cr3t@h:0/app", "postgresql://alice:p@s3cr3t%21@h:5,b:6/d", "postgresql://alice:65536/s3cr3t",
        "postgre://alice:s3cr3t=@h/app", "alice:s3cr3t@h/app", "postgres:/alice:s3cr3t@h/app", "host=h port=s3cr3t"}) {
    const Status dsn = check_dsn(bad, "CAIRN_READ_DSN");
    ASSERT_FALSE(dsn) << bad;
    EXPECT_EQ(dsn.error().code, Code::invalid) << bad;
    EXPECT_EQ(dsn.error().message.find("s3cr3t"), std::string::npos) << dsn.error().message;
    EXPECT_NE(dsn.error().message.find("in CAIRN_READ_DSN, but "), std::string::npos) << dsn.error().message;
  }
  for (const char* good : {"postgresql://u:a%2Fb%40c@h:5432/d", "postgresql://u:a?b#c@h/d", "postgresql://u@a:5432,b/d",
                           "postgresql:///d?host=a,b,c&port=1,,65535", "host=a port=' 5432 '", "host=a,b port=,",
                           "host=@abstract dbname=d@e", "postgresql:///d?host=@abstract", "postgresql://u@@abstract/d",
                           "postgresql://%40abstract/d%40e", "postgresql://h/d?user=u@tenant", "d@e"})
    EXPECT_TRUE(check_dsn(good, "--dsn")) << good;
}

// --- for real --------------------------------------------------------------------------------------------------------

namespace real {

using namespace program;

// On a cluster of its own: others leave dead sessions behind.
class DoctorProgram : public ::testing::Test {
 protected:
  static std::string data() { return directory() / "doctor_data"; }
  static void TearDownTestSuite() { cairn({"down", "--data", data()}); }
  static Ran doctor(Arguments more = {"--json"}) {
    more.insert(more.begin(), {"doctor", "--data", data()});
    return cairn(more);
  }
  static std::string dsn() { return owner_dsn(data()); }
};

std::map<std::string, Json> checks(const Json& shown) {
  std::map<std::string, Json> found;
  for (const Json& check : shown["checks"]) found.emplace(check["name"], check);
  return found;
}

TEST_F(DoctorProgram, examines_the_embedded_database_and_finds_it_well) {
  const Ran ran = doctor();
  EXPECT_EQ(ran.exit, 0) << ran.out;
  const Json shown = ran.json();
  const std::map<std::string, Json> found = checks(shown);
  EXPECT_EQ(found.size(), 35u);
  for (const auto& [name, check] : found) EXPECT_EQ(check["ok"], true) << check;
  EXPECT_EQ(found.at("fsync")["found"], "on");
  EXPECT_NE(shown["dsn"].get<std::string>().find("dbname='cairn'"), std::string::npos) << shown["dsn"];
  EXPECT_NE(doctor({}).out.find("✓ ok"), std::string::npos);
}

TEST_F(DoctorProgram, a_check_that_is_not_ok_is_exit_1) {
  PgConnection connection({dsn(), "a test that looks back", false});
  connection.execute("ALTER SYSTEM SET fsync = off");
  connection.execute("SELECT pg_reload_conf()");
  EXPECT_TRUE(wait_until([] { return doctor().exit == 1; }));
  const Ran ran = doctor();
  EXPECT_EQ(checks(ran.json()).at("fsync")["ok"], false);
  EXPECT_NE(doctor({}).out.find("✗ not ok  fsync"), std::string::npos) << doctor({}).out;
  connection.execute("ALTER SYSTEM RESET fsync");
  connection.execute("SELECT pg_reload_conf()");
  EXPECT_TRUE(wait_until([] { return doctor().exit == 0; }));
}

TEST_F(DoctorProgram, names_who_holds_a_snapshot_and_who_may_change_events) {
  const std::string of_it = dsn();
  PgConnection holder({of_it, "a test that looks back", false});
  holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ");
  holder.execute("SELECT 1 FROM cairn.run");
  PgConnection owner({of_it, "owner", false});
  owner.execute("CREATE TABLE IF NOT EXISTS public.snapshot_moves (n int)");  // a snapshot's age counts transactions
  owner.execute("GRANT UPDATE ON cairn.event TO cairn_app");
  const std::map<std::string, Json> found = checks(doctor().json());
  owner.execute("REVOKE UPDATE ON cairn.event FROM cairn_app");
  owner.execute("DROP TABLE public.snapshot_moves");
  holder.execute("COMMIT");
  EXPECT_NE(found.at("oldest_snapshot")["found"].get<std::string>().find("a test that looks back (process "),
            std::string::npos)
      << found.at("oldest_snapshot");
  EXPECT_EQ(found.at("roles")["ok"], false);
  EXPECT_EQ(found.at("roles")["found"], "role cairn_app may update events");
  EXPECT_EQ(found.at("login")["found"],
            "this login, cairn, may itself update events: give workers and commands one in the role "
            "cairn_app, and this one to `cairn migrate` alone");
}

// It said "cairn_app and cairn_read may not change an event; this login is postgres", and that all was well.
TEST_F(DoctorProgram, H10_a_login_that_may_itself_change_events_is_not_well) {
  EXPECT_EQ(checks(doctor().json()).at("login"),
            (Json{{"name", "login"}, {"ok", true}, {"found", "this login, cairn, may not change an event"}}));
  const Ran ran = cairn({"doctor", "--json", "--dsn", dsn()});
  EXPECT_EQ(ran.exit, 1);
  EXPECT_EQ(checks(ran.json()).at("login")["ok"], false);
  EXPECT_EQ(
      checks(ran.json()).at("login")["found"],
      "this login, postgres, may itself delete, truncate, update events: give workers and commands one in the role "
      "cairn_app, and this one to `cairn migrate` alone");
}

// A checkpoint's time is signed, so a minute has to pass in the facts: the file is one that an earlier test cannot
// have.
TEST_F(DoctorProgram, D15_one_checkpoint_in_a_file_that_the_table_lacks_is_told_as_after_an_older_backup) {
  cairn_ok({"start", "plan_runner", "--data", data(), "--input", R"({"goal": "g", "sub_goals": []})"});
  const auto found = [] { return checks(doctor().json()).at("checkpoint_files"); };
  EXPECT_EQ(found()["ok"], true) << found();
  PgConnection owner({dsn(), "owner", false});
  std::filesystem::path file;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data() + "/checkpoints"))
    if (entry.path().extension() == ".jsonl") file = entry.path();
  const std::string whole = read_file(file);
  std::string old = whole;
  old.replace(old.find("\"at_us\":1"), 9, "\"at_us\":-1");
  std::ofstream(file, std::ios::trunc) << old;
  owner.execute("TRUNCATE cairn.checkpoint");
  EXPECT_EQ(found()["ok"], false);
  EXPECT_NE(found()["found"].get<std::string>().find("its file has some, the table none"), std::string::npos)
      << found();
  std::filesystem::remove(file);
  owner.execute("TRUNCATE cairn.run, cairn.event, cairn.job, cairn.snapshot");
}

TEST_F(DoctorProgram, holds_checkpoints_inside_against_those_outside_and_knows_who_may_archive) {
  cairn_ok({"start", "plan_runner", "--data", data(), "--input", R"({"goal": "g", "sub_goals": []})"});
  const auto found = [](const std::string& name) { return checks(doctor().json()).at(name); };
  EXPECT_EQ(found("last_checkpoint")["ok"], true) << found("last_checkpoint");
  EXPECT_TRUE(found("checkpoint_files")["found"].get<std::string>().starts_with("1 files in "))
      << found("checkpoint_files");
  EXPECT_NE(found("archive_role")["found"].get<std::string>().find(" take on cairn_archive; 0 runs"), std::string::npos)
      << found("archive_role");

  for (const auto& entry : std::filesystem::recursive_directory_iterator(data() + "/checkpoints"))
    if (entry.path().extension() == ".jsonl") std::ofstream(entry.path(), std::ios::trunc);
  EXPECT_EQ(found("checkpoint_files")["ok"], false);
  EXPECT_NE(found("checkpoint_files")["found"].get<std::string>().find("the table has 1, its file 0"),
            std::string::npos)
      << found("checkpoint_files");

  PgConnection owner({dsn(), "owner", false});
  owner.execute("TRUNCATE cairn.checkpoint");
  owner.execute("UPDATE cairn.run SET started_at = started_at - 300000000");
  EXPECT_EQ(found("last_checkpoint")["ok"], false);
  EXPECT_NE(found("last_checkpoint")["found"].get<std::string>().find("unsigned for 5 min"), std::string::npos)
      << found("last_checkpoint");

  owner.execute("GRANT cairn_archive TO cairn_app");
  EXPECT_EQ(found("archive_role")["ok"], false);
  owner.execute("REVOKE cairn_archive FROM cairn_app");
  owner.execute("TRUNCATE cairn.run, cairn.event, cairn.job, cairn.snapshot");
  EXPECT_EQ(doctor().exit, 0);
}

// In /proc no file can be made, also by root.
TEST_F(DoctorProgram, a_folder_that_cannot_be_written_is_a_finding_and_none_is_made_by_looking) {
  const std::string later = (directory() / "not_yet" / "checkpoints").string();
  const auto found = [](const std::string& folder) {
    const Variable checkpoints("CAIRN_CHECKPOINTS", folder);
    return checks(doctor().json()).at("folders");
  };
  EXPECT_EQ(found("/proc/cairn/checkpoints")["ok"], false);
  EXPECT_NE(found("/proc/cairn/checkpoints")["found"].get<std::string>().find(
                "checkpoints in /proc/cairn/checkpoints cannot be written: "),
            std::string::npos);
  EXPECT_EQ(found(later)["ok"], true) << found(later);
  EXPECT_FALSE(std::filesystem::exists(directory() / "not_yet"));
  for (const auto& entry : std::filesystem::directory_iterator(directory()))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".cairn_probe")) << entry.path();
}

// Its files hold what the table lacks; that was reported only when a minute lay between the two.
TEST_F(DoctorProgram, D15_a_database_that_was_restored_lacks_checkpoints_that_its_files_hold) {
  setenv("CAIRN_CHECKPOINT_MS", "30", 1);
  cairn_ok({"start", "plan_runner", "--wait", "--data", data(), "--input",
            R"({"goal": "g", "sub_goals": [{"id": "a", "tool": "sleep", "inputs": {"ms": 300}},
                {"id": "b", "tool": "sleep", "inputs": {"ms": 300}, "after": ["a"]},
                {"id": "c", "tool": "sleep", "inputs": {"ms": 300}, "after": ["b"]}]})"});
  unsetenv("CAIRN_CHECKPOINT_MS");
  PgConnection owner({dsn(), "owner", false});
  owner.execute("DELETE FROM cairn.checkpoint WHERE n > 1");
  const Json found = checks(doctor().json()).at("checkpoint_files");
  EXPECT_EQ(found["ok"], false);
  EXPECT_NE(found["found"].get<std::string>().find(", the table 1"), std::string::npos) << found;
  owner.execute("TRUNCATE cairn.checkpoint, cairn.run, cairn.event, cairn.job, cairn.snapshot");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data() + "/checkpoints"))
    if (entry.path().extension() == ".jsonl") std::ofstream(entry.path(), std::ios::trunc);
}

TEST_F(DoctorProgram, a_database_without_a_schema_is_a_finding_and_one_that_is_not_there_unavailable) {
  const Ran ran = cairn({"doctor", "--json", "--dsn", dsn() + " dbname=postgres"});
  EXPECT_EQ(ran.exit, 1);
  EXPECT_EQ(checks(ran.json()).at("schema_version")["ok"], false);
  expect_refused(cairn({"doctor", "--dsn", "host=/nowhere"}), 5, "");
}

TEST(Psql, reads_the_database_writes_nothing_and_shows_no_password) {
  const std::string owner = new_database();
  std::string password = read_file(directory() / "data" / "owner.pass");
  password = password.substr(password.rfind(':') + 1, password.find('\n') - password.rfind(':') - 1);
  ASSERT_GE(password.size(), 8u);
  const std::string dsn = owner + " keepalives=1 password='" + password + "'";
  const auto psql = [&dsn](const std::string& statement) {
    return cairn({"psql", "--dsn", dsn, "--", "-X", "-Atc", statement});
  };
  EXPECT_EQ(psql("select count(*) from cairn.run").out, "0\n");
  const Ran write = psql("delete from cairn.run");
  EXPECT_NE(write.exit, 0);
  EXPECT_NE(write.err.find("read-only transaction"), std::string::npos) << write.err;
  const Ran seen = psql("\\! tr '\\0' ' ' < /proc/$PPID/cmdline");
  EXPECT_NE(seen.out.find("psql"), std::string::npos) << seen.out << seen.err;
  EXPECT_EQ(seen.out.find(password), std::string::npos) << seen.out;
}

TEST(Work, a_worker_with_other_data_than_one_of_its_queues_does_not_start) {
  const std::string dsn = new_database();
  const auto is_ready = [](const Beside& worker) {
    return wait_until([&] { return worker.out().find("is ready") != std::string::npos; });
  };
  const Beside first({"work", "--queue", "asked", "--dsn", dsn});
  ASSERT_TRUE(wait_until([&] { return cairn_ok({"workers", "--json", "--dsn", dsn}).lines().size() == 1; }));
  const Beside same({"work", "--queue", "asked", "--dsn", dsn});
  EXPECT_TRUE(is_ready(same)) << same.err();
  setenv("CAIRN_QUERY_ROWS", "7", 1);
  for (const Arguments& queues : {Arguments{}, {"--queue", "asked"}}) {
    Arguments work = {"work", "--dsn", dsn};
    work.insert(work.end(), queues.begin(), queues.end());
    const Ran refused = cairn(work);
    expect_refused(refused, 4, "has \"query sql, 200 rows, 5000 ms\" and this one \"query sql, 7 rows, 5000 ms\"");
  }
  Beside up({"up", "--workers", "1", "--dsn", dsn});
  EXPECT_TRUE(wait_until([&] { return up.has_ended(); })) << "its worker is not started again and again";
  EXPECT_EQ(up.wait(), 4);
  EXPECT_NE(up.err().find("this one \"query sql, 7 rows, 5000 ms\""), std::string::npos) << up.err();
  EXPECT_NE(up.err().find("one is refused, as it has said"), std::string::npos) << up.err();
  const Beside elsewhere({"work", "--queue", "other", "--dsn", dsn});
  const Beside in_turn({"work", "--queue", "asked", "--other-data", "--dsn", dsn});
  EXPECT_TRUE(is_ready(elsewhere)) << elsewhere.err();
  EXPECT_TRUE(is_ready(in_turn)) << in_turn.err();
  unsetenv("CAIRN_QUERY_ROWS");
}

// A worker of others with other data, started while one of `up` was away, ended all of `up`, its API too.
TEST(Work, one_of_up_that_others_keep_from_starting_again_is_tried_until_they_have_gone_and_up_goes_on) {
  const std::string dsn = new_database();
  const auto pids = [&dsn] {
    std::set<pid_t> alive;
    for (const Json& worker : cairn_ok({"workers", "--json", "--dsn", dsn}).lines())
      if (worker.at("alive") == true) alive.insert(worker.at("pid").get<pid_t>());
    return alive;
  };
  Beside up({"up", "--workers", "1", "--dsn", dsn});
  ASSERT_TRUE(wait_until([&] { return pids().size() == 1; })) << up.err();
  const pid_t first = *pids().begin();
  setenv("CAIRN_QUERY_ROWS", "7", 1);
  Beside other({"work", "--other-data", "--dsn", dsn});
  unsetenv("CAIRN_QUERY_ROWS");
  ASSERT_TRUE(wait_until([&] { return pids().contains(other.pid()); })) << other.err();
  ASSERT_EQ(kill(first, SIGKILL), 0);
  EXPECT_TRUE(wait_until([&] {
    return up.err().find("is refused, as it has said; it is tried again") != std::string::npos;
  })) << up.err();
  EXPECT_FALSE(up.has_ended()) << up.err();
  other.signal(SIGTERM);
  EXPECT_EQ(other.wait(), 0);
  const auto works_again = [&] {
    std::set<pid_t> alive = pids();
    alive.erase(first);
    alive.erase(other.pid());
    return !alive.empty();
  };
  EXPECT_TRUE(wait_until(works_again, std::chrono::seconds(60))) << up.err();
  up.signal(SIGTERM);
  EXPECT_EQ(up.wait(), 0) << up.err();
}

}  // namespace real
}  // namespace
}  // namespace cairn
