#pragma once
// Memory that a training framework holds beside a model's own tensors, how long it holds those, and how it reduces
// gradients.

#include <algorithm>
#include <cstdint>

namespace penstock::cluster {

/// Tensors that stay from an input gradient to a weight gradient that has a pass of its own (Qi et al., Zero
/// Bubble Pipeline Parallelism, ICLR 2024).
enum class SplitBackward : std::uint8_t {
  /// All that the forward pass saved, except by the loss. So does torch.distributed.pipelining
  /// (stage_backward_input in torch/distributed/pipelining/_backward.py), and so does a replay.
  all_saved,
  /// Both operands of the products that make weight gradients; all else ends with the input gradient, and
  /// norms and tables have their gradients by then. So do Megatron-LM's forks with zero bubbles (the paper's
  /// section 3.1: 34 bytes per token and hidden unit of a layer, then 32) and DeepSeek's DualPipe.
  operands,
};

/// A framework's own memory. Differs: none of norms of gradients, of NCCL, and of the allocator.
struct FrameworkMemory {
  SplitBackward split = SplitBackward::all_saved;
  /// True: the optimizer's step copies gradients narrower than the master weights into their precision.
  bool copies_gradients = false;
  /// True: Adam's step makes a list of temporaries as large as the weights that it updates (torch's default,
  /// foreach). False: a fused kernel, which makes none.
  bool makes_lists = false;
  /// True: with sequence parallelism a product saves its gathered input whole (DTensor). False: it saves its part
  /// and gathers it again in the backward pass (Megatron-LM, LinearWithGradAccumulationAndAsyncCommunication).
  bool saves_gathered = false;
  /// True: the last stage keeps the received tensor of every micro-batch until the step ends (torch's pipelining).
  bool keeps_inputs = false;
  /// True: sharding cuts a weight along its first dimension only. The experts of transformers 5 are one weight per
  /// layer, experts first, so that devices keep whole experts (torch's FSDP2, fully_shard without a placement).
  bool shards_whole_experts = false;
  /// Numbers, in the precision of weights, of each buffer in which ZeRO's gradients are reduced.
  std::int64_t bucket_numbers = 0;
  /// True: where ranks shard the state of Muon, each owns whole matrices. Buffers on every rank then have room for
  /// ranks x the fullest owner (megatron-core 0.19.2, LayerWiseDistributedOptimizer).
  bool owns_matrices = false;
  /// True: only the first chunk of the first pipeline rank has buckets. Each other chunk reduces all its gradients at
  /// once, after its last pass (megatron-core 0.19.2, bucket_size in DistributedDataParallel of
  /// megatron/core/distributed/distributed_data_parallel.py, and its callers' disable_bucketing).
  bool buckets_first_chunk = false;
  /// True: gradients that replicas shard travel in the precision of weights, and are summed in their own (accelerate
  /// 1.15.0, whose mixed precision sets reduce_dtype of FSDP2).
  bool sends_as_weights = false;
  friend bool operator==(const FrameworkMemory&, const FrameworkMemory&) = default;
};

/// Returns a framework that holds no less than either, hides no more reductions and sends no less.
inline FrameworkMemory more_of(const FrameworkMemory& a, const FrameworkMemory& b) {
  return {std::min(a.split, b.split),
          a.copies_gradients || b.copies_gradients,
          a.makes_lists || b.makes_lists,
          a.saves_gathered || b.saves_gathered,
          a.keeps_inputs || b.keeps_inputs,
          a.shards_whole_experts || b.shards_whole_experts,
          std::max(a.bucket_numbers, b.bucket_numbers),
          a.owns_matrices || b.owns_matrices,
          a.buckets_first_chunk || b.buckets_first_chunk,
          a.sends_as_weights && b.sends_as_weights};
}

}  // namespace penstock::cluster
