#include "penstock/experiment/rl_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "penstock/core/random.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::experiment {
namespace {

using core::Yaml;

constexpr int kMostGpus = 1'000'000, kMostRlSteps = 100'000, kMostLag = 1000, kMostSequences = 100'000;
constexpr std::int64_t kMostRlTokens = 100'000'000, kMostDrawn = 20'000'000;

int count(const Yaml& node, int most) {
  return static_cast<int>(node.integer(1, most));
}

/// Parses a key that is a number from 1 to `most`.
std::int64_t counted_key(const std::string& key, const Yaml& node, std::int64_t most, const char* what) {
  std::int64_t out = 0;
  const auto [end, fault] = std::from_chars(key.data(), key.data() + key.size(), out);
  if (fault != std::errc() || end != key.data() + key.size() || out < 1 || out > most)
    node.fail(fmt::format("expected {} from 1 to {} as the key", what, most));
  return out;
}

jobs::DecodeRates decode_rates(const Yaml& node) {
  std::map<int, double> rates;
  for (const auto& [key, value] : node.entries()) {
    const auto sequences = static_cast<int>(counted_key(key, value, kMostSequences, "a number of sequences"));
    const double rate = value.number();
    if (!(rate > 0) || rate > 1e12) value.fail("expected tokens per second of an instance, above 0");
    if (!rates.emplace(sequences, rate).second) value.fail(key + " appears twice");
  }
  if (rates.empty()) node.fail("expected numbers of sequences and their tokens per second, such as 8: 420");
  return jobs::DecodeRates({rates.begin(), rates.end()});
}

/// Lengths that are counted, from pairs of a length and the number of sequences with it.
sim::CountedLengths histogram(const std::map<std::int64_t, std::int64_t>& counts) {
  sim::CountedLengths out;
  std::int64_t sum = 0;
  for (const auto& [length, sequences] : counts) out.up_to.emplace_back(length, sum += sequences);
  return out;
}

sim::LognormalLengths lognormal_tokens(const Yaml& node) {
  node.only({"median", "sigma"});
  const sim::LognormalLengths out{node.at("median").number(), node.at("sigma").number()};
  if (!(out.median >= 1) || out.median > static_cast<double>(kMostRlTokens))
    node.at("median").fail("expected a number of tokens, at least 1");
  if (!(out.sigma >= 0) || out.sigma > 10)
    node.at("sigma").fail("expected the standard deviation of the logarithm, from 0 to 10");
  return out;
}

std::map<std::int64_t, std::int64_t> counted_tokens(const Yaml& node) {
  std::map<std::int64_t, std::int64_t> counts;
  for (const auto& [key, value] : node.entries())
    counts[counted_key(key, value, kMostRlTokens, "a number of tokens")] += value.integer(1, 1'000'000'000);
  if (counts.empty()) node.fail("expected lengths and how many sequences have them, such as 512: 40");
  return counts;
}

sim::SequenceLengths generated_lengths(const Yaml& node) {
  sim::SequenceLengths out;
  out.place = node.place();
  out.maximum = kMostRlTokens;
  if (node.is_scalar()) {
    out.distribution = histogram({{node.integer(1, kMostRlTokens), 1}});
    return out;
  }
  if (node.is_list()) {
    std::map<std::int64_t, std::int64_t> counts;
    for (const Yaml& item : node.items()) ++counts[item.integer(1, kMostRlTokens)];
    if (counts.empty()) node.fail("expected at least one length");
    out.distribution = histogram(counts);
    return out;
  }
  node.only({"lognormal", "counts", "maximum"});
  const auto lognormal = node.find("lognormal"), counts = node.find("counts");
  if (lognormal.has_value() == counts.has_value()) node.fail("expected one of lognormal and counts");
  if (lognormal) out.distribution = lognormal_tokens(*lognormal);
  if (counts) out.distribution = histogram(counted_tokens(*counts));
  if (const auto maximum = node.find("maximum")) out.maximum = maximum->integer(1, kMostRlTokens);
  return out;
}

GpuTimes gpu_times(const Yaml& node, bool share) {
  GpuTimes out;
  if (node.is_map()) {
    for (const auto& [key, value] : node.entries()) {
      const auto gpus = static_cast<int>(counted_key(key, value, kMostGpus, "a number of GPUs"));
      if (!out.by_gpus.emplace(gpus, value.seconds()).second) value.fail(key + " appears twice");
    }
    if (out.by_gpus.empty()) node.fail("expected numbers of GPUs and times, such as 128: 41s");
  } else if (share && node.text().ends_with("%")) {
    out.of_training = node.share();
  } else {
    out.by_gpus.emplace(0, node.seconds());
  }
  return out;
}

PlannedTraining planned_training(const Yaml& node, std::int64_t samples) {
  node.only({"model", "gpu", "parameters", "planner", "mini_batch"});
  PlannedTraining out{.model = node.at("model").text(),
                      .gpu = node.at("gpu").text(),
                      .planner = "megatron:units=layers",
                      .mini_batch = samples,
                      .place = node.place()};
  if (const auto parameters = node.find("parameters"))
    for (const auto& [key, value] : parameters->entries()) out.parameters.push_back(key + "=" + value.text());
  if (const auto planner = node.find("planner")) out.planner = planner->text();
  if (const auto batch = node.find("mini_batch")) out.mini_batch = batch->integer(1, 1'000'000);
  return out;
}

core::Seconds transfer_time(const Yaml& node) {
  if (!node.is_map()) return node.seconds();
  node.only({"bytes", "bandwidth"});
  const core::Bandwidth rate = node.at("bandwidth").bandwidth();
  if (!(rate.value() > 0)) node.at("bandwidth").fail("expected a bandwidth above 0");
  const core::Seconds out = node.at("bytes").bytes() / rate;
  if (out.value() > 1e7) node.fail("the transfer takes more than 10,000,000 s");
  return out;
}

jobs::WeightUpdate weight_update(const Yaml& node) {
  const auto& names = jobs::weight_update_names();
  const std::string text = node.text();
  const auto found = std::ranges::find(names, text);
  if (found == names.end())
    node.fail("unknown update; " + core::did_you_mean(text, {names.begin(), names.end()}));
  return static_cast<jobs::WeightUpdate>(found - names.begin());
}

/// Trainer and generator of a stated split fit into the job and have whole instances and units.
RlPlacement stated_split(const Yaml& node, const RlJob& job) {
  node.only({"trainer", "generator"});
  const RlPlacement out{false, count(node.at("trainer"), kMostGpus), count(node.at("generator"), kMostGpus)};
  if (out.trainer + out.generator > job.gpus)
    node.fail(fmt::format("{} + {} GPUs are more than the job's {}", out.trainer, out.generator, job.gpus));
  if (out.generator % job.instance_gpus != 0)
    node.at("generator")
        .fail(fmt::format("expected a multiple of gpus_per_instance ({})", job.instance_gpus));
  if (out.trainer % job.trainer_gpus != 0)
    node.at("trainer").fail(fmt::format("expected a multiple of trainer.multiple_of ({})", job.trainer_gpus));
  return out;
}

std::optional<RlPlacement> placement(const Yaml& node, const RlJob& job) {
  if (!node.is_scalar()) return stated_split(node, job);
  const std::string text = node.text();
  if (text == "any") return std::nullopt;
  if (text != "colocated") node.fail("expected colocated, any, or {trainer: GPUS, generator: GPUS}");
  if (job.lag > 0) node.fail("colocated generator and trainer take turns: lag must be 0");
  return RlPlacement{true, job.gpus, job.gpus};
}

RlJob read_generator(const Yaml& file, const Yaml& generator) {
  generator.only({"gpus_per_instance", "rates", "lengths", "batches_at_once"});
  RlJob out{.rates = decode_rates(generator.at("rates")),
            .lengths = generated_lengths(generator.at("lengths"))};
  out.gpus = count(file.at("gpus"), kMostGpus);
  out.instance_gpus = count(generator.at("gpus_per_instance"), out.gpus);
  out.samples =
      file.at("prompts").integer(1, 1'000'000) * file.at("samples_per_prompt").integer(1, 1'000'000);
  if (const auto most = generator.find("batches_at_once")) {
    out.batches_at_once = most->number();
    if (!(*out.batches_at_once > 0) || *out.batches_at_once > kMostLag)
      most->fail("expected above 0 and at most 1000");
  }
  if (out.samples > 1'000'000) file.at("prompts").fail("expected at most 1,000,000 samples per step");
  return out;
}

void read_trainer(const Yaml& trainer, RlJob& out) {
  trainer.only({"multiple_of", "log_probabilities", "critic", "training"});
  if (const auto unit = trainer.find("multiple_of")) out.trainer_gpus = count(*unit, out.gpus);
  const Yaml training = trainer.at("training");
  if (training.is_map() && training.find("model"))
    out.planned = planned_training(training, out.samples);
  else
    out.training = gpu_times(training, false);
  if (const auto node = trainer.find("log_probabilities")) out.log_probabilities = gpu_times(*node, true);
  if (const auto node = trainer.find("critic")) out.critic = gpu_times(*node, true);
}

}  // namespace

core::Seconds GpuTimes::at(int gpus, core::Seconds training) const {
  if (of_training) return training * *of_training;
  if (by_gpus.empty()) return core::Seconds(0);
  if (by_gpus.begin()->first == 0) return by_gpus.begin()->second;
  const auto gpu_seconds = [](const auto& entry) { return entry.second * entry.first; };
  const auto above = by_gpus.lower_bound(gpus);
  if (above == by_gpus.end()) return gpu_seconds(*by_gpus.rbegin()) / gpus;
  if (above == by_gpus.begin() || above->first == gpus) return gpu_seconds(*above) / gpus;
  const auto below = std::prev(above);
  const double share = static_cast<double>(gpus - below->first) / (above->first - below->first);
  return (gpu_seconds(*below) * (1 - share) + gpu_seconds(*above) * share) / gpus;
}

std::int64_t RlJob::most_decoding(int at_lag) const {
  const double batches = batches_at_once.value_or(std::max(1, at_lag));
  return std::max<std::int64_t>(1, std::llround(batches * static_cast<double>(samples)));
}

RlJob read_rl_job(const Yaml& file) {
  file.only({"gpus", "prompts", "samples_per_prompt", "lag", "generator", "trainer", "reward", "transfer",
             "update", "placement", "steps", "seed"});
  RlJob out = read_generator(file, file.at("generator"));
  read_trainer(file.at("trainer"), out);
  if (const auto node = file.find("lag")) out.lag = static_cast<int>(node->integer(0, kMostLag));
  if (const auto node = file.find("reward")) out.reward = node->seconds();
  out.transfer = transfer_time(file.at("transfer"));
  if (const auto node = file.find("update")) out.update = weight_update(*node);
  if (const auto node = file.find("placement")) out.placement = placement(*node, out);
  if (const auto node = file.find("steps")) out.steps = count(*node, kMostRlSteps);
  if (const auto node = file.find("seed"))
    out.seed = static_cast<std::uint64_t>(node->integer(0, 1'000'000'000));
  if (out.samples * (out.steps + 2 * out.lag + 4) > kMostDrawn)
    file.at("prompts").fail("expected at most 20,000,000 sequences in all steps: take fewer steps");
  return out;
}

std::vector<std::vector<std::int64_t>> drawn_lengths(const RlJob& job, int steps) {
  core::Random random(job.seed);
  std::vector<std::vector<std::int64_t>> out(static_cast<std::size_t>(steps));
  for (auto& batch : out) {
    batch.reserve(static_cast<std::size_t>(job.samples));
    for (std::int64_t sample = 0; sample < job.samples; ++sample)
      batch.push_back(sim::length(job.lengths, job.lengths.maximum, random.unit()));
  }
  return out;
}

}  // namespace penstock::experiment
