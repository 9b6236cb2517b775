// A client of a collector of traces that takes OTLP over HTTP in JSON. Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/result.hpp"

namespace cairn {

// Traces that are wanted, as options say it.
struct TraceExportOptions {
  std::string url;  // the collector's; "": none are
  bool with_contents = false;
};

struct OtlpEndpoint {
  std::string url;                                           // with the path of traces
  std::vector<std::pair<std::string, std::string>> headers;  // secrets, maybe
};

// The endpoint of a collector's base URL: /v1/traces is added, unless the path ends so. Headers are those of
// OTEL_EXPORTER_OTLP_HEADERS (name=value,..., values percent-encoded). Refuses `invalid`: no URL, one with a query or a
// fragment, no such list.
Result<OtlpEndpoint> otlp_endpoint(const std::string& url);

// How a document was taken.
struct OtlpAnswer {
  enum class Kind : std::uint8_t {
    taken,
    again,    // it was not: the collector is away or full, and may take it later
    misfit,   // it never will be: the collector finds fault with this document
    refused,  // nor is any other, until the collector or the endpoint is changed: a wrong token, a wrong path
  };
  Kind kind = Kind::taken;
  std::int64_t rejected = 0;        // spans that the collector left out of a document that it took
  std::int64_t retry_after_ms = 0;  // as it asked; 0: it did not
  std::string says = {};            // why not all was taken
};

class OtlpClient {
 public:
  explicit OtlpClient(OtlpEndpoint endpoint);
  ~OtlpClient();

  // Sends a document once. Waits for the answer for ten seconds at most.
  OtlpAnswer send(const std::string& document);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Sends a document until it is taken: tries again after half a second, then twice as long each time, or when the
// collector asks, at most a minute later; `pause` waits so many milliseconds. Refuses `unavailable`: it was not taken
// at the sixth try, or never will be.
Result<OtlpAnswer> send_with_patience(OtlpClient& client, const std::string& document,
                                      const std::function<void(std::int64_t ms)>& pause);

}  // namespace cairn
