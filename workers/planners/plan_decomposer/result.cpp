#include "workers/planners/plan_decomposer/result.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cairn {
namespace {

constexpr std::size_t ids_shown_max = 10;

// The classes of failure that a reader can do something about.
enum class Cause : std::uint8_t { no_answer, format, write };
constexpr std::array<Cause, 3> causes = {Cause::no_answer, Cause::format, Cause::write};

Cause cause_of(const FailedDecomposition& failed) {
  if (failed.error == "format") return Cause::format;
  return failed.error == "write" ? Cause::write : Cause::no_answer;
}

std::vector<std::string> failed_by(const Decomposition& done, Cause cause) {
  std::vector<std::string> ids;
  for (const FailedDecomposition& failed : done.failed) {
    if (cause_of(failed) == cause) ids.push_back(failed.id);
  }
  return ids;
}

// The first of them, and how many there are more.
std::string listed(const std::vector<std::string>& ids, const std::string& joint, const std::string& last_joint) {
  const std::size_t shown = std::min(ids.size(), ids_shown_max);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : i + 1 == ids.size() ? last_joint : joint) + ids[i];
  return text;
}

std::string more_in_english(std::size_t ids) {
  return ids <= ids_shown_max ? "" : " and " + std::to_string(ids - ids_shown_max) + " more";
}

std::string more_in_chinese(std::size_t ids) {
  return ids <= ids_shown_max ? "" : " 等 " + std::to_string(ids) + " 个";
}

std::string plan_id_text(const Json& id) { return id.is_string() ? id.get<std::string>() : id.dump(); }

std::string counted(std::int64_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::int64_t stat(const Decomposition& done, const char* name) { return done.stats.value(name, std::int64_t{0}); }

constexpr std::string_view should_stop = "llm_should_stop: ";

std::string last_processed(const Decomposition& done) { return done.processed.empty() ? "" : done.processed.back(); }

// --- in English ------------------------------------------------------------------------------------------------------
std::string_view because(Cause cause) {
  switch (cause) {
    case Cause::no_answer:
      return "because the LLM did not answer";
    case Cause::format:
      return "because the LLM's reply could not be used";
    case Cause::write:
      return "because its sub-tasks could not be written";
  }
  return "";
}

std::string stopped_in_english(const Decomposition& done) {
  const std::string& stopped = done.stopped;
  if (stopped == "node_budget") return "stopped at the limit of new tasks";
  if (stopped == "depth")
    return counted(stat(done, "depth_limited"), "task", "tasks") + " left whole at the limit of depth";
  if (stopped == "empty_plan") return "the plan has no tasks";
  if (stopped == "empty_children")
    return "stopped at node " + last_processed(done) + ", for which there were no sub-tasks";
  if (stopped == "llm_calls") return "stopped at the limit of LLM calls";
  if (stopped == "write_error") return "stopped there";
  if (stopped.starts_with(should_stop)) return "stopped because the LLM said so: " + stopped.substr(should_stop.size());
  return "";
}

// --- in Chinese ------------------------------------------------------------------------------------------------------
std::string_view because_in_chinese(Cause cause) {
  switch (cause) {
    case Cause::no_answer:
      return "因 LLM 无响应未处理";
    case Cause::format:
      return "因 LLM 回复格式错误未处理";
    case Cause::write:
      return "因子任务写入失败未处理";
  }
  return "";
}

std::string stopped_in_chinese(const Decomposition& done) {
  const std::string& stopped = done.stopped;
  if (stopped == "node_budget") return "已达到新增任务上限，停止分解";
  if (stopped == "depth") return std::to_string(stat(done, "depth_limited")) + " 个任务达到深度上限，未继续分解";
  if (stopped == "empty_plan") return "计划中没有任务";
  if (stopped == "empty_children") return "节点 " + last_processed(done) + " 没有可生成的子任务，停止分解";
  if (stopped == "llm_calls") return "已达到 LLM 调用上限，停止分解";
  if (stopped == "write_error") return "分解就此停止";
  if (stopped.starts_with(should_stop)) return "LLM 要求停止：" + stopped.substr(should_stop.size());
  return "";
}

std::string with_end(std::string sentence, const std::string& end) {
  const bool has_end = sentence.ends_with(end) || sentence.ends_with(".");
  return has_end ? sentence : sentence + end;
}

}  // namespace

Json result_json(const PlanTree& plan, const Decomposition& done) {
  Json created = Json::array();
  for (const PlanNode& node : done.created) created.push_back(node_json(plan, node));
  Json failed = Json::array();
  for (const FailedDecomposition& one : done.failed) failed.push_back(one.id);
  return {{"plan_id", plan.plan_id},
          {"mode", done.mode},
          {"root_node_id", done.root.empty() ? Json(nullptr) : Json(done.root)},
          {"processed_nodes", done.processed},
          {"created_tasks", std::move(created)},
          {"failed_nodes", std::move(failed)},
          {"stopped_reason", done.stopped.empty() ? Json(nullptr) : Json(done.stopped)},
          {"stats", done.stats}};
}

std::string feedback_in_english(const PlanTree& plan, const Decomposition& done) {
  std::string text = "Plan";
  if (!plan.plan_id.is_null()) {
    text += " #" + plan_id_text(plan.plan_id);
  } else if (!plan.goal.empty()) {
    text += " \"" + plan.goal + "\"";
  }
  text += ": " + counted(static_cast<std::int64_t>(done.created.size()), "sub-task", "sub-tasks") + " created";
  for (const Cause cause : causes) {
    const std::vector<std::string> ids = failed_by(done, cause);
    if (ids.empty()) continue;
    text += std::string("; ") + (ids.size() == 1 ? "node " : "nodes ") + listed(ids, ", ", " and ") +
            more_in_english(ids.size()) + " not processed " + std::string(because(cause));
  }
  if (const std::int64_t truncated = stat(done, "truncated"); truncated > 0)
    text += "; " + counted(truncated, "sub-task", "sub-tasks") + " beyond the limits left out";
  if (const std::int64_t dropped = stat(done, "dropped"); dropped > 0)
    text += "; " + counted(dropped, "dependency", "dependencies") + " dropped";
  if (const std::string stopped = stopped_in_english(done); !stopped.empty()) text += "; " + stopped;
  return with_end(std::move(text), ".");
}

std::string feedback_in_chinese(const PlanTree& plan, const Decomposition& done) {
  std::string text = "计划";
  if (!plan.plan_id.is_null()) {
    text += " #" + plan_id_text(plan.plan_id) + " ";
  } else if (!plan.goal.empty()) {
    text += "“" + plan.goal + "”";
  }
  text += "已生成 " + std::to_string(done.created.size()) + " 个子任务";
  bool is_first = true;
  for (const Cause cause : causes) {
    const std::vector<std::string> ids = failed_by(done, cause);
    if (ids.empty()) continue;
    text += (std::exchange(is_first, false) ? "，其中节点 " : "，节点 ") + listed(ids, "、", "、") +
            more_in_chinese(ids.size()) + " " + std::string(because_in_chinese(cause));
  }
  if (const std::int64_t truncated = stat(done, "truncated"); truncated > 0)
    text += "；" + std::to_string(truncated) + " 个子任务超出上限，未写入";
  if (const std::int64_t dropped = stat(done, "dropped"); dropped > 0)
    text += "；已去除 " + std::to_string(dropped) + " 个依赖";
  if (const std::string stopped = stopped_in_chinese(done); !stopped.empty()) text += "；" + stopped;
  return with_end(std::move(text), "。");
}

}  // namespace cairn
