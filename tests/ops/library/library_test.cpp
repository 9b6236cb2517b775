// The C++ library as others have it: installed into a folder of its own, found by CMake, and built against by the
// example next to this test, whose worker, client and tests then run.
#include <csignal>
#include <gtest/gtest.h>
#include <regex>

#include "tests/ops/api_client.hpp"
#include "tests/ops/free_port.hpp"
#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

const std::string sources = testing::source_dir() + "/tests/ops/library/example";

std::string tool(const std::string& name) { return "/usr/bin/" + name; }

class CppLibrary : public ::testing::Test {
 protected:
  // Once for all tests: what is installed, and what is built with it.
  static void SetUpTestSuite() {
    const std::string build = fs::path(testing::cairn_program()).parent_path();
    expect_runs("cmake", {"--install", build, "--prefix", installed()});
    expect_runs("cmake", {"-S", sources, "-B", built(), "-DCMAKE_PREFIX_PATH=" + installed(), "-G", "Ninja"});
    expect_runs("cmake", {"--build", built()});
  }
  static std::string installed() { return (directory() / "installed").string(); }
  static std::string built() { return (directory() / "example").string(); }

  static void expect_runs(const std::string& name, const Arguments& arguments) {
    const Ran ran = run_program(tool(name), arguments);
    EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  }
};

TEST_F(CppLibrary, has_headers_that_name_neither_boost_nor_libpq) {
  static const std::regex include("#include [<\"]([^>\"]+)");
  int headers = 0;
  for (const auto& file : fs::directory_iterator(installed() + "/include/cairn")) {
    ++headers;
    const std::string text = read_file(file.path());
    for (std::sregex_iterator found(text.begin(), text.end(), include), end; found != end; ++found) {
      const std::string name = (*found)[1];
      const bool is_standard = name.find_first_of("/.") == std::string::npos;
      EXPECT_TRUE(is_standard || name.starts_with("cairn/") || name == "nlohmann/json.hpp") << file << " " << name;
    }
  }
  EXPECT_EQ(headers, 5);
}

TEST_F(CppLibrary, lets_unit_tests_run_the_engine_in_memory) {
  const Ran ran = run_program(built() + "/letters_test", {sources + "/letters.json"});
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
}

TEST_F(CppLibrary, executes_steps_in_a_worker_and_waits_for_them_in_a_client) {
  const std::string port = free_port();
  const Variable url("CAIRN_URL", "http://127.0.0.1:" + port);
  Beside server({"serve", "--json", "--listen", "127.0.0.1:" + port});
  ASSERT_TRUE(wait_until([&] { return server.out().ends_with('\n'); })) << server.err();
  Beside worker(built() + "/letters_worker", {});
  const Ran ran = run_program(built() + "/letters_client", {sources + "/letters.json", "four", "seven", ""});
  EXPECT_EQ(ran.out, "four {\"letters\":4} true\nseven {\"letters\":5} true\n {} true\n") << ran.err << worker.err();
  const Json failed = cairn_ok({"runs", "--graph", "letters", "--status", "failed", "--json"}).json();
  EXPECT_EQ(failed["cause"]["error"], "empty") << failed;
  EXPECT_EQ(failed["cause"]["message"], "Expected a text, but it is empty.") << failed;
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0) << worker.err();
}

TEST_F(CppLibrary, refuses_an_address_that_is_none_in_one_sentence) {
  const Variable url("CAIRN_URL", "ftp://127.0.0.1");
  const Ran ran = run_program(built() + "/letters_client", {sources + "/letters.json"});
  EXPECT_EQ(ran.exit, 1);
  EXPECT_NE(ran.err.find("Expected "), std::string::npos) << ran.err;
}

// The whole command line, with the handlers of the program.
TEST_F(CppLibrary, is_the_program_cairn_with_other_handlers) {
  const Ran checked = run_program(built() + "/letters_worker", {"graph", "check", sources + "/letters.json"});
  EXPECT_EQ(checked.exit, 0) << checked.out << checked.err;
  EXPECT_EQ(checked.err.find("letters.count"), std::string::npos) << checked.err;  // no warning that no one knows it
}

