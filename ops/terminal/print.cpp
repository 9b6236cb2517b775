#include "ops/terminal/print.hpp"

#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <poll.h>
#include <utility>

#include "ops/answers/words.hpp"
#include "ops/terminal/local_time.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

constexpr std::size_t bytes_of_goal_max = 1'000;

// Cut to at most this many bytes on a code point's boundary, on one line, with foreign control characters as blanks.
std::string cut(std::string text, std::size_t bytes_max) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  if (text.size() <= bytes_max || bytes_max < 4) return text;
  std::size_t end = bytes_max - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;
  return text.substr(0, end) + "...";
}

std::string value_text(const Json& value, std::size_t bytes_max) {
  if (value.is_string()) return cut(value.get<std::string>(), bytes_max);
  return excerpt(value, bytes_max);
}

void print_title(std::string_view title) { print_line("\n" + painted(title, Paint::bold)); }

std::string step_place(const RunState& state, const Step& step) {
  if (step.goal >= 0) return "sub-goal " + goal_of(state, step).id;
  if (step.item >= 0) return state.node(step).name + " item " + std::to_string(step.item);
  return state.node(step).name;
}

// `word`: what it waits for as state_json has it.
std::string step_waits_for(const RunState& state, const Step& step, const std::string& word) {
  if (!step.question.empty()) return "the answer to " + step.question;
  if (!step.child.is_nil()) return "run " + to_string(step.child);
  if (step.map.open_goals > 0) return counted(step.map.open_goals, "sub-goal");
  const auto items = static_cast<std::int64_t>(step.map.items.size());
  if (step.map.open_items > 0)
    return std::to_string(items - step.map.next_item + step.map.open_items) + " of " + counted(items, "item");
  const std::string until = step.due ? "until " + local_time(*step.due) : "";
  const auto* wait = state.node(step).as<WaitNode>();
  if (wait != nullptr && wait->signal) return "the signal " + *wait->signal + (until.empty() ? "" : " " + until);
  if (step.due) return until;
  if (!step.message.empty()) return "another try: " + step.message;
  return "a " + word;
}

void print_steps(const RunState& state, const Json& shown) {
  if (state.steps.empty()) return;
  print_title(is_ended(state.status) ? "Steps left open" : "Open steps");
  Table table({"STEP", "AT", "ATTEMPT", "SINCE", "WAITS FOR"});
  for (const Json& one : shown) {
    const Step& step = state.steps.at(one["step"].get<StepId>());
    table.add({one["step"].dump(), step_place(state, step), std::to_string(step.attempt), local_time(step.opened_at),
               step_waits_for(state, step, one["waits_for"])});
  }
  table.print();
}

void print_channels(const Json& channels) {
  if (channels.empty()) return;
  print_title("Channels");
  for (const auto& [name, value] : channels.items()) {
    print_line(cut_to("  " + name + "  " + painted(value_text(value, 400), Paint::dim), line_width()));
  }
}

void print_budgets(const RunState& state) {
  if (state.budgets.empty()) return;
  print_title("Budgets");
  for (const auto& [name, use] : state.budgets)
    print_below("  ", "    ", name + "  " + std::to_string(use.used) + " of " + std::to_string(use.cap));
}

// --- the plan --------------------------------------------------------------------------------------------------------

using Children = std::map<std::string, std::vector<const SubGoal*>>;

Children children_by_parent(const Plan& plan) {
  Children children;
  for (const SubGoal& goal : plan.goals) {
    const bool has_parent = !goal.parent.empty() && goal.parent != goal.id && plan.by_id.contains(goal.parent);
    children[has_parent ? goal.parent : ""].push_back(&goal);
  }
  return children;
}

std::string goal_line(const SubGoal& goal) {
  std::string line = goal.id + "  " + painted_status(to_string(goal.status));
  if (!goal.tool.empty()) line += "  " + painted(goal.tool, Paint::dim);
  if (!goal.title.empty() && goal.title != goal.id) line += "  " + goal.title;
  for (const std::string& id : goal.after) line += (&id == &goal.after.front() ? "  after " : ", ") + id;
  if (!goal.message.empty()) line += "  " + painted(goal.message, Paint::red);
  return line;
}

