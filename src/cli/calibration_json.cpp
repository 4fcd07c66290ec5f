#include "calibration_json.hpp"

#include <nlohmann/json.hpp>

#include "penstock/calibrate/doubts.hpp"
#include "penstock/cost/cold_share.hpp"
#include "penstock/cost/leave_one_out.hpp"

namespace penstock::cli {
namespace {

using cost::Calibration;
using Json = nlohmann::ordered_json;

/// A list with one object per item.
template <class Items, class Form>
Json list(const Items& items, Form form) {
  Json out = Json::array();
  for (const auto& item : items) out.push_back(form(item));
  return out;
}

Json identity_json(const cost::MeasurementIdentity& id) {
  Json details = Json::object();
  for (const auto& [key, value] : id.details) details[key] = value;
  return {{"device", id.device},   {"backend", id.backend}, {"memory_bytes", id.memory.value()},
          {"threads", id.threads}, {"load", id.load},       {"date", id.date},
          {"commit", id.commit},   {"command", id.command}, {"details", details}};
}

Json ceilings_json(const cost::DeviceCeilings& ceilings) {
  Json matmul = Json::object();
  for (std::size_t i = 0; i < cluster::kPrecisions; ++i)
    if (const double rate = ceilings.matmul[i].value(); rate > 0)
      matmul[std::string(name(static_cast<cluster::Precision>(i)))] = rate;
  return {{"copy_bytes_per_s", ceilings.copy.value()},
          {"add_bytes_per_s", ceilings.add.value()},
          {"update_bytes_per_s", ceilings.update.value()},
          {"matmul_flop_per_s", matmul}};
}

Json kernels_json(const Calibration& c) {
  std::size_t points = 0;
  for (const auto& kernel : c.kernels) points += kernel.points.size();
  return {{"count", c.kernels.size()}, {"points", points}, {"cold_share", cost::cold_share(c.models)}};
}

Json errors_json(const Calibration& c) {
  const bool stored = !c.leave_one_out.empty();
  const auto row = [](const cost::LeaveOneOutRow& r) {
    return Json{{"kind", name(r.kind)},
                {"left_out", name(r.fold)},
                {"points", r.count},
                {"median_error", r.median},
                {"p90_error", r.p90}};
  };
  return {{"from_file", stored}, {"rows", list(stored ? c.leave_one_out : cost::leave_one_out(c), row)}};
}

Json link_json(const cost::MeasuredLink& link) {
  const auto segment = [](const cost::LinkSegment& s) {
    const double per_byte = s.per_byte.value;
    return Json{{"from_bytes", s.from.value()},
                {"to_bytes", s.to.value()},
                {"latency_s", s.latency.value},
                {"bytes_per_s", per_byte > 0 ? Json(1 / per_byte) : Json()}};
  };
  return {{"kind", name(link.kind)}, {"ranks", link.ranks}, {"segments", list(link.segments, segment)}};
}

Json sharing_json(const cost::SharingTest& test) {
  return {{"kind", name(test.kind)},
          {"bytes", test.bytes.value()},
          {"alone_s", test.alone.median.value()},
          {"together_s", test.together.median.value()}};
}

Json overlap_json(const cost::OverlapTest& test) {
  return {{"compute_alone_s", test.compute_alone.median.value()},
          {"compute_with_s", test.compute_with.median.value()},
          {"copy_alone_s", test.copy_alone.median.value()},
          {"copy_with_s", test.copy_with.median.value()}};
}

Json crowding_json(const cost::CrowdingTest& test) {
  return {{"kernel", test.kernel},
          {"memory_share", test.memory_share},
          {"beside", test.beside},
          {"neighbours", test.neighbours},
          {"alone_s", test.alone.median.value()},
          {"crowded_s", test.crowded.median.value()},
          {"slowdown", test.slowdown.value},
          {"slowdown_low", test.slowdown.low},
          {"slowdown_high", test.slowdown.high}};
}

Json model_json(const cost::ModelSum& sum) {
  return {{"model", sum.model},
          {"parameters", sum.parameters},
          {"samples", sum.samples},
          {"number", name(sum.precision)},
          {"whole_s", sum.whole.median.value()},
          {"cold_sum_s", sum.cold_sum.value()},
          {"back_to_back_sum_s", sum.back_to_back_sum.value()}};
}

}  // namespace

std::string calibration_json(const Calibration& c) {
  const Json out = {{"identity", identity_json(c.identity)},
                    {"warnings", calibrate::doubts(c)},
                    {"launch_overhead_s", c.launch_overhead.value()},
                    {"graph_launch_s", c.graph_launch ? Json(c.graph_launch->value()) : Json()},
                    {"ceilings", ceilings_json(c.ceilings)},
                    {"kernels", kernels_json(c)},
                    {"leave_one_out", errors_json(c)},
                    {"links", list(c.links, link_json)},
                    {"sharing", list(c.sharing, sharing_json)},
                    {"overlap", list(c.overlap, overlap_json)},
                    {"crowding", list(c.crowding, crowding_json)},
                    {"models", list(c.models, model_json)}};
  return out.dump(2) + "\n";
}

}  // namespace penstock::cli
