#include "tests/storage/test_database.hpp"

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <signal.h>
#include <sstream>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/migration/distribution.hpp"
#include "storage/migration/migrator.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "storage/server/cluster.hpp"
#include "tests/waiting.hpp"

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
    const std::string data(connection.ask("SHOW data_directory", never_us)->text(0, 0));
    std::ifstream(data + "/postmaster.pid") >> server_;
    CHECK(server_ > 1);
  }
  // At once, as nothing of it is kept: a checkpoint of hundreds of databases takes half a minute.
  ~TestCluster() {
    kill(server_, SIGQUIT);
    if (!wait_until([this] { return kill(server_, 0) != 0; })) ADD_FAILURE() << "The server of the tests does not end.";
  }
  TestCluster(const TestCluster&) = delete;
  TestCluster& operator=(const TestCluster&) = delete;

  std::string create(const std::string& template_name) {
    const std::string name = "test_" + std::to_string(++count_);
    PgConnection connection({dsn_, "test", false});
    connection.execute("CREATE DATABASE " + name + " TEMPLATE " + template_name + " STRATEGY FILE_COPY");
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
  pid_t server_ = 0;
  int count_ = 0;
  std::map<std::int32_t, std::string> templates_;
};

// The nodes of CAIRN_TEST_CLUSTER. Databases are cloned from a distributed one, node by node: that takes a tenth of the
// time of distributing another.
class TestCitus {
 public:
  TestCitus() {
    std::istringstream words(std::getenv("CAIRN_TEST_CLUSTER"));
    std::string port;
    words >> sockets_;
    while (words >> port) ports_.push_back(port);
  }

  std::string create(std::int32_t shards) {
    const std::string source = template_for(shards);
    // The extension has processes of its own in each database: only the last few are kept.
    if (kept_.size() == kept_max) drop(kept_.front());
    if (kept_.size() == kept_max) kept_.pop_front();
    kept_.push_back("test_" + std::to_string(getpid()) + "_" + std::to_string(++count_));
    for (const std::string& port : ports_)
      on(port, "postgres").execute("CREATE DATABASE " + kept_.back() + " TEMPLATE " + source);
    return dsn(ports_.front(), kept_.back());
  }

  std::vector<std::string> on_each_node(const std::string& of) const {
    std::vector<std::string> all;
    for (const std::string& port : ports_) all.push_back(of + " port=" + port);
    return all;
  }

 private:
  void drop(const std::string& database) const {
    for (const std::string& port : ports_) on(port, "postgres").execute("DROP DATABASE " + database + " WITH (FORCE)");
  }

  std::string dsn(const std::string& port, const std::string& database) const {
    return "host=" + sockets_ + " user=cairn_owner port=" + port + " dbname=" + database;
  }
  PgConnection on(const std::string& port, const std::string& database) const {
    return PgConnection({dsn(port, database), "test", false});
  }

  std::string template_for(std::int32_t shards) {
    std::string& name = templates_[shards];
    if (!name.empty()) return name;
    name = "distributed_" + std::to_string(shards) + "_" + std::to_string(getpid());
    for (const std::string& port : ports_) {
      on(port, "postgres").execute("CREATE DATABASE " + name);
      on(port, name).execute("CREATE EXTENSION citus");
    }
    PgConnection coordinator = on(ports_.front(), name);
    coordinator.limit_silence(60'000);
    coordinator.execute("SELECT citus_set_coordinator_host('" + sockets_ + "', " + ports_.front() + ")");
    for (std::size_t node = 1; node < ports_.size(); ++node)
      coordinator.execute("SELECT citus_add_node('" + sockets_ + "', " + ports_[node] + ")");
    const Result<MigrateReport> migrated = migrate(dsn(ports_.front(), name), shards);
    if (!migrated) throw std::runtime_error(migrated.error().message);
    const Result<DistributeReport> distributed = distribute(dsn(ports_.front(), name));
    if (!distributed) throw std::runtime_error(distributed.error().message);
    for (const std::string& port : ports_) {
      // The extension's own processes stay connected otherwise, and nothing can be cloned.
      PgConnection server = on(port, "postgres");
      server.execute("ALTER DATABASE " + name + " ALLOW_CONNECTIONS false");
      server.execute("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '" + name + "'");
    }
    return name;
  }

  std::string sockets_;
  std::vector<std::string> ports_;
  static constexpr std::size_t kept_max = 4;
  std::deque<std::string> kept_;
  int count_ = 0;
  std::map<std::int32_t, std::string> templates_;
};

TestCitus& citus() {
  static TestCitus one;
  return one;
}

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
bool has_citus_cluster() { return std::getenv("CAIRN_TEST_CLUSTER") != nullptr; }
std::string new_distributed_database(std::int32_t shards) { return citus().create(shards); }
std::vector<std::string> on_each_node(const std::string& dsn) { return citus().on_each_node(dsn); }
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
