#include "penstock/frameworks/framework.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "megatron_lines.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/spelling.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/schedule/schedule_csv.hpp"
#include "writers.hpp"

namespace penstock::frameworks {
namespace {

using SegmentScope = plan::Recomputation::SegmentScope;
using Exchange = plan::ContextExchange;

const std::vector<std::string_view> kTorchSchedules = {
    "1f1b", "interleaved_1f1b", "gpipe", "looped_bfs", "interleaved_zb", "zbv", "dualpipev"};

/// AutoModel lays stages in a V only for ZBVZeroBubble, and would run DualPipeV's on a loop.
const std::vector<std::string_view> kAutoModelSchedules = {"1f1b",       "interleaved_1f1b", "gpipe",
                                                           "looped_bfs", "interleaved_zb",   "zbv"};

std::string exchanges(const std::vector<plan::ContextExchange>& known) {
  std::vector<std::string_view> names;
  for (const plan::ContextExchange each : known) names.push_back(plan::name(each));
  return fmt::format("{}", fmt::join(names, ", "));
}

bool in_a_loop(const LayerPlan& layers) {
  for (std::size_t s = 0; s < layers.rank_of_stage.size(); ++s)
    if (layers.rank_of_stage[s] != static_cast<std::int64_t>(s) % layers.ranks) return false;
  return true;
}

/// "qwen3-30b-a3b (mixtral)": the name that the user gave before that of the family.
std::string called(const plan::ModelRef& model) {
  return model.label.empty() || model.label.starts_with(model.name)
             ? model.name
             : fmt::format("{} ({})", model.label, model.name);
}

/// Reasons why the framework cannot train the model, in words that continue its title.
std::vector<std::string> model_refusals(const Framework& framework, const graph::OpGraph& graph,
                                        const plan::ModelRef& model) {
  if (graph.adapter_rank() > 0)
    return {"gets no plans with LoRA: adapters and frozen weights are no part of its settings here"};
  const auto& known = framework.models;
  if (!known.empty() && std::ranges::count(known, model.name) == 0)
    return {fmt::format(
        "gets plans of {} models only: the names of other models' modules are not known here; the "
        "model is {}",
        fmt::join(known, ", "), called(model))};
  std::vector<std::string> out;
  const auto values = all_parameters(model);
  for (const auto& [name, value] : framework.demands)
    if (const auto found = values.find(name); found != values.end() && found->second != value)
      out.push_back(fmt::format("gets plans of {} with {}={} only: the model has {}", model.name, name, value,
                                found->second));
  if (framework.unknown_parts)
    for (const std::string& part : framework.unknown_parts(model))
      out.push_back(fmt::format("has no words for {} of the model {}", part, called(model)));
  return out;
}

/// Widths of an operator's products in 8 or 4 bits, those that are always divided on a rank of so many.
std::vector<std::int64_t> product_widths(const graph::Operator& op, std::int64_t ranks) {
  if (op.products == graph::ProductFormat::stored) return {};
  if (const auto* l = std::get_if<graph::Linear>(&op.attributes)) return {l->in, l->out};
  if (const auto* e = std::get_if<graph::Experts>(&op.attributes)) return {e->hidden, e->inner / ranks};
  const auto& a = as<graph::Attention>(op);
  return {a.hidden, a.inner_width() / ranks, a.result_width() / ranks};
}

/// Features that a framework has no word for, in words that continue its title.
class Check {
 public:
  Check(const Framework& framework, const graph::OpGraph& graph, const plan::Plan& plan,
        const LayerPlan& layers)
      : framework_(framework), can_(framework.can), graph_(graph), plan_(plan), layers_(layers) {}

  std::vector<std::string> refusals(bool with_order) {
    out_ = model_refusals(framework_, graph_, plan_.model);
    check_degrees();
    check_sharding();
    check_recomputation();
    check_precision();
    check_optimizer();
    check_products();
    check_schedule(with_order);
    return std::move(out_);
  }

 private:
  void refuse(const std::string& why) { out_.push_back(why); }

