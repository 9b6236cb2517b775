// The Debian packages, as ops/package makes them of this build: without a fault for lintian, the same bytes twice, with
// a list of what is linked; and installed into a bare Debian 12, where the main job runs as an ordinary user and the
// needs of the library are met. A commit that is built twice gives the same bytes.
#include <algorithm>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <unistd.h>

#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::seconds minutes{15 * 60};  // compression, and Debian's archive over the network

// A program that may take many minutes.
Ran run_long(const std::string& program, const Arguments& arguments) {
  Beside process(program, arguments);
  EXPECT_TRUE(wait_until([&] { return process.has_ended(); }, minutes)) << program << "\n" << process.err();
  return {process.wait(), process.out(), process.err()};
}

Ran package(const fs::path& to) {
  const std::string preset = fs::path(testing::cairn_program()).parent_path().filename();
  return run_long(testing::source_dir() + "/ops/package", {"--preset", preset, "--to", to});
}

// The packages in a folder.
class PackageFolder {
 public:
  explicit PackageFolder(fs::path place) : place_(std::move(place)) {}
  const fs::path& place() const { return place_; }
  Arguments all() const {
    Arguments files;
    for (const auto& entry : fs::directory_iterator(place_))
      if (entry.path().extension() == ".deb") files.push_back(entry.path());
    return files;
  }
  fs::path of(const std::string& name) const {
    for (const std::string& file : all())
      if (fs::path(file).filename().string().starts_with(name + "_")) return file;
    ADD_FAILURE() << "no package " << name;
    return {};
  }
  std::string contents(const std::string& name) const { return run_program("/usr/bin/dpkg-deb", {"-c", of(name)}).out; }
  std::string field(const std::string& name, const std::string& field) const {
    return run_program("/usr/bin/dpkg-deb", {"-f", of(name), field}).out;
  }

 private:
  fs::path place_;
};

void expect_contents(const PackageFolder& packages) {
  EXPECT_EQ(packages.all().size(), 4u);
  const std::string program = packages.contents("cairn");
  for (const char* file : {"/usr/bin/cairn", "/usr/share/man/man1/cairn-schedule.1.gz", "cairn-worker@.service",
                           "cairn-verify.timer", "bash-completion/completions/cairn", "/_cairn", "/cairn.fish"})
    EXPECT_NE(program.find(file), std::string::npos) << file;
  const std::string library = packages.contents("libcairn-dev");
  for (const char* file : {"/cairn/worker.hpp", "libcairn_library.a", "cairnConfig.cmake"})
    EXPECT_NE(library.find(file), std::string::npos) << file;
  const std::string needs = packages.field("libcairn-dev", "Depends");
  for (const char* name : {"libboost-dev", "libpqxx-dev", "libpq-dev", "nlohmann-json3-dev", "libspdlog-dev",
                           "libssl-dev", "libzstd-dev", "pkg-config", "prometheus-cpp-dev", "zlib1g-dev"})
    EXPECT_NE(needs.find(name), std::string::npos) << name << " in " << needs;
  EXPECT_NE(packages.contents("python3-cairn").find("dist-packages/cairn/__init__.py"), std::string::npos);
  EXPECT_NE(packages.contents("node-cairn-client").find("nodejs/cairn-client/dist/index.js"), std::string::npos);
  const Ran page = run_program("/bin/sh", {"-c",
                                           "dpkg-deb --fsys-tarfile \"$0\" | tar -xO "
                                           "./usr/share/man/man1/cairn-types.1.gz | zcat",
                                           packages.of("node-cairn-client")});
  const Json version = cairn_ok({"version", "--json"}).json();
  EXPECT_TRUE(page.out.starts_with(".TH CAIRN-TYPES 1 " + version["released"].get<std::string>() + " \"cairn " +
                                   version["version"].get<std::string>() + "\" Cairn\n"))
      << page.out << page.err;
}

void expect_nothing_from_lintian(const PackageFolder& packages) {
  Arguments arguments = {"--allow-root", "--fail-on", "error,warning"};
  for (const std::string& file : packages.all()) arguments.push_back(file);
  const Ran ran = run_long("/usr/bin/lintian", arguments);
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out, "");
}

