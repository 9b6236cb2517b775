#include "workers/ports/tools_file.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "workers/ports/failures.hpp"
#include "workers/ports/http_client.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

constexpr std::int64_t timeout_ms_max = 24LL * 3'600'000;
constexpr std::int64_t cpu_seconds_max = 30LL * 24 * 3'600;
constexpr std::int64_t bytes_max = 1LL << 50;
constexpr std::int64_t count_max = 1'000'000;
constexpr std::int32_t attempts_max = 1000;
constexpr std::size_t server_name_bytes_max = 64;

Error tool_fault(const std::string& name, const std::string& wanted, const Json& but) {
  return {Code::invalid, "Expected " + wanted + " for " + tool_named(name) + ", but got " + excerpt(but, 200) + "."};
}

bool is_text_list(const Json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& item) { return item.is_string(); });
}

// The number under a key of "limits"; `otherwise` if it is not there.
Result<std::int64_t> read_limit(const Json& limits, const std::string& name, std::int64_t otherwise, std::int64_t most,
                                const ToolSpec& spec) {
  const auto found = limits.find(name);
  if (found == limits.end()) return otherwise;
  const bool fits = found->is_number_integer() && *found >= 1 && *found <= most;
  if (fits) return found->get<std::int64_t>();
  return tool_fault(spec.name, "\"" + name + "\" from 1 to " + std::to_string(most), *found);
}

Status read_limits(const Json& limits, ToolSpec::Exec& exec, const ToolSpec& spec) {
  if (!limits.is_object()) return tool_fault(spec.name, "\"limits\" to be an object", limits);
  ProcessLimits& read = exec.limits;
  const std::map<std::string, std::pair<std::int64_t*, std::int64_t>> known = {
      {"cpu_seconds", {&read.cpu_seconds, cpu_seconds_max}}, {"memory_bytes", {&read.memory_bytes, bytes_max}},
      {"file_bytes", {&read.file_bytes, bytes_max}},         {"open_files", {&read.open_files, count_max}},
      {"processes", {&read.processes, count_max}},           {"output_bytes", {nullptr, json_bytes_max}}};
  for (const auto& [name, value] : limits.items()) {
    const auto limit = known.find(name);
    if (limit == known.end()) {
      return tool_fault(spec.name,
                        "only cpu_seconds, memory_bytes, file_bytes, open_files, processes and output_bytes in "
                        "\"limits\"",
                        Json(name));
    }
    const Result<std::int64_t> number = read_limit(limits, name, 0, limit->second.second, spec);
    if (!number) return number.error();
    if (limit->second.first != nullptr) *limit->second.first = *number;
    if (limit->second.first == nullptr) read.output_bytes_max = static_cast<std::size_t>(*number);
  }
  return Done{};
}

bool is_variable(const Json& name) {
  const std::string& text = name.get_ref<const std::string&>();
  return !text.empty() && text.find_first_of(std::string_view("=\0", 2)) == std::string::npos;
}

Status read_program(const Json& entry, std::vector<std::string> argv, ToolSpec& spec) {
  ToolSpec::Exec exec{std::move(argv), {}, {}};
  const Json timeout = entry.value("timeout_ms", Json(spec.timeout_ms));
  if (timeout.is_number_integer() && timeout > 0 && timeout <= timeout_ms_max)  // else it is refused below
    exec.limits.cpu_seconds = std::max(exec.limits.cpu_seconds, timeout.get<std::int64_t>() * 4 / 1000);
  if (const Status limits = read_limits(entry.value("limits", Json::object()), exec, spec); !limits) return limits;
  const Json names = entry.value("env", Json::array());
  if (!is_text_list(names) || !std::all_of(names.begin(), names.end(), is_variable))
    return tool_fault(spec.name, "\"env\" to be [\"VARIABLE\", ...]", names);
  exec.setting.environment = names.get<std::vector<std::string>>();
  if (entry.contains("user")) {
    if (!entry["user"].is_string()) return tool_fault(spec.name, "\"user\" to be a user's name", entry["user"]);
    Result<ProcessUser> user = find_user(entry["user"].get<std::string>());
    if (!user)
      return Error{Code::invalid, user.error().message + " It stands as \"user\" of " + tool_named(spec.name) + "."};
    exec.setting.user = *std::move(user);
  }
  const Json secrets = entry.value("secrets", Json::object());
  if (!secrets.is_object()) return tool_fault(spec.name, "\"secrets\" to be {\"VARIABLE\": \"SECRET\"}", secrets);
  for (const auto& [variable, secret] : secrets.items()) {
    if (!is_variable(Json(variable)) || !secret.is_string())
      return tool_fault(spec.name, "\"secrets\" to be {\"VARIABLE\": \"SECRET\"}", secrets);
    exec.secrets.emplace_back(variable, secret.get<std::string>());
  }
  spec.does = std::move(exec);
  return Done{};
}

