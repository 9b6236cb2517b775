#include "ops/audit/auditor.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include "engine/corrupt_history.hpp"
#include "engine/graph_parsing.hpp"
#include "engine/snapshot.hpp"
#include "ops/audit/projection_check.hpp"
#include "ops/audit/run_audit.hpp"
#include "storage/chain.hpp"
#include "workers/handlers/large_values.hpp"
#include "workers/runs/history.hpp"

namespace cairn {
namespace {

constexpr int rebuild_tries = 50;
constexpr std::int64_t before_all = std::numeric_limits<std::int64_t>::min();

bool has_derived_rows(const RunRecord& record) {
  return !record.jobs.empty() || !record.questions.empty() || !record.questions_readable || !record.snapshots.empty();
}

// The data read of a run before its audit.
struct Kept {
  RunRecord record;
  TimeUs now_us = 0;
  std::optional<std::vector<EventRow>> first;  // at most first_events_max events; nothing: they could not be read
};

std::string events_text(std::int64_t first, std::int64_t last) {
  return first == last ? "event " + std::to_string(first)
                       : "events " + std::to_string(first) + " to " + std::to_string(last);
}

// The events of one run that no trusted signature covers. Lives for one audit.
class UnsignedEnd {
 public:
  UnsignedEnd(const SignedUntil& until, const RunId& run) : until_(until), covered_(until.heads.covered(run)) {}

  void take(const EventRow& row) {
    static const std::int16_t ends = event_type(RunFinished{}).number;
    static const std::int16_t reopens = event_type(RunReopened{}).number;
    if (row.seq == covered_) is_after_end_ = row.type == ends;
    if (row.seq == covered_ + 1) first_at_us_ = row.at_us;
    if (row.seq == covered_ + 1 && row.type == reopens) is_after_end_ = false;
    last_ = row.seq;
  }

  // An event's time is what its writer says: one that lies ahead is as suspicious as an old one.
  bool is_there() const { return last_ > covered_; }
  bool is_suspicious(TimeUs now_us) const {
    if (!is_there()) return false;
    return is_after_end_ || first_at_us_ < until_.at_us - until_.patience_us ||
           first_at_us_ > now_us + until_.patience_us;
  }
  std::int64_t first() const { return covered_ + 1; }
  std::string message() const {
    if (covered_ == 0) return "Expected a signature over the run, but no trusted checkpoint names an event of it.";
    const std::string rest = events_text(first(), last_);
    if (is_after_end_)
      return "Expected nothing after event " + std::to_string(covered_) + ", the signed end of the run, but found " +
             rest + ", which no trusted signature covers.";
    return "Expected a signature over " + rest + ", but no trusted checkpoint covers more than event " +
           std::to_string(covered_) + ".";
  }

 private:
  const SignedUntil& until_;
  const std::int64_t covered_;
  std::int64_t last_ = 0;
  TimeUs first_at_us_ = 0;     // of the first event that is not covered
  bool is_after_end_ = false;  // the last covered event ended the run, and nothing reopened it
};

// One run's audit. Lives for one call.
class OneAudit {
 public:
  OneAudit(Store& store, const Graphs& graphs, const RunPlace& place, Kept kept, const SignedUntil* signed_until)
      : store_(store),
        run_(place.run),
        shard_(place.shard),
        record_(std::move(kept.record)),
        now_us_(kept.now_us),
        first_(std::move(kept.first)),
        audit_(place.run, place.shard, graphs),
        snapshots_(record_.snapshots.begin(), record_.snapshots.end()) {
    if (signed_until != nullptr) unsigned_.emplace(*signed_until, run_);
  }

  Audited audit(Auditor::Extent extent) {
    extent_ = extent;
    read_events();
    if (record_.run && !is_broken_off()) audit_.end(record_.run->head);
    audited_.events = audit_.events();
    add(audit_.findings());
    judge_signatures();
    judge_rows();
    std::stable_sort(audited_.findings.begin(), audited_.findings.end(),
                     [](const Finding& a, const Finding& b) { return a.seq < b.seq; });
    return std::move(audited_);
  }

