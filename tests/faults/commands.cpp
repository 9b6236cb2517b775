#include "tests/faults/commands.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "tests/storage/test_database.hpp"

namespace cairn::program {
namespace {

// Work, a wait for a signal, and work that fails half the time: then the run fails, and may be tried again.
constexpr const char* commanded = R"({"name": "commanded", "start": "work", "limits": {"steps": 500}, "nodes": {
  "work": {"do": "tool.call", "with": {"tool": "note", "inputs": {"n": "$n"}}, "on": {"ok": "wait"}},
  "wait": {"wait": {"signal": "go"}, "on": {"fired": "again"}},
  "again": {"do": "tool.call", "with": {"tool": "note", "inputs": {"how": "maybe"}}, "on": {"ok": "finish"}},
  "finish": {"end": "done"}}})";

bool is_ended(const std::string& status) { return status == "done" || status == "failed" || status == "aborted"; }

}  // namespace

Commands::Commands(Load& load, std::uint64_t seed) : load_(load), random_(seed) {
  cairn_ok(load_.with_dsn({"graph", "add", write_file("graph_of_commands.json", commanded)}));
}

void Commands::start() {
  const std::string n = std::to_string(targets_.size());
  Ran ran;
  const bool is_told = wait_until([&] {
    ran = cairn(load_.with_dsn({"start", "commanded", "--input", "{\"n\":" + n + "}", "--key", load_.name() + "c" + n,
                                "--json", "--tools", load_.tools()}));
    EXPECT_TRUE(ran.exit == 0 || ran.exit == 5) << ran.exit << " " << ran.err;
    return ran.exit == 0;
  });
  EXPECT_TRUE(is_told);
  targets_.push_back({ran.json().at("run")});
}

// One that is refused by the run's state (4) or by a database that is away (5) is not in the ledger.
bool Commands::give(const Target& target, Arguments command) {
  command.insert(command.begin() + 1, target.run);
  const Ran ran = cairn(load_.with_dsn(std::move(command)));
  EXPECT_TRUE(ran.exit == 0 || ran.exit == 4 || ran.exit == 5) << ran.exit << " " << ran.out << ran.err;
  acknowledged_ += ran.exit == 0 ? 1 : 0;
  return ran.exit == 0;
}

void Commands::give_one() {
  Target& target = targets_[random_() % targets_.size()];
  switch (++given_ == 1 ? 0 : random_() % 10) {  // one of them is cancelled in any case
    case 0:
      if (!is_ended(status(target)) && give(target, {"cancel"})) target.is_cancelled = true;
      break;
    case 1:
    case 2:
    case 3:
      give(target, {"pause"});
      break;
    case 4:
    case 5:
    case 6:
      give(target, {"resume"});
      break;
    case 7:
      if (give(target, {"retry"})) load_.note_tried_again(target.run);
      break;
    default:
      give(target, {"signal", "go", "--value", "true", "--id", "s" + std::to_string(++signals_)});
  }
}

std::string Commands::status(const Target& target) const {
  const Ran ran = cairn(load_.with_dsn({"show", target.run, "--json"}));
  return ran.exit == 0 ? ran.json().at("status").get<std::string>() : "";
}

void Commands::finish() {
  const auto has_ended = [this](const Target& target) {
    const std::string now = status(target);
    if (now == "paused") give(target, {"resume"});
    if (now == "waiting") give(target, {"signal", "go", "--value", "true", "--id", "e" + std::to_string(++signals_)});
    return is_ended(now);
  };
  for (const Target& target : targets_)
    EXPECT_TRUE(wait_until([&] { return has_ended(target); }, std::chrono::seconds(120))) << target.run;
}

void Commands::expect_kept() {
  int cancelled = 0;
  for (const Target& target : targets_) {
    const std::string now = status(target);
    cancelled += target.is_cancelled ? 1 : 0;
    EXPECT_EQ(now == "aborted", target.is_cancelled) << target.run << " is " << now;
  }
  EXPECT_GT(cancelled, 0);
  EXPECT_EQ(
      test::ask_number(load_.database(),
                       "select count(*) from (select run_id, step, payload->>'attempt' from cairn.events where "
                       "type in ('step_succeeded', 'step_failed') and run_id not in (select run_id from cairn.events "
                       "where type = 'run_reopened') group by 1, 2, 3 having count(*) > 1) twice"),
      0);
  load_.note_acknowledged(acknowledged_ + static_cast<int>(targets_.size()));
}

}  // namespace cairn::program
