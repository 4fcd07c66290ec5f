#pragma once
// Reading of JSON from outside. Names no library: the caller chooses the type `Json`.

#include <cstddef>
#include <string>
#include <string_view>

#include "penstock/core/error.hpp"

namespace penstock::core {

/// Maximum nesting depth of lists and objects; our own formats stay below 10.
inline constexpr int kDeepestJson = 100;

/// Throws BadInput with file and line if the text nests deeper than kDeepestJson. Code that walks such a
/// document recurses once per level and would overflow the stack.
void check_json_depth(std::string_view text, const std::string& file);

/// Throws BadInput with file and line if an object has a key twice; parsers silently keep one of them. Text
/// that is not JSON is checked up to the first syntax error.
void check_json_keys(std::string_view text, const std::string& file);

/// Throws BadInput: the text is not JSON from `byte` on. `fault` is the message of the parser.
[[noreturn]] void refuse_json(std::string_view text, const std::string& file, std::size_t byte,
                              std::string_view fault);

/// Returns the document as nlohmann's `Json`. Throws BadInput with file and line if the text is not JSON,
/// nests too deep or repeats a key in an object. A number beyond the range of double is an error, too.
template <class Json>
Json parse_json(const std::string& text, const std::string& file) {
  check_json_depth(text, file);
  check_json_keys(text, file);
  try {
    return Json::parse(text);
  } catch (const typename Json::parse_error& e) {
    refuse_json(text, file, e.byte, e.what());
  } catch (const typename Json::out_of_range& e) {
    throw BadInput({file, 0, ""}, "not valid JSON: a number is too large");
  }
}

}  // namespace penstock::core
