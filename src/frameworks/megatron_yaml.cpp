// Leaves of a YAML file as Megatron-LM's arguments.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>

#include "megatron_arguments.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/letters.hpp"
#include "penstock/core/yaml.hpp"

namespace penstock::frameworks {
namespace {

using Value = MegatronArguments::Value;

constexpr std::size_t kMostLetters = 65'536;
constexpr int kLevels = 20, kMostDefaults = 100, kMostFolders = 10;

/// ${NAME:value} is the value, as Primus reads it where the environment has no such variable.
std::string with_defaults(std::string text) {
  for (int turn = 0; turn < kMostDefaults; ++turn) {
    const std::size_t begin = text.rfind("${"), end = text.find('}', std::min(begin, text.size()));
    if (begin == text.npos || end == text.npos) break;
    const std::string_view inner = std::string_view(text).substr(begin + 2, end - begin - 2);
    const std::size_t colon = inner.find(':');
    const auto in_name = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
    if (colon == inner.npos || colon == 0 || !std::ranges::all_of(inner.substr(0, colon), in_name)) break;
    text = text.substr(0, begin) + std::string(inner.substr(colon + 1)) + text.substr(end + 1);
  }
  return text;
}

bool is_null_node(const core::Yaml& node) {
  return !node.is_map() && !node.is_list() && !node.is_scalar();
}

/// Files that a file of Primus begins from.
bool is_base(std::string_view key) {
  return key == "extends" || key == "includes" || key == "bases";
}

/// A file is named relative to the one that names it. Primus' jobs name those of its own folders, which are
/// in a folder above.
std::string path_of(const core::Yaml& name) {
  const std::string text = with_defaults(name.text());
  const auto folder = std::filesystem::path(name.place().file).parent_path();
  std::filesystem::path out = folder / text;
  if (std::filesystem::is_regular_file(out)) return out.string();
  auto above = std::filesystem::absolute(folder).lexically_normal();
  for (int level = 0; level < kMostFolders && above.has_relative_path(); ++level, above = above.parent_path())
    for (const char* own : {"primus/configs/models/megatron", "primus/configs/modules/megatron"})
      if (const auto there = above / own / text; std::filesystem::is_regular_file(there))
        return there.string();
  return out.string();
}

bool is_file(const core::Yaml& name) {
  return std::filesystem::is_regular_file(path_of(name));
}

/// Flow form of a list, as messages show it.
std::string written(const core::Yaml& node, int levels) {
  if (levels == 0) node.fail("lists lie too deep inside each other");
  if (is_null_node(node)) return "null";
  if (node.is_scalar()) return node.scalar();
  if (node.is_map()) return "{...}";
  std::vector<std::string> items;
  for (const core::Yaml& item : node.items()) items.push_back(written(item, levels - 1));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

/// "decoder*3" is three letters t.
std::string layer_letters(const core::Yaml& item) {
  const std::string text = item.text();
  const std::size_t star = text.find('*');
  std::string name = text.substr(0, star);
  while (name.ends_with(' ')) name.pop_back();
  const char letter = name == "embedding" ? 'E'
                      : name == "decoder" ? 't'
                      : name == "mtp"     ? 'm'
                      : name == "loss"    ? 'L'
                                          : '?';
  if (letter == '?') item.fail(fmt::format("expected embedding, decoder, mtp or loss, found '{}'", text));
  if (star == text.npos) return {letter};
  std::int64_t count = 0;
  const char* end = text.data() + text.size();
  const char* begin = text.data() + star + 1;
  while (begin < end && *begin == ' ') ++begin;
  const auto [stop, fault] = std::from_chars(begin, end, count);
  if (fault != std::errc() || stop != end || count < 0 || static_cast<std::size_t>(count) > kMostLetters)
    item.fail(fmt::format("expected a count of layers behind '*', found '{}'", text));
  return std::string(static_cast<std::size_t>(count), letter);
}

/// A list of stages, each a list of layers (Megatron-Bridge), as a layout's text.
std::string layout_text(const core::Yaml& list) {
  std::string out;
  bool first = true;
  for (const core::Yaml& stage : list.items()) {
    if (!stage.is_list())
      stage.fail("expected a list of layers for each stage: [[embedding, decoder], [decoder, loss]]");
    if (!first) out += '|';
    first = false;
    for (const core::Yaml& item : stage.items()) out += layer_letters(item);
    if (out.size() > kMostLetters) list.fail("more than 65,536 layers");
  }
  return out;
}

Value list_value(const std::string& name, const core::Yaml& list) {
  constexpr int kListLevels = 10;
  const int line = list.place().line;
  if (name == "pipeline_model_parallel_layout") return {{layout_text(list)}, line, Value::Form::scalar};
  if (name == "num_layer_list") {
    std::string text = written(list, 2);
    std::erase_if(text, [](char c) { return c == '[' || c == ']' || c == ' '; });
    return {{text}, line, Value::Form::scalar};
  }
  if (name == "moe_layer_freq") return {{written(list, 2)}, line, Value::Form::scalar};
  const auto items = list.items();
  if (name == "recompute_modules" && items.size() == 1 && items.front().is_scalar())
    return {{items.front().scalar()}, line, Value::Form::scalar};
  return {{written(list, kListLevels)}, line, Value::Form::list};
}

Value scalar_value(const core::Yaml& leaf) {
  const int line = leaf.place().line;
  const std::string written = leaf.scalar(), text = with_defaults(written);
  if (text == written) return {{text}, line, leaf.plain() ? Value::Form::scalar : Value::Form::quoted};
  const bool none = text.empty() || text == "null" || text == "~";
  return none ? Value{{}, line, Value::Form::null} : Value{{text}, line, Value::Form::scalar};
}

Value leaf_value(const std::string& name, const core::Yaml& leaf, bool aside) {
  Value out = leaf.is_list()       ? list_value(name, leaf)
              : is_null_node(leaf) ? Value{{}, leaf.place().line, Value::Form::null}
                                   : scalar_value(leaf);
  out.aside = aside || out.form == Value::Form::null;
  return out;
}

/// Mappings of data, logs and launchers, whose keys are no arguments of the model.
bool stands_aside(const std::string& mapping) {
  constexpr std::string_view kAside =
      " data dataset datasets tokenizer logger logging checkpoint envs env_vars environment runner profiling "
      "scheduler lr_scheduler experiment validation rng straggler nvrx_straggler ft fault_tolerance hydra wandb "
      "exp_manager dist inprocess_restart rerun_state_machine ";
  return kAside.find(fmt::format(" {} ", mapping)) != kAside.npos;
}

bool names_yaml(const std::optional<core::Yaml>& node) {
  if (!node || !node->is_scalar()) return false;
  const std::string text = node->scalar();
  return text.ends_with(".yaml") || text.ends_with(".yml");
}

/// Primus names the files of model and module beside what overrides them.
bool names_files(const core::Yaml& mapping) {
  return names_yaml(mapping.find("model"));
}

/// Leaves of all mappings, as deep as files of people go.
void add_leaves(const core::Yaml& node, int levels, bool aside, MegatronArguments& out) {
  if (levels == 0) node.fail("mappings lie too deep inside each other");
  const bool files = names_files(node);
  for (const auto& [key, value] : node.entries()) {
    const std::string name = underscored(key);
    if (key.starts_with("--")) out.set_of_command_line();
    if (files && (key == "model" || key == "config")) continue;
    if (levels == kLevels && is_base(key)) continue;
    if (name == "entrypoint" && value.is_scalar() && value.scalar().ends_with(".py"))
      out.set_script({value.scalar(), value.place().line});
    if (value.is_map())
      add_leaves(value, levels - 1, aside || stands_aside(core::lower_case(name)), out);
    else
      out.add(name, leaf_value(name, value, aside));
  }
}

/// Scalars that name files: `model` and `config` of any mapping, `extends` and its like of the root.
void add_names(const core::Yaml& node, int levels, std::vector<core::Yaml>& out) {
  if (levels == 0) node.fail("mappings lie too deep inside each other");
  for (const auto& [key, value] : node.entries()) {
    if (levels == kLevels && is_base(key))
      for (const core::Yaml& item : value.is_list() ? value.items() : std::vector{value}) out.push_back(item);
    if (value.is_map()) add_names(value, levels - 1, out);
  }
  if (!names_files(node)) return;
  if (const auto config = node.find("config"); names_yaml(config) && is_file(*config)) out.push_back(*config);
  out.push_back(*node.find("model"));
}

MegatronArguments read_layers(const std::string& text, const std::string& file, int files) {
  const core::Yaml root = core::Yaml::parse(text, file);
  std::vector<core::Yaml> names;
  add_names(root, kLevels, names);
  MegatronArguments out(file);
  for (const core::Yaml& name : names) {
    if (files == 0) name.fail("files name each other too deep");
    if (!is_file(name)) name.fail(fmt::format("{} does not exist: copy it next to this file", path_of(name)));
    const std::string path = path_of(name);
    out.overlay(read_layers(core::read_file(path), path, files - 1));
  }
  MegatronArguments own(file);
  add_leaves(root, kLevels, false, own);
  out.overlay(own);
  return out;
}

}  // namespace

MegatronArguments megatron_arguments_of_yaml(const std::string& text, const std::string& file) {
  constexpr int kFiles = 8;  // that name each other
  return read_layers(text, file, kFiles);
}

}  // namespace penstock::frameworks
