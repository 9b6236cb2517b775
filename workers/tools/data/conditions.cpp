#include "workers/tools/data/conditions.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace cairn {
namespace {

using WordList = std::set<std::string, std::less<>>;
const WordList greater_words = {"greater", "more",  "higher", "larger", "bigger",   "longer",
                                "older",   "later", "better", "taller", "stronger", "faster"};
const WordList less_words = {"less",    "fewer",   "lower", "smaller", "shorter", "younger",
                             "earlier", "cheaper", "worse", "weaker",  "slower"};
const WordList units = {"day",   "days",    "week",     "weeks", "month", "months", "year",
                        "years", "quarter", "quarters", "hour",  "hours", "minute", "minutes"};

bool is_of(const std::string& word, const WordList& words) { return words.contains(word); }

std::string sql_number(double value) {
  if (std::floor(value) == value && std::abs(value) < 1e15) return std::to_string(static_cast<std::int64_t>(value));
  std::string text = std::to_string(value);
  while (text.back() == '0') text.pop_back();
  return text;
}

std::string escaped(const std::string& text) {
  std::string pattern;
  for (const char c : text) pattern += c == '%' || c == '_' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return pattern;
}

// True if "or" joins what begins at `first` to what stands before it, and not a value, table or number between them.
bool follows_or(const QuestionParts& parts, std::size_t first) {
  const Clauses& clauses = parts.clauses;
  for (std::size_t k = first; k-- > 0 && first - k <= 4;) {
    if (clauses[k].sentence != clauses[first].sentence || clauses.is(k, {"and", ",", "more", "less", "fewer"}) ||
        clauses.number(k))
      return false;
    if (clauses.word(k) == "or") return true;
    const Mention* mention = clauses[k].mention;
    if (mention != nullptr && (parts.picker.is_value(*mention) || parts.picker.table(*mention))) return false;
  }
  return false;
}

// "or" before the first condition of its kind, which joins nothing then.
void doubt_or(QuestionParts& parts, std::size_t first) {
  parts.sketch.doubts.push_back("The \"or\" before \"" + parts.clauses[first].token->text +
                                "\" was taken for \"and\".");
}

bool is_number_column(const SchemaColumn& column) { return column.kind == ColumnKind::number; }
bool is_text_column(const SchemaColumn& column) { return column.kind == ColumnKind::text; }
bool is_date_column(const SchemaColumn& column) { return column.kind == ColumnKind::date; }

// --- comparisons -----------------------------------------------------------------------------------------------------
struct Comparison {
  std::string op;
  std::size_t first = 0;   // of its words
  std::size_t number = 0;  // where its number stands
  std::size_t end = 0;     // after it
  std::string sql;
};

class Comparing {
 public:
  explicit Comparing(QuestionParts& parts) : parts_(parts), clauses_(parts.clauses) {}

  std::optional<Comparison> at(std::size_t i) const {
    Comparison found;
    found.first = i;
    const std::string lower = i < clauses_.size() ? clauses_[i].token->lower : "";
    if (!clauses_.is_open(i)) return std::nullopt;
    std::size_t next = i;
    if (clauses_[i].token->kind == TokenKind::sign) {
      if (lower != ">" && lower != "<" && lower != ">=" && lower != "<=" && lower != "=") return std::nullopt;
      found.op = lower;
      next = i + 1;
    } else if (clauses_.word(i) == "between" && clauses_.number(i + 1)) {
      return between(i);
    } else if (is_of(lower, greater_words) && clauses_.word(i + 1) == "than") {
      found.op = ">";
      next = or_equal(i + 2, found.op);
    } else if (is_of(lower, less_words) && clauses_.word(i + 1) == "than") {
      found.op = "<";
      next = or_equal(i + 2, found.op);
    } else if (clauses_.is(i, {"above", "over"}) || lower == "exceeding" || lower == "exceeds" || lower == "exceed") {
      found.op = ">";
      next = i + 1;
    } else if (clauses_.is(i, {"below", "under"})) {
      found.op = "<";
      next = i + 1;
    } else if (clauses_.word(i) == "at" && clauses_.is(i + 1, {"least", "most"})) {
      found.op = clauses_.word(i + 1) == "least" ? ">=" : "<=";
      next = i + 2;
    } else if (clauses_.word(i) == "no" && clauses_.is(i + 1, {"more", "less", "fewer"}) &&
               clauses_.word(i + 2) == "than") {
      found.op = clauses_.word(i + 1) == "more" ? "<=" : ">=";
      next = i + 3;
    } else if (clauses_.is(i, {"exactly"})) {
      found.op = "=";
      next = i + 1;
    } else if (clauses_.word(i) == "equal" && clauses_.word(i + 1) == "to") {
      found.op = "=";
      next = i + 2;
    } else {
      return std::nullopt;
    }
    const std::optional<double> value = clauses_.number(next);
    if (!value) return std::nullopt;
    found.number = next;
    found.end = next + clauses_.number_length(next);
    const bool has_tail = clauses_.word(found.end) == "or" &&
                          clauses_.is(found.end + 1, {"more", "higher", "above", "less", "fewer"}) &&
                          !at(found.end + 1);  // "or more", not "or more than 200"
    if (has_tail) found.end += 2;
    found.sql = found.op + " " + sql_number(*value);
    return found;
  }

