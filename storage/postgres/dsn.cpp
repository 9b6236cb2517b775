#include "storage/postgres/dsn.hpp"

#include <algorithm>
#include <cstdlib>
#include <libpq-fe.h>
#include <map>
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

// The error's text is libpq's.
Result<DsnOptions> parsed(const std::string& dsn) {
  char* report = nullptr;
  DsnOptions options(PQconninfoParse(dsn.c_str(), &report));
  const std::string text = report == nullptr ? "" : report;
  PQfreemem(report);
  if (options == nullptr) return Error{Code::invalid, text};
  return options;
}

// libpq quotes what it cannot read, which may be part of a password; the name of an option is never one.
std::string without_secrets(const std::string& report) {
  for (const std::string_view known : {"invalid connection option", "invalid URI query parameter"})
    if (report.starts_with(known)) return "it has an " + report.substr(0, report.find('\n'));
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

// As libpq has it, its variables included; nullptr if it has none.
const char* value_of(const PQconninfoOption& option) {
  if (option.val != nullptr || option.envvar == nullptr) return option.val;
  return std::getenv(option.envvar);
}

bool names_several_hosts(const PQconninfoOption* options) {
  for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
    const std::string_view keyword = option->keyword;
    const char* hosts = keyword == "host" || keyword == "hostaddr" ? value_of(*option) : nullptr;
    if (hosts != nullptr && std::string_view(hosts).find(',') != std::string_view::npos) return true;
  }
  return false;
}

// "127.0.0.1", and no name such as 127.example.com.
bool is_loopback_address(std::string_view host) {
  return host == "::1" || (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos);
}

// Whether each of a list of hosts or addresses is this machine.
bool are_local(std::string_view hosts) {
  while (!hosts.empty()) {
    const std::string_view host = hosts.substr(0, hosts.find(','));
    const bool is_local = host.empty() || host.starts_with('/') || host.starts_with('@') || host == "localhost" ||
                          is_loopback_address(host);
    if (!is_local) return false;
    hosts.remove_prefix(std::min(host.size() + 1, hosts.size()));
  }
  return true;
}

}  // namespace

Status check_dsn(const std::string& dsn, const std::string& place) {
  if (is_bare_name(dsn)) return Done{};
  const Result<DsnOptions> options = parsed(dsn);
  if (options) return Done{};
  return Error{Code::invalid, "Expected a PostgreSQL connection string or URL in " + place + ", but " +
                                  without_secrets(options.error().message) + "."};
}

std::string public_dsn(const std::string& dsn) {
  if (is_bare_name(dsn)) return dsn.empty() ? "" : "dbname=" + in_quotes(dsn);
  const Result<DsnOptions> options = parsed(dsn);
  if (!options) return "";
  std::string text;
  for (const PQconninfoOption* option = options->get(); option->keyword != nullptr; ++option) {
    const std::string_view keyword = option->keyword;
    const bool is_secret = *option->dispchar == '*' || keyword.find("password") != std::string_view::npos;
    if (option->val == nullptr || is_secret) continue;
    text += (text.empty() ? "" : " ") + std::string(keyword) + "=" + in_quotes(option->val);
  }
  return text;
}

// libpq takes what stands last.
std::string with_host(const std::string& dsn, const std::string& host, const std::string& port) {
  return with_network_limits(dsn) + " host=" + in_quotes(host) + " hostaddr='' port=" + in_quotes(port);
}

DsnVariables variables_of(const std::string& dsn) {
  if (!dsn.empty() && is_bare_name(dsn)) return {{{"PGDATABASE", dsn}}, ""};
  DsnVariables found;
  const Result<DsnOptions> options = parsed(dsn);
  if (!options) return found;
  for (const PQconninfoOption* option = options->get(); option->keyword != nullptr; ++option) {
    const bool is_secret = std::string_view(option->dispchar) == "*";
    if (option->val == nullptr || (option->envvar == nullptr && is_secret)) continue;
    if (option->envvar != nullptr)
      found.variables.emplace_back(option->envvar, option->val);
    else
      found.rest += (found.rest.empty() ? "" : " ") + std::string(option->keyword) + "=" + in_quotes(option->val);
  }
  return found;
}

// https://www.postgresql.org/docs/15/libpq-connect.html: seconds, and milliseconds for tcp_user_timeout, which bounds
// what was sent and not acknowledged; keepalives bound the wait for an answer.
std::string with_network_limits(const std::string& dsn) {
  const Result<DsnOptions> options = parsed(is_bare_name(dsn) && !dsn.empty() ? "dbname=" + in_quotes(dsn) : dsn);
  if (!options) return dsn;
  // Each new connection of a command waits for a silent first host again.
  const std::map<std::string_view, std::string_view> limits = {
      {"connect_timeout", names_several_hosts(options->get()) ? "3" : "5"},
      {"tcp_user_timeout", "10000"},
      {"keepalives_idle", "5"},
      {"keepalives_interval", "3"},
      {"keepalives_count", "3"}};
  std::string text;
  for (const PQconninfoOption* option = options->get(); option->keyword != nullptr; ++option) {
    const auto limit = limits.find(option->keyword);
    const bool is_free = limit != limits.end() && (option->envvar == nullptr || std::getenv(option->envvar) == nullptr);
    if (option->val == nullptr && !is_free) continue;
    text += (text.empty() ? "" : " ") + std::string(option->keyword) + "=";
    text += in_quotes(option->val != nullptr ? std::string_view(option->val) : limit->second);
  }
  return text;
}

Result<Pooler> pooler_of_environment() {
  const char* word = std::getenv("CAIRN_POOLER");
  const std::string_view said = word == nullptr ? "" : word;
  if (said.empty()) return Pooler::found_out;
  if (said == "session") return Pooler::session;
  if (said == "transaction") return Pooler::transaction;
  return Error{Code::invalid,
               "Expected transaction or session in CAIRN_POOLER, but found \"" + std::string(said) + "\"."};
}

namespace {

constexpr const char* direct_variable = "CAIRN_DSN_DIRECT";
constexpr const char* read_variable = "CAIRN_READ_DSN";

std::string dsn_in(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string direct_dsn_of_environment() { return dsn_in(direct_variable); }
std::string read_dsn_of_environment() { return dsn_in(read_variable); }

Status check_dsns_of_environment() {
  for (const char* variable : {direct_variable, read_variable})
    if (Status fine = check_dsn(dsn_in(variable), variable); !fine) return fine;
  return Done{};
}

ServerWay way_to_server(const std::string& dsn) {
  ServerWay way;
  const Result<DsnOptions> options = parsed(is_bare_name(dsn) && !dsn.empty() ? "dbname=" + in_quotes(dsn) : dsn);
  if (!options) return way;
  for (const PQconninfoOption* option = options->get(); option->keyword != nullptr; ++option) {
    const char* given = value_of(*option);
    if (given == nullptr || *given == '\0') continue;
    const std::string_view keyword = option->keyword;
    if (keyword == "sslmode") way.sslmode = given;
    if (keyword == "host" || keyword == "hostaddr") way.is_local = way.is_local && are_local(given);
  }
  return way;
}

std::string socket_folder_of(const std::string& dsn) {
  if (is_bare_name(dsn)) return "";
  const Result<DsnOptions> options = parsed(dsn);
  if (!options) return "";
  for (const PQconninfoOption* option = options->get(); option->keyword != nullptr; ++option)
    if (option->val != nullptr && option->val[0] == '/' && std::string_view(option->keyword) == "host")
      return option->val;
  return "";
}

}  // namespace cairn
