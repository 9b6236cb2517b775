#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "engine/nearest.hpp"
#include "ops/answers/queues.hpp"
#include "ops/answers/words.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/commands/list_part.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/budget_arguments.hpp"
#include "ops/requests/schedule_arguments.hpp"
#include "ops/service/database.hpp"
#include "ops/service/queue_change.hpp"
#include "ops/terminal/local_time.hpp"
#include "ops/terminal/print.hpp"
#include "storage/limit_book.hpp"

namespace cairn {
namespace {

struct BudgetsOptions {
  std::string queue;
  KeyPlaces keys = {.after = 0, .limit = 20};
};

struct HistoryOptions {
  std::string queue;
  std::int64_t limit = 20;
  std::int64_t before = never_us;  // a revision
};

std::string budgets_text(const std::vector<UnitBudget>& budgets) {
  std::string text;
  for (const UnitBudget& budget : budgets) text += (text.empty() ? "" : ", ") + budget_text(budget);
  return text;
}

Exit show_queues(const Settings& settings, const ListPart& part) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const TimeUs now_us = opened->store->database_time();
  Table table({"QUEUE", "READY", "LATER", "HELD", "LIMIT", "RATE", "BUDGET", "PAUSED", "OLDEST READY", "ALSO"});
  std::vector<ListRow> rows;
  for (const auto& [name, line] : queue_lines(*opened->store)) {
    const QueueRow& row = line.row;
    const QueueLimits& limits = line.limits;
    rows.push_back(
        {name,
         queue_json(name, line),
         {name, std::to_string(row.ready), std::to_string(row.later), std::to_string(row.held),
          limits.concurrency ? std::to_string(*limits.concurrency) : "", limits.rate ? rate_text(*limits.rate) : "",
          budgets_text(limits.budgets), limits.paused ? "paused" : "",
          row.oldest_us ? duration_text(now_us - *row.oldest_us) : "", further_limits_words(limits)}});
  }
  print_list(settings, std::move(table), std::move(rows), part, LastColumn::wrapped);
  return exit_ok;
}

Exit show_history(const Settings& settings, const HistoryOptions& options) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  std::vector<LimitChangeRow> changes = opened->store->limits().limit_changes(
      options.queue, options.before, static_cast<std::int32_t>(options.limit + 1));
  if (changes.empty() && options.before == never_us)
    return Error{Code::not_found, "Expected a queue for which something was set, but none is named " +
                                      excerpt(Json(options.queue), 100) + "."};
  const bool goes_on = std::ssize(changes) > options.limit;
  if (goes_on) changes.pop_back();
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    if (settings.json)
      print_json(limit_change_json(*change));
    else
      print_dated(local_time(change->at_us), limits_words(change->limits) + "  by " + change->actor);
  }
  if (goes_on) print_older_ones(changes.size(), changes.back().limits.revision, settings.json);
  return exit_ok;
}

Exit show_budgets(const Settings& settings, const BudgetsOptions& options) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const Result<BudgetPage> page = budget_page(*opened->store, options.queue, options.keys);
  if (!page) return page.error();
  Table table({"KEY", "UNIT", "PER", "USED", "CAP", "UNTIL (" + zone_name(opened->store->database_time()) + ")"});
  for (const BudgetLine& line : page->lines) {
    if (settings.json) print_json(budget_line_json(line));
    const BudgetUnit unit = line.budget.unit;
    table.add({line.key ? *line.key : "", std::string(to_string(unit)), std::string(to_string(line.budget.per)),
               amount_json(unit, line.used).dump(), amount_json(unit, line.budget.cap).dump(),
               local_time(line.until_us)});
  }
  if (!settings.json) table.print();
  if (page->next)
    print_list_goes_on("There may be more keys than " + std::to_string(*page->next) + " of a budget:",
                       "--after " + std::to_string(*page->next), settings.json);
  return exit_ok;
}

// Only a budget makes a reserve bind steps.
void hint_at_reserve(const QueueLimits& limits) {
  std::string unused;
  for (const auto& [unit, amount] : limits.reserves) {
    const auto is_of_unit = [unit = unit](const UnitBudget& budget) { return budget.unit == unit; };
    if (std::any_of(limits.budgets.begin(), limits.budgets.end(), is_of_unit) ||
        std::any_of(limits.key_budgets.begin(), limits.key_budgets.end(), is_of_unit))
      continue;
    unused += (unused.empty() ? "" : " and ") + std::string(to_string(unit));
  }
  if (!unused.empty())
    print_hint("The " + unused + " that steps of queue " + limits.name +
               " reserve bind nothing: neither it nor its keys have such a budget.");
}

// A setting stays for a queue that is used later; a name that is probably misspelt is reported now.
void hint_at_queue(Store& store, const std::string& name) {
  std::vector<std::string> known{"default"};
  for (const auto& [queue, line] : queue_lines(store))
    if (queue != name || line.row.ready + line.row.later + line.row.held > 0) known.push_back(queue);
  for (const SessionRow& session : store.sessions().all())
    known.insert(known.end(), session.queues.begin(), session.queues.end());
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  print_hint("No worker serves a queue " + name + did_you_mean(name, known) + ", and nothing waits in it.");
}

