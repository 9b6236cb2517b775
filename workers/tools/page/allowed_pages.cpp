#include "workers/tools/page/allowed_pages.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "workers/schemas/percent_encoding.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

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

AllowedPages::AllowedPages(const std::string& pages) {
  std::istringstream texts(pages);
  for (std::string text; texts >> text;) {
    if (std::optional<UrlPlace> url = parse_url_place(text)) listed_.push_back(*std::move(url));
  }
}

bool AllowedPages::may_open(const std::string& url) const {
  const fs::path file = own_file(url);
  return file.extension() == ".html" || file.extension() == ".htm" || is_listed(url);
}

bool AllowedPages::may_load(const std::string& url) const { return !own_file(url).empty() || is_listed(url); }

bool AllowedPages::is_listed(const std::string& text) const {
  const std::optional<UrlPlace> url = parse_url_place(text);
  return url && std::any_of(listed_.begin(), listed_.end(), [&](const UrlPlace& top) { return is_under(*url, top); });
}

std::string AllowedPages::host_rules() const {
  std::string rules;
  for (const UrlPlace& url : listed_) {
    if (url.host.empty()) continue;
    const std::string place = url.host + ":" + url.port;
    rules += "MAP " + place + " " + place + ", ";
  }
  return rules + "MAP * ~NOTFOUND";
}

}  // namespace cairn
