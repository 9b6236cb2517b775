#include "tests/ops/traces/collector.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "tests/paths.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

fs::path new_collector_folder() {
  static int count = 0;
  const fs::path folder = directory() / ("collector_" + std::to_string(++count));
  fs::create_directories(folder);
  return folder;
}

Arguments collector_arguments(const fs::path& folder, const Arguments& answers) {
  Arguments all = {testing::source_dir() + "/tests/ops/traces/collector.py", folder.string()};
  all.insert(all.end(), answers.begin(), answers.end());
  return all;
}

}  // namespace

Collector::Collector(const Arguments& answers)
    : folder_(new_collector_folder()), process_("/usr/bin/python3", collector_arguments(folder_, answers)) {
  EXPECT_TRUE(wait_until([this] { return process_.out().ends_with('\n'); })) << process_.err();
}

std::string Collector::url() const { return "http://127.0.0.1:" + std::to_string(std::stoi(process_.out())); }

std::string Collector::document(int number) const { return read_file(folder_ / (std::to_string(number) + ".json")); }

Json Collector::headers(int number) const {
  return Json::parse(read_file(folder_ / (std::to_string(number) + ".headers.json")));
}

int Collector::documents() const {
  int count = 0;
  while (fs::exists(folder_ / (std::to_string(count + 1) + ".json"))) ++count;
  return count;
}

std::vector<Json> Collector::spans() const {
  std::vector<Json> spans;
  for (int n = 1; n <= documents(); ++n) {
    const Json whole = Json::parse(document(n));
    for (const Json& resource : whole.at("resourceSpans"))
      for (const Json& scope : resource.at("scopeSpans"))
        for (const Json& span : scope.at("spans")) spans.push_back(span);
  }
  return spans;
}

int Collector::count(const std::string& name) const {
  const std::vector<Json> all = spans();
  return static_cast<int>(
      std::count_if(all.begin(), all.end(), [&](const Json& span) { return span.at("name") == name; }));
}

}  // namespace cairn::program
