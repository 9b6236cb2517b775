#include "workers/planners/venture_scope/formula.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

namespace cairn {
namespace {

constexpr int depth_max = 64;

struct Term {
  char kind = 'n';  // n number, v name, f function, or the operator itself; _ is the sign
  double number = 0;
  std::string name;
  std::vector<Term> parts;
  std::string text;  // as it stands in the formula
};

// sum = product {(+|-) product}; product = signed {(*|/) signed}; signed = - signed | power;
// power = primary [^ signed]; primary = number | name | name ( sum {, sum} ) | ( sum )
class FormulaParser {
 public:
  explicit FormulaParser(std::string_view text) : text_(text) {}

  Result<Term> parse() {
    if (text_.size() > formula_bytes_max)
      return Error{Code::invalid, "Expected a formula of at most " + std::to_string(formula_bytes_max) +
                                      " bytes, but it has " + std::to_string(text_.size()) + "."};
    std::optional<Term> term = sum();
    if (term && peek() != '\0') fail("an operator");
    if (!fault_.empty()) return Error{Code::invalid, fault_};
    return *std::move(term);
  }

 private:
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }

  std::nullopt_t fail(const std::string& wanted) {
    if (fault_.empty()) {
      const bool is_over = peek() == '\0';
      fault_ = "Expected " + wanted + " at character " + std::to_string(at_ + 1) + " of the formula \"" +
               std::string(text_) + "\", but " +
               (is_over ? std::string("it ends there.") : "there is \"" + std::string(1, text_[at_]) + "\".");
    }
    return std::nullopt;
  }

  std::optional<Term> with_text(std::optional<Term> term, std::size_t begin) const {
    if (!term) return term;
    const std::string_view text = text_.substr(begin, at_ - begin);
    term->text = text.substr(0, text.find_last_not_of(" \n") + 1);
    return term;
  }

  std::optional<Term> joined(std::string_view operators, std::optional<Term> (FormulaParser::*operand)()) {
    peek();
    const std::size_t begin = at_;
    std::optional<Term> left = (this->*operand)();
    while (left && operators.find(peek()) != std::string_view::npos && peek() != '\0') {
      const char kind = text_[at_++];
      std::optional<Term> right = (this->*operand)();
      if (!right) return right;
      Term both{kind, 0, "", {}, ""};
      both.parts.push_back(*std::move(left));
      both.parts.push_back(*std::move(right));
      left = with_text(std::move(both), begin);
    }
    return left;
  }

  std::optional<Term> sum() { return joined("+-", &FormulaParser::product); }
  std::optional<Term> product() { return joined("*/", &FormulaParser::signed_power); }

  std::optional<Term> signed_power() {
    if (++depth_ > depth_max) return fail("at most " + std::to_string(depth_max) + " levels");
    peek();
    const std::size_t begin = at_;
    std::optional<Term> term;
    if (take('-')) {
      std::optional<Term> inner = signed_power();
      if (inner) term = Term{'_', 0, "", {*std::move(inner)}, ""};
    } else {
      term = power();
    }
    --depth_;
    return with_text(std::move(term), begin);
  }

  std::optional<Term> power() {
    std::optional<Term> left = primary();
    if (!left || !take('^')) return left;
    std::optional<Term> right = signed_power();
    if (!right) return right;
    return Term{'^', 0, "", {*std::move(left), *std::move(right)}, ""};
  }

  std::optional<Term> primary() {
    const char first = peek();
    const std::size_t begin = at_;
    if (take('(')) {
      std::optional<Term> inner = sum();
      if (inner && !take(')')) return fail("a closing parenthesis");
      return inner;
    }
    if (first >= '0' && first <= '9') return with_text(number(), begin);
    if ((first >= 'a' && first <= 'z') || first == '_') return with_text(named(), begin);
    return fail("a number, a name or a parenthesis");
  }

  std::optional<Term> number() {
    Term term;
    const char* end = text_.data() + text_.size();
    const auto read = std::from_chars(text_.data() + at_, end, term.number);
    if (read.ec != std::errc{} || !std::isfinite(term.number)) return fail("a number that fits");
    at_ = static_cast<std::size_t>(read.ptr - text_.data());
    return term;
  }

  std::optional<Term> named() {
    const auto is_inner = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    };
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_inner(text_[at_])) ++at_;
    Term term{'v', 0, std::string(text_.substr(begin, at_ - begin)), {}, ""};
    if (!take('(')) return term;
    term.kind = 'f';
    do {
      std::optional<Term> part = sum();
      if (!part) return part;
      term.parts.push_back(*std::move(part));
    } while (take(','));
    if (!take(')')) return fail("a comma or a closing parenthesis");
    return term;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::string fault_;
};

