#include "workers/ports/url_place.hpp"

#include <algorithm>
#include <utility>

#include "engine/json.hpp"
#include "engine/text.hpp"
#include "workers/ports/http_client.hpp"
#include "workers/schemas/percent_encoding.hpp"

namespace cairn {
namespace {

constexpr int readings_max = 4;  // of escapes of escapes

bool is_dots(std::string_view name) { return name == "." || name == ".."; }

// Whether a server that reads escapes twice, takes a backslash for a slash, or cuts parameters off, sees one segment
// of this name as well.
bool is_plain_name(std::string name) {
  for (int readings = 0; readings < readings_max; ++readings) {
    const bool has_slash = name.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos;
    if (has_slash || is_dots(std::string_view(name).substr(0, name.find(';')))) return false;
    std::string read = without_percents(name);
    if (read == name) return true;
    name = std::move(read);
  }
  return false;
}

// As browsers do: a segment of dots, also an escaped one, is gone with the one before it.
void add_segment(UrlPlace& url, std::string_view text, bool is_last) {
  std::string name = without_percents(text);
  if (!is_dots(name)) {
    url.is_plain = url.is_plain && is_plain_name(name);
    url.segments.push_back(std::move(name));
    return;
  }
  if (name == ".." && !url.segments.empty()) url.segments.pop_back();
  if (is_last) url.segments.emplace_back();
}

void add_path(UrlPlace& url, std::string_view path) {
  path = path.substr(0, path.find_first_of("?#"));
  if (!path.empty()) path.remove_prefix(1);
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t to = std::min(path.find('/', from), path.size());
    add_segment(url, path.substr(from, to - from), to == path.size());
    from = to + 1;
  }
}

bool add_host(UrlPlace& url, std::string_view authority) {
  const bool is_plain = std::all_of(authority.begin(), authority.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("-._[]:").find(c) != std::string_view::npos;
  });
  const std::size_t bracket = authority.find(']');
  const std::size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  url.host = authority.substr(0, colon);
  url.port = colon == std::string_view::npos ? "" : authority.substr(colon + 1);
  if (url.port.empty()) url.port = url.scheme == "https" ? "443" : "80";
  const bool is_number = url.port.find_first_not_of("0123456789") == std::string::npos;
  return is_plain && is_number && !url.host.empty();
}

}  // namespace

bool is_under(const UrlPlace& url, const UrlPlace& top) {
  if (url.scheme != top.scheme || url.host != top.host || url.port != top.port) return false;
  const auto end = !top.segments.empty() && top.segments.back().empty() ? top.segments.end() - 1 : top.segments.end();
  const auto length = static_cast<std::size_t>(end - top.segments.begin());
  if (length == 0) return true;
  return url.is_plain && url.segments.size() >= length && std::equal(top.segments.begin(), end, url.segments.begin());
}

std::optional<UrlPlace> parse_url_place(std::string_view text) {
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return std::nullopt;
  const bool has_control = std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; });
  std::string_view rest = text.substr(colon + 3);
  if (has_control || rest.substr(0, rest.find_first_of("?#")).find('\\') != std::string_view::npos) return std::nullopt;
  UrlPlace url;
  url.scheme = lowered(text.substr(0, colon));
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  rest.remove_prefix(authority.size());
  if (url.scheme == "file") {
    if (!authority.empty()) return std::nullopt;
  } else if ((url.scheme != "http" && url.scheme != "https") || !add_host(url, lowered(authority))) {
    return std::nullopt;
  }
  add_path(url, rest);
  return url;
}

Result<UrlList> UrlList::of(const std::vector<std::string>& urls) {
  UrlList list;
  for (const std::string& text : urls) {
    std::optional<UrlPlace> place = parse_url_place(text);
    const bool is_whole = text.find_first_of("?#*") == std::string::npos;
    if (!place || place->scheme == "file" || !place->is_plain || !is_whole || !check_url(text))
      return Error{Code::invalid,
                   "Expected a URL like https://host/path in \"urls\", but got " + excerpt(Json(text), 200) + "."};
    list.places_.push_back(*std::move(place));
  }
  list.texts_ = urls;
  return list;
}

bool UrlList::holds(std::string_view url) const {
  const std::optional<UrlPlace> place = parse_url_place(url);
  return place &&
         std::any_of(places_.begin(), places_.end(), [&](const UrlPlace& top) { return is_under(*place, top); });
}

}  // namespace cairn
