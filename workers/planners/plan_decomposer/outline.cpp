#include "workers/planners/plan_decomposer/outline.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/text.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

constexpr std::size_t heading_bytes_max = 120;
constexpr int heading_levels = 6;

using Lines = std::vector<std::string_view>;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::size_t indent_of(std::string_view line) {
  std::size_t columns = 0;
  for (const char c : line) {
    if (c == '\t') {
      columns += 4 - columns % 4;
    } else if (c == ' ') {
      ++columns;
    } else {
      break;
    }
  }
  return columns;
}

// For each line whether it is code: a fence, or between two.
std::vector<bool> code_lines(const Lines& lines) {
  std::vector<bool> is_code(lines.size(), false);
  std::string_view fence;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = trimmed(lines[i]);
    const bool is_fence = line.starts_with("```") || line.starts_with("~~~");
    is_code[i] = is_fence || !fence.empty();
    if (!is_fence) continue;
    if (fence.empty()) {
      fence = line.substr(0, 3);
    } else if (line.starts_with(fence)) {
      fence = {};
    }
  }
  return is_code;
}

// --- items of a list -------------------------------------------------------------------------------------------------
struct Bullet {
  std::size_t indent = 0;
  bool is_numbered = false;
  bool is_first = false;  // its number is 0 or 1
  std::string_view text;
};

std::optional<Bullet> bullet_of(std::string_view line) {
  Bullet bullet;
  bullet.indent = indent_of(line);
  line = trimmed(line);
  std::size_t mark = 0;
  for (const std::string_view sign : {"-", "*", "+", "\u2022", "\u25E6", "\u2023", "\u2013"})
    if (line.starts_with(sign) && line.substr(sign.size()).starts_with(' ')) mark = sign.size();
  if (mark == 0) {
    while (mark < line.size() && mark < 9 && line[mark] >= '0' && line[mark] <= '9') ++mark;
    if (mark == 0 || mark + 1 >= line.size() || (line[mark] != '.' && line[mark] != ')') || line[mark + 1] != ' ')
      return std::nullopt;
    bullet.is_numbered = true;
    bullet.is_first = mark == 1 && line[0] <= '1';
    ++mark;
  }
  bullet.text = trimmed(line.substr(mark));
  if (bullet.text.empty()) return std::nullopt;
  return bullet;
}

// --- names -----------------------------------------------------------------------------------------------------------
// "[text](target)" is its text.
std::string without_links(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const std::size_t open = text.find('[');
    const std::size_t middle = open == std::string_view::npos ? open : text.find("](", open);
    const std::size_t close = middle == std::string_view::npos ? middle : text.find(')', middle);
    if (close == std::string_view::npos) return plain + std::string(text);
    plain += text.substr(0, open);
    plain += text.substr(open + 1, middle - open - 1);
    text.remove_prefix(close + 1);
  }
  return plain;
}

std::string without_marks(std::string_view text) {
  std::string plain = without_links(text);
  for (const std::string_view mark : {"**", "__", "`"}) {
    for (std::size_t at = plain.find(mark); at != std::string::npos; at = plain.find(mark, at))
      plain.erase(at, mark.size());
  }
  return std::string(trimmed(plain));
}

// The first sentence of a text that is too long for a name.
std::string name_of(const std::string& text) {
  if (text.size() <= heading_bytes_max) return readable_line(text, heading_bytes_max);
  const std::size_t end = text.find(". ");
  return readable_line(end < heading_bytes_max ? text.substr(0, end) : text, heading_bytes_max);
}

bool starts_with_word(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         std::equal(word.begin(), word.end(), text.begin(), [](char a, char b) { return a == lowered(b); });
}

// "after A, B" without its first word, if that is a word of order.
std::optional<std::string_view> after_order_word(std::string_view note) {
  for (const std::string_view word : {"after", "depends on", "needs", "requires", "blocked by", "依赖", "前置"}) {
    if (!starts_with_word(note, word)) continue;
    std::string_view rest = note.substr(word.size());
    const bool has_colon = rest.starts_with(":") || rest.starts_with("：");
    if (has_colon) rest.remove_prefix(rest.starts_with(":") ? 1 : std::string_view("：").size());
    if (has_colon || rest.starts_with(' ')) return trimmed(rest);
  }
  return std::nullopt;
}

