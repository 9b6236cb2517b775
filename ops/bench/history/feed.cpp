// Events per second that one `cairn feed read` prints into a pipe, from the history and from commits; and the cost of a
// consumer for those who commit.
#include "storage/feed/feed.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/copies.hpp"
#include "ops/bench/rig/meter.hpp"
#include "ops/bench/rig/rig.hpp"
#include "ops/terminal/child_process.hpp"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t room_of_read = 1 << 16;
constexpr std::string_view cursor_line = R"({"cursor":)";
constexpr std::int64_t starts_at_once = 500;
constexpr std::int64_t events_per_run = 30;  // about
constexpr int turns_of_cost = 3;

struct FeedRead {
  std::int64_t events = 0;
  std::int64_t bytes = 0;
  double seconds = 0;

  Json line() const {
    return {{"value", std::round(static_cast<double>(events) / seconds)},
            {"events", events},
            {"mb_per_s", std::round(static_cast<double>(bytes) / seconds / 1e6)}};
  }
};

// Counts lines of `cairn feed read --json`.
class LineCount {
 public:
  void take(std::string_view text) {
    bytes_ += static_cast<std::int64_t>(text.size());
    for (const char c : text) {
      if (c == '\n') {
        if (begin_ != cursor_line) ++events_;
        begin_.clear();
      } else if (begin_.size() < cursor_line.size()) {
        begin_ += c;
      }
    }
  }
  std::int64_t events() const { return events_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::string begin_;  // of the line that is read
  std::int64_t events_ = 0;
  std::int64_t bytes_ = 0;
};

// By `cairn feed read` in a process of its own, whose lines come through a pipe. Each page ends with a line that has
// the cursor alone.
FeedRead read_to_end(const FreshDatabase& database, const std::string& name) {
  const Clock::time_point begin = Clock::now();
  ChildProcess process({{"feed", "read", name, "--json", "--dsn", database.dsn()}, database.settings(), true});
  LineCount lines;
  std::vector<char> room(room_of_read);
  while (const std::size_t got = process.read_some(room)) lines.take({room.data(), got});
  FeedRead read{lines.events(), lines.bytes(), ms_between(begin, Clock::now()) / 1'000};
  if (process.wait() != 0) throw std::runtime_error("Expected `cairn feed read` to end well, but it broke.");
  return read;
}

void add(Feed& feed, const std::string& name, FeedStart from) {
  if (const Status added = feed.add({.name = name, .created_by = "bench"}, from); !added)
    throw std::runtime_error(added.error().message);
}

void remove(Feed& feed, const std::string& name) {
  if (const Status removed = feed.remove(name); !removed) throw std::runtime_error(removed.error().message);
}

// Steps per second of new runs on worker processes.
double steps_per_second(FreshDatabase& database, Opened& opened, std::int64_t runs, std::int64_t& ended) {
  const WorkerProcesses workers(database, 2);
  const Clock::time_point begin = Clock::now();
  for (std::int64_t started = 0; started < runs; started += starts_at_once)
    start_runs(*opened.client, "bench_steps", std::min(starts_at_once, runs - started), {{"goal", "g"}});
  ended += runs;
  wait_for_all(database, ended);
  return static_cast<double>(runs) * 10 / (ms_between(begin, Clock::now()) / 1'000);
}

}  // namespace

Result<Json> measure_feed(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  Feed feed(database.dsn(), opened->store->shards(), opened->store->identity());
  const std::int64_t runs = options.runs > 0 ? options.runs : 3'000;
  std::int64_t ended = 0;
  double without = 0, with = 0;
  FeedRead commits;
  for (int turn = 0; turn < turns_of_cost; ++turn) {
    without += steps_per_second(database, *opened, runs, ended) / turns_of_cost;
    add(feed, "commits", FeedStart::now);
    with += steps_per_second(database, *opened, runs, ended) / turns_of_cost;
    commits = read_to_end(database, "commits");
    remove(feed, "commits");
  }
  RunFilter one;
  one.limit = 1;
  const Copies copies(database, opened->store->runs(one).front().id, options.events / events_per_run);
  server.checkpoint();
  add(feed, "history", FeedStart::history);
  Json line = commits.line();
  line["unit"] = "events/s";
  line["limit"] = 100'000;
  line["ratio"] = rounded(static_cast<double>(commits.events) / commits.seconds / 100'000, 1'000);
  line["history"] = read_to_end(database, "history").line();
  line["steps_per_s_without_consumer"] = std::round(without);
  line["steps_per_s_with_consumer"] = std::round(with);
  line["cost"] = rounded(with / without, 1'000);
  return line;
}

}  // namespace cairn
