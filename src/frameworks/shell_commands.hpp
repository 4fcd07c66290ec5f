#pragma once
// Commands of a bash script as a tree: what runs one after the other, and what runs under a condition.

#include <memory>
#include <string>
#include <vector>

#include "shell_tokens.hpp"

namespace penstock::frameworks::shell {

struct Command;

/// A command and how it hangs on the one before it.
struct Step {
  enum class After { always, success, failure, pipe };
  After after = After::always;
  bool negated = false;
  std::shared_ptr<const Command> command;
};
using Body = std::vector<Step>;

struct Branch {
  std::vector<Token> patterns{};  ///< of case
  Body condition{};               ///< of if and elif; none in an else
  Body body{};
  int line = 0;
};

struct Command {
  enum class Kind { simple, branches, cases, loop, group, function };
  Kind kind = Kind::simple;
  int line = 0;
  std::vector<Token> words{};  ///< of a simple command; the word of case; variable and words of for
  std::vector<std::string> documents{};
  std::vector<Branch> branches{};  ///< of a loop, group or function one
  bool over_words = false;         ///< for, not while
};

/// Throws BadInput naming file and line for a compound command that does not end.
Body commands_of(std::vector<Token> tokens, const std::string& file);

}  // namespace penstock::frameworks::shell