// The same build is packed twice: packing adds no time and no place. That two builds give the same bytes is shown by
// ops/reproduce. The folder is named from here, and what else is in it stays.
void expect_same_bytes_again(const PackageFolder& packages) {
  fs::create_directories(directory() / "packages_again");
  write_file("packages_again/mine.txt", "mine");
  write_file("packages_again/cairn_0.0.1_amd64.deb", "old");
  const Ran ran = package(fs::relative(directory() / "packages_again"));
  ASSERT_EQ(ran.exit, 0) << ran.err;
  const std::string sums = read_file(packages.place() / "SHA256SUMS");
  EXPECT_EQ(std::count(sums.begin(), sums.end(), '\n'), 5);
  EXPECT_EQ(read_file(directory() / "packages_again/SHA256SUMS"), sums);
  EXPECT_EQ(read_file(directory() / "packages_again/mine.txt"), "mine");
  EXPECT_FALSE(fs::exists(directory() / "packages_again/cairn_0.0.1_amd64.deb"));
}

void expect_all_that_is_linked(const PackageFolder& packages) {
  const Json document = Json::parse(read_file(packages.place() / "cairn.spdx.json"));
  EXPECT_EQ(document["spdxVersion"], "SPDX-2.3");
  std::set<std::string> ids, linked, compiled_in, bundled;
  for (const Json& package : document["packages"]) {
    EXPECT_TRUE(ids.insert(package["SPDXID"]).second) << package["name"];
    EXPECT_FALSE(package["versionInfo"].get<std::string>().empty()) << package["name"];
  }
  for (const Json& relation : document["relationships"]) {
    EXPECT_TRUE(ids.contains(relation["relatedSpdxElement"])) << relation;
    if (relation["relationshipType"] == "DYNAMIC_LINK") linked.insert(relation["relatedSpdxElement"]);
    if (relation["relationshipType"] == "STATIC_LINK") compiled_in.insert(relation["relatedSpdxElement"]);
    if (relation["relationshipType"] == "CONTAINS") bundled.insert(relation["relatedSpdxElement"]);
  }
  for (const char* library : {"libc6", "libpq5", "libpqxx-6.4", "libssl3", "libzstd1", "libstdc--6"})
    EXPECT_TRUE(linked.contains(std::string("SPDXRef-") + library)) << library;
  for (const char* headers : {"libboost1.81-dev", "nlohmann-json3-dev", "libcli11-dev", "libvalijson-dev",
                              "libspdlog-dev", "libfmt-dev", "libpqxx-dev", "prometheus-cpp-dev"})
    EXPECT_TRUE(compiled_in.contains(std::string("SPDXRef-") + headers)) << headers;
  EXPECT_EQ(bundled, (std::set<std::string>{"SPDXRef-npm-preact", "SPDXRef-npm-preact-signals",
                                            "SPDXRef-npm-preact-signals-core"}));
  const std::string digest = document["packages"][0]["checksums"][0]["checksumValue"];
  EXPECT_TRUE(run_program("/usr/bin/sha256sum", {testing::cairn_program()}).out.starts_with(digest)) << digest;
}

