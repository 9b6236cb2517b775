// The statements of schema/statements, which the program has within it, by their names. Constant data: safe from any
// thread.
#pragma once

#include <string>
#include <string_view>

namespace cairn {

// A statement of schema/statements: `name` is its file's without folder and ".sql". Constant data.
struct PgStatement {
  std::string name;
  std::string text;
};
// CHECKs that the statement exists.
const PgStatement& statement(std::string_view name);

// BEGIN, COMMIT, ROLLBACK as statements, so that they can stand in a pipeline.
const PgStatement& begin_statement();
const PgStatement& commit_statement();
const PgStatement& rollback_statement();

}  // namespace cairn
