#include "shell_commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "penstock/core/error.hpp"

namespace penstock::frameworks::shell {
namespace {

constexpr int kMostCommandLevels = 60;

using Kind = Token::Kind;
using Words = std::set<std::string, std::less<>>;

class Parser {
 public:
  Parser(std::vector<Token> tokens, std::string file) : tokens_(std::move(tokens)), file_(std::move(file)) {}

  Body all() {
    Body out = body({});
    if (at_ < tokens_.size()) fail(fmt::format("'{}' without its beginning", tokens_[at_].text));
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    const int line = at_ < tokens_.size() ? tokens_[at_].line : tokens_.empty() ? 1 : tokens_.back().line;
    throw core::BadInput({file_, line, ""}, message);
  }

  const Token* now() const { return at_ < tokens_.size() ? &tokens_[at_] : nullptr; }
  bool is(Kind kind, std::string_view text) const {
    return now() && now()->kind == kind && now()->text == text;
  }
  bool word(std::string_view text) const { return is(Kind::word, text); }
  bool op(std::string_view text) const { return is(Kind::op, text); }
  bool line_end() const { return now() && now()->kind == Kind::newline; }
  void skip_lines() {
    while (line_end() || op(";")) ++at_;
  }
  void expect(Kind kind, std::string_view text, int begin) {
    skip_lines();
    if (!is(kind, text)) fail(fmt::format("expected '{}' of what begins in line {}", text, begin));
    ++at_;
  }

  static bool closes(std::string_view text) {
    static const Words all = {"then", "elif", "else", "fi", "do", "done", "esac", "}"};
    return all.contains(text);
  }

  /// Steps up to a word that ends them, which stays.
  Body body(const Words& ends) {
    if (++levels_ > kMostCommandLevels) fail("commands lie too deep inside each other");
    Body out;
    Step::After after = Step::After::always;
    for (;;) {
      if (after == Step::After::always)
        skip_lines();
      else
        while (line_end()) ++at_;
      if (!now()) break;
      if (now()->kind == Kind::word && (ends.contains(now()->text) || closes(now()->text))) break;
      if (op(")") || op(";;") || op(";&") || op(";;&")) break;
      if (op("&")) {
        ++at_;
        continue;
      }
      bool negated = false;
      for (; word("!"); ++at_) negated = !negated;
      const std::size_t before = at_;
      out.push_back({after, negated, std::make_shared<const Command>(command())});
      after = link();
      if (at_ == before && after == Step::After::always) fail(fmt::format("unexpected '{}'", now()->text));
    }
    --levels_;
    return out;
  }

  Step::After link() {
    const Step::After after = op("&&")              ? Step::After::success
                              : op("||")            ? Step::After::failure
                              : op("|") || op("|&") ? Step::After::pipe
                                                    : Step::After::always;
    if (after != Step::After::always || op(";") || op("&")) ++at_;
    return after;
  }

  Command command() {
    const int line = now() ? now()->line : 0;
    Command out = bare_command();
    out.line = line;
    take_redirects(out);
    return out;
  }

  Command bare_command() {
    if (!now()) fail("a command is missing");
    if (word("if")) return branches();
    if (word("case")) return cases();
    if (word("for") || word("select")) return for_loop();
    if (word("while") || word("until")) return while_loop();
    if (word("{")) return group("{", "}", Kind::word);
    if (op("(")) return group("(", ")", Kind::op);
    if (word("function")) {
      ++at_;
      return function();
    }
    if (now()->kind == Kind::word && at_ + 2 < tokens_.size() && tokens_[at_ + 1].kind == Kind::op &&
        tokens_[at_ + 1].text == "(" && tokens_[at_ + 2].kind == Kind::op && tokens_[at_ + 2].text == ")")
      return function();
    return simple();
  }

  Command branches() {
    const int begin = now()->line;
    Command out{Command::Kind::branches};
    do {
      ++at_;
      Branch branch{.line = begin};
      branch.condition = body({"then"});
      expect(Kind::word, "then", begin);
      branch.line = tokens_[at_ - 1].line;
      branch.body = body({});
      out.branches.push_back(std::move(branch));
    } while (word("elif"));
    if (word("else")) {
      Branch branch{.line = now()->line};
      ++at_;
      branch.body = body({});
      out.branches.push_back(std::move(branch));
    }
    expect(Kind::word, "fi", begin);
    return out;
  }