  // The column that is compared; nothing if rows of a table are counted, or if it is not clear.
  std::optional<std::size_t> column(const Comparison& found, std::optional<std::size_t>& counted) {
    counted.reset();
    if (const auto before = column_before(found.first, 2)) return before;
    const Mention* after = mention_after(found.end);
    if (after != nullptr) {
      const auto table = parts_.picker.table(*after);
      const auto figure = figure_of(*after);
      if (table && table != parts_.main) {
        counted = table;
        use_after(found.end);
        return std::nullopt;
      }
      if (figure) {
        use_after(found.end);
        return figure;
      }
    }
    if (clauses_[found.first].mention != nullptr)  // "longer than"
      if (const auto own = figure_of(*clauses_[found.first].mention)) return own;
    if (const auto before = column_before(found.first, 6)) return before;
    return std::nullopt;
  }

 private:
  // A figure to compare, not what only identifies rows apart.
  std::optional<std::size_t> figure_of(const Mention& mention) {
    const auto found = parts_.picker.column(mention, parts_.scope(), [](const SchemaColumn& column) {
      return is_number_column(column) && !column.is_unique && !column.is_key;
    });
    return found && parts_.schema.is_reference(*found) ? std::nullopt : found;
  }

  std::optional<Comparison> between(std::size_t i) const {
    const std::size_t middle = i + 1 + clauses_.number_length(i + 1);
    if (clauses_.word(middle) != "and" || !clauses_.number(middle + 1)) return std::nullopt;
    const double low = *clauses_.number(i + 1);
    const double high = *clauses_.number(middle + 1);
    if (low >= 1900 && high <= 2100 && low == std::floor(low)) return std::nullopt;  // years
    return Comparison{"between", i, i + 1, middle + 1 + clauses_.number_length(middle + 1),
                      "between " + sql_number(low) + " and " + sql_number(high)};
  }

  std::size_t or_equal(std::size_t next, std::string& op) const {
    if (clauses_.word(next) != "or" || clauses_.word(next + 1) != "equal") return next;
    op += "=";
    return next + (clauses_.word(next + 2) == "to" ? 3 : 2);
  }

  std::optional<std::size_t> column_before(std::size_t first, std::size_t reach) {
    for (std::size_t k = first; k-- > 0 && first - k <= reach;) {
      if (clauses_[k].sentence != clauses_[first].sentence) break;
      const Mention* mention = clauses_[k].mention;
      if (mention == nullptr) continue;
      if (reach <= 2 && parts_.picker.table(*mention)) return std::nullopt;
      const auto found = figure_of(*mention);
      if (!found) continue;
      clauses_.use(k);
      return found;
    }
    return std::nullopt;
  }

  const Mention* mention_after(std::size_t end) const {
    const Mention* next = clauses_.mention(end);
    if (next == nullptr && end < clauses_.size() && !is_grammar(*clauses_[end].token)) next = clauses_.mention(end + 1);
    return next;
  }
  void use_after(std::size_t end) { clauses_.use(end, clauses_.mention(end) != nullptr ? end : end + 1); }

