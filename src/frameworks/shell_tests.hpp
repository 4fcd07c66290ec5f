#pragma once
// Conditions of a bash script: what is known of [ ], [[ ]] and (( )).

#include <span>
#include <string>

#include "shell_values.hpp"

namespace penstock::frameworks::shell {

enum class Truth { no, yes, maybe };

Truth operator!(Truth a);
Truth both(Truth a, Truth b);
Truth either(Truth a, Truth b);

/// `words` are between the brackets. A variable that the script sets nowhere is empty for -z and -n. Other
/// tests of it are open, as are those of files and of what a command prints.
Truth test(std::span<const Token> words, const Variables& variables, const std::string& file);

/// Truth of whether one of the patterns of `case` fits.
Truth fits(const Token& word, std::span<const Token> patterns, const Variables& variables,
           const std::string& file);

Truth arithmetic_truth(const Token& sum, const Variables& variables, const std::string& file);

}  // namespace penstock::frameworks::shell