// A tree that is deeper than the terminal has room for goes on without further indents.
void print_goals(const Children& children, const std::string& parent, const std::string& indent, int depth) {
  constexpr std::size_t text_width_min = 40;
  const auto found = children.find(parent);
  if (found == children.end() || depth > 64) return;
  for (const SubGoal* goal : found->second) {
    const bool last = goal == found->second.back();
    const std::string below = indent + (last ? "   " : "│  ");
    print_below(indent + (last ? "└─ " : "├─ "), below + "  ", cut(goal_line(*goal), bytes_of_goal_max));
    const bool has_room = shown_width(below) + text_width_min <= line_width();
    if (!goal->id.empty()) print_goals(children, goal->id, has_room ? below : indent, depth + 1);
  }
}

void print_rejected(const Plan& plan) {
  for (const RejectedGoal& goal : plan.rejected)
    print_below("✗  ", "     ",
                goal.id + "  " + painted("rejected", Paint::red) + "  " + painted(goal.tool, Paint::dim) + "  " +
                    cut(goal.reason, bytes_of_goal_max));
}

bool has_plan(const RunState& state) {
  return std::any_of(state.branches.begin(), state.branches.end(), [](const auto& entry) {
    return !entry.second.plan.goals.empty() || !entry.second.plan.rejected.empty();
  });
}

}  // namespace

void print_dated(const std::string& when, const std::string& text) {
  print_below(painted(when, Paint::dim) + "  ", std::string(when.size() + 2, ' '), text);
}

std::string listed_time(TimeUs at_us, TimeUs now_us) {
  return is_terminal() ? local_short(at_us, now_us) : local_time(at_us);
}

std::string listed_time(const std::string& iso, TimeUs now_us) {
  const std::optional<TimeUs> at = parse_time(iso);
  return at ? listed_time(*at, now_us) : iso;
}

std::string paused_text(const Json& paused) {
  return painted("paused", Paint::yellow) + " by " + paused["by"].get<std::string>() + " at " +
         local_moment_of(paused["at"]) + " " + paused["reason"].get<std::string>();
}

void print_hint(const std::string& sentence) {
  constexpr std::size_t bytes_max = 2'000;
  std::cerr << "cairn: " << readable_line(sentence, bytes_max) << '\n';
}

void print_list_goes_on(const std::string& says, const std::string& option, bool json) {
  if (json) return void(std::cerr << "cairn: " << visible(says + " " + option) << '\n');
  const bool fits = says.size() + 1 + option.size() <= line_width();
  if (fits) return print_line(painted(says + " " + option, Paint::dim));
  print_line(painted(says, Paint::dim));
  print_line(painted(option, Paint::dim));
}

void print_json(const Json& document) { std::cout << visible(canonical(document)) << '\n'; }

bool is_read() {
  pollfd out{STDOUT_FILENO, 0, 0};
  return std::cout.good() && (poll(&out, 1, 0) <= 0 || (out.revents & (POLLERR | POLLNVAL)) == 0);
}

std::string painted_status(std::string_view word) {
  if (word == "done" || word == "succeeded") return painted(word, Paint::green);
  if (word == "failed" || word == "aborted") return painted(word, Paint::red);
  if (word == "waiting" || word == "paused" || word == "skipped") return painted(word, Paint::yellow);
  return std::string(word);
}

bool Progress::is_due() const {
  return is_terminal() && std::chrono::steady_clock::now() - shown_at_ >= std::chrono::milliseconds(500);
}

void Progress::show(std::string_view line) {
  if (!is_due()) return;
  shown_at_ = std::chrono::steady_clock::now();
  std::cerr << "\r\033[K" << visible(cut_to(line, line_width() - 1)) << std::flush;
}

