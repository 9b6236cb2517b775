#include "ops/bench/bench.hpp"

#include <algorithm>
#include <iostream>
#include <sstream>

#include "ops/bench/cases.hpp"
#include "ops/bench/report.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"
#include "storage/postgres/connection.hpp"
#include "workers/ports/text_file.hpp"

namespace cairn {
namespace {

using Measure = Result<Json> (*)(const std::string& dsn, BenchServer& server, const BenchOptions& options);

struct Case {
  CaseText text;
  Measure measure;
};

constexpr Case cases[] = {
    {{"steps", "Durable steps: 10-step runs, each step queued in PostgreSQL, full history and hash chain",
      "half of the limit; more than 37,000 where the limit is above 75,000"},
     measure_steps},
    {{"queue_limits", "Steps of a queue whose limit does not bind, in turns with the same steps without one", "0.9"},
     measure_queue_limits},
    {{"exactness",
      "Limits of a queue while three of its four workers are killed: the most started in any window, or held at once",
      "0; nothing stays held"},
     measure_exactness},
    {{"queue_keys",
      "A queue served by 10,000 keys of which one floods: how long the others' steps wait, with and without the flood",
      "at most twice"},
     measure_queue_keys},
    {{"pure", "Pure steps, fused in one commit, compared with the same steps one by one",
      "twice case steps; same history"},
     measure_pure},
    {{"latency", "One 10-step run at a time, a worker process that has nothing else to do",
      "p50 6 ms, p99 20 ms; start p50 2 ms"},
     measure_latency},
    {{"fan_out", "Fan-out and join of one run alone, 100 and 10,000 wide",
      "100: p50 8 ms; 10,000: 500 ms; cost per branch flat"},
     measure_fan_out},
    {{"start", "Runs created, one by one and 500 at once", "20,000 in batches"}, measure_start},
    {{"fold",
      "Events folded on one core: decoded, from JSON, verified; envelopes read from the database compared with COPY",
      "1,000,000 decoded; 250,000 from JSON; 300,000 verified; envelopes 0.7 of COPY"},
     measure_fold},
    {{"scale.waiting", "Steps while so many jobs wait, compared with empty tables", "0.9"}, measure_waiting},
    {{"scale.finished", "Steps with finished runs in the tables, compared with empty tables", "0.9"}, measure_finished},
    {{"scale.snapshot", "Steps while an old snapshot is held open, compared with none", "0.6"}, measure_old_snapshot},
    {{"scale.sustained", "Steps for long, with the vacuum and the checkpoints that come, compared with a short time",
      "0.75"},
     measure_sustained},
    {{"scale.long_run", "Steps of a run of very many events, compared with the beginning of new ones", "0.9"},
     measure_long_run},
    {{"scale.appends",
      "A loop of 100,000 steps that each append 1 KB to a list, compared with one whose steps replace as much",
      "0.9; the last quarter as quick as the first"},
     measure_appends},
    {{"scale.in_flight", "Memory of a worker with 10,000 runs in flight", "150 MB"}, measure_in_flight},
    {{"scale.wide", "One run of 3,000 and of 9,000 sub-goals of 20 to 80 ms, on 1, 2, 4 and 8 processes with 64 slots",
      "4 processes: 1.2 of the time of one, twice its processor time"},
     measure_wide},
    {{"growth",
      "Steps, lists and states with 1,000,000 runs of ten events in the tables, compared with a hundredth of them",
      "0.9 of the small database"},
     measure_growth},
    {{"migrate", "The first release's schema with 200,000 runs moved forward under its own writers",
      "no write waits longer than 1 s"},
     measure_migrate},
    {{"cluster", "Durable steps of a shard on its node of a Citus cluster, in turns with those of a plain database",
      "0.8"},
     measure_cluster},
    {{"pools", "20, 60 and 200 idle sessions, and 20 busy processes: the server's work for them",
      "linear in the sessions; a job wakes few"},
     measure_pools},
    {{"takeover", "10,000 steps of a worker that was killed, from the first that others take over to the last", "5 s"},
     measure_takeover},
    {{"soak",
      "A steady load with schedules, and reads of a list and of the metrics each second; a worker is killed "
      "every 15 s, and all connections to the database are cut twelve times: what is held, sampled until its end",
      "1.1"},
     measure_soak},
    {{"feed", "Events that one consumer of the feed gets as JSON; steps while there is one, compared with none",
      "100,000 events/s"},
     measure_feed},
    {{"schedules", "10,000 schedules of a minute that one process fires: how late their runs start, spread and at once",
      "p99 250 ms, spread"},
     measure_schedules},
    {{"claims",
      "Durable steps of workers over HTTP that claim in batches, through one `cairn serve`; compared with 1,000 idle "
      "ones",
      "10,000 steps/s; 0.95 next to idle ones"},
     measure_claims},
    {{"http",
      "One `cairn serve` with 2,000 followers, asked for 5,000 small reads/s and 1,000 starts/s at once: what it "
      "answers",
      "5,000 reads/s and 1,000 starts/s"},
     measure_http},
    {{"audit", "All that is kept looked over: 100,000 runs of ten events each, one run of 1,000,000 events",
      "replay 100,000; show --at as quick late as early"},
     measure_audit},
    {{"model_load", "Steps that each wait 2 s for a model, thousands of them in one worker process",
      "0.95 of the ideal, 300 MB"},
     measure_model_load},
    {{"shapes.instances", "Real workflows as plans of tools that take no time", ""}, measure_instances},
    {{"shapes.arrivals", "Recorded arrivals at 50 times their pace: how long each waits", ""}, measure_arrivals},
    {{"planners", "Processor time of the planners' own handlers, without model and tools", "200"}, measure_planners},
};

bool is_asked(std::string_view name, const std::string& asked) {
  return asked.empty() || name == asked || name.starts_with(asked + ".");
}

void print_table(std::string_view title, const Json& values) {
  print_line(title);
  Table table({"MEASURE", "VALUE"});
  for (const auto& [name, value] : flat(values))
    if (name != "table") table.add({name, value});
  table.print();
}

// Rows with the same fields.
void print_rows(const Json& rows) {
  if (rows.empty()) return;
  std::vector<std::string> names;
  for (const auto& [name, value] : rows.front().items()) names.push_back(name);
  Table table(names);
  for (const Json& row : rows) {
    std::vector<std::string> cells;
    for (const auto& [name, value] : row.items())
      cells.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    table.add(cells);
  }
  table.print();
}

Exit measure(const std::string& dsn, const Settings& settings, const BenchOptions& options) {
  BenchServer server(dsn);
  const Json environment = server.settings();
  if (!settings.json) print_table("The machine and the settings of its database server", environment);
  for (const Case& one : cases) {
    if (!is_asked(one.text.name, options.name)) continue;
    Result<Json> line = one.measure(dsn, server, options);
    if (!line) return line.error();
    (*line)["case"] = one.text.name;
    if (settings.json) {
      line->update(environment);
      print_json(*line);
    } else {
      print_table(one.text.title, *line);
      print_rows(line->value("table", Json::array()));
    }
    std::cout.flush();
  }
  return exit_ok;
}

}  // namespace

std::vector<std::string> bench_cases() {
  std::vector<std::string> names;
  for (const Case& one : cases) {
    names.emplace_back(one.text.name);
    const std::string group(one.text.name.substr(0, one.text.name.find('.')));
    if (std::find(names.begin(), names.end(), group) == names.end()) names.push_back(group);
  }
  return names;
}

Exit bench(const Settings& settings, const BenchOptions& options) {
  if (!options.report.empty()) return bench_report(options.report);
  const Result<std::string> dsn = reach_as_owner(choose_database(settings));
  if (!dsn) return dsn.error();
  try {
    return measure(*dsn, settings, options);
  } catch (const PostgresError& fault) {
    return Error{Code::unavailable, fault.what()};
  }
}

Exit bench_report(const std::string& path) {
  const Result<std::string> text = read_text_file(path, "the lines of the benchmark");
  if (!text) return text.error();
  std::vector<Json> lines;
  std::istringstream in(*text);
  for (std::string line; std::getline(in, line);) {
    Result<Json> parsed = parse_json(line, "a line of the benchmark");
    if (!parsed) return parsed.error();
    if (!parsed->is_object() || !parsed->contains("machine") || !parsed->contains("settings"))
      return Error{Code::invalid, "Expected lines of `cairn bench --json`, but got: " + excerpt(*parsed, 100)};
    lines.push_back(*std::move(parsed));
  }
  std::vector<CaseText> texts;
  for (const Case& one : cases) texts.push_back(one.text);
  std::cout << report_text(texts, lines);
  return exit_ok;
}

}  // namespace cairn
