#include "ops/http/list_page.hpp"

#include <algorithm>

#include "ops/http/bodies/bodies.hpp"

namespace cairn {

std::string next_link(const ApiRequest& request, const std::string& cursor, const std::string& parameter) {
  auto query = request.query;
  std::erase_if(query, [&parameter](const auto& one) { return one.first == parameter; });
  query.emplace_back(parameter, cursor);
  return "<" + query_of(query) + ">; rel=\"next\"";
}

RouteReply linked_response(const ApiRequest& request, const std::vector<Json>& lines, std::string link) {
  RouteReply reply = list_response(request, lines);
  if (reply) std::get<ApiResponse>(*reply).headers.emplace_back("Link", std::move(link));
  return reply;
}

RouteReply history_response(const ApiRequest& request, std::vector<KeyedLine> lines, std::int32_t limit) {
  const bool goes_on = std::ssize(lines) > limit;
  if (goes_on) lines.resize(static_cast<std::size_t>(limit));
  std::vector<Json> shown;
  for (KeyedLine& line : lines) shown.push_back(std::move(line.line));
  if (!goes_on) return list_response(request, shown);
  return linked_response(request, shown, next_link(request, lines.back().key, "before"));
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
  if (!is_cut) return list_response(request, shown);
  return linked_response(request, shown, next_link(request, lines.back().key));
}

}  // namespace cairn
