#include "storage/schedules/schedule_rows.hpp"

#include <algorithm>
#include <utility>

namespace cairn {
namespace {

void end_missed(ScheduleNote& note, TimeUs until) {
  if (note.kind != NoteKind::missed || !note.until || *note.until <= until) return;
  note.until = until;
  note.count = 0;
}

}  // namespace

std::vector<KeptNote> notes_that_stand(std::vector<KeptNote> notes) {
  std::vector<KeptNote> standing;
  for (KeptNote& kept : notes) {
    if (kept.note.kind == NoteKind::resumed && kept.note.actor == "schedule")
      for (KeptNote& before : standing) end_missed(before.note, kept.recorded_at);
    standing.push_back(std::move(kept));
  }
  std::erase_if(standing, [](const KeptNote& kept) {
    return kept.note.kind == NoteKind::missed && kept.note.until < kept.note.at;
  });
  return standing;
}

}  // namespace cairn
