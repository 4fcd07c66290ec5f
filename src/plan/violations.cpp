#include "penstock/plan/violations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "penstock/plan/colocated.hpp"

namespace penstock::plan {
namespace {

using core::DeviceId;
using core::OpId;
using Violations = std::vector<std::string>;

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
constexpr double kMostBytes = 0x1p58;  // 256 PiB

/// Extent of a check: a plan with all operators and devices, or some of its stages.
enum class PlanScope : std::uint8_t { whole, part };

std::vector<std::size_t> assign_operators(const graph::OpGraph& graph, const Plan& plan, PlanScope scope,
                                          Violations& violations) {
  std::vector<std::size_t> stage_of(graph.size(), kNone);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    if (plan.stages[s].operators.empty()) violations.push_back(fmt::format("stage {} has no operators", s));
    for (OpId op : plan.stages[s].operators) {
      if (op.index() >= graph.size()) {
        violations.push_back(fmt::format("stage {}: there is no operator number {}", s, op.index()));
      } else if (const std::size_t other = stage_of[op.index()];
                 other != kNone && !(plan.stages[s].part.before > 0 && other + 1 == s)) {
        violations.push_back(
            fmt::format("operator '{}' is in stage {} and in stage {}", graph.op(op).name, other, s));
      } else {
        stage_of[op.index()] = s;
      }
    }
  }
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (stage_of[v] == kNone && scope == PlanScope::whole)
      violations.push_back(fmt::format("operator '{}' is in no stage", graph.op(OpId(v)).name));
  return stage_of;
}

/// Stages listed producers first have an acyclic quotient. Then every stage is convex: a path that leaves a
/// stage and returns would need an edge back.
void check_order(const graph::OpGraph& graph, const Plan& plan, const std::vector<std::size_t>& stage_of,
                 Violations& violations) {
  for (const auto& [from, to] : graph.dag().edges()) {
    const std::size_t a = stage_of[static_cast<std::size_t>(from)],
                      b = stage_of[static_cast<std::size_t>(to)];
    if (a != kNone && b != kNone && a > b)
      violations.push_back(
          fmt::format("operator '{}' of stage {} feeds operator '{}' of stage {}: a stage is not convex, or "
                      "producers are not listed first",
                      graph.op(OpId(static_cast<std::size_t>(from))).name, a,
                      graph.op(OpId(static_cast<std::size_t>(to))).name, b));
  }
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    for (core::StageId before : plan.stages[s].after)
      if (!before.valid() || before.index() >= s)
        violations.push_back(fmt::format("stage {}: 'after' must name an earlier stage", s));
}

void check_devices(const cluster::Cluster& cluster, const Plan& plan, PlanScope scope,
                   Violations& violations) {
  std::vector<std::size_t> stage_of(cluster.size(), kNone);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    if (plan.stages[s].devices.empty()) violations.push_back(fmt::format("stage {} has no device", s));
    std::size_t alike = s;  // last stage found with the same devices: compared once, not per device
    for (DeviceId d : plan.stages[s].devices) {
      if (!d.valid() || d.index() >= cluster.size()) {
        violations.push_back(fmt::format("stage {}: there is no device {}", s, d.index()));
      } else if (const std::size_t other = stage_of[d.index()]; other == s) {
        violations.push_back(fmt::format("stage {} names device {} twice", s, d.index()));
      } else if (other != kNone && other != alike && plan.stages[other].devices != plan.stages[s].devices) {
        violations.push_back(
            fmt::format("device {} serves stage {} and stage {}, whose devices differ", d.index(), other, s));
      } else {
        if (other != kNone) alike = other;
        stage_of[d.index()] = s;
      }
    }
  }
  for (std::size_t d = 0; d < cluster.size(); ++d)
    if (stage_of[d] == kNone && scope == PlanScope::whole)
      violations.push_back(fmt::format("device {} serves no stage", d));
}

void check_recomputation(const graph::OpGraph& graph, const Plan& plan, Violations& violations) {
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    if (!stage.recompute || applies(graph, stage.operators, stage.recompute)) continue;
    if (stage.recompute.of == Recomputation::SegmentScope::core)
      violations.push_back(fmt::format("stage {} recomputes attention's core and has no attention", s));
    if (stage.recompute.of == Recomputation::SegmentScope::layers)
      violations.push_back(fmt::format(
          "stage {} recomputes layers and has none, no two operators such as 'layer0.norm' and 'layer0.add'",
          s));
  }
}

