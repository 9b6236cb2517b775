// Runs whose outcomes the database refuses for good, among healthy ones of the same worker.
#include <csignal>
#include <gtest/gtest.h>

#include "storage/postgres/connection.hpp"
#include "tests/ops/program.hpp"

namespace cairn::program {
namespace {

// An operator's rule, with the code of a damaged page for one of them and of a value for the other.
constexpr const char* rule = R"(
  create function public.refuse() returns trigger language plpgsql as $$ begin
    if position('not this one' in new.payload) > 0 then raise exception 'no' using errcode = 'XX001'; end if;
    if position('nor that one' in new.payload) > 0 then raise exception 'no' using errcode = '22P05'; end if;
    return new; end $$;
  create trigger refuse before insert on cairn.event for each row execute function public.refuse())";

TEST(RefusedRuns, A1_E1_two_that_the_database_never_takes_harm_none_of_the_five_beside_them) {
  const std::string data = directory() / "refused";
  const std::string owner = owner_dsn(data);
  cairn_ok({"migrate", "--data", data});
  PgConnection({owner, "an operator", false}).execute(rule);
  const auto says = [](const std::string& text) {
    return Json{{"exec", {"/bin/sh", "-c", "cat > /dev/null; echo '{\"text\": \"" + text + "\"}'"}}};
  };
  const Json tools = {{"healthy", says("well")}, {"page", says("not this one")}, {"value", says("nor that one")}};
  const std::string file = write_file("refused_tools.json", Json{{"tools", tools}}.dump());
  std::map<std::string, std::string> tool_of;
  for (const char* tool : {"healthy", "page", "healthy", "healthy", "value", "healthy", "healthy"}) {
    Json goals = Json::array();
    for (const char* id : {"a", "b", "c"})  // the second one is refused
      goals.push_back({{"id", id}, {"tool", *id == 'b' ? tool : "healthy"}, {"inputs", Json::object()}});
    goals[1]["after"] = {"a"};
    goals[2]["after"] = {"b"};
    const Json plan = {{"goal", "g"}, {"sub_goals", goals}};
    tool_of[cairn_ok({"start", "plan_runner", "--json", "--tools", file, "--input", plan.dump(), "--data", data})
                .json()
                .at("run")] = tool;
  }
  EXPECT_EQ(tool_of.size(), 7u);
  Beside worker({"work", "--json", "--tools", file, "--data", data});
  for (const auto& [run, tool] : tool_of) {
    const auto status = [&data, &shown = run] {
      return cairn_ok({"show", shown, "--json", "--data", data}).json().at("status").get<std::string>();
    };
    EXPECT_TRUE(wait_until([&] { return status() != "running"; })) << tool;
    EXPECT_EQ(status(), tool == "healthy" ? "done" : "failed") << tool;
    const bool has_step_of_fault =
        cairn_ok({"events", run, "--data", data}).out.find("but it refuses") != std::string::npos;
    EXPECT_EQ(has_step_of_fault, tool != "healthy") << tool;
  }
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0) << worker.err();
  EXPECT_EQ(cairn_ok({"queue", "--json", "--data", data}).out.find("\"held\": 1"), std::string::npos);
  cairn_ok({"verify", "--all", "--data", data});
  cairn_ok({"rebuild", "--check", "--data", data});
  cairn_ok({"down", "--data", data});
}

}  // namespace
}  // namespace cairn::program
