#pragma once
// Measurements of one device: kernels, links, whole models. The file that `--costs` takes.

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penstock/cluster/cluster.hpp"
#include "penstock/graph/op_graph.hpp"
#include "penstock/graph/pass.hpp"

namespace penstock::cost {

/// Repeated timings of one thing; low and high enclose the median, 95 % by bootstrap.
struct TimingSummary {
  core::Seconds median, p10, p90;
  std::int64_t count = 0;  ///< timings kept, at least one
  core::Seconds low, high;
};

/// Where and how the times were measured. No text is empty.
struct MeasurementIdentity {
  std::string device;   ///< as its maker names it, such as "NVIDIA H200"
  std::string backend;  ///< "host", "cuda:0"
  core::Bytes memory;
  int threads = 1;
  double load = 0;   ///< one-minute average when measuring began
  std::string date;  ///< ISO 8601, UTC
  std::string commit;
  std::string command;
  std::vector<std::pair<std::string, std::string>>
      details;  ///< driver, libraries' versions, clocks; names unique
};

/// The two roofs, measured, and what training streams beside its kernels.
struct DeviceCeilings {
  core::Bandwidth copy;   ///< read plus write of a large copy
  core::Bandwidth add{};  ///< both read, one written: a large tensor is added to another; zero: not measured
  core::Bandwidth
      update{};  ///< of large weights by plain descent (step_traffic), their gradient zeroed; likewise
  std::array<core::FlopRate, cluster::kPrecisions>
      matmul{};  ///< of a large product; zero: not measured, but one is
};

using graph::Shape;

/// Identity of a kernel: operators with equal keys run the same code on the same extents.
struct KernelKey {
  graph::OpKind kind = graph::OpKind::linear;
  Shape shape;  ///< graph::shape_of its attributes
  cluster::Precision precision = cluster::Precision::fp32;
  friend auto operator<=>(const KernelKey&, const KernelKey&) = default;
};

/// Work of a pass over n samples: n * flops[pass], and n * moved + weights bytes read and written. Where
/// operators with one key differ (the first layer's inputs want no gradient), the most any of them does.
struct KernelWork {
  std::array<core::Flops, graph::kPasses> flops{};  ///< per sample
  core::Bytes moved;    ///< per sample: inputs, output, rows gathered from a table
  core::Bytes weights;  ///< read or written once, however many samples
};

/// Medians of one round of measuring.
struct TimingRound {
  core::Seconds cold, back_to_back;
};

struct KernelPoint {
  graph::Pass pass = graph::Pass::forward;
  std::int64_t samples = 1;
  TimingSummary cold;          ///< operands come from memory
  TimingSummary back_to_back;  ///< operands are where the run before left them
  std::string algorithm;       ///< the library's choice; may be empty
  core::Bytes workspace;
  std::vector<TimingRound>
      visits{};  ///< in their order, where there were several: the timings then sum up these,
                 ///< except their count, which is of all timings
};

/// Rounds that have measured the point, one at least.
inline std::size_t rounds(const KernelPoint& point) {
  return point.visits.empty() ? 1 : point.visits.size();
}

struct MeasuredKernel {
  KernelKey key;
  KernelWork work;
  std::vector<KernelPoint> points;  ///< ascending by pass, then samples; no two are equal
};

enum class LinkKind : std::uint8_t {
  device_copy,  ///< within one device's memory
  host_to_device,
  device_to_host,
  peer_copy,   ///< between two devices
  all_reduce,  ///< ring, as the three that follow; bytes are those of the whole tensor
  all_gather,
  reduce_scatter,
  broadcast,
};
std::string_view name(LinkKind kind);
LinkKind link_kind(std::string_view name);  ///< throws BadInput for an unknown name

/// A fitted constant and its 95 % interval.
struct FittedValue {
  double value = 0, low = 0, high = 0;
};

/// One piece of time = latency + bytes * per_byte.
struct LinkSegment {
  core::Bytes from, to;  ///< holds for these sizes, both included
  FittedValue latency;   ///< s
  FittedValue per_byte;  ///< s/B
};

struct LinkPoint {
  core::Bytes bytes;
  TimingSummary time;
};

struct MeasuredLink {
  LinkKind kind = LinkKind::device_copy;
  int ranks = 1;                      ///< devices (or threads) that take part
  std::vector<LinkPoint> points;      ///< ascending by bytes
  std::vector<LinkSegment> segments;  ///< ascending; may be empty
};

/// Two transfers over one link at once. Under fair sharing each takes twice its time without the other.
struct SharingTest {
  LinkKind kind = LinkKind::device_copy;
  core::Bytes bytes;  ///< of each
  TimingSummary alone, together;
};

/// A kernel beside a copy. Slow-down is `with` by `alone`.
struct OverlapTest {
  TimingSummary compute_alone, compute_with;
  TimingSummary copy_alone, copy_with;
};

/// A kernel while neighbours of its node compute, in rounds that alternate with rounds without neighbours.
struct CrowdingTest {
  std::string kernel;       ///< such as "product"
  double memory_share = 0;  ///< part of its time without neighbours in which it moves bytes at
                            ///< Ceilings::copy, 0 to 1
  std::string beside;       ///< what all neighbours run again and again: "product" or "addition"
  int neighbours = 1;
  TimingSummary alone, crowded;  ///< of the rounds' medians
  FittedValue slowdown;          ///< median of the rounds' ratios, and its interval
};

/// A whole forward and backward run against what its kernels take one by one.
struct ModelSum {
  std::string model;
  std::map<std::string, std::string> parameters;  ///< of the zoo's model; those that differ from its defaults
  std::int64_t samples = 1;
  cluster::Precision precision = cluster::Precision::fp32;
  TimingSummary whole;
  core::Seconds cold_sum, back_to_back_sum;  ///< of medians over operators and passes
};

/// Points that a prediction had to do without: one batch size, or a whole shape; and if others lie around it.
enum class FoldKind : std::uint8_t { samples_inside, samples_frontier, shape_inside, shape_frontier };
inline constexpr std::size_t kFolds = 4;
std::string_view name(FoldKind fold);
FoldKind fold(std::string_view name);  ///< throws BadInput for an unknown name

/// How far predictions of held-out points were off, as shares of what was measured.
struct LeaveOneOutRow {
  graph::OpKind kind = graph::OpKind::linear;
  FoldKind fold = FoldKind::samples_inside;
  std::int64_t count = 0;
  double median = 0, p90 = 0;
};

struct Calibration {
  MeasurementIdentity identity;
  core::Seconds launch_overhead;
  DeviceCeilings ceilings;
  std::vector<MeasuredKernel> kernels;  ///< keys unique
  std::vector<MeasuredLink> links;      ///< (kind, ranks) unique
  std::vector<SharingTest> sharing;
  std::vector<OverlapTest> overlap;
  std::vector<ModelSum> models;
  std::vector<LeaveOneOutRow> leave_one_out;
  std::vector<CrowdingTest> crowding{};         ///< (kernel, beside, neighbours) unique
  std::optional<core::Seconds> graph_launch{};  ///< per kernel of a captured graph; none on a host
};

/// An operator's shape as a key of a calibration: without attention's mask, since timed kernels compute all
/// pairs.
graph::Shape kernel_shape(const graph::Attributes& attributes);
/// Key of an operator in a calibration.
KernelKey key_of(const graph::Operator& op, cluster::Precision precision);
/// Traffic as AnalyticCosts counts it, every tensor once, in elements of that number's size.
KernelWork work_of(const graph::OpGraph& graph, core::OpId op, cluster::Precision precision);
/// True if training runs this kernel of it. False for weights it does not have, and for inputs that want no
/// gradient.
bool has_pass(const graph::Operator& op, graph::Pass pass);

/// The file form: version, identity, numbers with units, one line per point, and last a check sum over all
/// text above it. Times keep five digits, so to_yaml(parse_calibration(x)) gives x again, byte for byte.
std::string to_yaml(const Calibration& calibration);

/// Throws BadInput with file, line and key for what is no calibration, has a newer version, is truncated or
/// damaged (check sum), or contradicts itself.
Calibration parse_calibration(const std::string& text, const std::string& file);
Calibration load_calibration(const std::string& path);

/// True if the first line is that of a calibration; what else is in the text does not matter.
bool is_calibration(std::string_view text);
/// The text with the last line that parse_calibration requires: `end: ` and CRC-32 of all before.
std::string sealed(std::string body);

}  // namespace penstock::cost
