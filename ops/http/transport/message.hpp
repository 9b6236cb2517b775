// Requests and answers of the API as plain values, independent of sockets. Safe from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

struct ApiRequest {
  std::string method;
  std::vector<std::string> segments;  // of the path, decoded
  std::vector<std::pair<std::string, std::string>> query;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::string peer;          // the client's address
  bool was_delayed = false;  // asked again after an ApiDelay
  bool has_waited = false;   // answered again after an ApiLater
  std::string started = {};  // the run that it has started by then

  std::string header(const std::string& name) const;  // "": it has none
};

// Refuses `invalid`: a target that is no path, or whose path or query is not UTF-8 or has a NUL.
Result<ApiRequest> request_of(const std::string& method, const std::string& target);

// "?name=value&...", encoded: request_of makes these parameters of it.
std::string query_of(const std::vector<std::pair<std::string, std::string>>& parameters);

struct ApiResponse {
  unsigned status = 200;
  std::string body;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};
};
// A check of a request, whose refusal is the answer itself: one with another status than its code has, or with headers.
using ApiStatus = Result<Done, ApiResponse>;

ApiResponse json_response(const Json& document, unsigned status = 200);

// 201, with the path of what has been made, below /api/v1, in Location.
ApiResponse created_response(const Json& document, const std::string& kind, const std::string& name);

// {"error": {"code", "message"}}, with the fields of `more`.
ApiResponse error_response(unsigned status, std::string_view code, const std::string& message,
                           const Json& more = Json::object());
// The one table from refusals to statuses: invalid 400, not_found 404, unavailable 503 (with Retry-After), unsupported
// 501, corrupt 500, all others 409.
ApiResponse error_response(const Error& error);
// The refusal `limit` of what may be asked again later: 429 and 503, with Retry-After.
ApiResponse later_response(unsigned status, std::int64_t seconds, const std::string& message);

// Whether a list of types of content, as Accept is one, has the type by its name.
bool names_type(std::string_view list, std::string_view type);

// A refusal as problem details (RFC 9457), for a client that accepts them: with `type`, `title`, `status` and `detail`
// next to `error`. Any other response as it is.
inline constexpr std::string_view problem_type = "application/problem+json";
ApiResponse problem_response(ApiResponse response);

// An answer that is sent piece by piece: `next` is polled for the next piece.
struct ApiStream {
  struct Chunk {
    std::string text;       // "": nothing new
    bool is_last = false;   // nothing can follow it
    bool has_more = false;  // is there already: asked for at once
  };
  std::string type;
  std::string pulse;                           // sent after a while without a piece, to keep the connection open
  std::function<std::optional<Chunk>()> next;  // none: the stream broke
  std::function<void()> gone = {};             // the client left before the last piece; may wait; empty: no matter
  std::function<void()> refused = {};          // there is no place for it, and it was not begun; likewise
};

// An answer that another thread gives later, as of a long poll.
struct ApiLater {
  // Nothing: the request is to be answered again now, with `has_waited`, and then at once.
  using OnAnswer = std::function<void(std::optional<ApiResponse>)>;
  // Called once. `answer` is called once, on any thread, at once or later, also after `gone`.
  std::function<void(OnAnswer answer)> begin;
  std::function<void()> hurry;  // the server stops: the answer is wanted now
  std::function<void()> gone;   // the client is gone, and got no answer or a part of it
  // The run that the request has started, or found by its key: then it is not refused, which would hide the run, but
  // answered again at once where there is no place to wait. "": none.
  std::string started = {};
  bool is_new = false;  // it has started it
  // The answer where answering again is refused, and the refusal would hide the run; nothing: the refusal.
  std::optional<ApiResponse> otherwise = {};
};
// Marks the request as one that has waited.
void answer_again(ApiRequest& request, const ApiLater& later);
// The answer to send in place of the one that the request got then.
ApiResponse answer_after(const ApiLater& later, ApiResponse answered);

using ApiAnswer = std::variant<ApiResponse, ApiStream, ApiLater>;

// The threads that work on a request: those for `work`, for which requests queue up, or the one for `probes`, which are
// short and must not wait for the others.
enum class Lane : std::uint8_t { work, probes };

// A request let in by its head: the work that answers it once its body has been read. `answer` does not throw.
struct Admitted {
  Lane lane = Lane::work;
  std::function<ApiAnswer(const ApiRequest&)> answer;
};

// A pause, after which the head is to be decided on again.
struct ApiDelay {
  std::chrono::milliseconds time{0};
};

// The decision on a request's head: an answer at once, the work to do, or a pause.
using Admission = std::variant<ApiResponse, Admitted, ApiDelay>;

}  // namespace cairn
