#include "workers/means.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "workers/ports/url_place.hpp"
#include "workers/schemas/percent_encoding.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

struct Mean {
  std::string_view kind;
  std::string_view name;
};

Mean mean_of(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return {text, ""};
  return {text.substr(0, space), text.substr(space + 1)};
}

bool is_below(std::string_view path, std::string_view folder) {
  const fs::path way = fs::path(path).lexically_normal().lexically_relative(fs::path(folder).lexically_normal());
  return !way.empty() && *way.begin() != "..";
}

bool is_under_url(std::string_view url, std::string_view top) {
  const std::optional<UrlPlace> place = parse_url_place(url);
  const std::optional<UrlPlace> under = parse_url_place(top);
  return place && under && is_under(*place, *under);
}

// The path of a file's URL, or the path that it is; "": neither.
std::string file_of(std::string_view page) {
  constexpr std::string_view scheme = "file://";
  page = page.substr(0, page.find_first_of("?#"));
  if (page.starts_with('/')) return std::string(page);
  return page.starts_with(scheme) ? without_percents(page.substr(scheme.size())) : "";
}

bool is_page_of(std::string_view page, std::string_view allowed) {
  const std::string file = file_of(page);
  if (!allowed.starts_with('/'))
    return is_under_url(page.starts_with('/') ? "file://" + file : std::string(page), allowed);
  const fs::path extension = fs::path(file).extension();
  return (extension == ".html" || extension == ".htm") && is_below(file, allowed);
}

bool allows(const Mean& mean, const Mean& need) {
  if (mean.kind != need.kind) return false;
  if (need.kind == "url") return is_under_url(need.name, mean.name);
  if (need.kind == "repository") return is_below(need.name, mean.name);
  if (need.kind == "page") return is_page_of(need.name, mean.name);
  return mean.name == need.name || (need.kind == "corpus" && mean.name == "*");
}

// No worker takes it, or all do.
bool is_of_no_worker(const Mean& need) {
  if (need.kind == "repository") return !need.name.starts_with('/');
  if (need.kind == "page") return !need.name.starts_with('/') && need.name.find("://") == std::string_view::npos;
  return need.kind != "url" && need.kind != "secret" && need.kind != "corpus";
}

}  // namespace

bool has_means(const Means& means, const std::string& need) {
  const Mean needed = mean_of(need);
  if (needed.kind == "tool") return std::find(means.tools.begin(), means.tools.end(), needed.name) != means.tools.end();
  if (is_of_no_worker(needed)) return true;
  return std::any_of(means.allows.begin(), means.allows.end(),
                     [&](const std::string& text) { return allows(mean_of(text), needed); });
}

std::vector<std::string> sources_of_answers(const std::vector<std::string>& allows) {
  std::vector<std::string> sources;
  for (const std::string& text : allows)
    if (text.starts_with("data ") || text.starts_with("query ")) sources.push_back(text);
  std::sort(sources.begin(), sources.end());
  return sources;
}

}  // namespace cairn
