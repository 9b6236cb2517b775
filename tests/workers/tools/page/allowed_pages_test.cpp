// The pages that a page tool may open, and those that it may not.
#include "workers/tools/page/allowed_pages.hpp"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(AllowedPages, H16_urls_are_compared_after_parsing_by_whole_segments) {
  const AllowedPages pages(
      "http://h/app/ https://S.example:443/a%20b file:///srv/pages http://[::1]:8080 nonsense http://u@x/");
  for (const char* url :
       {"http://h/app", "http://h/app/", "http://H:80/app/x?q=/../..#f", "http://h/b/../app/x", "http://h/%61pp/x",
        "http://h/app/x/%2e%2e/y", "https://s.example/a b/c", "http://h/app/a%3Bb", "file:///srv/pages/x.txt",
        "http://[::1]:8080/any/..%2fthing", "http://h/app/..x"})
    EXPECT_TRUE(pages.may_open(url)) << url;
  for (const char* url : {"http://h/app/../admin",
                          "http://h/app/%2e%2e/admin",
                          "http://h/app/.%2E/admin",
                          "http://h/app/..%2fadmin",
                          "http://h/app/..%252fadmin",
                          "http://h/app/%252e%252e/admin",
                          "http://h/app/..;/admin",
                          "http://h/app/..%3b/admin",
                          "http://h/app/..\\admin",
                          "http://h/app/..%5cadmin",
                          "http://h/app/x%00",
                          "http://h/apple",
                          "http://h/",
                          "http://h",
                          "http://h:81/app/",
                          "https://h/app/",
                          "http://h.evil/app/",
                          "http://h@evil/app/",
                          "http://evil/http://h/app/",
                          "http://x/",
                          "http://u@x/",
                          "nonsense",
                          "file:///srv/pages/../x",
                          "file:///srv/pages%2f..%2fx",
                          "file://h/srv/pages/x",
                          "ftp://h/app/",
                          "http://h/app/\t../",
                          "javascript://h/app/",
                          "http://[::1]:8081/"})
    EXPECT_FALSE(pages.may_open(url)) << url;
}

TEST(AllowedPages, H16_no_other_host_and_port_is_found) {
  EXPECT_EQ(AllowedPages("").host_rules(), "MAP * ~NOTFOUND");
  EXPECT_EQ(AllowedPages("http://h/app/ https://s/ file:///srv").host_rules(),
            "MAP h:80 h:80, MAP s:443 s:443, MAP * ~NOTFOUND");
}

}  // namespace
}  // namespace cairn
