#include "ops/answers/checkpoint_facts.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace cairn {
namespace {

constexpr std::size_t compared_max = 20;       // files that are read to their end
constexpr TimeUs writing_us_max = 60'000'000;  // a file is written before the table

struct Last {
  std::int64_t process = 0;
  std::int64_t n = 0;
  TimeUs at_us = 0;
  std::string signature;  // hexadecimal
};

std::vector<Last> read_last(Administration& database) {
  const AdminRows rows = database.query("doctor_checkpoints");
  rows.expect_columns({"process", "n", "at", ""});
  std::vector<Last> found;
  for (std::size_t row = 0; row < rows.size(); ++row)
    found.push_back({rows.number(row, 0), rows.number(row, 1), rows.number(row, 2), rows.text(row, 3)});
  return found;
}

std::string hex_of(const std::string& bytes) {
  return hex({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

// The number of the process's last checkpoint in the table as it is now; 0: none.
std::int64_t last_stored(Administration& database, std::int64_t process) {
  for (const Last& last : read_last(database))
    if (last.process == process) return last.n;
  return 0;
}

struct Difference {
  std::string says;                    // "": there is none
  std::optional<TimeUs> lost_us = {};  // of the file's last checkpoint, if the table lacks it
};

// None if the file holds what the table does, and at most one checkpoint more, which is no older than a write takes.
// The table was read before the file, so it is asked again before it counts as behind.
Difference difference(Administration& database, const CheckpointFiles& files, const Last& stored, TimeUs now_us) {
  CheckpointReader reader(files, stored.process);
  bool has_stored = false;
  Last last;
  while (const std::optional<Checkpoint> filed = reader.next()) {
    last = {stored.process, filed->n, filed->at_us, {}};
    has_stored = has_stored || (filed->n == stored.n && hex_of(filed->signature) == stored.signature);
  }
  const std::string name = "process " + std::to_string(stored.process);
  if (reader.is_broken()) return {name + ": line " + std::to_string(reader.line()) + " of its file is none"};
  if (last.n < stored.n)
    return {name + ": the table has " + std::to_string(stored.n) + ", its file " + std::to_string(last.n)};
  if (!has_stored) return {name + ": number " + std::to_string(stored.n) + " is another in its file"};
  if (last.n <= stored.n) return {};
  const std::int64_t now = last_stored(database, stored.process);
  if (last.n <= now || (last.n == now + 1 && now_us - last.at_us <= writing_us_max)) return {};
  return {name + ": its file has " + std::to_string(last.n) + ", the table " + std::to_string(now), last.at_us};
}

// A backup that was restored lacks what was signed after it. A process that was killed between the file and the table
// looks the same, which is seldom.
Difference missing_in_table(const CheckpointFiles& files, std::int64_t process, TimeUs now_us) {
  CheckpointReader reader(files, process);
  const std::optional<Checkpoint> first = reader.next();
  if (!first || now_us - first->at_us <= writing_us_max) return {};
  TimeUs last_us = first->at_us;
  while (const std::optional<Checkpoint> filed = reader.next()) last_us = filed->at_us;
  return {"process " + std::to_string(process) + ": its file has some, the table none", last_us};
}

}  // namespace

CheckpointFacts read_checkpoint_facts(Administration& database, const CheckpointFiles& files) {
  const TimeUs now_us = database.query("database_time").number(0, 0);
  CheckpointFacts facts;
  facts.folder = files.folder();
  const std::vector<Last> stored = read_last(database);
  const std::vector<std::int64_t> filed = files.processes();
  const std::set<std::int64_t> with_file(filed.begin(), filed.end());
  std::set<std::int64_t> in_table;
  const auto note = [&facts](const Difference& found) {
    if (!found.says.empty()) facts.differences.push_back(found.says);
    if (found.lost_us) facts.lost_us = std::max(facts.lost_us.value_or(0), *found.lost_us);
  };
  for (const Last& last : stored) {
    in_table.insert(last.process);
    facts.newest_us = std::max(facts.newest_us, last.at_us);
    if (!with_file.contains(last.process)) {
      ++facts.elsewhere;
    } else if (facts.compared < static_cast<std::int64_t>(compared_max)) {
      ++facts.compared;
      note(difference(database, files, last, now_us));
    }
  }
  for (const std::int64_t process : filed)
    if (!in_table.contains(process)) note(missing_in_table(files, process, now_us));
  const AdminRows unsigned_rows = database.query("doctor_unsigned", {std::to_string(facts.newest_us)});
  if (!unsigned_rows.is_null(0, 0)) facts.unsigned_since_us = unsigned_rows.number(0, 0);
  return facts;
}

}  // namespace cairn
