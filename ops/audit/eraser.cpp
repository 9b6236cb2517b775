#include "ops/audit/eraser.hpp"

#include <algorithm>
#include <filesystem>

#include "ops/audit/archiver.hpp"
#include "ops/requests/run_filter.hpp"
#include "storage/limit_book.hpp"
#include "storage/postgres/connection.hpp"

namespace cairn {
namespace {

constexpr std::size_t roots_at_once = 100;
constexpr std::int32_t spent_rows_at_once = 1'000;
constexpr std::string_view insufficient_privilege = "42501";

std::string name_of(const RunId& run, const RunId& root) {
  return "run " + to_string(run) + (run == root ? "" : ", which run " + to_string(root) + " called,");
}

}  // namespace

Eraser::Eraser(const Parts& parts, ErasePlan plan, Said kept, Said copied, Moved moved)
    : parts_(parts),
      plan_(std::move(plan)),
      kept_(std::move(kept)),
      copied_(std::move(copied)),
      moved_(std::move(moved)),
      auditor_(parts.store, parts.records, Auditor::Extent::rows_only) {}

Result<ErasureReport> Eraser::erase() {
  find_wanted();
  if (Status judged = judge_all(); !judged) return judged.error();
  if (!plan_.dry_run) {
    if (!plan_.file.empty())
      if (Status removed = remove_by_file(); !removed) return removed.error();
    if (Status removed = remove_values(); !removed) return removed.error();
    forget_keys();
  }
  report_copies();
  return report_;
}

// All that match are found before any is judged: a run may go together with one that called it.
void Eraser::find_wanted() {
  for (QueueLimits& limits : parts_.store.limits().queue_limits())
    if (tag_of_key(limits.key)) keyed_.push_back(std::move(limits));
  for_each_page(parts_.store, unlimited(plan_.where), [this](std::span<const RunRow> page) {
    for (const RunRow& row : page) {
      wanted_.push_back(row.id);
      note_keys(row);
      if (row.parent) callers_.emplace(row.id, *row.parent);
    }
  });
  is_wanted_.insert(wanted_.begin(), wanted_.end());
  const std::int32_t shards = parts_.store.shards();
  std::stable_sort(wanted_.begin(), wanted_.end(),
                   [shards](const RunId& a, const RunId& b) { return shard_of(a, shards) < shard_of(b, shards); });
}

// The run that called a wanted one and is in the database. A nil id: one of those that called it is wanted, and it goes
// together with that one.
std::optional<RunId> Eraser::caller_that_stays(const RunId& run) {
  const auto found = callers_.find(run);
  std::optional<RunId> first;
  std::optional<RunId> caller = found == callers_.end() ? std::nullopt : std::optional(found->second);
  while (caller) {
    if (is_wanted_.contains(*caller)) return RunId{};
    const std::optional<RunRow> row = parts_.store.run(*caller);
    if (!row) return first;
    if (!first) first = caller;
    caller = row->parent;
  }
  return first;
}

Status Eraser::judge_all() {
  std::vector<RunId> roots;
  Shard shard = 0;
  const auto judge_page = [&]() -> Status {
    if (roots.empty()) return Done{};
    Status judged = judge(shard, roots);
    roots.clear();
    moved_(report_);
    return judged;
  };
  for (const RunId& run : wanted_) {
    const std::optional<RunId> caller = caller_that_stays(run);
    if (caller && caller->is_nil()) continue;
    if (caller) {
      keep(run,
           "Expected to erase run " + to_string(run) + ", but run " + to_string(*caller) + ", which called it, stays.");
      continue;
    }
    const Shard next = shard_of(run, parts_.store.shards());
    if (next != shard || roots.size() == roots_at_once)
      if (Status judged = judge_page(); !judged) return judged;
    shard = next;
    roots.push_back(run);
  }
  return judge_page();
}

// A run and all that it called go together or stay together.
Status Eraser::judge(Shard shard, const std::vector<RunId>& roots) {
  std::vector<Family> families;
  std::vector<RunId> runs;
  for (const RunErasure::Member& member : parts_.erasure.families(shard, roots)) {
    if (families.empty() || families.back().root != member.root) families.push_back({member.root, {}});
    families.back().members.push_back(member);
    runs.push_back(member.run);
  }
  std::map<RunId, RunErasure::Heir> open_heirs;  // by the run they came from
  std::vector<RunErasure::Heir> heirs = parts_.erasure.heirs(runs);
  for (const RunErasure::Heir& heir : heirs)
    if (heir.is_open) open_heirs.emplace(heir.origin, heir);
  std::erase_if(families, [&](const Family& family) {
    const std::string says = reason_to_keep(family, open_heirs);
    if (!says.empty()) keep(family.root, says);
    return !says.empty();
  });
  if (!plan_.even_faulty && plan_.file.empty()) leave_out_faulty(shard, families);
  for (const Family& family : families) {
    roots_.push_back(family.root);
    for (const RunErasure::Member& member : family.members) {
      report_.events += going_.insert(member.run).second ? member.head : 0;
      report_.runs = std::ssize(going_);
      note_keys_of_called(member.run);
    }
  }
  for (const RunErasure::Heir& heir : heirs)
    if (!heir.is_open && going_.contains(heir.origin)) copies_.emplace(heir.run, heir.origin);
  return plan_.dry_run || !plan_.file.empty() ? Status(Done{}) : remove(shard, families);
}

// "": none.
std::string Eraser::reason_to_keep(const Family& family, const std::map<RunId, RunErasure::Heir>& open_heirs) const {
  for (const RunErasure::Member& member : family.members) {
    const std::string it = name_of(member.run, family.root);
    if (!is_ended(member.status))
      return "Expected " + it + " to have ended before it is erased, but it is " +
             std::string(to_string(member.status)) + ".";
    if (plan_.except.contains(member.run)) return "Expected to erase " + it + ", but it is to be left out.";
    const auto heir = open_heirs.find(member.run);
    if (heir != open_heirs.end())
      return "Expected that no open run needs " + it + ", but run " + to_string(heir->second.run) +
             " continues it or was forked from there.";
  }
  return "";
}

// Faults of rows that are derived are no reason: those rows go as well.
void Eraser::leave_out_faulty(Shard shard, std::vector<Family>& families) {
  std::vector<RunPlace> places;
  for (const Family& family : families)
    for (const RunErasure::Member& member : family.members) places.push_back({member.run, shard});
  std::map<RunId, std::string> faulty;
  auditor_.audit(places, [&](const RunPlace& place, const Audited& audited) {
    if (!audited.wanted && !audited.findings.empty()) faulty.emplace(place.run, audited.findings.front().says);
  });
  if (faulty.empty()) return;
  std::erase_if(families, [&](const Family& family) {
    for (const RunErasure::Member& member : family.members) {
      const auto found = faulty.find(member.run);
      if (found == faulty.end()) continue;
      keep(family.root, "Expected the history of " + name_of(member.run, family.root) +
                            " to be whole before it is erased, but it has a fault: " + found->second);
      return true;
    }
    return false;
  });
}

// As many at once as have removed_events_at_once events, or one.
Status Eraser::remove(Shard shard, std::span<const Family> families) {
  while (!families.empty()) {
    std::size_t count = 0;
    for (std::int64_t events = 0; count < families.size() && events < removed_events_at_once; ++count)
      for (const RunErasure::Member& member : families[count].members) events += member.head;
    if (Status removed = remove_at_once(shard, families.first(count)); !removed) return removed;
    families = families.subspan(count);
  }
  return Done{};
}

Status Eraser::remove_at_once(Shard shard, std::span<const Family> families) {
  std::vector<Tombstone> tombstones;
  std::vector<RunId> roots;
  const TimeUs now_us = parts_.store.database_time();
  for (const Family& family : families)
    for (const RunErasure::Member& member : family.members) {
      tombstones.push_back({.shard = shard,
                            .head = {member.run, member.head, member.chain_hash},
                            .at_us = now_us,
                            .signature = {},
                            .erased_by = plan_.by});
      sign(tombstones.back(), parts_.store.identity(), parts_.key);
      roots.push_back(family.root);
    }
  if (tombstones.empty()) return Done{};
  const Result<std::int64_t> removed = parts_.archive.remove(shard, tombstones, roots);
  if (!removed) return removed.error();
  report_.removed += *removed;
  if (*removed == std::ssize(tombstones)) return Done{};
  for (const Family& family : families)
    if (parts_.store.run(family.root))
      keep(family.root,
           "Expected run " + to_string(family.root) +
               " to stay as it was while it is erased, but it goes on; the same command looks at it again.");
  return Done{};
}

Status Eraser::remove_by_file() {
  report_.file_was_there = std::filesystem::exists(plan_.file);
  if (roots_.empty() && !report_.file_was_there) return Done{};
  std::set<RunId> kept;
  Archiver archiver(parts_.store, parts_.archive, parts_.checkpoints, parts_.key,
                    [this, &kept](const RunId& run, const std::string& why) {
                      kept.insert(run);
                      keep(run, "Expected to erase run " + to_string(run) + ", but " + why + ".");
                    });
  const Result<ArchiveReport> done = archiver.erase(plan_.file, roots_, going_, plan_.by);
  if (!done) return done.error();
  report_.removed = done->removed;
  report_.file_was_there = done->was_there;  // perhaps since it waited for another process that archives
  if (!report_.file_was_there) return Done{};
  for (const RunId& root : roots_)
    if (!kept.contains(root) && parts_.store.run(root))
      keep(root, "Expected run " + to_string(root) + " in " + plan_.file +
                     ", which was there before, but it is not; another file takes it.");
  return Done{};
}

Status Eraser::remove_values() {
  for (Shard shard = 0; shard < parts_.store.shards(); ++shard) {
    const Result<RunErasure::Values> values = parts_.erasure.remove_values(shard, plan_.unused_us);
    if (!values) return values.error();
    report_.values.removed += values->removed;
    report_.values.bytes += values->bytes;
    report_.values.used += values->used;
    report_.values.recent += values->recent;
  }
  return Done{};
}

void Eraser::note_keys(const RunRow& run) {
  for (const QueueLimits& limits : keyed_)
    if (std::string key = limit_key(limits.key, run.tags, Json::object()); !key.empty())
      keys_.emplace(limits.name, std::move(key));
}

void Eraser::note_keys_of_called(const RunId& run) {
  if (keyed_.empty() || is_wanted_.contains(run)) return;
  if (const std::optional<RunRow> row = parts_.store.run(run)) note_keys(*row);
}

// A key that another run has as well stays, and so does one that is a place in the input, as no index says which runs
// have it: they go when they bind nothing any more. A login without the right to remove them leaves that to the
// processes that work.
void Eraser::forget_keys() {
  LimitBook& limits = parts_.store.limits();
  try {
    for (const QueueLimits& keyed : keyed_)
      for (auto key = keys_.lower_bound({keyed.name, ""}); key != keys_.end() && key->first == keyed.name; ++key) {
        RunFilter others;
        others.tags = {{*tag_of_key(keyed.key), key->second}};
        others.limit = 1;
        if (parts_.store.runs(others).empty()) limits.forget_key(keyed.name, key->second);
      }
    SpentMark mark;
    while (limits.forget_spent(mark, parts_.store.database_time(), spent_rows_at_once)) {
    }
  } catch (const PostgresError& failure) {
    if (failure.sqlstate() != insufficient_privilege) throw;
  }
}

void Eraser::keep(const RunId& run, const std::string& says) {
  ++report_.kept;
  kept_(run, says);
}

void Eraser::report_copies() {
  for (const auto& [heir, origin] : copies_) {
    if (going_.contains(heir)) continue;
    ++report_.copies;
    copied_(heir, "Run " + to_string(heir) + " stays and has a copy of what run " + to_string(origin) + " had.");
  }
}

}  // namespace cairn
