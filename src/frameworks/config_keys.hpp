#pragma once
// Reads a config key by key, and has at the end the keys that were not read.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/core/yaml.hpp"

namespace penstock::frameworks {

/// Numbers that a configuration class of transformers has where a key is left out.
using ConfigDefaults = std::map<std::string, std::int64_t, std::less<>>;

/// Keys that are null count as absent, except for `defaults`, which are of keys left out. Keys that no
/// architecture computes by are read over. All readers throw BadInput naming file, line and key.
class ConfigKeys {
 public:
  explicit ConfigKeys(core::Yaml root, ConfigDefaults defaults = {});

  std::optional<core::Yaml> find(std::string_view key);
  /// True if the key is there, also where it is null.
  bool states(std::string_view key);
  core::Yaml at(std::string_view key);       ///< must be there
  std::int64_t count(std::string_view key);  ///< from 1 on; must be there or have a default
  std::int64_t count(std::string_view key, std::int64_t otherwise);
  /// The default of a key that is left out; `otherwise` for a key that is null or has none.
  std::int64_t left_out(std::string_view key, std::int64_t otherwise) const;
  double number(std::string_view key, double otherwise);
  bool flag(std::string_view key, bool otherwise);
  std::string text(std::string_view key, const std::string& otherwise);
  /// `value` must be the flag's, or the key is refused: `why` is what else would be computed.
  void demand(std::string_view key, bool value, bool otherwise, const std::string& why);
  /// The text must be one of these.
  void demand(std::string_view key, const std::vector<std::string>& known, const std::string& otherwise);
  /// Reads over these, whatever their values.
  void pass(const std::vector<std::string_view>& keys) { read_.insert(keys.begin(), keys.end()); }
  /// Refuses the first key that was not read.
  void refuse_others(const std::string& model_type) const;

  [[noreturn]] void fail(std::string_view key, const std::string& message) const;

 private:
  core::Yaml root_;
  ConfigDefaults defaults_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace penstock::frameworks
