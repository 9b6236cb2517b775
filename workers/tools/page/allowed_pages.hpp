// The pages that a browser may reach: `.html` files below the working directory, and what lies under the URLs of a
// list, compared as workers/ports/url_place.hpp says. Constant after it is made; safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "workers/ports/url_place.hpp"

namespace cairn {

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
  std::vector<UrlPlace> listed_;
};

}  // namespace cairn
