#include "ops/commands/hooks/hook_views.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <utility>

#include "ops/commands/command_options.hpp"
#include "ops/commands/hooks/opened_hooks.hpp"
#include "ops/commands/list_part.hpp"
#include "ops/hooks/hook_lines.hpp"
#include "ops/terminal/local_time.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

constexpr std::int32_t shown_deliveries = 1'000;

struct HookViewOptions {
  std::string name;
  DeliveriesAsked asked = {.limit = 20};
  std::int64_t before = std::numeric_limits<std::int64_t>::max();  // of its history
};

std::string standing_of_hook(const Json& line) {
  if (line["paused"].is_object()) return "paused";
  return line["parked"] == 0 ? "on" : "has parked";
}

std::string last_words(const Json& last, TimeUs now_us) {
  if (last.is_null()) return "none";
  const std::string at = last.value("settled_at", last["noted_at"].get<std::string>());
  return last["status"].get<std::string>() + " " + listed_time(at, now_us);
}

Exit hook_list(const Settings& settings, const ListPart& part) {
  const auto hooks = open_hooks(settings);
  if (!hooks) return hooks.error();
  HookTable& kept = *(*hooks)->table;
  const std::vector<HookCounts> counts = kept.counts({{}, true});
  const std::vector<HookDelivery> lasts = kept.lasts();
  const TimeUs now_us = (*hooks)->store->database_time();
  Table table({"NAME", "STANDING", "WAITING", "PARKED", "DELIVERED", "LAST (" + zone_name(now_us) + ")", "SENDS"});
  std::vector<ListRow> rows;
  for (const HookRow& row : kept.hooks()) {
    const Json line = hook_line(row, facts_of(row.name, counts, lasts));
    rows.push_back({row.name,
                    line,
                    {row.name, standing_of_hook(line), line["waiting"].dump(), line["parked"].dump(),
                     line["delivered"].dump(), last_words(line["last"], now_us), line["words"].get<std::string>()}});
  }
  print_list(settings, std::move(table), std::move(rows), part, LastColumn::wrapped);
  return exit_ok;
}

void print_hook(const Json& line) {
  print_paragraph(painted(line["name"].get<std::string>(), Paint::bold) + "  " + line["words"].get<std::string>());
  if (line.contains("secret")) print_paragraph("signed with secret " + line["secret"].get<std::string>());
  if (line["paused"].is_object()) print_paragraph(paused_text(line["paused"]));
  print_line(line["waiting"].dump() + " waiting, " + line["parked"].dump() + " parked, " + line["delivered"].dump() +
             " delivered in the last days");
}

void print_deliveries(const std::vector<Json>& lines, TimeUs now_us) {
  Table table({"EVENT", "STATUS", "ATTEMPTS", "NEXT (" + zone_name(now_us) + ")", "SAYS"});
  table.keep(0);
  for (const Json& line : lines)
    table.add({line["id"].get<std::string>(), line["status"].get<std::string>(), line["attempts"].dump(),
               listed_time(line.value("next_at", ""), now_us), line["says"].get<std::string>()});
  if (!lines.empty()) table.print_wrapped();
}

Exit hook_show(const Settings& settings, const HookViewOptions& options) {
  const auto hooks = open_hooks(settings);
  if (!hooks) return hooks.error();
  HookTable& table = *(*hooks)->table;
  const std::optional<HookRow> row = table.hook(options.name);
  if (!row) return no_such_hook(options.name);
  Json line = hook_line(*row, facts_of(options.name, table.counts({options.name, true}), table.lasts(options.name)));
  const std::vector<HookDelivery> page = table.deliveries(options.name, options.asked);
  const bool may_be_more = static_cast<std::int32_t>(page.size()) == options.asked.limit;
  const std::string next = may_be_more ? cursor_of(page.back()) : "";
  std::vector<Json> deliveries;
  for (const HookDelivery& delivery : page) deliveries.push_back(delivery_line(delivery));
  if (settings.json) {
    line["deliveries"] = deliveries;
    line["next"] = may_be_more ? Json(next) : Json(nullptr);
    print_json(line);
    return exit_ok;
  }
  print_hook(line);
  print_deliveries(deliveries, (*hooks)->store->database_time());
  if (!may_be_more) return exit_ok;
  print_list_goes_on("There may be more:", "--after " + next, settings.json);
  return exit_ok;
}

Exit hook_history(const Settings& settings, const HookViewOptions& options) {
  const auto hooks = open_hooks(settings);
  if (!hooks) return hooks.error();
  std::vector<KeptHookNote> notes = (*hooks)->table->notes(options.name, options.before, options.asked.limit + 1);
  const bool is_first_page = options.before == std::numeric_limits<std::int64_t>::max();
  if (notes.empty() && is_first_page) return no_such_hook(options.name);
  const bool goes_on = std::ssize(notes) > options.asked.limit;
  if (goes_on) notes.pop_back();
  std::reverse(notes.begin(), notes.end());
  for (const KeptHookNote& kept : notes) {
    if (settings.json)
      print_json(hook_note_line(kept));
    else
      print_dated(local_time(kept.at),
                  kept.note.kind + " by " + kept.note.actor + (kept.note.says.empty() ? "." : ": " + kept.note.says));
  }
  if (goes_on) print_older_ones(notes.size(), notes.front().number, settings.json);
  return exit_ok;
}

void add_count(CLI::App& command, HookViewOptions& options, const std::string& says) {
  command.add_option("--limit", options.asked.limit, says)
      ->check(CLI::Range(1, shown_deliveries))
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace

CLI::Option* add_hook_name(CLI::App& command, std::string& name) {
  return add_text(command, "NAME", "", "The hook's name",
                  [&name](const std::string& text) -> Status {
                    if (const Status named = check_hook_name(text); !named) return named;
                    name = text;
                    return Done{};
                  })
      ->required();
}

void add_hook_views(CommandLine& line, CLI::App& group) {
  auto& options = line.keep<HookViewOptions>();
  auto& part = line.keep<ListPart>();
  add_list_part(add_command(line, group, "list", "The hooks, and what waits for them", "cairn hook list --json",
                            paged([&](const Settings& settings) { return hook_list(settings, part); })),
                part);
  CLI::App& show = add_command(line, group, "show", "A hook, and its notices, the newest first",
                               "cairn hook show chat --status parked",
                               paged([&](const Settings& settings) { return hook_show(settings, options); }));
  add_hook_name(show, options.name);
  add_text(show, "--status", "STATUS", "Only those that are waiting, delivered, parked, skipped or gone",
           [&options](const std::string& text) -> Status {
             options.asked.status = parse_delivery_status(text);
             if (options.asked.status) return Done{};
             return Error{Code::invalid, "Expected waiting, delivered, parked, skipped or gone, but found " +
                                             excerpt(Json(text), 40) + "."};
           });
  add_count(show, options, "At most so many notices");
  add_text(show, "--after", "CURSOR", "Go on where an earlier list ended",
           [&options](const std::string& text) -> Status {
             options.asked.after = parse_delivery_cursor(text);
             if (options.asked.after) return Done{};
             return Error{Code::invalid, "Expected the cursor that an earlier list ended with in --after, but found " +
                                             excerpt(Json(text), 80) + "."};
           });
  CLI::App& history =
      add_command(line, group, "history", "What happened to it and by whom, the newest last", "cairn hook history chat",
                  paged([&](const Settings& settings) { return hook_history(settings, options); }));
  add_hook_name(history, options.name);
  add_count(history, options, "The newest so many");
  add_before(history, options.before);
}

}  // namespace cairn