std::vector<std::string> listed_names(std::string_view list) {
  constexpr std::array<std::string_view, 5> joints = {",", "，", "、", ";", " and "};
  std::vector<std::string> names;
  const auto add = [&names](std::string_view text) {
    if (std::string name = without_marks(text); !name.empty()) names.push_back(std::move(name));
  };
  std::size_t from = 0;
  for (std::size_t at = 0; at < list.size();) {
    const auto joint = std::find_if(joints.begin(), joints.end(),
                                    [&](std::string_view one) { return list.substr(at).starts_with(one); });
    if (joint == joints.end()) {
      ++at;
      continue;
    }
    add(list.substr(from, at - from));
    at += joint->size();
    from = at;
  }
  add(list.substr(from));
  return names;
}

struct Brackets {
  std::string_view open;
  std::string_view close;
};
constexpr std::array<Brackets, 2> note_brackets = {{{"(", ")"}, {"（", "）"}}};

// Takes "(after A, B)" off the end of a title.
std::vector<std::string> take_note(std::string& title) {
  for (const auto& [open, close] : note_brackets) {
    const std::size_t at = title.rfind(open);
    if (at == std::string::npos || !title.ends_with(close)) continue;
    const std::size_t from = at + open.size();
    const auto names = after_order_word(std::string_view(title).substr(from, title.size() - close.size() - from));
    if (!names) continue;
    std::vector<std::string> after = listed_names(*names);
    title = std::string(trimmed(std::string_view(title).substr(0, at)));
    return after;
  }
  return {};
}

bool take_box(std::string_view& title, bool& is_done) {
  const bool is_box = title.size() >= 3 && title[0] == '[' && title[2] == ']' &&
                      (title[1] == ' ' || title[1] == 'x' || title[1] == 'X') && (title.size() == 3 || title[3] == ' ');
  if (!is_box) return false;
  is_done = title[1] != ' ';
  title = trimmed(title.substr(3));
  return true;
}

// "After: A, B", a line or an item of its own.
bool is_order_line(std::string_view line) {
  const bool has_colon = line.find(':') != std::string_view::npos || line.find("：") != std::string_view::npos;
  return has_colon && after_order_word(line).has_value();
}

void add_order_lines(OutlineItem& item) {
  for (const std::string_view line : lines_of(item.body)) {
    if (trimmed(line).starts_with('#')) return;
    const std::optional<Bullet> bullet = bullet_of(line);
    const std::string_view text = bullet ? bullet->text : trimmed(line);
    if (indent_of(line) > 0 || !is_order_line(text)) continue;
    const std::vector<std::string> more = listed_names(*after_order_word(text));
    item.after.insert(item.after.end(), more.begin(), more.end());
  }
}

OutlineItem item_of(std::string_view title, std::string body) {
  OutlineItem item;
  take_box(title, item.is_done);
  std::string plain = without_marks(title);
  item.after = take_note(plain);
  while (plain.ends_with(':')) plain.pop_back();
  item.name = name_of(plain);
  item.body = item.name == plain ? std::string() : plain + "\n\n";
  item.body += trimmed(body).empty() ? std::string() : std::move(body);
  add_order_lines(item);
  return item;
}

// --- headings --------------------------------------------------------------------------------------------------------
// 1 to 6; 0: no heading.
int heading_level(std::string_view line) {
  if (indent_of(line) > 3) return 0;
  line = trimmed(line);
  const std::size_t marks = std::min(line.find_first_not_of('#'), line.size());
  const bool is_heading = marks >= 1 && marks <= heading_levels && marks < line.size() && line[marks] == ' ';
  return is_heading ? static_cast<int>(marks) : 0;
}

std::string_view heading_text(std::string_view line) {
  line = trimmed(line);
  line.remove_prefix(line.find_first_not_of('#'));
  while (line.ends_with('#')) line.remove_suffix(1);
  return trimmed(line);
}

std::string joined(const Lines& lines, std::size_t from, std::size_t to) {
  std::string text;
  for (std::size_t i = from; i < to; ++i) text += std::string(lines[i]) + "\n";
  return text;
}

