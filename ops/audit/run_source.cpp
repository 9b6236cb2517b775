#include "ops/audit/run_source.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "ops/requests/run_filter.hpp"
#include "ops/requests/run_ids.hpp"

namespace cairn {
namespace {

constexpr std::int32_t page_runs = 100;
constexpr int threads_max = 16;  // each has two connections

// The state shared by the threads.
class Shared {
 public:
  explicit Shared(const RunSource& source) : source_(source) {}

  std::vector<RunPlace> next() {
    const std::lock_guard lock(mutex_);
    if (fault_ || is_over_) return {};
    std::vector<RunPlace> page = source_();
    is_over_ = page.empty();
    return page;
  }

  void work(const std::function<UseRuns()>& begin) {
    try {
      const UseRuns use = begin();
      for (std::vector<RunPlace> page = next(); !page.empty(); page = next()) use(page);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!fault_) fault_ = std::current_exception();
    }
  }

  void rethrow() const {
    if (fault_) std::rethrow_exception(fault_);
  }

 private:
  const RunSource& source_;
  std::mutex mutex_;
  bool is_over_ = false;
  std::exception_ptr fault_;
};

}  // namespace

Result<RunSource> selected_runs(Store& store, const RunSelection& selection) {
  const Result<RunFilter> where = known_filter(store, selection.where.value_or(RunQuery{}));
  if (!where) return where.error();
  if (selection.runs.empty()) return matching_runs(store, unlimited(*where));
  std::vector<RunPlace> places;
  for (const std::string& text : selection.runs) {
    const Result<RunId> run = run_meant(store, text);
    if (!run) return run.error();
    if (!store.run(*run)) return no_such_run(text);
    places.push_back({*run, shard_of(*run, store.shards())});
  }
  return these_runs(std::move(places));
}

RunSource these_runs(std::vector<RunPlace> runs) {
  return [runs = std::move(runs), given = std::size_t{0}]() mutable {
    const std::size_t count = std::min<std::size_t>(page_runs, runs.size() - given);
    const auto first = runs.begin() + static_cast<std::ptrdiff_t>(std::exchange(given, given + count));
    return std::vector<RunPlace>(first, first + static_cast<std::ptrdiff_t>(count));
  };
}

RunSource matching_runs(Store& store, const RunFilter& filter) {
  return [pages = RunPages(store, filter), shards = store.shards()]() mutable {
    std::vector<RunPlace> runs;
    for (const RunRow& row : pages.next()) runs.push_back({row.id, shard_of(row.id, shards)});
    return runs;
  };
}

// Up to the last id at the time the shard was begun: new runs could otherwise keep this from ending.
RunSource all_runs(RunRecords& records) {
  return [&records, shard = Shard{0}, after = RunId{}, last = RunId{}]() mutable {
    std::vector<RunPlace> runs;
    for (; shard < records.shards(); ++shard, after = {}) {
      if (after.is_nil()) last = records.last_id(shard);
      for (const RunId& id : records.ids(shard, after, page_runs))
        if (id <= last) runs.push_back({id, shard});
      if (runs.empty()) continue;
      after = runs.back().run;
      break;
    }
    return runs;
  };
}

int audit_threads() { return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, threads_max); }

void for_each_page(const RunSource& source, int threads, const std::function<UseRuns()>& begin) {
  Shared shared(source);
  std::vector<std::thread> others;
  try {
    for (int n = 1; n < threads; ++n) others.emplace_back([&] { shared.work(begin); });
  } catch (const std::system_error&) {  // no more can be started: those that were do it all
  }
  shared.work(begin);
  for (std::thread& thread : others) thread.join();
  shared.rethrow();
}

}  // namespace cairn
