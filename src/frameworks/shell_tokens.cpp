#include "shell_tokens.hpp"

#include <algorithm>
#include <cctype>

#include "penstock/core/error.hpp"

namespace penstock::frameworks::shell {
namespace {

constexpr std::string_view kSpace = " \t\r";
constexpr std::string_view kMeta = " \t\r\n;&|()<>";
constexpr int kMostNested = 50;

/// `text` ends with `close` at the same depth of brackets as it began with `open` at `at`.
std::size_t end_of_brackets(std::string_view text, std::size_t at, char open, char close, int levels) {
  if (levels > kMostNested) return text.npos;
  int depth = 0;
  while (at < text.size()) {
    if (text[at] == open) ++depth;
    if (text[at] == close && --depth == 0) return at + 1;
    if (text[at] == '\\')
      at += 2;
    else if (text[at] == '\'')
      at = text.find('\'', at + 1) == text.npos ? text.npos : text.find('\'', at + 1) + 1;
    else
      ++at;
    if (at == text.npos) return at;
  }
  return text.npos;
}

std::size_t end_of_dollar(std::string_view text, std::size_t at, int levels) {
  if (at + 1 >= text.size()) return at + 1;
  if (text[at + 1] == '(') return end_of_brackets(text, at + 1, '(', ')', levels);
  if (text[at + 1] == '{') return end_of_brackets(text, at + 1, '{', '}', levels);
  return at + 1;
}

std::size_t end_of_double(std::string_view text, std::size_t at) {
  for (++at; at < text.size();) {
    if (text[at] == '"') return at + 1;
    if (text[at] == '\\')
      at += 2;
    else
      at = text[at] == '$' ? end_of_dollar(text, at, 0) : at + 1;
    if (at == text.npos) return at;
  }
  return text.npos;
}

class Tokenizer {
 public:
  Tokenizer(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  std::vector<Token> all() {
    while (at_ < text_.size()) step(out_, false);
    if (!pending_.empty()) fail(line_, "a here-document has no body");
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(int line, const std::string& message) const {
    throw core::BadInput({file_, line, ""}, message);
  }

  bool at(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  void step(std::vector<Token>& out, bool in_array) {
    const char c = text_[at_];
    if (kSpace.find(c) != kSpace.npos) {
      ++at_;
    } else if (at("\\\n")) {
      ++line_, at_ += 2;
    } else if (at("\\\r\n")) {
      ++line_, at_ += 3;
    } else if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '\n') {
      if (!in_array) out.push_back({Token::Kind::newline, "\n", line_});
      ++line_, ++at_;
      while (!pending_.empty()) take_document(out);
    } else if (!in_array && at("((")) {
      take_arithmetic(out);
    } else if (kMeta.find(c) != kMeta.npos) {
      take_operator(out);
    } else {
      take_word(out, in_array);
    }
  }

  void take_arithmetic(std::vector<Token>& out) {
    const std::size_t end = end_of_brackets(text_, at_, '(', ')', 0);
    if (end == text_.npos) fail(line_, "a bracket is not closed");
    const std::string_view inner = text_.substr(at_ + 1, end - at_ - 2);
    const std::size_t inner_end = end_of_brackets(inner, 0, '(', ')', 0);
    if (inner_end != inner.size()) {  // a subshell in a subshell
      out.push_back({Token::Kind::op, "(", line_});
      ++at_;
      return;
    }
    out.push_back({Token::Kind::arithmetic, std::string(inner.substr(1, inner.size() - 2)), line_});
    move_to(end);
  }

  void move_to(std::size_t end) {
    line_ += static_cast<int>(std::ranges::count(text_.substr(at_, end - at_), '\n'));
    at_ = end;
  }

  void take_operator(std::vector<Token>& out) {
    constexpr std::string_view kLong[] = {"<<<", "&>>", "<<-", "&&", "||", ";;&", ";;", ";&",
                                          "|&",  "&>",  ">>",  ">&", "<<", "<&",  "<>", ">|"};
    std::string_view found = text_.substr(at_, 1);
    for (const std::string_view op : kLong)
      if (at(op) && op.size() > found.size()) found = op;
    const bool redirects = found.find_first_of("<>") != found.npos;
    // A number that touches the operator is a file's, no word: 2>&1.
    if (redirects && !out.empty() && out.back().kind == Token::Kind::word && at_ > 0 &&
        kMeta.find(text_[at_ - 1]) == kMeta.npos &&
        std::ranges::all_of(out.back().text, [](char c) { return c >= '0' && c <= '9'; }))
      out.pop_back();
    const std::string op(found);
    at_ += op.size();
    if (op == "<<" || op == "<<-") return begin_document(out, op == "<<-");
    out.push_back({Token::Kind::op, op, line_});
  }

  void begin_document(std::vector<Token>& out, bool tabs) {
    while (at_ < text_.size() && kSpace.find(text_[at_]) != kSpace.npos) ++at_;
    std::string mark;
    while (at_ < text_.size() && kMeta.find(text_[at_]) == kMeta.npos) mark += text_[at_++];
    std::erase_if(mark, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
    if (mark.empty()) fail(line_, "a here-document has no mark");
    pending_.push_back({mark, out.size(), tabs});
    out.push_back({Token::Kind::here_document, "", line_});
  }

  void take_document(std::vector<Token>& out) {
    const Document document = pending_.front();
    pending_.erase(pending_.begin());
    std::string body;
    const int begin = line_;
    for (;;) {
      if (at_ >= text_.size()) fail(begin, "the here-document '" + document.mark + "' does not end");
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      std::string_view line = text_.substr(at_, end - at_);
      while (document.tabs && line.starts_with('\t')) line.remove_prefix(1);
      at_ = std::min(end + 1, text_.size());
      ++line_;
      if (line == document.mark) break;
      body += std::string(line) + "\n";
    }
    if (document.token < out.size()) {
      out[document.token].text = body;
      out[document.token].line = begin;
    }
  }

  void take_word(std::vector<Token>& out, bool in_array) {
    Token word{Token::Kind::word, "", line_};
    while (at_ < text_.size() && kMeta.find(text_[at_]) == kMeta.npos) {
      if (at("\\\n")) {
        ++line_, at_ += 2;
        continue;
      }
      const std::size_t end = end_of_part(text_, at_);
      if (end == text_.npos || end > text_.size()) {
        const char c = text_[at_];
        if (c == '\\') fail(line_, "a backslash ends the file");
        fail(line_, c == '\'' || c == '"' || c == '`' ? "a quote is not closed" : "a bracket is not closed");
      }
      word.text += text_.substr(at_, end - at_);
      move_to(end);
    }
    if (at("(") && begins_array(word.text)) {
      if (in_array) fail(line_, "an array inside an array");
      ++at_;
      take_items(word);
    }
    if (!word.text.empty()) out.push_back(std::move(word));
  }

  static bool begins_array(std::string_view word) {
    if (!word.ends_with('=')) return false;
    word.remove_suffix(word.ends_with("+=") ? 2 : 1);
    return is_name(word);
  }

  void take_items(Token& word) {
    word.kind = Token::Kind::array;
    while (at_ < text_.size() && text_[at_] != ')') {
      if (std::string_view(";&|<>(").find(text_[at_]) != std::string_view::npos)
        fail(line_, "'" + std::string(1, text_[at_]) + "' in an array");
      step(word.items, true);
    }
    if (at_ >= text_.size()) fail(word.line, "the array '" + word.text + "(' is not closed");
    ++at_;
  }

  struct Document {
    std::string mark;
    std::size_t token;
    bool tabs;
  };
  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<Token> out_;
  std::vector<Document> pending_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text, const std::string& file) {
  return Tokenizer(text, file).all();
}

std::size_t end_of_part(std::string_view text, std::size_t at) {
  switch (text[at]) {
    case '\\':
      return at + 2 <= text.size() ? at + 2 : text.npos;
    case '\'':
    case '`': {
      const std::size_t end = text.find(text[at], at + 1);
      return end == text.npos ? end : end + 1;
    }
    case '"':
      return end_of_double(text, at);
    case '$':
      return end_of_dollar(text, at, 0);
    default:
      return at + 1;
  }
}

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::ranges::all_of(text, letter);
}

}  // namespace penstock::frameworks::shell
