#include "workers/tools/data/query_language.hpp"

#include <array>
#include <string>

#include "workers/tools/data/query.hpp"

namespace cairn {
namespace {

constexpr std::array<QueryLanguage, 1> languages = {{{"sql", sql_query, ask_dataset}}};

}  // namespace

Result<const QueryLanguage*> find_query_language(std::string_view name) {
  std::string known;
  for (const QueryLanguage& language : languages) {
    if (language.name == name) return &language;
    known += (known.empty() ? "" : ", ") + std::string(language.name);
  }
  return Error{Code::unsupported, "Expected a query language that is known here (" + known +
                                      "), but CAIRN_QUERY_LANGUAGE is \"" + std::string(name) + "\"."};
}

}  // namespace cairn