std::vector<OutlineItem> sections_of(const Lines& lines, const std::vector<bool>& is_code) {
  int level = heading_levels + 1;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const int found = is_code[i] ? 0 : heading_level(lines[i]);
    if (found > 0) level = std::min(level, found);
  }
  std::vector<OutlineItem> items;
  std::size_t heading = lines.size();
  for (std::size_t i = 0; i <= lines.size(); ++i) {
    const bool ends = i == lines.size() || (!is_code[i] && heading_level(lines[i]) == level);
    if (!ends) continue;
    if (heading < i) items.push_back(item_of(heading_text(lines[heading]), joined(lines, heading + 1, i)));
    heading = i;
  }
  return items;
}

// --- lists -----------------------------------------------------------------------------------------------------------
std::string outdented(const Lines& lines, std::size_t from, std::size_t to) {
  std::size_t least = std::string_view::npos;
  for (std::size_t i = from; i < to; ++i) {
    if (!trimmed(lines[i]).empty()) least = std::min(least, indent_of(lines[i]));
  }
  std::string text;
  for (std::size_t i = from; i < to; ++i) {
    std::string_view line = lines[i];
    for (std::size_t column = 0; column < least && !line.empty() && is_space(line.front()); ++column)
      line.remove_prefix(1);
    text += std::string(line) + "\n";
  }
  return text;
}

// "Title" above "====" or "----" as "# Title" and "## Title"; without the mark that some editors put in front of a
// text.
std::string with_marked_headings(std::string_view text) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  const Lines lines = lines_of(text);
  const std::vector<bool> is_code = code_lines(lines);
  const auto underlines = [&](std::size_t i, char mark) {
    const std::string_view line = trimmed(lines[i]);
    return indent_of(lines[i]) <= 3 && line.size() >= 3 && line.find_first_not_of(mark) == std::string_view::npos;
  };
  std::string marked;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool is_title = !is_code[i] && !trimmed(lines[i]).empty() && indent_of(lines[i]) <= 3 &&
                          !bullet_of(lines[i]) && heading_level(lines[i]) == 0 &&
                          (i == 0 || trimmed(lines[i - 1]).empty()) && i + 1 < lines.size() && !is_code[i + 1];
    const char* mark = !is_title ? "" : underlines(i + 1, '=') ? "# " : underlines(i + 1, '-') ? "## " : "";
    marked += mark + std::string(lines[i]) + "\n";
    if (*mark != '\0') ++i;
  }
  return marked;
}

// Whether line `i` still belongs to the list whose items stand at `indent`: blank, deeper, or directly below text.
bool goes_on(const Lines& lines, std::size_t i, std::size_t indent) {
  return trimmed(lines[i]).empty() || indent_of(lines[i]) > indent || !trimmed(lines[i - 1]).empty();
}

std::vector<OutlineItem> list_of(const Lines& lines, const std::vector<bool>& is_code) {
  std::size_t first = 0;
  while (first < lines.size() && (is_code[first] || !bullet_of(lines[first]))) ++first;
  if (first == lines.size()) return {};
  const std::size_t indent = bullet_of(lines[first])->indent;
  std::vector<OutlineItem> items;
  bool is_broken = true;  // by text: a bullet, or a number that begins again, is then another list
  for (std::size_t at = first; at < lines.size();) {
    const std::optional<Bullet> bullet = is_code[at] ? std::nullopt : bullet_of(lines[at]);
    if (!bullet || bullet->indent > indent + 1) {
      is_broken = true;
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    const auto begins_another = [&](std::size_t line) {
      const std::optional<Bullet> next = is_code[line] ? std::nullopt : bullet_of(lines[line]);
      return next && next->indent <= indent + 1;
    };
    while (end < lines.size() && !begins_another(end) && goes_on(lines, end, indent)) ++end;
    OutlineItem item = item_of(bullet->text, outdented(lines, at + 1, end));
    item.follows = !items.empty() && bullet->is_numbered && (!is_broken || !bullet->is_first);
    is_broken = false;
    items.push_back(std::move(item));
    at = end;
  }
  return items;
}

Error invalid_outline(std::string message) { return {Code::invalid, std::move(message)}; }

Result<std::string> outline_text(const Json& outline) {
  if (outline.is_string()) return outline.get<std::string>();
  const auto is_line = [](const Json& line) { return line.is_string(); };
  if (!outline.is_array() || !std::all_of(outline.begin(), outline.end(), is_line))
    return invalid_outline("Expected the outline to be a text or a list of lines, but it is " + excerpt(outline, 60) +
                           ".");
  std::string text;
  for (const Json& line : outline) text += line.get<std::string>() + "\n";
  return text;
}

}  // namespace