  QuestionParts& parts_;
  Clauses& clauses_;
};

// After "or" an alternative to the comparison before it, if that is a condition too.
Condition number_condition(QuestionParts& parts, std::size_t column, const Comparison& found, bool has_earlier) {
  const bool is_either = follows_or(parts, found.first);
  if (is_either && !has_earlier) doubt_or(parts, found.first);
  return {column, found.sql, found.sql, "", false, is_either && has_earlier};
}

// --- periods ---------------------------------------------------------------------------------------------------------
struct Period {
  std::size_t end = 0;  // after its words
  std::string from;     // SQL
  std::string until;    // the first moment after it; "": open
  std::string says;
  int year = 0;  // when it is just that
};

// "in 1910" after another word: "before 1910".
std::string without_in(const std::string& says) {
  return says.starts_with("in ") || says.starts_with("on ") ? says.substr(3) : says;
}

std::string unit_of(const std::string& word) {
  std::string unit = word;
  if (unit.ends_with('s')) unit.pop_back();
  return unit;
}

std::string interval_of(double count, const std::string& unit) {
  return unit == "quarter" ? "interval '" + sql_number(count * 3) + " months'"
                           : "interval '" + sql_number(count) + " " + unit + "s'";
}

std::string date_text(int year, int month) {
  return "date '" + std::to_string(year) + "-" + (month < 10 ? "0" : "") + std::to_string(month) + "-01'";
}

std::string month_end(int year, int month) { return month == 12 ? date_text(year + 1, 1) : date_text(year, month + 1); }

class Periods {
 public:
  explicit Periods(QuestionParts& parts) : parts_(parts), clauses_(parts.clauses) {}

  void read(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      if (!clauses_.is_open(i)) continue;
      if (const std::optional<Comparison> compared = Comparing(parts_).at(i)) {  // its number is no year
        i = compared->end - 1;
        continue;
      }
      if (clauses_.word(i) == "between" && read_between(i)) continue;
      const bool is_bound = clauses_.is(i, {"after", "since", "before", "until", "from", "starting"});
      if (is_bound && read_bound(i)) continue;
      const std::optional<Period> period = at(i);
      if (!period) continue;
      add(i, *period, period->from, period->until);
      i = period->end - 1;
    }
  }

 private:
  int year_at(std::size_t i) const {
    if (i >= clauses_.size() || clauses_[i].mention != nullptr || clauses_[i].token->kind != TokenKind::number)
      return 0;
    const double value = clauses_[i].token->number;
    return clauses_[i].token->text.size() == 4 && value >= 1900 && value <= 2100 ? static_cast<int>(value) : 0;
  }

  std::string lower(std::size_t i) const { return i < clauses_.size() ? clauses_[i].token->lower : ""; }

  std::optional<Period> at(std::size_t i) const {
    if (clauses_[i].token->kind == TokenKind::date) {
      const std::string day = "date '" + clauses_[i].token->text + "'";
      return Period{i + 1, day, day + " + 1", "on " + clauses_[i].token->text, 0};
    }
    if (const auto found = relative(i)) return found;
    if (const auto found = quarter(i)) return found;
    if (const auto found = month(i)) return found;
    const std::size_t skip = lower(i) == "year" ? 1 : 0;
    if (const int year = year_at(i + skip); year > 0)
      return Period{i + skip + 1, date_text(year, 1), date_text(year + 1, 1), "in " + std::to_string(year), year};
    return std::nullopt;
  }

  std::optional<Period> relative(std::size_t i) const {
    const std::string word = lower(i);
    if (word == "today") return Period{i + 1, "current_date", "current_date + 1", "today", 0};
    if (word == "yesterday") return Period{i + 1, "current_date - 1", "current_date", "yesterday", 0};
    const bool is_last = word == "last" || word == "past" || word == "previous";
    const bool is_this = word == "this" || word == "current";
    if (!is_last && !is_this) return std::nullopt;
    if (const auto count = clauses_.number(i + 1); is_last && count) {
      const std::size_t at = i + 1 + clauses_.number_length(i + 1);
      if (!is_of(lower(at), units)) return std::nullopt;
      const std::string unit = unit_of(lower(at));
      const bool is_short = unit == "hour" || unit == "minute";
      return Period{at + 1, (is_short ? "now() - " : "current_date - ") + interval_of(*count, unit), "",
                    "in the last " + sql_number(*count) + " " + unit + "s", 0};
    }
    const std::size_t at = lower(i + 1) == "iso" ? i + 2 : i + 1;
    if (!is_of(lower(at), units) || lower(at).ends_with('s')) return std::nullopt;
    const std::string unit = lower(at);
    const bool is_short = unit == "hour" || unit == "minute";
    const std::string start = "date_trunc('" + unit + "', " + (is_short ? "now()" : "current_date") + ")";
    if (is_this) return Period{at + 1, start, start + " + " + interval_of(1, unit), "in this " + unit, 0};
    return Period{at + 1, start + " - " + interval_of(1, unit), start, "in the last " + unit, 0};
  }

