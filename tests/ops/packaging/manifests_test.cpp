// The image, the compose file and the manifests for Kubernetes, held against schemas that others wrote. No engine for
// containers is needed, and none runs them here.
#include <algorithm>
#include <gtest/gtest.h>
#include <regex>

#include "tests/ops/api_client.hpp"
#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

const fs::path packaging = testing::source_dir() + "/ops/packaging";

Ran held_against_schemas(const fs::path& folder) {
  return run_program(testing::source_dir() + "/tests/ops/packaging/manifests/run", {folder});
}

TEST(Manifests, fit_the_schemas_of_kubernetes_keda_and_compose) {
  const Ran ran = held_against_schemas(packaging);
  EXPECT_EQ(ran.out, "13 manifests, 0 faults\n") << ran.err;
  EXPECT_EQ(ran.exit, 0);
}

struct Damage {
  const char* file;
  const char* from;
  const char* to;
  const char* says;
};

constexpr Damage damages[] = {
    {"kubernetes/autoscaler.yaml", "maxReplicaCount: 20", "maxReplicaCount: many", "must be integer"},
    {"kubernetes/autoscaler.yaml", "    name: cairn-worker", "    name: cairn-warker", "scales nothing"},
    {"kubernetes/server.yaml", "  replicas: 2", "  replicas: 2\n  replicas: 3", "keys must be unique"},
    {"kubernetes/server.yaml", "targetPort: api", "targetPort: apy", "leads to no port apy"},
    {"kubernetes/server.yaml", "httpGet: { path: /readyz", "httpGet: { path: 5", "path must be string"},
    {"kubernetes/disruption.yaml", "component: worker", "component: warker", "selects no pod"},
    {"kubernetes/network.yaml", "component: server", "component: sarver", "selects no pod"},
    {"kubernetes/kustomization.yaml", "  - network.yaml\n", "", "is not in kustomization.yaml"},
    {"kubernetes/migrate.yaml", "runAsNonRoot: true", "runAsNonRoot: false", "may run as root"},
    {"kubernetes/migrate.yaml", "key: owner_dsn", "key: dsn", "cairn-worker connects as the owner"},
    {"kubernetes/server.yaml",
     "          livenessProbe:", "          startupProbe2:", "cairn-server has no livenessProbe"},
    {"kubernetes/server.yaml", "path: /readyz", "path: /healthz",
     "readinessProbe of cairn-server does not ask /readyz"},
    {"kubernetes/server.yaml", "preStop:", "postStart:", "cairn-server has no preStop"},
    {"kubernetes/worker.yaml", "PeriodSeconds: 330", "PeriodSeconds: 30", "cairn-worker has 30 s to end"},
    {"kubernetes/worker.yaml", ", --metrics, \"0.0.0.0:9000\"", "", "cairn-worker answers no metrics"},
    {"kubernetes/worker.yaml", "containerPort: 9000", "containerPort: 9001", "has no port 9000"},
    {"kubernetes/network.yaml", "port: 9000", "port: 9001", "no policy leads to port 9000"},
    {"container/compose.yaml", "retries: 12", "retries: [12]", "must be number"},
    {"container/compose.yaml", "user=service", "user=cairn", "worker connects as the owner"},
    {"container/compose.yaml", "stop_grace_period: 330s", "", "worker has 10 s to end"},
    {"container/compose.yaml", "      database: {", "      databise: {", "which is no service"},
    {"container/compose.yaml", "/var/cache/cairn:uid", "/var/cache/other:uid",
     "worker does not mount /var/cache/cairn"},
    {"kubernetes/server.yaml", "mountPath: /var/lib/cairn", "mountPath: /var/lib/cairns",
     "does not mount /var/lib/cairn"},
    {"container/Dockerfile", "EXPOSE", "EXPOSED", "Unknown instruction"},
};

TEST(Manifests, faults_of_every_kind_are_found) {
  for (const Damage& damage : damages) {
    const fs::path copy = directory() / "packaging";
    fs::remove_all(copy);
    fs::copy(packaging, copy, fs::copy_options::recursive);
    std::string text = read_file(copy / damage.file);
    const std::size_t at = text.find(damage.from);
    ASSERT_NE(at, std::string::npos) << damage.file << " " << damage.from;
    text.replace(at, std::string(damage.from).size(), damage.to);
    write_file(fs::path("packaging") / damage.file, text);
    const Ran ran = held_against_schemas(copy);
    EXPECT_EQ(ran.exit, 1) << damage.to;
    EXPECT_NE(ran.err.find(damage.says), std::string::npos) << damage.to << "\n" << ran.err;
  }
}

TEST(Manifests, use_commands_and_options_that_exist) {
  static const std::regex started("(?:args|command): \\[([a-z]+)([^\\]]*)\\]");
  static const std::regex option("--[a-z-]+");
  int commands = 0, options = 0;
  for (const char* file :
       {"kubernetes/migrate.yaml", "kubernetes/server.yaml", "kubernetes/worker.yaml", "container/compose.yaml"}) {
    const std::string text = read_file(packaging / file);
    for (std::sregex_iterator at(text.begin(), text.end(), started), end; at != end; ++at, ++commands) {
      const std::string help = cairn_ok({at->str(1), "--help"}).out, words = at->str(2);
      for (std::sregex_iterator word(words.begin(), words.end(), option), last; word != last; ++word, ++options)
        EXPECT_NE(help.find(word->str()), std::string::npos) << file << " " << word->str();
    }
  }
  EXPECT_EQ(commands, 6);
  EXPECT_EQ(options, 10);
}

// The lines that the service `login` of the compose file gives to psql.
std::string lines_of_login() {
  const std::string text = read_file(packaging / "container/compose.yaml");
  const std::size_t from = text.find("<<'END'\n") + 8;
  return std::regex_replace(text.substr(from, text.find(" END\n", from) - from), std::regex("\n +"), "\n");
}

// Server and workers were the superuser that had made the database.
TEST(Manifests, the_login_of_the_compose_file_may_not_change_an_event_and_is_made_once) {
  const std::string dsn = new_database();
  const Variable password("SERVICE_PASSWORD", "it's secret");
  for (int n = 0; n < 2; ++n) {
    const Ran ran = run_program("/usr/bin/psql", {"--quiet", "--set=ON_ERROR_STOP=1", dsn}, lines_of_login());
    EXPECT_EQ(ran.exit, 0) << ran.err;
  }
  const std::string service = dsn + " user=service";
  cairn_ok({"start", "plan_runner", "--dsn", service, "--wait", "--input", R"({"goal": "g", "sub_goals": []})"});
  const Json checked = cairn({"doctor", "--dsn", service, "--json"}).json();
  const auto login = std::find_if(checked.at("checks").begin(), checked.at("checks").end(),
                                  [](const Json& check) { return check.at("name") == "login"; });
  ASSERT_NE(login, checked.at("checks").end());
  EXPECT_EQ(login->at("ok"), true) << *login;
  EXPECT_NE(login->at("found").dump().find("this login, service,"), std::string::npos) << *login;
}

}  // namespace
}  // namespace cairn::program
