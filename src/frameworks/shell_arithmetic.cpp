#include <cctype>
#include <charconv>

#include "shell_values.hpp"

namespace penstock::frameworks::shell {
namespace {

using Number = std::optional<std::int64_t>;

class Sum {
 public:
  Sum(std::string_view text, const std::function<Number(std::string_view)>& value_of)
      : text_(text), value_of_(value_of) {}

  Number whole() {
    const Number out = binary(0);
    space();
    return at_ == text_.size() ? out : std::nullopt;
  }

 private:
  static constexpr int kMostLevels = 50;
  struct Operator {
    std::string_view text;
    int rank;
  };
  static constexpr Operator kOperators[] = {{"||", 0}, {"&&", 1}, {"==", 2}, {"!=", 2}, {"<=", 3},
                                            {">=", 3}, {"<", 3},  {">", 3},  {"+", 4},  {"-", 4},
                                            {"*", 5},  {"/", 5},  {"%", 5}};

  void space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  const Operator* next(int rank) {
    space();
    for (const Operator& each : kOperators)
      if (text_.substr(at_).starts_with(each.text)) return each.rank == rank ? &each : nullptr;
    return nullptr;
  }

  static Number apply(std::string_view op, std::int64_t a, std::int64_t b) {
    std::int64_t out = 0;
    if (op == "+") return __builtin_add_overflow(a, b, &out) ? std::nullopt : Number(out);
    if (op == "-") return __builtin_sub_overflow(a, b, &out) ? std::nullopt : Number(out);
    if (op == "*") return __builtin_mul_overflow(a, b, &out) ? std::nullopt : Number(out);
    if (op == "/" || op == "%") {
      if (b == 0 || b == -1) return b == 0 ? std::nullopt : op == "%" ? Number(0) : apply("-", 0, a);
      return op == "/" ? a / b : a % b;
    }
    if (op == "||") return a != 0 || b != 0;
    if (op == "&&") return a != 0 && b != 0;
    if (op == "==") return a == b;
    if (op == "!=") return a != b;
    if (op == "<=") return a <= b;
    if (op == ">=") return a >= b;
    return op == "<" ? a < b : a > b;
  }

  Number binary(int rank) {
    constexpr int kRanks = 6;
    if (rank == kRanks) return single();
    Number left = binary(rank + 1);
    while (const Operator* op = next(rank)) {
      at_ += op->text.size();
      const Number right = binary(rank + 1);
      if (!left || !right) return std::nullopt;
      left = apply(op->text, *left, *right);
      if (!left) return std::nullopt;
    }
    return left;
  }

  Number single() {
    space();
    if (at_ == text_.size() || ++levels_ > kMostLevels) return std::nullopt;
    Number out;
    const char c = text_[at_];
    if (c == '(') {
      ++at_;
      out = binary(0);
      space();
      if (at_ == text_.size() || text_[at_++] != ')') out.reset();
    } else if (c == '-' || c == '!') {
      ++at_;
      const Number inner = single();
      if (inner) out = c == '!' ? Number(*inner == 0) : apply("-", 0, *inner);
    } else {
      const std::size_t begin = at_;
      while (at_ < text_.size() &&
             (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
        ++at_;
      if (at_ > begin) out = value_of_(text_.substr(begin, at_ - begin));
    }
    --levels_;
    return out;
  }

  std::string_view text_;
  const std::function<Number(std::string_view)>& value_of_;
  std::size_t at_ = 0;
  int levels_ = 0;
};

}  // namespace

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t out = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), out);
  const bool read = fault == std::errc() && end == text.data() + text.size();
  // The shell reads 010 as 8.
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  return read && (digits.size() == 1 || !digits.starts_with('0')) ? std::optional(out) : std::nullopt;
}

std::optional<std::int64_t> arithmetic_value(
    std::string_view text, const std::function<std::optional<std::int64_t>(std::string_view)>& value_of) {
  return Sum(text, value_of).whole();
}

}  // namespace penstock::frameworks::shell
