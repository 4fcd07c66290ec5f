#pragma once
// The one door for JSON from outside. Names no library: `Json` is the type of the reader's choice.

#include <cstddef>
#include <string>
#include <string_view>

#include "penstock/core/error.hpp"

namespace penstock::core {

/// How deep lists and objects may stand inside each other; our own formats stay below 10.
inline constexpr int kDeepestJson = 100;

/// Throws BadInput with file and line where text nests deeper than kDeepestJson: what walks such a document
/// calls itself once per level and would run out of stack.
void check_json_depth(std::string_view text, const std::string& file);

/// Throws BadInput with file and line where an object has a key twice, of which parsers keep one without a
/// word. On text that is no JSON, as far as it is.
void check_json_keys(std::string_view text, const std::string& file);

/// Throws BadInput: the text is no JSON from `byte` on; `fault` is what the parser says.
[[noreturn]] void refuse_json(std::string_view text, const std::string& file, std::size_t byte,
                              std::string_view fault);

/// The document, as nlohmann's `Json`; throws BadInput with file and line when the text is not JSON, nests
/// too deep, has a key twice in an object, or holds a number beyond double.
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
