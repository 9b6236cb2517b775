#include "ops/commands/server/transport_options.hpp"

#include <CLI/CLI.hpp>

#include "ops/commands/command_options.hpp"
#include "ops/requests/arguments.hpp"
#include "workers/ports/http_client.hpp"

namespace cairn {
namespace {

Result<std::string> console_url_argument(std::string text) {
  constexpr std::size_t url_bytes_max = 500;
  if (const Status fits = check_url(text); !fits) return fits.error();
  if (text.size() > url_bytes_max || text.find_first_of("?#") != std::string::npos)
    return Error{Code::invalid,
                 "Expected the console's address of at most 500 bytes, without a query or a fragment, but found " +
                     excerpt(Json(text), 60) + "."};
  while (text.ends_with('/')) text.pop_back();
  return text;
}

}  // namespace

void add_transport(CLI::App& command, Transport& transport, TlsFiles& files) {
  const auto add_file = [&command](const std::string& name, const std::string& says, std::string& path) {
    return add_text(command, name, "FILE", says, [&path, name](const std::string& text) {
      return assign(path, path_argument(text, "a file in " + name));
    });
  };
  CLI::Option* certificate = add_file(
      "--tls-cert", "The API's certificate and its chain, as PEM; with SIGHUP it is read again", files.certificate);
  CLI::Option* key = add_file("--tls-key", "The certificate's private key, as PEM", files.key);
  certificate->needs(key);
  key->needs(certificate)->each([&transport](const std::string&) { transport.is_tls = true; });
  command.add_flag("--plain-http", transport.plain_allowed,
                   "Also listen without TLS on an address that others reach, as behind a proxy that has it");
}

void add_mcp_wait(CLI::App& command, std::int64_t& wait_ms) {
  command.add_option("--mcp-wait-ms", wait_ms, "How long the call of a graph's tool waits for its run")
      ->check(CLI::Range(0, 3'600'000))
      ->type_name("N")
      ->capture_default_str();
}

void add_console_url(CLI::App& command, std::string& url) {
  add_text(command, "--console-url", "URL",
           "Where people reach the console; agents lead them there with questions that no form shows",
           [&url](const std::string& text) { return assign(url, console_url_argument(text)); });
}

std::vector<std::string> transport_arguments(const Transport& transport, const TlsFiles& files) {
  std::vector<std::string> arguments;
  if (transport.is_tls) arguments = {"--tls-cert", files.certificate, "--tls-key", files.key};
  if (transport.plain_allowed) arguments.emplace_back("--plain-http");
  return arguments;
}

}  // namespace cairn