Exit set_queue(const Settings& settings, const QueueChange& change) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const bool had_rate = limits_of(opened->store->limits(), change.queue).rate.has_value();
  const Result<QueueLimits> limits = change_queue(*opened->store, change, current_actor());
  if (!limits) return limits.error();
  hint_at_queue(*opened->store, limits->name);
  if (change.reserves || change.budgets || change.key_budgets || change.is_key_gone) hint_at_reserve(*limits);
  if (settings.json)
    print_json(limits_json(*limits));
  else
    print_paragraph("Queue " + limits->name + ": " + limits_words(*limits) + "." +
                    (limits->rate && !had_rate ? " For some seconds, steps that a worker keeps begin uncounted." : ""));
  return exit_ok;
}

// "none" leaves the number away.
Status read_number(const std::string& text, const std::string& what, std::optional<std::int64_t>& to) {
  const Result<std::string> number = count_argument(text, what);
  if (!number) return number.error();
  if (*number != "none") to = std::stoll(*number);
  return Done{};
}

Status read_span(const std::string& text, const std::string& option, std::optional<std::int64_t>& to,
                 const std::string& at_most = "a year") {
  const Result<std::int64_t> span = span_argument(text, option, at_most);
  if (!span) return span.error();
  to = *span;
  return Done{};
}

// `prefix` of the options: "--" for the queue as a whole, "--key-" for each of its keys.
void add_rate_options(CLI::App& set, const std::string& prefix, RateChange& change,
                      std::vector<CLI::Option*>& settable) {
  const std::string of = prefix == "--" ? "its steps" : "the steps of each key";
  settable.push_back(add_text(set, prefix + "rate", "N|none", "At most so many of " + of + " begin in each time",
                              [&change](const std::string& text) {
                                change.is_gone = text == "none";
                                return read_number(text, "a rate", change.n);
                              }));
  settable.push_back(
      add_text(set, prefix + "per", "DURATION", "The time that this rate is about; 1s if never given",
               [&change, prefix](const std::string& text) { return read_span(text, prefix + "per", change.per_ms); }));
  settable.push_back(
      add_text(set, prefix + "burst", "N", "So many may begin at once, on top of it; 1 if never given",
               [&change](const std::string& text) { return read_number(text, "a burst", change.burst); }));
}

Status read_limit(const std::string& text, bool& is_given, std::optional<int>& to) {
  std::optional<std::int64_t> number;
  const Status read = read_number(text, "a concurrency", number);
  is_given = true;
  if (number) to = static_cast<int>(*number);
  return read;
}