void check_batches(const graph::OpGraph& graph, const Plan& plan, Violations& violations) {
  if (const auto violation = mini_batch_violation(graph, plan.training.mini_batch))
    violations.push_back(*violation);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    const std::int64_t replicas =
        stage.replica_size() < 1 ? 1 : std::max<std::int64_t>(1, stage.sharing_replicas());
    if (stage.micro_batch < 1 || plan.training.mini_batch % stage.micro_batch != 0)
      violations.push_back(fmt::format("stage {}: micro-batch {} does not divide the mini-batch {}", s,
                                       stage.micro_batch, plan.training.mini_batch));
    else if (asynchronous(plan) && plan.training.mini_batch / stage.micro_batch % replicas != 0)
      violations.push_back(fmt::format("stage {}: {} micro-batches cannot go to {} replicas in turn", s,
                                       plan.training.mini_batch / stage.micro_batch, replicas));
    else if (!asynchronous(plan) && stage.micro_batch < replicas)
      violations.push_back(fmt::format("stage {}: a micro-batch of {} cannot be split over {} replicas", s,
                                       stage.micro_batch, replicas));
    if (!asynchronous(plan) && stage.in_flight > plan.training.mini_batch)
      violations.push_back(fmt::format("stage {}: {} samples in flight are more than the mini-batch of {}", s,
                                       stage.in_flight, plan.training.mini_batch));
    if (stage.k < 1) violations.push_back(fmt::format("stage {}: k must be at least 1", s));
    if (stage.in_flight < 0 || (stage.micro_batch > 0 && stage.in_flight % stage.micro_batch != 0))
      violations.push_back(
          fmt::format("stage {}: in_flight is {}, but must be a multiple of micro_batch ({})", s,
                      stage.in_flight, stage.micro_batch));
  }
}

void check_compression(const Compression& compression, Violations& violations) {
  for (const auto& [ratio, what] :
       {std::pair{compression.gradients, "gradients"}, {compression.activations, "activations"}})
    if (!(ratio > 0 && ratio <= 1))
      violations.push_back(fmt::format("{} are sent at a ratio above 0 and at most 1, not {}", what, ratio));
}

bool meets_neighbours(const graph::Operator& op) {
  return op.kind == graph::OpKind::convolution || op.kind == graph::OpKind::pool;
}

/// True if an operator computes each token separately, without weights that mix its features.
bool takes_one_by_one(const graph::Operator& op) {
  return op.kind == graph::OpKind::norm || op.kind == graph::OpKind::activation ||
         op.kind == graph::OpKind::elementwise;
}

/// Experts may be divided only over replicas that share micro-batches.
void check_experts(const graph::OpGraph& graph, const Plan& plan, Violations& violations) {
  const auto divided = std::ranges::find_if(plan.stages, &Stage::experts_apart);
  if (divided != plan.stages.end()) {
    bool experts = false;
    for (std::size_t v = 0; v < graph.size(); ++v)
      experts = experts || graph.op(core::OpId(v)).kind == graph::OpKind::experts;
    if (!experts)
      violations.push_back(fmt::format(
          "stage {}: `expert_parallel` is {}, but the model has no experts: expected {}",
          divided - plan.stages.begin(), divided->expert_parallel, divided->whole_experts ? "none" : "1"));
  }
  const auto rank = rank_of_stage(plan);
  std::map<std::int32_t, std::size_t> first;  // stage of each rank
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    const int e = stage.expert_parallel;
    if (e < 1 || (stage.tensor_parallel >= 1 && stage.expert_places() % e != 0))
      violations.push_back(fmt::format(
          "stage {}: {} {}, but expert_parallel ({}) must divide them", s,
          stage.tensor_parallel < 1 ? 0 : stage.expert_places(),
          stage.whole_experts ? "devices that hold whole experts" : "replicas and context groups", e));
    if (stage.whole_experts &&
        (stage.tensor_parallel < 2 || !stage.sequence_parallel || !stage.shares.empty()))
      violations.push_back(
          fmt::format("stage {}: `expert_parallel` with `whole` needs tensor-parallel groups that divide "
                      "tokens evenly (`sequence_parallel`, no `shares`)",
                      s));
    if (!(stage.imbalance >= 1 && stage.imbalance <= std::max(1, e)))
      violations.push_back(
          fmt::format("stage {}: the fullest of {} devices has 1 to {} times the mean, not {}", s, e, e,
                      stage.imbalance));
    if (stage.whole_experts && std::ranges::any_of(stage.partition, [&](const auto& chosen) {
          return chosen.first.index() < graph.size() && graph.op(chosen.first).kind == graph::OpKind::experts;
        }))
      violations.push_back(
          fmt::format("stage {}: `partition` divides experts, which `expert_parallel` leaves whole", s));
    if (stage.experts_apart() && asynchronous(plan))
      violations.push_back(fmt::format(
          "stage {}: `expert_parallel` without a flush, where replicas take turns: they never meet", s));
    if (stage.part) continue;  // has its own degrees
    const std::size_t f = first.emplace(rank[s], s).first->second;
    if (plan.stages[f].expert_parallel != e || plan.stages[f].whole_experts != stage.whole_experts)
      violations.push_back(
          fmt::format("stages {} and {} share devices, but not the size of expert groups", f, s));
  }
}

