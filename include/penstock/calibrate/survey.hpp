#pragma once
// All measurements of a device, as jobs.

#include "penstock/calibrate/crowding.hpp"
#include "penstock/calibrate/job.hpp"
#include "penstock/calibrate/links.hpp"
#include "penstock/calibrate/model_run.hpp"
#include "penstock/calibrate/worklist.hpp"

namespace penstock::calibrate {

/// Devices and scope of a survey. References outlive the survey.
struct SurveyRequest {
  kernels::Backend& backend;
  /// Opens the device again, for two measurements at once; empty: these are left out.
  OpenDevice open_view = {};
  /// Devices that exchange messages, the measured one first; one: no links.
  std::vector<OpenDevice> peers = {};
  bool host = true;         ///< no copies to and from a host, and no graphs
  bool neighbours = false;  ///< peers are devices of one node like the measured one
  DeviceClock& clock;
  const std::vector<NamedModel>& models;
  cluster::Precision precision = cluster::Precision::fp32;
  core::Bytes memory;  ///< limit of operands and buffers
  SamplingRule rule;
  std::size_t rounds = 1;  ///< visits of every kernel point
  std::int64_t most_samples = 64;
  core::StopToken stop;
};

/// Jobs refer to the survey.
class DeviceSurvey {
 public:
  explicit DeviceSurvey(const SurveyRequest& request);

  /// Copy bandwidth, matmul rate and launch overhead, which all other estimates need. For a device with
  /// graphs also a launch in one.
  std::vector<CalibrationJob> ceilings();
  /// Kernels at one sample, whole models, links up to a megabyte, the other batch sizes, and larger links.
  /// Then come all kernels again in further rounds, so that a temporary slowdown of the machine spoils one
  /// visit of a point, not its median. Estimates follow from the ceilings.
  std::vector<CalibrationJob> jobs(const Roofline& roofline);
  /// Repeats measurements that are noisy so far (calibrate/doubts.hpp): passes of kernels, and messages. Of
  /// two timings of a message the less noisy stays.
  std::vector<CalibrationJob> repeats(const cost::Calibration& calibration, const Roofline& roofline);

  std::int64_t rejected() const { return rejected_; }  ///< timings rejected for a low clock

 private:
  std::vector<CalibrationJob> roofs();
  CalibrationJob kernel_job(const KernelItem& item, std::size_t round, const Roofline& roofline);
  CalibrationJob model_job(const NamedModel& model, const Roofline& roofline);
  /// Two views at once; messages of more than `above` bytes, up to `most`.
  void add_views(std::vector<CalibrationJob>& jobs);
  void add_links(std::vector<CalibrationJob>& jobs, const Roofline& roofline, std::int64_t above,
                 std::int64_t most);
  std::vector<KernelItem> items(const Roofline& roofline) const;
  CalibrationJob repeated_kernel(const KernelItem& item, const Roofline& roofline);
  CalibrationJob repeated_link(cost::LinkKind kind, core::Bytes bytes, const Roofline& roofline);
  std::vector<cost::LinkKind> link_kinds() const;
  int ranks_of(cost::LinkKind kind) const;
  CalibrationJob link_job(cost::LinkKind kind, core::Bytes bytes, const Roofline& roofline);
  CalibrationJob sharing_job();
  CalibrationJob crowding_job(const CrowdingCase& asked);
  void add_crowding(std::vector<CalibrationJob>& jobs);
  CalibrationJob overlap_job();
  CalibrationJob ceiling(std::string name, std::function<bool(const cost::Calibration&)> done,
                         std::function<void(cost::Calibration&, Stopwatch&)> measure);
  /// Measures the passes for which `wanted` is true.
  void measure_kernel(const KernelItem& item, cost::Calibration& calibration,
                      const std::function<bool(graph::Pass)>& wanted);
  /// A bench of two views of the device; a bench of all peers.
  LinkBench views();
  LinkBench peers();
  /// Hands `measure` a stopwatch on the survey's stream.
  void timed(const std::function<void(Stopwatch&)>& measure);

  SurveyRequest request_;
  std::unique_ptr<kernels::Stream> stream_;
  std::vector<RankBackend> views_, peers_;  ///< opened at the first use
  std::unique_ptr<kernels::Collectives> library_;
  std::int64_t rejected_ = 0;
};

/// The rule for one of several rounds: its share of the timings, at least three, and of their time.
SamplingRule divided(SamplingRule rule, std::size_t rounds);

/// The sampling rule with timings as long as the budget allows: those of `full`, or as little as 4 % of them.
/// `estimate`: total time of a survey with a rule.
SamplingRule rule_within(core::Seconds budget, const SamplingRule& full,
                         const std::function<core::Seconds(const SamplingRule&)>& estimate);

/// Sums the kernels again from the points, after further rounds.
void refresh_model_sums(cost::Calibration& calibration, const std::vector<NamedModel>& models);

}  // namespace penstock::calibrate
