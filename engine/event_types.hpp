// The catalogue of event types: number, version and name of each. A number is never used again, and a shipped version
// never changes its meaning: versions.md says how to add one. Used by the codec only; event.hpp
// declares what others ask of it.
// Constant data, safe from any thread.
#pragma once

#include "engine/event.hpp"

namespace cairn {

// Each alternative of EventBody but Record, which has a number for each of its kinds.
template <class Body>
inline constexpr EventType event_type_of;

template <>
inline constexpr EventType event_type_of<RunStarted>{1, 2, "run_started"};
template <>
inline constexpr EventType event_type_of<RunPaused>{2, 1, "run_paused"};
template <>
inline constexpr EventType event_type_of<RunResumed>{3, 1, "run_resumed"};
template <>
inline constexpr EventType event_type_of<RunReopened>{4, 1, "run_reopened"};
template <>
inline constexpr EventType event_type_of<RunMoved>{5, 1, "run_moved"};
template <>
inline constexpr EventType event_type_of<ChannelsEdited>{6, 1, "channels_edited"};
template <>
inline constexpr EventType event_type_of<RunFinished>{7, 1, "run_finished"};
template <>
inline constexpr EventType event_type_of<StepSucceeded>{8, 1, "step_succeeded"};
template <>
inline constexpr EventType event_type_of<StepFailed>{9, 1, "step_failed"};
template <>
inline constexpr EventType event_type_of<SignalReceived>{10, 1, "signal_received"};
template <>
inline constexpr EventType event_type_of<TimerFired>{11, 1, "timer_fired"};
template <>
inline constexpr EventType event_type_of<ChildStarted>{12, 1, "child_started"};
template <>
inline constexpr EventType event_type_of<ChildFinished>{13, 1, "child_finished"};
template <>
inline constexpr EventType event_type_of<QuestionAsked>{14, 1, "question_asked"};
template <>
inline constexpr EventType event_type_of<QuestionAnswered>{15, 1, "question_answered"};
template <>
inline constexpr EventType event_type_of<QuestionExpired>{16, 1, "question_expired"};
template <>
inline constexpr EventType event_type_of<SubGoalOpened>{17, 1, "sub_goal_opened"};
template <>
inline constexpr EventType event_type_of<SubGoalRejected>{18, 1, "sub_goal_rejected"};
template <>
inline constexpr EventType event_type_of<SubGoalClosed>{19, 1, "sub_goal_closed"};
template <>
inline constexpr EventType event_type_of<PlanCreated>{20, 1, "plan_created"};
template <>
inline constexpr EventType event_type_of<PlanRevised>{21, 1, "plan_revised"};
template <>
inline constexpr EventType event_type_of<TaskDecomposed>{22, 1, "task_decomposed"};
template <>
inline constexpr EventType event_type_of<BudgetExhausted>{23, 1, "budget_exhausted"};
template <>
inline constexpr EventType event_type_of<RunEnding>{24, 1, "run_ending"};

inline constexpr std::int16_t first_record = 101;  // the number of a record is this + its kind
inline constexpr std::int16_t record_version = 1;

// Nothing if no event has that number.
std::optional<EventType> event_type_numbered(std::int16_t number);
// Nothing if no record has that number.
std::optional<RecordKind> record_kind(std::int16_t number);

}  // namespace cairn
