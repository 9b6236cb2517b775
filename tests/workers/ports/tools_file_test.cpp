// The tools file: what it may say, and how each fault of it is refused.
#include "workers/ports/tools_file.hpp"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(ToolsFile, names_programs_and_urls_with_their_settings) {
  const Json document = Json::parse(R"({"tools": {
      "scan": {"exec": ["scan", "-v"], "timeout_ms": 500, "queue": "slow", "needs": ["$repository"]},
      "ask": {"http": "http://127.0.0.1:9000/x"}}})");
  const auto specs = parse_tools(document);
  ASSERT_TRUE(specs.ok()) << specs.error().message;
  ASSERT_EQ(specs->tools.size(), 2u);
  EXPECT_EQ(specs->tools[0].name, "ask");
  EXPECT_EQ(std::get<ToolSpec::Http>(specs->tools[0].does).url, "http://127.0.0.1:9000/x");
  EXPECT_EQ(specs->tools[0].timeout_ms, 10'000);
  EXPECT_EQ(specs->tools[0].facts.queue, "default");
  EXPECT_EQ(std::get<ToolSpec::Exec>(specs->tools[1].does).argv, (std::vector<std::string>{"scan", "-v"}));
  EXPECT_EQ(specs->tools[1].timeout_ms, 500);
  EXPECT_EQ(specs->tools[1].facts.queue, "slow");
  EXPECT_EQ(specs->tools[1].facts.needs, std::vector<std::string>{"$repository"});
}

TEST(ToolsFile, a_tool_has_attempts_and_a_fallback_of_its_own) {
  const auto specs = parse_tools(Json::parse(R"({"tools": {
      "a": {"exec": ["a"]}, "b": {"exec": ["b"], "fallback": "a"}, "c": {"exec": ["c"], "attempts": 2, "fallback": "a"},
      "d": {"exec": ["d"], "attempts": 3}}})"));
  ASSERT_TRUE(specs.ok()) << specs.error().message;
  std::vector<std::pair<std::int32_t, std::string>> policies;
  for (const ToolSpec& spec : specs->tools) policies.emplace_back(spec.attempts, spec.fallback);
  EXPECT_EQ(policies, (std::vector<std::pair<std::int32_t, std::string>>{{0, ""}, {1, "a"}, {2, "a"}, {3, ""}}));
}

TEST(ToolsFile, a_server_of_tools_is_a_program_or_a_url) {
  const auto file = parse_tools(Json::parse(R"({"tools": {
      "far": {"mcp": "https://far.example/mcp", "elicitation": "decline"},
      "near": {"mcp": ["server", "-v"], "env": ["LANG"], "queue": "slow", "timeout_ms": 500},
      "plain": {"exec": ["a"]}}})"));
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->tools.size(), 1u);
  ASSERT_EQ(file->servers.size(), 2u);
  EXPECT_EQ(std::get<ToolSpec::Http>(file->servers[0].like.does).url, "https://far.example/mcp");
  EXPECT_EQ(file->servers[0].elicitation, Elicitation::decline);
  const auto& near = std::get<ToolSpec::Exec>(file->servers[1].like.does);
  EXPECT_EQ(near.argv, (std::vector<std::string>{"server", "-v"}));
  EXPECT_EQ(near.limits.cpu_seconds, 0);
  EXPECT_EQ(file->servers[1].like.facts.queue, "slow");
  EXPECT_EQ(file->servers[1].elicitation, Elicitation::ask);
  EXPECT_FALSE(parse_tools(Json::parse(R"({"tools": {"mcp": {"mcp": ["a"]}}})")).ok());
}

TEST(ToolsFile, each_fault_is_refused_and_names_the_tool) {
  for (const char* entry : {"5",
                            "{}",
                            R"({"exec": []})",
                            R"({"exec": [""]})",
                            R"({"exec": ["a", 1]})",
                            R"({"exec": "a"})",
                            R"({"http": 5})",
                            R"({"http": "ftp://x/"})",
                            R"({"exec": ["a"], "http": "http://x/"})",
                            R"({"exec": ["a"], "timeout_ms": 0})",
                            R"({"exec": ["a"], "timeout_ms": "1"})",
                            R"({"exec": ["a"], "timeout_ms": 1e99})",
                            R"({"exec": ["a"], "queue": ""})",
                            R"({"exec": ["a"], "queue": 1})",
                            R"({"exec": ["a"], "needs": "$x"})",
                            R"({"exec": ["a"], "needs": ["*."]})",
                            R"({"exec": ["a"], "shell": true})",
                            R"({"exec": ["a"], "attempts": 0})",
                            R"({"exec": ["a"], "attempts": "2"})",
                            R"({"exec": ["a"], "fallback": 1})",
                            R"({"exec": ["a"], "fallback": "my_tool"})",
                            R"({"exec": ["a"], "env": ["A=1"]})",
                            R"({"exec": ["a"], "env": "A"})",
                            R"({"exec": ["a"], "user": 5})",
                            R"({"exec": ["a"], "user": "no-such-user-here"})",
                            R"({"exec": ["a"], "limits": {"memory": 5}})",
                            R"({"exec": ["a"], "limits": {"cpu_seconds": 0}})",
                            R"({"exec": ["a"], "limits": []})",
                            R"({"http": "http://x/", "limits": {}})",
                            R"({"mcp": []})",
                            R"({"mcp": "no URL"})",
                            R"({"mcp": ["a"], "http": "http://x/"})",
                            R"({"mcp": ["a"], "auth": {"bearer": "T"}})",
                            R"({"mcp": "http://x/", "env": ["A"]})",
                            R"({"mcp": ["a"], "about": "x"})",
                            R"({"mcp": ["a"], "elicitation": "maybe"})",
                            R"({"exec": ["a"], "elicitation": "ask"})"}) {
    const auto specs = parse_tools({{"tools", {{"my_tool", Json::parse(entry)}}}});
    ASSERT_FALSE(specs.ok()) << entry;
    EXPECT_EQ(specs.error().code, Code::invalid);
    EXPECT_NE(specs.error().message.find("my_tool"), std::string::npos) << specs.error().message;
  }
}

