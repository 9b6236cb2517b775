#include "ops/requests/access.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "engine/duration.hpp"
#include "ops/requests/arguments.hpp"

namespace cairn {
namespace {

constexpr std::pair<std::string_view, ApiRole> role_words[] = {
    {"read", ApiRole::read},       {"answer", ApiRole::answer}, {"run", ApiRole::run},
    {"operate", ApiRole::operate}, {"worker", ApiRole::worker}, {"admin", ApiRole::admin}};
constexpr std::size_t names_max = 100;
constexpr std::size_t name_bytes = 64;

Error bad_access(std::string sentence) { return {Code::invalid, std::move(sentence)}; }

Status add_role(Access& access, const std::string& text) {
  for (const auto& [word, role] : role_words) {
    if (word != text) continue;
    access.roles.insert(role);
    return Done{};
  }
  return bad_access("Expected a role read, answer, run, operate, worker or admin, but found \"" + text + "\".");
}

Status add_scope(Scope& scope, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string kind = text.substr(0, equals);
  const std::string name = equals == std::string::npos ? "" : text.substr(equals + 1);
  if (name.empty() || (kind != "graph" && kind != "queue" && kind != "tag"))
    return bad_access("Expected a scope as graph=NAME, queue=NAME or tag=KEY=VALUE, but found \"" + text + "\".");
  if (kind != "tag") {
    (kind == "graph" ? scope.graphs : scope.queues).insert(name);
    return Done{};
  }
  const Result<Tags> tags = tags_argument({name});
  if (!tags) return tags.error();
  for (const auto& [key, value] : *tags)
    if (!scope.tags.emplace(key, value).second)
      return bad_access("Expected the tag \"" + key + "\" in one scope, but found it in two.");
  return Done{};
}

// "100", up to where the number ends.
std::optional<std::int64_t> count_of(std::string_view& text) {
  std::int64_t count = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), count);
  if (read.ec != std::errc{} || count < 1) return {};
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return count;
}

// "100/1m"
std::optional<Rate> rate_of(std::string_view text) {
  constexpr DurationRange period_range = {.least_us = 1, .count_max = 1'000, .has_ms = false};
  const std::optional<std::int64_t> count = count_of(text);
  if (!count || !text.starts_with('/')) return {};
  text.remove_prefix(1);
  const std::optional<TimeUs> period = parse_duration(text, period_range);
  if (!period) return {};
  return Rate{*count, *period / 1'000'000};
}

Status add_quota(Quotas& quotas, const std::string& text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string kind = text.substr(0, equals);
  std::string_view rest = std::string_view(text).substr(std::min(equals + 1, text.size()));
  const auto take = [&text](auto& quota, auto read, bool is_whole) -> Status {
    if (!read || !is_whole)
      return bad_access("Expected a quota as runs=100/1m, bytes=1000000/1d or streams=4, but found \"" + text + "\".");
    if (quota) return bad_access("Expected one quota of a kind, but found two: \"" + text + "\".");
    quota = read;
    return Done{};
  };
  if (kind == "runs") return take(quotas.runs, rate_of(rest), true);
  if (kind == "bytes") return take(quotas.bytes, rate_of(rest), true);
  const std::optional<std::int64_t> streams = count_of(rest);
  return take(quotas.streams, kind == "streams" ? streams : std::nullopt, rest.empty());
}

}  // namespace

std::string_view to_string(ApiRole role) {
  for (const auto& [word, known] : role_words)
    if (known == role) return word;
  return "";
}

bool Scope::covers(const RunRow& run) const {
  const auto has = [&run](const auto& tag) {
    const auto found = run.tags.find(tag.first);
    return found != run.tags.end() && found->second == tag.second;
  };
  return covers_graph(run.graph) && std::all_of(tags.begin(), tags.end(), has);
}

std::optional<std::string> queue_outside(const Scope& scope, const Graph& graph) {
  for (const Node& node : graph.nodes)
    if (const auto* work = node.work(); work != nullptr && !scope.covers_queue(work->queue)) return work->queue;
  return {};
}

Result<Access> access_of(const std::vector<std::string>& roles, const std::vector<std::string>& scopes,
                         const std::vector<std::string>& quotas) {
  Access access;
  if (roles.empty()) return bad_access("Expected a role, but found none.");
  for (const std::string& text : roles)
    if (const Status added = add_role(access, text); !added) return added.error();
  if (scopes.size() > names_max)
    return bad_access("Expected at most " + std::to_string(names_max) + " scopes, but found " +
                      std::to_string(scopes.size()) + ".");
  for (const std::string& text : scopes)
    if (const Status added = add_scope(access.scope, text); !added) return added.error();
  for (const std::string& text : quotas)
    if (const Status added = add_quota(access.quotas, text); !added) return added.error();
  return access;
}

Result<std::string> token_name_argument(const std::string& text) {
  const auto is_fine = [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '-' || c == '_' || c == '@'; };
  const bool is_name = !text.empty() && text.size() <= name_bytes && std::all_of(text.begin(), text.end(), is_fine);
  if (is_name && text != "environment") return text;
  return bad_access("Expected a name of letters, digits and .-_@ for a token, at most " + std::to_string(name_bytes) +
                    " and not \"environment\", but found \"" + text + "\".");
}

}  // namespace cairn
