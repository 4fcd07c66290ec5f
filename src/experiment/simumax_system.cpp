#include "penstock/experiment/simumax_system.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "penstock/core/json_text.hpp"
#include "penstock/cost/plausible.hpp"

namespace penstock::experiment {
namespace {

using Json = nlohmann::json;
using Fields = std::map<std::string, std::string>;

constexpr std::int64_t kMostExtent = std::int64_t{1} << 40;

/// Parses a text such as "b=1, m=4096" into values by name.
Fields fields_of(const std::string& shape) {
  Fields out;
  for (std::size_t begin = 0; begin < shape.size();) {
    const std::size_t end = std::min(shape.find(", ", begin), shape.size());
    const std::size_t equals = shape.find('=', begin);
    if (equals < end) out[shape.substr(begin, equals - begin)] = shape.substr(equals + 1, end - equals - 1);
    begin = end + 2;
  }
  return out;
}

constexpr double kMostCausal = 2;  ///< efficiencies of attention include the half that its mask leaves out

/// One kind of operator: its shapes with their FLOP/s.
class OperatorRates {
 public:
  OperatorRates(const Json& system, std::string name, std::string file)
      : name_(std::move(name)), file_(std::move(file)), most_(name_.starts_with("sdp") ? kMostCausal : 1) {
    const Json& op = object(object(system, "accelerator"), "op");
    if (!op.contains(name_)) return;
    const Json& kind = object(op, name_.c_str());
    flops_ = number(kind, "tflops") * 1e12;
    if (kind.contains("accurate_efficient_factor")) shapes_ = &object(kind, "accurate_efficient_factor");
  }

  double flops() const { return flops_; }

  /// Calls row(fields, FLOP/s) for each shape.
  template <class Row>
  void each(const Row& row) const {
    if (shapes_ == nullptr) return;
    for (const auto& [shape, value] : shapes_->items()) {
      const double share = value.is_number() ? value.template get<double>() : 0;
      if (const auto wrong = cost::no_efficiency(share, most_); !wrong.empty()) fail(shape, wrong);
      row(shape, fields_of(shape), flops_ * share);
    }
  }

  std::int64_t extent(const std::string& shape, const Fields& fields, const std::string& key) const {
    const auto found = fields.find(key);
    std::int64_t value = 0;
    if (found != fields.end())
      std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
    if (value < 1 || value > kMostExtent)
      fail(shape, fmt::format("expected {}=N, a whole number above zero", key));
    return value;
  }

  [[noreturn]] void fail(const std::string& shape, const std::string& what) const {
    throw core::BadInput({file_, 0, fmt::format("accelerator.op.{}: '{}'", name_, shape)}, what);
  }

 private:
  const Json& object(const Json& in, const char* key) const {
    if (!in.is_object() || !in.contains(key) || !in.at(key).is_object())
      throw core::BadInput({file_, 0, key}, "expected an object of a SimuMax system");
    return in.at(key);
  }
  double number(const Json& in, const char* key) const {
    if (!in.contains(key) || !in.at(key).is_number() || !(in.at(key).get<double>() > 0))
      throw core::BadInput({file_, 0, fmt::format("accelerator.op.{}.{}", name_, key)},
                           "expected a number above zero");
    return in.at(key).get<double>();
  }

