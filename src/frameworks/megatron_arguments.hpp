#pragma once
// Arguments as a launch script or a YAML file gives them to Megatron-LM.

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penstock/core/error.hpp"

namespace penstock::frameworks {

/// Arguments by name, words joined by underscores whatever the file has. All readers throw BadInput naming
/// file, line and argument: also for an argument that branches of a script set to different values.
class MegatronArguments {
 public:
  struct Value {
    enum class Form { words, unset, scalar, quoted, list, null };
    std::vector<std::string>
        words;  ///< of a command line, any number; one of an unset variable, a YAML scalar or list
    int line = 0;
    Form form = Form::words;
    std::string conflict{};  ///< why no value counts; empty: there is one
    std::string file{};      ///< that has the value; empty: the file that is read
    bool aside = false;      ///< of the launcher, or in a mapping of data or logs: may be unknown
  };
  /// The program that a command line starts.
  struct StartedScript {
    std::string path;
    int line = 0;
    std::string name() const { return path.substr(path.rfind('/') + 1); }
  };

  explicit MegatronArguments(std::string file) : file_(std::move(file)) {}

  /// Adds a value of a mapping that counts as much as others: throws BadInput where an earlier one differs.
  void add(const std::string& name, const Value& value);
  /// Replaces an earlier value, as later arguments of one command do.
  void set(const std::string& name, Value value) { all_[name] = std::move(value); }

  /// Takes all values of another file, in place of earlier ones.
  void overlay(const MegatronArguments& upper);

  bool has(std::string_view name);  ///< given, and not null
  /// A switch is on where it is given without a value, or with 1 or YAML 1.1's words for true (true, yes, on,
  /// in three cases each). It is off with those for false, 0, or null.
  bool flag(std::string_view name);
  std::int64_t count(std::string_view name);
  std::int64_t count(std::string_view name, std::int64_t otherwise);
  double number(std::string_view name, double otherwise);  ///< finite, 0 or more
  std::string word(std::string_view name, const std::vector<std::string>& known,
                   const std::string& otherwise);
  std::string text(std::string_view name, const std::string& otherwise);
  /// Returns true for a value that means none: null, false, no or off without quotes.
  bool nothing(std::string_view name);
  /// The first of `names` that is given; the first of all where none is. Refuses two with different values.
  const char* spelling(std::initializer_list<const char*> names);
  const std::optional<StartedScript>& script() const { return script_; }
  void set_script(StartedScript script) { script_ = std::move(script); }
  /// True for an argument of the launcher, or in a mapping of data or logs.
  bool stands_aside(std::string_view name) const;
  /// Leaves an argument or the script out, as if it were not given. Throws BadInput where it is not.
  void ignore(std::string_view name);
  /// True if names are Megatron-LM's arguments, false for fields of its configuration, which follow other rules.
  bool of_command_line() const { return of_command_line_; }
  void set_of_command_line() { of_command_line_ = true; }
  /// Names of arguments in the file that no call has read.
  std::vector<std::string> unread() const;
  /// Names that calls have read.
  std::vector<std::string> read() const { return {read_.begin(), read_.end()}; }
  [[noreturn]] void fail(std::string_view name, const std::string& message) const;
  [[noreturn]] void fail_at(int line, const std::string& name, const std::string& message) const;

 private:
  const Value* find(std::string_view name);
  const std::string& single(std::string_view name, const Value& value, const char* expected) const;
  std::string file_;
  std::optional<StartedScript> script_;
  bool of_command_line_ = false;
  std::map<std::string, Value, std::less<>> all_;
  std::set<std::string, std::less<>> read_;
};

/// A file that ends in .yaml or .yml gives its leaves, by their last key. Any other text is a bash script,
/// whose launched command counts (shell_script.hpp), or a list of arguments. Throws BadInput for a text that
/// is neither.
MegatronArguments read_megatron_arguments(const std::string& text, const std::string& file,
                                          const std::string& script_arguments);

/// Parts of read_megatron_arguments.
MegatronArguments megatron_arguments_of_script(const std::string& text, const std::string& file,
                                               const std::string& script_arguments);
MegatronArguments megatron_arguments_of_yaml(const std::string& text, const std::string& file);

/// "tensor-model-parallel-size" as YAML files have it.
std::string underscored(std::string_view name);

}  // namespace penstock::frameworks
