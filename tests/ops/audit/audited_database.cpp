#include "tests/ops/audit/audited_database.hpp"

#include <filesystem>

#include "storage/postgres/store/postgres_store.hpp"

namespace cairn::program {

std::string AuditedDatabase::data() { return directory() / "audited_data"; }

const std::string& AuditedDatabase::dsn() {
  static const std::string found = owner_dsn(data());
  return found;
}

void AuditedDatabase::TearDownTestSuite() { cairn({"down", "--data", data()}); }

void AuditedDatabase::SetUp() {
  cairn_ok(on_it({"graph", "list"}));
  superuser_ = std::make_unique<PgConnection>(PgConnectOptions{dsn(), "a superuser", false});
  sql("TRUNCATE cairn.run, cairn.event, cairn.job, cairn.question, cairn.snapshot, cairn.blob, cairn.worker");
  forget_checkpoints();
}

void AuditedDatabase::forget_checkpoints() {
  sql("TRUNCATE cairn.checkpoint");
  std::filesystem::remove_all(std::filesystem::path(data()) / "checkpoints");
}

Arguments AuditedDatabase::on_it(Arguments arguments) {
  arguments.insert(arguments.end(), {"--data", data()});
  return arguments;
}

std::string AuditedDatabase::sql_text(const std::string& query) {
  const PgResult rows = superuser_->query({"asked", "SELECT (" + query + ")::text"});
  return rows.is_null(0, 0) ? "" : std::string(rows.text(0, 0));
}

std::unique_ptr<Store> AuditedDatabase::store() const {
  PostgresOptions options;
  options.dsn = dsn();
  return *open_postgres_store(options);
}

std::string AuditedDatabase::start(const std::string& graph, const Arguments& more) {
  Arguments arguments = on_it({"start", graph, "--json"});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return cairn(arguments).json()["run"];
}

void AuditedDatabase::add_graph(const Json& graph) {
  cairn_ok(on_it({"graph", "add", write_file(graph["name"].get<std::string>() + ".json", graph.dump())}));
}

std::string AuditedDatabase::done_run() {
  return start("plan_runner", {"--wait", "--input",
                               R"({"goal": "g", "sub_goals": [{"id": "a", "tool": "echo", "inputs": {"x": 1}},
                               {"id": "b", "tool": "echo", "inputs": {"y": {"from_sub_goal": "a", "slot": "x"}}}]})"});
}

std::string AuditedDatabase::asking_run() {
  add_graph(Json::parse(ask_graph("asks")));
  return start("asks");
}

std::string AuditedDatabase::signalled_run(int signals) {
  add_graph(Json::parse(R"({"name": "waits", "start": "wait", "limits": {"steps": 9}, "nodes": {
      "wait": {"wait": {"signal": "never"}, "on": {"fired": "finish"}}, "finish": {"end": "done"}}})"));
  const std::string run = start("waits");
  for (int n = 1; n <= signals; ++n) cairn_ok(on_it({"signal", run, "other", "--value", std::to_string(n)}));
  return run;
}

std::string AuditedDatabase::waiting_job() {
  add_graph(Json::parse(R"({"name": "works", "start": "work", "limits": {"steps": 9}, "nodes": {
      "work": {"do": "tool.call", "with": {"tool": "echo", "inputs": {}}, "on": {"ok": "finish"}},
      "finish": {"end": "done"}}})"));
  return start("works");
}

std::string AuditedDatabase::found_by(const Arguments& arguments, const std::string& only_of) {
  Arguments whole = on_it(arguments);
  whole.push_back("--json");
  const Ran ran = cairn(whole);
  const Json shown = ran.json();
  std::string text;
  for (const Json& finding : shown["findings"]) {
    EXPECT_TRUE(only_of.empty() || finding["run"].is_null() || finding["run"] == only_of) << finding;
    EXPECT_TRUE(finding["says"].get<std::string>().starts_with("Expected ")) << finding;
    text += (text.empty() ? "" : ", ") + finding["kind"].get<std::string>() + " " + finding["seq"].dump();
  }
  EXPECT_EQ(ran.exit, text.empty() ? 0 : 1) << ran.err;
  return text;
}

std::string AuditedDatabase::found(const std::string& run) { return found_by({"verify", run}, run); }

}  // namespace cairn::program