// The one of "exec", "http" and "mcp" that an entry has; null: none or several.
const char* way_of(const Json& entry) {
  const char* way = nullptr;
  for (const char* key : {"exec", "http", "mcp"}) {
    if (!entry.contains(key)) continue;
    if (way != nullptr) return nullptr;
    way = key;
  }
  return way;
}

Status read_argv(const Json& entry, const std::string& way, ToolSpec& spec) {
  const Json& argv = entry[way];
  const bool fits = is_text_list(argv) && !argv.empty() && !argv[0].get_ref<const std::string&>().empty();
  if (fits) return read_program(entry, argv.get<std::vector<std::string>>(), spec);
  const std::string or_url = way == "mcp" ? " or a URL" : "";
  return tool_fault(spec.name, "\"" + way + "\" to be [\"program\", \"argument\", ...]" + or_url, argv);
}

Status read_work(const Json& entry, ToolSpec& spec) {
  const char* found = way_of(entry);
  if (found == nullptr) return tool_fault(spec.name, "exactly one of \"exec\", \"http\" and \"mcp\"", entry);
  const std::string way = found;
  const Json& url = entry[way];
  if (way == "exec" || (way == "mcp" && !url.is_string())) return read_argv(entry, way, spec);
  if (!url.is_string()) return tool_fault(spec.name, "\"http\" to be a URL", url);
  if (const Status usable = check_url(url.get_ref<const std::string&>()); !usable)
    return Error{Code::invalid,
                 usable.error().message + " It stands as \"" + way + "\" of " + tool_named(spec.name) + "."};
  const Result<HttpAuth> auth = parse_http_auth(entry.value("auth", Json()));
  if (!auth)
    return Error{Code::invalid, auth.error().message + " It stands as \"auth\" of " + tool_named(spec.name) + "."};
  spec.does = ToolSpec::Http{url.get<std::string>(), *auth};
  return Done{};
}

bool is_need(const Json& need) {
  const std::string_view text = need.get_ref<const std::string&>();
  if (text.starts_with("$")) return text.size() > 1;
  if (text.starts_with("*.")) return text.size() > 2;
  return !text.empty();
}

Status read_facts(const Json& entry, ToolSpec& spec) {
  const Json needs = entry.value("needs", Json::array());
  if (!is_text_list(needs) || !std::all_of(needs.begin(), needs.end(), is_need)) {
    return tool_fault(spec.name, "\"needs\" to be [\"$channel\", \"*.slot\", \"input\", ...]", needs);
  }
  const Json gives = entry.value("gives", Json::array());
  if (!is_text_list(gives)) return tool_fault(spec.name, "\"gives\" to be [\"slot\", ...]", gives);
  const Json about = entry.value("about", Json(""));
  if (!about.is_string()) return tool_fault(spec.name, "\"about\" to be a text", about);
  spec.facts.needs = needs.get<std::vector<std::string>>();
  spec.facts.gives = gives.get<std::vector<std::string>>();
  spec.facts.about = about.get<std::string>();
  return Done{};
}

Status read_policy(const Json& entry, ToolSpec& spec) {
  const Json fallback = entry.value("fallback", Json(""));
  if (!fallback.is_string() || fallback == spec.name)
    return tool_fault(spec.name, "\"fallback\" to be another tool's name", fallback);
  const Json attempts = entry.value("attempts", Json(fallback == "" ? 0 : 1));
  const bool fits =
      attempts.is_number_integer() && attempts <= attempts_max && (attempts >= 1 || !entry.contains("attempts"));
  if (!fits) return tool_fault(spec.name, "\"attempts\" from 1 to " + std::to_string(attempts_max), attempts);
  spec.fallback = fallback.get<std::string>();
  spec.attempts = attempts.get<std::int32_t>();
  return Done{};
}

Status read_settings(const Json& entry, ToolSpec& spec) {
  const Json timeout = entry.value("timeout_ms", Json(spec.timeout_ms));
  if (!timeout.is_number_integer() || timeout < 1 || timeout > timeout_ms_max) {
    return tool_fault(spec.name, "\"timeout_ms\" from 1 to " + std::to_string(timeout_ms_max), timeout);
  }
  const Json queue = entry.value("queue", Json(spec.facts.queue));
  if (!queue.is_string() || queue.get_ref<const std::string&>().empty()) {
    return tool_fault(spec.name, "\"queue\" to be a queue's name", queue);
  }
  spec.timeout_ms = timeout.get<std::int64_t>();
  spec.facts.queue = queue.get<std::string>();
  if (const Status policy = read_policy(entry, spec); !policy) return policy;
  return read_facts(entry, spec);
}

