#include <CLI/CLI.hpp>
#include <chrono>
#include <sstream>
#include <thread>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/commands/hooks/hook_hints.hpp"
#include "ops/commands/hooks/hook_views.hpp"
#include "ops/commands/hooks/opened_hooks.hpp"
#include "ops/hooks/hook_lines.hpp"
#include "ops/hooks/hook_thread.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/run_ids.hpp"
#include "ops/requests/schedule_arguments.hpp"
#include "ops/terminal/print.hpp"
#include "workers/hooks/hook_rules.hpp"

namespace cairn {
namespace {

constexpr std::chrono::milliseconds test_pause{100};

struct HookOptions {
  std::string name;
  Json fields = Json::object();
  std::string reason;
  std::string event;
  std::int64_t wait_ms = 30'000;
};

Exit hook_said(const Settings& settings, const std::string& name, const std::string& what,
               const std::string& sentence) {
  if (settings.json)
    print_json({{"name", name}, {what, true}});
  else
    print_paragraph(sentence);
  return exit_ok;
}

Status check_command(const Settings& settings, bool has_command) {
  const DatabaseChoice choice = choose_database(settings);
  if (!has_command || choice.is_embedded() || may_run_commands(choice.dsn)) return Done{};
  return Error{Code::unsupported,
               "Expected the embedded database of this machine for a hook with a command, but it is another one."};
}

Exit print_hook(const Settings& settings, OpenedHooks& hooks, const std::string& name, const HookDefinition& hook) {
  const std::optional<HookRow> row = hooks.table->hook(name);
  if (!row) return no_such_hook(name);
  if (settings.json)
    print_json(hook_line(*row, facts_of(name, hooks.table->counts({name, true}), hooks.table->lasts(name))));
  else
    print_paragraph("Hook " + name + " " + in_words(hook) + ".");
  return exit_ok;
}

Exit hook_add(const Settings& settings, const HookOptions& options) {
  const Result<HookDefinition> hook = parse_hook(options.fields);
  if (!hook) return hook.error();
  if (const Status may = check_command(settings, !hook->command.empty()); !may) return may.error();
  const auto hooks = open_hooks(settings);
  if (!hooks) return hooks.error();
  if (const Status added = (*hooks)->desk->add(options.name, *hook, current_actor()); !added) return added.error();
  hint_at_hook(*(*hooks)->store, *hook);
  return print_hook(settings, **hooks, options.name, *hook);
}

Exit hook_edit(const Settings& settings, const HookOptions& options) {
  if (const Status may = check_command(settings, options.fields.contains("command")); !may) return may.error();
  const auto hooks = open_hooks(settings);
  if (!hooks) return hooks.error();
  const Result<HookDefinition> edited = (*hooks)->desk->edit(options.name, options.fields, current_actor());
  if (!edited) return edited.error();
  if (options.fields.contains("secret")) hint_at_hook(*(*hooks)->store, *edited);
  return print_hook(settings, **hooks, options.name, *edited);
}

Exit hook_pause(const Settings& settings, const HookOptions& options) {
  const auto hooks = open_hooks(settings);
  if (!hooks) return hooks.error();
  const Status paused = (*hooks)->desk->pause(options.name, options.reason, current_actor());
  if (!paused) return paused.error();
  return hook_said(settings, options.name, "paused",
                   "Hook " + options.name + " is paused; what happens meanwhile is sent when it goes on.");
}

Exit hook_resume(const Settings& settings, const HookOptions& options) {
  const auto hooks = open_hooks(settings);
  if (!hooks) return hooks.error();
  if (const Status resumed = (*hooks)->desk->resume(options.name, current_actor()); !resumed) return resumed.error();
  return hook_said(settings, options.name, "resumed", "Hook " + options.name + " goes on.");
}

Exit hook_remove(const Settings& settings, const HookOptions& options) {
  const auto hooks = open_hooks(settings);
  if (!hooks) return hooks.error();
  if (const Status removed = (*hooks)->desk->remove(options.name, current_actor()); !removed) return removed.error();
  return hook_said(settings, options.name, "removed",
                   "Hook " + options.name + " is removed with all that waited; its history stays.");
}

Exit hook_resend(const Settings& settings, const HookOptions& options) {
  const auto hooks = open_hooks(settings);
  if (!hooks) return hooks.error();
  const Result<std::string> event = event_meant(*(*hooks)->store, options.event);
  if (!event) return event.error();
  const auto count = (*hooks)->desk->resend(options.name, *event, current_actor());
  if (!count) return count.error();
  if (settings.json)
    print_json({{"name", options.name}, {"resent", *count}});
  else
    print_paragraph(std::to_string(*count) + " of hook " + options.name + " will be sent again.");
  return exit_ok;
}

Exit hook_skip(const Settings& settings, const HookOptions& options) {
  const auto hooks = open_hooks(settings);
  if (!hooks) return hooks.error();
  const Result<std::string> event = event_meant(*(*hooks)->store, options.event);
  if (!event) return event.error();
  const Status skipped = (*hooks)->desk->skip(options.name, *event, current_actor());
  if (!skipped) return skipped.error();
  return hook_said(settings, options.name, "skipped", *event + " will not be sent.");
}

std::string said_of_unsent(HookTable& table, const std::string& name, const std::string& id) {
  const std::optional<HookRow> row = table.hook(name);
  if (row && row->paused_at) return "Hook " + name + " is paused: the test " + id + " is sent when it goes on.";
  return "No process has sent the test " + id +
         " yet: `cairn work` and `cairn serve` send, where they have the hook's secret.";
}

// The sample is sent by a process that sends for the hook; what it was answered is shown.
Exit hook_test(const Settings& settings, const HookOptions& options) {
  const auto hooks = open_hooks(settings);
  if (!hooks) return hooks.error();
  const Result<std::string> id = (*hooks)->desk->test(options.name, current_actor());
  if (!id) return id.error();
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(options.wait_ms);
  const NoticeId notice = *parse_event_id(options.name, *id);
  HookTable& table = *(*hooks)->table;
  std::optional<HookDelivery> sent;
  do {
    sent = table.delivery(options.name, notice);
    if (!sent || sent->failures > 0 || sent->status != DeliveryStatus::waiting) break;
    std::this_thread::sleep_for(test_pause);
  } while (std::chrono::steady_clock::now() < until);
  if (!sent) return no_such_hook(options.name);
  const bool is_delivered = sent->status == DeliveryStatus::delivered;
  const bool is_unsent = !is_delivered && sent->failures == 0;
  if (settings.json)
    print_json(delivery_line(*sent));
  else if (is_delivered)
    print_paragraph("The test " + *id + " was delivered, and answered with " + std::to_string(sent->answer) + ".");
  else
    print_paragraph(is_unsent ? said_of_unsent(table, options.name, *id)
                              : "The test " + *id + " was not delivered. " + sent->says);
  return is_delivered ? exit_ok : exit_finding;
}

// --- options ---------------------------------------------------------------------------------------------------------

void add_hook_text(CLI::App& command, const std::string& option, const std::string& type, const std::string& field,
                   const std::string& says, Json& fields) {
  add_text(command, option, type, says, [&fields, field](const std::string& text) -> Status {
    fields[field] = text;
    return Done{};
  });
}

void add_hook_span(CLI::App& command, const std::string& option, const std::string& field, const std::string& says,
                   Json& fields) {
  add_text(command, option, "D", says, [&fields, option, field](const std::string& text) -> Status {
    const Result<std::int64_t> span = span_argument(text, option);
    if (!span) return span.error();
    fields[field] = *span;
    return Done{};
  });
}

void add_hook_flag(CLI::App& command, const std::string& option, const std::string& field, const std::string& says,
                   Json& fields) {
  command.add_flag_function(
      option, [&fields, field](std::int64_t count) { fields[field] = count > 0; }, says);
}

void add_hook_target(CLI::App& command, Json& fields) {
  add_hook_text(command, "--url", "URL", "url", "Where it is sent, as a POST over http or https", fields);
  add_hook_text(command, "--command", "LINE", "command",
                "In the place of a URL: a command of this machine, for its embedded database", fields);
}

// They say what is read from the feed, and stay.
void add_hook_events(CLI::App& command, Json& fields) {
  add_list(command, "--on", "WORDS", "ended, failed, waits, budget, stalled; several with commas, or repeated",
           [&fields](const std::vector<std::string>& texts) -> Status {
             Json on = Json::array();
             for (const std::string& text : texts) {
               std::istringstream words(text);
               for (std::string word; std::getline(words, word, ',');) on.push_back(word);
             }
             fields["on"] = std::move(on);
             return Done{};
           });
  add_hook_text(command, "--graph", "NAME", "graph", "Only runs of this graph", fields);
  add_list(command, "--tag", "KEY=VALUE", "Only runs with this tag (repeatable)",
           [&fields](const std::vector<std::string>& texts) -> Status {
             const Result<Tags> tags = tags_argument(texts);
             if (!tags) return tags.error();
             fields["tags"] = *tags;
             return Done{};
           });
}

void add_hook_manner(CLI::App& command, Json& fields) {
  add_hook_text(command, "--secret", "NAME", "secret", "The secret of the tools file that signs", fields);
  add_hook_flag(command, "--ordered", "ordered", "Send the notices of a run one after another", fields);
  add_hook_flag(command, "--private", "private", "The URL may lead to this machine or to a private network", fields);
  add_hook_span(command, "--stalled-after", "stalled_after_ms",
                "A run stands still when nothing was committed to it for so long", fields);
  command
      .add_option_function<std::int64_t>(
          "--attempts", [&fields](const std::int64_t& count) { fields["attempts"] = count; },
          "After so many a notice is parked (default 12, which takes about a day)")
      ->check(CLI::Range(1, 100))
      ->type_name("N");
  add_hook_span(command, "--backoff", "backoff_ms",
                "The pause after a first failure, three times as long after each "
                "further one (default 5s, at most 6h)",
                fields);
  add_hook_span(command, "--timeout", "timeout_ms", "How long an answer may take (default 10s)", fields);
}

void add_hook_edit(CommandLine& line, CLI::App& group, HookOptions& options) {
  CLI::App& edit = add_command(
      line, group, "edit", "Change how it sends; what waits is sent that way",
      "cairn hook edit chat --url https://chat.example/new",
      [&](const Settings& settings) { return hook_edit(settings, options); },
      [&]() -> Status {
        if (!options.fields.empty()) return Done{};
        return Error{Code::invalid, "Expected an option that changes the hook, but found none."};
      });
  add_hook_name(edit, options.name);
  add_hook_target(edit, options.fields);
  add_hook_manner(edit, options.fields);
}

void add_hook_changes(CommandLine& line, CLI::App& group, HookOptions& options) {
  CLI::App& pause =
      add_command(line, group, "pause", "Send nothing for now", "cairn hook pause chat --reason 'The receiver moves.'",
                  [&](const Settings& settings) { return hook_pause(settings, options); });
  add_hook_name(pause, options.name);
  pause.add_option("--reason", options.reason, "Kept with the pause")->type_name("TEXT");
  CLI::App& resume =
      add_command(line, group, "resume", "Go on, also after the receiver wanted no more (410 Gone)",
                  "cairn hook resume chat", [&](const Settings& settings) { return hook_resume(settings, options); });
  add_hook_name(resume, options.name);
  CLI::App& remove = add_command(line, group, "remove", "End it, with all that waits", "cairn hook remove chat",
                                 [&](const Settings& settings) { return hook_remove(settings, options); });
  add_hook_name(remove, options.name);
}

void add_hook_sends(CommandLine& line, CLI::App& group, HookOptions& options) {
  CLI::App& test =
      add_command(line, group, "test", "Have a sample sent, and show what was answered", "cairn hook test chat",
                  [&](const Settings& settings) { return hook_test(settings, options); });
  add_hook_name(test, options.name);
  add_text(test, "--wait", "D", "How long to wait for the answer (default 30s)",
           [&](const std::string& text) { return assign(options.wait_ms, span_argument(text, "--wait")); });
  CLI::App& resend =
      add_command(line, group, "resend", "Send a notice again; without one, all that are parked",
                  "cairn hook resend chat", [&](const Settings& settings) { return hook_resend(settings, options); });
  add_hook_name(resend, options.name);
  resend
      .add_option("EVENT", options.event,
                  "The id of its event, as `cairn hook show` has it; of its run the first letters do")
      ->type_name("");
  CLI::App& skip =
      add_command(line, group, "skip", "Never send a notice, so that later ones of its run may go",
                  "cairn hook skip chat RUN/7", [&](const Settings& settings) { return hook_skip(settings, options); });
  add_hook_name(skip, options.name);
  skip.add_option("EVENT", options.event, "The id of its event; of its run the first letters do")
      ->required()
      ->type_name("");
}

}  // namespace

void add_hook(CommandLine& line) {
  auto& options = line.keep<HookOptions>();
  CLI::App& group = add_group(line, "hook", "What is sent when something happens to a run", "cairn hook list");
  CLI::App& add = add_command(
      line, group, "add", "Make a hook; what happens from now on is sent",
      "cairn hook add chat --url https://chat.example/in --on failed,waits --secret CHAT --graph order",
      [&](const Settings& settings) { return hook_add(settings, options); },
      [&]() -> Status {
        const Result<HookDefinition> hook = parse_hook(options.fields);
        return hook ? Status(Done{}) : hook.error();
      });
  add_hook_name(add, options.name);
  add_hook_target(add, options.fields);
  add_hook_events(add, options.fields);
  add_hook_manner(add, options.fields);
  add_hook_edit(line, group, options);
  add_hook_views(line, group);
  add_hook_changes(line, group, options);
  add_hook_sends(line, group, options);
}

}  // namespace cairn
