// A steady load for long, with schedules, a client of the API, a worker that is killed again and again, connections
// that are cut, and a consumer of the feed that lags: what the lasting processes and the database hold is sampled, and
// must be flat once it is warm.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <cmath>
#include <map>
#include <stdexcept>
#include <thread>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/flatness.hpp"
#include "ops/bench/rig/meter.hpp"
#include "ops/bench/rig/process_sample.hpp"
#include "ops/bench/rig/rig.hpp"
#include "ops/bench/rig/serve_process.hpp"
#include "storage/feed/feed.hpp"
#include "storage/schedules/schedule_table.hpp"
#include "workers/ports/http_client.hpp"
#include "workers/schedules/schedule_desk.hpp"

namespace cairn {
namespace {

using SoakClock = std::chrono::steady_clock;

constexpr int runs_a_second = 20;
constexpr int schedules_of_soak = 20;
constexpr std::int64_t schedule_every_ms = 2'000;
constexpr std::chrono::seconds kill_every{15};
constexpr int lags_wanted = 12;  // so often the consumer of the feed reads all that has come
constexpr int cuts_wanted = 12;  // so often all connections to the database are cut
constexpr std::chrono::seconds cut_pause_least{5};
constexpr int samples_wanted = 40;
constexpr std::int32_t events_of_page = 10'000;
constexpr int rows_shown = 12;

// Something that is sampled, and what it may rise by without having grown: a page, a vacuum that is due.
struct Measure {
  const char* name;
  Slack slack;
};
constexpr Measure measures[] = {{"worker_mb", {3, 0.05}},          {"worker_descriptors", {3, 0.1}},
                                {"serve_mb", {3, 0.05}},           {"serve_descriptors", {3, 0.1}},
                                {"connections", {3, 0.1}},         {"jobs", {100, 0}},
                                {"dead_rows", {2'500, 0.25}},      {"working_table_mb", {0.25, 0.1}},
                                {"working_index_mb", {0.25, 0.1}}, {"history_bytes_of_event", {20, 0.02}}};

constexpr double megabyte = 1'048'576;

// A time that comes again and again.
class SoakTimer {
 public:
  SoakTimer(SoakClock::time_point begun, SoakClock::duration pause) : pause_(pause), due_(begun + pause) {}
  bool is_due() {
    if (SoakClock::now() < due_) return false;
    due_ += pause_;
    return true;
  }

 private:
  const SoakClock::duration pause_;
  SoakClock::time_point due_;
};

// A client of the API that waits for each answer.
class SoakReader {
 public:
  bool has_answer(const std::string& url) {
    HttpRequest request;
    request.url = url;
    request.method = "GET";
    auto sent = boost::asio::co_spawn(io_, http_.send(std::move(request)), boost::asio::use_future);
    io_.restart();
    io_.run();
    const HttpResult answer = sent.get();
    return answer && answer->status == 200;
  }

 private:
  boost::asio::io_context io_;
  HttpClient http_;
};

// All that runs for the whole time: a server that fires the schedules, a worker, and one that is killed and replaced.
class Soak {
 public:
  Soak(FreshDatabase& database, Opened& opened)
      : database_(database), opened_(opened), serve_(database), lasting_(database, 1) {
    if (const Status added = feed_.add({.name = consumer, .created_by = "bench"}, FeedStart::now); !added)
      throw std::runtime_error(added.error().message);
    replace();
    add_schedules();
  }

  // Starts the runs of a second.
  void load() {
    start_runs(*opened_.client, "bench_steps", runs_a_second, Json::object());
    started_ += runs_a_second;
  }

  // The requests of a console and of a Prometheus.
  void read() {
    const std::string api = serve_.url(), root = api.substr(0, api.rfind("/api/"));
    for (const std::string& url : {api + "/runs?limit=100", root + "/metrics"}) {
      ++requests_;
      if (!reader_.has_answer(url)) ++unanswered_;
    }
  }

  // Those of all processes, as when the database is started again.
  void cut_connections() {
    database_.administration().query("bench_soak_cut");
    ++cuts_;
  }

  void kill_and_replace() {
    killed_->kill();
    ++kills_;
    replace();
  }

  // The consumer takes all that has come since it did so last, and its rows go.
  void read_feed() {
    std::string cursor;
    for (bool is_last = false; !is_last;) {
      const Result<FeedPage> page = feed_.page(consumer, cursor, events_of_page);
      if (!page) throw std::runtime_error(page.error().message);
      cursor = to_text(page->cursor);
      fed_ += std::ssize(page->events);
      is_last = page->is_last;
    }
    if (const Status confirmed = feed_.confirm(consumer, cursor); !confirmed)
      throw std::runtime_error(confirmed.error().message);
  }

  Json sample() {
    const AdminRows rows = database_.administration().query("bench_soak");
    const FreshDatabase::Runs runs = database_.runs();
    Json row = {{"events", runs.events}, {"connections", rows.number(0, 0)}, {"jobs", rows.number(0, 1)}};
    row["dead_rows"] = rows.number(0, 2);
    const double table = static_cast<double>(rows.number(0, 3)), index = static_cast<double>(rows.number(0, 4));
    row["working_mb"] = rounded((table + index) / megabyte, 10);
    row["working_table_mb"] = rounded(table / megabyte, 100);
    row["working_index_mb"] = rounded(index / megabyte, 100);
    row["history_bytes_of_event"] = std::round(static_cast<double>(rows.number(0, 5)) /
                                               static_cast<double>(std::max<std::int64_t>(runs.events, 1)));
    add(row, "worker", lasting_.pids().front());
    add(row, "serve", serve_.pid());
    return row;
  }

  // The bytes of each table of what is at work, and of each of its indexes.
  std::map<std::string, double> sizes() {
    const AdminRows rows = database_.administration().query("bench_soak_sizes");
    rows.expect_columns({"name", "bytes"});
    std::map<std::string, double> found;
    for (std::size_t row = 0; row < rows.size(); ++row)
      found[rows.text(row, 0)] = static_cast<double>(rows.number(row, 1));
    return found;
  }

  // No schedule fires any more; all that was started ends.
  void end() {
    for (const std::string& name : schedules_)
      if (const Status removed = desk_.remove(name, "bench"); !removed)
        throw std::runtime_error(removed.error().message);
    wait_for_all(database_, database_.runs().all);
    if (database_.runs().all < started_) throw std::runtime_error("Expected each run that was started to be there.");
  }

  // How often it has done each of these.
  void add_counts(Json& to) const {
    to.update({{"kills", kills_},
               {"cuts", cuts_},
               {"requests", requests_},
               {"requests_without_answer", unanswered_},
               {"events_of_feed", fed_}});
  }

 private:
  static constexpr const char* consumer = "lagging";

  void replace() { killed_ = std::make_unique<WorkerProcesses>(database_, 1); }

  void add_schedules() {
    const Result<ScheduleDefinition> definition = parse_schedule({{"graph", "bench_steps"},
                                                                  {"every_ms", schedule_every_ms},
                                                                  {"overlap", "allow_all"},
                                                                  {"input", Json::object()}});
    if (!definition) throw std::runtime_error(definition.error().message);
    for (int n = 0; n < schedules_of_soak; ++n) {
      schedules_.push_back("soak" + std::to_string(n));
      if (const Status added = desk_.add(schedules_.back(), *definition, "bench"); !added)
        throw std::runtime_error(added.error().message);
    }
  }

  static void add(Json& row, const std::string& whose, pid_t pid) {
    const std::optional<ProcessSample> sample = sample_process(pid);
    if (!sample) throw std::runtime_error("Expected the " + whose + " process to last, but it ended.");
    row[whose + "_mb"] = rounded(sample->memory_mb, 10);
    row[whose + "_descriptors"] = sample->descriptors;
  }

  FreshDatabase& database_;
  Opened& opened_;
  ServeProcess serve_;
  WorkerProcesses lasting_;
  std::unique_ptr<WorkerProcesses> killed_;
  ScheduleTable table_{opened_.dsn, opened_.store->identity()};
  ZoneFiles zones_;
  ScheduleDesk desk_{table_.calls(), *opened_.store, *opened_.client, zones_};
  Feed feed_{opened_.dsn, opened_.store->shards(), opened_.store->identity()};
  std::vector<std::string> schedules_;
  std::int64_t started_ = 0;
  std::int64_t fed_ = 0;  // events that the consumer had
  SoakReader reader_;
  int kills_ = 0, cuts_ = 0;
  std::int64_t requests_ = 0, unanswered_ = 0;
};

// The first quarter is the time in which all gets warm.
Json growth_of(const std::vector<Json>& samples) {
  Json growth = Json::object();
  for (const Measure& measure : measures) {
    std::vector<double> values;
    for (const Json& sample : samples) values.push_back(sample.at(measure.name).get<double>());
    growth[measure.name] = rounded(growth_once_warm(values, measure.slack), 1'000);
  }
  return growth;
}

// Those that have become larger, by how much.
Json grown_mb(const std::map<std::string, double>& warm, const std::map<std::string, double>& end) {
  Json grown = Json::object();
  for (const auto& [name, bytes] : end) {
    const auto before = warm.find(name);
    const double more = bytes - (before == warm.end() ? 0 : before->second);
    if (more > 0) grown[name] = rounded(more / megabyte, 100);
  }
  return grown;
}

Json table_of(const std::vector<Json>& samples) {
  Json rows = Json::array();
  const std::size_t step = std::max<std::size_t>(samples.size() / rows_shown, 1);
  for (std::size_t at = 0; at < samples.size(); at += step) rows.push_back(samples[at]);
  return rows;
}

}  // namespace

Result<Json> measure_soak(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  server.checkpoint();
  Soak soak(database, *opened);
  const auto pause = std::chrono::milliseconds(std::max(options.soak_seconds * 1'000 / samples_wanted, 250));
  const auto begun = SoakClock::now();
  const auto until = begun + std::chrono::seconds(options.soak_seconds);
  std::vector<Json> samples;
  std::map<std::string, double> warm;
  const auto lag = std::max(std::chrono::milliseconds(options.soak_seconds * 1'000 / lags_wanted), pause);
  const auto cut =
      std::max<SoakClock::duration>(std::chrono::seconds(options.soak_seconds / cuts_wanted), cut_pause_least);
  SoakTimer kills(begun, kill_every), cuts(begun, cut), feeds(begun, lag);
  auto sample_at = begun + pause;
  for (auto second = begun; second < until; second += std::chrono::seconds(1)) {
    soak.load();
    soak.read();
    if (kills.is_due()) soak.kill_and_replace();
    if (cuts.is_due()) soak.cut_connections();
    if (feeds.is_due()) soak.read_feed();
    for (; sample_at <= second + std::chrono::seconds(1); sample_at += pause) {
      std::this_thread::sleep_until(sample_at);
      samples.push_back(soak.sample());
      if (samples.size() == samples_wanted / 4) warm = soak.sizes();
      samples.back()["at_minute"] = rounded(ms_between(begun, SoakClock::now()) / 60'000, 10);
    }
    std::this_thread::sleep_until(second + std::chrono::seconds(1));
  }
  const std::map<std::string, double> sizes = soak.sizes();
  soak.end();
  const Json growth = growth_of(samples);
  double most = 0;
  for (const auto& [name, value] : growth.items()) most = std::max(most, value.get<double>());
  Json line = {{"value", most},
               {"unit", "the most grown measure, from the first quarter's end to the last one's"},
               {"seconds", options.soak_seconds},
               {"runs", database.runs().done},
               {"growth", growth},
               {"grown_mb_of", grown_mb(warm, sizes)},
               {"table", table_of(samples)}};
  soak.add_counts(line);
  return line;
}

}  // namespace cairn
