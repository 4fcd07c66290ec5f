#include "column_words.hpp"

#include <algorithm>
#include <cctype>

namespace penstock::report {
namespace {

constexpr ColumnWords kPlans[] = {
    {"model", "Model", "text", 0, "the network"},
    {"cluster", "Cluster", "text", 10, "the cluster file"},
    {"devices", "Devices", "count", 4, "how many of the cluster's devices take part"},
    {"mini_batch", "Mini-batch", "count", 5, "samples per iteration"},
    {"setting", "Setting", "text", 3, "values of the experiment's further axes"},
    {"planner", "Planner", "text", 1, "who made the plan"},
    {"strategy", "Plan", "text", 6, "pipeline-, data- and tensor-parallel degrees, schedule, micro-batch"},
    {"samples_per_s", "Samples/s", "rate", 2, "throughput of the simulated iteration"},
    {"ratio", "Ratio", "times", 5, "throughput over the baseline's on the same problem"},
    {"tokens_per_s", "Tokens/s", "rate", 13, "throughput in tokens, of sequence models"},
    {"tflops_per_device", "TFLOP/s per GPU", "rate", 14, "model FLOPs per second and device"},
    {"mfu", "MFU", "share", 7, "model FLOPs over what the devices could do at their peak"},
    {"iteration_s", "Iteration", "time", 9, "simulated time of one iteration"},
    {"peak_memory_bytes", "Memory", "bytes", 8, "peak memory of the fullest device"},
    {"bubble", "Bubble", "share", 11, "share of time that devices do not compute"},
    {"gap", "Gap", "share", 15, "how far the iteration is above a lower bound for any such plan"},
    {"estimate_error", "Estimate error", "signed", 20,
     "time the planner expected, against the simulated one"},
    {"stages", "Stages", "count", 17, "number of pipeline stages"},
    {"depth", "Depth", "count", 18, "stages on the longest path"},
    {"pipeline_parallel", "PP", "count", 22, "pipeline-parallel degree"},
    {"data_parallel", "DP", "count", 23, "data-parallel degrees of the stages"},
    {"tensor_parallel", "TP", "count", 24, "tensor-parallel degrees of the stages"},
    {"zero", "ZeRO", "count", 25, "ZeRO stages"},
    {"recompute", "Recompute", "count", 26, "stages that compute their forward pass again"},
    {"micro_batch", "Micro-batch", "count", 16, "samples that a replica takes at a time"},
    {"schedule", "Schedule", "text", 19, "the order of passes"},
    {"search_s", "Search", "time", 12, "wall time the planner took"},
    {"states", "States", "count", 21, "table rows the planner computed"},
    {"estimate_s", "Estimate", "time", kDetailColumn, "iteration time the planner expected"},
    {"lower_bound_s", "Lower bound", "time", kDetailColumn, "no plan of its family is faster"},
    {"judging_s", "Judging", "time", kDetailColumn,
     "of the search, simulating candidates, summed over threads"},
    {"search_memory_bytes", "Search memory", "bytes", kDetailColumn,
     "growth of the process's memory during the search"},
    {"costs", "Costs", "text", kDetailColumn, "where the operators' times come from"},
    {"status", "Status", "text", kDetailColumn, "ok, or why there is no plan"},
    {"date", "Searched", "text", kDetailColumn, "when the plan was searched"},
    {"hardware", "Searched on", "text", kDetailColumn, "the machine that searched"},
};
constexpr ColumnWords kSchedules[] = {
    {"pipeline", "Pipeline", "text", 3, "the stages' times, as the experiment names them"},
    {"ranks", "Ranks", "count", 2, "pipeline ranks"},
    {"micro_batches", "Micro-batches", "count", 4, "per mini-batch"},
    {"schedule", "Schedule", "text", 0, "the family, with its options"},
    {"bubble", "Bubble", "share", 1, "idle share of the longest rank's span"},
    {"makespan_s", "Makespan", "time", 6, "from the first pass's start to the last one's end"},
    {"span_s", "Longest rank", "time", 9, "from a rank's first pass to its last, of the longest"},
    {"bubble_s", "Idle", "time", 10, "idle time of that rank"},
    {"peak_live", "Live activations", "ratio", 5, "full-stage activations that the fullest rank holds"},
    {"weight_versions", "Weight versions", "count", 7, "most that a rank holds"},
    {"chunks", "Chunks", "count", 8, "stages of a rank"},
    {"status", "Status", "text", kDetailColumn, "ok, or why the family cannot do this"},
};

}  // namespace

std::span<const ColumnWords> plan_words() {
  return kPlans;
}

std::span<const ColumnWords> schedule_words() {
  return kSchedules;
}

const ColumnWords* words_of(std::span<const ColumnWords> words, std::string_view name) {
  const auto found = std::ranges::find(words, name, &ColumnWords::name);
  return found == words.end() ? nullptr : &*found;
}

std::string title_of(std::span<const ColumnWords> words, std::string_view name) {
  if (const ColumnWords* found = words_of(words, name)) return std::string(found->title);
  std::string out(name);
  std::ranges::replace(out, '_', ' ');
  if (!out.empty()) out.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(out.front())));
  return out;
}

}  // namespace penstock::report
