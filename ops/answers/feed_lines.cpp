#include "ops/answers/feed_lines.hpp"

#include "storage/stored_event.hpp"

namespace cairn {
namespace {

Json unreadable_line(const FeedEvent& event, const std::string& reason) {
  const std::optional<std::string_view> name = event_type_name(event.row.type);
  return {{"run", to_string(event.run)},
          {"seq", event.row.seq},
          {"type", name ? Json(*name) : Json(event.row.type)},
          {"version", event.row.version},
          {"at", time_text(event.row.at_us)},
          {"step", event.row.step},
          {"actor", event.row.actor},
          {"unreadable", reason},
          {"payload", event.row.payload}};
}

}  // namespace

Json feed_line(const FeedEvent& event) {
  Result<Json> read = event_json(event.run, stored_event(event.row));
  Json line = read ? *std::move(read) : unreadable_line(event, read.error().message);
  line["of_graph"] = event.graph;
  return line;
}

Json feed_end(const FeedPage& page) {
  Json end = {{"cursor", to_text(page.cursor)}};
  if (page.missing > 0) end["missing"] = page.missing;
  return end;
}

Json consumer_json(const FeedStanding& standing) {
  const FeedConsumer& consumer = standing.consumer;
  return {{"name", consumer.name},
          {"graph", consumer.filter.graph.empty() ? Json(nullptr) : Json(consumer.filter.graph)},
          {"tags", consumer.filter.tags},
          {"types", consumer.filter.types},
          {"has_places", standing.has_places},
          {"reads_history", standing.reads_history},
          {"behind", standing.behind},
          {"oldest_at", standing.oldest ? Json(time_text(*standing.oldest)) : Json(nullptr)},
          {"moved_at", time_text(standing.moved_at)},
          {"created_at", time_text(consumer.created_at)},
          {"created_by", consumer.created_by}};
}

}  // namespace cairn
