#include "penstock/experiment/plan_sentences.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "penstock/core/quantity_text.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/experiment/memory_verdict.hpp"
#include "penstock/frameworks/framework.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/plan/strategy.hpp"
#include "penstock/report/lines.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/explain.hpp"
#include "penstock/sim/waterfall.hpp"
#include "what_if_report.hpp"

namespace penstock::experiment {
namespace {

using core::show;
using plan::ValueRange;

constexpr double kWorthSaying = 1.005;                       ///< speed-ups below this are none
constexpr std::string_view kTwiceTheDevices = "devices=2x";  ///< always helps, so it competes with no other

/// "4 replicas", "1 replica", "1-4 replicas".
std::string counted(const ValueRange& extent, const std::string& noun) {
  return fmt::format("{} {}{}", plan::text(extent), noun, extent.most == 1 ? "" : "s");
}

/// "a, b and c".
std::string listed(const std::vector<std::string>& items) {
  if (items.size() < 2) return items.empty() ? "" : items.front();
  return fmt::format("{} and {}", fmt::join(items.begin(), items.end() - 1, ", "), items.back());
}

/// "96 h100 devices".
std::string devices_of(const PlanInput& input) {
  std::vector<std::string> types;
  for (const auto& type : input.cluster.types()) types.push_back(type.name);
  return fmt::format("{} {} devices", input.cluster.size(), listed(types));
}

/// Stages of a device, if it has several.
std::string held_by_each(const plan::Strategy& strategy) {
  const auto ranks = strategy.pipeline_parallel;
  if (ranks == strategy.stages) return "";
  if (ranks == 1) return "; each device runs all of them, so there is no pipeline";
  if (strategy.stages % ranks != 0) return "; devices hold several of them";
  return fmt::format("; each device holds {} of them", strategy.stages / ranks);
}

std::string stages_sentence(const PlanInput& input, const report::CellResult& row,
                            const plan::Strategy& strategy) {
  if (strategy.stages == 1)
    return fmt::format("{} runs as one stage on {}, without a pipeline.", row.model, devices_of(input));
  const std::string depth = strategy.depth == strategy.stages
                                ? "in a chain"
                                : fmt::format("in a graph with {} on its longest path", strategy.depth);
  const bool pipeline = strategy.pipeline_parallel > 1;
  return fmt::format("{} is cut into {} {} {}, on {}{}.", row.model, strategy.stages,
                     pipeline ? "pipeline stages" : "stages", depth, devices_of(input),
                     held_by_each(strategy));
}

/// How a replica's work is divided: "8 devices that split every operator", or nothing.
std::string divided_by(const plan::Strategy& strategy) {
  std::vector<std::string> ways;
  for (std::size_t i = 0; i < plan::kStatedDims.size(); ++i) {
    const ValueRange& degree = strategy.divided[i];
    if (degree.most <= 1) continue;
    const bool tensor = plan::kStatedDims[i].dim == plan::MeshDim::tensor;
    ways.push_back(
        tensor ? fmt::format("{} devices that split every operator (tensor parallelism)", plan::text(degree))
               : fmt::format("{} groups that split the tokens of a sample (context parallelism)",
                             plan::text(degree)));
  }
  return listed(ways);
}

std::string zero_words(const ValueRange& zero) {
  constexpr std::array<const char*, 4> kShared = {"nothing", "optimizer state",
                                                  "optimizer state and gradients",
                                                  "optimizer state, gradients and weights"};
  return zero.most == 0 ? ""
                        : fmt::format(" Replicas divide {} among them (ZeRO {}).",
                                      kShared[static_cast<std::size_t>(zero.most)], plan::text(zero));
}

std::string replicas_sentence(const plan::Strategy& strategy) {
  const std::string who = strategy.stages == 1 ? "The stage" : "Each stage";
  std::string out =
      fmt::format("{} has {} (data parallelism)", who, counted(strategy.data_parallel, "replica"));
  if (const std::string ways = divided_by(strategy); !ways.empty()) out += "; a replica has " + ways;
  if (strategy.expert_parallel.most > 1)
    out += fmt::format("; {} {} divide the experts", plan::text(strategy.expert_parallel),
                       strategy.whole_experts ? "devices" : "replicas");
  return out + "." + zero_words(strategy.zero);
}

bool recomputes_cores_alone(const plan::Plan& plan) {
  return std::ranges::all_of(plan.stages, [](const plan::Stage& stage) {
    return !stage.recompute || stage.recompute.of == plan::Recomputation::SegmentScope::core;
  });
}

/// Returns "activations", "the activations of the first 2 layers", or "... of some layers" where stages differ.
std::string recomputed_words(const plan::Plan& plan) {
  if (recomputes_cores_alone(plan)) return "the scores of attention";
  std::set<std::int64_t> layers;  // 0: all
  for (const plan::Stage& stage : plan.stages)
    if (stage.recompute) layers.insert(stage.recompute.first);
  if (layers == std::set<std::int64_t>{0}) return "activations";
  if (layers.size() > 1) return "the activations of some layers";
  const std::int64_t first = *layers.begin();
  return first == 1 ? "the activations of the first layer"
                    : fmt::format("the activations of the first {} layers", first);
}

/// "All 4 stages recompute activations in the backward pass".
std::string recomputation_words(const plan::Plan& plan, const plan::Strategy& strategy) {
  if (strategy.recomputing == 0) return "Activations are kept until the backward pass";
  const std::string who =
      strategy.stages == 1 ? "The stage recomputes"
      : strategy.recomputing == strategy.stages
          ? fmt::format("All {} stages recompute", strategy.stages)
          : fmt::format("{} of {} stages recompute", strategy.recomputing, strategy.stages);
  return fmt::format("{} {} in the backward pass", who, recomputed_words(plan));
}

std::string batch_sentence(const plan::Plan& plan, const plan::Strategy& strategy) {
  return fmt::format(
      "An iteration trains {} samples in micro-batches of {} per replica, in the order of {}. {}.",
      plan.training.mini_batch, plan::text(strategy.micro_batch), plan::schedule_words(strategy),
      recomputation_words(plan, strategy));
}

std::string speed_sentence(const report::CellResult& row) {
  std::string rates = fmt::format("{:.1f} samples/s", *row.samples_per_s);
  if (row.tokens_per_s) rates += fmt::format(", {:.0f} tokens/s", *row.tokens_per_s);
  if (row.mfu) rates += fmt::format(", MFU {}", core::show_share(*row.mfu));
  return fmt::format("An iteration takes {} in simulation: {}. Costs: {}.",
                     show(core::Seconds(*row.iteration_s)), rates, row.costs);
}

/// The largest parts of device time beside the model's own arithmetic.
std::string losses_sentence(const sim::Waterfall& waterfall) {
  constexpr std::size_t kMost = 3;
  std::vector<sim::TimePart> parts;
  for (std::size_t p = 0; p < sim::kTimeParts; ++p)
    if (static_cast<sim::TimePart>(p) != sim::TimePart::model && waterfall.time[p] > core::Picoseconds(0))
      parts.push_back(static_cast<sim::TimePart>(p));
  std::ranges::stable_sort(parts, [&](auto a, auto b) { return waterfall.of(a) > waterfall.of(b); });
  if (parts.empty()) return "Devices do nothing but the model's arithmetic at their peak rate.";
  std::vector<std::string> words;
  for (std::size_t i = 0; i < std::min(kMost, parts.size()); ++i)
    words.push_back(fmt::format("{} ({}{})", name(parts[i]), core::show_share(waterfall.share(parts[i])),
                                i == 0 ? " of their time" : ""));
  const auto shown = std::span(parts).first(words.size());
  const bool hot = std::ranges::count(shown, sim::TimePart::sustained) > 0;
  return fmt::format("Devices lose time mostly to {}.{}", listed(words),
                     hot ? " Sustained load slows every kernel of a hot GPU, whatever the plan." : "");
}

/// `ranks`: device sets; if there is one, a stage's saving has no meaning.
std::string path_sentence(const sim::TimeExplanation& explanation, std::int64_t ranks,
                          core::Seconds iteration) {
  if (explanation.shares.empty()) return "The critical path is empty.";
  const sim::ResourceShare& first = explanation.shares.front();
  const bool alone = ranks == 1 && first.resource.kind == sim::LimitingResource::ResourceKind::stage;
  const bool helps =
      !alone && first.without && to_seconds(*first.without) < iteration;  // an order may get worse
  const std::string without = helps ? fmt::format(" If that took no time, an iteration would still take {}.",
                                                  show(to_seconds(*first.without)))
                                    : "";
  return fmt::format("The critical path, which decides the time, spends {} on {}.{}",
                     core::show_share(first.share), first.name, without);
}

std::string memory_sentence(const PlanInput& input, const trace::Summary& summary) {
  const auto fullest =
      std::ranges::max_element(summary.devices, {}, [](const auto& device) { return device.peak.value(); });
  const core::DeviceId device(static_cast<std::size_t>(fullest - summary.devices.begin()));
  std::array<std::size_t, plan::kMemoryKinds> kinds{};
  for (std::size_t k = 0; k < kinds.size(); ++k) kinds[k] = k;
  std::ranges::stable_sort(kinds, [&](auto a, auto b) { return fullest->at_peak[a] > fullest->at_peak[b]; });
  const auto kind = [&](std::size_t place) {
    return fmt::format("{} ({})", name(static_cast<plan::MemoryKind>(kinds[place])),
                       show(fullest->at_peak[kinds[place]]));
  };
  std::string stage;
  for (std::size_t s = 0; s < input.plan.stages.size(); ++s)
    if (std::ranges::count(input.plan.stages[s].devices, device) > 0) {
      stage = fmt::format(" (stage {})", s);
      break;
    }
  return fmt::format("Device {}{} is the fullest: at its peak {} of {}{}, mostly {} and {}.", device.index(),
                     stage, show(fullest->peak), show(input.cluster.type(device).memory),
                     verdict_note(memory_verdict(input.cluster, summary)), kind(0), kind(1));
}

std::string bound_sentence(const report::CellResult& row, const plan::Plan& plan) {
  if (!row.gap || !row.lower_bound_s) return "There is no lower bound for plans of this problem.";
  if (*row.gap <= 0)
    return fmt::format("The plan reaches the lower bound for any plan {}, {}: no other is faster.",
                       name(score::family_of(plan)), show(core::Seconds(*row.lower_bound_s)));
  const std::string family(name(score::family_of(plan)));
  return fmt::format("No plan {}{} takes less than {}: another plan can save at most {} of the time.",
                     family.starts_with("with ") ? "with or " : "",
                     family.starts_with("with ") ? "without " + family.substr(5) : family,
                     show(core::Seconds(*row.lower_bound_s)),
                     core::show_share(1 - *row.lower_bound_s / *row.iteration_s));
}

bool usable(const WhatIfRow& row) {
  return row.result && !row.note.starts_with(kDoesNotFit);
}

/// Changes by what they are worth. "today" and twice the devices are none of them.
struct SortedChanges {
  std::vector<std::string> helping;  ///< "mini_batch=2x (1.04 times the samples/s)", best first
  std::vector<std::string> idle;     ///< gain too little to mention
  std::vector<std::string> large;    ///< do not fit in memory
  std::vector<std::string> invalid;  ///< no valid plan
  std::vector<std::string> unseen;   ///< costs hold measured times that do not follow the change
};

SortedChanges sorted_changes(const std::vector<WhatIfRow>& rows) {
  const double today = *rows.front().result->samples_per_s;
  std::vector<std::pair<double, std::string>> gains;
  SortedChanges out;
  for (const WhatIfRow& row : rows) {
    if (row.change == "today" || row.change == kTwiceTheDevices) continue;
    const double factor = usable(row) ? *row.result->samples_per_s / today : 0;
    if (factor >= kWorthSaying)
      gains.emplace_back(-factor, row.change);
    else
      (!row.result    ? out.invalid
       : !usable(row) ? out.large
       : row.partial  ? out.unseen
                      : out.idle)
          .push_back(row.change);
  }
  std::ranges::stable_sort(gains, {}, &std::pair<double, std::string>::first);
  for (const auto& [gain, change] : gains)
    out.helping.push_back(
        fmt::format("{} ({:.2f} times{})", change, -gain, out.helping.empty() ? " the samples/s" : ""));
  return out;
}

std::string changes_sentence(const std::vector<WhatIfRow>& rows) {
  if (!rows.front().result) return "The plan is not valid, so no change to it was simulated.";
  const SortedChanges changes = sorted_changes(rows);
  std::string out = changes.helping.empty() ? "None of the changes that were simulated helps"
                                            : fmt::format("Of the changes that were simulated, {} helps most",
                                                          changes.helping.front());
  if (changes.helping.size() > 1)
    out += "; then " + listed({changes.helping.begin() + 1, changes.helping.end()});
  out += ".";
  if (!changes.idle.empty())
    out += fmt::format(" Less than {:.1f} %: {}.", (kWorthSaying - 1) * 100, listed(changes.idle));
  if (!changes.large.empty()) out += fmt::format(" Too large for memory: {}.", listed(changes.large));
  if (!changes.invalid.empty()) out += fmt::format(" Not valid: {}.", listed(changes.invalid));
  if (!changes.unseen.empty())
    out += fmt::format(" Unknown: {}, as collectives within a node have measured times.",
                       listed(changes.unseen));
  const auto more = std::ranges::find(rows, kTwiceTheDevices, &WhatIfRow::change);
  if (more != rows.end() && usable(*more))
    out += fmt::format(" Twice the devices would give {:.2f} times.",
                       *more->result->samples_per_s / *rows.front().result->samples_per_s);
  return out;
}

std::string frameworks_sentence(const PlanInput& input) {
  plan::Plan plan = input.plan;
  plan.model = resolved(plan.model);
  std::vector<std::string> able;
  std::string reason;
  bool near = false;
  for (const frameworks::Framework& framework : frameworks::catalogue()) {
    const auto refused = frameworks::refusals(framework, input.graph, plan, framework.can.any_order);
    if (refused.empty())
      able.push_back(framework.title);
    else if (reason.empty())
      reason = refused.front();
    near = near || (!refused.empty() && frameworks::nearest(framework, input.graph, plan));
  }
  const std::string nearest =
      near ? "`penstock export PLAN --to NAME --nearest FILE` finds a plan near it that one can run"
           : "None runs a plan near it either";
  if (able.empty()) return fmt::format("No framework runs the plan as it is: {}. {}.", reason, nearest);
  if (reason.empty()) return fmt::format("Every framework runs the plan as it is: {}.", listed(able));
  return fmt::format("{} can run the plan as it is. Others cannot: {}.", listed(able), reason);
}

/// Changes that a user can make without another plan, then hardware.
std::vector<WhatIfRow> tried_changes(const PlanInput& input, const sim::SimulationOptions& simulation) {
  std::vector<WhatIfRow> rows =
      what_if(input, what_if_changes("mini_batch=2x, micro_batch=2x, network=2x, node_links=2x, devices=2x"),
              simulation);
  std::erase_if(rows, [](const WhatIfRow& row) { return row.change == "all"; });
  return rows;
}

}  // namespace

PlanSentences plan_sentences(const PlanInput& input, const CellOutcome& outcome,
                             const sim::SimulationOptions& simulation) {
  const cost::Problem problem = input.problem();
  const plan::Plan& plan = *outcome.plan;
  const report::CellResult& row = outcome.row;
  const auto scheduled = score::scheduled(problem, plan);
  const plan::Strategy strategy = plan::strategy(plan, static_cast<int>(row.depth.value_or(1)));
  PlanSentences out;
  out.changes = tried_changes(input, simulation);
  out.sentences = {{"stages", stages_sentence(input, row, strategy)},
                   {"replicas", replicas_sentence(strategy)},
                   {"batch", batch_sentence(plan, strategy)},
                   {"speed", speed_sentence(row)},
                   {"losses", losses_sentence(sim::waterfall(problem, scheduled, simulation))},
                   {"path", path_sentence(sim::explain(problem, scheduled, simulation, 1),
                                          strategy.pipeline_parallel, outcome.summary->iteration)},
                   {"memory", memory_sentence(input, *outcome.summary)},
                   {"bound", bound_sentence(row, plan)},
                   {"changes", changes_sentence(out.changes)},
                   {"frameworks", frameworks_sentence(input)}};
  return out;
}

std::string in_lines(const PlanSentences& explained, std::size_t width) {
  constexpr std::size_t kIndent = 4;
  std::string out;
  for (std::size_t number = 1; const PlanSentence& sentence : explained.sentences) {
    std::string head = fmt::format("{:>2}. ", number++);
    for (const std::string& line : report::wrapped(sentence.words, width - kIndent)) {
      out += head + line + "\n";
      head.assign(kIndent, ' ');
    }
  }
  return out;
}

std::string to_json(const PlanSentences& explained) {
  nlohmann::ordered_json out;
  for (const PlanSentence& sentence : explained.sentences)
    out["sentences"].push_back({{"about", sentence.about}, {"words", sentence.words}});
  out["what_if"] = what_if_json(explained.changes);
  return out.dump(2) + "\n";
}

}  // namespace penstock::experiment
