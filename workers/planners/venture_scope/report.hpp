// The end of a run as a report: the number, its formula, where each value comes from, what was assumed, and how much
// the number moves with each input. One JSON object, and the same as text for a terminal, as Markdown and as a page.
// Pure functions, safe from any thread.
#pragma once

#include <string>

#include "workers/planners/venture_scope/fields.hpp"

namespace cairn {

// The parts of a report besides the fields.
struct VentureEnding {
  std::string status;
  std::string reason;
  std::string question;
  std::string decided_by;           // the model that planned; "" none was asked
  std::string read_by;              // the model that read the documents; "" none were
  Json unreadable = Json::array();  // [{"source", "reason"}]: documents of the corpus that could not be read
};

// {"question", "answer", "region", "currency", "period", "result", "formula", "calculation", "fields", "missing",
// "sources", "conflicts", "assumptions", "sensitivity", "unreadable", "decided_by", "read_by", "used", "markdown",
// "page"}. `answer` is the text for a terminal; `page` is whole HTML without a script or anything to load.
Json report_of(const Venture& venture, const VentureEnding& ending);

// The target's result when one input is 20 % lower and 20 % higher (a share at most 1), for each number that goes into
// it: [{"path", "title", "value", "low", "high", "swing"}], the greatest swing first, as a share of the result.
Json sensitivity_of(const Venture& venture);

}  // namespace cairn
