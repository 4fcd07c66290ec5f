// Leaves of a YAML file as Megatron-LM's arguments.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "megatron_arguments.hpp"
#include "penstock/core/letters.hpp"
#include "penstock/core/yaml.hpp"

namespace penstock::frameworks {
namespace {

using Value = MegatronArguments::Value;

constexpr std::size_t kMostLetters = 65'536;

bool is_null_node(const core::Yaml& node) {
  return !node.is_map() && !node.is_list() && !node.is_scalar();
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
  constexpr int kLevels = 10;
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
  return {{written(list, kLevels)}, line, Value::Form::list};
}

Value leaf_value(const std::string& name, const core::Yaml& leaf, bool aside) {
  const int line = leaf.place().line;
  Value out = leaf.is_list() ? list_value(name, leaf)
              : is_null_node(leaf)
                  ? Value{{}, line, Value::Form::null}
                  : Value{{leaf.scalar()}, line, leaf.plain() ? Value::Form::scalar : Value::Form::quoted};
  out.aside = aside || out.form == Value::Form::null;
  return out;
}

/// Mappings of data, logs and launchers, whose keys are no arguments of the model.
bool stands_aside(const std::string& mapping) {
  constexpr std::array<std::string_view, 27> kAside = {"data",
                                                       "dataset",
                                                       "datasets",
                                                       "tokenizer",
                                                       "logger",
                                                       "logging",
                                                       "checkpoint",
                                                       "envs",
                                                       "env_vars",
                                                       "environment",
                                                       "runner",
                                                       "profiling",
                                                       "scheduler",
                                                       "lr_scheduler",
                                                       "experiment",
                                                       "validation",
                                                       "rng",
                                                       "straggler",
                                                       "nvrx_straggler",
                                                       "ft",
                                                       "fault_tolerance",
                                                       "hydra",
                                                       "wandb",
                                                       "exp_manager",
                                                       "dist",
                                                       "inprocess_restart",
                                                       "rerun_state_machine"};
  return std::ranges::count(kAside, mapping) > 0;
}

/// Leaves of all mappings, as deep as files of people go.
void add_leaves(const core::Yaml& node, int levels, bool aside, MegatronArguments& out) {
  if (levels == 0) node.fail("mappings lie too deep inside each other");
  for (const auto& [key, value] : node.entries()) {
    const std::string name = underscored(key);
    if (key.starts_with("--")) out.set_of_command_line();
    if (value.is_map())
      add_leaves(value, levels - 1, aside || stands_aside(core::lower_case(name)), out);
    else
      out.add(name, leaf_value(name, value, aside));
  }
}

}  // namespace

MegatronArguments megatron_arguments_of_yaml(const std::string& text, const std::string& file) {
  constexpr int kLevels = 20;
  MegatronArguments out(file);
  add_leaves(core::Yaml::parse(text, file), kLevels, false, out);
  return out;
}

}  // namespace penstock::frameworks