  void check_degrees() {
    if (layers_.ranks > 1 && !can_.pipeline)
      refuse(fmt::format("has no pipelines: the plan has PP{}", layers_.ranks));
    if (layers_.tensor_parallel > 1 && layers_.zero == 0 && !can_.tensor_with_copies)
      refuse(fmt::format(
          "shards weights over replicas of tensor-parallel groups: the plan has TP{} without ZeRO",
          layers_.tensor_parallel));
    if (layers_.tensor_parallel > 1 && !can_.tensor_parallel)
      refuse(fmt::format("does not divide operators in its pipelines: the plan has TP{}",
                         layers_.tensor_parallel));
    if (const auto fits = degree_of_whole_heads(graph_, can_, layers_.tensor_parallel);
        fits != layers_.tensor_parallel)
      refuse(fmt::format("gives every tensor-parallel rank whole heads{}: the plan has TP{}, TP{} would do",
                         can_.key_heads_shared ? "" : " of queries and of keys", layers_.tensor_parallel,
                         fits));
    if ((layers_.expert_parallel > 1 || layers_.whole_experts) && !can_.expert_parallel)
      refuse(fmt::format("is told nothing of experts here: the plan has EP{}", layers_.expert_parallel));
    if (can_.experts_divide_tokens && layers_.tensor_parallel > 1 && !layers_.sequence_parallel &&
        has_experts(graph_))
      refuse(fmt::format(
          "divides models with experts by TP{} with sequence parallelism alone: the plan has none",
          layers_.tensor_parallel));
    if (layers_.sequence_parallel && !can_.sequence_parallel)
      refuse("does not divide tokens in its pipelines: the plan has sequence parallelism");
    if (layers_.context_parallel > 1 && std::ranges::count(can_.context, layers_.context_exchange) == 0)
      refuse(can_.context.empty()
                 ? fmt::format("does not divide the tokens of a sample in its pipelines: the plan has CP{}",
                               layers_.context_parallel)
                 : fmt::format("has context parallelism by {}, not by {}", exchanges(can_.context),
                               plan::name(layers_.context_exchange)));
    if (layers_.context_parallel > 1 && can_.context_by_flash && !has_flash_alone(graph_))
      refuse(
          fmt::format("divides the tokens of a sample by flash attention alone (-p attention=flash): the "
                      "plan has CP{} and other attention",
                      layers_.context_parallel));
  }

  /// FSDP's groups are whole replicas.
  void check_sharding() {
    if (layers_.context_parallel > 1 && layers_.zero == 0 && !can_.context_with_copies)
      refuse("shards weights over context groups: the plan has CP without ZeRO");
    if (layers_.zero_over > 0 && !can_.hybrid)
      refuse(fmt::format("shares state among all replicas: the plan among {} devices", layers_.zero_over));
    if (layers_.zero_over % layers_.context_parallel != 0)
      refuse(fmt::format("shares state among whole context groups: {} devices are none of CP{}",
                         layers_.zero_over, layers_.context_parallel));
    if (layers_.data_parallel * layers_.context_parallel > 1 &&
        std::ranges::count(can_.zero, layers_.zero) == 0)
      refuse(fmt::format("shares state of replicas in pipelines as ZeRO {}, not ZeRO {}",
                         fmt::join(can_.zero, " or "), layers_.zero));
  }

  void check_recomputation() {
    const plan::Recomputation& how = layers_.recompute;
    const bool whole = how.of == SegmentScope::stage,
               core = how.of == SegmentScope::core && !can_.recompute_core,
               some = how.of == SegmentScope::layers && how.first > 0 && !can_.recompute_first;
    if (whole || core || some)
      refuse(fmt::format("recomputes {}, not '{}'",
                         can_.recompute_core    ? "layers, or cores of attention"
                         : can_.recompute_first ? "layers, or a stage's first ones"
                                                : "all layers or none",
                         plan::written(how)));
  }