// "acme=none" takes a weight away, as null does over HTTP.
Status read_weights(std::vector<std::string> texts, std::map<std::string, std::int32_t>& to) {
  constexpr std::string_view none = "=none";
  for (std::string& text : texts)
    if (text.ends_with(none)) text.replace(text.size() - none.size(), none.size(), "=null");
  const Result<std::map<std::string, Json>> weights = values_argument(texts, "--weight");
  if (!weights) return weights.error();
  for (const auto& [key, weight] : *weights) {
    if (!weight.is_null() && (!weight.is_number_integer() || weight < 1 || weight > 1'000))
      return Error{Code::invalid, "Expected a weight from 1 to 1000 or none, but found " + excerpt(weight, 60) + "."};
    to[key] = weight.is_null() ? 0 : weight.get<std::int32_t>();
  }
  return Done{};
}

Status read_budgets(const std::vector<std::string>& texts, const std::string& option,
                    std::optional<std::vector<UnitBudget>>& to) {
  Result<std::vector<UnitBudget>> budgets = budgets_argument(texts, option);
  if (!budgets) return budgets.error();
  to = *std::move(budgets);
  return Done{};
}

void add_budget_options(CLI::App& set, QueueChange& change, std::vector<CLI::Option*>& settable) {
  settable.push_back(add_list(
      set, "--budget", "UNIT=N/WINDOW|none",
      "Its steps may use so many tokens, or cost so much, in each minute, hour, day or month",
      [&change](const std::vector<std::string>& texts) { return read_budgets(texts, "--budget", change.budgets); }));
  settable.push_back(add_list(set, "--reserve", "UNIT=N|none",
                              "What a step needs of a budget to begin, until it has ended; nothing if never given",
                              [&change](const std::vector<std::string>& texts) -> Status {
                                Result<Reserves> reserves = reserves_argument(texts, "--reserve");
                                if (!reserves) return reserves.error();
                                change.reserves = *std::move(reserves);
                                return Done{};
                              }));
}

void add_key_options(CLI::App& set, QueueChange& change, std::vector<CLI::Option*>& settable) {
  settable.push_back(add_text(set, "--key", "KEY|none",
                              "Serve the keys of its steps in turns: tag.NAME, or a JSON pointer into the run's input",
                              [&change](const std::string& text) {
                                change.is_key_gone = text == "none";
                                if (!change.is_key_gone) change.key = text;
                                return Status(Done{});
                              }));
  settable.push_back(
      set.add_flag("--fair", change.is_fair, "Its keys take turns, as they do where it has a --key; refused without"));
  settable.push_back(add_text(set, "--key-concurrency", "N|none", "At most so many of each key are held at once",
                              [&change](const std::string& text) {
                                return read_limit(text, change.is_key_limit_given, change.key_concurrency);
                              }));
  add_rate_options(set, "--key-", change.key_rate, settable);
  settable.push_back(add_list(set, "--key-budget", "UNIT=N/WINDOW|none", "As --budget, for the steps of each key",
                              [&change](const std::vector<std::string>& texts) {
                                return read_budgets(texts, "--key-budget", change.key_budgets);
                              }));
  settable.push_back(
      add_list(set, "--weight", "KEY=N|none", "So many of the key's steps begin in its turn; 1 if never given",
               [&change](const std::vector<std::string>& texts) { return read_weights(texts, change.weights); }));
}

void add_queue_set(CommandLine& line, CLI::App& queue) {
  auto& change = line.keep<QueueChange>();
  auto& settable = line.keep<std::vector<CLI::Option*>>();
  CLI::App& set = add_command(
      line, queue, "set", "Limit or pause a queue, across all workers",
      "cairn queue set model --concurrency 4 --rate 50 --per 1s --burst 10",
      [&](const Settings& settings) { return set_queue(settings, change); },
      [&]() -> Status {
        for (const CLI::Option* option : settable)
          if (!option->empty()) return Done{};
        return Error{Code::invalid,
                     "Expected a limit as --concurrency, --rate or --budget, --pause or --resume, but got none of "
                     "them."};
      });
  set.add_option("NAME", change.queue, "The queue's name")->required()->type_name("");
  settable.push_back(
      add_text(set, "--concurrency", "N|none", "At most so many of its jobs are held at once",
               [&](const std::string& text) { return read_limit(text, change.is_limit_given, change.concurrency); }));
  add_rate_options(set, "--", change.rate, settable);
  add_budget_options(set, change, settable);
  add_key_options(set, change, settable);
  settable.push_back(add_text(set, "--ageing", "DURATION|none",
                              "A step that has waited so long goes before newer ones of one priority less",
                              [&](const std::string& text) {
                                change.is_ageing_gone = text == "none";
                                if (change.is_ageing_gone) return Status(Done{});
                                return read_span(text, "--ageing", change.ageing_ms, "30 days");
                              }));
  CLI::Option* pause = set.add_flag_callback(
      "--pause", [&] { change.paused = true; }, "Nothing more of it is begun");
  CLI::Option* resume = set.add_flag_callback(
      "--resume", [&] { change.paused = false; }, "It goes on");
  pause->excludes(resume);
  settable.insert(settable.end(), {pause, resume});
  set.add_option("--revision", change.revision, "Refuse the change unless what is set has this revision")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
}

}  // namespace

void add_queue(CommandLine& line) {
  auto& part = line.keep<ListPart>();
  CLI::App& queue = add_command(
      line, "queue", "What each queue holds (ready, later, held, its oldest ready job) and what is set for it",
      "cairn queue", paged([&](const Settings& settings) { return show_queues(settings, part); }));
  add_list_part(queue, part);
  add_queue_set(line, queue);
  auto& budgets = line.keep<BudgetsOptions>();
  CLI::App& used = add_command(
      line, queue, "budgets", "What is used of a queue's budgets, and by the keys that used most",
      "cairn queue budgets model", paged([&](const Settings& settings) { return show_budgets(settings, budgets); }));
  used.add_option("NAME", budgets.queue, "The queue's name")->required()->type_name("");
  used.add_option("--after", budgets.keys.after, "Go on after so many keys of a budget, as an earlier list ended")
      ->check(CLI::Range(1, budget_keys_max))
      ->type_name("N");
  used.add_option("--limit", budgets.keys.limit, "The keys that used most, so many")
      ->check(CLI::Range(1, budget_keys_max))
      ->type_name("N")
      ->capture_default_str();
  auto& options = line.keep<HistoryOptions>();
  CLI::App& history = add_command(line, queue, "history", "What was set for a queue, when and by whom, the newest last",
                                  "cairn queue history model",
                                  paged([&](const Settings& settings) { return show_history(settings, options); }));
  history.add_option("NAME", options.queue, "The queue's name")->required()->type_name("");
  history.add_option("--limit", options.limit, "The newest so many")
      ->check(CLI::Range(1, 10'000))
      ->type_name("N")
      ->capture_default_str();
  add_before(history, options.before);
}

}  // namespace cairn
