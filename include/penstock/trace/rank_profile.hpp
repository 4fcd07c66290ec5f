#pragma once
// Profile of one rank, recorded by torch.profiler and written by export_chrome_trace (Kineto's JSON).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/trace/trace.hpp"

namespace penstock::trace {

/// Nanoseconds since the epoch of the host's clock. Kineto converts times of GPUs to that clock.
struct HostInterval {
  std::int64_t start = 0, end = 0;
  friend bool operator==(const HostInterval&, const HostInterval&) = default;
};

/// A pass or an optimizer step that the host announced, by its name in the profile.
struct AnnouncedPass {
  TaskKind kind = TaskKind::forward;  ///< a pass, or step
  std::int32_t stage = -1;            ///< -1: the name has none
  std::int32_t micro_batch = -1;      ///< -1: the name has none
  HostInterval time;                  ///< of the announcement: GPUs may run the pass later
};

/// A kernel, copy or fill of a GPU.
struct LaunchedKernel {
  std::int64_t launch = 0;  ///< ns, as in HostInterval: when the host launched it
  HostInterval time;
};

/// One iteration as the training loop marks it by prof.step().
struct ProfiledStep {
  std::int64_t number = 0;
  HostInterval time;
};

/// All lists are sorted by their first time.
struct RankProfile {
  std::string file;
  std::optional<std::int64_t> rank;  ///< none: the file names none
  std::string host;                  ///< "": the file names none
  std::vector<ProfiledStep> steps;
  std::vector<AnnouncedPass> passes;
  std::string paired;                    ///< a name of two passes in one, "PP:(0F7;7B3)OVERLAP_F_B"; "": none
  std::vector<HostInterval> operators;   ///< of the host, other than communication
  std::vector<LaunchedKernel> kernels;   ///< other than communication
  std::vector<HostInterval> host_waits;  ///< messages and collectives as the host sees them
  std::vector<HostInterval> gpu_waits;   ///< kernels of communication libraries
};

/// Functions or annotations that are passes without a number. Defaults: those of Megatron-LM.
struct PassFunctions {
  std::string forward = "forward_step", backward = "backward_step";
};

/// Recognises the names of torch.distributed.pipelining 2.15 ("PP:1F0", "PP:1B0", "PP:1I0", "PP:1W0", "Forward
/// 0", "Backward 0"), of optimizers ("Optimizer.step#SGD.step"), and those of `functions`. Returns a pass without
/// time.
std::optional<AnnouncedPass> announced_pass(std::string_view name, const PassFunctions& functions);

/// Reads a profile, packed by gzip or not. Memory grows with the number of operators and kernels, not with the size
/// of the file. Throws BadInput naming file and event, an Error with code `limit` for more than kMostProfiled
/// operators and kernels, InterruptedError on `stop`.
RankProfile read_rank_profile(const std::string& path, const PassFunctions& functions = {},
                              const core::StopToken& stop = {});
/// Parses a text as read_rank_profile reads a file.
RankProfile parse_rank_profile(const std::string& text, const std::string& file,
                               const PassFunctions& functions = {});

/// Limit on the operators, kernels and waits of one profile: some minutes of a step, and 1.5 GB here.
inline constexpr std::size_t kMostProfiled = std::size_t{1} << 26;

}  // namespace penstock::trace
