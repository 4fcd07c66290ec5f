#pragma once
// Strict reading of foreign JSON: every fault names the file and the way to the value.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace penstock::graph {

/// A value with its key ("nodes[3].name"). Refers to the document and the file's name. All readers throw
/// BadInput.
class JsonReader {
 public:
  JsonReader(const nlohmann::json& json, const std::string& file, std::string key)
      : json_(json), file_(file), key_(std::move(key)) {}

  [[noreturn]] void fail(const std::string& message) const;

  JsonReader at(const std::string& key) const;
  bool has(const std::string& key) const { return json_.is_object() && json_.contains(key); }
  std::vector<JsonReader> items(std::size_t most) const;  ///< one to `most`
  std::vector<std::pair<std::string, JsonReader>> entries(std::size_t most) const;

  std::string text() const;
  double number(double most) const;  ///< from 0
  std::int64_t integer(std::int64_t low, std::int64_t high) const;
  /// The key of this value, as a number.
  std::int64_t whole_key(const std::string& key, std::int64_t low, std::int64_t high) const;

 private:
  const nlohmann::json& json_;
  const std::string& file_;
  std::string key_;
};

}  // namespace penstock::graph
