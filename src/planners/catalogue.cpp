#include "families.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::planners {

const std::vector<PlannerInfo>& catalogue() {
  static const std::vector<PlannerInfo> planners = {
      {"graphpipe", "graph pipeline: stages form a DAG, branches run side by side",
       "Jeon et al., GraphPipe, ASPLOS 2025; exact bottleneck, kinds of equal branches, joins go with any branch",
       graphpipe},
      {"graphpipe_rows", "graphpipe, or the row partition run as a graph where that is faster",
       "ours: adds the sequential plans that GraphPipe's space lacks", graphpipe_rows},
      {"spp", "sequential pipeline: the same search over the operators in one row, order forced",
       "the baseline of GraphPipe, section 7 (PipeDream and Piper as its runtime executes them)", spp},
      {"dapple", "partition, replication and placement on machines by the latency L = T_w + T_s + T_e, run as 1F1B",
       "Fan et al., DAPPLE, PPoPP 2021; ours: the pivot of largest L, all partial plans that none beats (at most 256 per cut), "
       "memory, at most 128 layers, more are clustered. L leaves idle time out; unlike the published code, it is what is minimised",
       dapple},
      {"alpa_inter", "stages on submeshes (1 x 2^k or whole hosts): least sum of stage times + (B - 1) x slowest, run as 1F1B",
       "Zheng et al., Alpa, OSDI 2022, section 5.2; ours: data parallelism is the only way inside a stage, limits tried exactly, "
       "transfers left out as in the paper, at most 128 layers, more are clustered",
       alpa_inter},
      {"spp_luo", "min-cut order of devices on any network, mapping along it, list ordering: least makespan over stage counts",
       "Luo et al., SPP, INFOCOM 2022, reconstructed from its abstract; ours: memory, links in both directions at once, flipped "
       "halves, at most 128 layers (more are clustered), 64 stages (fewer beyond 256 devices), 256 devices in cut order",
       spp_luo},
  };
  return planners;
}

const PlannerInfo& planner(std::string_view name) {
  std::vector<std::string> names;
  for (const PlannerInfo& info : catalogue()) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  throw core::BadInput("unknown planner '" + std::string(name) + "'; " + core::did_you_mean(name, names));
}

}  // namespace penstock::planners
