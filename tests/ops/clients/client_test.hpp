// The fixture of clients in other languages: a server that may be killed and come back at its address, a graph of two
// steps for workers of the language, and what every language's worker must bear. Not thread-safe.
#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <string>

#include "tests/ops/api_client.hpp"

namespace cairn::program {

// Two steps in the queue `language`; the handlers get the input's `text`.
Json counted_graph(const std::string& name, const std::string& language, const std::string& first,
                   const std::string& second);

class ClientTest : public ::testing::Test {
 protected:
  using StartWorker = std::function<Beside()>;

  // `language`: "py", "ts"; so the graph is called, with the handlers LANGUAGE.count and LANGUAGE.later.
  explicit ClientTest(const std::string& language);

  Beside serve() const;
  void kill_server();
  void bring_server_back() { server_ = serve(); }

  std::string start(const std::string& text, const std::string& graph = "") const;  // "": that of the language
  std::size_t running() const;                                                      // runs of that graph
  static Json shown(const std::string& run) { return cairn_ok({"show", run, "--json"}).json(); }
  static bool ends(const std::string& run);
  std::string hangs() const { return read_file(directory() / hangs_file_); }  // as the handler writes into $HANGS

  // A tool LANGUAGE.fetch that adds 1 to `n`.
  void expect_tools_execute_sub_goals(const StartWorker& worker, const std::string& name) const;
  // The server is killed three times while two workers are at work, then one of them.
  void expect_nothing_is_lost(const StartWorker& worker);

  const std::string language_, hangs_file_, port_;
  const Variable url_, hangs_;
  Beside server_;
};

}  // namespace cairn::program