void Progress::wipe() {
  if (shown_at_ != std::chrono::steady_clock::time_point{}) std::cerr << "\r\033[K" << std::flush;
}

std::size_t letters_of_ids(std::vector<std::string> ids) {
  constexpr std::size_t letters_min = 13;
  const std::size_t all = to_string(RunId{}).size();
  if (!is_terminal()) return all;
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::size_t letters = letters_min;
  for (std::size_t i = 1; i < ids.size(); ++i) {
    const auto differ = std::mismatch(ids[i - 1].begin(), ids[i - 1].end(), ids[i].begin()).first;
    letters = std::max(letters, static_cast<std::size_t>(differ - ids[i - 1].begin()) + 1);
  }
  return std::min(letters, all);
}

std::string list_text(const std::vector<std::string>& words, const std::string& none) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? none : text;
}

// The names of an object's members, with commas between.
static std::string names_in(const Json& object) {
  std::string names;
  for (const auto& [name, value] : object.items()) names += (names.empty() ? "" : ",") + name;
  return names;
}

// A move's event does not say where it came from: who prints the history adds `from_version`.
static std::string moved_text(const Json& event) {
  const std::string from = event.value("from_version", "").substr(0, 12);
  return (from.empty() ? "" : "from=" + from + " ") + "to=" + event.value("to_version", "").substr(0, 12);
}

std::string event_summary(const Json& event, std::size_t width_max) {
  static constexpr std::array<std::string_view, 28> summary_fields = {
      "graph",  "child",  "status", "node",    "item",     "sub_goal", "tool",     "label", "next", "action",
      "target", "from",   "to",     "rule",    "question", "kind",     "name",     "cap",   "used", "model",
      "ok",     "reason", "error",  "message", "prompt",   "value",    "retry_at", "output"};
  std::string text;
  for (const std::string_view name : summary_fields) {
    const auto field = event.find(name);
    if (field == event.end() || field->is_null() || *field == "" || *field == Json::array()) continue;
    const std::optional<TimeUs> at =
        name.ends_with("_at") && field->is_string() ? parse_time(field->get<std::string>()) : std::nullopt;
    text += (text.empty() ? "" : " ") + std::string(name) + "=" + (at ? local_time(*at) : value_text(*field, 120));
  }
  if (event.value("type", "") == "run_moved") text = moved_text(event);
  if (event.value("type", "") == "channels_edited") text = "channels=" + names_in(event.value("patch", Json()));
  return cut(text, std::max<std::size_t>(width_max, 10));
}

void print_plan(const RunState& state) {
  if (!has_plan(state)) return print_line(painted("No plan.", Paint::dim));
  if (!state.goal.empty()) print_paragraph(painted(state.goal, Paint::bold));
  for (const auto& [id, branch] : state.branches) {
    print_goals(children_by_parent(branch.plan), "", "", 0);
    print_rejected(branch.plan);
  }
}

// The values that are allowed, the default, and until when it is open.
static std::vector<std::string> question_terms(const Json& question) {
  std::vector<std::string> lines;
  const Json schema = question.value("schema", Json());
  const Json choices = schema.is_object() ? schema.value("enum", Json()) : Json();
  if (choices.is_array() && !choices.empty()) {
    std::string all;
    for (const Json& choice : choices) all += (all.empty() ? "" : ", ") + excerpt(choice, 60);
    lines.push_back("one of " + all);
  } else if (!schema.is_null() && schema != true) {
    lines.push_back("as " + excerpt(schema, 200));
  }
  if (question.contains("default")) lines.push_back("else " + excerpt(question["default"], 200));
  if (question.contains("expires_at"))
    lines.push_back("until " + local_time(*parse_time(question["expires_at"].get<std::string>())));
  return lines;
}

// A value that a shell takes.
static std::string example_answer(const Json& schema) {
  const Json choices = schema.is_object() ? schema.value("enum", Json()) : Json();
  if (choices.is_array() && !choices.empty() && canonical(choices[0]).find('\'') == std::string::npos)
    return "'" + canonical(choices[0]) + "'";
  return schema.is_object() && schema.value("type", Json()) == "string" ? "'\"TEXT\"'" : "JSON";
}

