#include "storage/postgres/dsn.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
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

constexpr const char* escapes_of_password = ". In the password of a URL, / is written %2F, @ is %40 and : is %3A.";

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char letter) { return std::isalnum(letter) != 0 || letter == '_'; });
}

constexpr std::string_view before_authority = "://";

// A URL whose login ends later than its first "/" or "?": then a piece of a password may stand anywhere.
bool may_show_password(const std::string& dsn) {
  const std::size_t scheme = dsn.find(before_authority);
  if (scheme == std::string::npos) return false;
  const std::size_t end = dsn.find_first_of("/?", scheme + before_authority.size());
  return end != std::string::npos && dsn.find('@', end) != std::string::npos;
}

// libpq quotes what it cannot read, which may be part of a password; the name of an option is none if it is a word.
std::string without_secrets(const std::string& dsn, const std::string& report) {
  if (may_show_password(dsn)) return "it is none";
  for (const std::string_view known : {"invalid connection option", "invalid URI query parameter"}) {
    if (!report.starts_with(known)) continue;
    const std::size_t begin = report.find('"') + 1;
    if (begin == 0 || !is_word(report.substr(begin, report.find('"', begin) - begin))) continue;
    return "it has an " + report.substr(0, report.find('\n'));
  }
  return "it is none";
}

// As libpq reads each of a list of ports: it may stand between spaces, and an empty one is the default.
bool are_ports(std::string_view list) {
  constexpr std::string_view spaces = " \t\n\v\f\r";
  while (!list.empty()) {
    std::string_view one = list.substr(0, list.find(','));
    list.remove_prefix(std::min(one.size() + 1, list.size()));
    if (one.empty()) continue;
    one.remove_prefix(std::min(one.find_first_not_of(spaces), one.size()));
    one = one.substr(0, one.find_last_not_of(spaces) + 1);
    int port = 0;
    const auto read = std::from_chars(one.data(), one.data() + one.size(), port);
    if (read.ec != std::errc{} || read.ptr != one.data() + one.size() || port < 1 || port > 65'535) return false;
  }
  return true;
}

// As libpq reads a URL, its login ends at the first "@", if no "/" stands before that. One more before the query
// belonged to the login too, unless a socket's name begins with it.
bool has_stray_at(const std::string& dsn) {
  if (!dsn.starts_with("postgresql://") && !dsn.starts_with("postgres://")) return false;
  std::size_t begin = dsn.find(before_authority) + before_authority.size();
  const std::size_t mark = dsn.find_first_of("@/", begin);
  if (mark != std::string::npos && dsn[mark] == '@') begin = mark + 1;
  const std::string_view places = std::string_view(dsn).substr(begin, dsn.find('?', begin) - begin);
  return places.find('@', 1) != std::string_view::npos;
}

// libpq names the port, host and database that it cannot use. Where a URL's password has a "/", that is the password.
Status check_places(const std::string& dsn, const PQconninfoOption* options, const std::string& place) {
  const std::string expected = "Expected a PostgreSQL connection string or URL in " + place + ", but ";
  if (has_stray_at(dsn))
    return Error{Code::invalid, expected + "the name of its host or database has an \"@\"" + escapes_of_password};
  for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option)
    if (option->val != nullptr && std::string_view(option->keyword) == "port" && !are_ports(option->val))
      return Error{Code::invalid, expected + "its port is no number from 1 to 65535" + escapes_of_password};
  return Done{};
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
  if (is_bare_name(dsn)) {
    const std::size_t colon = dsn.find(':');
    if (colon == std::string::npos || dsn.find('@', colon) == std::string::npos) return Done{};
    return Error{Code::invalid, "Expected a PostgreSQL connection string or URL in " + place +
                                    ", but it has a login and does not begin with postgresql://."};
  }
  const Result<DsnOptions> options = parsed(dsn);
  if (options) return check_places(dsn, options->get(), place);
  return Error{Code::invalid, "Expected a PostgreSQL connection string or URL in " + place + ", but " +
                                  without_secrets(dsn, options.error().message) + "."};
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