  Command cases() {
    const int begin = now()->line;
    Command out{Command::Kind::cases};
    ++at_;
    if (!now() || now()->kind != Kind::word) fail("expected a word behind 'case'");
    out.words.push_back(tokens_[at_++]);
    expect(Kind::word, "in", begin);
    for (skip_lines(); now() && !word("esac"); skip_lines()) {
      Branch branch{.line = now()->line};
      if (op("(")) ++at_;
      for (; now() && !op(")"); ++at_)
        if (now()->kind == Kind::word)
          branch.patterns.push_back(*now());
        else if (!op("|"))
          fail("expected patterns of 'case' up to ')'");
      if (!now()) fail(fmt::format("the case of line {} does not end", begin));
      ++at_;
      branch.body = body({});
      out.branches.push_back(std::move(branch));
      if (op(";&") || op(";;&")) fail("a case that falls through to the next is not read");
      if (op(";;"))
        ++at_;
      else if (skip_lines(); !word("esac"))
        fail(fmt::format("expected ';;' or 'esac' of line {}", begin));
    }
    expect(Kind::word, "esac", begin);
    return out;
  }

  Command for_loop() {
    const int begin = now()->line;
    Command out{Command::Kind::loop};
    out.over_words = true;
    ++at_;
    if (now() && now()->kind == Kind::arithmetic) {
      out.over_words = false;
      ++at_;
    } else {
      if (!now() || now()->kind != Kind::word) fail("expected a name behind 'for'");
      out.words.push_back(tokens_[at_++]);
      while (line_end()) ++at_;
      if (word("in"))
        for (++at_; now() && !line_end() && !op(";"); ++at_)
          if (now()->kind == Kind::word) out.words.push_back(*now());
    }
    return loop_body(std::move(out), begin);
  }

  Command while_loop() {
    const int begin = now()->line;
    Command out{Command::Kind::loop};
    const bool until = word("until");
    ++at_;
    Branch branch{.line = begin};
    branch.condition = body({"do"});
    if (until)  // either may end it at once
      for (Step& step : branch.condition) step.negated = !step.negated;
    out.branches.push_back(std::move(branch));
    return loop_body(std::move(out), begin);
  }

  Command loop_body(Command out, int begin) {
    expect(Kind::word, "do", begin);
    if (out.branches.empty()) out.branches.push_back({.line = begin});
    out.branches.front().body = body({});
    expect(Kind::word, "done", begin);
    return out;
  }

  Command group(std::string_view, std::string_view close, Kind kind) {
    const int begin = now()->line;
    Command out{Command::Kind::group};
    ++at_;
    out.branches.push_back({.body = body({}), .line = begin});
    expect(kind, close, begin);
    return out;
  }

  Command function() {
    const int begin = now() ? now()->line : 0;
    if (!now() || now()->kind != Kind::word) fail("expected a function's name");
    const Token name = tokens_[at_++];
    while (op("(") || op(")") || line_end()) ++at_;
    if (!word("{")) fail(fmt::format("expected '{{' of the function '{}' in line {}", name.text, begin));
    Command out = group("{", "}", Kind::word);
    out.kind = Command::Kind::function;
    out.words = {name};
    return out;
  }

  Command simple() {
    Command out;
    const bool brackets = word("[[");
    for (; now(); ++at_) {
      const Token& token = *now();
      if (token.kind == Kind::newline) {
        if (!brackets) break;
        continue;
      }
      if (token.kind == Kind::here_document) {
        out.documents.push_back(token.text);
        continue;
      }
      if (token.kind == Kind::op && !brackets) {
        if (token.text.find_first_of("<>") == token.text.npos) break;
        if (at_ + 1 < tokens_.size() && tokens_[at_ + 1].kind == Kind::word) ++at_;  // the file
        continue;
      }
      out.words.push_back(token);
      if (brackets && token.text == "]]") {
        ++at_;
        break;
      }
    }
    if (brackets && (out.words.empty() || out.words.back().text != "]]")) fail("'[[' is not closed");
    return out;
  }

  /// Behind a compound command.
  void take_redirects(Command& out) {
    for (; now(); ++at_) {
      if (now()->kind == Kind::here_document) {
        out.documents.push_back(now()->text);
        continue;
      }
      if (now()->kind != Kind::op || now()->text.find_first_of("<>") == std::string::npos) return;
      if (at_ + 1 < tokens_.size() && tokens_[at_ + 1].kind == Kind::word) ++at_;
    }
  }

  std::vector<Token> tokens_;
  std::string file_;
  std::size_t at_ = 0;
  int levels_ = 0;
};

}  // namespace

Body commands_of(std::vector<Token> tokens, const std::string& file) {
  return Parser(std::move(tokens), file).all();
}

}  // namespace penstock::frameworks::shell
