#pragma once
// Strict reading of YAML: every error names file, line and key. Keeps yaml-cpp out of other rooms.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/units.hpp"

namespace penstock::core {

/// One node of a loaded YAML document. Cheap to copy. All readers throw BadInput on a mismatch.
class Yaml {
 public:
  static Yaml load(const std::string& path);
  /// Messages show `name` as the file's name.
  static Yaml parse(const std::string& text, const std::string& name);

  /// Replaces the value of the node at a dotted path by `value`, itself YAML: "models.0.mini_batch", "[64]".
  /// Numbers index lists from 0; the last key may be new in its mapping. Errors about the value name no line,
  /// because it has none in the file. Throws BadInput if the path does not exist or the value is not YAML.
  void set(std::string_view path, const std::string& value);

  bool is_map() const;
  bool is_list() const;
  bool is_scalar() const;

  /// The child under `key`; throws when absent.
  Yaml at(std::string_view key) const;
  std::optional<Yaml> find(std::string_view key) const;
  std::vector<Yaml> items() const;
  std::vector<std::pair<std::string, Yaml>> entries() const;
  /// Throws on the first key outside `known`, with the nearest known key as a hint, and on a repeated key.
  void only(std::span<const std::string_view> known) const;
  void only(std::initializer_list<std::string_view> known) const {
    only(std::span(known.begin(), known.size()));
  }

  std::string text() const;    ///< scalar that is not empty
  std::string scalar() const;  ///< as written, without quotes; may be empty
  bool plain() const;          ///< true for a scalar without quotes: YAML 1.1 readers infer its type
  std::int64_t integer(std::int64_t low, std::int64_t high) const;  ///< inclusive bounds; without quotes
  double number() const;                                            ///< finite
  bool flag() const;                                                ///< true or false
  Seconds seconds() const;
  Bytes bytes() const;
  Bandwidth bandwidth() const;
  FlopRate flop_rate() const;
  double share() const;  ///< from a percentage

  InputPlace place() const;
  [[noreturn]] void fail(const std::string& message) const;

 private:
  struct TreeNode;
  explicit Yaml(std::shared_ptr<const TreeNode> node);
  Yaml child(const void* yaml_node, std::string key) const;
  Yaml step(const std::string& step) const;
  std::shared_ptr<const TreeNode> node_;
};

/// Returns `text` as a double-quoted YAML scalar.
std::string quoted(std::string_view text);

}  // namespace penstock::core
