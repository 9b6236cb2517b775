#include "workers/hooks/hook_desk.hpp"

#include <algorithm>
#include <utility>

#include "engine/bounds.hpp"
#include "workers/hooks/hook_rules.hpp"

namespace cairn {
namespace {

constexpr TimeUs add_lease_us = 120'000'000;  // commits under way are waited for, a minute at most
constexpr std::size_t hooks_max = 200;

Error name_is_taken(const std::string& name, bool is_there) {
  if (is_there) return {Code::conflict, "Expected a new name for a hook, but " + name + " is one already."};
  return {Code::conflict, "Expected a new name for a hook, but the removal of " + name +
                              " is under way: `cairn hook remove " + name + "` ends it."};
}

// A URL takes the place of a command, and a command that of a URL.
Json edited_fields(Json fields, const Json& given) {
  if (given.contains("url")) fields.erase("command");
  if (given.contains("command")) fields.erase("url");
  for (const auto& [name, value] : given.items()) {
    if (value.is_null())
      fields.erase(name);
    else
      fields[name] = value;
  }
  return fields;
}

}  // namespace

Error no_such_hook(const std::string& name) {
  return {Code::not_found,
          "Expected a hook, but none is named " + excerpt(Json(name), 60) + ": see `cairn hook list`."};
}

Status HookDesk::add(const std::string& name, const HookDefinition& hook, const std::string& actor) {
  if (const Status named = check_hook_name(name); !named) return named;
  if (calls_.hooks().size() >= hooks_max)
    return Error{Code::limit, "Expected at most " + std::to_string(hooks_max) + " hooks, but there are as many."};
  HookRow row;
  row.name = name;
  row.definition = canonical(hook_json(hook));
  row.is_ordered = hook.is_ordered;
  HookNote note{"added", actor, "", row.definition};
  const std::optional<std::int64_t> fence = calls_.add(row, add_lease_us, note);
  if (!fence) return name_is_taken(name, is_there(calls_, name));
  row.fence = *fence;
  const Status made = make_consumer(feed_, name, hook);
  row.is_ready = made.ok();
  if (!calls_.keep({row, {}, made ? 0 : add_lease_us})) return lost_meanwhile(name);
  if (made) return Done{};
  if (const Status undone = remove(name, actor); !undone) return undone;
  return made;
}

// A hook that was removed meanwhile leaves no consumer; one that another process makes keeps its own.
Status HookDesk::lost_meanwhile(const std::string& name) {
  if (is_there(calls_, name))
    return Error{Code::conflict, "Expected to add hook " + name + ", but another process adds it as well."};
  if (const Status removed = remove_consumer(feed_, name); !removed) return removed;
  return Error{Code::conflict, "Expected to add hook " + name + ", but it was removed meanwhile."};
}

Result<HookDefinition> HookDesk::edit(const std::string& name, const Json& fields, const std::string& actor) {
  const std::vector<HookRow> rows = calls_.hooks();
  const auto row = std::find_if(rows.begin(), rows.end(), [&name](const HookRow& one) { return one.name == name; });
  if (row == rows.end()) return no_such_hook(name);
  const Json kept = parse_stored(row->definition);
  const Result<HookDefinition> before = parse_hook(kept);
  if (!before) return before.error();
  const Result<HookDefinition> after = parse_hook(edited_fields(kept, fields));
  if (!after) return after.error();
  if (after->on != before->on || after->graph != before->graph || after->tags != before->tags)
    return Error{Code::conflict, "Expected hook " + name +
                                     " to be about the same events (on, graph and tags stay), but found others: add "
                                     "another hook for them."};
  if (*after == *before) return after;
  HookEdit edit{row->definition, canonical(hook_json(*after)), after->is_ordered, {"edited", actor}};
  edit.note.definition = edit.definition;
  if (calls_.edit(name, edit)) return after;
  if (!is_there(calls_, name)) return no_such_hook(name);
  return Error{Code::stale, "Expected hook " + name + " as it was a moment ago, but it was edited meanwhile."};
}

Status HookDesk::pause(const std::string& name, const std::string& reason, const std::string& actor) {
  if (const Status fits = check_reason(reason); !fits) return fits;
  if (calls_.change(name, {actor, reason, false, {"paused", actor, reason}})) return Done{};
  return no_such_hook(name);
}

Status HookDesk::resume(const std::string& name, const std::string& actor) {
  if (calls_.change(name, {"", "", false, {"resumed", actor}})) return Done{};
  return no_such_hook(name);
}

Status HookDesk::remove(const std::string& name, const std::string& actor) {
  if (!calls_.change(name, {"", "", true, {"removed", actor}})) return no_such_hook(name);
  if (const Status removed = remove_consumer(feed_, name); !removed) return removed;
  calls_.erase(name);
  return Done{};
}

Result<std::string> HookDesk::test(const std::string& name, const std::string& actor) {
  const std::optional<std::int64_t> number = calls_.note(name, {"tested", actor});
  if (!number) return no_such_hook(name);
  const NoticeId id{RunId{}, *number, NoticeKind::test};
  if (!calls_.put(name, id)) return no_such_hook(name);
  return event_id(name, id);
}

// The kind of an event is not in its id: it follows from the event.
Result<std::int64_t> HookDesk::again(const std::string& name, const std::string& id, bool passes) {
  if (!is_there(calls_, name)) return no_such_hook(name);
  if (id.empty()) return calls_.resend(name, {}, passes);
  std::optional<NoticeId> notice = parse_event_id(name, id);
  if (!notice)
    return Error{Code::invalid,
                 "Expected the id of an event of the hook, like RUN/7, but found " + excerpt(Json(id), 80) + "."};
  std::int64_t count = calls_.resend(name, notice, passes);
  if (notice->kind != NoticeKind::finished) return count;
  for (const NoticeKind kind : {NoticeKind::waits, NoticeKind::budget}) {
    notice->kind = kind;
    count += calls_.resend(name, notice, passes);
  }
  return count;
}

Result<std::int64_t> HookDesk::resend(const std::string& name, const std::string& id, const std::string& actor) {
  const Result<std::int64_t> count = again(name, id, false);
  if (!count) return count;
  if (*count == 0 && !id.empty())
    return Error{Code::not_found, "Expected a notice of hook " + name + ", but it has none of the event " +
                                      excerpt(Json(id), 80) + ": see `cairn hook show " + name + "`."};
  if (*count > 0) calls_.note(name, {"resent", actor, id.empty() ? "all that were parked" : id});
  return count;
}

Status HookDesk::skip(const std::string& name, const std::string& id, const std::string& actor) {
  const Result<std::int64_t> count = again(name, id, true);
  if (!count) return count.error();
  if (*count == 0)
    return Error{Code::not_found, "Expected a notice of hook " + name + " that waits or is parked, but the event " +
                                      excerpt(Json(id), 80) + " has none: see `cairn hook show " + name + "`."};
  calls_.note(name, {"skipped", actor, id});
  return Done{};
}

}  // namespace cairn
