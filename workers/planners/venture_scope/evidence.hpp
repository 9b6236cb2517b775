// Numbers in prose, found by word rules without understanding. The sentence that holds the number goes along, so that a
// person can check it. Pure functions, safe from any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// "EUR 4.1 million", "12 %", "2,476,190", "8 years".
struct Quantity {
  double value = 0;  // with its scale; a percentage as a share (12 % is 0.12)
  bool is_percent = false;
  std::string currency;        // three letters; "" none
  bool may_be_a_year = false;  // four bare digits
  std::size_t begin = 0;       // in the text
  std::size_t end = 0;
};

std::vector<Quantity> quantities_in(std::string_view text);

// The quantity that makes up the whole text; nothing if the text holds more than one, or anything else.
std::optional<Quantity> read_quantity(std::string_view text);

// Whether the text has the phrase, or one of several between "|", as words; case does not count in ASCII.
bool mentions_phrase(std::string_view text, std::string_view phrase);

// The description of a number that is searched for in a passage.
struct Sought {
  enum class Kind { number, share, money };
  Kind kind = Kind::number;
  std::string currency;              // of money
  std::vector<std::string> about;    // phrases that the sentence must have; the number nearest to the first is taken
  std::vector<std::string> context;  // phrases that the passage or its title must have
  double min = 0;
  double max = 0;
};

struct Evidence {
  double value = 0;
  std::string says;  // the sentence
};

// The first sentence that fits, and in it the nearest number that does.
std::optional<Evidence> find_evidence(const std::string& title, const std::string& passage, const Sought& sought);

}  // namespace cairn
