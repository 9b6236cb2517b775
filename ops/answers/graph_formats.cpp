#include "ops/answers/graph_formats.hpp"

#include <atomic>
#include <boost/asio.hpp>
#include <cstdlib>

#include "engine/graph_drawing.hpp"
#include "workers/ports/tool_process.hpp"

namespace cairn {
namespace {

constexpr int drawings_max = 2;  // at once, in this process
constexpr std::int64_t drawing_ms_max = 10'000;
constexpr std::size_t drawing_bytes_max = 8 << 20;
constexpr int program_missing = 127;

// A place among those that draw now.
class Drawing {
 public:
  Drawing() : is_taken_(count_.fetch_add(1) < drawings_max) {}
  ~Drawing() { --count_; }
  Drawing(const Drawing&) = delete;
  Drawing& operator=(const Drawing&) = delete;
  bool is_taken() const { return is_taken_; }

 private:
  static inline std::atomic<int> count_ = 0;
  bool is_taken_;
};

// `dot` without a shell, with two variables, 10 seconds of processor time and 512 MiB of memory. It writes small files
// only: where there is no cache of the machine's fonts yet, its libraries make one.
std::vector<std::string> drawing_program() {
  const char* path = std::getenv("PATH");
  return {"env",
          "-i",
          std::string("PATH=") + (path == nullptr ? "/usr/bin:/bin" : path),
          "LC_ALL=C.UTF-8",
          "prlimit",
          "--cpu=10",
          "--as=536870912",
          "--fsize=16777216",
          "--core=0",
          "--",
          "dot",
          "-Tsvg"};
}

ProcessEnd run_here(std::vector<std::string> argv, const std::string& input, const ProcessLimits& limits) {
  boost::asio::io_context io;
  ProcessEnd end;
  // Named, because g++ 12 destroys an unnamed one twice (its bug 107288).
  auto run = [&]() -> boost::asio::awaitable<void> { end = co_await run_process(std::move(argv), input, limits); };
  boost::asio::co_spawn(io, run(), boost::asio::detached);
  io.run();
  return end;
}

Result<std::string> svg(const std::string& drawing) {
  const Drawing place;
  if (!place.is_taken())
    return Error{Code::limit, "Expected fewer than " + std::to_string(drawings_max) +
                                  " drawings under way, but there are so many; try again."};
  ProcessEnd end = run_here(drawing_program(), drawing, {drawing_ms_max, drawing_bytes_max});
  if (end.kind == ProcessEnd::Kind::exited && end.number == 0) return std::move(end.out);
  const bool is_missing = end.kind == ProcessEnd::Kind::not_started ||
                          (end.kind == ProcessEnd::Kind::exited && end.number == program_missing);
  if (is_missing)
    return Error{Code::unsupported,
                 "Expected the program dot to draw the graph, but it is not here: the package graphviz has it."};
  return Error{Code::limit, "Expected the program dot to draw the graph within " +
                                std::to_string(drawing_ms_max / 1'000) +
                                " s, 512 MiB of memory and 8 MiB of drawing, but it failed; take the format dot."};
}

}  // namespace

Json graph_json(const GraphRow& row, const Catalogue& catalogue) {
  Json json = {{"name", row.name},
               {"version", row.version},
               {"current", row.current},
               {"built_in", is_built_in(catalogue, row.name)}};
  if (row.at_us != 0) json["at"] = time_text(row.at_us);
  if (!row.actor.empty()) json["actor"] = row.actor;
  return json;
}

Error no_such_graph(const std::string& name) {
  return {Code::not_found, "Expected a graph named " + name + ", but there is none: see `cairn graph list`."};
}

Result<GraphRef> find_graph(Client& client, const std::string& name) {
  Result<GraphRef> graph = client.find_graph(name);
  return graph && *graph == nullptr ? no_such_graph(name) : std::move(graph);
}

Result<std::string> graph_as(const Graph& graph, const std::string& format) {
  if (format == "mermaid") return mermaid(graph);
  if (format == "dot") return dot(graph);
  if (format == "svg") return svg(dot(graph));
  return parse_stored(graph.text).dump(2) + "\n";
}

}  // namespace cairn
