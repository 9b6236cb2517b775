#include "storage/postgres/dsn.hpp"

#include <libpq-fe.h>
#include <memory>
#include <string_view>

namespace cairn {
namespace {

struct FreeDsnOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using DsnOptions = std::unique_ptr<PQconninfoOption, FreeDsnOptions>;

// A text without "=" that is no URL names a database, as libpq has it.
bool is_bare_name(const std::string& dsn) {
  return dsn.find('=') == std::string::npos && dsn.find("://") == std::string::npos;
}

DsnOptions parsed(const std::string& dsn, std::string* fault) {
  char* says = nullptr;
  DsnOptions options(PQconninfoParse(dsn.c_str(), &says));
  if (says != nullptr && fault != nullptr) *fault = says;
  PQfreemem(says);
  return options;
}

// libpq quotes what it cannot read, which may be a piece of a password; names of options are none.
std::string harmless(const std::string& says) {
  for (const std::string_view known : {"invalid connection option", "invalid URI query parameter"})
    if (says.starts_with(known)) return "it has an " + says.substr(0, says.find('\n'));
  return "it is none";
}

std::string in_quotes(std::string_view value) {
  std::string text = "'";
  for (const char letter : value) {
    if (letter == '\'' || letter == '\\') text += '\\';
    text += letter;
  }
  return text + "'";
}

}  // namespace

std::optional<std::string> dsn_fault(const std::string& dsn, const std::string& place) {
  if (is_bare_name(dsn)) return std::nullopt;
  std::string says;
  if (parsed(dsn, &says)) return std::nullopt;
  return "Expected a PostgreSQL connection string or URL in " + place + ", but " + harmless(says) + ".";
}

std::string public_dsn(const std::string& dsn) {
  if (is_bare_name(dsn)) return dsn.empty() ? "" : "dbname=" + in_quotes(dsn);
  const DsnOptions options = parsed(dsn, nullptr);
  std::string text;
  for (const PQconninfoOption* option = options.get(); option != nullptr && option->keyword != nullptr; ++option) {
    const std::string_view keyword = option->keyword;
    const bool is_secret = *option->dispchar == '*' || keyword.find("password") != std::string_view::npos;
    if (option->val == nullptr || is_secret) continue;
    text += (text.empty() ? "" : " ") + std::string(keyword) + "=" + in_quotes(option->val);
  }
  return text;
}

std::string socket_folder_of(const std::string& dsn) {
  if (is_bare_name(dsn)) return "";
  const DsnOptions options = parsed(dsn, nullptr);
  for (const PQconninfoOption* option = options.get(); option != nullptr && option->keyword != nullptr; ++option)
    if (option->val != nullptr && option->val[0] == '/' && std::string_view(option->keyword) == "host")
      return option->val;
  return "";
}

}  // namespace cairn