  std::optional<Period> quarter(std::size_t i) const {
    int number = 0;
    std::size_t next = i;
    if (const std::string word = lower(i); word.size() == 2 && word[0] == 'q' && word[1] >= '1' && word[1] <= '4') {
      number = word[1] - '0';
      next = i + 1;
    } else if (const auto ordinal = clauses_.number(i); ordinal && lower(i + 1) == "quarter") {
      number = static_cast<int>(*ordinal);
      next = i + 2;
    } else {
      return std::nullopt;
    }
    if (clauses_.is(next, {"of", "in"})) ++next;
    const int year = year_at(next);
    if (number < 1 || number > 4 || year == 0) return std::nullopt;
    const int first = number * 3 - 2;
    return Period{next + 1, date_text(year, first), month_end(year, first + 2),
                  "in quarter " + std::to_string(number) + " of " + std::to_string(year), 0};
  }

  // 1 to 31; 0.
  int day_at(std::size_t i) const {
    const std::optional<double> number = clauses_.number(i);
    const bool is_day = number && year_at(i) == 0 && *number >= 1 && *number <= 31 && *number == std::floor(*number);
    return is_day ? static_cast<int>(*number) : 0;
  }

  // "1st", "on 1": in "the first May order" and "list 10 May orders" the number counts.
  bool is_day_before_month(std::size_t i) const {
    const std::string_view word = clauses_.word(i);
    if (word.empty() || word.front() < '0' || word.front() > '9') return false;
    for (const std::string_view ending : {"st", "nd", "rd", "th"})
      if (word.ends_with(ending)) return true;
    return i > 0 && clauses_.is(i - 1, {"on", "of", "since", "before", "after", "until", "till", "from", "to",
                                        "through", "between", "and", "by"});
  }

  // "May 2024", "May 1, 2024", "on 1 May 2024"
  std::optional<Period> month(std::size_t i) const {
    int day = is_day_before_month(i) ? day_at(i) : 0;
    if (day > 0) i += clauses_.word(i + 1) == "of" ? 2 : 1;
    if (i >= clauses_.size()) return std::nullopt;
    const int month = month_of(lower(i));
    const bool is_modal = lower(i) == "may" && !clauses_[i].token->is_capital;
    if (month == 0 || is_modal) return std::nullopt;
    std::size_t next = i + 1;
    if (day == 0 && day_at(next) > 0) day = day_at(next++);
    if (clauses_.is(next, {",", "of", "in"}) && year_at(next + 1) > 0) ++next;
    const int year = year_at(next);
    if (year == 0) return std::nullopt;
    if (day == 0)
      return Period{next + 1, date_text(year, month), month_end(year, month),
                    "in " + lower(i) + " " + std::to_string(year), 0};
    const std::string text =
        "make_date(" + std::to_string(year) + ", " + std::to_string(month) + ", " + std::to_string(day) + ")";
    return Period{next + 1, text, text + " + 1",
                  "on " + lower(i) + " " + std::to_string(day) + ", " + std::to_string(year), 0};
  }

  bool read_between(std::size_t i) {
    const std::optional<Period> low = i + 1 < clauses_.size() ? at(i + 1) : std::nullopt;
    if (!low || clauses_.word(low->end) != "and" || low->end + 1 >= clauses_.size()) return false;
    const std::optional<Period> high = at(low->end + 1);
    if (!high) return false;
    Period both = *low;
    both.end = high->end;
    both.says = "between " + without_in(low->says) + " and " + without_in(high->says);
    both.year = 0;
    clauses_.use(i);
    add(i, both, low->from, high->until, low->year, high->year);
    return true;
  }

  bool read_bound(std::size_t i) {
    const std::optional<Period> period = i + 1 < clauses_.size() ? at(i + 1) : std::nullopt;
    if (!period) return false;
    const std::string bound(clauses_.word(i));
    if (bound == "from" && clauses_.is(period->end, {"to", "until", "through"}) && period->end + 1 < clauses_.size()) {
      if (const std::optional<Period> high = at(period->end + 1)) {
        Period both = *period;
        both.end = high->end;
        both.says = "from " + without_in(period->says) + " to " + without_in(high->says);
        clauses_.use(i);
        add(i, both, period->from, high->until, period->year, high->year);
        return true;
      }
    }
    clauses_.use(i);
    Period bounded = *period;
    bounded.says = bound + " " + without_in(period->says);
    if (bound == "before")
      add(i, bounded, "", period->from, 0, period->year == 0 ? 0 : period->year - 1);
    else if (bound == "until")
      add(i, bounded, "", period->until, 0, period->year);
    else if (bound == "after")
      add(i, bounded, period->until, "", period->year == 0 ? 0 : period->year + 1, 0);
    else if (bound == "from" && period->year > 0)
      add(i, bounded, period->from, period->until, period->year, period->year);
    else
      add(i, bounded, period->from, "", period->year, 0);
    return true;
  }

