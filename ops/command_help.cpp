#include "ops/command_help.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <regex>
#include <sstream>

#include "engine/nearest.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

// Those of `cairn hook`.
const std::map<std::string, std::string>& hook_examples() {
  static const std::map<std::string, std::string> of = {
      {"hook", "cairn hook list"},
      {"hook add", "cairn hook add chat --url https://chat.example/in --on failed,waits --secret CHAT --graph order"},
      {"hook edit", "cairn hook edit chat --url https://chat.example/new"},
      {"hook list", "cairn hook list --json"},
      {"hook show", "cairn hook show chat --status parked"},
      {"hook history", "cairn hook history chat"},
      {"hook pause", "cairn hook pause chat --reason 'The receiver moves.'"},
      {"hook resume", "cairn hook resume chat"},
      {"hook remove", "cairn hook remove chat"},
      {"hook test", "cairn hook test chat"},
      {"hook resend", "cairn hook resend chat"},
      {"hook skip", "cairn hook skip chat RUN/7"},
  };
  return of;
}

const std::map<std::string, std::string>& schedule_examples() {
  static const std::map<std::string, std::string> of = {
      {"schedule", "cairn schedule list"},
      {"schedule add", "cairn schedule add weekly --graph order --cron '0 9 * * MON' --zone Europe/Berlin"},
      {"schedule list", "cairn schedule list --json"},
      {"schedule show", "cairn schedule show weekly"},
      {"schedule next", "cairn schedule next weekly --count 5"},
      {"schedule history", "cairn schedule history weekly --limit 50"},
      {"schedule explain", "cairn schedule explain weekly --at 2026-11-23"},
      {"schedule edit", "cairn schedule edit weekly --cron '0 8 * * MON' --revision 1"},
      {"schedule pause", "cairn schedule pause weekly --reason 'The warehouse is closed.'"},
      {"schedule resume", "cairn schedule resume weekly"},
      {"schedule trigger", "cairn schedule trigger weekly"},
      {"schedule backfill", "cairn schedule backfill weekly --from 2026-11-01 --until 2026-11-24"},
      {"schedule remove", "cairn schedule remove weekly"},
  };
  return of;
}

// The line that a person would type first, by the command's words.
const std::map<std::string, std::string>& examples_of_others() {
  static const std::map<std::string, std::string> of = {
      {"up", "cairn up --workers 2 --listen 127.0.0.1:8080"},
      {"down", "cairn down"},
      {"logs", "cairn logs --follow --level warn"},
      {"migrate", "cairn migrate --dsn 'host=db dbname=cairn user=owner'"},
      {"backup", "cairn backup /var/backups/cairn-$(date +%F)"},
      {"restore", "cairn restore /var/backups/cairn-2026-11-27 --data ~/restored"},
      {"distribute", "cairn distribute --dsn 'host=coordinator dbname=cairn user=owner'"},
      {"work", "cairn work --concurrency 32 --queue default --queue model --tools tools.json"},
      {"serve", "cairn serve --listen 127.0.0.1:8080"},
      {"mcp", "cairn mcp --role read --role run --role answer"},
      {"feed", "cairn feed list"},
      {"feed add", "cairn feed add warehouse --graph seven_node"},
      {"feed list", "cairn feed list --json"},
      {"feed read", "cairn feed read warehouse --json --confirm"},
      {"feed confirm", "cairn feed confirm warehouse CURSOR"},
      {"feed remove", "cairn feed remove warehouse"},
      {"token", "cairn token list"},
      {"token add", "cairn token add dashboard --role read"},
      {"token list", "cairn token list --json"},
      {"token revoke", "cairn token revoke dashboard"},
      {"queue", "cairn queue"},
      {"queue budgets", "cairn queue budgets model"},
      {"queue set", "cairn queue set model --concurrency 4 --rate 50 --per 1s --burst 10"},
      {"queue history", "cairn queue history model"},
      {"workers", "cairn workers"},
      {"doctor", "cairn doctor"},
      {"skill", "cairn skill install"},
      {"test-server", "cairn test-server --listen 127.0.0.1:8081"},
      {"skill install", "cairn skill install --to .claude/skills"},
      {"skill show", "cairn skill show"},
      {"graph", "cairn graph check order.json"},
      {"graph list", "cairn graph list"},
      {"graph show", "cairn graph show order --format mermaid"},
      {"graph check", "cairn graph check order.json --strict"},
      {"graph schema", "cairn graph schema > graph.schema.json"},
      {"graph test", "cairn graph test order.test.json"},
      {"graph add", "cairn graph add order.json"},
      {"graph rollback", "cairn graph rollback 1d3ce1305838"},
      {"dataset", "cairn dataset load"},
      {"dataset load", "cairn dataset load"},
      {"dataset measure", "cairn dataset measure"},
      {"corpus", "cairn corpus list"},
      {"corpus load", "cairn corpus load handbook pages"},
      {"corpus list", "cairn corpus list"},
      {"corpus search", "cairn corpus search handbook 'parental leave'"},
      {"corpus drop", "cairn corpus drop handbook"},
      {"planners", "cairn planners measure tests/trials"},
      {"planners measure", "cairn planners measure tests/trials --only seven_node --answers stand-in"},
      {"start", "cairn start order --input '{\"name\": \"Ann\"}' --tag team=a --key monday --wait"},
      {"fork", "cairn fork RUN --at 5 --set size='\"large\"'"},
      {"batch", "cairn batch order --inputs inputs.jsonl --wait --out results.jsonl"},
      {"runs", "cairn runs --status failed --since 2h --error timeout"},
      {"report", "cairn report --graph order --since 7d"},
      {"show", "cairn show RUN --at 5"},
      {"events", "cairn events RUN --follow"},
      {"explain", "cairn explain RUN"},
      {"plan", "cairn plan RUN"},
      {"wait", "cairn wait RUN --timeout 10m"},
      {"questions", "cairn questions --graph order --limit 20"},
      {"answer", "cairn answer RUN --value '\"large\"' --wait"},
      {"signal", "cairn signal RUN paid --value true"},
      {"pause", "cairn pause --where graph=order,status=running"},
      {"resume", "cairn resume --where graph=order,status=paused"},
      {"retry", "cairn retry --where graph=order,status=failed,since=2h --dry-run"},
      {"reset", "cairn reset RUN --to make"},
      {"cancel", "cairn cancel RUN --reason 'Ordered twice.'"},
      {"move", "cairn move --where graph=order,status=running --graph order.json --dry-run"},
      {"verify", "cairn verify --all"},
      {"rebuild", "cairn rebuild --check"},
      {"export", "cairn export --where graph=order --out order.jsonl.zst"},
      {"import", "cairn import order.jsonl"},
      {"archive", "cairn archive --older-than 90d --out old.jsonl"},
      {"erase", "cairn erase --where tag.customer=jane --dry-run"},
      {"diff", "cairn diff RUN OTHER"},
      {"replay", "cairn replay --where graph=order --graph order.json"},
      {"simulate", "cairn simulate order.json --seeds 2000"},
      {"bench", "cairn bench --case steps"},
      {"version", "cairn version --json"},
      {"manual", "cairn manual schedule | man -l -"},
      {"completion", "source <(cairn completion bash)"},
      {"completion bash", "cairn completion bash > ~/.local/share/bash-completion/completions/cairn"},
      {"completion zsh", "cairn completion zsh > ~/.zfunc/_cairn"},
      {"completion fish", "cairn completion fish | source"},
  };
  return of;
}

