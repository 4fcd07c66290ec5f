#pragma once
// Times of matrix products and of attention's core that others measured on a device, as costs.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "penstock/cost/analytic.hpp"
#include "penstock/cost/estimated.hpp"

namespace penstock::cost {

/// Seconds of one product of an m x k by a k x n matrix.
struct ProductTime {
  std::int64_t m, n, k;
  double seconds;
};

/// Seconds of attention's core, forward, causal: scores, softmax and context of `heads` heads for each of
/// `batch` sequences; and backward, where that was measured.
struct AttentionTime {
  std::int64_t batch, sequence, heads, head_size;
  double seconds;
  double backward = 0;  ///< zero: not measured
};

/// FLOPs that take at least the measured time: of causal attention half of all, for what is masked may be
/// left out.
double least_flops(const ProductTime& product);
double least_flops(const AttentionTime& attention);
/// Bytes that a rank sends at least.
double least_sent(const cluster::CollectiveTime& collective);

/// FLOP/s by two extents of a grid and, within each of its cells, by a third one that need not be the same in
/// all. Between points linear in the logarithms of all; beyond them as at the nearest one.
class RateGrid {
 public:
  /// Slowest of the points of equal extents: a training run keeps its device warm and short of power.
  void add(double row, double column, double along, double rate);
  bool empty() const { return cells_.empty(); }
  struct TableRate {
    double value;
    TimeOrigin origin;  ///< extrapolated too where the nearest point replaces a corner that is missing
  };
  TableRate rate(double row, double column, double along) const;

 private:
  std::set<double> rows_, columns_;  ///< logarithms throughout
  std::map<std::pair<double, double>, std::map<double, double>> cells_;
};

/// Dense layers are products of tokens with weights: forward (tokens, out, in), gradients (tokens, in, out)
/// and (in, out, tokens). Attention is a product for query, key and value together, its core, and the product
/// behind it. Every expert of a mixture is two products, of the rows that it gets, as `grouped` ones where
/// the tables have such. A flash core's backward pass has 5 products where its forward has 2, and reaches 63
/// % of the peak where that reaches 73 % (Dao, FlashAttention-2, 2023, sections 3.1 and 4.1). A plain core's
/// products, one for each head, are taken for one product with as many rows as all heads have queries. It
/// reads less than they do, and does and writes as much. So are those of a scan's chunks. Products in a narrower
/// format were not measured. They are as efficient as those in 16 bits: time = 16-bit time x roofline in the
/// format / roofline in 16 bits, with casts before them. Its softmax, adapters,
/// and whatever else there is, are analytic, as are numbers of another size than the tables'. One device's part
/// of an operator is a smaller product. An estimate's origin is the worst of its products' and its core's; where rotary positions are
/// turned meanwhile, which is analytic, they do not count. Intervals have no width: tables have none.
class TableCosts final : public EstimatedCosts {
 public:
  /// `device` as its vendor calls it: "NVIDIA A100-SXM4-80GB". Times must be above zero, and products there.
  TableCosts(std::string device, std::vector<ProductTime> products, std::vector<AttentionTime> attention,
             std::optional<StreamingTime> streaming = {},
             std::vector<cluster::CollectiveTime> collectives = {}, std::vector<ProductTime> grouped = {});

  const std::string& device() const { return device_; }
  const std::vector<ProductTime>& products() const { return products_; }
  const std::vector<AttentionTime>& attention() const { return attention_; }
  /// Times of one product among equal ones that a grouped GEMM runs together: its share of the whole time.
  const std::vector<ProductTime>& grouped() const { return grouped_; }
  const std::optional<StreamingTime>& streaming() const { return streaming_; }

  using EstimatedCosts::estimate;
  OpEstimate estimate(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                      std::int64_t samples, const OpShard& part) const override;
  /// The built-in device type whose name is part of the device's. Throws BadInput where there is none.
  cluster::DeviceType measured_device() const override;
  OpTime op_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                 std::int64_t samples) const override;
  OpTime part_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                   std::int64_t samples, const OpShard& part) const override;
  core::Seconds core_forward(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                             std::int64_t samples, const OpShard& part) const override;
  core::Seconds step_time(core::Bytes weights, const plan::Training& training,
                          const cluster::DeviceType& device) const override;
  std::shared_ptr<const cluster::CollectiveTimes> collectives() const override { return collectives_; }
  bool equal_of_alike() const override { return true; }
  std::string source() const override { return "kernel tables of " + device_; }
  /// The tables time kernels without a host: cluster::usual_runtime where none is stated.
  cluster::Cluster completed(const cluster::Cluster& cluster) const override;
  /// Types whose name is no part of the device's, upper or lower case.
  std::vector<std::string> foreign(const cluster::Cluster& cluster) const override;

 private:
  PassEstimate product(double m, double n, double k) const;
  PassEstimate expert_product(double m, double n, double k) const;
  OpEstimate linear(const graph::Operator& op, const cluster::DeviceType& device, double samples,
                    const OpShard& part) const;
  /// Products of as many rows as an expert gets, one for each expert; what moves rows is analytic, and does
  /// not count for the origin.
  OpEstimate experts(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                     double samples, const OpShard& part) const;
  OpEstimate projections(const graph::Operator& op, const cluster::DeviceType& device, double samples,
                         const OpShard& part) const;
  /// estimate() without what comes beside products (AnalyticCosts::beside_time).
  OpEstimate products_alone(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                            std::int64_t samples, const OpShard& part) const;
  /// The products of a plain core, and its softmax.
  OpEstimate plain_core(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                        double samples) const;
  /// Attention's core, without turning queries and keys.
  OpEstimate core(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                  std::int64_t samples, const OpShard& part) const;

  std::string device_;
  std::vector<ProductTime> products_;
  std::vector<AttentionTime> attention_;
  std::vector<ProductTime> grouped_;
  std::optional<StreamingTime> streaming_;
  std::shared_ptr<const cluster::CollectiveTimes> collectives_;  ///< null: none
  RateGrid product_rates_;                                       ///< rows n, columns k, along m
  RateGrid grouped_rates_;                                       ///< likewise
  RateGrid attention_rates_;  ///< rows sequence, columns head size, along batch x heads
  RateGrid backward_rates_;   ///< likewise, in FLOPs of the forward pass
  AnalyticCosts analytic_;
};

/// True if a costs file is one of tables.
bool is_kernel_tables(const std::string& text);
/// docs/formats/kernel_tables.md. Throws BadInput naming file, line and key.
TableCosts parse_kernel_tables(const std::string& text, const std::string& file);
std::string to_yaml(const TableCosts& tables);

}  // namespace penstock::cost
