#pragma once
// Operator times from a calibration: every estimate has its origin and an interval of trust.

#include <memory>
#include <optional>

#include "penstock/cost/estimated.hpp"

namespace penstock::cost {

/// Times are between back to back and cold, by a share fitted to whole models (cold_share.hpp). Exact hits
/// come first. Between batch sizes times are linear; between sequence lengths of attention linear in the
/// square root of time. Other shapes go by the utilisation of the nearest of their kind. Beyond the data
/// utilisation of the measured roofline is held. Times are analytic where nothing of the kind was measured.
/// Facts and errors of each step: AIConfigurator's published leave-one-out tables. Operators whose samples
/// are only more rows of one product share their points. A mixture of experts of which none was measured
/// counts as dense layers: as many as it has experts, each of the rows that it gets. Its copies run at the
/// measured rate. Intervals: the bootstrap's where measured; else the leave-one-out table's 90th percentile
/// for that step, up and down. They are a factor of 2 where the table has no such row (and for analytic
/// times). Numbers of four bytes are fp32, or tf32 where nothing was measured in fp32; of two bf16, or fp16
/// likewise.
class CalibratedCosts final : public EstimatedCosts {
 public:
  explicit CalibratedCosts(Calibration calibration);
  CalibratedCosts(Calibration calibration, double cold_share);
  ~CalibratedCosts() override;

  using EstimatedCosts::estimate;
  /// Parts of linear layers, convolutions, attention, embeddings and element-wise operators are looked up as
  /// operators of divided extents. Their share of the work gets the utilisation of these; others as in
  /// CostModel. Never longer than the whole, nor shorter than its part of that: bounds rely on it.
  OpEstimate estimate(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                      std::int64_t samples, const OpShard& part) const override;
  cluster::DeviceType measured_device() const override;

  /// Time of estimate(), and in the weight gradient what training does besides: adding a micro-batch's
  /// gradients to those of its mini-batch. The addition reads both and writes one at the measured rate of
  /// additions, or of copies where that is not known. Kernels of tables add where they look up.
  OpTime op_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                 std::int64_t samples) const override;
  OpTime part_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                   std::int64_t samples, const OpShard& part) const override;
  /// Time of an update at the measured rate of updates, or of copies where that is not known; then gradients
  /// are zeroed for the next mini-batch.
  core::Seconds step_time(core::Bytes weights, const plan::Training& training,
                          const cluster::DeviceType& device) const override;
  /// Measured scratch: the line through the smallest and the largest batch, moved up until no other is above
  /// it. For shapes and precisions that were not measured: plain_scratch.
  BackwardScratch scratch(const graph::OpGraph& graph, core::OpId op) const override;
  /// Every pass reads and writes its work at the measured rate of copies, or is at it all the time; adding
  /// gradients only moves bytes.
  OpTime memory_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                     std::int64_t samples, const OpShard& part) const override;
  bool equal_of_alike() const override { return true; }
  const CrowdingSlowdown* crowding() const override { return crowding_.get(); }
  std::string source() const override { return "calibration of " + calibration_.identity.device; }
  std::vector<std::string> foreign(const cluster::Cluster& cluster) const override;

  const Calibration& calibration() const { return calibration_; }

 private:
  struct Index;
  OpEstimate looked_up(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                       std::int64_t samples, const graph::Attributes& attributes, const OpShard& part) const;
  /// Estimate of a dense layer of that size, all of its rows at once; zero where none was measured.
  OpEstimate linear(const graph::Linear& layer, cluster::Precision precision) const;
  /// Estimate of a mixture of experts, by what was measured of dense layers; nothing of another kind of
  /// operator, or where no dense layer was measured.
  std::optional<OpEstimate> experts(const graph::OpGraph& graph, core::OpId op, std::int64_t samples,
                                    const OpShard& part) const;
  core::Bandwidth rate_of(core::Bandwidth measured) const;
  core::Seconds adding_time(const graph::OpGraph& graph, core::OpId op, const OpShard& part) const;
  Calibration calibration_;
  std::unique_ptr<Index> index_;
  std::unique_ptr<const CrowdingSlowdown> crowding_;  ///< null where it was not measured
};

/// True if every word of the type's name is one of the measured device's: "H200" is, of "NVIDIA H200".
bool same_device(const Calibration& calibration, const cluster::DeviceType& type);
/// The measured device as a cluster would describe it, one multiprocessor.
cluster::DeviceType device_type(const Calibration& calibration);

}  // namespace penstock::cost
