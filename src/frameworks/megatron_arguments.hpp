#pragma once
// Arguments as a launch script or a YAML file gives them to Megatron-LM.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/core/error.hpp"

namespace penstock::frameworks {

/// By name, words joined by underscores whatever the file has. All readers throw BadInput naming file, line
/// and argument.
class MegatronArguments {
 public:
  explicit MegatronArguments(std::string file) : file_(std::move(file)) {}

  /// Later ones go before earlier ones, as on a command line.
  void set(std::string name, const std::string& value, int line) { all_[std::move(name)] = {value, line}; }

  /// Of mappings that all count alike: throws BadInput where an earlier one gives another value.
  void add(const std::string& name, const std::string& value, int line);

  bool has(std::string_view name);
  bool flag(std::string_view name);  ///< there, and not "false"
  std::int64_t count(std::string_view name);
  std::int64_t count(std::string_view name, std::int64_t otherwise);
  double number(std::string_view name, double otherwise);  ///< finite, 0 or more
  std::string word(std::string_view name, const std::vector<std::string>& known,
                   const std::string& otherwise);
  std::string text(std::string_view name, const std::string& otherwise);
  /// Arguments that nobody has asked for, by name.
  std::vector<std::string> unread() const;
  [[noreturn]] void fail(std::string_view name, const std::string& message) const;

 private:
  struct Value {
    std::string text;
    int line = 0;
  };
  const Value* find(std::string_view name);
  std::string file_;
  std::map<std::string, Value, std::less<>> all_;
  std::set<std::string, std::less<>> read_;
};

/// A file that ends in .yaml or .yml gives its leaves, by their last key; of any other text the words that
/// begin with two dashes count, with the word behind each. Variables of the script are put in where it sets
/// them to one word (NAME=value, ${NAME}, ${NAME:-otherwise}). Throws BadInput for a quote that does not end.
MegatronArguments read_megatron_arguments(const std::string& text, const std::string& file);

}  // namespace penstock::frameworks