  std::string name_, file_;
  double flops_ = 0;  ///< FLOP/s at an efficiency of one
  double most_ = 1;   ///< maximum efficiency
  const Json* shapes_ = nullptr;
};

std::vector<cost::ProductTime> products_of(const Json& system, const std::string& file,
                                           std::size_t& left_out) {
  std::vector<cost::ProductTime> out;
  const OperatorRates kind(system, "matmul", file);
  kind.each([&](const std::string& shape, const Fields& fields, double rate) {
    std::int64_t m = kind.extent(shape, fields, "m"), n = kind.extent(shape, fields, "n");
    const std::int64_t k = kind.extent(shape, fields, "k");
    if (kind.extent(shape, fields, "b") != 1) {
      ++left_out;
      return;
    }
    const auto layout = fields.find("layout");
    if (layout != fields.end() && layout->second == "NT") std::swap(m, n);
    out.push_back(
        {m, n, k, 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / rate});
  });
  return out;
}

/// Times of Transformer Engine's GroupedLinear: as many products as experts, with M rows each.
std::vector<cost::ProductTime> grouped_of(const Json& system, const std::string& file) {
  std::vector<cost::ProductTime> out;
  const OperatorRates kind(system, "group_matmul", file);
  kind.each([&](const std::string& shape, const Fields& fields, double rate) {
    const std::int64_t rows = kind.extent(shape, fields, "M"), width = kind.extent(shape, fields, "N"),
                       in = kind.extent(shape, fields, "K");
    const auto found = fields.find("stage");
    const std::string stage = found == fields.end() ? "" : found->second;
    cost::ProductTime product{rows, width, in, 0};
    if (stage == "bwd_grad_act")
      product = {rows, in, width, 0};
    else if (stage == "bwd_grad_w")
      product = {in, width, rows, 0};
    else if (stage != "fwd")
      kind.fail(shape, "expected stage=fwd, bwd_grad_act or bwd_grad_w");
    product.seconds =
        2.0 * static_cast<double>(rows) * static_cast<double>(width) * static_cast<double>(in) / rate;
    out.push_back(product);
  });
  return out;
}

/// Times of attention. Tensors in one buffer, as a single product for query, key and value leaves them, may
/// be slower; the slower time counts.
std::vector<cost::AttentionTime> attention_of(const Json& system, const std::string& file,
                                              std::size_t& left_out) {
  std::map<std::array<std::int64_t, 4>, std::array<double, 2>> times;  // {forward, backward}
  for (const int direction : {0, 1}) {
    const OperatorRates kind(system, direction == 0 ? "sdp_fwd" : "sdp_bwd", file);
    kind.each([&](const std::string& shape, const Fields& fields, double rate) {
      const auto of = [&](const char* key) { return kind.extent(shape, fields, key); };
      const std::array extents{of("batch"), of("seq_len"), of("head_num"), of("qk_head_dim")};
      if (of("v_head_dim") != extents[3]) {
        ++left_out;
        return;
      }
      double flops = direction == 0 ? 4 : 10;
      for (const std::size_t i : {0, 1, 1, 2, 3}) flops *= static_cast<double>(extents[i]);
      double& slowest = times[extents][static_cast<std::size_t>(direction)];
      slowest = std::max(slowest, flops / rate);
    });
  }
  std::vector<cost::AttentionTime> out;
  for (const auto& [e, seconds] : times)
    if (seconds[0] > 0) out.push_back({e[0], e[1], e[2], e[3], seconds[0], seconds[1]});
  return out;
}

/// Bandwidths are in units of 2^30 bytes per second; kernels reach a share of them, after a latency.
std::optional<cost::StreamingTime> streaming_of(const Json& system, const std::string& device,
                                                const std::string& file) {
  const Json::json_pointer all("/accelerator/bandwidth"), at("/accelerator/bandwidth/default");
  if (!system.contains(all)) return {};
  if (!system.at(all).is_object())
    throw core::BadInput({file, 0, "accelerator.bandwidth"}, "expected an object");
  if (!system.contains(at)) return {};
  const Json& found = system.at(at);
  const auto number = [&](const char* key, bool zero) {
    const bool known = found.is_object() && found.contains(key) && found.at(key).is_number();
    const double value = known ? found.at(key).get<double>() : -1;
    constexpr double kLeast = 1e-6, kLargest = 1e9;
    if (!(value >= (zero ? 0 : kLeast) && value <= kLargest))
      throw core::BadInput({file, 0, std::string("accelerator.bandwidth.default.") + key},
                           fmt::format("expected a number from {} to {}", zero ? 0 : kLeast, kLargest));
    return value;
  };
  constexpr double kGib = 1 << 30;
  const auto refuse = [&](const char* key, const std::string& wrong) {
    if (!wrong.empty())
      throw core::BadInput({file, 0, std::string("accelerator.bandwidth.default.") + key}, wrong);
  };
  refuse("efficient_factor", cost::no_efficiency(number("efficient_factor", false)));
  refuse("gbps", cost::above_memory_bandwidth(
                     number("gbps", false) * kGib * number("efficient_factor", false), 1, device));
  return cost::StreamingTime{
      core::Bandwidth(number("gbps", false) * kGib * number("efficient_factor", false)),
      core::Seconds(number("latency_us", true) * 1e-6)};
}

/// Checks that FLOP/s at an efficiency of one do not exceed the device's peak.
void check_peaks(const Json& system, const std::string& device, const std::string& file) {
  for (const char* name : {"matmul", "group_matmul", "sdp_fwd", "sdp_bwd"})
    if (const auto wrong = cost::above_peak(OperatorRates(system, name, file).flops(), 1, device);
        !wrong.empty())
      throw core::BadInput({file, 0, fmt::format("accelerator.op.{}.tflops", name)}, wrong);
}

}  // namespace

SystemTables parse_simumax_system(const std::string& text, const std::string& file) {
  const auto system = core::parse_json<Json>(text, file);
  std::size_t left_out = 0;
  auto products = products_of(system, file, left_out);
  if (products.empty())
    throw core::BadInput({file, 0, "accelerator.op.matmul"}, "expected efficiencies by shape");
  if (!system.contains("sys_name") || !system.at("sys_name").is_string())
    throw core::BadInput({file, 0, "sys_name"}, "expected the system's name");
  const auto device = system.at("sys_name").get<std::string>();
  check_peaks(system, device, file);
  auto attention = attention_of(system, file, left_out);
  return {{device,
           std::move(products),
           std::move(attention),
           streaming_of(system, device, file),
           {},
           grouped_of(system, file)},
          left_out};
}

}  // namespace penstock::experiment
