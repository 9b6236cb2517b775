// The skill as agents find it, made from the guides: its form, its links, and llms.txt over HTTP.
#include <algorithm>
#include <gtest/gtest.h>
#include <regex>
#include <set>

#include "tests/ops/api_client.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

fs::path installed(const std::string& name) {
  const fs::path to = directory() / name;
  cairn_ok({"skill", "install", "--to", to.string()});
  return to / "cairn";
}

std::vector<std::string> links_of(const std::string& text) {
  static const std::regex link(R"(\]\(([^)#\s]+)(#[^)]*)?\))");
  std::vector<std::string> links;
  for (std::sregex_iterator at(text.begin(), text.end(), link); at != std::sregex_iterator(); ++at)
    if (!(*at)[1].str().starts_with("http")) links.push_back((*at)[1]);
  return links;
}

TEST(Skill, is_installed_in_the_form_that_agents_read) {
  const fs::path skill = installed("skills");
  const std::string text = read_file(skill / "SKILL.md");
  std::smatch head;
  ASSERT_TRUE(std::regex_search(text, head, std::regex("^---\nname: ([a-z0-9-]+)\ndescription: ([^\n]+)\n---\n\n# ")));
  EXPECT_EQ(head[1], skill.filename().string());
  EXPECT_LE(head[2].length(), 1'024);
  EXPECT_EQ(cairn_ok({"skill", "show"}).out, text + "\n");
}

TEST(Skill, every_link_leads_to_a_file_that_is_there) {
  const fs::path skill = installed("linked");
  std::size_t links = 0;
  for (const auto& entry : fs::recursive_directory_iterator(skill)) {
    if (entry.path().extension() != ".md") continue;
    for (const std::string& link : links_of(read_file(entry.path()))) {
      ++links;
      EXPECT_TRUE(fs::exists(entry.path().parent_path() / link)) << entry.path() << ": " << link;
    }
  }
  EXPECT_GT(links, 20u);
}

TEST(Skill, has_every_guide_and_so_has_llms_txt) {
  const fs::path skill = installed("whole");
  const Server server;
  const Reply llms = server.get("/llms.txt");
  EXPECT_EQ(llms.status, 200);
  EXPECT_TRUE(llms.body.starts_with("# Cairn\n\n> ")) << llms.body;
  std::size_t pages = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(testing::source_dir()) / "ops/guide")) {
    const std::string name = entry.path().filename();
    if (entry.path().extension() != ".md" || name == "README.md") continue;
    ++pages;
    EXPECT_NE(llms.body.find("](/guide/" + name + "): "), std::string::npos) << name;
    EXPECT_EQ(server.get("/guide/" + name).status, 200) << name;
    if (name == "agents.md") continue;
    EXPECT_EQ(server.get("/guide/" + name).body, read_file(skill / "references" / name)) << name;
  }
  EXPECT_GT(pages, 10u);
  EXPECT_EQ(server.get("/guide/none.md").status, 404);
  EXPECT_EQ(server.get("/guide/..%2Fhttp.md").status, 404);
}

// The first paragraph of a page in one line, its links as plain words.
std::string opening_of(const std::string& page) {
  const std::size_t begin = page.find("\n\n") + 2;
  std::string text = page.substr(begin, page.find("\n\n", begin) - begin);
  if (const std::size_t block = text.find("\n```"); block != std::string::npos) text.resize(block);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return std::regex_replace(text, std::regex(R"(\[([^\]]*)\]\([^)]*\))"), "$1");
}

TEST(Skill, each_line_of_llms_txt_has_the_whole_first_paragraph_of_its_page) {
  const Server server;
  const std::string llms = server.get("/llms.txt").body;
  for (const auto& entry : fs::directory_iterator(fs::path(testing::source_dir()) / "ops/guide")) {
    const std::string name = entry.path().filename();
    if (entry.path().extension() != ".md" || name == "README.md") continue;
    const std::string opening = opening_of(read_file(entry.path()));
    EXPECT_GT(opening.size(), 100u) << name;
    EXPECT_NE(llms.find("](/guide/" + name + "): " + opening + "\n"), std::string::npos) << name << ": " << opening;
  }
}

TEST(Skill, every_link_of_a_page_leads_to_what_the_server_has_too) {
  const Server server;
  std::set<std::string> seen;
  std::vector<std::string> left = links_of(server.get("/llms.txt").body);
  while (!left.empty()) {
    const std::string path = left.back();
    left.pop_back();
    if (!seen.insert(path).second) continue;
    const Reply reply = server.get(path);
    EXPECT_EQ(reply.status, 200) << path;
    if (!reply.type.starts_with("text/markdown")) continue;
    for (const std::string& link : links_of(reply.body)) left.push_back("/guide/" + link);
  }
  for (const char* path : {"/guide/patterns", "/guide/patterns/retry.json", "/guide/patterns/retry.test.json",
                           "/guide/graph.schema.json", "/guide/feed_to_table.sh"})
    EXPECT_TRUE(seen.contains(path)) << path;
  EXPECT_EQ(server.get("/guide/patterns/retry.json").type, "application/json");
  EXPECT_EQ(server.get("/guide/patterns/none.json").status, 404);
  EXPECT_EQ(server.get("/guide/patterns/retry.json?x=1").status, 400);
}

TEST(Skill, the_guides_need_no_token) {
  const std::string dsn = new_database();
  new_token(dsn, "reader", {"--role", "read"});
  const Server server({"--dsn", dsn});
  EXPECT_EQ(server.get("/api/v1/runs").status, 401);
  for (const char* path : {"/llms.txt", "/guide/graphs.md", "/guide/patterns/retry.json"})
    EXPECT_EQ(server.get(path).status, 200) << path;
}

TEST(Skill, is_written_again_over_itself_and_over_nothing_else) {
  const fs::path skill = installed("twice");
  write_file("twice/cairn/SKILL.md", read_file(skill / "SKILL.md") + "changed");
  installed("twice");
  EXPECT_EQ(read_file(skill / "SKILL.md").find("changed"), std::string::npos);
  fs::create_directories(directory() / "other/cairn");
  write_file("other/cairn/SKILL.md", "---\nname: mine\n---\n");
  expect_refused(cairn({"skill", "install", "--to", (directory() / "other").string()}), 4,
                 "to be free or a skill of Cairn");
  write_file("file", "");
  expect_refused(cairn({"skill", "install", "--to", (directory() / "file").string()}), 4, "Expected");
}

}  // namespace
}  // namespace cairn::program