// Keys of one kind of tool stand with that kind alone.
Status check_keys(const std::string& name, const Json& entry) {
  using Keys = std::set<std::string, std::less<>>;
  static const Keys known = {"exec", "http",     "mcp",  "timeout_ms", "queue",  "needs", "gives",       "about",
                             "env",  "attempts", "user", "fallback",   "limits", "auth",  "elicitation", "secrets"};
  static const Keys of_programs = {"env", "user", "limits", "secrets"};
  static const Keys of_tools = {"needs", "gives", "about"};
  const bool is_mcp = entry.contains("mcp");
  const bool is_program = is_mcp ? !entry["mcp"].is_string() : entry.contains("exec");
  for (const auto& [key, value] : entry.items()) {
    if (!known.contains(key))
      return tool_fault(name,
                        "only exec, http, mcp, timeout_ms, queue, needs, gives, about, attempts, fallback, env, user, "
                        "limits, secrets, auth and elicitation",
                        Json(key));
    if (of_programs.contains(key) && !is_program) return tool_fault(name, "\"" + key + "\" with a program only", entry);
    if (key == "auth" && is_program) return tool_fault(name, "\"auth\" with a URL only", entry);
    if (key == "elicitation" && !is_mcp) return tool_fault(name, "\"elicitation\" with \"mcp\" only", entry);
    if (of_tools.contains(key) && is_mcp)
      return tool_fault(name, "no \"" + key + "\" with \"mcp\", whose server says that itself", entry);
  }
  return Done{};
}

Result<ToolSpec> parse_tool(const std::string& name, const Json& entry) {
  if (name.empty()) return Error{Code::invalid, "Expected every tool to have a name, but one has none."};
  if (!entry.is_object()) return tool_fault(name, "an object", entry);
  if (const Status fits = check_keys(name, entry); !fits) return fits.error();
  ToolSpec spec;
  spec.name = name;
  if (const Status work = read_work(entry, spec); !work) return work.error();
  if (const Status settings = read_settings(entry, spec); !settings) return settings.error();
  return spec;
}

Result<McpEntry> parse_server(const std::string& name, const Json& entry) {
  Result<ToolSpec> like = parse_tool(name, entry);
  if (!like) return like.error();
  const bool is_free = name.size() <= server_name_bytes_max && name != "mcp";
  if (!is_free)
    return tool_fault(name.substr(0, server_name_bytes_max), "another name than \"mcp\", of at most 64 bytes,", entry);
  McpEntry server{*std::move(like)};
  auto* const exec = std::get_if<ToolSpec::Exec>(&server.like.does);
  const bool has_cpu = entry.contains("limits") && entry["limits"].contains("cpu_seconds");
  if (exec != nullptr && !has_cpu) exec->limits.cpu_seconds = 0;  // it lives as long as the worker
  static const std::map<std::string, Elicitation, std::less<>> policies = {
      {"ask", Elicitation::ask}, {"decline", Elicitation::decline}, {"defaults", Elicitation::defaults}};
  const Json policy = entry.value("elicitation", Json("ask"));
  const auto found = policy.is_string() ? policies.find(policy.get_ref<const std::string&>()) : policies.end();
  if (found == policies.end())
    return tool_fault(name, "\"elicitation\" to be \"ask\", \"decline\" or \"defaults\"", policy);
  server.elicitation = found->second;
  return server;
}

// The texts under a key of "builtin"; none if it is not there.
Result<std::optional<std::vector<std::string>>> read_names(const Json& builtin, const char* name) {
  if (!builtin.contains(name)) return std::optional<std::vector<std::string>>();
  const Json& names = builtin[name];
  if (is_text_list(names)) return std::optional(names.get<std::vector<std::string>>());
  return Error{Code::invalid, std::string("Expected \"") + name + "\" of \"builtin\" to be a list of texts, but got " +
                                  excerpt(names, 200) + "."};
}

Result<BuiltinTools> read_builtin(const Json& builtin) {
  if (!builtin.is_object())
    return Error{Code::invalid, "Expected \"builtin\" to be an object, but got " + excerpt(builtin, 200) + "."};
  for (const auto& [key, value] : builtin.items()) {
    if (key != "allow" && key != "repositories" && key != "corpora" && key != "urls")
      return Error{Code::invalid, "Expected only allow, repositories, corpora and urls in \"builtin\", but got " +
                                      excerpt(Json(key), 200) + "."};
  }
  auto allow = read_names(builtin, "allow");
  if (!allow) return allow.error();
  auto repositories = read_names(builtin, "repositories");
  if (!repositories) return repositories.error();
  auto corpora = read_names(builtin, "corpora");
  if (!corpora) return corpora.error();
  BuiltinTools read;
  read.allow = *std::move(allow);
  if (*repositories) read.repositories = **std::move(repositories);
  read.corpora = *std::move(corpora);
  const auto urls = read_names(builtin, "urls");
  if (!urls) return urls.error();
  if (!*urls || (*urls)->empty()) return read;
  Result<UrlList> list = UrlList::of(**urls);
  if (!list) return Error{Code::invalid, list.error().message + " It stands in \"builtin\"."};
  read.urls = *std::move(list);
  return read;
}

