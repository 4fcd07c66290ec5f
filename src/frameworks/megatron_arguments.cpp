#include "megatron_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "penstock/core/yaml.hpp"

namespace penstock::frameworks {
namespace {

constexpr std::int64_t kMostCounted = (std::int64_t{1} << 31) - 1;  // products of two stay numbers
constexpr double kMostNumber = 1e12;
constexpr std::size_t kLongestWord = std::size_t{1} << 20;  // variables may grow in one another

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

struct Word {
  std::string text;
  int line = 0;
};

/// Words of a shell script, variables put in.
class Script {
 public:
  Script(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  std::vector<Word> words() {
    while (at_ < text_.size()) step();
    end_word();
    return std::move(words_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '\n') ++line_;
    if (c == '#' && !open_) return skip_comment();
    if (c == '\\') return escape();
    if (c == '\'' || c == '"') return quote(c);
    if (c == '$') return variable();
    ++at_;
    constexpr std::string_view kBetween = " \t\r\n;&|()<>";
    kBetween.find(c) == kBetween.npos ? add(c) : end_word();
  }

  void add(char c) {
    if (!open_) word_ = {"", line_};
    open_ = true;
    if (word_.text.size() == kLongestWord)
      throw core::BadInput({file_, line_, ""}, "a word of more than 1 MiB");
    word_.text += c;
  }

  void end_word() {
    if (open_) take(std::move(word_));
    open_ = false;
  }

  /// An assignment is remembered; several arguments in one variable are words of their own.
  void take(Word word) {
    const std::size_t equals = word.text.find('=');
    const bool assignment =
        equals != word.text.npos && equals > 0 && std::ranges::all_of(word.text.substr(0, equals), in_name);
    if (assignment) {
      variables_[word.text.substr(0, equals)] = word.text.substr(equals + 1);
      word.text.erase(0, equals + 1);
    }
    if (word.text.find("--") == word.text.npos) {
      if (!assignment) words_.push_back(std::move(word));
      return;
    }
    std::istringstream parts(word.text);
    for (std::string part; parts >> part;) words_.push_back({part, word.line});
  }

  void skip_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  void escape() {
    if (++at_ == text_.size()) return;
    if (text_[at_] == '\n')
      ++line_;
    else
      add(text_[at_]);
    ++at_;
  }

  void quote(char mark) {
    const int begin = line_;
    if (!open_) word_ = {"", line_};
    open_ = true;
    for (++at_; at_ < text_.size() && text_[at_] != mark;) {
      if (text_[at_] == '\n') ++line_;
      if (mark == '"' && text_[at_] == '$')
        variable();
      else if (mark == '"' && text_[at_] == '\\')
        escape();
      else
        add(text_[at_] == '\n' ? ' ' : text_[at_]), ++at_;
    }
    if (at_ == text_.size()) throw core::BadInput({file_, begin, ""}, "a quote is not closed");
    ++at_;
  }

  /// $NAME, ${NAME}, ${NAME:-otherwise}; what is set nowhere in the script stays as it is written.
  void variable() {
    const std::size_t begin = at_++;
    const bool braces = at_ < text_.size() && text_[at_] == '{';
    if (braces) ++at_;
    std::string name;
    while (at_ < text_.size() && in_name(text_[at_])) name += text_[at_++];
    std::string otherwise;
    bool given = false;
    if (braces) {
      const std::size_t end = std::min(text_.find('}', at_), text_.size());
      const std::string_view rest = text_.substr(at_, end - at_);
      given = rest.starts_with(":-");
      if (given) otherwise = rest.substr(2);
      at_ = std::min(end + 1, text_.size());
    }
    const auto found = variables_.find(name);
    const std::string value = found != variables_.end() ? found->second
                              : given                   ? otherwise
                                                        : std::string(text_.substr(begin, at_ - begin));
    for (const char c : value) add(c);
  }

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool open_ = false;
  Word word_;
  std::map<std::string, std::string> variables_;
  std::vector<Word> words_;
};

std::string underscored(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '-', '_');
  return out;
}

MegatronArguments of_script(const std::string& text, const std::string& file) {
  MegatronArguments out(file);
  const std::vector<Word> words = Script(text, file).words();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (!word.starts_with("--") || word.size() == 2) continue;
    const std::size_t equals = word.find('=');
    if (equals != word.npos) {
      out.set(underscored(word.substr(2, equals - 2)), word.substr(equals + 1), words[i].line);
      continue;
    }
    const bool valued = i + 1 < words.size() && !words[i + 1].text.starts_with("--");
    out.set(underscored(word.substr(2)), valued ? words[i + 1].text : "", words[i].line);
  }
  return out;
}

/// Of an empty text too.
std::string text_of(const core::Yaml& scalar) {
  try {
    return scalar.text();
  } catch (const core::BadInput&) {
    return "";
  }
}

/// Leaves of all mappings, as deep as files of people go; lists are left out.
void add_leaves(const core::Yaml& node, int levels, MegatronArguments& out) {
  if (levels == 0) node.fail("mappings lie too deep inside each other");
  for (const auto& [key, value] : node.entries()) {
    if (value.is_map()) add_leaves(value, levels - 1, out);
    if (value.is_scalar()) out.add(underscored(key), text_of(value), value.place().line);
  }
}

}  // namespace