const std::map<std::string, std::string>& examples() {
  static const std::map<std::string, std::string> of = [] {
    std::map<std::string, std::string> all = examples_of_others();
    all.emplace("starts", "cairn starts --graph mails");
    all.insert(schedule_examples().begin(), schedule_examples().end());
    all.insert(hook_examples().begin(), hook_examples().end());
    return all;
  }();
  return of;
}

// The commands by what they are for, in the order of `cairn --help`.
const std::vector<std::pair<std::string, std::vector<std::string>>>& groups() {
  static const std::vector<std::pair<std::string, std::vector<std::string>>> of = {
      {"Runs",
       {"start", "starts", "batch", "wait", "questions", "answer", "signal", "runs", "show", "events", "explain",
        "plan", "report"}},
      {"Many runs, or another way", {"pause", "resume", "retry", "reset", "cancel", "move", "fork", "diff"}},
      {"Graphs", {"graph", "simulate", "test-server", "skill"}},
      {"Workers, database, API",
       {"up", "down", "logs", "work", "serve", "mcp", "migrate", "backup", "restore", "distribute", "feed", "token",
        "schedule", "hook", "queue", "workers", "doctor"}},
      {"The record", {"verify", "replay", "rebuild", "export", "import", "archive", "erase"}},
      {"Data and measurement", {"dataset", "corpus", "planners", "bench"}},
      {"The program itself", {"version", "manual", "completion"}},
  };
  return of;
}

std::string in_lines(const std::string& text, std::size_t columns) {
  std::string lines;
  for (const std::string& line : wrapped(text, columns)) lines += (lines.empty() ? "" : "\n") + line;
  return lines;
}

