#include "workers/tools/page/allowed_pages.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <system_error>

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr int readings_max = 4;  // of escapes of escapes

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string without_percents(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool has_digits = text[at] == '%' && at + 2 < text.size();
    const int high = has_digits ? hex_digit(text[at + 1]) : -1;
    const int low = has_digits ? hex_digit(text[at + 2]) : -1;
    const bool is_escape = high >= 0 && low >= 0;
    plain += is_escape ? static_cast<char>(high * 16 + low) : text[at];
    if (is_escape) at += 2;
  }
  return plain;
}

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
void add_segment(PageUrl& url, std::string_view text, bool is_last) {
  std::string name = without_percents(text);
  if (!is_dots(name)) {
    url.is_plain = url.is_plain && is_plain_name(name);
    url.segments.push_back(std::move(name));
    return;
  }
  if (name == ".." && !url.segments.empty()) url.segments.pop_back();
  if (is_last) url.segments.emplace_back();
}

void add_path(PageUrl& url, std::string_view path) {
  path = path.substr(0, path.find_first_of("?#"));
  if (!path.empty()) path.remove_prefix(1);
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t to = std::min(path.find('/', from), path.size());
    add_segment(url, path.substr(from, to - from), to == path.size());
    from = to + 1;
  }
}

bool add_host(PageUrl& url, std::string_view authority) {
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

bool is_under(const PageUrl& url, const PageUrl& top) {
  if (url.scheme != top.scheme || url.host != top.host || url.port != top.port) return false;
  const auto end = !top.segments.empty() && top.segments.back().empty() ? top.segments.end() - 1 : top.segments.end();
  const auto length = static_cast<std::size_t>(end - top.segments.begin());
  if (length == 0) return true;
  return url.is_plain && url.segments.size() >= length && std::equal(top.segments.begin(), end, url.segments.begin());
}

// Symbolic links are resolved before the path is checked. "": no file below the working directory.
fs::path own_file(const std::string& url) {
  static constexpr std::string_view scheme = "file://";
  if (!url.starts_with(scheme)) return {};
  std::error_code error;
  const std::string rest = url.substr(scheme.size());
  const fs::path path = fs::weakly_canonical(without_percents(rest.substr(0, rest.find_first_of("?#"))), error);
  if (error) return {};
  const fs::path below = path.lexically_relative(fs::current_path(error));
  return !error && !below.empty() && *below.begin() != ".." ? path : fs::path();
}

}  // namespace

std::optional<PageUrl> parse_page_url(std::string_view text) {
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return std::nullopt;
  const bool has_control = std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; });
  std::string_view rest = text.substr(colon + 3);
  if (has_control || rest.substr(0, rest.find_first_of("?#")).find('\\') != std::string_view::npos) return std::nullopt;
  PageUrl url;
  url.scheme = lower_case(text.substr(0, colon));
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  rest.remove_prefix(authority.size());
  if (url.scheme == "file") {
    if (!authority.empty()) return std::nullopt;
  } else if ((url.scheme != "http" && url.scheme != "https") || !add_host(url, lower_case(authority))) {
    return std::nullopt;
  }
  add_path(url, rest);
  return url;
}

AllowedPages::AllowedPages(const std::string& pages) {
  std::istringstream texts(pages);
  for (std::string text; texts >> text;) {
    if (std::optional<PageUrl> url = parse_page_url(text)) listed_.push_back(*std::move(url));
  }
}

bool AllowedPages::may_open(const std::string& url) const {
  const fs::path file = own_file(url);
  return file.extension() == ".html" || file.extension() == ".htm" || is_listed(url);
}

bool AllowedPages::may_load(const std::string& url) const { return !own_file(url).empty() || is_listed(url); }

bool AllowedPages::is_listed(const std::string& text) const {
  const std::optional<PageUrl> url = parse_page_url(text);
  return url && std::any_of(listed_.begin(), listed_.end(), [&](const PageUrl& top) { return is_under(*url, top); });
}

std::string AllowedPages::host_rules() const {
  std::string rules;
  for (const PageUrl& url : listed_) {
    if (url.host.empty()) continue;
    const std::string place = url.host + ":" + url.port;
    rules += "MAP " + place + " " + place + ", ";
  }
  return rules + "MAP * ~NOTFOUND";
}

}  // namespace cairn
