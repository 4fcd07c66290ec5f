#include "penstock/schedule/catalogue.hpp"

#include <fmt/format.h>

#include "families/families.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::schedule {
namespace {

void check_range(const char* what, int value, int most) {
  if (value < 1 || value > most)
    throw core::BadInput(fmt::format("{} must be 1 to {}, not {}", what, most, value));
}

}  // namespace

void demand(bool holds, const char* constraint) {
  if (!holds) throw core::BadInput(std::string("needs ") + constraint);
}

const std::vector<ScheduleFamily>& families() {
  static const std::vector<ScheduleFamily> families = {
      {"gpipe", "all forwards, then all backwards",
       "Huang et al., GPipe, NeurIPS 2019; backwards in the order of the forwards", "none",
       "bubble (p-1)(F+B), holds m", 1, gpipe},
      {"1f1b", "one forward, one backward, then flush",
       "Narayanan et al., PipeDream-Flush, ICML 2021; Fan et al., DAPPLE, PPoPP 2021, policy A", "none",
       "bubble (p-1)(F+B), rank r holds min(m, p-r)", 1, one_f_one_b},
      {"dapple", "1F1B with a longer warm-up, which hides messages behind passes",
       "Fan et al., DAPPLE, PPoPP 2021, policy B: min(2(p-r)-1, memory limit) forwards before the first "
       "backward",
       "none", "bubble (p-1)(F+B), rank r holds min(m, 2(p-r)-1); a delay C up to (F+B)/2 costs 2(p-1)C", 1,
       dapple},
      {"kfkb", "k forwards, k backwards; k by --group",
       "Wang et al., Ada-Grouper, arXiv 2303.01675, 2023; k fixed; also Jeon et al., GraphPipe, ASPLOS 2025, "
       "section 6",
       "none", "k | m: bubble (p-1)(F+B), rank r holds min(m, k(p-r))", 1, kfkb, "flush", false, true},
      {"sliced_1f1b", "1F1B whose first micro-batches are cut in halves, to fill the pipeline sooner",
       "Liu et al., AutoPipe, CLUSTER 2022; from its abstract: forwards and backwards of the cut ones in "
       "halves, as many cut as "
       "keep the last rank busy, or --group",
       "none", "m > p, F <= B: bubble (p-1)(F/2+B), rank r holds min(m, p-r)", 1, sliced_1f1b, "flush", false,
       true},
      {"list_order", "the best of 1F1B and two list schedules, within a memory limit if one is given",
       "Luo et al., SPP, INFOCOM 2022: its execution scheduler, reconstructed", "none",
       "makespan at most (m+4p-4)(F+B) without a limit or delay", 1, list_order_schedule},
      {"bpipe", "1F1B whose first ranks park activations on its last ranks",
       "Kim et al., BPipe, ICML 2023; what is parked, and that it is fetched one pass ahead, is our choice",
       "a memory limit, if any, of at least ceil((p+2)/2)",
       "as 1f1b, but every rank holds at most ceil((p+2)/2), or the memory limit", 1, bpipe},
      {"looped_bfs", "chunk by chunk, each with all micro-batches",
       "Lamy-Poirier, Breadth-First Pipeline Parallelism, MLSys 2023; backwards reversed, as in PyTorch",
       "none", "bubble (p-1)(F+B)/v, holds m", 2, looped_bfs},
      {"interleaved_1f1b", "1F1B over several chunks per rank",
       "Narayanan et al., Megatron-LM, SC 2021; groups as in PyTorch, or of any size from p on",
       "m a multiple of max(1, floor(m/p)), or --group of at least p",
       "p | m: bubble (p-1)(F+B)/v, rank 0 holds p + (p-1)/v", 2, interleaved_1f1b, "flush", false, true},
      {"zb_h1", "weight gradients fill the bubble, in the memory of 1F1B",
       "Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024, section 2.1", "none",
       "m >= p: bubble (p-1)(F+I-W), holds p", 1, zb_h1},
      {"zb_h2", "zero bubble with twice the memory of 1F1B",
       "Qi et al., ICLR 2024, section 2.2; the optimizer step is not synchronised", "m >= 2p-1",
       "bubble (p-1)(F+I-2W), holds 2p-1", 1, zb_h2},
      {"interleaved_zb", "interleaved 1F1B with weight gradients in the bubble",
       "PyTorch's ScheduleInterleavedZeroBubble", "as interleaved_1f1b",
       "p | m: bubble (p-1)(F+I-W)/v, holds p", 2, interleaved_zb, "flush", false, true},
      {"zbv", "zero bubble with the memory of 1F1B, two chunks in a V",
       "Qi et al., ICLR 2024, section 6; the handcrafted form, as in PyTorch", "v = 2",
       "F = I = W, m >= 2p-1: bubble 0, holds p", 2, zbv},
      {"dualpipev", "forwards and backwards overlapped, two chunks in a V",
       "DeepSeek-AI, DualPipe repository, 2025 (cut-in-half DualPipe)", "v = 2, m >= 2p",
       "per chunk: bubble (p-1)(FB+B-3W), holds 2p+1 chunks", 2, dualpipev},
      {"dualpipe", "forwards and backwards overlapped, two directions on two copies",
       "DeepSeek-AI, DeepSeek-V3 report, 2024, section 3.2.1", "p even, m even, m >= 2p",
       "bubble (p/2-1)(FB+B-3W), holds p+1", 1, dualpipe},
      {"chimera", "1F1B in two directions at once, on 2f copies of the model; f by --group, usually 1",
       "Li, Hoefler, Chimera, SC 2021; units concatenated directly", "p even, f divides p/2, 2f divides m",
       "F = B, p | m: bubble (p/f-2)F, ranks hold p-p/(2f)+1 to p", 1, chimera, "flush", false, true},
      {"hanayo", "waves: 1F1B on stages in a zigzag, without copies of the model",
       "Liu et al., Hanayo, SC 2023; order reconstructed: backward first, deeper stage first, at most p "
       "micro-batches inside",
       "v even, two per wave", "p | m: bubble 2(p-1)/v (max(F,B) + (m/p-1)|B-F|), holds at most p", 2,
       hanayo},
      {"zb_1p", "zero-bubble search within a memory limit, p activations unless given",
       "Qi et al., ICLR 2024, section 3.1; the heuristic of their repository, without its integer program",
       "none", "F = I = W: bubble (p-1)(F+I-W), holds p", 1, zb_1p, "flush", true},
      {"zb_2p", "the same search with 2p activations unless given", "as zb_1p", "none",
       "about 0, holds at most 2p", 1, zb_2p, "flush", true},
      {"v_half", "half the memory of 1F1B, two chunks in a V",
       "Qi et al., Pipeline Parallelism with Controllable Memory, NeurIPS 2024; the "
       "repository's greedy reordering",
       "v = 2", "F = I = W: about half the bubble of 1F1B, p even: holds p/2 + 1", 2, v_half, "flush", true},
      {"v_min", "a third of the memory of 1F1B, two chunks in a V", "as v_half", "v = 2",
       "F = I = W: about 2/3 the bubble of 1F1B, holds floor((p+4)/3)", 2, v_min, "flush", true},
      {"v_zb", "zero-bubble search in a V within a memory limit, p activations unless given",
       "as v_half; the repository's heuristic", "v = 2, enough micro-batches for the limit",
       "F = I = W: bubble 0, holds p", 2, v_zb, "flush", true},
      {"v_1f1b", "two thirds of the memory of 1F1B, two chunks in a V, whole backwards", "as v_half", "v = 2",
       "F = I = W: holds about 2p/3", 2, v_1f1b, "flush", true},
      {"pipedream", "1F1B without flush, every pass with the weights of its forward",
       "Narayanan et al., PipeDream, SOSP 2019; one rank per stage", "none",
       "bubble (p-1)(F+B) once, none per update; rank r holds p-r and as many weight versions", 1,
       one_f_one_b, "stashing"},
      {"pipedream_vsync", "the same, every stage with the weights of the first", "as pipedream", "none",
       "as pipedream, p weight versions on every rank", 1, one_f_one_b, "vertical_sync"},
      {"pipedream_2bw", "1F1B without flush, two weight versions, --group micro-batches per update",
       "Narayanan et al., Memory-Efficient Pipeline-Parallel DNN Training, ICML 2021",
       "a group of at least p", "as pipedream, 2 weight versions, 1 update missed", 1, pipedream_2bw,
       "double_buffered", false, true},
      {"pipemare", "1F1B without flush, always with the newest weights",
       "Yang et al., PipeMare, MLSys 2021; its own pipeline has 2(p-r)-1 slots from forward to backward",
       "none", "as pipedream, 1 weight version and a velocity; forwards miss p-1-r updates", 1, one_f_one_b,
       "latest"},
      {"xpipe", "1F1B without flush, forwards with predicted weights",
       "Guan et al., XPipe, arXiv 1911.04610, 2019; an update per micro-batch", "none",
       "as pipedream, 1 weight version and a prediction over p-1-r updates", 1, one_f_one_b, "predicted"},
  };
  return families;
}

