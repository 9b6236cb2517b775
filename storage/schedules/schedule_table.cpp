#include "storage/schedules/schedule_table.hpp"

#include <array>
#include <map>

namespace cairn {
namespace {

constexpr int schedule_connections = 2;
constexpr auto row_columns =
    std::to_array<std::string_view>({"name", "revision", "notes", "look_at", "zone_mark", "definition", "state"});
constexpr auto note_columns = std::to_array<std::string_view>(
    {"number", "recorded_at", "kind", "at", "until", "count", "run_id", "says", "actor", "revision", "definition"});

std::vector<ScheduleRow> schedule_rows(const PgResult& found) {
  found.expect_columns(row_columns);
  std::vector<ScheduleRow> rows;
  for (int row = 0; row < found.rows(); ++row)
    rows.push_back({std::string(found.text(row, 0)), found.int8(row, 1), found.int8(row, 2), found.int8(row, 3),
                    std::string(found.text(row, 4)), std::string(found.text(row, 5)), std::string(found.text(row, 6))});
  return rows;
}

std::vector<KeptNote> kept_notes(const PgResult& found) {
  found.expect_columns(note_columns);
  std::vector<KeptNote> notes;
  for (int row = 0; row < found.rows(); ++row) {
    KeptNote kept{found.int8(row, 0), found.int8(row, 1), {}};
    const std::optional<NoteKind> kind = parse_note_kind(found.text(row, 2));
    if (!kind) continue;  // of a newer program
    ScheduleNote& note = kept.note;
    note.kind = *kind;
    if (!found.is_null(row, 3)) note.at = found.int8(row, 3);
    if (!found.is_null(row, 4)) note.until = found.int8(row, 4);
    note.count = found.int8(row, 5);
    if (!found.is_null(row, 6)) note.run = found.uuid(row, 6);
    note.says = found.text(row, 7);
    note.actor = found.text(row, 8);
    note.revision = found.int8(row, 9);
    if (!found.is_null(row, 10)) note.definition = found.text(row, 10);
    notes.push_back(std::move(kept));
  }
  return notes;
}

PgArray text_array(const std::vector<std::string>& texts) {
  PgArray array(PgType::text);
  for (const std::string& text : texts) array.add(text);
  return array;
}

// The columns of put_schedule_notes.
class NoteColumns {
 public:
  void add(const std::string& schedule, std::int64_t number, TimeUs now_us, const ScheduleNote& note) {
    names_.add(schedule);
    numbers_.add(number);
    recorded_.add(now_us);
    kinds_.add(to_string(note.kind));
    ats_.add(note.at);
    untils_.add(note.until);
    counts_.add(note.count);
    runs_.add(note.run);
    says_.add(note.says);
    actors_.add(note.actor);
    revisions_.add(note.revision);
    note.definition.empty() ? definitions_.add_null() : definitions_.add(note.definition);
  }
  bool is_empty() const { return names_.size() == 0; }
  PgParameters take() {
    PgParameters all;
    for (PgArray* column : {&names_, &numbers_, &recorded_, &kinds_, &ats_, &untils_, &counts_, &runs_, &says_,
                            &actors_, &revisions_, &definitions_})
      all.add(std::move(*column));
    return all;
  }

