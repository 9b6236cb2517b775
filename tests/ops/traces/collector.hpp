// A collector of traces, a program of another language that takes nothing but OTLP: see collector.py. Not thread-safe.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/ops/program.hpp"

namespace cairn::program {

class Collector {
 public:
  // `answers`: to the first requests, as collector.py has them.
  explicit Collector(const Arguments& answers = {});

  std::string url() const;
  int documents() const;  // that it took
  std::string document(int number) const;
  Json headers(int number) const;
  std::vector<Json> spans() const;  // of all documents
  // How many spans with this name it took.
  int count(const std::string& name) const;

 private:
  std::filesystem::path folder_;
  Beside process_;
};

}  // namespace cairn::program