  void add(std::size_t i, const Period& period, const std::string& from, const std::string& until) {
    add(i, period, from, until, period.year, period.year);
  }

  void add(std::size_t i, const Period& period, const std::string& from, const std::string& until, int from_year,
           int until_year) {
    clauses_.use(i, period.end - 1);
    if (i > 0 && clauses_.is(i - 1, {"in", "on", "during", "for", "within", "from"})) clauses_.use(i - 1);
    const std::optional<std::size_t> column = column_near(i, period.end, from_year > 0 || until_year > 0);
    if (!column) {
      parts_.faults.push_back("Expected a date for \"" + period.says + "\", but the tables that are asked have none.");
      return;
    }
    const SchemaColumn& of = parts_.schema.columns()[*column];
    std::string sql;
    if (of.kind == ColumnKind::number) {
      if (from_year > 0 && from_year == until_year)
        sql = "= " + std::to_string(from_year);
      else if (from_year > 0 && until_year > 0)
        sql = "between " + std::to_string(from_year) + " and " + std::to_string(until_year);
      else
        sql = from_year > 0 ? ">= " + std::to_string(from_year) : "<= " + std::to_string(until_year);
    } else {
      if (!from.empty()) sql = ">= " + from;
      if (!until.empty())
        sql += (sql.empty() ? "" : " and " + parts_.schema.quoted_column(*column) + " ") + ("< " + until);
    }
    const bool is_closed = !from.empty() && !until.empty();
    const bool is_either = is_alternative(i, *column, is_closed);
    parts_.sketch.conditions.push_back({*column, sql, "is " + period.says, "", false, is_either});
    earlier_ = Earlier{*column, period.end, is_closed};
  }

  // A period after "or"; also after "and" if both have two ends: no date lies in two of them.
  bool is_alternative(std::size_t first, std::size_t column, bool is_closed) {
    if (follows_or(parts_, first)) {
      if (earlier_) return true;
      doubt_or(parts_, first);
      return false;
    }
    if (!earlier_ || earlier_->column != column || !earlier_->is_closed || !is_closed) return false;
    for (std::size_t k = earlier_->end; k < first; ++k)
      if (!clauses_.is(k, {"and", ",", "in", "on", "during", "for", "within"})) return false;
    return true;
  }

  // A date that is named close by, or the one of the table that is asked.
  std::optional<std::size_t> column_near(std::size_t first, std::size_t end, bool may_be_year) {
    const auto fits = [&](const SchemaColumn& column) {
      const bool is_year =
          may_be_year && column.kind == ColumnKind::number && !column.stems.empty() && column.stems.back() == "year";
      return is_date_column(column) || is_year;
    };
    const auto named = [&](std::size_t k) -> std::optional<std::size_t> {
      if (clauses_[k].mention == nullptr) return std::nullopt;
      const Mention& mention = *clauses_[k].mention;
      const auto column = parts_.picker.column(mention, parts_.scope(), fits);
      if (column && !parts_.picker.table(mention)) clauses_.use(k);  // "orders in May": by order_date, of orders
      return column;
    };
    for (std::size_t k = first; k-- > 0 && first - k <= 5;)
      if (clauses_[k].sentence == clauses_[first].sentence)
        if (const auto column = named(k)) return column;
    for (std::size_t k = end; k < clauses_.size() && k < end + 3; ++k)
      if (clauses_[k].sentence == clauses_[first].sentence)
        if (const auto column = named(k)) return column;
    if (parts_.main)
      if (const auto column = only_in(*parts_.main, fits)) return column;
    for (const std::size_t table : parts_.picker.anchors())
      if (const auto column = only_in(table, fits)) return column;
    for (const SchemaLink& link : parts_.schema.links()) {
      if (!parts_.main || (link.table != *parts_.main && link.to_table != *parts_.main)) continue;
      const std::size_t beside = link.table == *parts_.main ? link.to_table : link.table;
      if (const auto column = only_in(beside, fits)) {
        parts_.sketch.doubts.push_back("The date was taken for " + parts_.schema.tables()[beside].name + "." +
                                       parts_.schema.columns()[*column].name + ".");
        return column;
      }
    }
    return std::nullopt;
  }