 private:
  void read_events() {
    std::int64_t after = before_all;
    if (first_) {
      if (!take_all(*first_, after) || first_->size() < static_cast<std::size_t>(first_events_max)) return;
      first_.reset();
    }
    for (std::int32_t limit = history_page; !audit_.is_enough();) {
      try {
        const std::vector<EventRow> rows = store_.events(run_, after, limit);
        if (!take_all(rows, after) || rows.size() < static_cast<std::size_t>(limit)) return;
      } catch (const CorruptHistory& fault) {  // one at a time, to see which it is
        if (limit == 1) {
          is_unreadable_ = true;
          return find(std::max<std::int64_t>(after, 0) + 1, "unreadable", fault.what());
        }
        limit = 1;
      }
    }
  }

  bool take_all(const std::vector<EventRow>& rows, std::int64_t& after) {
    return std::all_of(rows.begin(), rows.end(), [this, &after](const EventRow& row) {
      after = row.seq;
      return take(row);
    });
  }

  // False if the event was written after the run's rows were read, as are all that follow.
  bool take(const EventRow& row) {
    if (row.seq > until() && !is_surplus_) {
      const std::optional<RunRow> now = store_.run(run_);
      if (now && now->head >= row.seq) return false;
      is_surplus_ = true;
    }
    audit_.add(row);
    if (unsigned_) unsigned_->take(row);
    if (extent_ == Auditor::Extent::with_values_and_origin) {
      check_origin(row);
      check_blobs(row);
    }
    check_snapshots(row);
    return true;
  }

  std::int64_t until() const { return record_.run ? record_.run->head : std::numeric_limits<std::int64_t>::max(); }

  // A fork names the event it began at by its hash: as good as a checkpoint, where the origin is still kept.
  void check_origin(const EventRow& row) {
    if (row.payload.find("\"forked_from\"") == std::string::npos) return;
    const Result<Event> event = event_of(row);
    const RunStarted* started = event ? std::get_if<RunStarted>(&event->body) : nullptr;
    if (started == nullptr || !started->forked_from) return;
    const Origin& origin = *started->forked_from;
    const std::string named = "Expected event " + std::to_string(origin.seq) + " to have the hash by which its fork " +
                              to_string(run_) + " names it, but ";
    try {
      const std::vector<EventRow> found = store_.events(origin.run, origin.seq - 1, 1);
      if (found.empty() || hex(found.front().chain_hash) == origin.chain_hash) return;
      audited_.findings.push_back({origin.run, origin.seq, "altered", named + "found another."});
    } catch (const CorruptHistory& fault) {
      audited_.findings.push_back({origin.run, origin.seq, "altered", named + "it cannot be read: " + fault.what()});
    }
  }

  void check_blobs(const EventRow& row) {
    if (row.payload.find("\"$blob\"") == std::string::npos) return;
    const Json payload = Json::parse(row.payload, nullptr, false);
    std::vector<Hash> named;
    if (!payload.is_discarded()) find_blobs(payload, named);
    for (const Hash& hash : named) {
      if (!blobs_seen_.insert(hash).second) continue;
      const std::optional<std::string> bytes = store_.values().get(shard_, hash);
      const std::string expected = "Expected the value with hash " + hex(hash) + " next to the history, but found ";
      if (!bytes)
        find(row.seq, "blob", expected + "none.");
      else if (sha256(*bytes) != hash)
        find(row.seq, "blob", expected + "one with another hash.");
    }
  }

  void check_snapshots(const EventRow& row) {
    if (audit_.state() == nullptr) return;
    for (; !snapshots_.empty() && snapshots_.front() <= row.seq; snapshots_.pop_front()) {
      if (snapshots_.front() == row.seq)
        compare_snapshot(row);
      else
        find_snapshot(snapshots_.front(), "to be of an event, but there is none");
    }
  }

  void compare_snapshot(const EventRow& row) {
    try {
      const std::optional<SnapshotRow> found = store_.snapshots().newest(run_, fold_version, row.seq);
      if (!found || found->seq != row.seq) return;  // it was deleted meanwhile
      if (found->chain_hash != row.chain_hash)
        find_snapshot(row.seq, "with the hash of its event, but found another");
      else if (parse_stored(found->state) != snapshot_json(*audit_.state()))
        find_snapshot(row.seq, "as the events before it fold, but found another state");
    } catch (const CorruptHistory& fault) {
      find_snapshot(row.seq, std::string("that can be read, but: ") + fault.what());
    }
  }

  void find_snapshot(std::int64_t seq, const std::string& says) {
    find(seq, "snapshot", "Expected a snapshot at event " + std::to_string(seq) + " " + says + ".");
    audited_.wrong_snapshots.push_back(seq);
  }

