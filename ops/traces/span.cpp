#include "ops/traces/span.hpp"

#include <utility>

namespace cairn {
namespace {

std::string nanoseconds(TimeUs us) { return std::to_string(us) + "000"; }

std::string encoded(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json event_json(const SpanEvent& event) {
  return {{"timeUnixNano", nanoseconds(event.at_us)}, {"name", event.name}, {"attributes", event.attributes.json()}};
}

}  // namespace

void SpanAttributes::add(const char* key, const char* kind, Json value) {
  list_.push_back({{"key", key}, {"value", {{kind, std::move(value)}}}});
}

SpanAttributes& SpanAttributes::text(const char* key, const std::string& value) {
  add(key, "stringValue", value);
  return *this;
}
SpanAttributes& SpanAttributes::text_unless_empty(const char* key, const std::string& value) {
  return value.empty() ? *this : text(key, value);
}
SpanAttributes& SpanAttributes::number(const char* key, std::int64_t value) {
  add(key, "intValue", std::to_string(value));  // 64 bits are text in JSON
  return *this;
}
SpanAttributes& SpanAttributes::real(const char* key, double value) {
  add(key, "doubleValue", value);
  return *this;
}
SpanAttributes& SpanAttributes::flag(const char* key, bool value) {
  add(key, "boolValue", value);
  return *this;
}
SpanAttributes& SpanAttributes::texts(const char* key, const std::vector<std::string>& values) {
  Json list = Json::array();
  for (const std::string& value : values) list.push_back({{"stringValue", value}});
  add(key, "arrayValue", {{"values", std::move(list)}});
  return *this;
}

Json span_json(const Span& span) {
  Json json = {{"traceId", span.trace},
               {"spanId", span.id},
               {"name", span.name},
               {"kind", static_cast<int>(span.kind)},
               {"startTimeUnixNano", nanoseconds(span.start_us)},
               {"endTimeUnixNano", nanoseconds(span.end_us)},
               {"attributes", span.attributes.json()}};
  if (!span.parent.empty()) json["parentSpanId"] = span.parent;
  for (const SpanEvent& event : span.events) json["events"].push_back(event_json(event));
  if (!span.linked_span.empty())
    json["links"] = Json::array({Json{{"traceId", span.linked_trace}, {"spanId", span.linked_span}}});
  if (span.status == SpanStatus::unset) return json;
  json["status"] = {{"code", static_cast<int>(span.status)}};
  if (!span.status_says.empty()) json["status"]["message"] = span.status_says;
  return json;
}

std::string span_text(const Span& span) { return encoded(span_json(span)); }

std::string spans_document(const std::vector<std::string>& spans, const std::string& database) {
  SpanAttributes about;
  about.text("service.name", "cairn").text("cairn.database.id", database);
  const std::string schema = R"("schemaUrl":)" + encoded(conventions_url);
  std::string text = R"({"resourceSpans":[{"resource":{"attributes":)" + encoded(about.json()) + "}," + schema +
                     R"(,"scopeSpans":[{)" + schema + R"(,"scope":{"name":"cairn"},"spans":[)";
  for (std::size_t n = 0; n < spans.size(); ++n) text += (n == 0 ? "" : ",") + spans[n];
  return text + "]}]}]}";
}

}  // namespace cairn
