#include "ops/bench/rig/limit.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <stdexcept>
#include <thread>

#include "engine/event.hpp"
#include "ops/service/database.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "workers/ids.hpp"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int lanes = 2;
constexpr std::int32_t batch_runs = 500;
constexpr std::int64_t timeout_ms = 600'000;
constexpr int claims_max = 10'000;  // empty ones in a row before something is wrong

TimeUs now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// A run on its way: what a worker would have cached of it.
struct Under {
  Entry entry;
  std::int64_t epoch = 0;
};

class Lane {
 public:
  Lane(const std::string& dsn, const CannedRun& run, int number)
      : run_(run), queue_("bench." + std::to_string(number)) {
    PostgresOptions options;
    options.dsn = dsn;
    options.connections_max = 1;
    options.notify = false;
    Result<std::unique_ptr<Store>> store = open_postgres_store(options);
    if (!store) throw std::runtime_error(store.error().message);
    store_ = *std::move(store);
    session_ = new_session_id();
    store_->sessions().open({session_, "bench", number, {queue_}, 0, now_us(), 0});
  }
  ~Lane() { store_->sessions().close(session_); }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // The steps recorded.
  std::int64_t do_batch(std::int32_t runs) {
    start(runs);
    claim(runs);
    for (std::size_t i = 1; i < run_.commits.size(); ++i) move(i);
    under_.clear();
    return run_.steps() * runs;
  }

  void only_start(std::int32_t runs) {
    start(runs);
    under_.clear();
  }

 private:
  void start(std::int32_t runs) {
    const RunId base = new_run_id();
    for (std::int32_t i = 0; i < runs; ++i) {
      const RunId id = plus(base, static_cast<std::uint32_t>(i));
      Under& under = under_[id];
      under.entry.run = run_.row;
      under.entry.run.id = id;
      under.entry.run.status = RunStatus::running;
      under.entry.run.started_at = now_us();
      fill(under, 0);
      under.entry.jobs = {{JobWrite::Op::offer, job(1), 0}};
    }
    commit();
  }

  void claim(std::int32_t runs) {
    ClaimRequest request;
    request.queues = {queue_};
    request.session = session_;
    request.default_timeout_ms = timeout_ms;
    std::int32_t taken = 0;
    for (int empty = 0; taken < runs; ++empty) {
      if (empty > claims_max)
        throw std::runtime_error("Expected to claim the runs just started, but they are not offered.");
      request.limit = runs - taken;
      request.now_us = now_us();
      for (const HeldJob& held : store_->claim(request).jobs) {
        under_.at(held.run).epoch = held.epoch;
        ++taken;
        empty = 0;
      }
    }
  }

  void move(std::size_t index) {
    const StepId step = static_cast<StepId>(index);
    const bool last = index + 1 == run_.commits.size();
    const TimeUs deadline = now_us() + timeout_ms * 1'000;
    for (auto& [id, under] : under_) {
      fill(under, index);
      under.entry.fences = {{root_branch, session_, under.epoch, step}};
      if (last) under.entry.run.status = run_.row.status;
      under.entry.jobs = {{last ? JobWrite::Op::drop : JobWrite::Op::keep, job(last ? step : step + 1), 0, deadline}};
    }
    commit();
  }

  void fill(Under& under, std::size_t index) {
    under.entry.events = run_.commits[index];
    const TimeUs now = now_us();
    for (EventRow& event : under.entry.events) event.at_us = now;
    under.entry.run.updated_at = now;
  }

  Job job(StepId step) const {
    Job job;
    job.branch = root_branch;
    job.step = step;
    job.queue = queue_;
    job.run_at_us = now_us();
    return job;
  }

  void commit() {
    std::vector<Entry> batch;
    batch.reserve(under_.size());
    for (auto& [id, under] : under_) batch.push_back(std::move(under.entry));
    const std::vector<Verdict> verdicts = store_->commit(0, batch, {});
    std::size_t i = 0;
    for (auto& [id, under] : under_) {
      under.entry = std::move(batch[i]);
      const Verdict& verdict = verdicts[i++];
      if (verdict.kind != Verdict::Kind::committed)
        throw std::runtime_error("Expected a commit of the limit's loop to count, but it did not.");
      under.entry.head_before = verdict.head;
      under.entry.chain_before = verdict.chain_hash;
    }
  }

  const CannedRun& run_;
  std::string queue_;
  std::unique_ptr<Store> store_;
  SessionId session_ = 0;
  std::map<RunId, Under> under_;
};

}  // namespace

CannedRun canned_run(Store& store, const RunRow& row) {
  CannedRun canned{row, {}};
  bool begins = true;
  for (EventRow& event : store.events(row.id, 0, 1'000)) {
    const std::string_view type = event_type_name(event.type).value_or("");
    if (begins && type != "run_finished") canned.commits.emplace_back();
    begins = type == "run_started" || type == "step_succeeded";
    canned.commits.back().push_back(std::move(event));
  }
  CHECK(!canned.commits.empty());
  return canned;
}

LimitReport measure_limit(const std::string& dsn, const CannedRun& run, const Extent& extent) {
  std::vector<std::unique_ptr<Lane>> under_way;
  for (int i = 0; i < lanes; ++i) under_way.push_back(std::make_unique<Lane>(dsn, run, i));
  std::atomic<std::int64_t> left{extent.runs > 0 ? extent.runs : std::int64_t{1} << 40};
  std::atomic<std::int64_t> steps{0};
  std::vector<std::exception_ptr> faults(lanes);
  const Clock::time_point begin = Clock::now();
  const Clock::time_point end = begin + std::chrono::seconds(extent.runs > 0 ? 86'400 : extent.seconds);
  const auto drive = [&](Lane& lane, std::exception_ptr& fault) {
    try {
      for (std::int64_t mine = 0; Clock::now() < end && (mine = left.fetch_sub(batch_runs)) > 0;)
        steps += lane.do_batch(static_cast<std::int32_t>(std::min<std::int64_t>(mine, batch_runs)));
    } catch (...) {
      fault = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < lanes; ++i)
    threads.emplace_back([&drive, &under_way, &faults, i] { drive(*under_way[i], faults[i]); });
  for (std::thread& thread : threads) thread.join();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  for (const std::exception_ptr& fault : faults)
    if (fault) std::rethrow_exception(fault);
  return {steps / run.steps(), steps, seconds};
}

LimitReport measure_limit_of_starts(const std::string& dsn, const CannedRun& run, const Extent& extent) {
  Lane lane(dsn, run, 0);
  const Clock::time_point begin = Clock::now();
  const Clock::time_point end = begin + std::chrono::seconds(extent.seconds);
  LimitReport report;
  while (extent.runs > 0 ? report.runs < extent.runs : Clock::now() < end) {
    const std::int64_t most = extent.runs > 0 ? extent.runs - report.runs : batch_runs;
    const auto count = static_cast<std::int32_t>(std::min<std::int64_t>(most, batch_runs));
    lane.only_start(count);
    report.runs += count;
  }
  report.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return report;
}

std::vector<double> measure_limit_alone(const std::string& dsn, const CannedRun& run, int count) {
  Lane lane(dsn, run, 0);
  std::vector<double> times;
  for (int n = 0; n < count; ++n) {
    const Clock::time_point begin = Clock::now();
    lane.do_batch(1);
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  return times;
}

}  // namespace cairn
