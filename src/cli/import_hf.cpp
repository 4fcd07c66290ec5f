// penstock import hf: a Hugging Face config becomes a model reference.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "import_command.hpp"
#include "models/catalogue.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/named_fault.hpp"
#include "penstock/frameworks/hf_config.hpp"
#include "penstock/frameworks/model_reference.hpp"
#include "python_module.hpp"

namespace penstock::cli {
namespace {

struct ImportHfFlags {
  std::string file, output, through;
  std::int64_t tokens = 0;
};

/// Python reads the config: as many tokens as the config has positions, unless they are given.
[[noreturn]] void read_through_torch(const std::string& file, const ImportHfFlags& flags) {
  std::vector<std::string> arguments;
  if (flags.tokens > 0) arguments = {"--tokens", std::to_string(flags.tokens)};
  if (!flags.output.empty()) arguments.push_back("--output=" + flags.output);
  arguments.insert(arguments.end(), {"--", file});
  become_python({"penstock.torch.hf",
                 "--through torch",
                 {{"penstock.torch", "penstock (pip install ./python of its repository)"},
                  {"torch", "torch"},
                  {"transformers", "transformers"}}},
                arguments);
}

core::ExitCode run(const ImportHfFlags& flags) {
  const std::string file = experiment::model_file_of(flags.file);
  if (!flags.through.empty()) read_through_torch(file, flags);
  const frameworks::SampleTokens tokens{flags.tokens > 0 ? std::optional(flags.tokens) : std::nullopt,
                                        frameworks::kUsualTokens};
  const frameworks::HfModel read = frameworks::parse_hf_config(core::read_file(file), file, tokens);
  const graph::OpGraph model =
      core::naming(file, [&] { return models::build(read.model.name, read.model.parameters); });
  for (const std::string& note : read.notes) say(note + "\n");
  const std::string text = frameworks::to_yaml(
      {read.model, read.precision}, fmt::format("{}: {} parameters", read.architecture, model.parameters()));
  if (flags.output.empty()) {
    print(text);
    return core::ExitCode::done;
  }
  core::write_file(flags.output, text);
  print(fmt::format("{}: {} as the zoo's {}, {} operators, {} parameters\n", flags.output, read.architecture,
                    read.model.name, model.size(), model.parameters()));
  return core::ExitCode::done;
}

}  // namespace

void add_import_hf(CLI::App& import, Action& action) {
  auto* command = import.add_subcommand("hf", "Read a Hugging Face config.json.");
  command->footer(fmt::format(
      "Writes a model reference: a model of the zoo with its parameters, which every command takes in place "
      "of a model. They take the config itself as well. Values of model_type that are read: {}. Other "
      "architectures, and keys or values that would make another network, are refused by name. Neither "
      "network nor torch is needed.\n\n"
      "With --through torch, Python's transformers builds the class on the device meta and torch.export reads it: "
      "most causal language models, as a model file. It takes some seconds, downloads nothing, and runs no "
      "code of the model. python3, or the interpreter in PENSTOCK_PYTHON, needs torch, transformers and the "
      "package penstock.\n\n"
      "Examples:\n"
      "  penstock import hf config.json --tokens 4096 -o llama.yaml\n"
      "  penstock import hf config.json --through torch --tokens 4096 -o gpt_oss.json\n"
      "  penstock plan --model llama.yaml --precision mixed_bf16 --optimizer adam --cluster dgx_h100 \\\n"
      "      --mini-batch 64 --planner megatron\n"
      "  penstock plan --model config.json -p sequence=4096 --cluster dgx_h100 --mini-batch 64",
      fmt::join(frameworks::hf_model_types(), ", ")));
  auto flags = std::make_shared<ImportHfFlags>();
  command->add_option("CONFIG", flags->file, "the config")->required()->type_name("FILE");
  command
      ->add_option(
          "--tokens", flags->tokens,
          "tokens per sample (llava: image and text together); default: the positions of the config, at "
          "most 4096")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20).description(""))
      ->type_name("N");
  command
      ->add_option("--through", flags->through,
                   "torch: transformers and torch read the config; default: the zoo reads it")
      ->check(CLI::IsMember({"torch"}).description(""))
      ->type_name("NAME");
  command
      ->add_option("-o,--output", flags->output,
                   "output file (.yaml; a model file also .json); default: print")
      ->type_name("FILE");
  command->callback([flags, &action] { action = [flags](const CommandContext&) { return run(*flags); }; });
}

}  // namespace penstock::cli