  std::optional<std::size_t> only_in(std::size_t table, const Picker::Fits& fits) {
    std::optional<std::size_t> found;
    for (const std::size_t at : parts_.schema.tables()[table].columns) {
      const SchemaColumn& column = parts_.schema.columns()[at];
      if (!fits(column)) continue;
      const bool is_bare_year = column.stems.size() == 1 && column.stems[0] == "year";
      if (found && !is_bare_year)
        parts_.sketch.doubts.push_back("The date was taken for " + parts_.schema.tables()[table].name + "." +
                                       parts_.schema.columns()[*found].name + ", but there are others.");
      if (!found || is_bare_year) found = at;
    }
    return found;
  }

  struct Earlier {  // the period before
    std::size_t column = 0;
    std::size_t end = 0;
    bool is_closed = false;
  };

  QuestionParts& parts_;
  Clauses& clauses_;
  std::optional<Earlier> earlier_ = {};
};

// --- values ----------------------------------------------------------------------------------------------------------
class Values {
 public:
  explicit Values(QuestionParts& parts) : parts_(parts), clauses_(parts.clauses) {}

  std::vector<Condition> within(std::size_t first, std::size_t last) {
    std::vector<Condition> found;
    for (std::size_t i = first; i < last; ++i) {
      if (!clauses_.is_open(i)) continue;
      if (clauses_[i].token->kind == TokenKind::quoted && clauses_[i].mention == nullptr) {
        if (const auto unknown = not_found(i)) found.push_back(*unknown);
        continue;
      }
      const Mention* mention = clauses_.mention(i);
      if (mention == nullptr || !parts_.picker.is_value(*mention)) continue;
      found.push_back(known(i, *mention, !found.empty() || !parts_.sketch.conditions.empty()));
    }
    return found;
  }

 private:
  // Columns and tables named right next to it: "the city of X", "X domain", "Type is X".
  std::set<std::size_t> beside(std::size_t i, std::set<std::size_t>& columns) const {
    std::set<std::size_t> tables;
    const auto add = [&](std::size_t k) {
      if (k >= clauses_.size() || clauses_[k].mention == nullptr || clauses_[k].sentence != clauses_[i].sentence)
        return false;
      if (parts_.picker.is_value(*clauses_[k].mention)) return false;
      for (const Candidate& candidate : clauses_[k].mention->candidates) {
        if (candidate.score < 0.5) continue;
        tables.insert(candidate.table);
        if (candidate.kind == MentionKind::column) columns.insert(candidate.column);
      }
      return true;
    };
    std::size_t before = i - 1;
    while (i > 0 && before > 0 && before < clauses_.size() &&
           (clauses_.is(before, {"of", "is", "=", "named", "called", "as", "in"})))
      --before;
    if (i > 0 && before < clauses_.size()) add(before);
    add(i + 1);
    return tables;
  }

  const Candidate* chosen(std::size_t i, const Mention& mention) {
    std::set<std::size_t> columns;
    const std::set<std::size_t> tables = beside(i, columns);
    for (const Candidate& candidate : mention.candidates)
      if (candidate.kind == MentionKind::value && columns.contains(candidate.column) &&
          (!parts_.main || candidate.table == *parts_.main))
        return &candidate;
    for (const Candidate& candidate : mention.candidates)
      if (candidate.kind == MentionKind::value && columns.contains(candidate.column)) return &candidate;
    for (const Candidate& candidate : mention.candidates)
      if (candidate.kind == MentionKind::value && tables.contains(candidate.table) &&
          parts_.schema.label_of(candidate.table) == candidate.column)
        return &candidate;
    return parts_.picker.value(mention, parts_.scope());
  }

  Condition known(std::size_t i, const Mention& mention, bool has_earlier) {
    const Candidate* value = chosen(i, mention);
    clauses_.use(i);
    use_beside(i, *value);
    std::string text = value->value;
    const bool goes_on = earlier_ && earlier_->column == value->column && earlier_->is_negated && follows(i);
    const bool is_either = has_earlier && !goes_on && follows_or(parts_, i);
    Condition condition{value->column, "", "", value->value, goes_on || is_negated(i), is_either};
    earlier_ = Earlier{value->column, i, condition.is_negated};
    if (!value->is_equal || parts_.finds_parts) {
      const std::string word = value->is_equal ? value->value : parts_.picker.text(mention);
      condition.sql = "ilike " + quoted_text("%" + escaped(word) + "%");
      condition.says = "holds " + word;
      if (!value->is_equal && !parts_.finds_parts)
        parts_.sketch.doubts.push_back("\"" + word + "\" was looked for within " +
                                       parts_.schema.columns()[value->column].name + ".");
    } else {
      condition.sql =
          value->has_variants ? "ilike " + quoted_text(escaped(value->value)) : "= " + quoted_text(value->value);
      condition.says = "is " + value->value;
    }
    return condition;
  }

