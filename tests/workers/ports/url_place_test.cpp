// The places of URLs under others.
#include "workers/ports/url_place.hpp"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(UrlList, holds_what_lies_under_its_urls_and_nothing_next_to_them) {
  const Result<UrlList> list = UrlList::of({"https://api.example/v1", "http://127.0.0.1:9000"});
  ASSERT_TRUE(list.ok()) << list.error().message;
  for (const char* url :
       {"https://api.example/v1", "https://API.example/v1/", "https://api.example:443/v1/x?y=../z",
        "https://api.example/v1/a/../b", "http://127.0.0.1:9000/any/thing", "https://api.example/%76%31/x"})
    EXPECT_TRUE(list->holds(url)) << url;
  for (const char* url :
       {"http://api.example/v1", "https://api.example/v12", "https://api.example/v1/../admin",
        "https://api.example/v1/..%2fadmin", "https://api.example/v1/..;/admin", "https://api.example/v1/%252e%252e/x",
        "https://api.example.evil/v1", "https://api.example@evil/v1", "https://evil/https://api.example/v1",
        "https://api.example:8443/v1", "http://127.0.0.1/", "http://127.0.0.1:90000/", "file:///etc/passwd", "", "/v1",
        "https://api.example\\v1", "https://api.example/v1\\..\\admin", "https://api.example/v1\n"})
    EXPECT_FALSE(list->holds(url)) << url;
}

TEST(UrlList, an_empty_one_holds_nothing) { EXPECT_FALSE(UrlList::of({})->holds("http://127.0.0.1/")); }

TEST(UrlList, what_is_no_plain_url_is_refused) {
  for (const char* url : {"", "api.example", "ftp://h/", "https://*.example/", "https://h/?q=1", "https://h/#x",
                          "https://u:p@h/", "file:///srv", "https://h/a%2fb", "https://h:0/"}) {
    const Result<UrlList> list = UrlList::of({url});
    ASSERT_FALSE(list.ok()) << url;
    EXPECT_EQ(list.error().message.rfind("Expected a URL like ", 0), 0u) << list.error().message;
  }
}

}  // namespace
}  // namespace cairn
