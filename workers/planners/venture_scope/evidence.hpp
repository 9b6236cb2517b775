// Values in passages by word rules, without understanding: the offline reader. The sentence that holds a number goes
// along, so that a person can check it. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workers/planners/venture_scope/quantity.hpp"

namespace cairn {

// Whether the text has the phrase, or one of several between "|", word by word in any form of the same stem: "own",
// "owned" and "owns" are one word, and so are "e-bike" and "e-bikes". Case does not count in ASCII.
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
  std::string per = {};  // of a field that is a rate: "year" ...; "" none
  bool takes_forecasts = false;
};

// Whether the quantity is of the kind that is sought, without doubt and within its limits.
bool fits_sought(const Quantity& quantity, const Sought& sought);

// The quantity's value in the field's terms: a monthly rate as a yearly one where the field is yearly.
double value_for(const Quantity& quantity, const Sought& sought);

struct Evidence {
  Quantity quantity;
  std::string says;  // the sentence
};

// The sentences that fit, and in each the nearest number that does. Passed over are those that deny, foretell, add
// several up or count a part, and numbers whose scale is in a heading.
std::vector<Evidence> find_evidence(const std::string& title, const std::string& passage, const Sought& sought);

}  // namespace cairn
