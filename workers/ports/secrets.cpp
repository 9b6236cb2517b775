#include "workers/ports/secrets.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "engine/text.hpp"
#include "storage/ground/base64.hpp"
#include "workers/ports/failures.hpp"
#include "workers/ports/text_file.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

constexpr std::size_t known_max = 1'000;
constexpr std::size_t escape_depth_max = 8;  // of escapes of escapes
constexpr std::size_t escape_bytes_max = 48;
constexpr std::size_t word_bytes_min = 3;  // of a key that is looked for as a word
constexpr const char* redaction = "***";

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

std::string secret_named(const std::string& name) { return "secret \"" + name + "\""; }

Error bad_secret(const std::string& name, const std::string& wanted, const Json& but) {
  return {Code::invalid, "Expected " + wanted + " for " + secret_named(name) + ", but got " + excerpt(but, 200) + "."};
}

Result<std::optional<UrlList>> read_places(const std::string& name, const Json& entry) {
  if (!entry.contains("urls")) return std::optional<UrlList>();
  const Json& urls = entry["urls"];
  const auto is_text = [](const Json& item) { return item.is_string(); };
  if (!urls.is_array() || !std::all_of(urls.begin(), urls.end(), is_text))
    return bad_secret(name, "\"urls\" to be a list of URLs", urls);
  Result<UrlList> list = UrlList::of(urls.get<std::vector<std::string>>());
  if (!list) return Error{Code::invalid, list.error().message + " It stands at " + secret_named(name) + "."};
  return std::optional<UrlList>(*std::move(list));
}

