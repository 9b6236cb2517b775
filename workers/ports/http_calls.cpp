#include "workers/ports/http_calls.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "engine/graph_walk.hpp"
#include "engine/text.hpp"
#include "storage/ground/base64.hpp"
#include "workers/ports/failures.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

constexpr std::size_t url_bytes_max = 16 * 1024;
constexpr std::size_t header_value_bytes_max = 8 * 1024;
constexpr std::size_t parts_max = 100;  // headers, parameters, fields
constexpr std::int64_t call_ms_max = 10LL * 60'000;
constexpr std::int64_t call_ms_usual = 30'000;
constexpr std::int64_t answer_bytes_usual = 1024 * 1024;

Error unlike(const std::string& wanted, const Json& found) {
  return {Code::invalid, "Expected " + wanted + ", but got " + excerpt(found, 100) + "."};
}

// --- settings -------------------------------------------------------------------------------------------------------

Status check_called_url(const Json& url) {
  if (!url.is_string()) return unlike("a URL", url);
  const auto& text = url.get_ref<const std::string&>();
  if (text.size() > url_bytes_max)
    return Error{Code::invalid, "Expected a URL of at most " + std::to_string(url_bytes_max) + " bytes, but it has " +
                                    std::to_string(text.size()) + "."};
  if (text.find('#') != std::string::npos) return Error{Code::invalid, "Expected a URL without a #, but it has one."};
  return check_url(text);
}

