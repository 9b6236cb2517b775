#include "tests/ops/metrics/prometheus.hpp"

#include <gtest/gtest.h>
#include <iterator>
#include <regex>

#include "tests/ops/free_port.hpp"
#include "tests/paths.hpp"

namespace cairn::program {

namespace fs = std::filesystem;

std::string monitoring_program(const std::string& name) {
  for (const std::string& folder : {std::string("/usr/bin/"), testing::source_dir() + "/build/packages/usr/bin/"})
    if (fs::exists(folder + name)) return folder + name;
  ADD_FAILURE() << "Expected the program " << name << ", but it is not there: ops/test unpacks it.";
  return "/bin/false";
}

std::string monitoring_file(const std::string& name) {
  return read_file(testing::source_dir() + "/ops/monitoring/" + name);
}

int alerts_written() {
  const std::string alerts = monitoring_file("alerts.yml");
  static const std::regex alert("- alert: ");
  return static_cast<int>(std::distance(std::sregex_iterator(alerts.begin(), alerts.end(), alert), {}));
}

Prometheus::Prometheus(const std::map<std::string, std::string>& targets)
    : port_(free_port()), targets_(targets.size()) {
  const fs::path folder = directory() / ("prometheus_" + port_);
  fs::create_directories(folder);
  fs::copy_file(testing::source_dir() + "/ops/monitoring/alerts.yml", folder / "alerts.yml");
  Json scraped = Json::array();
  for (const auto& [job, address] : targets)
    scraped.push_back(
        {{"job_name", job}, {"static_configs", Json::array({Json{{"targets", Json::array({address})}}})}});
  const Json config = {{"global", {{"scrape_interval", "250ms"}, {"evaluation_interval", "1s"}}},
                       {"rule_files", Json::array({"alerts.yml"})},
                       {"scrape_configs", std::move(scraped)}};
  const fs::path file = write_file("prometheus_" + port_ + "/config.yml", config.dump());  // JSON is YAML
  process_.emplace(monitoring_program("prometheus"),
                   Arguments{"--config.file=" + file.string(), "--storage.tsdb.path=" + (folder / "data").string(),
                             "--web.listen-address=127.0.0.1:" + port_, "--log.level=warn"});
}

Json Prometheus::get(const std::string& path, const std::string& query) {
  Arguments arguments{"-s", "-G", "--max-time", "10", "http://127.0.0.1:" + port_ + "/api/v1/" + path};
  if (!query.empty()) arguments.insert(arguments.end(), {"--data-urlencode", "query=" + query});
  const Ran ran = run_program("/usr/bin/curl", arguments);
  if (ran.exit != 0 || !Json::accept(ran.out)) return nullptr;
  const Json answer = Json::parse(ran.out);
  return answer.value("status", "") == "success" ? answer.at("data") : Json();
}

std::optional<std::vector<double>> Prometheus::values(const std::string& expression) {
  const Json data = get("query", expression);
  if (data.is_null()) return std::nullopt;
  std::vector<double> values;
  for (const Json& series : data.at("result")) values.push_back(std::stod(series.at("value").at(1).get<std::string>()));
  return values;
}

bool Prometheus::scrapes_all() {
  const Json data = get("targets");
  if (data.is_null() || data.at("activeTargets").size() != targets_) return false;
  for (const Json& target : data.at("activeTargets"))
    if (target.at("health") != "up") return false;
  return true;
}

}  // namespace cairn::program