  void check_precision() {
    const auto name = precision_of(graph_, plan_);
    if (std::ranges::count(can_.precisions, name) > 0) return;
    refuse(fmt::format("trains in {}; the plan in {}", fmt::join(can_.precisions, ", "),
                       name.empty() ? "a mixture without a name" : std::string(name)));
  }

  /// Optimizers beyond sgd, momentum and adam. Those of Megatron-LM: megatron-core 0.19.2.
  void check_optimizer() {
    using plan::Optimizer;
    const Optimizer named = plan_.training.optimizer;
    if (named <= Optimizer::adam) return;
    if (std::ranges::count(can_.optimizers, named) == 0)
      return refuse(fmt::format("gets no plans with the optimizer {}: its settings here do not name it",
                                plan::name(named)));
    if (named != Optimizer::muon) return;
    const auto& precision = plan_.training.precision;
    if (precision && precision->weights == cluster::Precision::fp16) refuse("does not run muon in fp16");
    if (precision && precision->state != precision->master.value_or(precision->weights))
      refuse("stores moments in a precision of their own only with adam: the plan has muon");
    if (layers_.zero > 0 && layers_.zero_over > 0)
      refuse("shards the state of muon among all replicas: the plan shards it among some");
  }

  /// Transformer Engine refuses products with other extents (assert_dim_for_fp8_exec).
  void check_products() {
    const int multiple = graph::facts(graph_.products()).multiple;
    for (const graph::Operator& op : graph_.operators())
      for (const std::int64_t width : product_widths(op, layers_.tensor_parallel))
        if (multiple > 0 && width % multiple != 0)
          return refuse(
              fmt::format("multiplies in {} where widths are multiples of {}: '{}' has {} on a rank",
                          graph::name(graph_.products()), multiple, op.name, width));
  }

  void check_schedule(bool with_order) {
    if (layers_.ranks == 1 && layers_.chunks == 1) return;  // one stage runs all of them in one order
    if (layers_.ranks == 1 && !can_.chunks_without_pipeline)
      return refuse(
          fmt::format("runs several stages on a device only in a pipeline: the plan has PP1 with {} stages",
                      layers_.chunks));
    if (!check_micro_batches(with_order)) return;
    const bool known = std::ranges::count(can_.schedules, plan_.schedule) > 0;
    if (known && !with_order) return;
    if (!can_.any_order) {
      if (!known)
        refuse(fmt::format("has the schedules {}, not {}", fmt::join(can_.schedules, ", "), plan_.schedule));
      return;
    }
    if (!can_.any_placement && !in_a_loop(layers_))
      refuse(fmt::format(
          "{}places stages of an order from a file in a loop, stage s on rank s modulo ranks: the "
          "plan does not",
          known ? "" : fmt::format("has no name for the schedule {}, and ", plan_.schedule)));
    else if (!with_order)
      refuse(fmt::format("has no name for the schedule {}: hand its order over too (--csv FILE)",
                         plan_.schedule));
  }

  /// Returns true if the schedule takes as few micro-batches as the plan has.
  bool check_micro_batches(bool with_order) {
    const std::int64_t count = layers_.micro_batches(plan_);
    if (count >= layers_.ranks) return true;
    const std::string plan = fmt::format("the plan has {} on {}", count, layers_.ranks);
    if (can_.always_filled) {
      refuse("runs no fewer micro-batches than pipeline ranks: " + plan);
      return false;
    }
    if (std::ranges::count(can_.filled, plan_.schedule) == 0 || (with_order && can_.any_order)) return true;
    refuse(fmt::format("runs {} with no fewer micro-batches than pipeline ranks: {}{}", plan_.schedule, plan,
                       can_.any_order ? "; hand its order over too (--csv FILE)" : ""));
    return false;
  }