 private:
  PgArray names_{PgType::text}, numbers_{PgType::int8}, recorded_{PgType::int8}, kinds_{PgType::text};
  PgArray ats_{PgType::int8}, untils_{PgType::int8}, counts_{PgType::int8}, runs_{PgType::uuid};
  PgArray says_{PgType::text}, actors_{PgType::text}, revisions_{PgType::int8}, definitions_{PgType::text};
};

// The rows that stay, in one statement.
PgParameters kept_columns(const std::vector<ScheduleWrite>& writes) {
  PgArray names(PgType::text), revisions(PgType::int8), notes(PgType::int8), dues(PgType::int8);
  PgArray zones(PgType::text), marks(PgType::text), definitions(PgType::text), states(PgType::text);
  for (const ScheduleWrite& write : writes) {
    if (write.is_removed) continue;
    names.add(write.row.name);
    revisions.add(write.row.revision);
    notes.add(static_cast<std::int64_t>(write.notes.size()));
    dues.add(write.row.due_at);
    zones.add(write.zone);
    marks.add(write.row.zone_mark);
    definitions.add(write.row.definition);
    states.add(write.row.state);
  }
  PgParameters all;
  for (PgArray* column : {&names, &revisions, &notes, &dues, &zones, &marks, &definitions, &states})
    all.add(std::move(*column));
  return all;
}

// Within the transaction that has locked `rows`.
void write_schedules(PgConnection& connection, TimeUs now_us, const std::vector<ScheduleRow>& rows,
                     const std::vector<ScheduleWrite>& writes) {
  std::map<std::string_view, std::int64_t> last_notes;
  for (const ScheduleRow& row : rows) last_notes[row.name] = row.notes;
  NoteColumns notes;
  std::vector<std::string> removed;
  for (const ScheduleWrite& write : writes) {
    const auto last_note = last_notes.find(write.row.name);
    CHECK(last_note != last_notes.end());
    std::int64_t number = last_note->second;
    for (const ScheduleNote& note : write.notes) notes.add(write.row.name, ++number, now_us, note);
    if (write.is_removed) removed.push_back(write.row.name);
  }
  connection.query(statement("put_schedules"), kept_columns(writes));
  if (!notes.is_empty()) connection.query(statement("put_schedule_notes"), notes.take());
  if (!removed.empty()) connection.query(statement("remove_schedules"), PgParameters().add(text_array(removed)));
}

// The rows to decide, and whether their transaction waits for the disk.
struct Decided {
  const PgStatement& lock;
  PgParameters which;
  bool waits_for_disk = true;
};

// Decides and writes the rows that the lock finds, in one transaction.
std::size_t decide_rows(PgConnection& connection, const Decided& of, const DecideSchedules& decide) {
  connection.execute("BEGIN");
  const std::vector<ScheduleRow> rows = schedule_rows(connection.query(of.lock, of.which));
  if (!rows.empty()) {
    if (!of.waits_for_disk) connection.query(statement("wait_for_no_disk"));
    const TimeUs now_us = connection.query(statement("database_time")).int8(0, 0);
    const std::vector<ScheduleWrite> writes = decide(now_us, rows);
    if (!writes.empty()) write_schedules(connection, now_us, rows, writes);
  }
  connection.execute("COMMIT");
  return rows.size();
}

}  // namespace

ScheduleTable::ScheduleTable(std::string dsn, const std::string& identity, std::int64_t patience_ms)
    : pool_(PgConnectOptions{std::move(dsn), "cairn schedules"}, schedule_connections, patience_ms) {
  pool_.expect_identity(identity);
}

ScheduleCalls ScheduleTable::calls() { return schedule_calls_of(*this); }

// On a cluster the runs are in other logs than the schedules, which may lie on other disks.
bool ScheduleTable::starts_are_in_one_log() { return !pool_.leads_to_cluster(); }

std::size_t ScheduleTable::decide_due(int limit, const DecideSchedules& decide) {
  const Decided due{statement("lock_due_schedules"), PgParameters().add(std::int32_t{limit}), !starts_are_in_one_log()};
  return pool_.run([&](PgConnection& connection) { return decide_rows(connection, due, decide); });
}

std::size_t ScheduleTable::decide_named(const std::vector<std::string>& names, const DecideSchedules& decide) {
  const Decided named{statement("lock_schedules"), PgParameters().add(text_array(names))};
  return pool_.run([&](PgConnection& connection) { return decide_rows(connection, named, decide); });
}

std::size_t ScheduleTable::confirm_named(const std::vector<std::string>& names, const DecideSchedules& decide) {
  const Decided named{statement("lock_schedules"), PgParameters().add(text_array(names)), !starts_are_in_one_log()};
  return pool_.run([&](PgConnection& connection) { return decide_rows(connection, named, decide); });
}

bool ScheduleTable::add(const ScheduleWrite& write) {
  return pool_.run([&](PgConnection& connection) {
    connection.execute("BEGIN");
    const PgResult added = connection.query(statement("add_schedule"), PgParameters()
                                                                           .add(write.row.name)
                                                                           .add(write.row.due_at)
                                                                           .add(write.zone)
                                                                           .add(write.row.zone_mark)
                                                                           .add(write.row.definition)
                                                                           .add(write.row.state));
    if (added.rows() == 1) {
      ScheduleRow row = write.row;
      row.notes = added.int8(0, 0);
      const TimeUs now_us = connection.query(statement("database_time")).int8(0, 0);
      write_schedules(connection, now_us, {row}, {write});
    }
    connection.execute("COMMIT");
    return added.rows() == 1;
  });
}

NextDue ScheduleTable::next_due() {
  const PgResult found = pool_.query("next_schedule_due");
  NextDue next{found.int8(0, 0), {}};
  if (!found.is_null(0, 1)) next.at_us = found.int8(0, 1);
  return next;
}

std::optional<std::string> ScheduleTable::definition_of(const std::string& name, std::int64_t revision) {
  const PgResult found = pool_.query("schedule_definition", PgParameters().add(name).add(revision));
  return found.rows() == 0 ? std::nullopt : std::optional<std::string>(found.text(0, 0));
}

std::vector<TimeUs> ScheduleTable::started(const std::string& name, TimeUs from, TimeUs until) {
  const PgResult found = pool_.query("schedule_started", PgParameters().add(name).add(from).add(until));
  std::vector<TimeUs> times;
  for (int row = 0; row < found.rows(); ++row) times.push_back(found.int8(row, 0));
  return times;
}

std::optional<ScheduleRow> ScheduleTable::row(const std::string& name) {
  std::vector<ScheduleRow> found = schedule_rows(pool_.query("schedule", PgParameters().add(name)));
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

std::vector<ScheduleRow> ScheduleTable::rows(const std::string& after, std::int32_t limit) {
  return schedule_rows(pool_.query("schedules", PgParameters().add(after).add(limit)));
}

std::vector<KeptNote> ScheduleTable::notes(const std::string& name, std::int64_t before, std::int32_t limit) {
  return kept_notes(pool_.query("schedule_notes", PgParameters().add(name).add(before).add(limit)));
}

std::vector<KeptNote> ScheduleTable::notes_between(const std::string& name, TimeUs from, TimeUs until,
                                                   std::int32_t limit) {
  return kept_notes(
      pool_.query_widely("schedule_notes_between", PgParameters().add(name).add(from).add(until).add(limit)));
}

std::vector<KeptNote> ScheduleTable::notes_of_return(const std::string& name, std::int64_t after, std::int32_t limit) {
  return kept_notes(pool_.query_widely("schedule_notes_of_return", PgParameters().add(name).add(after).add(limit)));
}

std::vector<std::pair<std::string, std::string>> ScheduleTable::zones() {
  const PgResult found = pool_.query_widely("schedule_zones");
  std::vector<std::pair<std::string, std::string>> zones;
  for (int row = 0; row < found.rows(); ++row) zones.emplace_back(found.text(row, 0), found.text(row, 1));
  return zones;
}

void ScheduleTable::recall() { pool_.query_widely("recall_schedules", PgParameters().add(clock_ahead_max_us)); }

void ScheduleTable::check_zones(const std::vector<std::pair<std::string, std::string>>& marks) {
  PgArray zones(PgType::text), known(PgType::text);
  for (const auto& [zone, mark] : marks) {
    zones.add(zone);
    known.add(mark);
  }
  pool_.query_widely("check_zones", PgParameters().add(std::move(zones)).add(std::move(known)));
}

}  // namespace cairn
