#include "penstock/calibrate/crowding.hpp"

#include <algorithm>
#include <optional>

#include "penstock/calibrate/kernel_timing.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/crowding.hpp"
#include "penstock/kernels/values.hpp"

namespace penstock::calibrate {
namespace {

using cost::DeviceUse;
using graph::OpKind;

constexpr std::int64_t kAddedBytes = std::int64_t{64} << 20;  ///< of each term; too many for caches

/// An operator whose forward pass is timed.
struct TimedOperator {
  std::string_view name;
  OpKind kind;
  graph::Attributes attributes;
  std::int64_t samples;
};

/// Shapes of the zoo: layers of ResNet and VGG, and a dense layer like those of DLRM.
const std::vector<TimedOperator>& operators() {
  static const std::vector<TimedOperator> out = {
      {"product", OpKind::matmul, graph::Matmul{1, 1024, 1024, 1024}, 1},
      {"convolution", OpKind::convolution,
       graph::Convolution{
           {.channels = 256, .image = {56, 56}, .kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}}, 256},
       1},
      {"few_rows", OpKind::linear, graph::Linear{.rows = 1, .in = 4096, .out = 4096}, 16},
      {"norm", OpKind::norm, graph::Norm{802816, 256, graph::NormForm::batch}, 4},
      {"activation", OpKind::activation, graph::Activation{3211264, graph::Function::relu}, 4}};
  return out;
}

/// Repeated work of one rank.
class RankLoad {
 public:
  RankLoad(RankBackend& rank, const std::string& name, cluster::Precision precision, core::Bytes memory)
      : rank_(rank) {
    const auto found = std::ranges::find(operators(), name, &TimedOperator::name);
    if (found == operators().end()) {
      add_terms(memory);
      return;
    }
    graph::Operator op;
    op.name = name;
    op.kind = found->kind;
    op.attributes = found->attributes;
    kernel_ = std::make_unique<TimedKernel>(*rank.backend, *rank.stream, op, found->samples, precision);
    if (kernel_->operand_bytes() > memory) throw core::BadInput(name + ": its operands need more memory");
  }
  void run() {
    kernel_ ? kernel_->run(graph::Pass::forward) : rank_.backend->add(*sum_, *term_, *rank_.stream);
  }
  void finish() { run(), rank_.stream->synchronise(); }
  /// Share of memory in the time without neighbours.
  double memory_share(core::Seconds time, core::Bandwidth copy) const {
    return kernel_ ? std::min(1.0, kernel_->operand_bytes() / copy / time) : 1;
  }

 private:
  void add_terms(core::Bytes memory) {
    const std::int64_t count =
        std::max<std::int64_t>(1, std::min(kAddedBytes, memory.value() / 2) / size(kernels::Element::fp32));
    sum_ = rank_.backend->allocate(kernels::Element::fp32, count);
    term_ = rank_.backend->allocate(kernels::Element::fp32, count);
    kernels::write_random(*rank_.backend, *sum_, 1);
    kernels::write_random(*rank_.backend, *term_, 2);
  }

  RankBackend& rank_;
  std::unique_ptr<TimedKernel> kernel_;  ///< null: the addition
  std::unique_ptr<kernels::Buffer> sum_, term_;
};

double median_of(const cost::TimingSummary& timing) {
  return timing.median.value();
}

/// Starts the loads; they run as long as the result lives.
std::vector<std::unique_ptr<BackgroundLoop>> start(std::vector<std::unique_ptr<RankLoad>>& loads) {
  std::vector<std::unique_ptr<BackgroundLoop>> out;
  for (const auto& load : loads)
    out.push_back(std::make_unique<BackgroundLoop>([one = load.get()] { one->finish(); }));
  return out;
}

}  // namespace

std::vector<std::string> crowding_kernels() {
  std::vector<std::string> out;
  for (const TimedOperator& sample : operators()) out.emplace_back(sample.name);
  out.emplace_back(kernel_of(DeviceUse::memory));
  return out;
}

std::vector<CrowdingCase> crowding_cases(int devices) {
  const std::string besides[] = {std::string(kernel_of(DeviceUse::arithmetic)),
                                 std::string(kernel_of(DeviceUse::memory))};
  std::vector<CrowdingCase> corners, others;
  for (int n = 1; n < devices; ++n)
    for (const std::string& beside : besides)
      for (const std::string& kernel : crowding_kernels()) {
        const bool corner = std::ranges::find(besides, kernel) != std::end(besides);
        if (corner || n == 1 || n == devices - 1) (corner ? corners : others).push_back({kernel, beside, n});
      }
  corners.insert(corners.end(), others.begin(), others.end());
  return corners;
}

cost::CrowdingTest time_crowding(const LinkBench& bench, const CrowdingCase& asked,
                                 cluster::Precision precision, core::Bandwidth copy, core::Bytes memory) {
  RankLoad own(bench.ranks[0], asked.kernel, precision, memory);
  std::vector<std::unique_ptr<RankLoad>> loads;
  for (int n = 1; n <= asked.neighbours; ++n)
    loads.push_back(std::make_unique<RankLoad>(bench.ranks[static_cast<std::size_t>(n)], asked.beside,
                                               precision, memory));
  Stopwatch stopwatch(*bench.ranks[0].stream, bench.clock, bench.rule, bench.stop);
  const Body body = [&own] { own.run(); };
  std::vector<double> alone, crowded, ratios;
  for (int round = 0; round < kCrowdingRounds; ++round) {
    alone.push_back(median_of(stopwatch.unbundled(body)));
    const auto neighbours = start(loads);
    crowded.push_back(median_of(stopwatch.unbundled(body)));
    ratios.push_back(crowded.back() / alone.back());
  }
  const cost::TimingSummary time = summarise(alone), ratio = summarise(ratios);
  return {asked.kernel,
          own.memory_share(time.median, copy),
          asked.beside,
          asked.neighbours,
          time,
          summarise(crowded),
          {ratio.median.value(), ratio.low.value(), ratio.high.value()}};
}

bool has_test(const cost::Calibration& calibration, const CrowdingCase& asked) {
  return std::ranges::any_of(calibration.crowding, [&](const cost::CrowdingTest& test) {
    return test.kernel == asked.kernel && test.beside == asked.beside && test.neighbours == asked.neighbours;
  });
}

}  // namespace penstock::calibrate
