#include "problem_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "models/catalogue.hpp"
#include "penstock/core/named_fault.hpp"
#include "penstock/graph/work.hpp"

namespace penstock::cli {
namespace {

constexpr const char* kUsualTokens = "4M";  ///< per iteration of a language model
constexpr double kThousand = 1024;

/// "4M", "500K" or "2000000". Nothing for another text, and for less than one token.
std::optional<double> parse_tokens(std::string_view text) {
  double unit = 1;
  if (text.ends_with('K')) unit = kThousand;
  if (text.ends_with('M')) unit = kThousand * kThousand;
  if (unit > 1) text.remove_suffix(1);
  double count = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  const double tokens = count * unit;
  return tokens >= 1 && tokens <= 1e15 ? std::optional(tokens) : std::nullopt;
}

/// Samples that have about so many tokens: a multiple of the devices, so that replicas share them evenly, or,
/// where that is too many, any number.
std::int64_t samples_with(double tokens, std::int64_t tokens_per_sample, std::int64_t devices) {
  const double samples = tokens / static_cast<double>(tokens_per_sample);
  const double each = std::round(samples / static_cast<double>(devices));
  const double wanted = each >= 1 ? each * static_cast<double>(devices) : std::max(std::floor(samples), 1.0);
  return static_cast<std::int64_t>(std::min(wanted, static_cast<double>(plan::kMostSamples)));
}

}  // namespace

void ProblemFlags::add_problem(CLI::App& command) {
  model.add(command, true);
  cluster.add(command, true);
  add_batch(command);
}

void ProblemFlags::add_batch(CLI::App& command) {
  auto* samples_given =
      command
          .add_option("--mini-batch", mini_batch,
                      "samples per iteration; default: for language models from --tokens-per-batch")
          ->check(samples())
          ->type_name("B");
  command
      .add_option(
          "--tokens-per-batch", tokens_per_batch,
          fmt::format("tokens per iteration, instead of --mini-batch: a number, with K for 1,024 or M "
                      "for 1,048,576. The samples are rounded to a multiple of the devices, or, if they "
                      "are fewer, to a whole number. Default: {} "
                      "for language models",
                      kUsualTokens))
      ->excludes(samples_given)
      ->check([](const std::string& text) {
        return parse_tokens(text) ? std::string()
                                  : "expected a number of tokens such as 4M or 500K, not '" + text + "'";
      })
      ->type_name("N");
  command
      .add_option(
          "--optimizer", optimizer,
          "sgd, momentum, adam (adamw is the same), lion, muon or adam8bit; decides the memory of optimizer "
          "state and the time of the step. muon and adam8bit leave some weights to adam (docs/glossary.md). "
          "Default: adam for language models, else sgd")
      ->type_name("NAME")
      ->check(one_of({"sgd", "momentum", "adam", "adamw", "lion", "muon", "adam8bit"}));
  costs.add(command);
}

void ProblemFlags::add_training(CLI::App& command) {
  compression.add(command);
  precision.add(command);
  bucket.add(command);
}

namespace {

/// A config's longest sample is a choice of its training, which more tokens go beyond. `stated`: the user gave the
/// tokens of a sample.
void compare_with_positions(const plan::ModelRef& model, bool stated) {
  const auto number = [&](const char* key) {
    const auto at = model.parameters.find(key);
    if (at == model.parameters.end()) return 0.0;
    char* end = nullptr;
    const double value = std::strtod(at->second.c_str(), &end);
    return *end == '\0' ? value : 0.0;  // the model refuses it
  };
  const double sequence = number("sequence"), positions = number("positions");
  if (positions > 0 && sequence > positions)
    warn(fmt::format("a sample has {:.0f} tokens, but the model's config has {:.0f} positions", sequence,
                     positions));
  if (!stated && sequence > 0 && sequence < positions)
    say(fmt::format("note: a sample has {:.0f} tokens; the model's config allows {:.0f} (-p sequence=N)\n",
                    sequence, positions));
}

}  // namespace

/// Throws a usage error where neither flags nor the model have a value.
std::int64_t ProblemFlags::samples_of(const graph::OpGraph& graph, bool language,
                                      std::int64_t devices) const {
  if (mini_batch > 0) return mini_batch;
  const auto tokens = graph::tokens(graph);
  if (!tokens && !tokens_per_batch.empty())
    throw core::Error(core::ExitCode::usage,
                      "--tokens-per-batch: samples of " + model.name + " have no tokens; give --mini-batch");
  if (tokens_per_batch.empty() && !(language && tokens))
    throw core::Error(core::ExitCode::usage,
                      "--mini-batch is required: only language models have a default number of samples");
  const std::string text = tokens_per_batch.empty() ? kUsualTokens : tokens_per_batch;
  return samples_with(*parse_tokens(text), *tokens, devices);
}

std::int64_t ProblemFlags::samples_on(const LoadedProblem& loaded, std::int64_t devices) const {
  return samples_of(loaded.graph, models::is_language_model(loaded.cell.model.name), devices);
}

std::string ProblemFlags::batch_tokens() const {
  if (mini_batch > 0) return "";
  return tokens_per_batch.empty() ? kUsualTokens : tokens_per_batch;
}

bool ProblemFlags::is_released() const {
  const plan::ModelRef ref = model.ref();
  return model.name != ref.name && models::is_language_model(ref.name);
}

LoadedProblem ProblemFlags::load(bool for_framework) const {
  frameworks::NamedModel named = model.named();
  const bool chosen_attention = (for_framework || is_released()) && experiment::choose_attention(named.model);
  experiment::Cell cell{named.model, cluster.ref(), {}, {}, {}};
  const experiment::ChosenTraining chosen = experiment::choose_training(
      named, experiment::load_cluster(cell.cluster), stated_training(cell.cluster.reserved.has_value()));
  cell.training.optimizer = chosen.optimizer;
  cell.training.precision = chosen.precision;
  compression.apply(cell.training.compression);
  bucket.apply(cell.training);
  cell.model = experiment::in_numbers_of(cell.training, std::move(cell.model));
  if (chosen.reserved) cell.cluster.reserved = chosen.reserved;
  compare_with_positions(cell.model, named.tokens_stated);
  // A zoo's model may be named by a file: then the file is at fault.
  const std::string file = cell.model.name == model.name ? "" : experiment::model_file_of(model.name);
  graph::OpGraph graph = core::naming(file, [&] { return experiment::load_model(cell.model); });
  const cluster::Cluster stated = experiment::load_cluster(cell.cluster);
  cell.cluster.devices = static_cast<int>(stated.size());
  cell.training.mini_batch = samples_of(graph, models::is_language_model(named.model.name),
                                        static_cast<std::int64_t>(stated.size()));
  auto known = costs.load(stated);
  LoadedProblem out{std::move(graph), cost::measured_by(*known, stated), std::move(known), std::move(cell)};
  out.assumptions = assumptions(out, named, chosen, chosen_attention);
  return out;
}

experiment::StatedTraining ProblemFlags::stated_training(bool reserved) const {
  experiment::StatedTraining out{.reserved = reserved, .framework = cluster.runtime};
  if (!optimizer.empty()) out.optimizer = plan::optimizer(optimizer);
  if (!precision.name.empty()) out.precision = precision.name;
  return out;
}

experiment::Assumptions ProblemFlags::assumptions(const LoadedProblem& loaded,
                                                  const frameworks::NamedModel& named,
                                                  const experiment::ChosenTraining& chosen,
                                                  bool chosen_attention) const {
  const auto states = [this](const std::string& parameter) {
    return std::ranges::any_of(model.parameters,
                               [&](const std::string& text) { return text.starts_with(parameter + "="); });
  };
  const bool by_file = !chosen.reserved && loaded.cluster.types().front().reserved.value() > 0;
  return experiment::assumptions(loaded.problem(), loaded.cell.model,
                                 {.precision = !precision.name.empty(),
                                  .optimizer = !optimizer.empty(),
                                  .tokens = named.tokens_stated,
                                  .mini_batch = mini_batch > 0 || !tokens_per_batch.empty(),
                                  .reserved = cluster.reserved().has_value() || by_file,
                                  .costs = costs.file.has_value(),
                                  .loss = states("loss"),
                                  .attention = !chosen_attention,
                                  .precision_note = chosen.precision_note,
                                  .framework = cluster.runtime});
}

}  // namespace penstock::cli
