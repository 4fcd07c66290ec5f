#pragma once
// Strict reading of YAML: every fault names file, line and key. Keeps yaml-cpp out of other rooms.

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
  /// `name` stands for the file in messages.
  static Yaml parse(const std::string& text, const std::string& name);

  /// Gives the node at a dotted path another value, itself YAML: "models.0.mini_batch" "[64]"; numbers count
  /// a list's items from 0. The last key may be new in its mapping. Faults of the value name no line, for it
  /// has none in the file. Throws BadInput for a path that leads nowhere, and a value that is no YAML.
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

  std::string text() const;    ///< not empty
  std::string scalar() const;  ///< as written, without quotes; may be empty
  bool plain() const;          ///< a scalar without quotes, which readers of YAML 1.1 give a type
  std::int64_t integer(std::int64_t low, std::int64_t high) const;  ///< inclusive bounds; without quotes
  double number() const;                                            ///< finite
  bool flag() const;                                                ///< true or false
  Seconds seconds() const;
  Bytes bytes() const;
  Bandwidth bandwidth() const;
  FlopRate flop_rate() const;
  double share() const;  ///< from a percentage

  Place place() const;
  [[noreturn]] void fail(const std::string& message) const;

 private:
  struct Node;
  explicit Yaml(std::shared_ptr<const Node> node);
  Yaml child(const void* yaml_node, std::string key) const;
  Yaml step(const std::string& step) const;
  std::shared_ptr<const Node> node_;
};

/// Its double-quoted form, which reads back as `text`.
std::string quoted(std::string_view text);

}  // namespace penstock::core
