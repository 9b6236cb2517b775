// Text from outside (a tool's last words, an endpoint's answer) made fit for a sentence and for an event. Pure
// functions, safe from any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cairn {

// The text with every character that a terminal obeys rather than shows (C0 but line break and tab, DEL, C1, and the
// marks that turn the direction of writing) as \uXXXX, and each byte that is no UTF-8 as "?". Within JSON that changes
// no value.
std::string visible(std::string_view text);

// One line of valid UTF-8 without such characters, of at most `bytes_max` bytes and a "..." where it was cut.
std::string readable_line(std::string_view text, std::size_t bytes_max);

bool is_utf8(std::string_view text);
// The text with each byte that is no UTF-8 as "?".
std::string with_replacements(std::string_view text);

// The last line that is not blank; "" if there is none.
std::string_view last_line(std::string_view text);

// The end of a long text that comes in pieces: the lines that begin within about its last `bytes_max` bytes. A line
// that began before is left out whole, because the rest of it might begin with a half of a secret, which nothing would
// find.
class LastLines {
 public:
  explicit LastLines(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  void add(std::string_view more);
  const std::string& text() const { return text_; }

 private:
  std::size_t bytes_max_;
  std::string text_;
  bool is_within_ = false;  // a line that is left out
};

}  // namespace cairn
