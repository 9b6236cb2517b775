// The fields of a definition that an operator gives as a JSON object, as of a schedule or a hook: each is read within
// its bounds, and the first fault is kept. Used by one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

class DefinitionFields {
 public:
  // `of`: the definition's noun, as "hook". An `asked` that is no object, or has a field that is not `known`, is a
  // fault. REQUIRES: `asked` outlives it.
  DefinitionFields(const Json& asked, std::string of, const std::vector<std::string>& known);

  const Json* find(const char* name) const;  // null: it is not there, or null
  // Without the field: "". A text that is there has at least one byte, and no NUL.
  std::string text(const char* name, std::size_t bytes_max);
  std::int64_t number(const char* name, std::int64_t least, std::int64_t most, std::int64_t without);

  // "Expected EXPECTED of a hook, but found ..."
  Error unlike(const std::string& expected, const Json& found) const;
  void refuse(const std::string& expected, const Json& found) { keep(unlike(expected, found)); }
  void keep(Error fault);
  const std::optional<Error>& fault() const { return fault_; }

 private:
  const Json& asked_;
  const std::string of_;
  std::optional<Error> fault_;
};

// Refuses `invalid`: a name of another form than 1 to `bytes_max` letters, digits, dots, underscores and hyphens, of
// which the first is a letter or a digit.
Status check_definition_name(std::string_view name, const std::string& of, std::size_t bytes_max);

}  // namespace cairn
