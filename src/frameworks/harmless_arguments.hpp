#pragma once
// Arguments of launch files that change neither model, time nor memory here: data, logs, learning rates, ...

#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace penstock::frameworks {

/// True for such a name, and for one in capitals, which is a variable of the environment.
bool is_harmless(const std::string& name);

/// Words of a text, separated by blanks.
std::set<std::string, std::less<>> words_of(std::string_view text);

}  // namespace penstock::frameworks
