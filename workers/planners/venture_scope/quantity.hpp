// Numbers as prose writes them, read right or refused: "EUR 4.1 million", "$4.2B", "2.850,5 Mio. EUR", "12 %", "5 to
// 6", "300,000 a year". A number that can be read in two ways, or that is no value of its own (a date, a version, one
// part of a ratio), carries its doubt and is never used. Pure functions, safe from any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

struct Quantity {
  double value = 0;  // with its scale; a percentage as a share (12 % is 0.12); of a range the middle
  double low = 0;    // equal to `value` unless it is a range
  double high = 0;
  std::vector<double> written;  // the readings of the digits alone, without scale; of a range both ends
  double scale = 1;
  bool is_percent = false;
  bool is_change = false;       // "grew by 12 %", "1.1 % more"
  std::string currency;         // three letters; "" none
  std::string per;              // "year", "month" ... of a rate; "" none
  std::string hedge;            // "more than", "about" ... before it; "" none
  std::string doubt;            // the reason for which it is refused; "" none
  bool may_be_settled = false;  // the doubt is only which of two `written` its mark means: one who knows may say so
  bool may_be_a_year = false;   // four bare digits
  std::size_t begin = 0;        // in the text, with sign and currency
  std::size_t end = 0;

  bool is_range() const { return low != high; }
};

// In the order of the text, doubtful ones among them.
std::vector<Quantity> quantities_in(std::string_view text);

// The quantity that makes up the whole text; nothing if the text holds more than one, a range, a doubtful one, or
// anything else.
std::optional<Quantity> read_quantity(std::string_view text);

// Whether the text has a word or sign for that scale (1e6: "million", "Mio.", "m" ...), as a table's heading does.
bool names_scale(std::string_view text, double scale);

// Whether the text names the currency by its letters or its sign.
bool names_currency(std::string_view text, std::string_view code);

// Whether the three capital letters are a currency's.
bool is_currency(std::string_view code);

}  // namespace cairn