const ScheduleFamily& family_named(std::string_view name) {
  std::vector<std::string> names;
  for (const ScheduleFamily& family : families()) {
    if (family.name == name) return family;
    names.push_back(family.name);
  }
  throw core::BadInput(fmt::format("unknown schedule '{}'; {}", name, core::did_you_mean(name, names)));
}

int micro_batches_per_update(const WeightPolicy& policy, const ScheduleShape& shape) {
  if (policy.forward != ForwardWeights::one_behind) return 1;
  return shape.group > 0 ? shape.group : shape.ranks;
}

Schedule make_schedule(std::string_view name, const ScheduleShape& shape) {
  const ScheduleFamily& family = family_named(name);
  ScheduleShape full = shape;
  if (full.chunks == 0) full.chunks = family.chunks;
  check_range("ranks", full.ranks, kMostRanks);
  check_range("chunks", full.chunks, kMostChunks);
  check_range("micro-batches", full.micro_batches, kMostMicroBatches);
  const std::int64_t passes = std::int64_t{full.ranks} * full.chunks * full.micro_batches;
  if (passes > kMostSchedulePasses)
    throw core::BadInput(
        fmt::format("ranks x chunks x micro-batches must not exceed {}", kMostSchedulePasses));
  if (family.searched && passes * full.ranks > kMostSearch)
    throw core::BadInput(
        fmt::format("{}: ranks x ranks x chunks x micro-batches must not exceed {}", name, kMostSearch));
  try {
    demand(family.grouped || full.group == 0, "no group, it has none");
    return family.make(full);
  } catch (const core::BadInput& e) {
    throw core::BadInput(fmt::format("{}: {} (ranks {}, chunks {}, micro-batches {})", name, e.what(),
                                     full.ranks, full.chunks, full.micro_batches));
  }
}

}  // namespace penstock::schedule