// The names of secrets that a tool gets.
std::vector<std::string> secrets_of(const ToolSpec& spec) {
  std::vector<std::string> names;
  if (const auto* exec = std::get_if<ToolSpec::Exec>(&spec.does))
    for (const auto& [variable, name] : exec->secrets) names.push_back(name);
  if (const auto* http = std::get_if<ToolSpec::Http>(&spec.does))
    for (const auto& [place, name] : http->auth.secrets) names.push_back(name);
  return names;
}

Status check_secrets(const ToolsFile& file) {
  std::vector<ToolSpec> all = file.tools;
  for (const McpEntry& server : file.servers) all.push_back(server.like);
  for (const ToolSpec& spec : all) {
    for (const std::string& name : secrets_of(spec)) {
      const bool is_known = std::any_of(file.secrets.begin(), file.secrets.end(),
                                        [&](const SecretSource& source) { return source.name == name; });
      if (!is_known) return tool_fault(spec.name, "a secret that the file has", Json(name));
    }
  }
  return Done{};
}

}  // namespace

bool is_allowed(const BuiltinTools& builtin, std::string_view tool) {
  if (!builtin.allow) return true;
  return std::any_of(builtin.allow->begin(), builtin.allow->end(), [tool](const std::string& name) {
    const bool is_group = name.ends_with(".*");
    return is_group ? tool.starts_with(std::string_view(name).substr(0, name.size() - 1)) : tool == name;
  });
}

ToolSpec refused_tool(const std::string& name) {
  const auto refuse = [](const ToolCall& call) -> ToolAnswer {
    return failure("refused",
                   "Expected a tool that this worker allows (\"allow\" of \"builtin\" in the tools file), but it is " +
                       tool_named(call.tool) + ".",
                   false);
  };
  ToolSpec spec{name, ToolSpec::Instant{refuse}, 10'000, {}};
  spec.is_refused = true;
  return spec;
}

namespace {

// "tools", "builtin", "secrets", and "$schema" for editors.
Status check_sections(const Json& document) {
  const std::string form = "Expected a tools file like {\"tools\": {\"NAME\": {...}}}, but ";
  if (!document.is_object()) return Error{Code::invalid, form + "it is " + excerpt(document, 60) + "."};
  const std::set<std::string> sections = {"tools", "builtin", "secrets", "$schema"};
  for (const auto& [name, section] : document.items())
    if (!sections.contains(name)) return Error{Code::invalid, form + "it has \"" + name + "\"."};
  if (!document.contains("tools") && !document.contains("builtin"))
    return Error{Code::invalid, form + "it has neither tools nor builtin."};
  const Json tools = document.value("tools", Json::object());
  if (!tools.is_object()) return Error{Code::invalid, form + "its tools are " + excerpt(tools, 60) + "."};
  if (!document.value("$schema", Json("")).is_string())
    return Error{Code::invalid, form + "its $schema is " + excerpt(document["$schema"], 60) + "."};
  return Done{};
}

}  // namespace

Result<ToolsFile> parse_tools(const Json& document) {
  if (const Status known = check_sections(document); !known) return known.error();
  ToolsFile file;
  const Json tools = document.value("tools", Json::object());
  for (const auto& [name, entry] : tools.items()) {
    if (entry.is_object() && entry.contains("mcp")) {
      Result<McpEntry> server = parse_server(name, entry);
      if (!server) return server.error();
      file.servers.push_back(*std::move(server));
      continue;
    }
    Result<ToolSpec> spec = parse_tool(name, entry);
    if (!spec) return spec.error();
    file.tools.push_back(*std::move(spec));
  }
  Result<std::vector<SecretSource>> secrets = parse_secrets(document.value("secrets", Json::object()));
  if (!secrets) return secrets.error();
  file.secrets = *std::move(secrets);
  if (const Status known = check_secrets(file); !known) return known.error();
  if (!document.contains("builtin")) return file;
  Result<BuiltinTools> builtin = read_builtin(document["builtin"]);
  if (!builtin) return builtin.error();
  file.builtin = *std::move(builtin);
  return file;
}

}  // namespace cairn
