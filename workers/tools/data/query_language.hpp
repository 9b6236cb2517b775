// The query languages for data: each generates a query from a question's analysis and runs it. CAIRN_QUERY_LANGUAGE
// chooses one. Constant data; its functions are safe from any thread.
#pragma once

#include <string_view>

#include "engine/json.hpp"
#include "engine/result.hpp"
#include "storage/data/dataset.hpp"

namespace cairn {

struct QueryLanguage {
  std::string_view name;
  // From analysis_result and metadata_results; see workers/tools/data/query.hpp.
  Result<Json> (*make)(const Json& analysis, const Json& metadata);
  Result<QueryRows> (*run)(const Dataset& dataset, const std::string& text, std::int64_t skip, std::int64_t rows);
};

// Refuses `unsupported`, naming those there are.
Result<const QueryLanguage*> find_query_language(std::string_view name);

}  // namespace cairn
