#include "workers/planners/venture_scope/evidence.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "engine/text.hpp"
#include "workers/tools/corpus/sentences.hpp"

namespace cairn {
namespace {

// A word by its stem, and where it stands.
struct Word {
  std::string stem;
  std::size_t begin = 0;
  std::size_t end = 0;
};

bool has_vowel(std::string_view text) { return text.find_first_of("aeiouy") != std::string_view::npos; }

// The common endings of English words; what is left need not be a word.
std::string stem_of(std::string word) {
  constexpr std::size_t left_min = 3;
  const auto drop = [&word](std::string_view ending, std::string_view instead = "") {
    if (!word.ends_with(ending) || word.size() - ending.size() + instead.size() < left_min) return false;
    if (!has_vowel(std::string_view(word).substr(0, word.size() - ending.size()))) return false;
    word.resize(word.size() - ending.size());
    word += instead;
    return true;
  };
  drop("ership");
  const bool is_plural = word.ends_with("s") && !word.ends_with("ss") && !word.ends_with("us") && !word.ends_with("is");
  if (is_plural && !drop("ies", "y") && !drop("sses", "ss") && !drop("xes", "x") && !drop("ches", "ch")) drop("s");
  if (!drop("ing")) drop("ed");
  drop("e");
  return word;
}

std::vector<Word> words_in(std::string_view text) {
  std::vector<Word> words;
  std::string word;
  std::size_t begin = 0;
  const auto end_at = [&](std::size_t end) {
    if (!word.empty()) words.push_back({stem_of(std::move(word)), begin, end});
    word.clear();
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const char small = lowered(c);
    const bool is_part = (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') || (c & 0x80) != 0;
    if (!is_part) {
      end_at(at);
      continue;
    }
    if (word.empty()) begin = at;
    word += small;
  }
  end_at(text.size());
  return words;
}

using Place = std::pair<std::size_t, std::size_t>;  // from and to, in bytes

// Every place of one of a phrase's alternatives.
std::vector<Place> places_of(const std::vector<Word>& words, std::string_view phrase) {
  std::vector<Place> places;
  while (!phrase.empty()) {
    const std::size_t end = std::min(phrase.find('|'), phrase.size());
    const std::vector<Word> wanted = words_in(phrase.substr(0, end));
    phrase.remove_prefix(std::min(end + 1, phrase.size()));
    for (std::size_t at = 0; !wanted.empty() && at + wanted.size() <= words.size(); ++at) {
      const bool stands = std::equal(wanted.begin(), wanted.end(), words.begin() + static_cast<std::ptrdiff_t>(at),
                                     [](const Word& left, const Word& right) { return left.stem == right.stem; });
      if (stands) places.emplace_back(words[at].begin, words[at + wanted.size() - 1].end);
    }
  }
  return places;
}

// Characters between the quantity and the nearest of the places.
std::size_t distance_to(const std::vector<Place>& places, const Quantity& quantity) {
  std::size_t nearest = std::numeric_limits<std::size_t>::max();
  for (const auto& [begin, end] : places)
    nearest = std::min(nearest,
                       begin >= quantity.end ? begin - quantity.end : quantity.begin - std::min(end, quantity.begin));
  return nearest;
}

bool mentions_all(std::string_view text, const std::vector<std::string>& phrases) {
  const std::vector<Word> words = words_in(text);
  return std::all_of(phrases.begin(), phrases.end(),
                     [&words](const std::string& phrase) { return !places_of(words, phrase).empty(); });
}

// Times that a rate happens in another's period; 0: none that is exact.
double rate_factor(std::string_view from, std::string_view to) {
  if (from == to) return 1;
  if (to == "year" && from == "month") return 12;
  if (to == "year" && from == "quarter") return 4;
  return 0;
}

bool fits_rate(const Quantity& quantity, const Sought& sought) {
  return quantity.per.empty() || (!sought.per.empty() && rate_factor(quantity.per, sought.per) > 0);
}

// Whether the sentence may give its number to something else than what it speaks of.
bool is_of_another(const std::string& sentence, const Sought& sought) {
  if (mentions_phrase(sentence, "not|no|never|without|neither|nor|except|together|combined|respectively")) return true;
  const bool foretells =
      mentions_phrase(sentence, "will|forecast|expected to|is predicted|are predicted|is projected|are projected");
  if (foretells && !sought.takes_forecasts) return true;
  if (sought.kind == Sought::Kind::share) return false;
  if (mentions_phrase(sentence, "for every|per thousand|per hundred|per 100|per 1,000|per 10,000|per 100,000"))
    return true;
  const std::string lower = lowered(sentence.substr(0, sizeof "of the"));
  return sought.kind == Sought::Kind::number && (lower.starts_with("of the ") || lower.starts_with("among "));
}

}  // namespace

bool mentions_phrase(std::string_view text, std::string_view phrase) {
  return !places_of(words_in(text), phrase).empty();
}

double value_for(const Quantity& quantity, const Sought& sought) {
  return quantity.per.empty() || sought.per.empty() ? quantity.value
                                                    : quantity.value * rate_factor(quantity.per, sought.per);
}

bool fits_sought(const Quantity& quantity, const Sought& sought) {
  if (!quantity.doubt.empty() || quantity.may_be_a_year || quantity.is_change || !fits_rate(quantity, sought))
    return false;
  const double value = value_for(quantity, sought);
  if (value < sought.min || value > sought.max) return false;
  switch (sought.kind) {
    case Sought::Kind::number:
      return !quantity.is_percent && quantity.currency.empty();
    case Sought::Kind::share:
      return quantity.is_percent;
    case Sought::Kind::money:
      return quantity.currency == sought.currency && !quantity.is_percent;
  }
  return false;
}

std::vector<Evidence> find_evidence(const std::string& title, const std::string& passage, const Sought& sought) {
  std::vector<Evidence> found;
  if (sought.about.empty() || !mentions_all(title + "\n" + passage, sought.context)) return found;
  for (std::string& sentence : sentences_of(passage)) {
    if (!mentions_all(sentence, sought.about) || is_of_another(sentence, sought)) continue;
    const bool has_scale_in_heading = mentions_phrase(sentence, "in thousands|in millions|in billions|in 1,000");
    const std::vector<Place> places = places_of(words_in(sentence), sought.about[0]);
    std::optional<std::pair<std::size_t, Quantity>> nearest;
    for (const Quantity& quantity : quantities_in(sentence)) {
      if (!fits_sought(quantity, sought) || (has_scale_in_heading && quantity.scale == 1)) continue;
      const std::size_t distance = distance_to(places, quantity);
      if (!nearest || distance < nearest->first) nearest = {distance, quantity};
    }
    if (nearest) found.push_back({nearest->second, std::move(sentence)});
  }
  return found;
}

}  // namespace cairn
