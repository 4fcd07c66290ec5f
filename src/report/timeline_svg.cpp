#include "penstock/report/timeline_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "timeline_parts.hpp"

namespace penstock::report {
namespace {

bool holds_memory(const trace::DeviceTrace& device) {
  const auto some = [](core::Bytes bytes) { return bytes.value() > 0; };
  return some(device.capacity) || std::any_of(device.fixed.begin(), device.fixed.end(), some) ||
         std::any_of(device.memory.begin(), device.memory.end(),
                     [&](const auto& point) { return some(point.activations) || some(point.buffers); });
}

/// Layout: many devices get thinner lanes; memory gets no room if there is no data.
TimelineLayout layout_for(int width, const std::vector<trace::DeviceTrace>& devices) {
  width = std::max(width, 900);
  TimelineLayout out{width, 16, 15, 9};
  if (devices.size() <= 16) out = {width, 20, 20, 12};
  if (devices.size() <= 8) out = {width, 24, 28, 16};
  if (std::none_of(devices.begin(), devices.end(), holds_memory)) out.memory = 0;
  return out;
}

/// With more devices, equal lanes are drawn once.
constexpr std::size_t kMostApart = 32;

/// Returns "device 3" or its own name; for several equal ones "8-15", or the first and the last.
std::string name_of(const std::vector<std::size_t>& devices, const std::vector<std::string>& names) {
  if (!names.empty())
    return names[devices.front()] + (devices.size() == 1 ? "" : " … " + names[devices.back()]);
  if (devices.size() == 1) return fmt::format("device {}", devices.front());
  const bool row = devices.back() - devices.front() + 1 == devices.size();
  return fmt::format("{}{}{}", devices.front(), row ? "-" : " … ", devices.back());
}

std::vector<DrawnLanes> drawn_lanes(const TimelineScene& scene, const std::vector<DeviceLane>& lanes) {
  std::vector<DrawnLanes> out;
  std::map<std::string, std::size_t> seen;  // by the drawn content
  for (std::size_t d = 0; d < lanes.size(); ++d) {
    const bool alone = lanes.size() <= kMostApart;
    const auto [found, fresh] =
        seen.emplace(alone ? std::to_string(d) : lane_picture(scene, {0, {d}, ""}, lanes[d]), out.size());
    if (fresh) out.push_back({out.size(), {}, ""});
    out[found->second].devices.push_back(d);
  }
  for (DrawnLanes& lane : out) lane.name = name_of(lane.devices, scene.style.names);
  return out;
}

/// Blue and orange are distinguishable for every kind of colour vision, and in grey.
constexpr std::string_view kStyle = R"(<style>
text{font:11px 'DejaVu Sans',Verdana,Helvetica,Arial,sans-serif;fill:#222}
.title{font-size:17px;font-weight:bold}.summary{font-size:13px}.name{font-weight:bold}.quiet{fill:#666}
.middle{text-anchor:middle}.over{fill:#D55E00;font-weight:bold}
.forward{stroke:#0072B2}.recompute{stroke:#56B4E9}.backward{stroke:#E69F00}.all_reduce{stroke:#CC79A7}
.input_gradient{stroke:#D55E00}.weight_gradient{stroke:#F0E442}.step{stroke:#999}
.foot{stroke:#FFF}.sent{stroke:#009E73}.received{stroke:#56B4E9}.idle{stroke:#EEE}.grid{stroke:#AAA;stroke-width:.5}
.number text{font-size:10px;text-anchor:middle;fill:#FFF}.number .dark{fill:#000}
.fixed{fill:#D2D2D2}.moving{fill:#999}.peak{fill:#D55E00}
.broke{stroke:#D55E00;stroke-width:2}
.capacity{stroke:#555;stroke-width:.8;stroke-dasharray:5 3}
</style>
)";

}  // namespace

std::string to_svg(const trace::Trace& trace, const TimelineStyle& style) {
  const TimelineLayout layout = layout_for(style.width, trace.devices);
  const LineScale time{static_cast<double>(length(trace).value()), layout.plot() * kPixel};
  TimelineScene scene{trace, style, trace::summarise(trace), layout, time, trace::out_of_memory(trace)};
  const std::vector<DeviceLane> all = lanes(trace, time);
  const std::vector<DrawnLanes> drawn = drawn_lanes(scene, all);
  scene.lanes = drawn.size();
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n{2}"
      "<rect width=\"100%\" height=\"100%\" fill=\"#FFF\"/>\n",
      layout.width, layout.top(drawn.size()) + TimelineLayout::kBottom, kStyle);
  out += heading(scene) + legend(scene) + time_axis(scene);
  for (const DrawnLanes& lane : drawn) out += lane_picture(scene, lane, all[lane.devices.front()]);
  return out + "</svg>\n";
}

}  // namespace penstock::report
