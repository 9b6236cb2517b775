#include "ops/audit/projection_check.hpp"

#include <algorithm>
#include <map>

namespace cairn {
namespace {

constexpr TimeUs given_back_us_max = 600'000'000;
constexpr TimeUs clocks_differ_us_max = 1'000'000;
constexpr std::size_t value_bytes_max = 120;

Json text_or_null(const std::optional<RunId>& id) { return id ? Json(to_string(*id)) : Json(nullptr); }

Json columns_of(const RunRow& run) {
  return {{"graph", run.graph},
          {"version", run.version},
          {"status", to_string(run.status)},
          {"waiting", run.waiting},
          {"head", run.head},
          {"chain_hash", hex(run.chain_hash)},
          {"parent", text_or_null(run.parent)},
          {"continues", text_or_null(run.continues)},
          {"origin", run.forked_from ? Json{to_string(run.forked_from->run), run.forked_from->seq} : Json(nullptr)},
          {"started_at", run.started_at},
          {"updated_at", run.updated_at},
          {"reason", run.reason},
          {"tags", run.tags}};
}

Json columns_of(const QuestionRow& question) {
  Json columns = {{"step", question.step},     {"kind", question.kind},         {"prompt", question.prompt},
                  {"schema", question.schema}, {"asked_at", question.asked_at}, {"default", nullptr},
                  {"expires_at", nullptr}};
  if (question.fallback) columns["default"] = {{"value", *question.fallback}};
  if (question.expires_at) columns["expires_at"] = *question.expires_at;
  return columns;
}

// A held row keeps the queue, the time and the timeout under which it was claimed.
Json columns_of(const Job& job, bool is_held) {
  Json columns = {{"step", job.step}, {"attempt", job.attempt}, {"priority", job.priority}};
  if (is_held) return columns;
  columns["queue"] = job.queue;
  columns["timeout_ms"] = job.timeout_ms;
  columns["run_at"] = time_text(job.run_at_us);
  return columns;
}

// A worker that lets go of a job offers it from then on, by its own clock. So does one that writes to a run whose last
// event, at `written_us`, is later than the database's clock: what is due at once by the run's time is due at once.
bool was_given_back(const Job& wanted, const HeldJob& found, TimeUs now_us, TimeUs written_us) {
  const bool is_ahead = wanted.run_at_us <= written_us && written_us > now_us;
  return wanted.run_at_us != never_us && (is_ahead || found.job.run_at_us > wanted.run_at_us - clocks_differ_us_max) &&
         found.job.run_at_us < now_us + given_back_us_max;
}

std::string difference(const std::string& what, const std::string& column, const Json& wanted, const Json& found) {
  return "Expected " + what + " to have " + column + " " + excerpt(wanted, value_bytes_max) + ", but found " +
         excerpt(found, value_bytes_max) + ".";
}

std::vector<std::string> differences(const std::string& what, const Json& wanted, const Json& found) {
  std::vector<std::string> says;
  for (const auto& [column, value] : wanted.items())
    if (value != found.at(column)) says.push_back(difference(what, column, value, found.at(column)));
  return says;
}

std::vector<std::string> job_differences(const Job& wanted, const HeldJob& found, bool is_unlisted, TimeUs now_us,
                                         TimeUs written_us) {
  const bool is_held = found.session != 0;
  Job there = found.job;
  if (was_given_back(wanted, found, now_us, written_us)) there.run_at_us = wanted.run_at_us;
  const std::string what = "the job of branch " + std::to_string(wanted.branch);
  std::vector<std::string> says = differences(what, columns_of(wanted, is_held), columns_of(there, is_held));
  if (is_unlisted)
    says.push_back("Expected " + what + " to be offered, because no one holds it, but claims would not find it.");
  return says;
}

// Rows by what names them: `differ(wanted, found)` for those on both sides, null for the side that lacks one.
template <class Key, class Wanted, class Found, class Differ>
void pair_up(const std::map<Key, const Wanted*>& wanted, const std::map<Key, const Found*>& found, Differ&& differ) {
  for (const auto& [key, row] : wanted) {
    const auto there = found.find(key);
    differ(row, there == found.end() ? nullptr : there->second);
  }
  for (const auto& [key, row] : found)
    if (!wanted.contains(key)) differ(nullptr, row);
}

template <class Differ>
void pair_jobs(const std::vector<Job>& wanted, const std::vector<HeldJob>& found, Differ&& differ) {
  std::map<BranchId, const Job*> wanted_by_branch;
  for (const Job& job : wanted) wanted_by_branch.emplace(job.branch, &job);
  std::map<BranchId, const HeldJob*> found_by_branch;
  for (const HeldJob& job : found) found_by_branch.emplace(job.job.branch, &job);
  pair_up(wanted_by_branch, found_by_branch, differ);
}

template <class Differ>
void pair_questions(const std::vector<QuestionRow>& wanted, const std::vector<QuestionRow>& found, Differ&& differ) {
  std::map<std::string, const QuestionRow*> wanted_by_id;
  for (const QuestionRow& question : wanted) wanted_by_id.emplace(question.id, &question);
  std::map<std::string, const QuestionRow*> found_by_id;
  for (const QuestionRow& question : found) found_by_id.emplace(question.id, &question);
  pair_up(wanted_by_id, found_by_id, differ);
}

std::string none_of(const std::string& what) { return "Expected " + what + ", but found none."; }
std::string one_of(const std::string& what) { return "Expected no " + what + ", but found one."; }

}  // namespace

std::vector<Finding> run_findings(const RunRow& wanted, const RunRow& found) {
  std::vector<Finding> findings;
  for (std::string& says : differences("the run's row", columns_of(wanted), columns_of(found)))
    findings.push_back({wanted.id, wanted.head, "run", std::move(says)});
  return findings;
}

std::vector<Finding> projection_findings(const Projection& wanted, const RunRecord& found, TimeUs now_us) {
  std::vector<Finding> findings;
  const auto find = [&](const char* kind, std::string says) {
    findings.push_back({wanted.run.id, wanted.run.head, kind, std::move(says)});
  };
  if (found.run) findings = run_findings(wanted.run, *found.run);
  if (found.run && !found.child_mark_fits)
    find("run", "Expected the run's row to have open_child_of as its status and parent say, but found another.");
  pair_jobs(wanted.jobs, found.jobs, [&](const Job* job, const HeldJob* there) {
    if (there == nullptr) return find("job", none_of("a job of branch " + std::to_string(job->branch)));
    if (job == nullptr) return find("job", one_of("job of branch " + std::to_string(there->job.branch)));
    const bool is_unlisted = found.unlisted.contains(job->branch);
    for (std::string& says : job_differences(*job, *there, is_unlisted, now_us, wanted.run.updated_at))
      find("job", std::move(says));
  });
  if (!found.questions_readable) {
    find("unreadable", found.questions_readable.error().message);
    return findings;
  }
  pair_questions(wanted.questions, found.questions, [&](const QuestionRow* question, const QuestionRow* there) {
    if (there == nullptr) return find("question", none_of("the open question " + question->id));
    if (question == nullptr) return find("question", one_of("open question " + there->id));
    for (std::string& says : differences("question " + question->id, columns_of(*question), columns_of(*there)))
      find("question", std::move(says));
  });
  return findings;
}

Repair repair_of(const Projection& wanted, const RunRecord& found, TimeUs now_us) {
  Repair repair{wanted.run, {}, {}, wanted.questions, {}};
  pair_jobs(wanted.jobs, found.jobs, [&](const Job* job, const HeldJob* there) {
    if (job == nullptr)
      repair.surplus.push_back(there->job.branch);
    else if (there == nullptr ||
             !job_differences(*job, *there, found.unlisted.contains(job->branch), now_us, wanted.run.updated_at)
                  .empty())
      repair.jobs.push_back(*job);
  });
  return repair;
}

}  // namespace cairn