void add_names(const Term& term, std::vector<std::string>& names) {
  if (term.kind == 'v' && std::find(names.begin(), names.end(), term.name) == names.end()) names.push_back(term.name);
  for (const Term& part : term.parts) add_names(part, names);
}

using Numbers = std::vector<double>;

double total(const Numbers& numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number;
  return sum;
}

struct Function {
  std::size_t most = 0;  // arguments; 0: any number
  double (*apply)(const Numbers& numbers) = nullptr;
};

const std::map<std::string, Function, std::less<>> functions = {
    {"min", {0, [](const Numbers& n) { return *std::min_element(n.begin(), n.end()); }}},
    {"max", {0, [](const Numbers& n) { return *std::max_element(n.begin(), n.end()); }}},
    {"sum", {0, total}},
    {"mean", {0, [](const Numbers& n) { return total(n) / static_cast<double>(n.size()); }}},
    {"abs", {1, [](const Numbers& n) { return std::fabs(n[0]); }}},
    {"sqrt", {1, [](const Numbers& n) { return std::sqrt(n[0]); }}},
    {"round", {2, [](const Numbers& n) {
                 const double scale = std::pow(10, n.size() > 1 ? std::trunc(n[1]) : 0);
                 return std::round(n[0] * scale) / scale;
               }}}};

// Lives for one call of calculate. The first fault stays.
class Evaluation {
 public:
  explicit Evaluation(const std::map<std::string, double>& values) : values_(values) {}

  double value_of(const Term& term) {
    if (term.kind == 'n') return term.number;
    if (term.kind == 'v') return values_.at(term.name);
    Numbers parts;
    for (const Term& part : term.parts) parts.push_back(value_of(part));
    const double value = fault.empty() ? applied(term, parts) : 0;
    if (fault.empty() && !std::isfinite(value)) fault = "Expected a finite number, but " + term.text + " gives none.";
    return value;
  }

  std::string fault;

 private:
  double applied(const Term& term, const Numbers& parts) {
    switch (term.kind) {
      case '+':
        return parts[0] + parts[1];
      case '-':
        return parts[0] - parts[1];
      case '*':
        return parts[0] * parts[1];
      case '/':
        if (parts[1] == 0) fault = "Expected a divisor other than 0, but " + term.parts[1].text + " is 0.";
        return fault.empty() ? parts[0] / parts[1] : 0;
      case '^':
        return std::pow(parts[0], parts[1]);
      case '_':
        return -parts[0];
      default:
        return called(term, parts);
    }
  }

  double called(const Term& term, const Numbers& parts) {
    const auto function = functions.find(term.name);
    if (function == functions.end()) {
      fault = "Expected a function min, max, sum, mean, abs, sqrt or round, but found " + term.name + ".";
      return 0;
    }
    if (function->second.most == 0 || parts.size() <= function->second.most) return function->second.apply(parts);
    fault = "Expected at most " + std::to_string(function->second.most) + " arguments for " + term.name +
            ", but found " + std::to_string(parts.size()) + ".";
    return 0;
  }

  const std::map<std::string, double>& values_;
};

Calculation failed(std::string message) { return {CalculationStatus::error, 0, "", std::move(message)}; }

}  // namespace

std::string_view to_string(CalculationStatus status) {
  switch (status) {
    case CalculationStatus::success:
      return "SUCCESS";
    case CalculationStatus::blocked:
      return "BLOCKED";
    case CalculationStatus::error:
      return "ERROR";
  }
  return "";
}

Result<std::vector<std::string>> names_in(std::string_view formula) {
  const Result<Term> term = FormulaParser(formula).parse();
  if (!term) return term.error();
  std::vector<std::string> names;
  add_names(*term, names);
  return names;
}

Calculation calculate(std::string_view formula, const ReadName& read) {
  const Result<Term> term = FormulaParser(formula).parse();
  if (!term) return failed(term.error().message);
  std::vector<std::string> names;
  add_names(*term, names);
  std::map<std::string, double> values;
  std::string missing;
  for (const std::string& name : names) {
    NamedNumber found = read(name);
    if (std::string* fault = std::get_if<std::string>(&found)) return failed(std::move(*fault));
    if (const double* value = std::get_if<double>(&found)) {
      values[name] = *value;
    } else if (missing.empty()) {
      missing = name;
    }
  }
  if (!missing.empty())
    return {CalculationStatus::blocked, 0, missing, "Expected a value for " + missing + ", but there is none yet."};
  Evaluation evaluation(values);
  const double value = evaluation.value_of(*term);
  if (!evaluation.fault.empty()) return failed(std::move(evaluation.fault));
  return {CalculationStatus::success, value, "", ""};
}

}  // namespace cairn