  void use_beside(std::size_t i, const Candidate& value) {
    for (const std::size_t k : {i - 1, i - 2, i + 1}) {
      const Mention* mention = clauses_.mention(k);
      if (mention == nullptr || parts_.picker.is_value(*mention) || k >= clauses_.size()) continue;
      if (k == i - 2 && !clauses_.is(i - 1, {"of", "is", "=", "named", "called"})) continue;
      const bool same =
          std::any_of(mention->candidates.begin(), mention->candidates.end(), [&](const Candidate& candidate) {
            return candidate.kind == MentionKind::column && candidate.column == value.column && candidate.score >= 0.5;
          });
      if (same && !parts_.picker.table(*mention)) clauses_.use(k);
    }
  }

  bool is_negated(std::size_t i) const {
    for (std::size_t k = i; k-- > 0 && i - k <= 3;) {
      if (clauses_[k].sentence != clauses_[i].sentence || clauses_.is(k, {"and", ","})) return false;
      if (clauses_.is(k, {"not", "non", "never", "without", "neither", "nor", "outside", "except", "excluding"}) ||
          (clauses_.word(k) == "than" && k > 0 && clauses_.word(k - 1) == "other"))
        return true;
    }
    return false;
  }

  // "not in A or B", "neither A nor B": nothing but such words since the value before.
  bool follows(std::size_t i) const {
    for (std::size_t k = earlier_->at + 1; k < i; ++k)
      if (!clauses_.is(k, {"or", "nor", "and", ",", "in", "from", "of", "at", "for"})) return false;
    return true;
  }

  // A text in quotes that the data does not have, in a column that is named next to it.
  std::optional<Condition> not_found(std::size_t i) {
    std::set<std::size_t> columns;
    const std::set<std::size_t> tables = beside(i, columns);
    std::optional<std::size_t> column;
    for (const std::size_t table : tables)
      if (!column) column = parts_.schema.label_of(table);
    for (const std::size_t at : columns)
      if (is_text_column(parts_.schema.columns()[at])) column = at;
    if (!column) return std::nullopt;
    clauses_.use(i);
    const std::string& text = clauses_[i].token->text;
    parts_.sketch.doubts.push_back("No value like \"" + text + "\" was found in the data.");
    return Condition{*column, "ilike " + quoted_text(escaped(text)), "is " + text, text, false, false};
  }

  struct Earlier {  // the value before
    std::size_t column = 0;
    std::size_t at = 0;
    bool is_negated = false;
  };

  QuestionParts& parts_;
  Clauses& clauses_;
  std::optional<Earlier> earlier_ = {};
};

}  // namespace

void read_comparisons(QuestionParts& parts) {
  Comparing comparing(parts);
  bool has_earlier = false;
  for (std::size_t i = 0; i < parts.clauses.size(); ++i) {
    const std::optional<Comparison> found = comparing.at(i);
    if (!found) continue;
    std::optional<std::size_t> counted;
    const std::optional<std::size_t> column = comparing.column(*found, counted);
    parts.clauses.use(found->first, found->end - 1);
    if (column) {
      parts.sketch.conditions.push_back(number_condition(parts, *column, *found, has_earlier));
    } else if (counted) {
      Term term;
      term.function = "count";
      term.table = counted;
      if (follows_or(parts, found->first)) doubt_or(parts, found->first);
      parts.sketch.havings.push_back({term, found->sql});
    } else {
      parts.faults.push_back("Expected a figure that is " + found->sql + ", but it is not clear which one.");
    }
    has_earlier = column.has_value();
  }
}

std::vector<Condition> read_own_comparisons(QuestionParts& parts, std::size_t first, std::size_t last) {
  Comparing comparing(parts);
  std::vector<Condition> conditions;
  for (std::size_t i = first; i < last; ++i) {
    const std::optional<Comparison> found = comparing.at(i);
    if (!found) continue;
    std::optional<std::size_t> counted;
    const std::optional<std::size_t> column = comparing.column(*found, counted);
    parts.clauses.use(found->first, found->end - 1);
    if (column)
      conditions.push_back(number_condition(parts, *column, *found, !conditions.empty()));
    else
      parts.faults.push_back("Expected a figure that is " + found->sql + ", but it is not clear which one.");
  }
  return conditions;
}

