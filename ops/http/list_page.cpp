#include "ops/http/list_page.hpp"

#include <algorithm>

#include "ops/http/bodies/bodies.hpp"

namespace cairn {

std::string next_link(const ApiRequest& request, const std::string& cursor) {
  auto query = request.query;
  std::erase_if(query, [](const auto& parameter) { return parameter.first == "after"; });
  query.emplace_back("after", cursor);
  return "<" + query_of(query) + ">; rel=\"next\"";
}

RouteReply page_response(const ApiRequest& request, std::vector<KeyedLine> lines) {
  const Result<PageWanted> wanted = page_query(request);
  if (!wanted) return wanted.error();
  bool is_cut = false;
  if (wanted->limit || !wanted->after.empty()) {
    std::erase_if(lines, [&](const KeyedLine& line) { return line.key <= wanted->after; });
    std::sort(lines.begin(), lines.end(), [](const auto& one, const auto& other) { return one.key < other.key; });
    is_cut = wanted->limit && lines.size() > static_cast<std::size_t>(*wanted->limit);
    if (is_cut) lines.erase(lines.begin() + *wanted->limit, lines.end());
  }
  std::vector<Json> shown;
  for (KeyedLine& line : lines) shown.push_back(std::move(line.line));
  RouteReply reply = list_response(request, shown);
  if (reply && is_cut) std::get<ApiResponse>(*reply).headers.emplace_back("Link", next_link(request, lines.back().key));
  return reply;
}

}  // namespace cairn