Result<SecretSource> parse_secret(const std::string& name, const Json& entry) {
  if (!is_secret_name(name))
    return Error{Code::invalid, "Expected the name of a secret to be letters, digits and _ . - , but got " +
                                    excerpt(Json(name), 100) + "."};
  if (!entry.is_object() || entry.contains("env") == entry.contains("file"))
    return Error{Code::invalid, "Expected exactly one of \"env\" and \"file\" for " + secret_named(name) +
                                    ", but it has not."};  // whatever stands there may be the value itself
  SecretSource source{name, {}, {}};
  for (const auto& [key, value] : entry.items()) {
    if (key == "urls") continue;
    if (key != "env" && key != "file") return bad_secret(name, "only env, file and urls", Json(key));
    const bool fits = value.is_string() && !value.get_ref<const std::string&>().empty() &&
                      value.get_ref<const std::string&>().find('\0') == std::string::npos;
    if (!fits) return bad_secret(name, "\"" + key + "\" to be a text", value);
    (key == "env" ? source.env : source.file) = value.get<std::string>();
  }
  auto places = read_places(name, entry);
  if (!places) return places.error();
  source.urls = *std::move(places);
  return source;
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

// The sentence says nothing of the value but its form.
Result<std::string> usable_secret(const SecretSource& source, std::string value) {
  while (!value.empty() && (value.back() == '\n' || value.back() == '\r')) value.pop_back();
  const bool fits = value.size() >= secret_bytes_min && value.size() <= secret_bytes_max && is_printable(value);
  if (fits) return value;
  const std::string where = source.env.empty() ? "its file" : "the variable " + source.env;
  return Error{Code::invalid, "Expected one line of " + std::to_string(secret_bytes_min) + " to " +
                                  std::to_string(secret_bytes_max) + " printable characters of ASCII for " +
                                  secret_named(source.name) + ", but " + where + " has something else."};
}

Result<std::string> read_secret(const SecretSource& source) {
  if (!source.env.empty()) {
    const char* value = std::getenv(source.env.c_str());
    if (value != nullptr) return usable_secret(source, value);
    return Error{Code::invalid, "Expected " + secret_named(source.name) + " in the variable " + source.env +
                                    ", but there is no such variable."};
  }
  Result<std::string> text = read_text_file(source.file, secret_named(source.name));
  if (!text) return Error{Code::invalid, text.error().message};
  return usable_secret(source, *std::move(text));
}

// --- finding a value, however it is written -------------------------------------------------------------------------

struct Reading {
  char byte = 0;
  std::size_t length = 0;
};

// Each way to read the next byte.
struct Readings {
  void add(char byte, std::size_t length) {
    if (count < all.size()) all[count++] = {byte, length};
  }
  // %41, %2541, %252541 ...; and %, %25, %2525 ... for a percent sign.
  void add_percents(std::string_view text) {
    std::size_t at = 1;
    for (std::size_t depth = 0; depth < escape_depth_max && text.substr(at, 2) == "25"; ++depth) {
      at += 2;
      add('%', at);
    }
    add_hex(text, at);
  }
  // \u0041, \\u0041, \", \/ ...; and \, \\, \\\\ ... for a backslash.
  void add_backslashes(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size() && at < escape_depth_max && text[at] == '\\') ++at;
    for (std::size_t length = 2; length <= at; length *= 2) add('\\', length);
    if (at >= text.size()) return;
    if (text[at] == '"' || text[at] == '/') add(text[at], at + 1);
    if (text.substr(at, 3) == "u00") add_hex(text, at + 3);
  }
  // &lt;, &amp;lt;, &amp;amp;lt;, &#60;, &#x3c; ...; and &amp;, &amp;amp; ... for an ampersand.
  void add_references(std::string_view text) {
    std::size_t at = 1;
    for (std::size_t depth = 0; depth < escape_depth_max && text.substr(at, 4) == "amp;"; ++depth) {
      at += 4;
      add('&', at);
    }
    constexpr std::array<std::pair<std::string_view, char>, 4> names = {
        {{"lt;", '<'}, {"gt;", '>'}, {"quot;", '"'}, {"apos;", '\''}}};
    for (const auto& [name, byte] : names)
      if (text.substr(at).starts_with(name)) add(byte, at + name.size());
    if (text.substr(at, 1) == "#") add_number(text, at + 1);
  }
  // 60; or x3c; of a reference.
  void add_number(std::string_view text, std::size_t at) {
    const bool is_hex = text.substr(at, 1) == "x" || text.substr(at, 1) == "X";
    if (is_hex) ++at;
    const std::string_view digits = text.substr(at, text.substr(at, 8).find(';'));
    unsigned code = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), code, is_hex ? 16 : 10);
    const std::size_t end = at + digits.size();
    const bool is_whole = read.ec == std::errc() && read.ptr == digits.data() + digits.size() && end < text.size();
    if (is_whole && text[end] == ';' && code < 128) add(static_cast<char>(code), end + 1);
  }
  void add_hex(std::string_view text, std::size_t at) {
    if (at + 1 >= text.size()) return;
    const int high = hex_digit(text[at]);
    const int low = hex_digit(text[at + 1]);
    if (high >= 0 && low >= 0) add(static_cast<char>(high * 16 + low), at + 2);
  }

  std::array<Reading, 12> all{};
  std::size_t count = 0;
};

Readings readings_of(std::string_view text) {
  Readings readings;
  readings.add(text[0], 1);
  if (text[0] == '%') readings.add_percents(text);
  if (text[0] == '+') readings.add(' ', 1);
  if (text[0] == '\\') readings.add_backslashes(text);
  if (text[0] == '&') readings.add_references(text);
  return readings;
}

// The text ends within what may be an escape: with more of it, it may be read in another way.
bool is_cut_escape(std::string_view text) {
  if (text.size() > escape_bytes_max) return false;
  const auto all_of = [&text](auto is_part) { return std::all_of(text.begin() + 1, text.end(), is_part); };
  if (text[0] == '%') return all_of([](char c) { return hex_digit(c) >= 0; });
  if (text[0] == '\\') return all_of([](char c) { return hex_digit(c) >= 0 || c == '\\' || c == 'u'; });
  return text[0] == '&' && all_of([](char c) { return is_letter_or_digit(c) || c == '#' || c == ';'; });
}

