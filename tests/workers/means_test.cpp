// The means of a worker's settings, held against what a call needs.
#include "workers/means.hpp"

#include <gtest/gtest.h>

namespace cairn {
namespace {

const Means worker = {{"echo", "owners"},
                      {"url https://api.example/v1", "secret KEY", "repository /srv/git", "corpus handbook",
                       "page https://shop.example", "page /srv/pages", "data x", "query sql, 200 rows, 5000 ms"}};

TEST(MeansOfWorkers, suffice_by_the_rules_of_the_tools_themselves) {
  for (const char* need : {"tool echo", "url https://api.example/v1/users?x=1", "secret KEY", "repository /srv/git",
                           "repository /srv/git/a", "corpus handbook", "page https://shop.example/cart",
                           "page /srv/pages/a.html", "page file:///srv/pages/b/a.htm?x#y"})
    EXPECT_TRUE(has_means(worker, need)) << need;
  for (const char* need :
       {"tool fail", "url https://api.example/v2", "url https://other.example/v1", "secret OTHER", "repository /srv",
        "repository /srv/git/../other", "repository /srv/gitter", "corpus other", "page https://other.example",
        "page /srv/pages/a.txt", "page file:///srv/other/a.html", "page /srv/pages/../a.html"})
    EXPECT_FALSE(has_means(worker, need)) << need;
}

TEST(MeansOfWorkers, a_star_is_every_corpus_and_the_root_every_repository) {
  const Means all = {{}, {"corpus *", "repository /"}};
  EXPECT_TRUE(has_means(all, "corpus anything"));
  EXPECT_TRUE(has_means(all, "repository /srv/git"));
  EXPECT_FALSE(has_means(all, "url https://api.example"));
}

TEST(MeansOfWorkers, what_no_worker_takes_is_no_lack_of_one) {
  for (const char* need : {"repository .", "repository ", "page a.html", "other thing", "nothing"})
    EXPECT_TRUE(has_means({}, need)) << need;
}

TEST(MeansOfWorkers, the_sources_of_answers_are_those_that_no_call_names) {
  EXPECT_EQ(sources_of_answers(worker.allows), (std::vector<std::string>{"data x", "query sql, 200 rows, 5000 ms"}));
}

}  // namespace
}  // namespace cairn
