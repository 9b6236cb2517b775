// The real program as a child process, on a private embedded database: with a temporary directory, a temporary home,
// none of the caller's CAIRN_ and PG variables, and no pager. Not thread-safe.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "engine/json.hpp"
#include "tests/waiting.hpp"

namespace cairn::program {

using Arguments = std::vector<std::string>;

struct Ran {
  int exit = 0;  // 128 + signal if one ended it
  std::string out;
  std::string err;

  Json json() const;                // of one document
  std::vector<Json> lines() const;  // of JSON lines
};

// A directory for the tests' files; removed at the end.
const std::filesystem::path& directory();
std::filesystem::path write_file(const std::string& name, const std::string& text);
std::string read_file(const std::filesystem::path& path);

inline const std::string nobody = "01890000-0000-7000-8000-000000000000";  // the id of no run

// The DSN of the embedded database's owner, a superuser; it is started first.
std::string owner_dsn(const std::filesystem::path& data = directory() / "data");

// Runs `cairn ARGUMENTS` to its end (within two minutes) with `input` on stdin.
Ran cairn(const Arguments& arguments, const std::string& input = "");
// The same, and expects exit 0.
Ran cairn_ok(const Arguments& arguments, const std::string& input = "");
Ran run_program(const std::string& path, const Arguments& arguments, const std::string& input = "");

// A refusal: this exit code, nothing on stdout, one line on stderr that says `says`.
void expect_refused(const Ran& ran, int exit, const std::string& says);

// A child process that runs in parallel with the test; killed at the end of its life.
class Beside {
 public:
  explicit Beside(const Arguments& arguments);  // of `cairn`
  Beside(const std::string& program, const Arguments& arguments);
  ~Beside();
  Beside(Beside&& other) noexcept;
  Beside& operator=(Beside&& other) noexcept;
  pid_t pid() const { return pid_; }
  void signal(int number);
  int wait();  // as Ran::exit
  bool has_ended();
  std::string out() const { return read_file(out_); }
  std::string err() const { return read_file(out_.string() + ".err"); }

 private:
  pid_t pid_ = -1;
  std::filesystem::path out_;
};

using test::wait_until;

// Graph `name` with one question, a text, whose answer is the output's `region`.
std::string ask_graph(const std::string& name);
std::string add_graph(const Json& graph);                   // by the command; its name
Arguments on(const std::string& dsn, Arguments arguments);  // with the database named

}  // namespace cairn::program
