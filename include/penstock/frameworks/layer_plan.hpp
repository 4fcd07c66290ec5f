#pragma once
// A plan in the words that training frameworks share: layers on ranks, one set of degrees for all.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/plan/layer_row.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::frameworks {

struct LayerPlan {
  plan::LayerRow row;
  /// [stage] one beyond its last part of the row; stage s has the parts from where stage s - 1 ends.
  std::vector<std::int32_t> ends;
  std::vector<std::int32_t> rank_of_stage;
  std::int64_t ranks = 1;   ///< pipeline-parallel degree
  std::int64_t chunks = 1;  ///< stages of a rank
  std::int64_t tensor_parallel = 1, context_parallel = 1, data_parallel = 1;
  plan::ContextExchange context_exchange = plan::ContextExchange::ring;
  std::int64_t expert_parallel = 1;  ///< replicas that divide the experts
  bool whole_experts = false;        ///< or devices, each with whole experts
  bool sequence_parallel = false;
  int zero = 0;
  std::int64_t zero_over = 0;    ///< devices that share so; 0: all with equal weights
  std::int64_t micro_batch = 1;  ///< of a replica
  plan::Recomputation recompute;

  std::int64_t devices() const { return ranks * tensor_parallel * context_parallel * data_parallel; }
  std::int32_t begin(std::size_t stage) const { return stage == 0 ? 0 : ends[stage - 1]; }
  /// Layers of the decoder in a stage.
  std::int64_t layers(std::size_t stage) const;
  /// Micro-batches of a replica in one iteration.
  std::int64_t micro_batches(const plan::Plan& plan) const {
    return plan.training.mini_batch / (micro_batch * data_parallel);
  }
  bool has_embedding(std::size_t stage) const { return begin(stage) == 0; }
  bool has_head(std::size_t stage) const { return ends[stage] == row.parts(); }
};

/// A plan read, and everything about it that no framework's pipeline can express, in words that continue the
/// framework's name: "cannot cut inside a layer: ...".
struct LayerReading {
  std::optional<LayerPlan> plan;  ///< where there is nothing
  std::vector<std::string> refusals;
};

/// Refused are the following. A model that is no row of layers, a stage that begins inside a part, stages out
/// of the row's order, ranks with unlike numbers of stages. Micro-batches, degrees, ZeRO stages,
/// recomputation or sequence parallelism that differ from stage to stage. kFkB, divisions that are not
/// Megatron's rule (layout/infer.hpp), unequal shares, compression. Devices out of order: ranks follow each
/// other, then replicas, their context groups, then the devices of a tensor-parallel group. A schedule
/// without a flush. Orders forced on a row (Stage::after) are its own. The plan is structurally valid.
LayerReading read_layers(const graph::OpGraph& graph, const plan::Plan& plan);
LayerReading read_layers(const graph::OpGraph& graph, const plan::LayerRow& row, const plan::Plan& plan);

/// Settings of a framework's pipelines beside stages.
struct Abilities {
  bool pipeline = true;
  bool tensor_parallel = true, sequence_parallel = true;
  bool tensor_with_copies = true;  ///< tensor parallelism also without ZeRO
  /// Tensor-parallel ranks may share a head of keys and values, which they gather (Megatron-LM).
  bool key_heads_shared = false;
  bool expert_parallel = false;
  bool experts_divide_tokens =
      false;              ///< models with experts need sequence parallelism where TP divides them
  std::vector<int> zero;  ///< ZeRO stages, ascending
  std::vector<plan::ContextExchange> context{};  ///< context parallelism by these; empty: none
  bool context_with_copies = false;         ///< also where replicas and groups hold a copy of everything each
  bool hybrid = false;                      ///< ZeRO over some of the devices with equal weights
  bool recompute_core = true;               ///< only attention's cores
  bool recompute_first = true;              ///< a stage's first layers
  std::vector<std::string_view> schedules;  ///< families it has under a name of its own
  /// Families of `schedules` that take no fewer micro-batches than ranks; an order from a file may have
  /// fewer.
  std::vector<std::string_view> filled{};
  bool always_filled =
      false;               ///< no schedule takes fewer micro-batches than ranks, no order from a file either
  bool any_order = false;  ///< it reads other orders from a file
  bool any_placement = false;                 ///< such an order may place stages otherwise than in a loop
  bool chunks_without_pipeline = false;       ///< several stages on a device, without a second pipeline rank
  bool context_by_flash = false;              ///< context groups need flash attention
  std::vector<std::string_view> precisions;   ///< of plan::mixed_precision
  std::vector<plan::Optimizer> optimizers{};  ///< that its words name, beside sgd, momentum and adam
};

/// Returns true if any layer routes its tokens to experts.
bool has_experts(const graph::OpGraph& graph);

/// Returns true if flash kernels compute all attention of the model.
bool has_flash_alone(const graph::OpGraph& graph);

/// Returns the largest divisor of a tensor-parallel degree that gives every rank whole heads of all attention.
std::int64_t degree_of_whole_heads(const graph::OpGraph& graph, const Abilities& can, std::int64_t degree);

/// In which numbers a plan trains, by its name; "" for a mixture that has none.
std::string_view precision_of(const graph::OpGraph& graph, const plan::Plan& plan);

/// The plan next to `plan` that `read_layers` takes. Stages are rounded to whole parts: each part goes to the
/// stage with most of its FLOPs. All stages get the most common degrees and micro-batch; devices keep their
/// order. The ZeRO stage is the first one there is as high as the plan's or else the last. The rest is as
/// `can` has it. Nothing where that is impossible: the model is no row, there are more stages than parts,
/// devices do not divide.
std::optional<plan::Plan> mended(const graph::OpGraph& graph, const plan::Plan& plan, const Abilities& can);
/// Like mended(), for a row that was read before. `before` is the plan with equal stages that `plan` was changed
/// from: settings that differ from it count instead of the most common ones. null: there is no such plan.
std::optional<plan::Plan> mended(const graph::OpGraph& graph, const plan::LayerRow& row,
                                 const plan::Plan& plan, const plan::Plan* before, const Abilities& can);

}  // namespace penstock::frameworks
