#include "shell_tests.hpp"

#include <fnmatch.h>

#include <algorithm>

namespace penstock::frameworks::shell {
namespace {

constexpr int kMostTestLevels = 40;

Truth truth(bool value) {
  return value ? Truth::yes : Truth::no;
}

struct Operand {
  std::string text;
  bool open = false;   ///< it is open which text it is
  bool unset = false;  ///< a variable that the script sets nowhere
};

Operand operand(const Token& word, const Variables& variables, const std::string& file) {
  Expander expander(variables, {}, file);
  // An argument of the script is empty; a variable of the environment may be anything.
  Operand out{expander.text(word)};
  out.unset = expander.unset_used;
  out.open = expander.opaque || !expander.choices.empty();
  if (out.text.starts_with('$') && out.text.size() > 1 && out.text == word.text && !out.open && !out.unset)
    out.text.clear();
  const std::string quoted = "\"" + out.text + "\"";
  if (quoted == word.text && out.text.starts_with('$') && !out.open && !out.unset) out.text.clear();
  return out;
}

class Condition {
 public:
  Condition(std::span<const Token> words, const Variables& variables, const std::string& file)
      : words_(words), variables_(variables), file_(file) {}

  Truth whole() {
    if (words_.empty()) return Truth::no;
    const Truth out = any(0);
    return at_ == words_.size() ? out : Truth::maybe;
  }

 private:
  bool is(std::string_view text) const { return at_ < words_.size() && words_[at_].text == text; }

  Truth any(int level) {
    Truth out = all(level);
    while (is("||") || is("-o")) {
      ++at_;
      out = either(out, all(level));
    }
    return out;
  }

  Truth all(int level) {
    Truth out = single(level);
    while (is("&&") || is("-a")) {
      ++at_;
      out = both(out, single(level));
    }
    return out;
  }

  Truth single(int level) {
    if (at_ >= words_.size() || level > kMostTestLevels) return Truth::maybe;
    if (is("!")) {
      ++at_;
      return !single(level + 1);
    }
    if (is("(")) {
      ++at_;
      const Truth out = any(level + 1);
      if (!is(")")) return Truth::maybe;
      ++at_;
      return out;
    }
    const Token& first = words_[at_++];
    if (first.text.size() == 2 && first.text.front() == '-' && at_ < words_.size() &&
        !binary(words_[at_].text))
      return unary(first.text[1], words_[at_++]);
    if (at_ + 1 < words_.size() && binary(words_[at_].text)) {
      const std::string op = words_[at_].text;
      const Token& second = words_[at_ + 1];
      at_ += 2;
      return compare(first, op, second);
    }
    const Operand value = operand(first, variables_, file_);
    if (value.open) return Truth::maybe;
    return truth(!value.unset && !value.text.empty());
  }

  static bool binary(std::string_view op) {
    constexpr std::string_view kAll[] = {"=",   "==",  "!=",  "=~",  "<",   ">",  "-eq",
                                         "-ne", "-lt", "-le", "-gt", "-ge", "-nt"};
    return std::ranges::count(kAll, op) > 0;
  }

  Truth unary(char op, const Token& word) {
    const Operand value = operand(word, variables_, file_);
    if (value.open || (op != 'z' && op != 'n')) return Truth::maybe;
    return truth((value.unset || value.text.empty()) == (op == 'z'));
  }

  Truth compare(const Token& first, const std::string& op, const Token& second) {
    const Operand a = operand(first, variables_, file_), b = operand(second, variables_, file_);
    if (a.open || b.open || a.unset || b.unset) return Truth::maybe;
    if (op == "=" || op == "==" || op == "!=") {
      const bool pattern = second.text.find_first_of("*?[") != std::string::npos &&
                           second.text.find_first_of("'\"") == std::string::npos;
      const bool equal = pattern ? fnmatch(b.text.c_str(), a.text.c_str(), 0) == 0 : a.text == b.text;
      return truth(equal == (op != "!="));
    }
    const auto left = whole_number(a.text), right = whole_number(b.text);
    if (!left || !right) return Truth::maybe;
    if (op == "-eq") return truth(*left == *right);
    if (op == "-ne") return truth(*left != *right);
    if (op == "-lt") return truth(*left < *right);
    if (op == "-le") return truth(*left <= *right);
    if (op == "-gt") return truth(*left > *right);
    return op == "-ge" ? truth(*left >= *right) : Truth::maybe;
  }

  std::span<const Token> words_;
  const Variables& variables_;
  const std::string& file_;
  std::size_t at_ = 0;
};

}  // namespace

Truth operator!(Truth a) {
  return a == Truth::maybe ? a : truth(a == Truth::no);
}

Truth both(Truth a, Truth b) {
  if (a == Truth::no || b == Truth::no) return Truth::no;
  return a == Truth::yes && b == Truth::yes ? Truth::yes : Truth::maybe;
}

Truth either(Truth a, Truth b) {
  return !both(!a, !b);
}

Truth test(std::span<const Token> words, const Variables& variables, const std::string& file) {
  return Condition(words, variables, file).whole();
}

Truth fits(const Token& word, std::span<const Token> patterns, const Variables& variables,
           const std::string& file) {
  const Operand value = operand(word, variables, file);
  if (value.open || value.unset) {
    for (const Token& pattern : patterns)
      if (pattern.text == "*") return Truth::yes;
    return Truth::maybe;
  }
  Truth out = Truth::no;
  for (const Token& pattern : patterns) {
    const Operand each = operand(pattern, variables, file);
    const bool open = each.open || each.unset;
    out = either(out, open ? Truth::maybe : truth(fnmatch(each.text.c_str(), value.text.c_str(), 0) == 0));
  }
  return out;
}

Truth arithmetic_truth(const Token& sum, const Variables& variables, const std::string& file) {
  const Operand value = operand({Token::Kind::word, "$((" + sum.text + "))", sum.line}, variables, file);
  const auto number = value.open || value.unset ? std::nullopt : whole_number(value.text);
  return number ? truth(*number != 0) : Truth::maybe;
}

}  // namespace penstock::frameworks::shell
