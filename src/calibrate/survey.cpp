#include "penstock/calibrate/survey.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/calibrate/doubts.hpp"
#include "penstock/calibrate/kernel_timing.hpp"
#include "penstock/calibrate/precisions.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/kernels/graph_run.hpp"

namespace penstock::calibrate {
namespace {

using cost::Calibration;
using cost::LinkKind;

constexpr std::int64_t kLargestCopy = std::int64_t{256} << 20, kLargestMessage = std::int64_t{1} << 30;
constexpr std::int64_t kSmallestMessage = 1024, kEarlyMessage = std::int64_t{1} << 20;
constexpr std::int64_t kSharedCopy = std::int64_t{64} << 20, kOverlapProduct = 1024;
constexpr double kCeilingTime = 3;       // s, about
constexpr double kSurveyFillRate = 1e9;  // B/s
constexpr std::int64_t kLeastPerRound = 3;

std::string title(const KernelItem& item, std::size_t round) {
  return fmt::format("{}{} {} x {}", round > 1 ? fmt::format("round {}: ", round) : "",
                     graph::name(item.op.kind), item.op.name, item.samples);
}

bool measured(const Calibration& calibration, const KernelItem& item, graph::Pass pass, std::size_t round) {
  const cost::KernelPoint* point = find_point(calibration, item.key, pass, item.samples);
  return point != nullptr && rounds(*point) >= round;
}

bool measured(const Calibration& calibration, const KernelItem& item, std::size_t round) {
  return std::ranges::all_of(graph::kAllPasses, [&](graph::Pass pass) {
    return !item.passes[static_cast<std::size_t>(pass)] || measured(calibration, item, pass, round);
  });
}

bool noisy(const Calibration& calibration, const KernelItem& item, graph::Pass pass) {
  const cost::KernelPoint* point = find_point(calibration, item.key, pass, item.samples);
  return point != nullptr && calibrate::noisy(*point);
}

bool noisy(const Calibration& calibration, const KernelItem& item) {
  return std::ranges::any_of(graph::kAllPasses, [&](graph::Pass pass) {
    return item.passes[static_cast<std::size_t>(pass)] && noisy(calibration, item, pass);
  });
}

/// Ascending by pass, then samples; joined with the results of earlier rounds.
void add_kernel_point(Calibration& calibration, const KernelItem& item, cost::KernelPoint point) {
  auto kernel = std::ranges::find(calibration.kernels, item.key, &cost::MeasuredKernel::key);
  if (kernel == calibration.kernels.end())
    kernel = calibration.kernels.insert(kernel, cost::MeasuredKernel{item.key, item.work, {}});
  kernel->work = item.work;
  const auto order = [](const cost::KernelPoint& p) { return std::pair(p.pass, p.samples); };
  auto& points = kernel->points;
  const auto place = std::ranges::lower_bound(points, order(point), {}, order);
  if (place != points.end() && order(*place) == order(point))
    *place = joined(*place, point);
  else
    points.insert(place, std::move(point));
}

bool same_model(const cost::ModelSum& sum, const NamedModel& model, cluster::Precision precision) {
  return sum.model == model.name && sum.parameters == model.parameters && sum.samples == 1 &&
         sum.precision == precision;
}

/// Rough time of one transfer.
core::Seconds transfer_time(core::Bytes bytes, const Roofline& roofline) {
  return bytes * 4 / roofline.copy;
}

}  // namespace

DeviceSurvey::DeviceSurvey(const SurveyRequest& request)
    : request_(request), stream_(request.backend.make_stream()) {}

LinkBench DeviceSurvey::views() {
  if (views_.empty()) views_ = open_ranks(2, request_.open_view);
  return {views_, request_.clock, request_.rule, request_.stop};
}

LinkBench DeviceSurvey::peers() {
  if (peers_.empty()) {
    peers_ = open_ranks(request_.peers);
    std::vector<kernels::Backend*> backends;
    for (const RankBackend& peer : peers_) backends.push_back(peer.backend.get());
    library_ = backends.front()->collectives(backends);
  }
  return {peers_, request_.clock, request_.rule, request_.stop, library_.get()};
}

void DeviceSurvey::timed(const std::function<void(Stopwatch&)>& measure) {
  Stopwatch stopwatch(*stream_, request_.clock, request_.rule, request_.stop);
  measure(stopwatch);
  rejected_ += stopwatch.rejected();
}

CalibrationJob DeviceSurvey::ceiling(std::string name, std::function<bool(const Calibration&)> done,
                                     std::function<void(Calibration&, Stopwatch&)> measure) {
  return {std::move(name), core::Seconds(kCeilingTime), true, std::move(done),
          [this, measure = std::move(measure)](Calibration& calibration) {
            timed([&](Stopwatch& stopwatch) { measure(calibration, stopwatch); });
          }};
}

std::vector<CalibrationJob> DeviceSurvey::ceilings() {
  std::vector<CalibrationJob> out = roofs();
  if (!request_.host)
    out.push_back(ceiling(
        "launch in a graph", [](const Calibration& c) { return c.graph_launch.has_value(); },
        [&](Calibration& c, Stopwatch& stopwatch) {
          c.graph_launch = graph_launch(request_.backend, *stream_, stopwatch);
        }));
  return out;
}

std::vector<CalibrationJob> DeviceSurvey::roofs() {
  kernels::Backend& backend = request_.backend;
  const auto precision = static_cast<std::size_t>(request_.precision);
  return {ceiling(
              "copy bandwidth", [](const Calibration& c) { return c.ceilings.copy.value() > 0; },
              [&](Calibration& c, Stopwatch& stopwatch) {
                const core::Bytes bytes(std::min(kLargestCopy, request_.memory.value() / 2));
                c.ceilings.copy = copy_bandwidth(backend, *stream_, stopwatch, bytes);
              }),
          ceiling(
              "add bandwidth", [](const Calibration& c) { return c.ceilings.add.value() > 0; },
              [&](Calibration& c, Stopwatch& stopwatch) {
                const core::Bytes bytes(std::min(kLargestCopy, request_.memory.value() / 2));
                c.ceilings.add = add_bandwidth(backend, *stream_, stopwatch, bytes);
              }),
          ceiling(
              "update bandwidth", [](const Calibration& c) { return c.ceilings.update.value() > 0; },
              [&](Calibration& c, Stopwatch& stopwatch) {
                const core::Bytes bytes(std::min(kLargestCopy, request_.memory.value() / 2));
                c.ceilings.update = update_bandwidth(backend, *stream_, stopwatch, bytes);
              }),
          ceiling(
              fmt::format("{} matmul rate", name(request_.precision)),
              [=](const Calibration& c) { return c.ceilings.matmul[precision].value() > 0; },
              [&, precision](Calibration& c, Stopwatch& stopwatch) {
                c.ceilings.matmul[precision] = matmul_rate(backend, *stream_, stopwatch, request_.precision);
              }),
          ceiling(
              "launch overhead", [](const Calibration& c) { return c.launch_overhead.value() > 0; },
              [&](Calibration& c, Stopwatch& stopwatch) {
                c.launch_overhead = launch_overhead(backend, *stream_, stopwatch);
              })};
}

void DeviceSurvey::measure_kernel(const KernelItem& item, Calibration& calibration,
                                  const std::function<bool(graph::Pass)>& wanted) {
  TimedKernel kernel(request_.backend, *stream_, item.op, item.samples, request_.precision);
  timed([&](Stopwatch& stopwatch) {
    for (const graph::Pass pass : graph::kAllPasses)
      if (item.passes[static_cast<std::size_t>(pass)] && kernel.has(pass) && wanted(pass))
        add_kernel_point(calibration, item, kernel.time(pass, stopwatch));
  });
}

CalibrationJob DeviceSurvey::kernel_job(const KernelItem& item, std::size_t round, const Roofline& roofline) {
  return {title(item, round), measuring_time(item, roofline, request_.rule), false,
          [item, round](const Calibration& c) { return measured(c, item, round); },
          [this, item, round](Calibration& c) {
            measure_kernel(item, c, [&](graph::Pass pass) { return !measured(c, item, pass, round); });
          }};
}

CalibrationJob DeviceSurvey::repeated_kernel(const KernelItem& item, const Roofline& roofline) {
  return {"again: " + title(item, 1), measuring_time(item, roofline, request_.rule), false,
          [item](const Calibration& c) { return !noisy(c, item); },
          [this, item](Calibration& c) {
            measure_kernel(item, c, [&](graph::Pass pass) { return noisy(c, item, pass); });
          }};
}

CalibrationJob DeviceSurvey::repeated_link(LinkKind kind, core::Bytes bytes, const Roofline& roofline) {
  CalibrationJob job = link_job(kind, bytes, roofline);
  job.name = "again: " + job.name;
  job.done = [](const Calibration&) { return false; };
  return job;
}

CalibrationJob DeviceSurvey::model_job(const NamedModel& model, const Roofline& roofline) {
  const cluster::Precision precision = request_.precision;
  const core::Bytes buffers = kernels::GraphRun::bytes(model.graph, 1);
  const core::Seconds once = model.graph.forward_flops() * 3 / roofline.matmul + buffers / roofline.copy;
  const core::Seconds estimate =
      buffers / core::Bandwidth(kSurveyFillRate) + sampling_time(once, request_.rule);
  const auto done = [&model, precision](const Calibration& c) {
    return std::ranges::any_of(c.models,
                               [&](const cost::ModelSum& sum) { return same_model(sum, model, precision); });
  };
  const auto run = [this, &model, precision](Calibration& c) {
    timed([&](Stopwatch& stopwatch) {
      c.models.push_back(
          time_model(c, request_.backend, *stream_, stopwatch, model, 1, precision, request_.memory));
    });
  };
  return {"model " + model.name, estimate, false, done, run};
}

int DeviceSurvey::ranks_of(LinkKind kind) const {
  const bool alone =
      kind == LinkKind::device_copy || kind == LinkKind::host_to_device || kind == LinkKind::device_to_host;
  return alone ? 1 : kind == LinkKind::peer_copy ? 2 : static_cast<int>(request_.peers.size());
}

std::vector<LinkKind> DeviceSurvey::link_kinds() const {
  std::vector<LinkKind> kinds = {LinkKind::device_copy};
  if (!request_.host) kinds.insert(kinds.end(), {LinkKind::host_to_device, LinkKind::device_to_host});
  if (request_.peers.size() >= 2)
    kinds.insert(kinds.end(),
                 {LinkKind::peer_copy, LinkKind::all_reduce, LinkKind::reduce_scatter, LinkKind::all_gather});
  return kinds;
}

CalibrationJob DeviceSurvey::link_job(LinkKind kind, core::Bytes bytes, const Roofline& roofline) {
  const int ranks = ranks_of(kind);
  return {fmt::format("{} {}", name(kind), core::show(bytes)),
          sampling_time(transfer_time(bytes, roofline), request_.rule), false,
          [=](const Calibration& c) { return has_point(c, kind, ranks, bytes); },
          [=, this](Calibration& c) { add_point(c, kind, ranks, time_link(peers(), kind, bytes)); }};
}

CalibrationJob DeviceSurvey::sharing_job() {
  return {"two copies at once", request_.rule.enough * 2, false,
          [](const Calibration& c) { return !c.sharing.empty(); },
          [this](Calibration& c) { c.sharing.push_back(time_sharing(views(), core::Bytes(kSharedCopy))); }};
}

CalibrationJob DeviceSurvey::overlap_job() {
  return {"a product beside a copy", request_.rule.enough * 4, false,
          [](const Calibration& c) { return !c.overlap.empty(); },
          [this](Calibration& c) {
            c.overlap.push_back(
                time_overlap(views(), kOverlapProduct, core::Bytes(kSharedCopy), request_.precision));
          }};
}

/// Times the kernel without and with neighbours.
CalibrationJob DeviceSurvey::crowding_job(const CrowdingCase& asked) {
  return {fmt::format("{} beside {} x {}", asked.kernel, asked.neighbours, asked.beside),
          request_.rule.enough * (2 * kCrowdingRounds), false,
          [asked](const Calibration& c) { return has_test(c, asked); },
          [this, asked](Calibration& c) {
            const core::Bytes memory(request_.memory.value() / (4 * std::ssize(request_.peers)));
            c.crowding.push_back(time_crowding(peers(), asked, request_.precision, c.ceilings.copy, memory));
          }};
}

void DeviceSurvey::add_crowding(std::vector<CalibrationJob>& jobs) {
  if (!request_.neighbours) return;
  for (const CrowdingCase& asked : crowding_cases(static_cast<int>(request_.peers.size())))
    jobs.push_back(crowding_job(asked));
}

void DeviceSurvey::add_views(std::vector<CalibrationJob>& jobs) {
  if (!request_.open_view) return;
  jobs.push_back(sharing_job());
  jobs.push_back(overlap_job());
}

/// A message is in memory at least three times on every rank.
void DeviceSurvey::add_links(std::vector<CalibrationJob>& jobs, const Roofline& roofline, std::int64_t above,
                             std::int64_t most) {
  most =
      std::min(most, request_.memory.value() / (4 * std::max<std::int64_t>(1, std::ssize(request_.peers))));
  for (const LinkKind kind : link_kinds())
    for (std::int64_t bytes = kSmallestMessage; bytes <= most; bytes *= 2)
      if (bytes > above) jobs.push_back(link_job(kind, core::Bytes(bytes), roofline));
}

std::vector<KernelItem> DeviceSurvey::items(const Roofline& roofline) const {
  const WorkLimits limits{.most_samples = request_.most_samples, .memory = request_.memory};
  return kernel_items(request_.models, request_.precision, roofline, limits);
}

std::vector<CalibrationJob> DeviceSurvey::jobs(const Roofline& roofline) {
  const auto items = this->items(roofline);
  const auto others = std::ranges::find_if(items, [](const KernelItem& item) { return item.samples > 1; });
  std::vector<CalibrationJob> out;
  for (auto item = items.begin(); item != others; ++item) out.push_back(kernel_job(*item, 1, roofline));
  for (const NamedModel& model : request_.models) out.push_back(model_job(model, roofline));
  add_views(out);
  add_crowding(out);
  add_links(out, roofline, 0, kEarlyMessage);
  for (auto item = others; item != items.end(); ++item) out.push_back(kernel_job(*item, 1, roofline));
  add_links(out, roofline, kEarlyMessage, kLargestMessage);
  for (std::size_t round = 2; round <= request_.rounds; ++round)
    for (const KernelItem& item : items) out.push_back(kernel_job(item, round, roofline));
  return out;
}

std::vector<CalibrationJob> DeviceSurvey::repeats(const Calibration& calibration, const Roofline& roofline) {
  std::vector<CalibrationJob> out;
  for (const KernelItem& item : items(roofline))
    if (noisy(calibration, item)) out.push_back(repeated_kernel(item, roofline));
  for (const LinkKind kind : link_kinds())
    for (const cost::MeasuredLink& link : calibration.links)
      for (const cost::LinkPoint& point : link.points)
        if (link.kind == kind && link.ranks == ranks_of(kind) && noisy(point))
          out.push_back(repeated_link(kind, point.bytes, roofline));
  return out;
}

SamplingRule divided(SamplingRule rule, std::size_t rounds) {
  const auto among = static_cast<std::int64_t>(rounds);
  rule.least = std::max(kLeastPerRound, (rule.least + among - 1) / among);
  rule.enough = rule.enough / static_cast<double>(rounds);
  rule.most = rule.most / static_cast<double>(rounds);
  return rule;
}

SamplingRule rule_within(core::Seconds budget, const SamplingRule& full,
                         const std::function<core::Seconds(const SamplingRule&)>& estimate) {
  SamplingRule rule = full;
  for (const double share : {1.0, 0.5, 0.2, 0.1, 0.04}) {
    rule.enough = full.enough * share;
    if (estimate(rule) <= budget) break;
  }
  return rule;
}

void refresh_model_sums(Calibration& calibration, const std::vector<NamedModel>& models) {
  for (cost::ModelSum& sum : calibration.models)
    for (const NamedModel& model : models) {
      if (!same_model(sum, model, sum.precision)) continue;
      if (const auto sums = kernel_sums(calibration, model.graph, sum.samples, sum.precision))
        sum.cold_sum = sums->cold, sum.back_to_back_sum = sums->back_to_back;
    }
}

}  // namespace penstock::calibrate
