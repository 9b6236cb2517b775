// A worker that executes one run: to its end, or until the commit that brings the run's head to a given event, after
// which the process is gone without a word. The crash is here, in a store around the real one; the product has none.
//   crash_worker DSN RUN EVENT      EVENT 0: no crash; negative: just before the commit that brings the head there;
//                                   exit 137 after the crash, 0 when the run has ended or waits
#include <cstdlib>
#include <unistd.h>

#include "storage/postgres/store/postgres_store.hpp"
#include "tests/storage/forwarding_store.hpp"
#include "workers/catalogue.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn {
namespace {

class CrashingStore final : public test::ForwardingStore {
 public:
  CrashingStore(Store& store, const RunId& run, std::int64_t event)
      : ForwardingStore(store), run_(run), event_(event) {}

  std::vector<Verdict> commit(Shard shard, std::span<const Entry> batch, CommitOptions options) override {
    for (const Entry& entry : batch)
      if (event_ < 0 && entry.run.id == run_ && entry.events.back().seq >= -event_) _exit(137);
    std::vector<Verdict> verdicts = store_.commit(shard, batch, options);
    for (std::size_t i = 0; i < batch.size(); ++i)
      if (event_ > 0 && batch[i].run.id == run_ && verdicts[i].kind == Verdict::Kind::committed &&
          verdicts[i].head >= event_)
        _exit(137);
    return verdicts;
  }

 private:
  RunId run_;
  std::int64_t event_;
};

int execute(const std::string& dsn, const RunId& run, std::int64_t event) {
  PostgresOptions database;
  database.dsn = dsn;
  Result<std::unique_ptr<Store>> store = open_postgres_store(database);
  Result<std::unique_ptr<Catalogue>> catalogue = make_catalogue(catalogue_options_from_environment());
  if (!store || !catalogue || !make_ready_to_work(**catalogue)) return 2;
  (*catalogue)->use_database(dsn, dsn);
  CrashingStore crashing(**store, run, event);
  WorkerOptions options;
  options.only_runs = {run};
  options.poll_ms = 20;
  options.beat_ms = 50;
  options.dead_after_ms = 250;
  options.until = [&] {
    const std::optional<RunRow> row = (*store)->run(run);
    return !row || is_ended(row->status) || row->waiting;
  };
  Worker(crashing, **catalogue, options).run();
  return 0;
}

}  // namespace
}  // namespace cairn

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::optional<cairn::RunId> run = cairn::parse_run_id(argv[2]);
  return run ? cairn::execute(argv[1], *run, std::atoll(argv[3])) : 2;
}
