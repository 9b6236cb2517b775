#include "tests/ops/program.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "storage/server/cluster.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::seconds run_limit{120};

void clear_environment() {
  for (const char* name : {"PGHOST",
                           "PGHOSTADDR",
                           "PGPORT",
                           "PGDATABASE",
                           "PGSERVICE",
                           "PGUSER",
                           "CAIRN_DSN",
                           "CAIRN_TOOLS",
                           "CAIRN_MODEL_URL",
                           "CAIRN_MODEL",
                           "CAIRN_MODEL_KEY",
                           "CAIRN_MODEL_API",
                           "CAIRN_MODEL_FORMAT",
                           "CAIRN_MODEL_MS",
                           "CAIRN_MODEL_SCRIPT",
                           "CAIRN_EMBED_URL",
                           "CAIRN_EMBED_MODEL",
                           "CAIRN_EMBED_KEY",
                           "CAIRN_MODEL_STREAM",
                           "CAIRN_MODELS",
                           "CAIRN_LOG",
                           "XDG_DATA_HOME",
                           "XDG_CACHE_HOME",
                           "CAIRN_CACHE",
                           "CAIRN_ARCHIVE",
                           "CAIRN_CHECKPOINTS",
                           "CAIRN_SIGNING_KEY",
                           "CAIRN_CHECKPOINT_MS",
                           "CAIRN_TOKEN",
                           "CAIRN_URL",
                           "CAIRN_POOLER",
                           "CAIRN_DSN_DIRECT",
                           "CAIRN_READ_DSN"})
    unsetenv(name);
}

class Place : public ::testing::Environment {
 public:
  void SetUp() override {
    clear_environment();
    setenv("HOME", directory().c_str(), 1);
    setenv("CAIRN_DATA", (directory() / "data").c_str(), 1);
    setenv("CAIRN_PAGER", "", 1);
  }
  void TearDown() override {
    if (fs::exists(directory() / "data")) cairn({"down"});
    fs::remove_all(directory());
  }
};

[[maybe_unused]] const auto* const place = ::testing::AddGlobalTestEnvironment(new Place);

std::string next_name(const std::string& what) {
  static std::atomic<int> count = 0;  // a server of a test's may start programs too
  return what + std::to_string(++count);
}

int exit_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

pid_t spawn(const std::string& path, const Arguments& arguments, const fs::path& in, const fs::path& out,
            const fs::path& err) {
  std::vector<std::string> texts = {path};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  dup2(open(in.c_str(), O_RDONLY), STDIN_FILENO);
  dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), STDOUT_FILENO);
  dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), STDERR_FILENO);
  execv(argv[0], argv.data());
  dprintf(STDERR_FILENO, "%s cannot be started: %s\n", argv[0], strerror(errno));
  _exit(127);
}

}  // namespace

Json Ran::json() const { return Json::parse(out); }

std::vector<Json> Ran::lines() const {
  std::vector<Json> lines;
  std::istringstream text(out);
  for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
  return lines;
}

const fs::path& directory() {
  static const fs::path made = [] {
    std::string name = fs::temp_directory_path() / "cairn-ops-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    fs::permissions(name, fs::perms(0755));
    return fs::path(name);
  }();
  return made;
}

fs::path write_file(const std::string& name, const std::string& text) {
  const fs::path path = directory() / name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string read_file(const fs::path& path) {
  std::ostringstream text;  // in place of an iterator, which throws where a process of /proc has just ended
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

Ran run_program(const std::string& path, const Arguments& arguments, const std::string& input) {
  const std::string name = next_name("ran");
  const fs::path in = write_file(name + ".in", input);
  const fs::path out = directory() / (name + ".out");
  const fs::path err = directory() / (name + ".err");
  const pid_t pid = spawn(path, arguments, in, out, err);
  int status = 0;
  if (!wait_until([&] { return waitpid(pid, &status, WNOHANG) == pid; }, run_limit)) {
    ADD_FAILURE() << path << " " << (arguments.empty() ? "" : arguments.front()) << " did not end.\n" << read_file(err);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
  }
  return {exit_of(status), read_file(out), read_file(err)};
}

std::string owner_dsn(const fs::path& data) {
  cairn_ok({"runs", "--data", data});
  const Result<Cluster> cluster = find_cluster(data);
  if (!cluster) throw std::runtime_error(cluster.error().message);
  return cluster->owner_dsn;
}

Ran cairn(const Arguments& arguments, const std::string& input) {
  return run_program(testing::cairn_program(), arguments, input);
}

Ran cairn_ok(const Arguments& arguments, const std::string& input) {
  Ran ran = cairn(arguments, input);
  EXPECT_EQ(ran.exit, 0) << "cairn " << (arguments.empty() ? "" : arguments.front()) << "\n" << ran.out << ran.err;
  return ran;
}

// The one sentence; the first command that finds no database says before it that it starts one.
void expect_refused(const Ran& ran, int exit, const std::string& says) {
  const bool is_told = ran.err.starts_with("cairn: Making and starting the embedded database");
  EXPECT_EQ(ran.exit, exit) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), is_told ? 2 : 1) << ran.err;
  EXPECT_NE(ran.err.find(says), std::string::npos) << ran.err;
}

Beside::Beside(const Arguments& arguments) : Beside(testing::cairn_program(), arguments) {}

Beside::Beside(const std::string& program, const Arguments& arguments)
    : out_(directory() / (next_name("beside") + ".out")) {
  pid_ = spawn(program, arguments, "/dev/null", out_, out_.string() + ".err");
}

Beside::~Beside() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

Beside::Beside(Beside&& other) noexcept : pid_(std::exchange(other.pid_, -1)), out_(std::move(other.out_)) {}

Beside& Beside::operator=(Beside&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(out_, other.out_);
  return *this;
}

void Beside::signal(int number) { kill(pid_, number); }

bool Beside::has_ended() {
  siginfo_t found{};
  return pid_ <= 0 ||
         (waitid(P_PID, static_cast<id_t>(pid_), &found, WEXITED | WNOHANG | WNOWAIT) == 0 && found.si_pid != 0);
}

int Beside::wait() {
  int status = 0;
  const bool ended = wait_until([&] { return waitpid(pid_, &status, WNOHANG) == pid_; }, run_limit);
  EXPECT_TRUE(ended) << "A process beside the test did not end.";
  if (!ended) return -1;
  pid_ = -1;
  return exit_of(status);
}

std::string ask_graph(const std::string& name) {
  const Json graph = {
      {"name", name},
      {"start", "region"},
      {"limits", {{"steps", 10}}},
      {"nodes",
       {{"region",
         {{"ask", {{"kind", "question"}, {"prompt", "Which region?"}, {"schema", {{"type", "string"}}}}},
          {"into", "region"},
          {"on", {{"answered", "finish"}, {"expired", "finish"}}}}},
        {"finish",
         {{"end", {{"status", "done"}, {"output", {{"region", {{"$", "region"}, {"default", nullptr}}}}}}}}}}}};
  return graph.dump();
}

Arguments on(const std::string& dsn, Arguments arguments) {
  arguments.insert(arguments.end(), {"--dsn", dsn});
  return arguments;
}

std::string add_graph(const Json& graph) {
  const std::string name = graph.at("name");
  cairn_ok({"graph", "add", write_file(name + ".json", graph.dump())});
  return name;
}

}  // namespace cairn::program