const MegatronArguments::Value* MegatronArguments::find(std::string_view name) {
  read_.emplace(name);
  const auto found = all_.find(name);
  return found == all_.end() ? nullptr : &found->second;
}

void MegatronArguments::add(const std::string& name, const std::string& value, int line) {
  const auto [there, added] = all_.try_emplace(name, Value{value, line});
  if (added || there->second.text == value) return;
  throw core::BadInput({file_, line, name}, fmt::format("is '{}' here and '{}' in line {}: keep one of them",
                                                        value, there->second.text, there->second.line));
}

bool MegatronArguments::has(std::string_view name) {
  return find(name) != nullptr;
}

bool MegatronArguments::flag(std::string_view name) {
  const Value* found = find(name);
  return found && found->text != "false" && found->text != "False";
}

std::int64_t MegatronArguments::count(std::string_view name) {
  const Value* found = find(name);
  if (!found) throw core::BadInput({file_, 0, std::string(name)}, "is not given");
  std::int64_t number = 0;
  const char* end = found->text.data() + found->text.size();
  const auto [stop, fault] = std::from_chars(found->text.data(), end, number);
  if (fault != std::errc() || stop != end || number < 1 || number > kMostCounted)
    fail(name, fmt::format("expected a whole number from 1 on, found '{}'", found->text));
  return number;
}

std::int64_t MegatronArguments::count(std::string_view name, std::int64_t otherwise) {
  return has(name) ? count(name) : otherwise;
}

double MegatronArguments::number(std::string_view name, double otherwise) {
  const Value* found = find(name);
  if (!found) return otherwise;
  double number = 0;
  const char* end = found->text.data() + found->text.size();
  const auto [stop, fault] = std::from_chars(found->text.data(), end, number);
  if (fault != std::errc() || stop != end || !(number >= 0 && number <= kMostNumber))
    fail(name, fmt::format("expected a number of 0 or more, found '{}'", found->text));
  return number;
}

std::string MegatronArguments::word(std::string_view name, const std::vector<std::string>& known,
                                    const std::string& otherwise) {
  std::string given = text(name, otherwise);
  if (std::ranges::count(known, given) == 0)
    fail(name, fmt::format("expected {}, found '{}'", fmt::join(known, " or "), given));
  return given;
}

std::string MegatronArguments::text(std::string_view name, const std::string& otherwise) {
  const Value* found = find(name);
  return found ? found->text : otherwise;
}

std::vector<std::string> MegatronArguments::unread() const {
  std::vector<std::string> out;
  for (const auto& [name, value] : all_)
    if (!read_.contains(name)) out.push_back(name);
  return out;
}

void MegatronArguments::fail(std::string_view name, const std::string& message) const {
  const auto found = all_.find(name);
  throw core::BadInput({file_, found == all_.end() ? 0 : found->second.line, std::string(name)}, message);
}

MegatronArguments read_megatron_arguments(const std::string& text, const std::string& file) {
  if (!file.ends_with(".yaml") && !file.ends_with(".yml")) return of_script(text, file);
  constexpr int kLevels = 20;
  MegatronArguments out(file);
  add_leaves(core::Yaml::parse(text, file), kLevels, out);
  return out;
}

}  // namespace penstock::frameworks
