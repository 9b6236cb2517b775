// The means of a worker that its settings decide: its tools, and what these may reach. A session's row lists them, so
// that a worker which lacks one leaves the step to a worker that has it. Pure functions and plain values, safe from any
// thread.
//
// In SessionRow::allows: "url URL", "secret NAME", "repository FOLDER", "corpus NAME" ("corpus *": all), "page URL",
// "page FOLDER" (the .html files below it); and what no call needs by name, but decides what its answer says: "data
// PLACE", "query LANGUAGE, LIMITS", and "queue *" of a worker that serves each queue which a graph or a tool names. A
// call's needs are of the same form (Tools::needs_of): "repository /srv/git/a".
#pragma once

#include <string>
#include <vector>

namespace cairn {

inline constexpr const char* all_queues = "queue *";

struct Means {
  std::vector<std::string> tools;
  std::vector<std::string> allows;
};

// Whether a worker with these may do what needs that. Paths are compared as they are written: only the tool itself, on
// its own machine, resolves links. True for a need of an unknown kind, and of a path that is not absolute, which no
// worker takes.
bool has_means(const Means& means, const std::string& need);

// The answers of tools depend on these: "data PLACE", "query LANGUAGE, LIMITS", in order.
std::vector<std::string> sources_of_answers(const std::vector<std::string>& allows);

}  // namespace cairn
