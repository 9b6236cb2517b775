#include "ops/http/schedule_routes.hpp"

#include "ops/http/bodies/bodies.hpp"
#include "ops/http/list_page.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/scheduling/schedule_lines.hpp"
#include "workers/schedules/schedule_desk.hpp"

namespace cairn {
namespace {

constexpr std::int32_t schedules_at_once = 1'000;
constexpr std::int32_t notes_max = 10'000;

ApiStatus check_schedules(const RouteCall& call) { return check_scope(call, "for schedules"); }
// A schedule starts runs of any graph, on any queue.
ApiStatus check_changes(const RouteCall& call) { return check_any_scope(call, "for schedules"); }

// A desk for one call, with zones of its own.
struct CallDesk {
  explicit CallDesk(RouteCall& call) : desk(call.parts.schedules.calls(), call.store(), call.client, zones) {}

  ZoneFiles zones;
  ScheduleDesk desk;
};

struct AskedSchedule {
  ScheduleRow row;
  ScheduleDefinition definition;
  std::shared_ptr<const KnownZone> zone;
};

Result<AskedSchedule> schedule_of(RouteCall& call, ZoneFiles& zones) {
  std::optional<ScheduleRow> row = call.parts.schedules.row(call.name);
  if (!row)
    return Error{Code::not_found, "Expected a schedule, but none is named " + excerpt(Json(call.name), 100) + "."};
  Result<ScheduleDefinition> definition = parse_schedule(parse_stored(row->definition));
  if (!definition) return definition.error();
  const auto zone = zones.find(definition->zone);
  if (!zone) return zone.error();
  return AskedSchedule{*std::move(row), *std::move(definition), *zone};
}

// The whole schedule, as it is now.
RouteReply shown_schedule(RouteCall& call, int status = 200) {
  ZoneFiles zones;
  const Result<AskedSchedule> found = schedule_of(call, zones);
  if (!found) return found.error();
  const Json line = schedule_line(found->row, zones, call.store());
  return status == 201 ? created_response(line, "schedules", call.name) : json_response(line);
}

RouteReply notes_response(const std::vector<ScheduleNote>& notes) {
  Json lines = Json::array();
  for (const ScheduleNote& note : notes) {
    Json line = note_line({0, 0, note});
    for (const char* field : {"number", "recorded_at", "revision"}) line.erase(field);
    lines.push_back(std::move(line));
  }
  return json_response({{"notes", std::move(lines)}});
}

Result<std::optional<Overlap>> overlap_field(Fields& fields) {
  if (!fields.has("overlap")) return std::optional<Overlap>();
  const Result<Overlap> overlap = parse_overlap(fields.text("overlap"));
  if (!overlap) return overlap.error();
  return std::optional<Overlap>(*overlap);
}

}  // namespace

RouteReply list_schedules(RouteCall& call) {
  if (ApiStatus passed = check_schedules(call); !passed) return std::move(passed).error();
  ZoneFiles zones;
  std::vector<KeyedLine> lines;
  for (std::string after;;) {
    const std::vector<ScheduleRow> rows = call.parts.schedules.rows(after, schedules_at_once);
    for (const ScheduleRow& row : rows) lines.push_back({row.name, schedule_line(row, zones, call.store())});
    if (rows.size() < static_cast<std::size_t>(schedules_at_once)) break;
    after = rows.back().name;
  }
  return page_response(call.request, std::move(lines));
}

RouteReply add_schedule_asked(RouteCall& call) {
  if (ApiStatus passed = check_changes(call); !passed) return std::move(passed).error();
  Result<Json> body = json_body(call.request);
  if (!body) return body.error();
  const auto name = body->is_object() ? body->find("name") : body->end();
  if (!body->is_object() || name == body->end() || !name->is_string())
    return bad_request("Expected the name of a schedule, but found none.");
  call.name = name->get<std::string>();
  body->erase("name");
  const Result<ScheduleDefinition> definition = parse_schedule(*body);
  if (!definition) return definition.error();
  CallDesk desk(call);
  if (const Status added = desk.desk.add(call.name, *definition, call.caller->actor); !added) return added.error();
  return shown_schedule(call, 201);
}

RouteReply show_schedule(RouteCall& call) {
  if (ApiStatus passed = check_schedules(call); !passed) return std::move(passed).error();
  if (const Status known = only_query(call.request, {}); !known) return known.error();
  return shown_schedule(call);
}

RouteReply edit_schedule(RouteCall& call) {
  if (ApiStatus passed = check_changes(call); !passed) return std::move(passed).error();
  Result<Json> body = json_body(call.request);
  if (!body) return body.error();
  if (!body->is_object()) return bad_request("Expected an object with what is changed, but found another value.");
  ScheduleEdit edit;
  if (const auto revision = body->find("revision"); revision != body->end()) {
    if (!revision->is_number_integer() || *revision < 1)
      return bad_request("Expected the number of a revision, but found " + excerpt(*revision, 40) + ".");
    edit.revision = revision->get<std::int64_t>();
    body->erase("revision");
  }
  edit.fields = *std::move(body);
  CallDesk desk(call);
  const Result<std::int64_t> edited = desk.desk.edit(call.name, edit, call.caller->actor);
  if (!edited) return edited.error();
  return shown_schedule(call);
}

RouteReply remove_schedule(RouteCall& call) {
  if (ApiStatus passed = check_changes(call); !passed) return std::move(passed).error();
  if (const Status none = no_body(call.request); !none) return none.error();
  CallDesk desk(call);
  if (const Status removed = desk.desk.remove(call.name, call.caller->actor); !removed) return removed.error();
  return json_response({{"name", call.name}, {"removed", true}});
}

RouteReply next_of_schedule(RouteCall& call) {
  if (ApiStatus passed = check_schedules(call); !passed) return std::move(passed).error();
  if (const Status known = only_query(call.request, {"from", "count"}); !known) return known.error();
  constexpr std::int64_t count_without = 10;
  const bool has_count = !query_text(call.request, "count").empty();
  const Result<std::int64_t> count = number_query(call.request, "count", {1, next_count_max});
  if (!count) return count.error();
  TimeUs from = call.parts.schedules.next_due().now_us;
  if (const std::string text = query_text(call.request, "from"); !text.empty()) {
    const Result<TimeUs> at = time_argument(text);
    if (!at) return at.error();
    from = *at;
  }
  ZoneFiles zones;
  const Result<AskedSchedule> found = schedule_of(call, zones);
  if (!found) return found.error();
  return list_response(call.request, next_lines(call.name, found->definition, found->zone->zone, from,
                                                has_count ? *count : count_without));
}

RouteReply history_of_schedule(RouteCall& call) {
  if (ApiStatus passed = check_schedules(call); !passed) return std::move(passed).error();
  const Result<HistoryPage> page = history_query(call.request, notes_max);
  if (!page) return page.error();
  const std::vector<KeptNote> notes = call.parts.schedules.notes(call.name, page->before, page->limit + 1);
  if (notes.empty() && page->is_first)
    return Error{Code::not_found,
                 "Expected a schedule, but none is or was named " + excerpt(Json(call.name), 100) + "."};
  std::vector<KeyedLine> lines;
  for (const KeptNote& kept : notes) lines.push_back({std::to_string(kept.number), note_line(kept)});
  return history_response(call.request, std::move(lines), page->limit);
}

RouteReply explain_a_schedule(RouteCall& call) {
  if (ApiStatus passed = check_schedules(call); !passed) return std::move(passed).error();
  if (const Status known = only_query(call.request, {"at"}); !known) return known.error();
  ZoneFiles zones;
  const Result<std::vector<std::string>> says =
      explain_schedule(call.parts.schedules, zones, call.name, query_text(call.request, "at"));
  if (!says) return says.error();
  return json_response({{"name", call.name}, {"says", *says}});
}

RouteReply pause_a_schedule(RouteCall& call) {
  if (ApiStatus passed = check_changes(call); !passed) return std::move(passed).error();
  Fields fields(call.request, {"reason"});
  const Result<std::string> reason = fields.result(fields.text("reason"));
  if (!reason) return reason.error();
  CallDesk desk(call);
  if (const Status paused = desk.desk.pause(call.name, *reason, call.caller->actor); !paused) return paused.error();
  return shown_schedule(call);
}

RouteReply resume_a_schedule(RouteCall& call) {
  if (ApiStatus passed = check_changes(call); !passed) return std::move(passed).error();
  if (const Status none = no_body(call.request); !none) return none.error();
  CallDesk desk(call);
  if (const Status resumed = desk.desk.resume(call.name, call.caller->actor); !resumed) return resumed.error();
  return shown_schedule(call);
}

RouteReply trigger_a_schedule(RouteCall& call) {
  if (ApiStatus passed = check_changes(call); !passed) return std::move(passed).error();
  Fields fields(call.request, {"overlap"});
  const Result<std::optional<Overlap>> overlap = overlap_field(fields);
  if (!overlap) return overlap.error();
  if (const auto fine = fields.result(true); !fine) return fine.error();
  CallDesk desk(call);
  const auto notes = desk.desk.trigger(call.name, *overlap, call.caller->actor);
  if (!notes) return notes.error();
  return notes_response(*notes);
}

RouteReply backfill_a_schedule(RouteCall& call) {
  if (ApiStatus passed = check_changes(call); !passed) return std::move(passed).error();
  Fields fields(call.request, {"from", "until", "overlap"});
  const std::string from = fields.needed_text("from"), until = fields.text("until");
  const Result<std::optional<Overlap>> overlap = overlap_field(fields);
  if (!overlap) return overlap.error();
  if (const auto fine = fields.result(true); !fine) return fine.error();
  BackfillRange range{0, never_us};
  const Result<TimeUs> first = time_argument(from);
  if (!first) return first.error();
  range.from = *first;
  if (!until.empty()) {
    const Result<TimeUs> last = time_argument(until);
    if (!last) return last.error();
    range.until = *last;
  }
  range.overlap = overlap->value_or(range.overlap);
  CallDesk desk(call);
  const auto notes = desk.desk.backfill(call.name, range, call.caller->actor);
  if (!notes) return notes.error();
  return notes_response(*notes);
}

}  // namespace cairn
