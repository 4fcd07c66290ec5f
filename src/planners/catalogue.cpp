#include "added_planners.hpp"
#include "families.hpp"
#include "penstock/core/spelling.hpp"
#include "rows/row_search.hpp"
#include "sweep.hpp"

namespace penstock::planners {

const std::vector<PlannerInfo>& catalogue() {
  static const std::vector<PlannerInfo> planners = {
      {"graphpipe",
       "stages form a graph; branches of the model run side by side",
       "Jeon et al., GraphPipe, ASPLOS 2025; exact bottleneck, kinds of equal branches, joins go with any "
       "branch",
       "tensor parallelism, ZeRO, recomputation, schedules except 1F1B and kFkB",
       graphpipe,
       sweep_options(),
       false,
       {"stages form a graph", "no TP, ZeRO, recomputation"}},
      {"graphpipe_rows",
       "the faster of graphpipe and the sequential partition",
       "ours: adds the sequential plans that GraphPipe's space lacks",
       "tensor parallelism, ZeRO, recomputation, schedules except 1F1B and kFkB",
       graphpipe_rows,
       sweep_options(),
       false,
       {"better of graphpipe and spp", "no TP, ZeRO, recomputation"}},
      {"graphpipe_climb",
       "graphpipe and data parallelism, improved step by step",
       "begins at the best of graphpipe, its rows and data parallelism; "
       "ours: stages with pieces of several branches, any number of replicas, devices by place; slower to "
       "search",
       "tensor parallelism, ZeRO, recomputation, schedules except 1F1B and kFkB",
       graphpipe_climb,
       climb_options(),
       false,
       {"graphpipe, improved by steps", "no TP, ZeRO, recomputation"}},
      {"spp",
       "sequential pipeline: the search of graphpipe over one row",
       "operators in sequence, order forced; "
       "the baseline of GraphPipe, section 7 (PipeDream and Piper as its runtime executes them)",
       "branches side by side, tensor parallelism, ZeRO, recomputation, schedules except 1F1B and kFkB",
       spp,
       sweep_options(),
       false,
       {"stages form a chain", "no TP, ZeRO, recomputation"}},
      {"pipedream",
       "sequential pipeline without a flush, replicas take turns",
       "minimises the time of the slowest stage over nodes and devices; "
       "Narayanan et al., PipeDream, SOSP 2019, section 3.1, exact; ours keeps to device memory with the "
       "weight versions, replicas divide the micro-batches",
       "branches side by side, tensor parallelism, ZeRO, recomputation, schedules with a flush (unless "
       "asked)",
       pipedream,
       pipedream_options(),
       false,
       {"chain of stages, no flush", "no TP, ZeRO, recomputation"}},
      {"pipedream_2bw",
       "equal stages without a flush, two weight versions",
       "width, depth and recomputation by closed form; "
       "Narayanan et al., PipeDream-2BW, ICML 2021, section 3.3; ours balances any row of operators, counts "
       "gradients and optimizer state",
       "stages of unlike width, tensor parallelism, ZeRO, schedules with a flush (unless asked)",
       pipedream_2bw,
       pipedream_2bw_options(),
       false,
       {"equal stages, no flush", "no TP, ZeRO; equal stages"}},
      {"piper",
       "sequential pipeline with replicas and tensor parallelism",
       "searches all downsets for the least time of the slowest stage, memory and recomputation included; "
       "Tarnawski et al., Piper, NeurIPS 2021, exact up to 40,000 downsets; ours recomputes whole stages, "
       "uses all devices, "
       "tensor-parallel degrees are powers of two within a node",
       "branches side by side, ZeRO, schedules except 1F1B; time to fill and drain the pipeline",
       piper,
       piper_options(),
       false,
       {"chain of stages with TP", "no ZeRO; ignores the bubble"}},
      {"piper_row",
       "piper over the operators in one row",
       "for models with too many downsets; "
       "Piper's model on a linearised graph",
       "all orders of the operators but one, ZeRO, schedules except 1F1B; time to fill and drain the "
       "pipeline",
       piper_row,
       piper_options(),
       false,
       {"piper on operators in one order", "no ZeRO; ignores the bubble"}},
      {"single_device",
       "all operators on one device, gradients accumulated",
       "for a cluster of one device; "
       "training without parallelism; powers of two as micro-batch sizes",
       "all parallelism",
       single_device,
       {},
       false,
       {"all operators on one device", "no parallelism"}},
      {"data_parallel",
       "one stage on all devices; the smallest ZeRO stage that fits",
       "gradients are reduced once per iteration; "
       "the usual baseline; micro-batches are accumulation steps, the best power of two by iteration time; "
       "Rajbhandari et al., ZeRO, SC 2020, stages 1 to 3 only where nothing fits with less; "
       "and the same with attention's cores, or layers, recomputed",
       "pipelines, tensor parallelism",
       data_parallel,
       {},
       false,
       {"replicas, ZeRO if needed", "no pipeline, TP"}},
      {"accpar",
       "one stage on all devices, each operator divided its own way",
       "operators are divided by samples, columns or rows, in shards as large as devices are fast; "
       "Song et al., AccPar, HPCA 2020, reconstructed; ours: replicas of groups of every size, one type per "
       "operator and one "
       "share per device, any graph by variable elimination, a price on memory",
       "pipelines, ZeRO, recomputation",
       accpar,
       tensor_parallel_options(),
       false,
       {"each operator split its own way", "no pipeline, ZeRO"}},
      {"gpipe_equal",
       "one stage per device, fill-drain, stages of equal time",
       "minimises the time of the slowest stage of the row, without transfers; "
       "Huang et al., GPipe, NeurIPS 2019; cut exact, recomputes only where that is needed or faster; one "
       "replica each",
       "replicas, tensor parallelism, ZeRO, schedules except fill-drain; time of transfers",
       gpipe_equal,
       {},
       false,
       {"GPipe, stages of equal time", "no replicas, TP, ZeRO"}},
      {"gpipe_memory",
       "one stage per device, fill-drain, stages of equal memory",
       "minimises the memory of the fullest stage of the row, operator by operator; "
       "as gpipe_equal, the balance by size of torchgpipe (Kim et al., 2020); cut exact",
       "replicas, tensor parallelism, ZeRO, schedules except fill-drain; any time",
       gpipe_memory,
       {},
       false,
       {"GPipe, stages of equal memory", "no replicas, TP, ZeRO"}},
      {"megatron",
       "equal stages, tensor parallelism within nodes, interleaving",
       "equally many operators and devices per stage, interleaved where they divide; "
       "Narayanan et al., Megatron-LM, SC 2021; any model in one row, every (p, t, d, v, b) that fits, "
       "by powers of two unless --any-degree, "
       "with sequence parallelism, then ZeRO 1, then recomputed attention cores, then recomputed layers, "
       "where "
       "nothing else fits; context and expert groups on request; all estimated, the best 64 judged",
       "stages of unlike width, branches side by side, schedules except plain and interleaved 1F1B",
       megatron,
       megatron_options(),
       false,
       {"equal stages, TP, interleaving", "stages of equal width only"}},
      {"autopipe",
       "equal stages; operators leave the critical path of 1F1B",
       "moves operators off the stage on the critical path, without transfers; "
       "Liu et al., AutoPipe, CLUSTER 2022; critical path in closed form, every stage count tried, no "
       "micro-batch slicing",
       "stages of unlike width, tensor parallelism, ZeRO, recomputation, schedules except 1F1B; time of "
       "transfers",
       autopipe,
       {},
       false,
       {"moves operators off the path", "no TP, ZeRO; equal stages"}},
      {"aceso",
       "plan of spp and balanced rows, improved at the worst stage",
       "improves the slowest or fullest stage step by step; "
       "Liu et al., Aceso, EuroSys 2024; every primitive at the two worst stages judged, two hops; stages "
       "recompute whole; a start thrice as slow as the best answer so far stays as it is",
       "tensor parallelism, ZeRO, schedules except 1F1B and kFkB",
       aceso,
       aceso_options(),
       false,
       {"improves the worst stage", "no TP, ZeRO"}},
      {"exhaustive",
       "every plan of a small problem",
       "tries every partition into stages, replica count, tensor-parallel degree and micro-batch size; "
       "ours: the oracle; least iteration time, 1f1b, no recomputation, devices in stage order",
       "ZeRO, recomputation, schedules except 1F1B and kFkB; models of more than a dozen operators",
       exhaustive,
       exhaustive_options(),
       false,
       {"every plan of a small problem", "at most 12 operators; no ZeRO"}},
      {"dapple",
       "partition and replication by the latency formula, as 1F1B",
       "partition, replication and placement on machines by the latency L = T_w + T_s + T_e; "
       "Fan et al., DAPPLE, PPoPP 2021; ours: the pivot of largest L, all partial plans that none beats (at "
       "most 256 per cut), "
       "memory, at most 128 layers, more are clustered. L leaves idle time out; unlike the published code, "
       "it is what is minimised",
       "tensor parallelism, ZeRO, recomputation, schedules except 1F1B; idle time between its three phases",
       dapple,
       row_options(),
       false,
       {"partition by DAPPLE's formula", "no TP, ZeRO, recomputation"}},
      {"alpa_inter",
       "stages on submeshes by the pipeline formula, as 1F1B",
       "submeshes are 1 x 2^k or whole hosts; minimises the sum of stage times + (B - 1) x slowest; "
       "Zheng et al., Alpa, OSDI 2022, section 5.2; ours: data parallelism is the only way inside a stage, "
       "limits tried exactly, "
       "transfers left out as in the paper, at most 128 layers, more are clustered",
       "tensor parallelism, ZeRO, recomputation, schedules except 1F1B; time of transfers",
       alpa_inter,
       row_options(),
       false,
       {"submeshes by Alpa's formula", "no TP, ZeRO, recomputation"}},
      {"spp_luo",
       "min-cut order of devices, then list ordering",
       "maps along the order on any network; least makespan over stage counts; "
       "Luo et al., SPP, INFOCOM 2022, reconstructed from its abstract; ours: memory, links in both "
       "directions at once, flipped "
       "halves, at most 128 layers (more are clustered), 64 stages (fewer beyond 256 devices), 256 devices "
       "in cut order",
       "tensor parallelism, ZeRO, recomputation, schedules except list ordering",
       spp_luo,
       row_options(),
       false,
       {"min-cut order, list schedule", "no TP, ZeRO, recomputation"}},
      {"joint",
       "everything at once: the best of all others, then improved",
       "changes the best answer of all others as a whole plan as long as the simulator says that helps; "
       "ours: iterated local search over stages, devices, schedules, tensor parallelism, ZeRO, recomputation "
       "and micro-batches; never slower than another planner with a flush, without a proof of its own",
       "schedules without a flush, colocated stages other than the layers after the join of all "
       "branches; gap to the best plan",
       joint,
       joint_options(),
       false,
       {"improves the best of all others", "no schedules without a flush"}},
      {"given",
       "no search: the plan that its options state",
       "layers per stage, degrees and recomputation, for a plan made by hand; "
       "the split that Megatron-LM's --pipeline-model-parallel-layout and torchtitan's module names state; "
       "the "
       "fastest micro-batch where none is pinned",
       "all that is not stated; stages of unlike width, branches side by side, schedules except plain "
       "and interleaved 1F1B (unless asked)",
       given,
       given_options(),
       true,
       {"the plan that its options state", "no search"}}};
  return planners;
}

const PlannerInfo& planner(std::string_view name) {
  std::vector<std::string> names;
  for (const PlannerInfo& info : catalogue()) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  if (const PlannerInfo* added = find_added(name)) return *added;
  for (std::string& added : added_planners()) names.push_back(std::move(added));
  throw core::BadInput("unknown planner '" + std::string(name) + "'; " + core::did_you_mean(name, names));
}

}  // namespace penstock::planners