std::vector<OutlineItem> split_outline(std::string_view text) {
  const std::string marked = with_marked_headings(text);
  const Lines lines = lines_of(marked);
  const std::vector<bool> is_code = code_lines(lines);
  std::vector<OutlineItem> items = sections_of(lines, is_code);
  if (items.empty()) items = list_of(lines, is_code);
  std::erase_if(items, [](const OutlineItem& item) { return item.name.empty() || is_order_line(item.name); });
  return items;
}

std::vector<PlanNode> tasks_of(const std::vector<OutlineItem>& items, const std::string& parent,
                               const std::vector<std::string>& ids) {
  std::map<std::string, std::size_t> places;  // the first of a name counts
  for (std::size_t i = 0; i < items.size(); ++i) places.emplace(lowered(items[i].name), i);
  std::vector<PlanNode> tasks;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const OutlineItem& item = items[i];
    PlanNode task{ids[i], parent, item.name, item.body, {}, nullptr, split_outline(item.body).empty()};
    if (item.follows && i > 0) task.dependencies.push_back(ids[i - 1]);
    std::set<std::string> known(task.dependencies.begin(), task.dependencies.end());
    for (const std::string& before : item.after) {
      const auto sibling = places.find(lowered(before));
      const std::string& id = sibling == places.end() ? before : ids[sibling->second];
      if (known.insert(id).second) task.dependencies.push_back(id);
    }
    if (item.is_done)
      task.context = {
          {"combined", "Ticked as done in the outline."}, {"sections", Json::array()}, {"meta", {{"done", true}}}};
    tasks.push_back(std::move(task));
  }
  return tasks;
}

Result<OutlinePlan> plan_of_outline(std::string_view text) {
  if (text.size() > outline_bytes_max)
    return Error{Code::limit, "Expected an outline of at most " + std::to_string(outline_bytes_max) +
                                  " bytes, but it has " + std::to_string(text.size()) + "."};
  OutlinePlan plan;
  std::vector<OutlineItem> items = split_outline(text);
  if (items.empty()) return invalid_outline("Expected an outline with headings or a list, but it has neither.");
  if (items.size() == 1) {
    std::vector<OutlineItem> parts = split_outline(items.front().body);
    plan.tree.goal = items.front().name;
    if (!parts.empty()) items = std::move(parts);
  }
  if (Status fits = check_task_count(items.size()); !fits) return std::move(fits).error();
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < items.size(); ++i) ids.push_back(std::to_string(i + 1));
  plan.dropped = add_tasks(plan.tree, tasks_of(items, "", ids));
  return plan;
}

Result<OutlinePlan> plan_given(const Json& source) {
  const Json goal = source.value("goal", Json());
  const Json outline = source.value("outline", Json());
  if (!goal.is_null() && (!goal.is_string() || readable_line(goal.get<std::string>(), heading_bytes_max).empty()))
    return invalid_outline("Expected the goal to be a text, but it is " + excerpt(goal, 60) + ".");
  if (const auto plan = source.find("plan"); plan != source.end() && !plan->is_null()) {
    if (!outline.is_null()) return invalid_outline("Expected either a plan or an outline, but there are both.");
    Result<PlanTree> tree = read_plan(*plan);
    if (!tree) return tree.error();
    return OutlinePlan{*std::move(tree), {}};
  }
  if (!outline.is_null()) {
    const Result<std::string> text = outline_text(outline);
    if (!text) return text.error();
    Result<OutlinePlan> plan = plan_of_outline(*text);
    if (plan && !goal.is_null()) plan->tree.goal = goal.get<std::string>();
    return plan;
  }
  if (goal.is_null()) return invalid_outline("Expected a plan, an outline or a goal, but there is none of them.");
  OutlinePlan plan;
  plan.tree.goal = goal.get<std::string>();
  plan.tree.add({"1", "", name_of(plan.tree.goal), plan.tree.goal, {}, nullptr, false});
  return plan;
}

}  // namespace cairn
