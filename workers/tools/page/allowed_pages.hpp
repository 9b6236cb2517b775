// The pages that a browser may reach: `.html` files below the working directory, and what lies under the URLs of a
// list. URLs are compared after parsing: scheme, host and port, then whole segments of the path with dots resolved and
// escapes read, so that "http://h/app/../admin" is /admin, and "http://h/app" holds /app and /app/x, but not /apple.
// Constant after it is made; safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

struct PageUrl {
  std::string scheme;  // http, https, file
  std::string host;    // "" for a file; an IPv6 address in brackets
  std::string port;    // the scheme's own where none is named
  std::vector<std::string> segments;
  bool is_plain = true;  // false: a server may read its path in another way (an escaped slash, `..;`)
};

// None: not a URL of http, https or a local file, or one with a user, a control character or a backslash.
std::optional<PageUrl> parse_page_url(std::string_view url);

class AllowedPages {
 public:
  // URLs separated by spaces; what is none allows nothing.
  explicit AllowedPages(const std::string& pages);

  // As a page, or within one as a frame. Symbolic links of files are resolved.
  bool may_open(const std::string& url) const;
  // As an image, a script or whatever else a page asks for: the same, and files below the working directory.
  bool may_load(const std::string& url) const;
  // Chromium's --host-resolver-rules, by which no other host and port is found.
  std::string host_rules() const;

 private:
  bool is_listed(const std::string& url) const;
  std::vector<PageUrl> listed_;
};

}  // namespace cairn
