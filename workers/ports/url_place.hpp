// The places of URLs under others, compared after parsing. Scheme, host and port are compared, then whole segments
// of the path with dots resolved and escapes read, so that "http://h/app/../admin" is /admin, and "http://h/app" holds
// /app and /app/x, but not /apple. Pure functions and plain values, safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/result.hpp"

namespace cairn {

struct UrlPlace {
  std::string scheme;  // http, https, file
  std::string host;    // "" for a file; an IPv6 address in brackets
  std::string port;    // the scheme's own where none is named
  std::vector<std::string> segments;
  bool is_plain = true;  // false: a server may read its path in another way (an escaped slash, `..;`)
};

// None: not a URL of http, https or a local file, or one with a user, a control character or a backslash.
std::optional<UrlPlace> parse_url_place(std::string_view text);

bool is_under(const UrlPlace& url, const UrlPlace& top);

// URLs of http and https under which others may lie.
class UrlList {
 public:
  // Refuses `invalid`: a text that is no such URL, or has a query, a fragment or a `*`.
  static Result<UrlList> of(const std::vector<std::string>& urls);

  bool holds(std::string_view url) const;
  const std::vector<std::string>& texts() const { return texts_; }  // as they were given

 private:
  std::vector<std::string> texts_;
  std::vector<UrlPlace> places_;
};

}  // namespace cairn