void print_questions(const RunState& state, const Json& shown) {
  if (shown.empty()) return;
  print_title("Questions");
  for (const Json& question : shown) {
    const std::string id = question["id"];
    const std::size_t columns = std::max<std::size_t>(line_width(), 20) - 4;
    const std::string asks =
        id + " (" + question["kind"].get<std::string>() + ")  " + value_text(question["prompt"], 400);
    std::string indent = "  ";
    for (const std::string& line : wrapped(asks, columns)) print_line(std::exchange(indent, "    ") + line);
    for (const std::string& term : question_terms(question))
      for (const std::string& line : wrapped(term, columns)) print_line("    " + line);
    print_line(painted("  cairn answer " + to_string(state.id) + " --question " + id + " --value " +
                           example_answer(question.value("schema", Json())),
                       Paint::dim));
  }
}

std::string cause_text(const CauseOfFailure& cause) {
  return cause.node + ": " + cause.error + (cause.message.empty() ? "" : ": " + cause.message);
}

std::string reason_text(const std::string& reason, const std::optional<CauseOfFailure>& cause) {
  if (!cause || has_message_of(reason, *cause)) return reason;
  return reason + (reason.empty() ? "" : " ") + "(" + cause_text(*cause) + ")";
}

// When it began, with what, and where it came from.
static void print_origin(const RunState& state, const Json& shown) {
  std::string line = "Started " + local_time(state.started_at) + " " + zone_name(state.started_at);
  for (const auto& [key, value] : state.tags) line += "  " + key + "=" + value;
  print_paragraph(line);
  if (!state.key.empty()) print_paragraph("Key " + state.key);
  if (state.parent) print_line("Called by " + to_string(state.parent->run));
  if (state.continues) print_line("Continues " + to_string(*state.continues));
  if (state.forked_from)
    print_line("Forked from " + to_string(state.forked_from->run) + " at event " +
               std::to_string(state.forked_from->seq));
  const Json& input = shown["input"];
  if (input.empty()) return;
  for (const std::string& line_of : wrapped("Input " + excerpt(input, 400), line_width()))
    print_line(painted(line_of, Paint::dim));
}

void print_head(const RunState& state, const std::string& says) {
  const std::string id = painted(to_string(state.id), Paint::bold);
  const std::string stands = state.graph->name + "  " + painted_status(status_word(state)) + says;
  if (shown_width(id) + 2 + shown_width(stands) <= line_width()) return print_line(id + "  " + stands);
  print_line(id);
  print_paragraph(stands);
}

void print_ending(const RunState& state) {
  if (!is_ending(state)) return;
  print_line("It cleans up, and then ends as " + std::string(to_string(state.ending->status)) + ".");
  if (!state.reason.empty()) print_paragraph("Because: " + state.reason);
}

void print_state(const RunState& state, const Json& shown) {
  print_head(state, "  at event " + std::to_string(state.seq) + ", " + local_time(state.last_at));
  print_ending(state);
  if (!is_ending(state) && !state.reason.empty()) print_paragraph("Because: " + state.reason);
  if (state.cause && !has_message_of(state.reason, *state.cause)) print_paragraph("Cause: " + cause_text(*state.cause));
  print_origin(state, shown);
  print_channels(shown["channels"]);
  print_steps(state, shown["steps"]);
  if (has_plan(state)) {
    print_title("Plan");
    print_plan(state);
  }
  print_budgets(state);
  print_questions(state, shown["questions"]);
  if (!is_ended(state.status)) return;
  print_title("Output");
  print_value(shown["output"]);
}

void print_value(const Json& value) {
  if (value.is_string()) return print_line(value.get<std::string>());
  if (value.is_object() && value.contains("answer") && value["answer"].is_string())
    return print_line(value["answer"].get<std::string>());
  print_line(value.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace cairn