// The packages that a clean machine gets before those of Cairn are made.
std::string needed_packages() {
  const Ran ran = run_long(testing::source_dir() + "/ops/package", {"--needs"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  std::string words = ran.out;
  std::replace(words.begin(), words.end(), '\n', ' ');
  return words;
}

// On a clean Debian 12 CPack found no `file` and no dpkg-shlibdeps, and there was no npm for the client for JavaScript.
TEST(Packages, what_packing_calls_is_installed_before) {
  const std::string needed = " " + needed_packages();
  for (const char* package : {"file", "dpkg-dev", "nodejs", "npm", "g++", "cmake", "python3"})
    EXPECT_NE(needed.find(std::string(" ") + package + " "), std::string::npos) << package << " in" << needed;
  const auto needs_npm = [](Arguments arguments) {
    arguments.insert(arguments.begin(), "--needs");
    return run_long(testing::source_dir() + "/ops/package", arguments).out.find("\nnpm\n") != std::string::npos;
  };
  EXPECT_TRUE(needs_npm({"--only", "cairn"})) << "the image's program had no console";
  EXPECT_FALSE(needs_npm({"--only", "cairn", "--without-console"}));
  EXPECT_FALSE(needs_npm({"--only", "python3-cairn"}));
}

// In a folder with a build that makes nothing.
TEST(Packages, a_console_that_could_not_be_made_is_made_by_the_next_try) {
  const fs::path root = directory() / "second_try", console = root / "build/package/embedded/console";
  fs::create_directories(root / "ops");
  fs::create_directories(console / "files");
  fs::copy_file(testing::source_dir() + "/ops/package", root / "ops/package");
  fs::permissions(write_file("second_try/ops/build", "#!/bin/sh\n"), fs::perms(0755));
  const std::string stamp = "second_try/build/package/embedded/console/stamp";
  write_file(stamp, "made without npm");
  const Ran without = run_program((root / "ops/package").string(), {"--only", "cairn"});
  EXPECT_EQ(without.exit, 1);
  EXPECT_NE(without.err.find("Expected a program with its console"), std::string::npos) << without.err;
  EXPECT_FALSE(fs::exists(console)) << "the build would not make it again";
  fs::create_directories(console / "files");
  write_file("second_try/build/package/embedded/console/files/index.html", "");
  write_file(stamp, "made with npm");
  run_program((root / "ops/package").string(), {"--only", "cairn"});  // there is no program that it could pack
  EXPECT_TRUE(fs::exists(console / "files/index.html"));
}

void expect_main_job_in_bare_debian(const PackageFolder& packages) {
  if (geteuid() != 0) GTEST_SKIP() << "a bare Debian: making one needs root";
  if (!fs::exists("/usr/bin/mmdebstrap")) GTEST_SKIP() << "a bare Debian: the package mmdebstrap is not installed";
  const Ran ran = run_long(testing::source_dir() + "/tests/ops/packaging/bare_root",
                           {packages.place(), needed_packages(), (directory() / "bare").string()});
  if (ran.exit == 77) GTEST_SKIP() << "a bare Debian: " << ran.out.substr(0, ran.out.find('\n'));
  ASSERT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_TRUE(ran.out.starts_with("ann\n")) << ran.out;
  EXPECT_NE(ran.out.find("ann owns engine: 4 of its 6 commits"), std::string::npos) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("events: nothing found."), std::string::npos) << ran.out;
  const std::string version = cairn_ok({"version", "--json"}).json()["version"];
  for (const std::string& line : {"\npython " + version + "\n", std::string("\nnode function\n"),
                                  std::string("\ncmake -- Build files have been written to: /srv/ann/example\n")})
    EXPECT_NE(ran.out.find(line), std::string::npos) << line << ran.out << ran.err;
  EXPECT_NE(ran.out.find("cairn-types"), std::string::npos) << ran.out;
}

// One test: the parts of this program run at the same time, and each would pack for itself. Without a bare Debian it
// counts as skipped.
TEST(Packages, are_sound_and_do_the_main_job_in_a_bare_debian) {
  const PackageFolder packages(directory() / "packages");
  const Ran ran = package(packages.place());
  ASSERT_EQ(ran.exit, 0) << ran.err;
  expect_contents(packages);
  expect_nothing_from_lintian(packages);
  expect_all_that_is_linked(packages);
  expect_same_bytes_again(packages);
  expect_main_job_in_bare_debian(packages);
}

// A part of the program: to build all of it twice, as `ops/reproduce` does, takes twenty minutes of processor time.
TEST(Reproduce, the_engine_has_the_same_bytes_in_two_folders) {
  const fs::path repository = testing::source_dir() + "/.git";
  if (!fs::exists(repository)) GTEST_SKIP() << "two builds of a commit: the sources are in no repository";
  const Ran ran = run_long(testing::source_dir() + "/ops/reproduce", {"cairn_engine"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_TRUE(std::regex_match(ran.out, std::regex("cairn_engine [0-9a-f]{64}\n"))) << ran.out << ran.err;
}

}  // namespace
}  // namespace cairn::program
