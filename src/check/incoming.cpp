// Time in which a pass receives its input from the other devices of its group.

#include <algorithm>
#include <set>

#include "evidence.hpp"

namespace penstock::check {
namespace {

/// Bytes per second over all the cables that end at a device and carry messages of its group.
double ingress(const cluster::Cluster& cluster, const std::vector<DeviceId>& group, DeviceId device) {
  std::set<std::size_t> cables;
  for (const DeviceId from : group)
    if (from != device) cables.insert(cluster.route(from, device).links.back());
  double sum = 0;
  for (const std::size_t cable : cables) sum += cluster.links()[cable].bandwidth.value();
  return sum;
}

}  // namespace

void check_incoming(TraceEvidence& evidence, StageId id, const std::vector<DeviceId>& group, double bytes,
                    std::string_view what) {
  const plan::Stage& stage = evidence.plan.stages[id.index()];
  for (std::size_t i = 0; i < stage.devices.size(); ++i) {
    const DeviceId device = stage.devices[i];
    if (std::ranges::find(group, device) == group.end() || bytes <= 0) continue;
    const double least = bytes * static_cast<double>(evidence.samples(id, i)) /
                         ingress(evidence.problem.cluster, group, device);
    for (const PassRun& ran : evidence.ran[device.index()])
      if (ran.span->stage == id && ran.span->kind == TaskKind::forward &&
          to_seconds(ran.span->end - ran.span->start).value() <
              least * evidence.filled_share(id, i, ran.span->micro_batch) * (1 - 1e-9) - 1e-12)
        return evidence.violation("device {}: the forward pass of stage {} ends before its {} could come in",
                                  device.index(), id.index(), what);
  }
}

}  // namespace penstock::check
