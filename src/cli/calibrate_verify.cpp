// penstock calibrate verify: times a few points again.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "calibrate_command.hpp"
#include "penstock/calibrate/verify.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/report/difference.hpp"
#include "penstock/report/table.hpp"

namespace penstock::cli {
namespace {

using Json = nlohmann::ordered_json;
using calibrate::KernelRecheck;
using report::Align;

struct CalibrateVerifyFlags {
  std::string file;
  std::size_t points = 12;
  bool json = false;
  WideFlag wide;
};

std::string device_of(const kernels::Backend& backend) {
  for (const auto& [key, value] : backend.identity())
    if (key == "device") return value;
  return "unknown";
}

std::string shape_of(const cost::KernelKey& key) {
  std::string out;
  for (const auto& [extent, value] : key.shape)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", extent, value);
  return out;
}

std::string table(const std::vector<KernelRecheck>& points, const report::ScreenLimits& screen) {
  report::Table out({{"kind"},
                     {.title = "shape", .folds = true},
                     {"pass"},
                     {"samples", Align::right},
                     {"before", Align::right, 1},
                     {"now", Align::right, 2},
                     {"change", Align::right},
                     {""}});
  for (const KernelRecheck& p : points)
    out.add({std::string(graph::name(p.key.kind)), shape_of(p.key), std::string(name(p.pass)),
             std::to_string(p.samples), core::show(p.before.median), core::show(p.now.median),
             report::difference(p.change()), p.off() ? "off" : ""});
  return out.text(screen);
}

std::string text(const std::vector<KernelRecheck>& points, const report::ScreenLimits& screen) {
  return fmt::format(
      "{}\n{}: {} of {} points are off by more than a tenth\n", table(points, screen),
      calibrate::drifted(points) ? "drifted" : "not drifted",
      std::count_if(points.begin(), points.end(), [](const KernelRecheck& p) { return p.off(); }),
      points.size());
}

std::string json(const std::vector<KernelRecheck>& points) {
  Json rows = Json::array();
  for (const KernelRecheck& p : points) {
    Json shape = Json::object();
    for (const auto& [extent, value] : p.key.shape) shape[extent] = value;
    rows.push_back({{"kind", graph::name(p.key.kind)},
                    {"shape", shape},
                    {"pass", name(p.pass)},
                    {"samples", p.samples},
                    {"before_s", p.before.median.value()},
                    {"now_s", p.now.median.value()},
                    {"off", p.off()}});
  }
  return Json{{"drifted", calibrate::drifted(points)}, {"points", rows}}.dump(2) + "\n";
}

core::ExitCode run(const CalibrateVerifyFlags& flags, const CommandContext& session) {
  const cost::Calibration calibration = cost::load_calibration(flags.file);
  const cost::MeasurementIdentity& id = calibration.identity;
  const auto backend = kernels::open_device(id.backend, id.threads);
  if (device_of(*backend) != id.device)
    throw core::BadInput({flags.file, 0, "identity"},
                         fmt::format("measured on {}; this is {}", id.device, device_of(*backend)));
  std::vector<KernelRecheck> points = calibrate::choose_points(calibration, flags.points);
  if (points.empty()) throw core::BadInput({flags.file, 0, "kernels"}, "there is nothing to time again");
  const auto stream = backend->make_stream();
  const auto clock = calibrate::open_clock(id.backend);
  calibrate::Stopwatch stopwatch(*stream, *clock, {}, session.stop());
  calibrate::recheck(points, *backend, *stream, stopwatch);
  const report::ScreenLimits screen = flags.wide.screen();
  flags.json ? print(json(points)) : print_page(text(points, screen), screen);
  return calibrate::drifted(points) ? core::ExitCode::drifted : core::ExitCode::done;
}

}  // namespace

void add_calibrate_verify(CLI::App& calibrate, Action& action) {
  auto* command = calibrate.add_subcommand(
      "verify", "Time a few points of a calibration again: exit code 22 when the device has drifted.");
  command->footer(
      "A point is off when its time changed by more than a tenth, and not by noise; the device has drifted "
      "when more than\n"
      "a quarter of the points are off.\n\n"
      "JSON is one object; every key is always there:\n"
      "  drifted\n"
      "  points   [{kind, shape, pass, samples, before_s, now_s, off}]\n\n"
      "Example:\n"
      "  penstock calibrate verify host.yaml --points 20");
  auto flags = std::make_shared<CalibrateVerifyFlags>();
  command->add_option("CALIBRATION", flags->file, "the calibration")->required()->type_name("FILE");
  command
      ->add_option("--points", flags->points,
                   "number of points, evenly spaced from the shortest to the longest")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000).description(""))
      ->type_name("N");
  add_json(*command, flags->json);
  flags->wide.add(*command);
  command->callback(
      [flags, &action] { action = [flags](const CommandContext& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