/// Checks sizes from the innermost dimension outwards: each dimension groups the devices of those within it.
void check_dimensions(std::size_t s, const Stage& stage, Violations& violations) {
  std::size_t inner = 1;
  std::string within;  // unit that a group consists of
  for (auto each = kStatedDims.rbegin(); each != kStatedDims.rend(); ++each) {
    const StatedDim& stated = *each;
    const int size = stage.*stated.size;
    if (size < 1 || stage.devices.size() % (static_cast<std::size_t>(size) * inner) != 0) {
      violations.push_back(fmt::format("stage {}: {} devices cannot be divided into {} of {}{}", s,
                                       stage.devices.size(), stated.groups, size, within));
      return;
    }
    inner *= static_cast<std::size_t>(size);
    within = fmt::format(" times {}", inner);
  }
}

/// Checks tensor-parallel groups and sharding over replicas.
void check_sharding(const graph::OpGraph& graph, const Plan& plan, Violations& violations) {
  const auto rank = rank_of_stage(plan);
  std::map<std::int32_t, std::size_t> first;  // stage of each rank
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    const int t = stage.tensor_parallel;
    check_dimensions(s, stage, violations);
    const std::size_t f = stage.part ? s : first.emplace(rank[s], s).first->second;
    for (const StatedDim& stated : kStatedDims)
      if (plan.stages[f].*stated.size != stage.*stated.size)
        violations.push_back(
            fmt::format("stages {} and {} share devices, but not the size of {}", f, s, stated.groups));
    if (!stage.shares.empty() &&
        (stage.shares.size() != static_cast<std::size_t>(t) ||
         std::any_of(stage.shares.begin(), stage.shares.end(), [](auto n) { return n < 1; })))
      violations.push_back(
          fmt::format("stage {}: `shares` has one number above zero for each of {} devices", s, t));
    if (t == 1 && !stage.partition.empty())
      violations.push_back(
          fmt::format("stage {}: `partition` divides operators over groups of one device", s));
    if (t == 1 && stage.sequence_parallel)
      violations.push_back(
          fmt::format("stage {}: `sequence_parallel` divides tokens over groups of one device", s));
    const auto near = std::find_if(stage.operators.begin(), stage.operators.end(), [&](OpId op) {
      return op.index() < graph.size() && meets_neighbours(graph.op(op));
    });
    if (stage.sequence_parallel && near != stage.operators.end())
      violations.push_back(
          fmt::format("stage {}: `sequence_parallel` divides tokens, and '{}' takes neighbours together", s,
                      graph.op(*near).name));
    for (const auto& [op, how] : stage.partition) {
      if (!std::binary_search(stage.operators.begin(), stage.operators.end(), op))
        violations.push_back(fmt::format("stage {}: `partition` names an operator of another stage", s));
      else if (how == Partition::sequence && op.index() < graph.size() && !takes_one_by_one(graph.op(op)))
        violations.push_back(
            fmt::format("stage {}: '{}' takes tokens together, or has weights that all of them "
                        "meet: it is not divided by `sequence`",
                        s, graph.op(op).name));
    }
    if (stage.zero < 0 || stage.zero > 3)
      violations.push_back(fmt::format("stage {}: ZeRO has stages 0 to 3, not {}", s, stage.zero));
    if (stage.zero_over < 0 ||
        (stage.zero_over > 0 && t >= 1 && stage.weight_replicas() % stage.zero_over != 0))
      violations.push_back(
          fmt::format("stage {}: {} devices with equal weights are no groups of {} that share", s,
                      t >= 1 ? stage.weight_replicas() : 0, stage.zero_over));
    if (stage.zero_over > 0 && stage.experts_apart())
      violations.push_back(
          fmt::format("stage {}: with expert groups, devices with equal weights share among all of them", s));
    if (stage.zero > 0 && std::any_of(stage.partition.begin(), stage.partition.end(),
                                      [](const auto& chosen) { return chosen.second == Partition::batch; }))
      violations.push_back(fmt::format(
          "stage {}: weights of operators divided by samples are on every device, and ZeRO shares none", s));
    if (stage.zero > 0 && asynchronous(plan))
      violations.push_back(
          fmt::format("stage {}: ZeRO needs a schedule that flushes, which {} does not", s, plan.schedule));
  }
}

