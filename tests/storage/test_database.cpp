#include "tests/storage/test_database.hpp"

#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/postgres/cluster.hpp"
#include "storage/postgres/postgres_store.hpp"
#include "storage/postgres/schema.hpp"

namespace cairn::test {
namespace {

struct Scratch {
  Scratch() {
    std::string pattern = std::filesystem::temp_directory_path() / "cairn_test_XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
    directory = pattern;
    chmod(directory.c_str(), 0755);
  }
  ~Scratch() {
    std::error_code none;
    std::filesystem::remove_all(directory, none);
  }
  std::string directory;
};

class TestCluster {
 public:
  TestCluster() : directory_(scratch_directory() + "/cluster") {
    const Result<Cluster> cluster = start_cluster(directory_);
    if (!cluster) throw std::runtime_error(cluster.error().message);
    PgConnection connection({cluster->owner_dsn, "test", false});
    connection.execute("CREATE ROLE tester SUPERUSER LOGIN");  // without a password, which takes time to check
    dsn_ = with_user(cluster->dsn, "tester");
    connection.execute("ALTER SYSTEM SET fsync = off");
    connection.execute("SELECT pg_reload_conf()");
  }
  ~TestCluster() {
    if (const Status stopped = stop_cluster(directory_); !stopped) ADD_FAILURE() << stopped.error().message;
  }
  TestCluster(const TestCluster&) = delete;
  TestCluster& operator=(const TestCluster&) = delete;

  std::string create(const std::string& template_name) {
    const std::string name = "test_" + std::to_string(++count_);
    PgConnection connection({dsn_, "test", false});
    connection.execute("CREATE DATABASE " + name + " TEMPLATE " + template_name);
    return dsn_ + " dbname=" + name;
  }

  std::string template_for(std::int32_t shards) {
    std::string& name = templates_[shards];
    if (!name.empty()) return name;
    name = "migrated_" + std::to_string(shards);
    PgConnection connection({dsn_, "test", false});
    connection.execute("CREATE DATABASE " + name);
    const Result<MigrateReport> report = migrate(dsn_ + " dbname=" + name, shards);
    if (!report) throw std::runtime_error(report.error().message);
    return name;
  }

  const std::string& dsn() const { return dsn_; }

 private:
  std::string directory_;
  std::string dsn_;
  int count_ = 0;
  std::map<std::int32_t, std::string> templates_;
};

TestCluster& cluster() {
  scratch_directory();  // made first, removed last
  static TestCluster one;
  return one;
}

}  // namespace

std::string scratch_directory() {
  static const Scratch scratch;
  return scratch.directory;
}

std::string cluster_dsn() { return cluster().dsn(); }
std::string new_database(std::int32_t shards) { return cluster().create(cluster().template_for(shards)); }
std::string new_empty_database() { return cluster().create("template0"); }
std::unique_ptr<Store> store_on(const std::string& dsn, bool notify) {
  PostgresOptions options;
  options.dsn = dsn;
  options.notify = notify;
  options.patience_ms = 5'000;
  Result<std::unique_ptr<Store>> store = open_postgres_store(options);
  if (!store) throw std::runtime_error(store.error().message);
  return std::move(*store);
}

std::string with_user(const std::string& dsn, const std::string& user) { return dsn + " user=" + user; }

PgResult ask(const std::string& dsn, const std::string& sql) {
  PgConnection connection({dsn, "test", false});
  connection.limit_silence(600'000);  // a million rows take a while
  return connection.query({"ask", sql});
}

std::int64_t ask_number(const std::string& dsn, const std::string& sql) {
  return ask(dsn, "select (" + sql + ")::bigint").int8(0, 0);
}

std::string ask_text(const std::string& dsn, const std::string& sql) {
  return std::string(ask(dsn, "select (" + sql + ")::text").text(0, 0));
}

}  // namespace cairn::test
