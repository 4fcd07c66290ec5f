#include "megatron_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace penstock::frameworks {
namespace {

using Value = MegatronArguments::Value;

constexpr std::int64_t kMostCounted = (std::int64_t{1} << 31) - 1;  // products of two stay numbers
constexpr double kMostNumber = 1e12;

/// "[fp8]" and the like are shown as written.
std::string shown(const Value& value) {
  if (value.form == Value::Form::null) return "null";
  if (value.form == Value::Form::quoted) return fmt::format("\"{}\"", value.words.front());
  return fmt::format("{}", fmt::join(value.words, " "));
}

bool is_one_of(std::string_view text, const std::vector<std::string_view>& words) {
  return std::ranges::any_of(words, [&](std::string_view word) {
    const auto with = [](std::string_view letters, bool first, bool rest) {
      std::string out(letters);
      for (std::size_t i = 0; i < out.size(); ++i)
        if (i == 0 ? first : rest) out[i] = static_cast<char>(out[i] - 'a' + 'A');
      return out;
    };
    return text == word || text == with(word, true, false) || text == with(word, true, true);
  });
}

/// YAML 1.1's words, as PyYAML's safe_load reads them.
bool says_true(std::string_view text) {
  return is_one_of(text, {"true", "yes", "on"});
}
bool says_false(std::string_view text) {
  return is_one_of(text, {"false", "no", "off"});
}

/// $1 or ${1...
bool has_positional(std::string_view text) {
  for (std::size_t at = text.find('$'); at != text.npos; at = text.find('$', at + 1)) {
    const std::size_t digit = text.substr(at).starts_with("${") ? at + 2 : at + 1;
    if (digit < text.size() && text[digit] >= '1' && text[digit] <= '9') return true;
  }
  return false;
}

template <class Number>
std::optional<Number> whole(const std::string& text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, number);
  return fault == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string underscored(std::string_view name) {
  std::string out(name.substr(std::min(name.find_first_not_of('-'), name.size())));
  std::ranges::replace(out, '-', '_');
  return out;
}

const Value* MegatronArguments::find(std::string_view name) {
  read_.emplace(name);
  const auto found = all_.find(name);
  if (found == all_.end()) return nullptr;
  if (!found->second.conflict.empty()) fail(name, found->second.conflict);
  return &found->second;
}

void MegatronArguments::add(const std::string& name, const Value& value) {
  const auto [there, added] = all_.try_emplace(name, value);
  if (added) return;
  Value& first = there->second;
  if (first.conflict.empty()) first.conflict = value.conflict;
  if (first.words == value.words && first.form == value.form) return;
  throw core::BadInput({file_, value.line, name},
                       fmt::format("is '{}' here and '{}' in line {}: keep one of them", shown(value),
                                   shown(first), first.line));
}

void MegatronArguments::overlay(const MegatronArguments& upper) {
  for (const auto& [name, value] : upper.all_) {
    Value& mine = all_[name] = value;
    if (mine.file.empty()) mine.file = upper.file_;
  }
  of_command_line_ = of_command_line_ || upper.of_command_line_;
  if (upper.script_) script_ = upper.script_;
}

bool MegatronArguments::has(std::string_view name) {
  const Value* found = find(name);
  return found && found->form != Value::Form::null;
}

bool MegatronArguments::flag(std::string_view name) {
  const Value* found = find(name);
  if (!found || found->form == Value::Form::null) return false;
  if (found->form == Value::Form::unset || (found->form == Value::Form::words && found->words.empty()))
    return true;
  const bool one = found->words.size() == 1;
  if (one && (found->form == Value::Form::words || found->form == Value::Form::scalar)) {
    const std::string& text = found->words.front();
    if (says_true(text) || text == "1") return true;
    if (says_false(text) || text == "0") return false;
  }
  fail(name, fmt::format("a switch: expected true or false{}, found '{}'",
                         found->form == Value::Form::quoted ? " without quotes" : "", shown(*found)));
}

bool MegatronArguments::nothing(std::string_view name) {
  const Value* found = find(name);
  return !found || found->form == Value::Form::null ||
         (found->form == Value::Form::scalar && says_false(found->words.front()));
}

/// The one word of a value that is a number or a name.
const std::string& MegatronArguments::single(std::string_view name, const Value& value,
                                             const char* expected) const {
  const bool one = value.words.size() == 1 && value.form != Value::Form::list;
  if (!one) fail(name, fmt::format("expected {}, found '{}'", expected, shown(value)));
  return value.words.front();
}

std::int64_t MegatronArguments::count(std::string_view name) {
  constexpr const char* kExpected = "a whole number from 1 on";
  if (!has(name)) {
    if (all_.contains(std::string(name))) fail(name, "is null: expected a whole number from 1 on");
    throw core::BadInput({file_, 0, std::string(name)}, "is not given");
  }
  const Value& value = *find(name);
  const std::string& text = single(name, value, kExpected);
  const auto number = whole<std::int64_t>(text);
  // A YAML reader makes text of "8", and 8 of 010.
  const bool doubtful = value.form == Value::Form::quoted ||
                        (value.form == Value::Form::scalar && text.size() > 1 && text.starts_with('0'));
  if (!number || *number < 1 || *number > kMostCounted || doubtful)
    fail(name, fmt::format("expected {}, found '{}'", kExpected, shown(value)));
  return *number;
}

std::int64_t MegatronArguments::count(std::string_view name, std::int64_t otherwise) {
  return has(name) ? count(name) : otherwise;
}

double MegatronArguments::number(std::string_view name, double otherwise) {
  constexpr const char* kExpected = "a number of 0 or more";
  if (!has(name)) return otherwise;
  const Value& value = *find(name);
  const auto number = whole<double>(single(name, value, kExpected));
  if (!number || !(*number >= 0 && *number <= kMostNumber) || value.form == Value::Form::quoted)
    fail(name, fmt::format("expected {}, found '{}'", kExpected, shown(value)));
  return *number;
}

std::string MegatronArguments::word(std::string_view name, const std::vector<std::string>& known,
                                    const std::string& otherwise) {
  std::string given = text(name, otherwise);
  if (std::ranges::count(known, given) == 0)
    fail(name, fmt::format("expected {}, found '{}'", fmt::join(known, " or "), given));
  return given;
}

std::string MegatronArguments::text(std::string_view name, const std::string& otherwise) {
  return has(name) ? fmt::format("{}", fmt::join(find(name)->words, " ")) : otherwise;
}

const char* MegatronArguments::spelling(std::initializer_list<const char*> names) {
  const char* out = nullptr;
  for (const char* name : names) {
    if (!has(name)) continue;
    if (out && text(name, "") != text(out, ""))
      fail(name,
           fmt::format("is '{}', and {} is '{}': keep one of them", text(name, ""), out, text(out, "")));
    if (!out) out = name;
  }
  return out ? out : *names.begin();
}

bool MegatronArguments::stands_aside(std::string_view name) const {
  const auto found = all_.find(name);
  return found != all_.end() && found->second.aside;
}

void MegatronArguments::ignore(std::string_view name) {
  if (script_ && (name == script_->name() || name == script_->path)) {
    script_.reset();
    return;
  }
  const auto found = all_.find(underscored(name));
  if (found == all_.end())
    throw core::BadInput({file_, 0, ""}, fmt::format("{} is to be ignored, and is not in the file", name));
  all_.erase(found);
}

std::vector<std::string> MegatronArguments::unread() const {
  std::vector<std::string> out;
  for (const auto& [name, value] : all_)
    if (!read_.contains(name)) out.push_back(name);
  return out;
}

void MegatronArguments::fail(std::string_view name, const std::string& message) const {
  const auto found = all_.find(name);
  if (found == all_.end()) fail_at(0, std::string(name), message);
  const Value& value = found->second;
  if (std::ranges::any_of(value.words, has_positional))
    throw core::BadInput({file_, value.line, std::string(name)},
                         message + " ($1 and those after it are the script's arguments: --args \"2 4\")");
  throw core::BadInput({value.file.empty() ? file_ : value.file, value.line, std::string(name)}, message);
}

void MegatronArguments::fail_at(int line, const std::string& name, const std::string& message) const {
  throw core::BadInput({file_, line, name}, message);
}

MegatronArguments read_megatron_arguments(const std::string& text, const std::string& file,
                                          const std::string& script_arguments) {
  const bool yaml = file.ends_with(".yaml") || file.ends_with(".yml");
  if (!yaml) return megatron_arguments_of_script(text, file, script_arguments);
  if (!script_arguments.empty())
    throw core::BadInput({file, 0, ""}, "is no script, which --args gives its arguments to");
  return megatron_arguments_of_yaml(text, file);
}

}  // namespace penstock::frameworks
