#include "ops/commands/command_options.hpp"

#include <CLI/CLI.hpp>

#include "ops/requests/arguments.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/terminal/local_time.hpp"
#include "ops/terminal/pager.hpp"
#include "ops/terminal/print.hpp"
#include "ops/traces/otlp_client.hpp"

namespace cairn {
namespace {

// The parser's own exception carries the refusal out of its callbacks; it ends in the exit code for usage.
void need(const Status& status) {
  if (!status) throw CLI::ValidationError(status.error().message);
}

CLI::App& add_named(CommandLine& line, CLI::App& parent, const std::string& name, const std::string& purpose,
                    const std::string& example) {
  CLI::App& command = *parent.add_subcommand(name, purpose);
  if (!example.empty()) command.footer("Example:\n  " + example);
  if (&parent != &line.app)
    command.group("Subcommands");  // not the heading of its parent
  else if (!line.heading.empty())
    command.group(line.heading);
  return command;
}

// A forgotten directory would make one that is called as the next option.
Result<std::string> data_argument(const std::string& text) {
  if (text.starts_with("--"))
    return Error{Code::invalid, "Expected a directory after --data, but found the option " + excerpt(Json(text), 60) +
                                    ": one of that name is ./" + text.substr(0, 60) + "."};
  return path_argument(text, "a directory in --data");
}

}  // namespace

void add_settings(CLI::App& app, Settings& settings) {
  app.add_flag("--json", settings.json, "One JSON document, or JSON lines for lists and streams");
  app.add_flag("--no-pager", settings.no_pager,
               "On a terminal, print without the pager (CAIRN_PAGER, PAGER, less) what it has no room for");
  CLI::Option* dsn =
      add_text(app, "--dsn", "DSN", "The database: a PostgreSQL connection string or URL; a word alone is its name",
               [&](const std::string& text) { return assign(settings.dsn, dsn_argument(text)); });
  CLI::Option* data = add_text(app, "--data", "DIR", "Directory of the embedded PostgreSQL",
                               [&](const std::string& text) { return assign(settings.data, data_argument(text)); });
  dsn->excludes(data);
  for (CLI::Option* option : app.get_options()) {
    if (option->get_lnames() != std::vector<std::string>{"help"}) option->group("Every command");
  }
}

Run paged(Run run, std::function<bool()> goes_on) {
  return [run = std::move(run), goes_on = std::move(goes_on)](const Settings& settings) {
    const Pager pager(!settings.no_pager && !(goes_on && goes_on()));
    return run(settings);
  };
}

CLI::App& add_command(CommandLine& line, CLI::App& parent, const std::string& name, const std::string& purpose,
                      const std::string& example, Run run, OptionCheck check) {
  CLI::App& command = add_named(line, parent, name, purpose, example);
  add_settings(command, line.settings);
  const std::string whole = &parent == &line.app ? name : parent.get_name() + " " + name;
  command.callback([&line, &command, whole, run = std::move(run), check = std::move(check)] {
    if (!command.get_subcommands().empty()) return;  // one of those was chosen
    if (check) need(check());
    line.settings.command = whole;
    line.chosen = [&line, run] { return run(line.settings); };
  });
  return command;
}

CLI::App& add_command(CommandLine& line, const std::string& name, const std::string& purpose,
                      const std::string& example, Run run, OptionCheck check) {
  return add_command(line, line.app, name, purpose, example, std::move(run), std::move(check));
}

CLI::App& add_group(CommandLine& line, const std::string& name, const std::string& purpose,
                    const std::string& example) {
  return *add_named(line, line.app, name, purpose, example).require_subcommand(1);
}

CLI::Option* add_text(CLI::App& app, const std::string& name, const std::string& type, const std::string& says,
                      TakeText take) {
  const auto parse = [take = std::move(take)](const std::string& text) { need(take(text)); };
  return app.add_option_function<std::string>(name, parse, says)->type_name(type);
}

CLI::Option* add_list(CLI::App& app, const std::string& name, const std::string& type, const std::string& says,
                      TakeList take) {
  const auto parse = [take = std::move(take)](const std::vector<std::string>& texts) { need(take(texts)); };
  return app.add_option_function<std::vector<std::string>>(name, parse, says)->allow_extra_args(false)->type_name(type);
}

void add_tools(CommandLine& line, CLI::App& app) {
  add_text(app, "--tools", "FILE", "File that names the programs and URLs which are tools (CAIRN_TOOLS)",
           [&line](const std::string& text) {
             return assign(line.settings.tools, path_argument(text, "a file in --tools"));
           });
}

void add_run(CLI::App& app, std::string& run) { app.add_option("RUN", run, "The run's id")->required()->type_name(""); }

void add_tags(CLI::App& app, const std::string& says, Tags& tags) {
  add_list(app, "--tag", "K=V", says,
           [&tags](const std::vector<std::string>& texts) { return assign(tags, tags_argument(texts)); });
}

void add_moment(CLI::App& app, Moment& at) {
  constexpr TimeUs rest_of_second = 999'999;  // which is not printed
  add_text(app, "--at", "SEQ|TIME",
           "As of this event's number, or of the last event at or before this time: as it is printed, or "
           "2026-11-21T22:23:47Z; a day begins in UTC",
           [&at](const std::string& text) -> Status {
             const std::optional<TimeUs> printed = parse_local_time(text);
             return assign(at, printed ? Result<Moment>(Moment{{}, *printed + rest_of_second}) : moment_argument(text));
           });
}

CLI::Option* add_graph_text(CLI::App& app, const std::string& says, std::optional<Json>& graph) {
  return add_text(app, "--graph", "FILE", says,
                  [&graph](const std::string& path) { return assign(graph, json_file(path, "the graph")); });
}

void add_trust(CLI::App& app, std::vector<std::string>& files) {
  add_list(app, "--trust", "KEYFILE", "A public key (PEM); only signatures of such keys count (repeatable)",
           [&files](const std::vector<std::string>& texts) -> Status {
             files = texts;
             return Done{};
           });
}

void add_except(CLI::App& app, std::vector<std::string>& runs) {
  app.add_option("--except", runs, "A run to leave out: its id, or the first letters of it (repeatable)")
      ->type_name("RUN")
      ->allow_extra_args(false);
}

CLI::Option* add_where(CLI::App& app, std::function<void(const RunQuery&)> take) {
  return add_text(app, "--where", "FILTER", std::string(filter_says),
                  [take = std::move(take)](const std::string& text) -> Status {
                    const Result<RunQuery> filter = filter_argument(text);
                    if (!filter) return filter.error();
                    take(*filter);
                    return Done{};
                  });
}

void add_listen(CLI::App& app, const std::string& says, std::function<void(const ListenAddress&)> take) {
  add_text(app, "--listen", "ADDRESS", says, [take = std::move(take)](const std::string& text) -> Status {
    const Result<ListenAddress> address = listen_argument(text);
    if (!address) return address.error();
    take(*address);
    return Done{};
  });
}

void add_traces(CLI::App& app, const std::string& says, TraceExportOptions& traces) {
  add_text(app, "--otlp", "URL", says + " (OTLP over HTTP, JSON)", [&](const std::string& url) {
    if (const Result<OtlpEndpoint> fits = otlp_endpoint(url); !fits) return Status(fits.error());
    traces.url = url;
    return Status(Done{});
  });
  app.add_flag("--otlp-contents", traces.with_contents, "With prompts, replies, inputs and outputs in the traces");
}

Status check_traces(const TraceExportOptions& traces) {
  if (!traces.with_contents || !traces.url.empty()) return Done{};
  return Error{Code::invalid, "Expected --otlp with --otlp-contents, but it is missing."};
}

void add_selection(CLI::App& app, RunSelection& selection, const std::string& all_says) {
  CLI::Option* runs = app.add_option("RUN", selection.runs, "The runs' ids")->type_name("");
  CLI::Option* all = app.add_flag("--all", selection.all, all_says);
  CLI::Option* where = add_where(app, [&selection](const RunQuery& query) { selection.where = query; });
  all->excludes(runs);
  where->excludes(runs)->excludes(all);
}

Status need_selection(const RunSelection& selection, const std::string& verb) {
  if (!selection.empty()) return Done{};
  return Error{Code::invalid, "Expected the runs to " + verb + " as RUN..., by --where or --all, but found none."};
}

void add_run_filter(CLI::App& app, RunQuery& runs) {
  CLI::Option* where = add_where(app, [&runs](const RunQuery& query) { runs = query; });
  const auto add = [&runs, &app, where](const std::string& key, const std::string& type, const std::string& says) {
    add_text(app, "--" + key, type, says, [&runs, key](const std::string& text) {
      return add_term(runs, key, text);
    })->excludes(where);
  };
  add("graph", "G", "Of this graph");
  add("version", "V", "Of this version of a graph, or of those that begin so");
  add("status", "S", "running, waiting, paused, done, failed or aborted");
  add("since", "TIME", "Started at or after: 2026-11-21 (UTC), 2026-11-21T22:23:47Z, or 2h or 30d ago");
  add("until", "TIME", "Started before: a day (UTC), a time, or so long ago");
  add("lasted", "TIME", "So long at least, from the start to the last event: 90s, 10m, 2h");
  add("reason", "TEXT", "With this text in the reason");
  add("error", "E", "Failed by this error: timeout, unknown_tool, ...");
  add("node", "N", "Failed at this node");
  add("tool", "T", "Called this tool");
  add("parent", "RUN", "Called by this run");
  add("lineage", "RUN", "This run, those it came from (by a fork, by --continues) and all that came from them");
  add_list(app, "--tag", "K=V", "With this tag (repeatable: with all of them)",
           [&runs](const std::vector<std::string>& texts) -> Status {
             const Result<Tags> tags = tags_argument(texts);
             if (!tags) return tags.error();
             for (const auto& [key, value] : *tags)
               if (Status added = add_term(runs, "tag." + key, value); !added) return added;
             return Done{};
           })
      ->excludes(where);
}

CLI::Option* add_before(CLI::App& app, std::int64_t& before) {
  return app.add_option("--before", before, "Those before this number, as a list that went on ended")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
}

void print_older_ones(std::size_t shown, std::int64_t oldest, bool json) {
  print_list_goes_on(std::to_string(shown) + " shown. Older ones:", "--before " + std::to_string(oldest), json);
}

}  // namespace cairn
