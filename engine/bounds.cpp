#include "engine/bounds.hpp"

#include <algorithm>
#include <utility>

#include "engine/json_scan.hpp"

namespace cairn {
namespace {

bool contains_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

bool has_nul(const Json& value) {
  if (value.is_string()) return contains_nul(value.get_ref<const std::string&>());
  if (value.is_array()) return std::any_of(value.begin(), value.end(), [](const Json& part) { return has_nul(part); });
  if (!value.is_object()) return false;
  const auto& members = value.get_ref<const Json::object_t&>();
  return std::any_of(members.begin(), members.end(),
                     [](const auto& member) { return contains_nul(member.first) || has_nul(member.second); });
}

Error too_deep(const std::string& what, int depth) {
  return {Code::limit, "Expected at most " + std::to_string(json_depth_max) + " levels, but " + what + " has " +
                           std::to_string(depth) + "."};
}
Error with_nul(const std::string& what) {
  return {Code::invalid, "Expected text without NUL, but " + what + " has one."};
}

// An escape stands for NUL unless its backslash is itself escaped, as the last of an even number of them.
bool has_nul_escape(std::string_view text) {
  constexpr std::string_view escape = "\\u0000";
  for (std::size_t at = text.find(escape); at != std::string_view::npos; at = text.find(escape, at + 1)) {
    const std::size_t before = text.find_last_not_of('\\', at);
    const std::size_t backslashes = before == std::string_view::npos ? at + 1 : at - before;
    if (backslashes % 2 == 1) return true;
  }
  return false;
}

// The text of an object, which is not parsed: it may be deeper than a parser that calls itself can bear.
Status check_record(std::string_view text) {
  const std::string what = "a record";
  const int levels = levels_of(text);
  if (levels > json_depth_max) return too_deep(what, levels);
  return contains_nul(text) || has_nul_escape(text) ? Status(with_nul(what)) : Status(Done{});
}

// Adds up what the facts hold; the first fault is kept.
class Facts {
 public:
  void operator()(const Record& record) {
    check(check_record(record.fields));
    take(record.fields.size());
  }
  void operator()(const SubGoalOpened& goal) {
    names({goal.sub_goal, goal.tool, goal.parent, goal.queue});
    names(goal.after);
    text(goal.title);
    value(goal.inputs, "what a sub-goal is given");
  }
  void operator()(const SubGoalRejected& goal) {
    names({goal.sub_goal, goal.tool});
    names(goal.unmet);
    text(goal.reason);
  }
  void operator()(const PlanCreated& plan) {
    text(plan.goal);
    children(plan.children);
  }
  void operator()(const PlanRevised& plan) {
    text(plan.cause);
    value(plan.changes, "a change of the plan");
  }
  void operator()(const TaskDecomposed& task) {
    names({task.target, task.mode});
    names(task.dropped);
    children(task.children);
  }
  void operator()(const BudgetExhausted& budget) { names({budget.name}); }

  Status result() const { return fault_ ? Status(*fault_) : Status(Done{}); }

 private:
  void check(const Status& fits) {
    if (!fits && !fault_) fault_ = fits.error();
  }
  void take(std::size_t bytes) {
    bytes_ += bytes;
    if (bytes_ <= facts_bytes_max || fault_) return;
    fault_ = Error{Code::limit, "Expected facts of at most " + std::to_string(facts_bytes_max) +
                                    " bytes, but those of one outcome have more."};
  }
  void names(const std::vector<std::string>& all) {
    for (const std::string& name : all) {
      check(check_name(name, "a name in a plan"));
      take(name.size());
    }
  }
  void text(const std::string& sentence) {
    if (contains_nul(sentence)) check(with_nul("a fact"));
    take(sentence.size());
  }
  void value(const Json& given, const std::string& what) {
    check(check_value(given, what));
    if (!fault_) take(canonical(given).size());
  }
  void children(const std::vector<PlanChild>& all) {
    for (const PlanChild& child : all) {
      names({child.id});
      names(child.after);
      text(child.title);
      value(child.context, "the context of a task");
    }
  }

  std::size_t bytes_ = 0;
  std::optional<Error> fault_;
};

}  // namespace

Status check_name(std::string_view name, const std::string& as) {
  if (contains_nul(name)) return with_nul(as);
  if (name.size() <= name_bytes_max) return Done{};
  return Error{Code::limit, "Expected at most " + std::to_string(name_bytes_max) + " bytes as " + as + ", but found " +
                                std::to_string(name.size()) + "."};
}

Status check_tags(const Tags& tags) {
  for (const auto& [name, value] : tags) {
    if (Status fits = check_name(name, "the name of a tag"); !fits) return fits;
    if (Status fits = check_name(value, "the value of a tag"); !fits) return fits;
  }
  return Done{};
}

Status check_reason(std::string_view reason) {
  if (contains_nul(reason)) return with_nul("a reason");
  if (reason.size() <= reason_bytes_max) return Done{};
  return Error{Code::invalid, "Expected a reason of at most " + std::to_string(reason_bytes_max) +
                                  " bytes, but found " + std::to_string(reason.size()) + "."};
}

Status check_value(const Json& value, const std::string& what) {
  if (const int depth = depth_of(value); depth > json_depth_max) return too_deep(what, depth);
  return has_nul(value) ? Status(with_nul(what)) : Status(Done{});
}

Status check_facts(const std::vector<Fact>& facts) {
  Facts all;
  for (const Fact& fact : facts) std::visit(all, fact);
  return all.result();
}

std::string recordable(std::string text, std::size_t bytes_max) {
  for (std::size_t at = text.find('\0'); at != std::string::npos; at = text.find('\0', at))
    text.replace(at, 1, "\uFFFD");
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

}  // namespace cairn
