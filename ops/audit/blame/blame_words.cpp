#include "ops/audit/blame/blame_words.hpp"

#include <algorithm>
#include <vector>

#include "engine/bounds.hpp"

namespace cairn {
namespace {

std::string shown_value(const Json& value) {
  if (value.is_object() && value.contains("$blob") && value.contains("bytes"))
    return "a value of " + value["bytes"].dump() + " bytes";
  return excerpt(value, BlameWords::value_shown_max);
}

std::string cut(const std::string& message) { return recordable(message, BlameWords::message_shown_max); }

// The one who gave it, at the begin of a sentence.
std::string giver(const BlamedOutcome& outcome) {
  const std::string& who = outcome.who;
  switch (outcome.kind) {
    case BlameKind::model:
      return who.empty() ? "A model" : "Model " + who;
    case BlameKind::tool:
      return who.empty() ? "A tool" : "Tool " + who;
    case BlameKind::rule:
      return "Rule " + who;
    case BlameKind::work:
      return "Handler " + who;
    case BlameKind::input:
      return "The input";
    case BlameKind::origin:
      return "The origin";
    case BlameKind::answer:
    case BlameKind::edit:
    case BlameKind::signal:
      return who.empty() ? "Someone" : who;
    case BlameKind::child:
      return "The run of " + who;
    case BlameKind::unasked:
    case BlameKind::timer:
    case BlameKind::engine:
    case BlameKind::end:
      break;
  }
  return "It";
}

// The channels that later outcomes read of it.
std::vector<std::string> channels_read(const BlamedOutcome& outcome) {
  std::vector<std::string> channels;
  for (const BlameLink& link : outcome.leads_to)
    if (link.way == BlameWay::channel && std::find(channels.begin(), channels.end(), link.name) == channels.end())
      channels.push_back(link.name);
  return channels;
}

// "a = 1, b = 2"; "" if it gave none of them.
std::string given_of(const BlamedOutcome& outcome, const JsonText& patch) {
  const Json values = parse_stored_object(patch);
  std::string text;
  std::size_t shown = 0;
  for (const std::string& channel : channels_read(outcome)) {
    const auto value = values.find(channel);
    if (value == values.end()) continue;
    if (++shown > BlameWords::channels_shown_max) return text + " and more";
    text += (text.empty() ? "" : ", ") + channel + " = " + shown_value(*value);
  }
  return text;
}

// The predicate of the sentence, without its full stop.
struct Predicate {
  const BlamedOutcome& outcome;

  std::string operator()(const StepSucceeded& e) const {
    const std::string given = given_of(outcome, e.patch);
    if (outcome.kind == BlameKind::engine && e.label == "exhausted") return "found its budget used up";
    const std::string left = e.label.empty() ? "" : "left by " + e.label;
    if (given.empty()) return left.empty() ? "succeeded" : left;
    return "gave " + given + (left.empty() ? "" : " and " + left);
  }
  std::string operator()(const StepFailed& e) const {
    const std::string failed = e.error == lost_error ? "was lost: " : "failed: " + e.error + ": ";
    return failed + cut(e.message);
  }
  std::string operator()(const SubGoalClosed& e) const {
    if (e.status == GoalStatus::succeeded) return "gave " + shown_value(parse_stored(e.outputs));
    if (e.status == GoalStatus::skipped) return "was skipped: " + cut(e.message);
    return "failed: " + e.error + ": " + cut(e.message);
  }
  std::string operator()(const QuestionAnswered& e) const {
    return (outcome.kind == BlameKind::unasked ? "took the default " : "answered ") + shown_value(e.value);
  }
  std::string operator()(const QuestionExpired&) const { return "had no answer in time"; }
  std::string operator()(const SignalReceived& e) const {
    return "sent the signal " + e.name + " with " + shown_value(e.value);
  }
  std::string operator()(const TimerFired&) const { return "came to its time"; }
  std::string operator()(const ChildFinished& e) const {
    const std::string reason = e.reason.empty() ? "" : ": " + cut(e.reason);
    return "ended as " + std::string(to_string(e.status)) + reason + (reason.ends_with('.') ? " It" : " and") +
           " gave " + shown_value(e.output);
  }
  std::string operator()(const RunStarted& e) const {
    if (e.forked_from)
      return "is run " + to_string(e.forked_from->run) + " up to event " + std::to_string(e.forked_from->seq);
    const std::string given = given_of(outcome, e.input);
    return given.empty() ? "was " + shown_value(parse_stored(e.input)) : "gave " + given;
  }
  std::string operator()(const ChannelsEdited& e) const {
    const std::string given = given_of(outcome, e.patch);
    return "set " + (given.empty() ? shown_value(parse_stored(e.patch)) : given);
  }
  std::string operator()(const RunEnding& e) const {
    return "was to end as " + std::string(to_string(e.status)) + (e.reason.empty() ? "" : ": " + cut(e.reason));
  }
  std::string operator()(const RunFinished& e) const {
    const std::string by = outcome.who.empty() ? "" : " by " + outcome.who;
    return "ended as " + std::string(to_string(e.status)) + by + (e.reason.empty() ? "" : ": " + cut(e.reason));
  }
  template <class Other>
  std::string operator()(const Other& e) const {
    return "noted " + std::string(type_of(EventBody(e)));
  }
};

}  // namespace

std::string blame_words(const BlamedOutcome& outcome, const Event& event) {
  std::string text = giver(outcome) + " " + std::visit(Predicate{outcome}, event.body);
  if (!outcome.sub_goal.empty()) text = "Sub-goal " + outcome.sub_goal + ": " + text;
  if (!text.ends_with('.')) text += '.';
  if (!outcome.decision.empty()) text += " It had decided " + outcome.decision + ".";
  return text;
}

}  // namespace cairn
