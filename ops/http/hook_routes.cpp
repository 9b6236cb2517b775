#include "ops/http/hook_routes.hpp"

#include "ops/hooks/hook_lines.hpp"
#include "ops/http/bodies/bodies.hpp"
#include "ops/http/bodies/fields.hpp"
#include "ops/http/list_page.hpp"
#include "ops/requests/run_ids.hpp"
#include "workers/hooks/hook_desk.hpp"

namespace cairn {
namespace {

constexpr std::int32_t hook_lines_max = 1'000;

ApiStatus check_hooks(const RouteCall& call) { return check_scope(call, "for hooks"); }

HookDesk desk_of(RouteCall& call) {
  return {call.parts.hooks.calls(), hook_feed_of(call.parts.feed, call.parts.stalled)};
}

RouteReply shown_hook(RouteCall& call, int status = 200) {
  HookTable& table = call.parts.hooks;
  const std::optional<HookRow> row = table.hook(call.name);
  if (!row) return no_such_hook(call.name);
  const Json line = hook_line(*row, facts_of(call.name, table.counts({call.name, true}), table.lasts(call.name)));
  return status == 201 ? created_response(line, "hooks", call.name) : json_response(line);
}

Result<std::string> event_field(const RouteCall& call, bool is_needed) {
  Fields fields(call.request, {"event"});
  const std::string event = is_needed ? fields.needed_text("event") : fields.text("event");
  const Result<std::string> given = fields.result(event);
  return given ? event_meant(call.store(), *given) : given;
}

Result<DeliveriesAsked> deliveries_query(const ApiRequest& request) {
  if (const Status known = only_query(request, {"status", "limit", "after"}); !known) return known.error();
  const Result<std::int32_t> limit = limit_query(request, hook_lines_max);
  if (!limit) return limit.error();
  const std::string word = query_text(request, "status"), cursor = query_text(request, "after");
  DeliveriesAsked asked{parse_delivery_status(word), *limit, parse_delivery_cursor(cursor)};
  if (!word.empty() && !asked.status)
    return bad_request("Expected waiting, delivered, parked, skipped or gone as status, but found " +
                       excerpt(Json(word), 40) + ".");
  if (!cursor.empty() && !asked.after)
    return bad_request("Expected the cursor that an earlier list ended with in after, but found " +
                       excerpt(Json(cursor), 80) + ".");
  return asked;
}

}  // namespace

RouteReply list_hooks(RouteCall& call) {
  if (ApiStatus passed = check_hooks(call); !passed) return std::move(passed).error();
  HookTable& table = call.parts.hooks;
  const std::vector<HookCounts> counts = table.counts({{}, true});
  const std::vector<HookDelivery> lasts = table.lasts();
  std::vector<KeyedLine> lines;
  for (const HookRow& row : table.hooks())
    lines.push_back({row.name, hook_line(row, facts_of(row.name, counts, lasts))});
  return page_response(call.request, std::move(lines));
}

RouteReply add_hook_asked(RouteCall& call) {
  if (ApiStatus passed = check_hooks(call); !passed) return std::move(passed).error();
  Result<Json> body = json_body(call.request);
  if (!body) return body.error();
  const auto name = body->is_object() ? body->find("name") : body->end();
  if (!body->is_object() || name == body->end() || !name->is_string())
    return bad_request("Expected the name of a hook, but found none.");
  call.name = name->get<std::string>();
  body->erase("name");
  const Result<HookDefinition> hook = parse_hook(*body);
  if (!hook) return hook.error();
  if (!hook->command.empty())
    return bad_request(
        "Expected a URL, but found a command: a hook with a command is added on its machine, by `cairn hook add`.");
  if (const Status added = desk_of(call).add(call.name, *hook, call.caller->actor); !added) return added.error();
  return shown_hook(call, 201);
}

RouteReply edit_hook_asked(RouteCall& call) {
  if (ApiStatus passed = check_hooks(call); !passed) return std::move(passed).error();
  const Result<Json> body = json_body(call.request);
  if (!body) return body.error();
  if (!body->is_object() || body->empty())
    return bad_request("Expected an object with fields of the hook to change, but found none.");
  if (body->contains("command"))
    return bad_request(
        "Expected a URL, but found a command: a hook with a command is edited on its machine, by `cairn hook edit`.");
  if (const auto edited = desk_of(call).edit(call.name, *body, call.caller->actor); !edited) return edited.error();
  return shown_hook(call);
}

RouteReply show_hook(RouteCall& call) {
  if (ApiStatus passed = check_hooks(call); !passed) return std::move(passed).error();
  if (const Status known = only_query(call.request, {}); !known) return known.error();
  return shown_hook(call);
}

RouteReply remove_hook(RouteCall& call) {
  if (ApiStatus passed = check_hooks(call); !passed) return std::move(passed).error();
  if (const Status none = no_body(call.request); !none) return none.error();
  if (const Status removed = desk_of(call).remove(call.name, call.caller->actor); !removed) return removed.error();
  return json_response({{"name", call.name}, {"removed", true}});
}

RouteReply deliveries_of_hook(RouteCall& call) {
  if (ApiStatus passed = check_hooks(call); !passed) return std::move(passed).error();
  const Result<DeliveriesAsked> asked = deliveries_query(call.request);
  if (!asked) return asked.error();
  if (!call.parts.hooks.hook(call.name)) return no_such_hook(call.name);
  const std::vector<HookDelivery> page = call.parts.hooks.deliveries(call.name, *asked);
  std::vector<Json> lines;
  for (const HookDelivery& one : page) lines.push_back(delivery_line(one));
  RouteReply reply = list_response(call.request, lines);
  const bool may_be_more = static_cast<std::int32_t>(page.size()) == asked->limit;
  if (reply && may_be_more)
    std::get<ApiResponse>(*reply).headers.emplace_back("Link", next_link(call.request, cursor_of(page.back())));
  return reply;
}

RouteReply history_of_hook(RouteCall& call) {
  if (ApiStatus passed = check_hooks(call); !passed) return std::move(passed).error();
  const Result<HistoryPage> page = history_query(call.request, hook_lines_max);
  if (!page) return page.error();
  const std::vector<KeptHookNote> notes = call.parts.hooks.notes(call.name, page->before, page->limit + 1);
  if (notes.empty() && page->is_first) return no_such_hook(call.name);
  std::vector<KeyedLine> lines;
  for (const KeptHookNote& kept : notes) lines.push_back({std::to_string(kept.number), hook_note_line(kept)});
  return history_response(call.request, std::move(lines), page->limit);
}

RouteReply pause_a_hook(RouteCall& call) {
  if (ApiStatus passed = check_hooks(call); !passed) return std::move(passed).error();
  Fields fields(call.request, {"reason"});
  const Result<std::string> reason = fields.result(fields.text("reason"));
  if (!reason) return reason.error();
  const Status paused = desk_of(call).pause(call.name, *reason, call.caller->actor);
  if (!paused) return paused.error();
  return shown_hook(call);
}

RouteReply resume_a_hook(RouteCall& call) {
  if (ApiStatus passed = check_hooks(call); !passed) return std::move(passed).error();
  if (const Status none = no_body(call.request); !none) return none.error();
  if (const Status resumed = desk_of(call).resume(call.name, call.caller->actor); !resumed) return resumed.error();
  return shown_hook(call);
}

RouteReply test_a_hook(RouteCall& call) {
  if (ApiStatus passed = check_hooks(call); !passed) return std::move(passed).error();
  if (const Status none = no_body(call.request); !none) return none.error();
  const Result<std::string> id = desk_of(call).test(call.name, call.caller->actor);
  if (!id) return id.error();
  return json_response({{"name", call.name}, {"event", *id}});
}

RouteReply resend_of_hook(RouteCall& call) {
  if (ApiStatus passed = check_hooks(call); !passed) return std::move(passed).error();
  const Result<std::string> event = event_field(call, false);
  if (!event) return event.error();
  const Result<std::int64_t> count = desk_of(call).resend(call.name, *event, call.caller->actor);
  if (!count) return count.error();
  return json_response({{"name", call.name}, {"resent", *count}});
}

RouteReply skip_of_hook(RouteCall& call) {
  if (ApiStatus passed = check_hooks(call); !passed) return std::move(passed).error();
  const Result<std::string> event = event_field(call, true);
  if (!event) return event.error();
  if (const Status skipped = desk_of(call).skip(call.name, *event, call.caller->actor); !skipped)
    return skipped.error();
  return json_response({{"name", call.name}, {"event", *event}, {"skipped", true}});
}

}  // namespace cairn
