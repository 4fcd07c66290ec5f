// Words of a bash script's launched command as Megatron-LM's arguments.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "megatron_arguments.hpp"
#include "shell_script.hpp"

namespace penstock::frameworks {
namespace {

using shell::Field;
using shell::Launch;
using Value = MegatronArguments::Value;
using Options = std::map<std::string, Value>;

/// A quoted command line inside a word (bash -c "...") is words of its own.
std::vector<Field> split(const std::vector<Field>& fields) {
  std::vector<Field> out;
  for (const Field& field : fields) {
    if (field.text.find("--") == field.text.npos || field.text.find_first_of(" \t\n") == field.text.npos) {
      out.push_back(field);
      continue;
    }
    constexpr const char* kSpace = " \t\n";
    for (std::size_t at = field.text.find_first_not_of(kSpace); at != field.text.npos;) {
      const std::size_t end = std::min(field.text.find_first_of(kSpace, at), field.text.size());
      out.push_back({field.text.substr(at, end - at), field.line_at(at)});
      at = field.text.find_first_not_of(kSpace, end);
    }
  }
  return out;
}

bool is_option(const Field& field) {
  return field.text.size() > 2 && field.text.starts_with("--");
}

/// Arguments that every run of Megatron-LM has, and no tool beside it.
constexpr std::array<const char*, 4> kMarks = {"num_layers", "hidden_size", "micro_batch_size",
                                               "num_attention_heads"};

std::string option_name(const std::string& word) {
  const std::size_t equals = word.find('=');
  return underscored(word.substr(2, equals == word.npos ? equals : equals - 2));
}

/// Index of the program's name: the last word that ends in .py before the model's arguments; as many as there
/// are words where there is none.
std::size_t script_at(const std::vector<Field>& words) {
  std::size_t out = words.size();
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (is_option(words[i]) && std::ranges::count(kMarks, option_name(words[i].text)) > 0) return out;
    if (!is_option(words[i]) && words[i].text.ends_with(".py")) out = i;
  }
  return words.size();
}

/// Later arguments of a command go before earlier ones. An unset variable is no value of a switch, and the
/// value of an argument only where nothing else is.
Options options_of(const std::vector<Field>& fields) {
  Options out;
  const std::vector<Field> words = split(fields);
  const std::size_t script = script_at(words);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!is_option(words[i])) continue;
    const std::string& word = words[i].text;
    const std::size_t equals = word.find('=');
    Value value{{}, words[i].line};
    value.aside = script < words.size() && i < script;
    if (equals != word.npos) value.words.push_back(word.substr(equals + 1));
    for (std::size_t next = i + 1; next < words.size() && next != script && !is_option(words[next]); ++next)
      if (!words[next].unset) value.words.push_back(words[next].text);
    if (value.words.empty() && i + 1 < words.size() && i + 1 != script && words[i + 1].unset) {
      value.words.push_back(words[i + 1].text);
      value.form = Value::Form::unset;
    }
    out[option_name(word)] = std::move(value);
  }
  return out;
}

std::string in_words(const Options& options, const std::string& name) {
  const auto found = options.find(name);
  if (found == options.end()) return "not given";
  return found->second.words.empty() ? "given" : fmt::format("'{}'", fmt::join(found->second.words, " "));
}

void note_difference(const Options& first, const Options& second, const std::string& where_first,
                     const std::string& where_second, Options& out) {
  const auto differ = [&](const std::string& name, int line) {
    const auto a = first.find(name), b = second.find(name);
    if (a != first.end() && b != second.end() && a->second.words == b->second.words) return;
    Value& value = out.try_emplace(name, Value{{}, line}).first->second;
    if (value.conflict.empty())
      value.conflict = fmt::format("is {} {} and {} {}; nothing in the script decides: keep one of them",
                                   in_words(first, name), where_first, in_words(second, name), where_second);
  };
  for (const auto& [name, value] : first) differ(name, value.line);
  for (const auto& [name, value] : second) differ(name, value.line);
}

Options options_of(const Launch& launch) {
  const Options plain = options_of(launch.fields);
  Options out = plain;
  for (const shell::OtherFields& other : launch.others)
    note_difference(plain, options_of(other.fields),
                    fmt::format("by line {} ({})", other.against, other.variable),
                    fmt::format("by line {}", other.line), out);
  return out;
}

bool trains(const Options& options) {
  return std::ranges::any_of(kMarks, [&](const char* mark) { return options.contains(mark); });
}

bool is_bare(const Launch& launch) {
  return !launch.fields.empty() && is_option(launch.fields.front());
}

/// Bare arguments, a line each, are one list.
void join_bare(std::vector<Launch>& all, const std::string& file) {
  if (!std::ranges::all_of(all, is_bare)) {
    const auto bare = std::ranges::find_if(all, is_bare);
    if (bare != all.end())
      throw core::BadInput({file, bare->line, bare->fields.front().text},
                           "begins a command of its own: a comment, an empty line or a missing \\ ends the "
                           "command above");
    return;
  }
  for (std::size_t i = 1; i < all.size(); ++i) {
    auto& fields = all.front().fields;
    fields.insert(fields.end(), all[i].fields.begin(), all[i].fields.end());
    all.front().others.insert(all.front().others.end(), all[i].others.begin(), all[i].others.end());
  }
  if (!all.empty()) all.resize(1);
}

}  // namespace

MegatronArguments megatron_arguments_of_script(const std::string& text, const std::string& file,
                                               const std::string& script_arguments) {
  MegatronArguments out(file);
  out.set_of_command_line();
  shell::ScriptRun run = shell::run_script(text, file, script_arguments);
  if (run.launches.empty()) {  // a list of arguments, such as penstock export writes
    for (const Launch& list : run.lists)
      for (const auto& [name, value] : options_of(list)) out.add(name, value);
    return out;
  }
  join_bare(run.launches, file);
  std::vector<std::pair<const Launch*, Options>> all;
  for (const Launch& launch : run.launches) all.emplace_back(&launch, options_of(launch));
  const bool any = std::ranges::any_of(all, [](const auto& each) { return trains(each.second); });
  if (any) std::erase_if(all, [](const auto& each) { return !trains(each.second); });
  for (const auto& [launch, options] : all)
    if (any && !launch->array_fault.empty())
      throw core::BadInput({file, launch->line, ""}, launch->array_fault);
  const std::vector<Field> words = split(all.front().first->fields);
  if (const std::size_t at = script_at(words); at < words.size())
    out.set_script({words[at].text, words[at].line});
  Options options = all.front().second;
  for (std::size_t i = 1; i < all.size(); ++i)
    note_difference(all.front().second, all[i].second,
                    fmt::format("in the command of line {}", all.front().first->line),
                    fmt::format("in the command of line {}", all[i].first->line), options);
  for (auto& [name, value] : options) out.set(name, std::move(value));
  return out;
}

}  // namespace penstock::frameworks