  // Only of a sound history: of another one there is more to say than that.
  void judge_signatures() {
    if (!unsigned_ || audit_.state() == nullptr || is_broken_off() || !unsigned_->is_there()) return;
    audited_.unsigned_head = Head{run_, audit_.state()->seq, audit_.last_hash()};
    if (unsigned_->is_suspicious(now_us_)) find(unsigned_->first(), "unsigned", unsigned_->message());
  }

  void judge_rows() {
    if (!record_.run_readable) find(0, "unreadable", record_.run_readable.error().message);
    const RunState* const state = audit_.state();
    if (audited_.events == 0 && !record_.run) {
      audited_.is_leftover = has_derived_rows(record_);
      if (audited_.is_leftover) find(0, "surplus", "Expected nothing of a run without events, but found rows of one.");
      return;
    }
    if (!record_.run && record_.run_readable)
      find(state == nullptr ? 0 : state->seq, "run", "Expected a row of the run, but found none.");
    if (state == nullptr || is_broken_off()) return;
    for (const std::int64_t seq : snapshots_) find_snapshot(seq, "to be of an event, but the history ends before it");
    audited_.wanted = projection_of(*state, audit_.last_hash());
    if (!is_surplus_) add(projection_findings(*audited_.wanted, record_, now_us_));
    judge_calls(*state);
  }

  // A called run's end is committed with its caller's. The end may have been recorded since the run's rows were read.
  void judge_calls(const RunState& state) {
    if (is_ended(state.status)) return;
    for (const auto& [id, step] : state.steps) {
      const std::optional<RunRow> called = step.child.is_nil() ? std::nullopt : store_.run(step.child);
      if (!called || !is_ended(called->status)) continue;
      const std::optional<RunRow> now = store_.run(run_);
      if (!now || now->head != state.seq) return;
      find(state.seq, "call",
           "Expected step " + std::to_string(id) + " to end with run " + to_string(step.child) +
               ", which it called and which is " + std::string(to_string(called->status)) + ", but it waits for it.");
    }
  }

  bool is_broken_off() const { return is_unreadable_ || audit_.is_enough(); }

  void find(std::int64_t seq, const char* kind, const std::string& says) {
    audited_.findings.push_back({run_, seq, kind, says});
  }
  void add(std::vector<Finding> findings) {
    std::move(findings.begin(), findings.end(), std::back_inserter(audited_.findings));
  }