namespace {

// The table that is named last before: "journals whose names".
std::set<std::size_t> owner_before(const QuestionParts& parts, std::size_t i) {
  for (std::size_t k = i; k-- > 0 && i - k <= 4;)
    if (const Mention* mention = parts.clauses[k].mention; mention != nullptr)
      if (const auto table = parts.picker.table(*mention)) return {*table};
  return parts.scope();
}

}  // namespace

void read_text_patterns(QuestionParts& parts) {
  Clauses& clauses = parts.clauses;
  for (std::size_t i = 0; i + 1 < clauses.size(); ++i) {
    if (!clauses.is_open(i)) continue;
    const std::string& stem = clauses[i].token->stem;
    const bool starts = (stem == "start" || stem == "begin" || stem == "beginn") && clauses.word(i + 1) == "with";
    const bool ends = stem == "end" && clauses.word(i + 1) == "with";
    const bool holds = stem == "contain";
    if (!starts && !ends && !holds) continue;
    std::size_t at = i + (holds ? 1 : 2);
    while (at < clauses.size() && (clauses[at].token->lower == "letter" || clauses[at].token->lower == "word" ||
                                   clauses[at].token->lower == "text" || clauses[at].token->lower == "prefix"))
      ++at;
    if (at >= clauses.size()) continue;
    std::optional<std::size_t> column;
    std::size_t from = i;
    for (std::size_t k = i; k-- > 0 && i - k <= 4 && !column;) {
      if (clauses[k].mention == nullptr || clauses[k].sentence != clauses[i].sentence) continue;
      if (const auto table = parts.picker.table(*clauses[k].mention))
        column = parts.schema.label_of(*table);
      else
        column = parts.picker.column(*clauses[k].mention, owner_before(parts, k), is_text_column);
      if (column) from = k;
    }
    if (!column) continue;
    if (!parts.picker.table(*clauses[from].mention)) clauses.use(from);
    clauses.use(i, at);
    const std::string text = escaped(clauses[at].token->text);
    const std::string pattern = (ends || holds ? "%" : "") + text + (starts || holds ? "%" : "");
    parts.sketch.conditions.push_back(
        {*column, "ilike " + quoted_text(pattern), "is like " + pattern, "", false, false});
  }
}

void read_periods(QuestionParts& parts) { Periods(parts).read(0, parts.clauses.size()); }

std::vector<Condition> read_periods(QuestionParts& parts, std::size_t first, std::size_t last) {
  std::vector<Condition> others = std::exchange(parts.sketch.conditions, {});
  Periods(parts).read(first, std::min(last, parts.clauses.size()));
  return std::exchange(parts.sketch.conditions, std::move(others));
}

std::vector<Condition> read_values(QuestionParts& parts, std::size_t first, std::size_t last) {
  return Values(parts).within(first, last);
}

void read_absence(QuestionParts& parts) {
  Clauses& clauses = parts.clauses;
  for (std::size_t i = 0; i < clauses.size(); ++i) {
    if (!clauses.is_open(i) || !clauses.is(i, {"no", "not", "without", "never"})) continue;
    for (std::size_t k = i + 1; k < clauses.size() && k <= i + 5; ++k) {
      const Mention* mention = clauses.mention(k);
      if (mention == nullptr) continue;
      const auto table = parts.picker.table(*mention);
      if (!table || table == parts.main) break;
      parts.sketch.absent.push_back(*table);
      parts.sketch.doubts.push_back("Those without any " + parts.schema.tables()[*table].name + " were looked for.");
      clauses.use(i, k);
      break;
    }
  }
}

void read_flags(QuestionParts& parts) {
  Clauses& clauses = parts.clauses;
  for (std::size_t i = 0; i < clauses.size(); ++i) {
    const Mention* mention = clauses.mention(i);
    if (mention == nullptr || mention->score() < 0.5) continue;
    const auto column =
        parts.picker.column(*mention, parts.scope(), [](const SchemaColumn& c) { return c.kind == ColumnKind::flag; });
    if (!column) continue;
    bool is_negated = false;
    for (std::size_t k = i; k-- > 0 && i - k <= 3;) is_negated = is_negated || clauses.is(k, {"not", "no", "non"});
    clauses.use(i);
    parts.sketch.conditions.push_back(
        {*column, is_negated ? "is false" : "is true", is_negated ? "does not hold" : "holds", "", false, false});
  }
}

}  // namespace cairn
