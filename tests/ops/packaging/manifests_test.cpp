// The image, the compose file and the manifests for Kubernetes, held against schemas that others wrote. No engine for
// containers is needed, and none runs them here.
#include <gtest/gtest.h>

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
    {"kubernetes/worker.yaml", ", --metrics, \"0.0.0.0:9000\"", "", "cairn-worker answers no metrics"},
    {"kubernetes/worker.yaml", "containerPort: 9000", "containerPort: 9001", "has no port 9000"},
    {"kubernetes/network.yaml", "port: 9000", "port: 9001", "no policy leads to port 9000"},
    {"container/compose.yaml", "retries: 12", "retries: [12]", "must be number"},
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

}  // namespace
}  // namespace cairn::program