  const Framework& framework_;
  const Abilities& can_;
  const graph::OpGraph& graph_;
  const plan::Plan& plan_;
  const LayerPlan& layers_;
  std::vector<std::string> out_;
};

bool is_pass(const schedule::Action& action) {
  using enum schedule::ActionKind;
  return action.kind == forward || action.kind == backward || action.kind == input_gradient ||
         action.kind == weight_gradient || action.kind == overlapped;
}

Abilities titan_abilities(std::vector<plan::ContextExchange> context) {
  return {.zero = {0, 2, 3},
          .context = std::move(context),
          .hybrid = true,
          .recompute_core = false,
          .recompute_first = false,
          .schedules = kTorchSchedules,
          .filled = {"1f1b"},
          .any_order = true,
          .precisions = {"fp32", "mixed_bf16", "bf16"}};
}

}  // namespace

const std::vector<Framework>& catalogue() {
  static const std::vector<Framework> all = {
      {"megatron",
       "0.19",
       "Megatron-LM",
       "arguments of pretrain_gpt.py, as lines of a bash array",
       "NVIDIA/Megatron-LM, megatron/training/arguments.py and "
       "megatron/core/transformer/pipeline_parallel_layer_layout.py",
       {.key_heads_shared = true,
        .expert_parallel = true,
        .experts_divide_tokens = true,
        .zero = {0, 1},
        .context = {Exchange::ring, Exchange::all_gather, Exchange::ulysses},
        .context_with_copies = true,
        .hybrid = true,
        .schedules = {"1f1b", "interleaved_1f1b"},
        .filled = {"interleaved_1f1b"},
        .context_by_flash = true,
        .precisions = {"fp32", "mixed_bf16", "mixed_fp16", "fp8_delayed", "fp8_current", "fp8_block", "mxfp8",
                       "nvfp4"},
        .optimizers = {plan::Optimizer::lion, plan::Optimizer::muon}},
       {},
       to_megatron,
       {},
       megatron_unknown_parts},
      {"torchtitan",
       "0.3",
       "torchtitan",
       "a config function (Python)",
       "pytorch/torchtitan, torchtitan/config and torchtitan/distributed/pipeline_parallel.py",
       titan_abilities({Exchange::all_gather}),
       {"llama"},
       to_torchtitan,
       {{"qkv_bias", "no"}, {"qk_norm", "no"}, {"head_width", "0"}, {"mask", "causal"}, {"window", "0"}}},
      {"deepspeed",
       "0.19",
       "DeepSpeed",
       "the list of parts and the configuration (JSON)",
       "deepspeedai/DeepSpeed, deepspeed/runtime/pipe/module.py; configuration reference of deepspeed.ai",
       {.tensor_parallel = false,
        .sequence_parallel = false,
        .zero = {0, 1},
        .recompute_core = false,
        .recompute_first = false,
        .schedules = {"1f1b"},
        .precisions = {"fp32", "mixed_bf16", "deepspeed_bf16", "mixed_fp16"}},
       {},
       to_deepspeed},
      {"automodel",
       "0.7",
       "NeMo AutoModel",
       "sections of a recipe (YAML)",
       "NVIDIA-NeMo/Automodel, components/distributed/pipelining; guide Pipeline Parallelism with "
       "AutoPipeline",
       {.zero = {2, 3},
        .context = {Exchange::all_gather},
        .hybrid = true,
        .recompute_core = false,
        .recompute_first = false,
        .schedules = kAutoModelSchedules,
        .always_filled = true,
        .any_order = true,
        .precisions = {"fp32", "mixed_bf16", "bf16"}},
       {"llama"},
       to_automodel},
      {"pytorch",
       "2.15",
       "PyTorch",
       "split points, stages and schedule for torch.distributed.pipelining (Python)",
       "torch.distributed.pipelining",
       {.zero = {0, 1, 2, 3},
        .recompute_core = false,
        .schedules = kTorchSchedules,
        .filled = {"1f1b"},
        .any_order = true,
        .any_placement = true,
        .chunks_without_pipeline = true,
        .precisions = {"fp32", "bf16", "mixed_bf16", "mixed_fp16"}},
       {},
       to_pytorch},
      {"accelerate",
       "1.15",
       "accelerate",
       "config file of Hugging Face's Trainer (YAML)",
       "huggingface/accelerate, src/accelerate/parallelism_config.py and utils/dataclasses.py",
       {.pipeline = false,
        .sequence_parallel = false,
        .tensor_with_copies = false,
        .zero = {0, 2, 3},
        .context = {Exchange::ring, Exchange::all_gather},
        .hybrid = true,
        .recompute_core = false,
        .recompute_first = false,
        .schedules = {"1f1b", "gpipe"},
        .context_by_flash = true,
        .precisions = {"fp32", "mixed_bf16"}},
       {},
       to_accelerate},
  };
  return all;
}

const std::vector<Framework>& older_versions() {
  static const std::vector<Framework> all = {
      {"torchtitan",
       "0.2",
       "torchtitan 0.2",
       "sections of a job config (TOML)",
       "pytorch/torchtitan before 0.3, torchtitan/config/job_config.py",
       titan_abilities({Exchange::ring, Exchange::all_gather}),
       {"llama"},
       to_torchtitan_toml},
  };
  return all;
}

std::vector<std::string> framework_names() {
  std::vector<std::string> out;
  for (const Framework& each : catalogue()) out.push_back(each.name);
  return out;
}

const Framework& framework_named(std::string_view name, std::string_view version) {
  std::vector<std::string> versions;
  for (const auto* list : {&catalogue(), &older_versions()})
    for (const Framework& each : *list) {
      if (each.name == name && (version.empty() || each.version == version)) return each;
      if (each.name == name) versions.push_back(each.version);
    }
  if (!versions.empty())
    throw core::BadInput(
        fmt::format("{} {} is not known; known: {}", name, version, fmt::join(versions, ", ")));
  throw core::BadInput(
      fmt::format("unknown framework '{}'; {}", name, core::did_you_mean_name(name, framework_names())));
}

std::vector<std::string> refusals(const Framework& framework, const graph::OpGraph& graph,
                                  const plan::Plan& plan, bool with_order) {
  LayerReading reading = read_layers(graph, plan);
  if (reading.plan) reading.refusals = Check(framework, graph, plan, *reading.plan).refusals(with_order);
  for (std::string& why : reading.refusals) why = framework.title + " " + why;
  return reading.refusals;
}

std::string exported(const Framework& framework, const graph::OpGraph& graph, const plan::Plan& plan,
                     const std::string& csv) {
  const LayerReading reading = read_layers(graph, plan);
  core::require(reading.plan.has_value(), "a plan that is handed over is not refused");
  return framework.write({graph, plan, *reading.plan, csv});
}

std::optional<plan::Plan> nearest(const Framework& framework, const graph::OpGraph& graph,
                                  const plan::Plan& plan) {
  auto out = mended(graph, plan, framework.can);
  return out && refusals(framework, graph, *out, false).empty() ? out : std::nullopt;
}

RunnablePlans::RunnablePlans(const Framework& framework, const graph::OpGraph& graph,
                             const plan::ModelRef& model)
    : framework_(framework), graph_(graph) {
  for (const std::string& why : model_refusals(framework, graph, model))
    throw core::BadInput(framework.title + " " + why);
  auto row = plan::layer_row(graph);
  if (const auto* why = std::get_if<std::string>(&row))
    throw core::BadInput(
        fmt::format("{} trains rows of layers: {} is none, {}", framework.title, graph.name(), *why));
  row_ = std::get<plan::LayerRow>(std::move(row));
}

std::optional<plan::Plan> RunnablePlans::nearest(const plan::Plan& plan, const plan::Plan* before) const {
  auto out = mended(graph_, row_, plan, before, framework_.can);
  if (!out) return {};
  out->planner = plan.planner;
  const LayerReading reading = read_layers(graph_, row_, *out);
  if (!reading.plan || !Check(framework_, graph_, *out, *reading.plan).refusals(false).empty()) return {};
  return out;
}

std::string order_csv(const plan::Plan& plan) {
  schedule::Schedule order = schedule::plan_order(plan);
  for (schedule::RankOrder& row : order.ranks)
    std::erase_if(row, [](const auto& action) { return !is_pass(action); });
  return schedule::to_csv(order);
}

}  // namespace penstock::frameworks