// A byte of a word in any language.
bool is_of_a_word(char c) { return is_letter_or_digit(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80; }

// The bytes before `at` are an escape: \n, %20, \u0022.
bool ends_escape(std::string_view text, std::size_t at) {
  return (at >= 2 && text[at - 2] == '\\') || (at >= 3 && text[at - 3] == '%') ||
         (at >= 6 && text.substr(at - 6, 2) == "\\u");
}

bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  const bool begins = begin == 0 || !is_of_a_word(text[begin - 1]) || ends_escape(text, begin);
  return begins && (end == text.size() || !is_of_a_word(text[end]));
}

// Both alphabets of base64 as one.
char in_base64(char c) {
  if (c == '-') return '+';
  return c == '_' ? '/' : c;
}

bool is_of_base64(char c) { return is_letter_or_digit(c) || c == '+' || c == '/' || c == '-' || c == '_'; }

// The characters of base64 that depend on the value alone if `before` bytes stand before it in their group of three.
std::string within_base64(const std::string& value, std::size_t before) {
  const std::string all = base64(std::string(before, '\0') + value);
  const std::size_t from = (before * 8 + 5) / 6;
  const std::size_t to = (before + value.size()) * 8 / 6;
  return all.substr(from, to - from);
}

}  // namespace

bool is_secret_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return is_letter_or_digit(c) || c == '_' || c == '.' || c == '-';
  });
}

Result<std::vector<SecretSource>> parse_secrets(const Json& section) {
  if (!section.is_object() || section.size() > secrets_max)
    return Error{Code::invalid, "Expected \"secrets\" to be an object of at most " + std::to_string(secrets_max) +
                                    " names, but got " + excerpt(section, 200) + "."};
  std::vector<SecretSource> sources;
  for (const auto& [name, entry] : section.items()) {
    Result<SecretSource> source = parse_secret(name, entry);
    if (!source) return source.error();
    sources.push_back(*std::move(source));
  }
  return sources;
}

Result<Secrets> Secrets::open(std::vector<SecretSource> sources) {
  Secrets secrets;
  for (SecretSource& source : sources) {
    const Result<std::string> value = read_secret(source);
    if (!value) return value.error();
    secrets.remember(*value);
    if (!source.env.empty()) secrets.from_environment_[source.name] = *value;
    const std::string name = source.name;
    secrets.sources_[name] = std::move(source);
  }
  return secrets;
}

Secrets Secrets::unnamed(const std::string& value) {
  Secrets secrets;
  if (value.size() >= secret_bytes_min) secrets.remember(value);
  return secrets;
}

Secrets Secrets::of_key(const std::string& key, Within within) {
  Secrets secrets = unnamed(key);
  if (key.empty() || key.size() >= secret_bytes_min) return secrets;
  for (const char* scheme : {"Bearer ", "bearer "}) secrets.words_.add(scheme + key);
  const auto has = [&key](auto is_one) { return std::any_of(key.begin(), key.end(), is_one); };
  const bool has_digit = has([](char c) { return c >= '0' && c <= '9'; });
  const bool has_letter = has([](char c) { return is_letter_or_digit(c) && (c < '0' || c > '9'); });
  const bool is_sought = within == Within::refusals || (has_digit && has_letter);
  if (is_sought && key.size() >= word_bytes_min) secrets.words_.add(key);
  return secrets;
}

Result<std::string, Failure> Secrets::value(const std::string& name) {
  const auto source = sources_.find(name);
  if (source == sources_.end())
    return failure("refused", "Expected a secret of this worker, but there is no " + secret_named(name) + " here.",
                   false);
  if (const auto kept = from_environment_.find(name); kept != from_environment_.end()) return kept->second;
  const Result<std::string> value = read_secret(source->second);
  if (!value) return failure("secret", value.error().message, true);
  remember(*value);
  return *value;
}

bool Secrets::may_go(const std::string& name, std::string_view url) const {
  const auto source = sources_.find(name);
  return source != sources_.end() && (!source->second.urls || source->second.urls->holds(url));
}