void check_size(const Plan& plan, Violations& violations) {
  std::int64_t passes = 0;
  for (const Stage& stage : plan.stages)
    if (stage.micro_batch > 0)
      passes += 2 * (plan.training.mini_batch / stage.micro_batch) *
                static_cast<std::int64_t>(stage.devices.size());
  if (passes > kMostPasses)
    violations.push_back(
        fmt::format("the iteration has {} passes; at most {} are handled", passes, kMostPasses));
}

Violations violations_of(const graph::OpGraph& graph, const cluster::Cluster& cluster, const Plan& plan,
                         PlanScope scope) {
  Violations violations;
  if (plan.stages.empty()) return {"there are no stages"};
  const auto stage_of = assign_operators(graph, plan, scope, violations);
  if (violations.empty()) check_recomputation(graph, plan, violations);
  check_order(graph, plan, stage_of, violations);
  check_devices(cluster, plan, scope, violations);
  if (violations.empty()) violations = colocated_violations(graph, plan);
  check_batches(graph, plan, violations);
  check_compression(plan.training.compression, violations);
  if (const auto violation = precision_violation(graph, plan.training)) violations.push_back(*violation);
  if (const auto violation = products_violation(cluster, plan.training)) violations.push_back(*violation);
  check_sharding(graph, plan, violations);
  check_experts(graph, plan, violations);
  check_size(plan, violations);
  return violations;
}

}  // namespace

std::optional<std::string> mini_batch_violation(const graph::OpGraph& graph, std::int64_t mini_batch) {
  if (mini_batch < 1 || mini_batch > kMostSamples)
    return fmt::format("a mini-batch has 1 to {} samples, not {}", kMostSamples, mini_batch);
  double bytes = 0;  // bytes of one sample
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const graph::Operator& op = graph.op(core::OpId(v));
    bytes += static_cast<double>(op.output_bytes.value()) + static_cast<double>(op.saved_bytes.value());
  }
  if (bytes * static_cast<double>(mini_batch) > kMostBytes)
    return fmt::format("{} samples of {:.3g} bytes each are more than 256 PiB", mini_batch, bytes);
  return {};
}

std::optional<std::string> precision_violation(const graph::OpGraph& graph, const Training& training) {
  using graph::ProductFormat;
  const auto words = [](ProductFormat products) {
    return products == ProductFormat::stored ? "the stored numbers" : graph::name(products);
  };
  const auto& precision = training.precision;
  if (precision && bytes(precision->weights) != graph.element_bytes())
    return fmt::format("weights in {} have {} bytes, the model's numbers {}", name(precision->weights),
                       bytes(precision->weights), graph.element_bytes());
  const ProductFormat products = precision ? precision->products : ProductFormat::stored;
  if (products == graph.products()) return {};
  return fmt::format("the training multiplies in {}, the model's layers in {}", words(products),
                     words(graph.products()));
}

std::optional<std::string> products_violation(const cluster::Cluster& cluster, const Training& training) {
  using cluster::Precision;
  if (!training.precision || training.precision->products == graph::ProductFormat::stored) return {};
  const graph::FormatFacts& format = graph::facts(training.precision->products);
  const Precision rate = rate_of(training.precision->products);
  const auto states = [](const cluster::DeviceType& type, Precision number) {
    return type.peak[static_cast<std::size_t>(number)].value() > 0;
  };
  for (const cluster::DeviceType& type : cluster.types()) {
    if (!states(type, rate))
      return fmt::format("{} multiplies at an {} rate, and {} states none (peak: {{{}: ...}})", format.name,
                         name(rate), type.name, name(rate));
    if (format.block_units && !states(type, Precision::fp4))
      return fmt::format(
          "{} needs products that scale blocks of numbers, as GPUs with an fp4 rate have "
          "(Blackwell); {} states none",
          format.name, type.name);
  }
  return {};
}

std::vector<std::string> structural_violations(const graph::OpGraph& graph, const cluster::Cluster& cluster,
                                               const Plan& plan) {
  return violations_of(graph, cluster, plan, PlanScope::whole);
}

std::vector<std::string> part_violations(const graph::OpGraph& graph, const cluster::Cluster& cluster,
                                         const Plan& plan) {
  return violations_of(graph, cluster, plan, PlanScope::part);
}

}  // namespace penstock::plan
