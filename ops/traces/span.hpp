// A span of a trace as OpenTelemetry's protocol has it (OTLP 1, JSON), and the attributes of one. Plain values and pure
// functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/id.hpp"
#include "engine/json.hpp"

namespace cairn {

// The version of OpenTelemetry's semantic conventions by which spans and attributes are named.
inline constexpr const char* conventions_url = "https://opentelemetry.io/schemas/1.41.0";

inline constexpr std::size_t span_text_bytes_max = 16 * 1024;  // of one text in a span

// A list of {"key", "value"} in the order in which it was made.
class SpanAttributes {
 public:
  SpanAttributes& text(const char* key, const std::string& value);
  SpanAttributes& text_unless_empty(const char* key, const std::string& value);
  SpanAttributes& number(const char* key, std::int64_t value);
  SpanAttributes& real(const char* key, double value);
  SpanAttributes& flag(const char* key, bool value);
  SpanAttributes& texts(const char* key, const std::vector<std::string>& values);
  const Json& json() const { return list_; }

 private:
  void add(const char* key, const char* kind, Json value);
  Json list_ = Json::array();
};

enum class SpanKind : std::uint8_t { internal = 1, client = 3 };
enum class SpanStatus : std::uint8_t { unset, ok, error };

struct SpanEvent {
  TimeUs at_us = 0;
  std::string name;
  SpanAttributes attributes = {};
};

struct Span {
  std::string trace;   // 32 hexadecimal digits
  std::string id;      // 16
  std::string parent;  // "": none
  std::string name;
  SpanKind kind = SpanKind::internal;
  TimeUs start_us = 0;
  TimeUs end_us = 0;  // not before the start
  SpanAttributes attributes = {};
  std::vector<SpanEvent> events = {};
  std::string linked_trace = {};  // of another span that it belongs to; "": none
  std::string linked_span = {};
  SpanStatus status = SpanStatus::unset;
  std::string status_says = {};
};

Json span_json(const Span& span);
std::string span_text(const Span& span);  // the same, encoded

// A document that can be sent: encoded spans with the resource that they are about. `database`: its identity.
std::string spans_document(const std::vector<std::string>& spans, const std::string& database);

}  // namespace cairn
