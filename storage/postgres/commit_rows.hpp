// The rows of a commit as parameters of its statements: one array for each column. Not thread-safe.
#pragma once

#include <set>
#include <span>

#include "storage/postgres/connection.hpp"
#include "storage/store.hpp"

namespace cairn {

// Rows of insert_runs.sql: new runs as they are after their first commit.
class NewRunRows {
 public:
  void add(const Entry& entry, const Hash& chain_hash);
  std::size_t size() const { return id_.size(); }
  // `expected`: how many of the runs must not exist yet; nothing: any number. May be called again.
  void send(PgConnection& connection, Shard shard, std::optional<std::int64_t> expected) const;

 private:
  PgArray id_{PgType::uuid}, waiting_{PgType::boolean}, head_{PgType::int8}, started_at_{PgType::int8},
      updated_at_{PgType::int8}, parent_{PgType::uuid}, continues_{PgType::uuid}, chain_hash_{PgType::bytes},
      status_{PgType::text}, graph_{PgType::text}, version_{PgType::text}, reason_{PgType::text}, tags_{PgType::text},
      origin_{PgType::uuid}, origin_seq_{PgType::int8}, caller_knows_{PgType::boolean};
};

// Rows of offer_jobs.sql and of insert_questions.sql. `on_shard`: the shard. send() may be called again.
struct OfferedRows {
  void add(const RunId& of, const Job& job, std::int64_t with_epoch);
  void send(PgConnection& connection, const PgParameters& on_shard) const;  // does nothing without rows

  PgArray run{PgType::uuid}, branch{PgType::int4}, step{PgType::int4}, attempt{PgType::int4}, priority{PgType::int4},
      run_at{PgType::int8}, epoch{PgType::int8}, timeout_ms{PgType::int8}, queue{PgType::text};
};
struct AskedRows {
  void add(const RunId& of, const QuestionRow& question);
  void send(PgConnection& connection, const PgParameters& on_shard) const;  // does nothing without rows

  PgArray run{PgType::uuid}, id{PgType::text}, step{PgType::int4}, asked_at{PgType::int8}, expires_at{PgType::int8},
      kind{PgType::text}, prompt{PgType::text}, schema{PgType::text}, fallback{PgType::text};
};

// The sqlstate of division by zero, by which a statement says that it did not find its rows as expected. A statement
// cannot raise an error by itself, and one without an error would let the transaction commit; so the statements that
// check something select `1 / (condition)::int`, which fails and ends the transaction unless the condition is true.
inline constexpr std::string_view not_as_expected = "22012";

// Everything else that entries write. REQUIRES: entries are added in order of their runs' ids. Each statement checks
// what the entries expect: the heads of runs (optimistic concurrency) and the fences of jobs (fencing tokens). The
// first statement that finds them different fails as `not_as_expected`.
class Writes {
 public:
  void add(const Entry& entry, std::span<const Hash> hashes);
  // Sends the statements that have rows into the open pipeline. May be called again with the same rows.
  void send(PgConnection& connection, Shard shard, std::int64_t commit);

 private:
  void add_events(const Entry& entry, std::span<const Hash> hashes);
  void add_run(const Entry& entry, const Hash& chain_hash);
  void add_job(const Entry& entry, const JobWrite& write, const Fence* fence);
  void add_unwritten_fences(const Entry& entry);
  void add_questions(const Entry& entry);
  void add_uses(const Entry& entry);
  struct Fenced;
  static void send_fenced(PgConnection& connection, std::string_view name, const PgParameters& on_shard,
                          const Fenced& rows);

  struct Events {
    PgArray run{PgType::uuid}, seq{PgType::int8}, at{PgType::int8}, type{PgType::int2}, version{PgType::int2},
        step{PgType::int4}, chain_hash{PgType::bytes}, actor{PgType::text}, payload{PgType::text};
  } events_;
  struct Runs {
    PgArray id{PgType::uuid}, head{PgType::int8}, chain_hash{PgType::bytes}, status{PgType::text},
        waiting{PgType::boolean}, updated_at{PgType::int8}, version{PgType::text}, reason{PgType::text},
        head_before{PgType::int8}, chain_before{PgType::bytes}, caller_knows{PgType::boolean};
  } runs_;
  struct Keeps {
    PgArray run{PgType::uuid}, branch{PgType::int4}, step{PgType::int4}, attempt{PgType::int4},
        timeout_ms{PgType::int8}, deadline{PgType::int8}, session{PgType::int8}, epoch{PgType::int8},
        held_step{PgType::int4};
  } keeps_;
  OfferedRows offers_;
  struct Holds {
    PgArray run{PgType::uuid}, branch{PgType::int4}, step{PgType::int4}, attempt{PgType::int4}, priority{PgType::int4},
        run_at{PgType::int8}, session{PgType::int8}, deadline{PgType::int8}, timeout_ms{PgType::int8},
        queue{PgType::text};
    std::set<std::string> queues;
  } holds_;
  struct Adjustments {
    PgArray run{PgType::uuid}, branch{PgType::int4}, queue{PgType::text}, priority{PgType::int4}, run_at{PgType::int8},
        timeout_ms{PgType::int8};
  } adjustments_;
  struct Fenced {
    PgArray run{PgType::uuid}, branch{PgType::int4}, session{PgType::int8}, epoch{PgType::int8},
        held_step{PgType::int4};
    std::int64_t expected = 0;
    void add(const RunId& id, BranchId of, const Fence* fence);
  } drops_, unwritten_fences_;
  struct Uses {
    PgArray run{PgType::uuid}, branch{PgType::int4}, tokens{PgType::int8}, cost{PgType::int8};
  } uses_;                       // of models
  PgArray ended_{PgType::uuid};  // runs without snapshots from now on
  AskedRows asked_;
  struct ClosedQuestions {
    PgArray run{PgType::uuid}, id{PgType::text};
  } closed_;
};

}  // namespace cairn