Status check_method(const Json& method) {
  for (const char* known : {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"})
    if (method == known) return Done{};
  return unlike("GET, POST, PUT, PATCH, DELETE or HEAD", method);
}

bool is_scalar(const Json& value) { return value.is_string() || value.is_number() || value.is_boolean(); }

// Parameters of a query and fields of a form.
Status check_parameters(const Json& parameters) {
  const auto fits = [](const Json& value) {
    if (!value.is_array()) return is_scalar(value) || value.is_null();
    return value.size() <= parts_max && std::all_of(value.begin(), value.end(), is_scalar);
  };
  const bool is_fit = parameters.is_object() && parameters.size() <= parts_max &&
                      std::all_of(parameters.begin(), parameters.end(), fits);
  if (is_fit) return Done{};
  return unlike("an object of at most 100 texts, numbers, booleans or lists of them", parameters);
}

// Those that make the frame of a message, or that the client sets itself.
bool is_own_header(const std::string& name) {
  static constexpr std::array<std::string_view, 13> own = {
      "host",       "content-length",      "transfer-encoding", "connection",      "te", "trailer", "upgrade", "expect",
      "keep-alive", "proxy-authorization", "proxy-connection",  "idempotency-key", "via"};
  return std::find(own.begin(), own.end(), name) != own.end();
}

Status check_header_name(const std::string& name) {
  if (!is_http_token(name) || name.size() > 256) return unlike("the name of a header", Json(name));
  if (is_own_header(lowered(name))) return unlike("a header that a graph may set", Json(name));
  return Done{};
}

std::string scalar_text(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

Status check_headers(const Json& headers) {
  if (!headers.is_object() || headers.size() > parts_max) return unlike("an object of at most 100 headers", headers);
  for (const auto& [name, value] : headers.items()) {
    if (Status known = check_header_name(name); !known) return known;
    if (lowered(name) == "authorization")
      return Error{Code::invalid, "Expected credentials as \"auth\" with the name of a secret, but found header " +
                                      in_quotes(name) + "."};
    const bool is_line =
        is_scalar(value) && scalar_text(value).size() <= header_value_bytes_max && is_header_value(scalar_text(value));
    if (!is_line) return unlike("one line of at most 8 KiB as header " + in_quotes(name), value);
  }
  return Done{};
}

Status check_text_body(const Json& text) { return text.is_string() ? Status(Done{}) : unlike("a text", text); }

Status check_kept(const Json& names) {
  const auto fits = [](const Json& name) {
    return name.is_string() && is_http_token(name.get_ref<const std::string&>());
  };
  if (names.is_array() && names.size() <= parts_max && std::all_of(names.begin(), names.end(), fits)) return Done{};
  return unlike("a list of at most 100 names of headers", names);
}

Status check_form_of_body(const Json& form) {
  return form == "json" || form == "text" ? Status(Done{}) : unlike("json or text", form);
}

bool is_status_or_class(const Json& status) {
  if (status.is_number_integer()) return status >= 200 && status <= 599;
  if (!status.is_string()) return false;
  const auto& text = status.get_ref<const std::string&>();
  return text.size() == 3 && text[0] >= '2' && text[0] <= '5' && text.ends_with("xx");
}

Status check_ok(const Json& statuses) {
  const bool fits = statuses.is_array() && !statuses.empty() && statuses.size() <= parts_max &&
                    std::all_of(statuses.begin(), statuses.end(), is_status_or_class);
  return fits ? Status(Done{}) : unlike("a list of statuses like 404 or \"2xx\"", statuses);
}

Status check_from_one_to(const Json& number, std::int64_t most) {
  const bool fits = number.is_number_integer() && number >= 1 && number <= most;
  return fits ? Status(Done{}) : unlike("an integer from 1 to " + std::to_string(most), number);
}

Status check_call_ms(const Json& ms) { return check_from_one_to(ms, call_ms_max); }
Status check_answer_bytes(const Json& bytes) {
  return check_from_one_to(bytes, static_cast<std::int64_t>(json_bytes_max));
}

Status check_auth(const Json& auth) {
  const Result<HttpAuth> parsed = parse_http_auth(auth);
  return parsed ? Status(Done{}) : Status(parsed.error());
}

// --- the request ----------------------------------------------------------------------------------------------------

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

void add_percented(std::string& to, std::string_view text) {
  static constexpr std::string_view digits = "0123456789ABCDEF";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_unreserved(c)) {
      to += c;
    } else {
      to += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
}

void add_parameter(std::string& to, std::string_view name, std::string_view value) {
  if (!to.empty()) to += '&';
  add_percented(to, name);
  to += '=';
  add_percented(to, value);
}

// a=1&b=2, a list as the same name again; null is left out.
std::string parameters_text(const Json& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters.items()) {
    if (is_scalar(value)) add_parameter(text, name, scalar_text(value));
    if (value.is_array())
      for (const Json& item : value) add_parameter(text, name, scalar_text(item));
  }
  return text;
}

void add_query(std::string& url, const std::string& query) {
  if (query.empty()) return;
  url += url.find('?') == std::string::npos ? "?" : (url.ends_with('?') || url.ends_with('&') ? "" : "&");
  url += query;
}

const Json* given(const Json& with, const char* name) {
  if (!with.is_object()) return nullptr;
  const auto found = with.find(name);
  return found == with.end() || found->is_null() ? nullptr : &*found;
}

std::string text_or(const Json& with, const char* name, const char* otherwise) {
  const Json* value = given(with, name);
  return value == nullptr ? otherwise : value->get<std::string>();
}

std::int64_t number_or(const Json& with, const char* name, std::int64_t otherwise) {
  const Json* value = given(with, name);
  return value == nullptr ? otherwise : value->get<std::int64_t>();
}

void add_body(HttpRequest& request, const Json& with) {
  const auto has_type = [](const auto& header) { return lowered(header.first) == "content-type"; };
  const auto put = [&](const char* type, std::string body) {
    if (std::none_of(request.headers.begin(), request.headers.end(), has_type))
      request.headers.emplace_back("content-type", type);
    request.body = std::move(body);
  };
  if (const Json* body = given(with, "body")) put("application/json", canonical(*body));
  if (const Json* form = given(with, "form")) put("application/x-www-form-urlencoded", parameters_text(*form));
  if (const Json* text = given(with, "text")) put("text/plain; charset=utf-8", text->get<std::string>());
}

Result<HttpRequest> request_of_call(const ToolCall& call) {
  const Json& with = call.inputs;
  if (const Status fits = check_call_settings(with); !fits) return fits.error();
  HttpRequest request;
  request.method = text_or(with, "method", "GET");
  request.url = with["url"].get<std::string>();
  if (const Json* query = given(with, "query")) add_query(request.url, parameters_text(*query));
  if (const Status fits = check_called_url(request.url); !fits) return fits.error();
  if (const Json* headers = given(with, "headers"))
    for (const auto& [name, value] : headers->items()) request.headers.emplace_back(name, scalar_text(value));
  add_body(request, with);
  if (request.body.size() > json_bytes_max)
    return Error{Code::invalid, "Expected a body of at most " + std::to_string(json_bytes_max) + " bytes, but it has " +
                                    std::to_string(request.body.size()) + "."};
  if (request.method != "GET" && request.method != "HEAD") request.headers.emplace_back("idempotency-key", call.key);
  request.timeout_ms = number_or(with, "timeout_ms", call_ms_usual);
  request.answer_bytes_max = static_cast<std::size_t>(number_or(with, "max_bytes", answer_bytes_usual));
  return request;
}

// --- the answer -----------------------------------------------------------------------------------------------------

const std::string* header_of(const HttpAnswer& answer, const std::string& name) {
  const auto found = std::find_if(answer.headers.begin(), answer.headers.end(),
                                  [&](const auto& header) { return header.first == name; });
  return found == answer.headers.end() ? nullptr : &found->second;
}

bool is_json_wanted(const Json& with, const HttpAnswer& answer) {
  if (const Json* form = given(with, "as")) return *form == "json";
  const std::string* type = header_of(answer, "content-type");
  return type != nullptr && lowered(*type).find("json") != std::string::npos;
}

// A body of another form stays there as a text, for sentences.
void read_body(Json& outputs, const Json& with, const HttpAnswer& answer, const Secrets& secrets) {
  const bool is_json = is_json_wanted(with, answer);
  outputs["body"] = is_json ? Json() : Json("");
  if (answer.body.empty()) return;
  Result<Json> parsed = is_json ? parse_json(answer.body, "the body") : Result<Json>(Json());
  if (is_json && parsed) {
    outputs["body"] = secrets.redacted_json(*parsed);
    return;
  }
  const bool is_text = is_utf8(answer.body);
  if (is_json || !is_text) outputs["fault"] = is_json ? "The body is no JSON." : "The body is no text in UTF-8.";
  outputs["body"] = is_text ? secrets.redacted(answer.body) : secrets.redacted_line(answer.body, 2'000);
}

ToolAnswer outputs_of_call(const Json& with, const HttpAnswer& answer, const Secrets& secrets) {
  Json outputs = {{"status", answer.status}};
  read_body(outputs, with, answer, secrets);
  if (answer.retry_after_ms > 0) outputs["retry_after_ms"] = answer.retry_after_ms;
  if (const Json* names = given(with, "keep")) {
    outputs["headers"] = Json::object();
    for (const Json& name : *names) {
      const std::string lower = lowered(name.get<std::string>());
      if (const std::string* value = header_of(answer, lower))
        outputs["headers"][lower] = secrets.redacted_line(*value, header_value_bytes_max);
    }
  }
  return outputs;
}

Failure failure_of_call(const HttpFault& fault, std::int64_t timeout_ms) {
  switch (fault.kind) {
    case HttpFault::Kind::timeout:
      return failure("timeout", "Expected an answer within " + std::to_string(timeout_ms) + " ms, but none came.",
                     true);
    case HttpFault::Kind::too_big:
      return failure("bad_output", fault.message, false);
    case HttpFault::Kind::invalid:
      return invalid_input(fault.message);
    case HttpFault::Kind::unreachable:
      break;
  }
  return failure("unreachable", fault.message, true);
}

Error bad_auth(const Json& auth) {
  return unlike(
      "one of {\"bearer\": SECRET}, {\"basic\": {\"user\", \"password\": SECRET}}, {\"header\": {NAME: SECRET}} and "
      "{\"query\": {NAME: SECRET}}, each with the name of a secret",
      auth);
}

Result<HttpAuth> named_auth(HttpAuth::Kind kind, const Json& names, const Json& auth) {
  HttpAuth parsed{kind, {}, {}};
  if (!names.is_object() || names.empty() || names.size() > 10) return bad_auth(auth);
  for (const auto& [name, secret] : names.items()) {
    if (!secret.is_string() || !is_secret_name(secret.get_ref<const std::string&>()) || name.empty())
      return bad_auth(auth);
    if (kind == HttpAuth::Kind::header)
      if (const Status fits = check_header_name(name); !fits) return fits.error();
    parsed.secrets.emplace_back(name, secret.get<std::string>());
  }
  return parsed;
}

}  // namespace

Result<HttpAuth> parse_http_auth(const Json& auth) {
  if (auth.is_null()) return HttpAuth{};
  if (!auth.is_object() || auth.size() != 1) return bad_auth(auth);
  const auto is_name = [](const Json& name) {
    return name.is_string() && is_secret_name(name.get_ref<const std::string&>());
  };
  if (const Json* secret = given(auth, "bearer"))
    return is_name(*secret) ? Result<HttpAuth>(HttpAuth{HttpAuth::Kind::bearer, {}, {{"", *secret}}}) : bad_auth(auth);
  if (const Json* names = given(auth, "header")) return named_auth(HttpAuth::Kind::header, *names, auth);
  if (const Json* names = given(auth, "query")) return named_auth(HttpAuth::Kind::query, *names, auth);
  const Json* basic = given(auth, "basic");
  if (basic == nullptr || !basic->is_object() || basic->size() != 2) return bad_auth(auth);
  const Json* user = given(*basic, "user");
  const Json* password = given(*basic, "password");
  if (user == nullptr || !user->is_string() || password == nullptr || !is_name(*password)) return bad_auth(auth);
  const auto& name = user->get_ref<const std::string&>();
  if (name.find(':') != std::string::npos || name.size() > 256 || !is_header_value(name)) return bad_auth(auth);
  return HttpAuth{HttpAuth::Kind::basic, name, {{"", *password}}};
}

Result<Done, Failure> add_auth(HttpRequest& request, const HttpAuth& auth, Secrets& secrets) {
  const std::string to = request.url;
  for (const auto& [place, name] : auth.secrets) {
    Result<std::string, Failure> value = secrets.value(name);
    if (!value) return std::move(value).error();
    if (!secrets.may_go(name, to))
      return failure("refused", "Expected a URL that secret \"" + name + "\" may go to, but it is another one.", false);
    std::string query;
    if (auth.kind == HttpAuth::Kind::query) add_parameter(query, place, *value);
    add_query(request.url, query);
    if (auth.kind == HttpAuth::Kind::header) request.headers.emplace_back(place, *value);
    if (auth.kind == HttpAuth::Kind::bearer) request.headers.emplace_back("authorization", "Bearer " + *value);
    if (auth.kind == HttpAuth::Kind::basic)
      request.headers.emplace_back("authorization", "Basic " + base64(auth.user + ":" + *value));
  }
  return Done{};
}

std::vector<HandlerSetting> http_call_settings() {
  using Means = HandlerSetting::Means;
  const auto setting = [](const char* name, Status (*check)(const Json&)) {
    HandlerSetting made{name};
    made.check = check;
    return made;
  };
  HandlerSetting url = setting("url", check_called_url);
  url.is_required = true;
  HandlerSetting auth = setting("auth", check_auth);
  auth.is_constant = true;
  HandlerSetting into{"into", Means::channel, false, "response"};
  into.check = check_text_body;
  into.gives = [](const Json&, const Json&) { return ValueSpace{JsonKinds::object, {}}; };
  return {std::move(url),
          setting("method", check_method),
          setting("query", check_parameters),
          setting("headers", check_headers),
          {"body"},
          setting("form", check_parameters),
          setting("text", check_text_body),
          std::move(auth),
          setting("ok", check_ok),
          setting("keep", check_kept),
          setting("as", check_form_of_body),
          setting("timeout_ms", check_call_ms),
          setting("max_bytes", check_answer_bytes),
          std::move(into)};
}

Status check_http_call(const Json& with) {
  const Json* method = given(with, "method");
  std::vector<std::string> bodies;
  for (const char* name : {"body", "form", "text"})
    if (given(with, name) != nullptr) bodies.emplace_back(name);
  if (bodies.size() > 1)
    return Error{Code::invalid,
                 "Expected one of body, form and text, but found \"" + bodies[0] + "\" and \"" + bodies[1] + "\"."};
  const bool has_none = method == nullptr || *method == "GET" || *method == "HEAD";
  if (has_none && !bodies.empty())
    return Error{Code::invalid,
                 "Expected no body with " + text_or(with, "method", "GET") + ", but found \"" + bodies[0] + "\"."};
  return Done{};
}

Status check_call_settings(const Json& with) {
  if (given(with, "url") == nullptr)
    return Error{Code::invalid, "Expected a \"url\" in the settings of http.call, but there is none."};
  for (const HandlerSetting& setting : http_call_settings()) {
    const Json* value = given(with, setting.name.c_str());
    if (value == nullptr || setting.check == nullptr) continue;
    if (const Status fits = setting.check(*value); !fits)
      return Error{Code::invalid, "In \"" + setting.name + "\" of http.call: " + fits.error().message};
  }
  return check_http_call(with);
}

std::vector<std::string> needs_of_http_call(const Json& with) {
  const Json* url = given(with, "url");
  if (url == nullptr || !url->is_string()) return {};
  std::vector<std::string> needs = {"url " + url->get<std::string>()};
  const Json* auth = given(with, "auth");
  const Result<HttpAuth> parsed = parse_http_auth(auth == nullptr ? Json() : *auth);
  if (!parsed) return needs;
  for (const auto& [place, name] : parsed->secrets) needs.push_back("secret " + name);
  return needs;
}

boost::asio::awaitable<ToolAnswer> call_url(HttpClient& client, const UrlList& urls, Secrets& secrets, ToolCall call) {
  Result<HttpRequest> request = request_of_call(call);
  if (!request) co_return invalid_input(request.error().message);
  if (!urls.holds(request->url))
    co_return failure("refused",
                      "Expected a URL that this worker may call (\"urls\" of \"builtin\" in the tools file), but it is "
                      "another one.",
                      false);
  const Json* auth = given(call.inputs, "auth");
  const Result<HttpAuth> parsed = parse_http_auth(auth == nullptr ? Json() : *auth);
  if (!parsed) co_return invalid_input(parsed.error().message);
  if (auto added = add_auth(*request, *parsed, secrets); !added) co_return std::move(added).error();
  const std::int64_t timeout_ms = request->timeout_ms;
  const HttpResult result = co_await client.send(*std::move(request));
  if (!result) co_return failure_of_call(result.error(), timeout_ms);
  co_return outputs_of_call(call.inputs, *result, secrets);
}

}  // namespace cairn