  Store& store_;
  const RunId run_;
  const Shard shard_;
  const RunRecord record_;
  const TimeUs now_us_;
  std::optional<std::vector<EventRow>> first_;
  RunAudit audit_;
  Audited audited_;
  std::optional<UnsignedEnd> unsigned_;
  Auditor::Extent extent_ = Auditor::Extent::with_values_and_origin;
  bool is_surplus_ = false;  // the history has events beyond the head that the run's row knows
  bool is_unreadable_ = false;
  std::set<Hash> blobs_seen_;
  std::deque<std::int64_t> snapshots_;  // not yet checked
};

// Nothing if one of them cannot be read.
std::optional<std::vector<StoredHistory>> read_first(Store& store, const std::vector<RunPlace>& places) {
  std::vector<HistoryRequest> requests;
  for (const RunPlace& place : places) requests.push_back({place.run, before_all});
  try {
    return store.histories(requests, first_events_max);
  } catch (const CorruptHistory&) {
    return std::nullopt;
  }
}

std::vector<Kept> read_kept(Store& store, RunRecords& records, Shard shard, const std::vector<RunPlace>& places) {
  std::vector<RunId> runs;
  for (const RunPlace& place : places) runs.push_back(place.run);
  std::vector<RunRecord> found = records.records(shard, runs, fold_version);
  const TimeUs now_us = store.database_time();
  std::optional<std::vector<StoredHistory>> histories = read_first(store, places);
  std::vector<Kept> kept;
  for (std::size_t at = 0; at < places.size(); ++at) {
    kept.push_back({std::move(found[at]), now_us, {}});
    if (histories) kept.back().first = std::move((*histories)[at].events);
  }
  return kept;
}

bool has_unsupported(const Audited& audited) {
  return std::any_of(audited.findings.begin(), audited.findings.end(),
                     [](const Finding& finding) { return finding.kind == "unsupported"; });
}

}  // namespace

Auditor::Auditor(Store& store, RunRecords& records, Extent extent, const SignedUntil* signed_until)
    : store_(store), records_(records), extent_(extent), signed_until_(signed_until) {
  learn_graphs();
}

// True if there was a new one. One that cannot be read is as good as none: its runs say so.
bool Auditor::learn_graphs() {
  bool is_new = false;
  for (const GraphRow& row : store_.graphs().all()) {
    if (graphs_.by_version(row.version) != nullptr) continue;
    Result<GraphRef> graph = graph_of(row, graphs_);
    if (!graph) continue;
    graphs_.add(*std::move(graph), row.current);
    is_new = true;
  }
  return is_new;
}

bool Auditor::is_kept(const RunPlace& place) {
  const RunRecord record = records_.record(place.run, fold_version);
  if (record.run || !record.run_readable || has_derived_rows(record)) return true;
  try {
    return !store_.events(place.run, 0, 1).empty();
  } catch (const CorruptHistory&) {
    return true;
  }
}

bool Auditor::is_misplaced(const RunPlace& place) const {
  return shard_of(place.run, records_.shards()) != place.shard;
}

void Auditor::audit(const std::vector<RunPlace>& places, const std::function<void(const RunPlace&, Audited)>& done) {
  std::map<Shard, std::vector<RunPlace>> by_shard;
  for (const RunPlace& place : places)
    is_misplaced(place) ? done(place, audit(place)) : by_shard[place.shard].push_back(place);
  for (const auto& [shard, here] : by_shard) {
    std::vector<Kept> kept = read_kept(store_, records_, shard, here);
    for (std::size_t at = 0; at < here.size(); ++at) {
      Audited audited =
          unless_gone(here[at], OneAudit(store_, graphs_, here[at], std::move(kept[at]), signed_until_).audit(extent_));
      done(here[at], has_unsupported(audited) && learn_graphs() ? audit(here[at]) : std::move(audited));
    }
  }
}

Audited Auditor::audit(const RunPlace& place) {
  if (is_misplaced(place)) {
    const std::string says = "Expected the run on shard " + std::to_string(shard_of(place.run, records_.shards())) +
                             ", but found rows of it on shard " + std::to_string(place.shard) + ".";
    Audited audited;
    audited.findings.push_back({place.run, 0, "misplaced", says});
    return audited;
  }
  Audited audited = audit_again(place);
  return has_unsupported(audited) && learn_graphs() ? audit_again(place) : audited;
}

Audited Auditor::audit_again(const RunPlace& place) {
  Kept kept{records_.record(place.run, fold_version), store_.database_time(), {}};
  return unless_gone(place, OneAudit(store_, graphs_, place, std::move(kept), signed_until_).audit(extent_));
}

// A run that is removed after its row was read, and before its events are, looks like one whose history was cut. It
// is looked at once more; its tombstone, which checkpoints are compared with, says whether it was removed rightly.
Audited Auditor::unless_gone(const RunPlace& place, Audited audited) {
  if (audited.findings.empty()) return audited;
  RunRecord now = records_.record(place.run, fold_version);
  if (now.run || !now.run_readable) return audited;
  Kept kept{std::move(now), store_.database_time(), {}};
  return OneAudit(store_, graphs_, place, std::move(kept), signed_until_).audit(extent_);
}

bool Auditor::rebuild(const RunPlace& place, Audited& audited) {
  if (audited.is_leftover) return remove_leftover(place, audited);
  for (int tries = 0; tries < rebuild_tries && audited.wanted && !audited.findings.empty(); ++tries) {
    const bool is_written =
        records_.repair(place.run, audited.wanted->run.head, fold_version, [&](const RunRecord& found) {
          Repair repair = repair_of(*audited.wanted, found, store_.database_time());
          repair.snapshots = audited.wrong_snapshots;
          return repair;
        });
    audited = audit(place);
    if (is_written) return true;
  }
  return false;
}

bool Auditor::remove_leftover(const RunPlace& place, Audited& audited) {
  const bool is_removed = records_.remove_leftovers(place.shard, place.run);
  audited = audit(place);
  return is_removed;
}

std::vector<Finding> graph_findings(const std::vector<GraphRow>& graphs) {
  std::vector<Finding> findings;
  for (const GraphRow& row : graphs) {
    const std::string version = graph_version(row.text);
    if (version == row.version) continue;
    findings.push_back({{},
                        0,
                        "graph",
                        "Expected the text of graph " + row.name + " to have the hash " + row.version +
                            ", which is its version, but found " + version + "."});
  }
  return findings;
}

}  // namespace cairn
