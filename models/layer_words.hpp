#pragma once
// Short text for a choice per layer: (window(4096)+full)*13, dense*3+experts*58.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::models {

/// The choice of one layer: a word, and its number in parentheses if it has one.
struct LayerWord {
  std::string word;
  std::int64_t number = 0;  ///< 0: none is given
  friend bool operator==(const LayerWord&, const LayerWord&) = default;
};

/// Reads LIST: ITEM+ITEM+..., where an ITEM is WORD, WORD(NUMBER) or (LIST), and may be repeated: ITEM*COUNT.
/// Words are small letters, digits and underscores. Throws BadInput for any other text and for more than
/// `most` layers.
std::vector<LayerWord> parse_layer_words(std::string_view text, std::size_t most);

/// A short text that parse_layer_words() reads back: runs are counted, and so is a pattern that repeats from
/// the first layer on. A single word if all layers are equal.
std::string written(const std::vector<LayerWord>& layers);

}  // namespace penstock::models