TEST(ToolsFile, what_is_no_tools_file_is_refused) {
  for (const char* text :
       {"[]", "{}", R"({"tools": []})", R"({"tools": {}, "more": 1})", R"({"tools": {"": {"exec": ["a"]}}})"}) {
    EXPECT_FALSE(parse_tools(Json::parse(text)).ok()) << text;
  }
}

TEST(ToolsFile, H5_a_program_has_variables_and_limits_of_its_own) {
  const auto specs = parse_tools(Json::parse(R"({"tools": {
      "a": {"exec": ["a"], "timeout_ms": 500000, "env": ["TOKEN"],
            "limits": {"memory_bytes": 1000, "open_files": 7, "processes": 3, "file_bytes": 9, "output_bytes": 11}},
      "b": {"exec": ["b"], "limits": {"cpu_seconds": 5}}}})"));
  ASSERT_TRUE(specs.ok()) << specs.error().message;
  const auto& exec = std::get<ToolSpec::Exec>(specs->tools[0].does);
  EXPECT_EQ(exec.setting.environment, std::vector<std::string>{"TOKEN"});
  EXPECT_EQ(exec.limits.cpu_seconds, 2000) << "four times its time";
  EXPECT_EQ(exec.limits.memory_bytes, 1000);
  EXPECT_EQ(exec.limits.open_files, 7);
  EXPECT_EQ(exec.limits.processes, 3);
  EXPECT_EQ(exec.limits.file_bytes, 9);
  EXPECT_EQ(exec.limits.output_bytes_max, 11u);
  EXPECT_EQ(std::get<ToolSpec::Exec>(specs->tools[1].does).limits.cpu_seconds, 5);
}

TEST(ToolsFile, H4_says_which_built_in_tools_there_are_and_what_they_may_read) {
  const auto file = parse_tools(Json::parse(R"({"tools": {}, "builtin": {
      "allow": ["echo", "page.*"], "repositories": ["/srv/git"], "corpora": []}})"));
  ASSERT_TRUE(file.ok()) << file.error().message;
  for (const char* name : {"echo", "page.observe", "page.act"}) EXPECT_TRUE(is_allowed(file->builtin, name)) << name;
  for (const char* name : {"sleep", "page", "pages.x", "owners"}) EXPECT_FALSE(is_allowed(file->builtin, name)) << name;
  EXPECT_EQ(file->builtin.repositories, std::vector<std::string>{"/srv/git"});
  EXPECT_TRUE(file->builtin.corpora->empty());
  EXPECT_TRUE(is_allowed({}, "owners")) << "without the setting, all";
  EXPECT_EQ(BuiltinTools{}.repositories, std::vector<std::string>{"/"});
  for (const char* text : {R"([])", R"({"allow": "echo"})", R"({"allow": [1]})", R"({"more": []})"})
    EXPECT_FALSE(parse_tools({{"tools", Json::object()}, {"builtin", Json::parse(text)}}).ok()) << text;
}

TEST(ToolsFile, says_which_urls_and_secrets_there_are) {
  const auto file = parse_tools(Json::parse(R"({
      "tools": {"sky": {"http": "https://sky.example/x", "auth": {"header": {"X-Key": "SKY"}}},
                "scan": {"exec": ["scan"], "secrets": {"TOKEN": "SKY"}}},
      "secrets": {"SKY": {"file": "/run/key", "urls": ["https://sky.example"]}},
      "builtin": {"urls": ["https://sky.example/v1"]}})"));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_TRUE(file->builtin.urls->holds("https://sky.example/v1/now"));
  EXPECT_EQ(file->secrets.at(0).name, "SKY");
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(std::get<ToolSpec::Exec>(file->tools[0].does).secrets, (Pairs{{"TOKEN", "SKY"}}));
  EXPECT_EQ(std::get<ToolSpec::Http>(file->tools[1].does).auth.secrets, (Pairs{{"X-Key", "SKY"}}));
  for (const char* text : {R"({"tools": {}})", R"({"tools": {}, "builtin": {"urls": []}})"})
    EXPECT_FALSE(parse_tools(Json::parse(text))->builtin.urls.has_value()) << text;
  for (const char* text : {R"({"tools": {"a": {"http": "http://h", "auth": {"bearer": "NONE"}}}})",
                           R"({"tools": {"a": {"exec": ["a"], "secrets": {"X": "NONE"}}}})"}) {
    const auto refused = parse_tools(Json::parse(text));
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_NE(refused.error().message.find("NONE"), std::string::npos) << refused.error().message;
  }
}

}  // namespace
}  // namespace cairn
