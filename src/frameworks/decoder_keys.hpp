#pragma once
// Keys of a config with the defaults of its row, and the parameters of family `decoder` that they become.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config_keys.hpp"
#include "decoder_row.hpp"
#include "models/layer_words.hpp"

namespace penstock::frameworks {

/// Words of `text` that are divided in two by a character of `marks`: "a=1 b>c" is {a, =, 1}, {b, >, c}.
struct SplitWord {
  std::string first;
  char mark = 0;  ///< 0: there is none; `second` is then empty
  std::string second;
};
std::vector<SplitWord> split_words(std::string_view text, std::string_view marks);

/// All readers throw BadInput naming file, line and key. A key that is null is None; the row's default counts
/// only for a key that is left out, as in transformers.
class DecoderKeys {
 public:
  DecoderKeys(ConfigKeys& keys, const DecoderRow& row, std::optional<std::int64_t> tokens,
              std::map<std::string, std::string>& out);

  /// The config's node under the key or another name for it; nothing for None.
  std::optional<core::Yaml> given(std::string_view key);
  std::optional<std::string> value(std::string_view key);
  std::optional<std::int64_t> count(std::string_view key);  ///< from 0 on
  std::int64_t needed(std::string_view key);                ///< from 1 on
  bool flag(std::string_view key);                          ///< None is false
  /// True if the config or the row has the key.
  bool knows(std::string_view key);

  void set(const char* parameter, std::string value) { out_[parameter] = std::move(value); }
  void set(const char* parameter, std::int64_t value) { out_[parameter] = std::to_string(value); }
  const std::string& parameter(const char* name) { return out_[name]; }
  std::int64_t layers() { return needed("num_hidden_layers"); }
  std::optional<std::int64_t> tokens() const { return tokens_; }
  void pass(std::string_view names);
  [[noreturn]] void fail(std::string_view key, const std::string& message) { keys_.fail(key, message); }

  /// Words of a list with one entry for each layer; nothing for None.
  std::optional<std::vector<std::string>> layer_list(std::string_view key);

 private:
  std::string present_name(std::string_view key);

  ConfigKeys& keys_;
  std::optional<std::int64_t> tokens_;
  std::map<std::string, std::string>& out_;
  std::map<std::string, std::string, std::less<>> defaults_;
  std::multimap<std::string, std::string, std::less<>> aliases_;
};

/// Reads a config as parameters of family `decoder`, by its row.
void read_decoder_row(ConfigKeys& keys, const DecoderRow& row, std::optional<std::int64_t> tokens,
                      std::map<std::string, std::string>& out);

}  // namespace penstock::frameworks