// The page's blocks of code in this language.
std::vector<std::string> code_of(const std::string& page, const std::string& language) {
  const std::string text = read_file(testing::source_dir() + "/" + page), begin = "\n```" + language + "\n";
  std::vector<std::string> blocks;
  for (std::size_t from = 0; (from = text.find(begin, from)) != std::string::npos;) {
    from += begin.size();
    blocks.push_back(text.substr(from, text.find("```", from) - from));
  }
  return blocks;
}

std::string readme_code(const std::string& language) {
  const std::vector<std::string> blocks = code_of("README.md", language);
  EXPECT_EQ(blocks.size(), 1u) << language;
  EXPECT_EQ(code_of("ops/guide/workers.md", language), blocks) << "the guide repeats them";
  return blocks.at(0);
}

// The guide's worker is the example's; its other blocks are compiled as they stand.
TEST_F(CppLibrary, the_code_of_the_guide_is_what_it_says) {
  const std::vector<std::string> blocks = code_of("ops/guide/cpp.md", "cpp");
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[0], read_file(sources + "/worker.cpp"));
  const std::string source =
      "#include <cairn/engine.hpp>\n#include <cassert>\n#include <iostream>\nvoid client() {\n" + blocks[1] +
      "}\nvoid tests(const cairn::Handlers& handlers, const cairn::Json& graph) {\n" + blocks[2] + "}\n";
  expect_runs("c++", {"-std=c++20", "-fsyntax-only", "-I" + installed() + "/include", write_file("guide.cpp", source)});
}

Json counting_node(const std::string& language, const std::string& next) {
  return {{"do", language + ".count"},
          {"queue", language},
          {"labels", {"ok"}},
          {"with", {{"text", {{"$", "text"}}}}},
          {"retry", {{"attempts", 5}, {"backoff_ms", 10}}},
          {"on", {{"ok", next}}}};
}

TEST_F(CppLibrary, the_workers_of_the_guide_execute_steps_in_three_languages) {
  const std::string port = free_port(), root = testing::source_dir();
  const Variable url("CAIRN_URL", "http://127.0.0.1:" + port), path("PYTHONPATH", root + "/workers/clients/python");
  Beside server({"serve", "--json", "--listen", "127.0.0.1:" + port});
  ASSERT_TRUE(wait_until([&] { return server.out().ends_with('\n'); })) << server.err();
  const std::string place = (directory() / "readme").string();
  fs::create_directories(place + "/node_modules");
  expect_runs("sh",
              {"-c", "tar -xzf " + root + "/build/typescript/cairn-client-*.tgz -C " + place + "/node_modules && mv " +
                         place + "/node_modules/package " + place + "/node_modules/cairn-client"});
  write_file("readme/worker.cpp", readme_code("cpp"));
  write_file("readme/CMakeLists.txt",
             "cmake_minimum_required(VERSION 3.25)\nproject(mine LANGUAGES CXX)\n"
             "set(CMAKE_CXX_STANDARD 20)\nfind_package(cairn CONFIG REQUIRED)\n"
             "add_executable(mine worker.cpp)\ntarget_link_libraries(mine cairn::worker)\n");
  expect_runs("cmake", {"-S", place, "-B", place + "/build", "-DCMAKE_PREFIX_PATH=" + installed(), "-G", "Ninja"});
  expect_runs("cmake", {"--build", place + "/build"});
  const Beside python("/usr/bin/env", {"python3", write_file("readme/worker.py", readme_code("python"))});
  const Beside script("/usr/bin/env", {"node", write_file("readme/worker.mjs", readme_code("js"))});
  const Beside cpp(place + "/build/mine", {"work", "--queue", "cpp"});
  const Json graph = {{"name", "readme"},
                      {"start", "py"},
                      {"limits", {{"steps", 10}}},
                      {"channels", {{"letters", {{"reducer", "sum"}}}}},
                      {"nodes",
                       {{"py", counting_node("py", "js")},
                        {"js", counting_node("js", "cpp")},
                        {"cpp", counting_node("cpp", "done")},
                        {"done", {{"end", {{"status", "done"}, {"output", {{"letters", {{"$", "letters"}}}}}}}}}}}};
  cairn_ok({"graph", "add", write_file("readme.json", graph.dump())});
  const Ran ran = cairn_ok({"start", "readme", "--wait", "--no-work", "--input", R"({"text": "four"})", "--json"});
  EXPECT_EQ(ran.lines().back()["output"], (Json{{"letters", 12}}))
      << ran.out << python.err() << script.err() << cpp.err();
}

}  // namespace
}  // namespace cairn::program
