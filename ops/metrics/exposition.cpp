#include "ops/metrics/exposition.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <utility>
#include <vector>

#include "ops/metrics/process_use.hpp"

namespace cairn {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Families = std::vector<MetricFamily>;
using LabelList = std::vector<ClientMetric::Label>;

MetricFamily family(const std::string& name, const std::string& help, MetricType type) {
  MetricFamily made;
  made.name = name;
  made.help = help;
  made.type = type;
  return made;
}

void add_sample(MetricFamily& to, LabelList labels, double value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  (to.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  to.metric.push_back(std::move(metric));
}
void add_sample(MetricFamily& to, LabelList labels, const Count& count) {
  add_sample(to, std::move(labels), static_cast<double>(count.value()));
}

// The count of all is the sum of the ranges as they were read, so that the two agree while others count.
template <const auto& bounds>
void add_distribution(MetricFamily& to, LabelList labels, const Distribution<bounds>& values) {
  ClientMetric metric;
  metric.label = std::move(labels);
  std::uint64_t so_far = 0;
  for (std::size_t range = 0; range < bounds.size(); ++range) {
    so_far += values.count(range);
    metric.histogram.bucket.push_back({so_far, bounds[range]});
  }
  metric.histogram.sample_count = so_far + values.count(bounds.size());
  metric.histogram.sample_sum = values.sum();
  to.metric.push_back(std::move(metric));
}

std::string text_of(Families families) {
  for (MetricFamily& one : families)
    std::sort(one.metric.begin(), one.metric.end(),
              [](const ClientMetric& a, const ClientMetric& b) { return a.label < b.label; });
  return prometheus::TextSerializer().Serialize(families);
}

MetricFamily counted(const std::string& name, const std::string& help, const Count& count) {
  MetricFamily made = family(name, help, MetricType::Counter);
  add_sample(made, {}, count);
  return made;
}

template <const auto& bounds>
MetricFamily distributed(const std::string& name, const std::string& help, const Distribution<bounds>& values) {
  MetricFamily made = family(name, help, MetricType::Histogram);
  add_distribution(made, {}, values);
  return made;
}

template <std::size_t count>
MetricFamily counted_by(const std::string& name, const std::string& help, const std::string& label,
                        const std::array<const char*, count>& words, const std::array<Count, count>& counts) {
  MetricFamily made = family(name, help, MetricType::Counter);
  for (std::size_t n = 0; n < count; ++n) add_sample(made, {{label, words[n]}}, counts[n]);
  return made;
}

// --- by graph and node ----------------------------------------------------------------------------------------------

void add_steps(Families& to, const WorkCounts& counts) {
  MetricFamily ended = family("cairn_steps_total", "Attempts of steps that ended, by how.", MetricType::Counter);
  MetricFamily seconds =
      family("cairn_step_seconds", "From the start of an attempt by a worker to its commit.", MetricType::Histogram);
  counts.steps.each([&](const std::array<std::string, 2>& labels, const StepCounts& of) {
    const LabelList place = {{"graph", labels[0]}, {"node", labels[1]}};
    for (std::size_t n = 0; n < of.ended.size(); ++n) {
      if (of.ended[n].value() == 0) continue;
      LabelList with_outcome = place;
      with_outcome.push_back({"outcome", step_end_words[n]});
      add_sample(ended, std::move(with_outcome), of.ended[n]);
    }
    add_distribution(seconds, place, of.seconds);
  });
  to.push_back(std::move(ended));
  to.push_back(std::move(seconds));
}

void add_runs(Families& to, const WorkCounts& counts) {
  MetricFamily started = family("cairn_runs_started_total", "Runs that this process started.", MetricType::Counter);
  MetricFamily ended =
      family("cairn_runs_ended_total", "Runs that ended by a commit of this process.", MetricType::Counter);
  MetricFamily seconds = family("cairn_run_seconds", "From the start of a run to its end.", MetricType::Histogram);
  counts.graphs.each([&](const std::array<std::string, 1>& labels, const GraphCounts& of) {
    const ClientMetric::Label graph = {"graph", labels[0]};
    add_sample(started, {graph}, of.started);
    add_sample(ended, {graph, {"status", "done"}}, of.done);
    add_sample(ended, {graph, {"status", "failed"}}, of.failed);
    add_sample(ended, {graph, {"status", "aborted"}}, of.aborted);
    add_distribution(seconds, {graph}, of.seconds);
  });
  for (MetricFamily* one : {&started, &ended, &seconds}) to.push_back(std::move(*one));
}

void add_goals(Families& to, const WorkCounts& counts) {
  MetricFamily closed = family("cairn_sub_goals_total", "Sub-goals that were closed, by how.", MetricType::Counter);
  MetricFamily seconds = family("cairn_sub_goal_seconds", "From the start of a sub-goal's last attempt to its commit.",
                                MetricType::Histogram);
  counts.graphs.each([&](const std::array<std::string, 1>& labels, const GraphCounts& of) {
    const ClientMetric::Label graph = {"graph", labels[0]};
    add_sample(closed, {graph, {"status", "succeeded"}}, of.goals_succeeded);
    add_sample(closed, {graph, {"status", "failed"}}, of.goals_failed);
    add_sample(closed, {graph, {"status", "skipped"}}, of.goals_skipped);
    add_distribution(seconds, {graph}, of.goal_seconds);
  });
  to.push_back(std::move(closed));
  to.push_back(std::move(seconds));
}

// --- models and tools -----------------------------------------------------------------------------------------------

void add_calls(MetricFamily& calls, MetricFamily& seconds, const ClientMetric::Label& name, const CallCounts& of) {
  add_sample(calls, {name, {"ok", "true"}}, of.ok);
  add_sample(calls, {name, {"ok", "false"}}, of.failed);
  add_distribution(seconds, {name}, of.seconds);
}

void add_models(Families& to, const WorkCounts& counts) {
  MetricFamily calls = family("cairn_model_calls_total", "Calls of language models on record.", MetricType::Counter);
  MetricFamily seconds =
      family("cairn_model_call_seconds", "How long calls of language models took.", MetricType::Histogram);
  MetricFamily tokens =
      family("cairn_model_tokens_total", "Tokens of these calls: asked (in) and answered (out).", MetricType::Counter);
  MetricFamily cost = family("cairn_model_cost_total",
                             "Cost of these calls, in the unit of CAIRN_MODEL_COST_IN and _OUT.", MetricType::Counter);
  counts.models.each([&](const std::array<std::string, 1>& labels, const ModelCounts& of) {
    const ClientMetric::Label model = {"model", labels[0]};
    add_calls(calls, seconds, model, of.calls);
    add_sample(tokens, {model, {"direction", "in"}}, of.tokens_in);
    add_sample(tokens, {model, {"direction", "out"}}, of.tokens_out);
    add_sample(cost, {model}, of.cost.load(std::memory_order_relaxed));
  });
  for (MetricFamily* one : {&calls, &seconds, &tokens, &cost}) to.push_back(std::move(*one));
}

void add_tools(Families& to, const WorkCounts& counts) {
  MetricFamily calls = family("cairn_tool_calls_total", "Calls of tools on record.", MetricType::Counter);
  MetricFamily seconds = family("cairn_tool_call_seconds", "How long calls of tools took.", MetricType::Histogram);
  counts.tools.each([&](const std::array<std::string, 1>& labels, const CallCounts& of) {
    add_calls(calls, seconds, {"tool", labels[0]}, of);
  });
  to.push_back(std::move(calls));
  to.push_back(std::move(seconds));
}

// --- the database ---------------------------------------------------------------------------------------------------

void add_database(Families& to, const WorkCounts& counts) {
  MetricFamily waits =
      family("cairn_job_wait_seconds", "How long jobs that were claimed had been due.", MetricType::Histogram);
  counts.waits.each([&](const std::array<std::string, 1>& labels, const Distribution<work_seconds>& of) {
    add_distribution(waits, {{"queue", labels[0]}}, of);
  });
  to.push_back(std::move(waits));
  to.push_back(counted("cairn_jobs_claimed_total", "Jobs that this process claimed.", counts.jobs_claimed));
  to.push_back(distributed("cairn_claim_seconds", "How long a claim took.", counts.claim_seconds));
  to.push_back(distributed("cairn_commit_seconds", "How long a commit of a batch took.", counts.commit_seconds));
  to.push_back(
      distributed("cairn_commit_entries", "Runs whose events a commit wrote together.", counts.commit_entries));
  to.push_back(counted_by("cairn_entries_total", "What commits were answered for each of these runs.", "verdict",
                          verdict_words, counts.entries));
  to.push_back(counted("cairn_events_total", "Events that this process committed.", counts.events));
  to.push_back(counted("cairn_histories_read_total", "Runs that were read because their state was not at hand.",
                       counts.histories_read));
  to.push_back(counted("cairn_wake_ups_total", "Notifications that jobs may be ready.", counts.wake_ups));
  to.push_back(counted("cairn_wake_ups_sent_total", "Commits that sent such a notification.", counts.wake_ups_sent));
  to.push_back(counted_by("cairn_database_faults_total", "Calls of the database that failed, after their retries.",
                          "call", store_call_words, counts.faults));
}

MetricFamily gauge(const std::string& name, const std::string& help, double value) {
  MetricFamily made = family(name, help, MetricType::Gauge);
  add_sample(made, {}, value);
  return made;
}

MetricFamily counter(const std::string& name, const std::string& help, double value) {
  MetricFamily made = family(name, help, MetricType::Counter);
  add_sample(made, {}, value);
  return made;
}

MetricFamily refused_reports(std::int64_t refused) {
  return counter("cairn_worker_reports_refused_total",
                 "Reports that came too late: the hold was lost (its fence failed), or the run had ended.",
                 static_cast<double>(refused));
}

Families families_of(const RequestCounts& counts) {
  MetricFamily answered = family("cairn_http_requests_total",
                                 "Requests that were answered, by the class of their status.", MetricType::Counter);
  MetricFamily seconds =
      family("cairn_http_request_seconds",
             "From the whole request to its answer, or to the start of a stream or of a wait.", MetricType::Histogram);
  counts.by_route.each([&](const std::array<std::string, 2>& labels, const RequestCount& of) {
    const LabelList place = {{"method", labels[0]}, {"route", labels[1]}};
    for (std::size_t n = 0; n < of.answered.size(); ++n) {
      if (of.answered[n].value() == 0) continue;
      LabelList with_status = place;
      with_status.push_back({"status", status_words[n]});
      add_sample(answered, std::move(with_status), of.answered[n]);
    }
    add_distribution(seconds, place, of.seconds);
  });
  return {answered, seconds};
}

Families families_of(const WorkCounts& counts) {
  Families families;
  add_steps(families, counts);
  add_runs(families, counts);
  add_goals(families, counts);
  add_models(families, counts);
  add_tools(families, counts);
  add_database(families, counts);
  return families;
}

Families families_of(const std::vector<Gauge>& gauges) {
  Families families;
  for (const Gauge& of : gauges) {
    MetricFamily& made = families.emplace_back(family(of.name, of.help, MetricType::Gauge));
    for (const auto& [labels, value] : of.samples) {
      LabelList list;
      for (const auto& [name, text] : labels) list.push_back({name, text});
      add_sample(made, std::move(list), value);
    }
  }
  return families;
}

}  // namespace

Gauge plain_gauge(std::string name, std::string help, double value) {
  return {std::move(name), std::move(help), {{Gauge::Labels(), value}}};
}

std::string gauges_text(const std::vector<Gauge>& gauges) { return text_of(families_of(gauges)); }

std::string access_metrics_text(std::int64_t wrong_tokens) {
  const std::string help = "Wrong tokens that this process was shown since it started.";
  const double value = static_cast<double>(wrong_tokens);
  return text_of({gauge("cairn_api_wrong_tokens", help, value), counter("cairn_api_wrong_tokens_total", help, value)});
}

std::string work_metrics_text(const WorkCounts& counts) { return text_of(families_of(counts)); }

std::string request_metrics_text(const RequestCounts& counts) { return text_of(families_of(counts)); }

std::string refused_reports_text(std::int64_t refused) { return text_of({refused_reports(refused)}); }

std::string worker_metrics_text(const WorkerReport& report, int concurrency) {
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  return text_of({
      gauge("cairn_worker_holds", "Branches that this worker holds.", number(report.holds)),
      gauge("cairn_worker_holds_max", "Branches that it may hold (--concurrency).", concurrency),
      gauge("cairn_worker_states", "Folded states that it keeps.", number(report.states)),
      gauge("cairn_worker_states_bytes", "Their memory, by an estimate.", number(report.states_bytes)),
      counter("cairn_worker_states_forgotten_total", "Folded states that made room for others.",
              number(report.forgotten)),
      counter("cairn_worker_state_hits_total", "Steps whose run's state was at hand.", number(report.state_hits)),
      counter("cairn_worker_steps_fused_total", "Steps that went into the commit of the step before.",
              number(report.fused)),
      refused_reports(report.stale),
      counter("cairn_worker_losses_swept_total", "Steps of dead workers that it gave back.", number(report.lost_swept)),
  });
}

std::string process_metrics_text() {
  const ProcessUse use = process_use();
  return text_of({
      counter("process_cpu_seconds_total", "Processor time of this process.", use.cpu_seconds),
      gauge("process_resident_memory_bytes", "Memory of this process.", use.memory_bytes),
      gauge("process_open_fds", "Open files and sockets of this process.", use.open_files),
      gauge("process_start_time_seconds", "When this process started, since 1970.", use.started_at),
  });
}

}  // namespace cairn