bool Secrets::may_go_to_page(const std::string& name, std::string_view url) const {
  const auto source = sources_.find(name);
  return source != sources_.end() && source->second.urls && source->second.urls->holds(url);
}

void Secrets::remember(const std::string& value) {
  if (std::find(known_.begin(), known_.end(), value) != known_.end()) return;
  known_.push_back(value);
  if (known_.size() > known_max) known_.pop_front();
  plain_ = {};
  base64_ = {};
  base64_.is_base64 = true;
  for (const std::string& one : known_) {
    plain_.add(one);
    for (std::size_t before = 0; before < 3; ++before) base64_.add(within_base64(one, before));
  }
}

void SecretTrie::add(const std::string& text) {
  for (int c = 0; c < 256; ++c) {
    const auto byte = static_cast<char>(c);
    const bool is_first = is_base64 ? in_base64(byte) == in_base64(text[0]) : byte == text[0];
    const bool is_escape = byte == '%' || byte == '\\' || byte == '+' || byte == '&';
    if (is_first || is_escape) begins[static_cast<std::size_t>(c)] = true;
  }
  std::uint32_t at = 0;
  for (const char c : text) {
    const char byte = is_base64 ? in_base64(c) : c;
    if (const std::uint32_t known = next(at, byte); known != 0) {
      at = known;
      continue;
    }
    const auto made = static_cast<std::uint32_t>(nodes.size());
    nodes[at].next.emplace_back(byte, made);
    nodes.emplace_back();
    at = made;
  }
  nodes[at].is_end = true;
}

std::uint32_t SecretTrie::next(std::uint32_t node, char byte) const {
  for (const auto& [label, child] : nodes[node].next)
    if (label == byte) return child;
  return 0;
}

// A byte may be read in several ways, so several places are followed at once.
SecretMatch SecretTrie::longest(std::string_view text, std::size_t from) const {
  struct Place {
    std::uint32_t node = 0;
    std::size_t at = 0;
    bool operator==(const Place&) const = default;
  };
  SecretMatch match{from};
  std::array<Place, 16> places{Place{0, from}};
  std::size_t count = 1;
  while (count > 0) {
    std::array<Place, 16> further{};
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (nodes[places[i].node].is_end) match.end = std::max(match.end, places[i].at);
      const std::string_view rest = text.substr(std::min(places[i].at, text.size()));
      match.ends_within = match.ends_within || rest.empty();
      match.goes_beyond = match.goes_beyond || rest.empty() || is_cut_escape(rest);
      if (rest.empty()) continue;
      const Readings readings = readings_of(rest);
      for (std::size_t n = 0; n < readings.count && found < further.size(); ++n) {
        const char byte = is_base64 ? in_base64(readings.all[n].byte) : readings.all[n].byte;
        const Place place{next(places[i].node, byte), places[i].at + readings.all[n].length};
        const auto end = further.begin() + static_cast<std::ptrdiff_t>(found);
        if (place.node != 0 && std::find(further.begin(), end, place) == end) further[found++] = place;
      }
    }
    places = further;
    count = found;
  }
  return match;
}

std::string Secrets::redacted(std::string_view text) const { return cleaned(text, 0, text.size(), false).text; }

// A character has at most four bytes, and each is shown by one at least.
std::string Secrets::redacted_line(std::string_view text, std::size_t bytes_max) const {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return readable_line(cleaned(text, 0, 4 * (bytes_max + 1), false).text, bytes_max);
}

SecretMatch Secrets::match_at(std::string_view text, std::size_t at, bool& is_coded) const {
  const auto first = static_cast<unsigned char>(text[at]);
  const auto found_by = [&](const SecretTrie& trie) {
    return trie.begins[first] ? trie.longest(text, at) : SecretMatch{at};
  };
  SecretMatch plain = found_by(plain_);
  const SecretMatch coded = found_by(base64_);
  SecretMatch word = found_by(words_);
  if (!stands_alone(text, at, word.end)) word.end = at;
  plain.end = std::max(plain.end, word.end);
  is_coded = coded.end > plain.end;
  return {std::max(plain.end, coded.end), plain.ends_within || coded.ends_within || word.ends_within,
          plain.goes_beyond || coded.goes_beyond || word.goes_beyond};
}

