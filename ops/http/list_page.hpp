// Pages of lists: the link from one to the next, and the page of a list that is short enough to be read whole. Safe
// from any thread.
#pragma once

#include <string>
#include <vector>

#include "ops/http/route_call.hpp"

namespace cairn {

// The link to what comes after the cursor, relative to the request itself; `parameter` of the query has it.
std::string next_link(const ApiRequest& request, const std::string& cursor, const std::string& parameter = "after");
// As list_response, with the link.
RouteReply linked_response(const ApiRequest& request, const std::vector<Json>& lines, std::string link);

// A line and its place: keys are unique, and their order as bytes is that of the pages.
struct KeyedLine {
  std::string key;
  Json line;
};

// The whole list as it is; with `limit` or `after` in the query a page of it in the order of keys, with the link to the
// next one. Refuses `invalid`: another query, a limit that is none; and as list_response.
RouteReply page_response(const ApiRequest& request, std::vector<KeyedLine> lines);

// A page of a history: lines by number, the newest first, of which one more than `limit` was read. The link to the next
// one goes on before the last.
RouteReply history_response(const ApiRequest& request, std::vector<KeyedLine> lines, std::int32_t limit);

}  // namespace cairn
