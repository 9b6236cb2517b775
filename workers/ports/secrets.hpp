// Secrets by name: values that calls and programs get from the worker, which no graph, event, log or message holds. A
// value comes from a variable of the worker's environment or from a file; what comes back from outside is redacted
// before it becomes an answer. For one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/command.hpp"
#include "engine/json.hpp"
#include "engine/result.hpp"
#include "workers/ports/url_place.hpp"

namespace cairn {

inline constexpr std::size_t secret_bytes_min = 8;  // a shorter one stands in too many texts
inline constexpr std::size_t secret_bytes_max = 4096;
inline constexpr std::size_t secrets_max = 100;

// One of the tools file: {"env": "VARIABLE"} or {"file": "PATH"}, with "urls": where it may go.
struct SecretSource {
  std::string name;
  std::string env;                   // "": it is in a file
  std::string file;                  // read at each use
  std::optional<UrlList> urls = {};  // none: to every URL that the worker calls
};

// Letters, digits and _ . - , at most 64.
bool is_secret_name(std::string_view name);

// Refuses `invalid` with a sentence that names the secret and the fault.
Result<std::vector<SecretSource>> parse_secrets(const Json& section);

// A value found in a text, or what may become one with more of the text.
struct SecretMatch {
  std::size_t end = 0;       // where the longest value ends; where the search began, if there is none
  bool ends_within = false;  // the text ends within a value, one byte of it at least
  bool goes_beyond = false;  // or within what may be one
};

// Texts by their common beginnings, to find any of them in one pass however it is escaped.
struct SecretTrie {
  struct Node {
    std::vector<std::pair<char, std::uint32_t>> next;
    bool is_end = false;
  };
  void add(const std::string& text);
  SecretMatch longest(std::string_view text, std::size_t from) const;
  std::uint32_t next(std::uint32_t node, char byte) const;  // 0: none
  bool is_empty() const { return nodes.front().next.empty(); }

  std::vector<Node> nodes = std::vector<Node>(1);
  std::array<bool, 256> begins{};  // bytes by which one of them may begin
  bool is_base64 = false;          // both alphabets are one
};

class Secrets {
 public:
  Secrets() = default;

  // Reads all of them. Refuses `invalid`: one that is missing, is no single line of printable ASCII, or is too short or
  // too long. The sentence never has the value.
  static Result<Secrets> open(std::vector<SecretSource> sources);

  // A value without a name, that no call gets and every text is rid of; nothing if it is shorter than secret_bytes_min.
  static Secrets unnamed(const std::string& value);
  // The key of an endpoint, which may be a short one, or a mere word where the endpoint wants none ("none", "EMPTY"). A
  // key shorter than secret_bytes_min is found after "Bearer " and as a word of its own: within answers if it has both
  // letters and digits, as words of a language have not, within refusals unless it has fewer than three bytes.
  enum class Within : std::uint8_t { answers, refusals };
  static Secrets of_key(const std::string& key, Within within);

  // Its value now. Fails: `refused`, no such secret; `secret`, retryable, its file cannot be used at this moment.
  Result<std::string, Failure> value(const std::string& name);
  // Whether it may be sent there. False for a name that does not exist.
  bool may_go(const std::string& name, std::string_view url) const;
  // Whether it may be filled into a page there: only one that is bound to URLs may.
  bool may_go_to_page(const std::string& name, std::string_view url) const;

  // The text with "***" in the place of every value that was read so far: as it stands, escaped for a URL, for JSON or
  // for HTML, also more than once, and within base64.
  std::string redacted(std::string_view text) const;
  // One line of it for a sentence (readable_line()), cut after it was redacted: half of a value would not be found.
  // Looks at no more of the text than the line needs.
  std::string redacted_line(std::string_view text, std::size_t bytes_max) const;
  // The same, and of a value that was cut off before a mark ("..." or U+2026) what stands there, from four bytes on.
  std::string redacted_cut(std::string_view text) const;
  // The same as redacted() in every text, key and number.
  Json redacted_json(const Json& value) const;

 private:
  friend class RedactedPieces;
  struct Cleaned {
    std::string text;
    std::size_t read = 0;  // where the rest begins
  };
  // From `from` on, until `enough` bytes are there, and not within a value. If more of the text is to come, it stops
  // before what may become a value.
  Cleaned cleaned(std::string_view text, std::size_t from, std::size_t enough, bool more_comes) const;
  // The longest value that begins at `at`; `is_coded`: it is one within base64.
  SecretMatch match_at(std::string_view text, std::size_t at, bool& is_coded) const;
  // Where the value begins within which the text ends; its size if it ends within none.
  std::size_t cut_value_in(std::string_view text) const;
  bool knows_any() const { return !known_.empty() || !words_.is_empty(); }
  void remember(const std::string& value);

  std::map<std::string, SecretSource, std::less<>> sources_;
  std::map<std::string, std::string, std::less<>> from_environment_;
  std::deque<std::string> known_;  // a file's values change; the latest come last
  SecretTrie plain_;
  SecretTrie base64_;
  SecretTrie words_;  // found only where no letter or digit stands next to them
};

// A text that comes in pieces, redacted: a value that comes apart between them is found, too. A possible
// beginning of one waits for the next piece. REQUIRES: `secrets` outlive it.
class RedactedPieces {
 public:
  explicit RedactedPieces(const Secrets& secrets) : secrets_(secrets) {}
  // The clean text that this piece makes certain; "" for none.
  std::string add(std::string_view more);

 private:
  const Secrets& secrets_;
  std::string text_;      // a little of what was given out, and what waits
  std::size_t told_ = 0;  // bytes of it
};

}  // namespace cairn