// Without the parser's own marks of types, ranges and what excludes what; as wide as the terminal.
class PlainFormatter final : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    return described(option->get_description());
  }

  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream row;
    CLI::detail::format_help(row, command->get_name(), described(command->get_description()), column_width_);
    return row.str();
  }

  std::string make_description(const CLI::App* app) const override {
    return in_lines(app->get_description(), line_width()) + "\n";
  }

  // Paragraphs are wrapped; lines that are set off are to be typed as they stand.
  std::string make_footer(const CLI::App* app) const override {
    if (!is_terminal()) return CLI::Formatter::make_footer(app);
    std::string footer, paragraph;
    std::istringstream lines(app->get_footer() + "\n\n");
    for (std::string line; std::getline(lines, line);) {
      const bool goes_on = !line.empty() && line.front() != ' ';
      if (goes_on) paragraph += (paragraph.empty() ? "" : " ") + line;
      if (goes_on) continue;
      if (!paragraph.empty()) footer += in_lines(paragraph, line_width()) + "\n";
      paragraph.clear();
      footer += line + "\n";
    }
    while (footer.ends_with('\n')) footer.pop_back();
    return footer.empty() ? footer : footer + "\n";
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    std::string text = type.empty() ? "" : " " + type.substr(0, type.find(':'));
    if (!option->get_default_str().empty()) text += " (default " + option->get_default_str() + ")";
    if (option->get_required() && !option->get_positional()) text += " (required)";
    return text;
  }

 private:
  std::string described(const std::string& text) const {
    constexpr std::size_t columns_min = 20;
    const std::size_t taken = std::min(line_width(), column_width_);
    return in_lines(text, std::max(columns_min, line_width() - taken));
  }
};

std::vector<std::string> names_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* one) { return !one->get_name().empty(); }))
    if (!command->get_group().empty()) names.push_back(command->get_name());
  return names;
}

const CLI::App* command_named(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (command->get_name() == name) return command;
  return nullptr;
}

void add_examples(CLI::App& app, const std::string& words, const std::shared_ptr<PlainFormatter>& formatter) {
  app.formatter(formatter);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    const std::string name = words + command->get_name();
    const auto example = examples().find(name);
    command->footer(example == examples().end() ? "" : "Example:\n  " + example->second);
    add_examples(*command, name + " ", formatter);
  }
}

std::string no_command(const CLI::App& app, const std::string& path, const std::string& word) {
  std::vector<std::string> known = names_of(app);
  if (app.get_parent() == nullptr) known.emplace_back("--version");
  return "Expected a command, but \"" + word + "\" is none" + did_you_mean(word, known) + ": see `" + path +
         " --help`.";
}

// An option takes the next argument, if it is not part of its own.
bool takes_next(const CLI::App& app, const std::string& argument) {
  if (argument.find('=') != std::string::npos) return false;
  const CLI::Option* option = app.get_option_no_throw(argument);
  return option != nullptr && option->get_items_expected_max() > 0;
}

std::string path_of(const CLI::App& app, const CLI::App*& last) {
  std::string path = "cairn";
  last = &app;
  for (; !last->get_subcommands().empty(); last = last->get_subcommands().front())
    path += " " + last->get_subcommands().front()->get_name();
  return path;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options([](const CLI::Option* one) { return one->nonpositional(); }))
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

}  // namespace

void add_help(CLI::App& app) {
  auto formatter = std::make_shared<PlainFormatter>();
  formatter->column_width(32);
  add_examples(app, "", formatter);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    for (const auto& [group, names] : groups())
      if (std::find(names.begin(), names.end(), command->get_name()) != names.end()) command->group(group);
}

Result<std::vector<std::string>> help_first(const CLI::App& app, std::vector<std::string> arguments) {
  const CLI::App* at = &app;
  std::string path = "cairn";
  for (std::size_t i = 0; i < arguments.size() && !names_of(*at).empty();) {
    if (arguments[i].starts_with('-')) {
      i += takes_next(*at, arguments[i]) ? 2 : 1;
      continue;
    }
    if (at == &app && arguments[i] == "help") {
      arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i));
      arguments.emplace_back("--help");
      continue;
    }
    const CLI::App* next = command_named(*at, arguments[i]);
    if (next == nullptr && at->get_require_subcommand_min() == 0) break;  // an argument of its own
    if (next == nullptr) return Error{Code::invalid, no_command(*at, path, arguments[i])};
    path += " " + arguments[i++];
    at = next;
  }
  return arguments;
}

std::string usage_sentence(const CLI::App& app, std::string fault) {
  const CLI::App* at = nullptr;
  const std::string path = path_of(app, at);
  for (const std::string& left : at->remaining()) {
    if (!left.starts_with('-') || left == "-") continue;
    const std::string name = left.substr(0, left.find('='));
    return "Expected an option of `" + path + "`, but found " + name + did_you_mean(name, options_of(*at)) + ": see `" +
           path + " --help`.";
  }
  if (const std::vector<std::string> left = at->remaining(); !left.empty() && at->get_require_subcommand_min() == 0)
    return "Expected nothing more after the arguments of `" + path + "`, but found " + left.front() + ": see `" + path +
           " --help`.";
  if (at->get_require_subcommand_min() > 0) fault = "Expected a command, but found none";
  static const std::regex lacks_value("(--[a-z-]+): [0-9]+ required (.+) missing");
  if (std::smatch found; std::regex_match(fault, found, lacks_value))
    fault = "Expected " + found[2].str() + " after " + found[1].str() + ", but found none";
  return fault + (fault.ends_with('.') ? " See `" : ": see `") + path + " --help`.";
}

}  // namespace cairn
