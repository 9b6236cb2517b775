// The alert rules and their own tests, by the tools that Prometheus brings.
#include <gtest/gtest.h>
#include <regex>

#include "tests/ops/metrics/prometheus.hpp"
#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

TEST(Monitoring, each_alert_has_a_test_in_which_it_fires_and_all_pass) {
  const std::string folder = testing::source_dir() + "/ops/monitoring/";
  for (const Arguments& arguments :
       {Arguments{"check", "rules", folder + "alerts.yml"}, Arguments{"test", "rules", folder + "alerts_test.yml"},
        Arguments{"check", "config", folder + "prometheus.yml"}}) {
    const Ran ran = run_program(monitoring_program("promtool"), arguments);
    EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  }
  const std::string alerts = monitoring_file("alerts.yml");
  const std::string tests = monitoring_file("alerts_test.yml");
  const std::string guide = read_file(testing::source_dir() + "/ops/guide/monitoring.md");
  static const std::regex name("- alert: (\\w+)");
  for (std::sregex_iterator at(alerts.begin(), alerts.end(), name), end; at != end; ++at) {
    const std::string alert = (*at)[1];
    EXPECT_NE(tests.find("alertname: " + alert + "\n"), std::string::npos) << alert << " fires in no test";
    EXPECT_NE(guide.find("`" + alert + "`"), std::string::npos) << alert << " is not in the guide";
  }
  EXPECT_GE(alerts_written(), 15);
}

}  // namespace
}  // namespace cairn::program
