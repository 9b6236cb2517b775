#include "tests/storage/test_runs.hpp"

#include <random>

#include "storage/chain.hpp"

namespace cairn::test {

RunId run_on(Shard shard, std::int32_t shards) {
  thread_local std::mt19937_64 random{std::random_device{}()};
  RunId id;
  do {
    for (std::uint8_t& byte : id.bytes) byte = static_cast<std::uint8_t>(random());
  } while (shard_of(id, shards) != shard);
  return id;
}

Job job_of(BranchId branch, StepId step, TimeUs run_at_us, std::string queue, std::int32_t priority) {
  Job job;
  job.branch = branch;
  job.step = step;
  job.run_at_us = run_at_us;
  job.queue = std::move(queue);
  job.priority = priority;
  return job;
}

namespace {
JobWrite write_of(JobWrite::Op op, Job job, SessionId session = 0) {
  JobWrite write;
  write.op = op;
  write.job = std::move(job);
  write.session = session;
  return write;
}
}  // namespace

JobWrite offer(Job job) { return write_of(JobWrite::Op::offer, std::move(job)); }
JobWrite keep(Job job) { return write_of(JobWrite::Op::keep, std::move(job)); }
JobWrite hold(Job job, SessionId session) { return write_of(JobWrite::Op::insert_held, std::move(job), session); }
JobWrite adjust(Job job) { return write_of(JobWrite::Op::adjust, std::move(job)); }
JobWrite drop(BranchId branch) { return write_of(JobWrite::Op::drop, job_of(branch, 0)); }

Fence fence_of(const HeldJob& held) { return {held.job.branch, held.session, held.epoch, held.job.step}; }

TestRun::TestRun(Store& store, Shard shard) : store_(store), shard_(shard) {
  row.id = run_on(shard, store.shards());
  row.graph = "test_graph";
  row.version = std::string(64, 'a');
  row.started_at = noon;
  row.updated_at = noon;
}

Entry TestRun::entry(int events) const {
  Entry entry;
  entry.run = row;
  entry.head_before = head;
  entry.chain_before = chain_hash;
  for (int n = 1; n <= events; ++n) {
    EventRow event;
    event.seq = head + n;
    event.at_us = noon + event.seq;
    event.type = static_cast<std::int16_t>(event.seq == 1 ? 1 : 8);
    event.version = 1;
    event.step = static_cast<StepId>(event.seq - 1);
    event.actor = event.seq == 1 ? "user:ann" : "";
    event.payload = R"({"seq":)" + std::to_string(event.seq) + R"(,"text":"Öl \" é"})";
    entry.events.push_back(std::move(event));
  }
  return entry;
}

Verdict TestRun::commit(const Entry& entry) {
  Verdict verdict = store_.commit(shard_, std::span(&entry, 1), {}).at(0);
  moved(entry, verdict);
  return verdict;
}

void TestRun::moved(const Entry& entry, const Verdict& verdict) {
  if (verdict.kind != Verdict::Kind::committed) return;
  row = entry.run;
  head = verdict.head;
  chain_hash = verdict.chain_hash;
}

Verdict TestRun::start(Job job) {
  Entry first = entry();
  first.jobs.push_back(offer(std::move(job)));
  return commit(first);
}

ClaimRequest claim_request(SessionId session, std::int32_t limit, Shard shard) {
  ClaimRequest request;
  request.shard = shard;
  request.queues = {"default"};
  request.session = session;
  request.limit = limit;
  request.now_us = noon + 100'000;
  request.default_timeout_ms = 60'000;
  return request;
}

std::string chain_fault(Store& store, const RunId& run) {
  const auto row = store.run(run);
  if (!row) return "there is no such run";
  Hash hash = chain_start(run, row->version);
  std::int64_t seq = 0;
  for (;;) {
    const std::vector<EventRow> page = store.events(run, seq, 100);
    if (page.empty()) break;
    for (const EventRow& event : page) {
      if (event.seq != ++seq) return "event " + std::to_string(seq) + " is missing";
      hash = chain_next(hash, shard_of(run, store.shards()), run, event);
      if (hash != event.chain_hash) return "event " + std::to_string(seq) + " has another hash";
    }
  }
  if (row->head != seq) return "the head is " + std::to_string(row->head) + " after " + std::to_string(seq) + " events";
  return row->chain_hash == hash ? "" : "the run row has another hash";
}

}  // namespace cairn::test
