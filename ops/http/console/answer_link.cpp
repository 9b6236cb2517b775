#include "ops/http/console/answer_link.hpp"

#include <algorithm>

#include "engine/json.hpp"
#include "storage/data/link_key.hpp"
#include "storage/ground/base64.hpp"

namespace cairn {
namespace {

constexpr std::size_t token_bytes_max = 4'096;

// Base64 for addresses (RFC 4648, 5), without padding.
std::string address_text(std::string_view bytes) {
  std::string text = base64(bytes);
  while (text.ends_with('=')) text.pop_back();
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

std::optional<std::string> parse_address_text(std::string_view given) {
  std::string text(given);
  std::replace(text.begin(), text.end(), '-', '+');
  std::replace(text.begin(), text.end(), '_', '/');
  text.append((4 - text.size() % 4) % 4, '=');
  return parse_base64(text);
}

std::string signature_of(std::string_view said, std::string_view key) {
  const Hash code = hmac_sha256(key, "cairn answer link " + std::string(said));
  return address_text({reinterpret_cast<const char*>(code.data()), code.size()});
}

Error no_link() { return {Code::invalid, "Expected the whole link as it was sent, but it is not one of this server."}; }

}  // namespace

std::string link_token(const AnswerLink& link, std::string_view key) {
  const Json said = {
      {"run", to_string(link.run)}, {"question", link.question}, {"by", link.by}, {"expires_at", link.expires_at}};
  const std::string text = address_text(said.dump());
  return text + "." + signature_of(text, key);
}

Result<AnswerLink> link_of(std::string_view token, std::string_view key, TimeUs now) {
  const std::size_t dot = token.find('.');
  if (token.size() > token_bytes_max || dot == std::string_view::npos) return no_link();
  const std::string_view text = token.substr(0, dot);
  const bool is_signed = is_same_code(token.substr(dot + 1), signature_of(text, key));
  const std::optional<std::string> said = is_signed ? parse_address_text(text) : std::nullopt;
  if (!said) return no_link();
  const Json fields = parse_stored(*said);  // what is signed was written here
  const std::optional<RunId> run = parse_run_id(fields.at("run").get<std::string>());
  CHECK(run.has_value());
  AnswerLink link{*run, fields.at("question"), fields.at("by"), fields.at("expires_at")};
  if (link.expires_at > now) return link;
  return Error{Code::closed,
               "Expected a link that still holds, but its time was over at " + time_text(link.expires_at) + "."};
}

}  // namespace cairn