Secrets::Cleaned Secrets::cleaned(std::string_view text, std::size_t from, std::size_t enough, bool more_comes) const {
  if (!knows_any()) return {std::string(text.substr(from, enough)), text.size()};
  std::string clean;
  clean.reserve(std::min(text.size() - from, enough));
  std::size_t at = from;
  bool is_as_it_was = false;  // the last byte
  while (at < text.size() && clean.size() < enough) {
    bool is_coded = false;
    SecretMatch match = match_at(text, at, is_coded);
    if (more_comes && match.goes_beyond) break;
    is_as_it_was = match.end == at;
    if (is_as_it_was) {
      clean += text[at++];
      continue;
    }
    // The characters of base64 around it hold the rest of the value's first and last byte.
    if (is_coded && !clean.empty() && is_of_base64(clean.back())) clean.pop_back();
    if (is_coded && match.end < text.size() && is_of_base64(text[match.end])) ++match.end;
    clean += redaction;
    at = match.end;
  }
  if (more_comes && is_as_it_was && !base64_.is_empty() && is_of_base64(clean.back())) {  // a coded value may follow
    clean.pop_back();
    --at;
  }
  return {std::move(clean), at};
}

std::size_t Secrets::cut_value_in(std::string_view text) const {
  constexpr std::size_t piece_bytes_min = 4;
  constexpr std::size_t window = 6 * secret_bytes_max;  // a byte may be written by six
  bool is_coded = false;
  for (std::size_t at = text.size() > window ? text.size() - window : 0; at + piece_bytes_min <= text.size(); ++at)
    if (match_at(text, at, is_coded).ends_within) return at;
  return text.size();
}

std::string Secrets::redacted_cut(std::string_view text) const {
  const std::string clean = redacted(text);
  if (!knows_any()) return clean;
  constexpr std::size_t mark_bytes = 3;  // each mark has so many
  std::string told;
  const std::string_view text_left = clean;
  std::size_t letter = text_left.find("\u2026"), dots = text_left.find("...");
  for (std::size_t from = 0;;) {
    if (letter < from) letter = text_left.find("\u2026", from);
    if (dots < from) dots = text_left.find("...", from);
    const std::size_t mark = std::min(letter, dots);
    if (mark == std::string_view::npos) return told.append(text_left.substr(from));
    const std::string_view before = text_left.substr(from, mark - from);
    const std::size_t piece = cut_value_in(before);
    told.append(before.substr(0, piece)).append(piece < before.size() ? redaction : "");
    told.append(text_left.substr(mark, mark_bytes));
    from = mark + mark_bytes;
  }
}

std::string RedactedPieces::add(std::string_view more) {
  constexpr std::size_t context_bytes = 8;  // by which a word and an escape before it are distinguished
  if (!secrets_.knows_any()) return std::string(more);
  text_ += more;
  Secrets::Cleaned cleaned = secrets_.cleaned(text_, told_, std::string::npos, true);
  const std::size_t kept_from = cleaned.read - std::min(cleaned.read, context_bytes);
  text_.erase(0, kept_from);
  told_ = cleaned.read - kept_from;
  return std::move(cleaned.text);
}

Json Secrets::redacted_json(const Json& value) const {
  if (!knows_any()) return value;
  if (value.is_string()) return redacted(value.get_ref<const std::string&>());
  if (value.is_number()) {
    const std::string text = value.dump();
    std::string clean = redacted(text);
    return clean == text ? value : Json(std::move(clean));
  }
  if (value.is_array()) {
    Json list = Json::array();
    for (const Json& item : value) list.push_back(redacted_json(item));
    return list;
  }
  if (!value.is_object()) return value;
  Json object = Json::object();
  for (const auto& [key, member] : value.items()) object[redacted(key)] = redacted_json(member);
  return object;
}

}  // namespace cairn
