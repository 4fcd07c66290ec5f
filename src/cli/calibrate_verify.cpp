// penstock calibrate verify: times a few points again.
#include <fmt/format.h>

#include "calibrate_command.hpp"
#include "penstock/calibrate/verify.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/report/table.hpp"

namespace penstock::cli {
namespace {

using calibrate::Recheck;
using report::Align;

struct Flags {
  std::string file;
  std::size_t points = 12;
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

std::string table(const std::vector<Recheck>& points) {
  report::Table out({{"kind"},
                     {"shape"},
                     {"pass"},
                     {"samples", Align::right},
                     {"before", Align::right},
                     {"now", Align::right},
                     {"change", Align::right},
                     {""}});
  for (const Recheck& p : points)
    out.add({std::string(graph::name(p.key.kind)), shape_of(p.key), std::string(name(p.pass)),
             std::to_string(p.samples), core::show(p.before.median), core::show(p.now.median),
             fmt::format("{:+.1f} %", p.change() * 100), p.off() ? "off" : ""});
  return out.text();
}

core::ExitCode run(const Flags& flags, const Session& session) {
  const cost::Calibration calibration = cost::load_calibration(flags.file);
  const cost::Identity& id = calibration.identity;
  const auto backend = kernels::open_device(id.backend, id.threads);
  if (device_of(*backend) != id.device)
    throw core::BadInput({flags.file, 0, "identity"},
                         fmt::format("measured on {}; this is {}", id.device, device_of(*backend)));
  std::vector<Recheck> points = calibrate::choose_points(calibration, flags.points);
  if (points.empty()) throw core::BadInput({flags.file, 0, "kernels"}, "there is nothing to time again");
  const auto stream = backend->make_stream();
  const auto clock = calibrate::open_clock(id.backend);
  calibrate::Stopwatch stopwatch(*stream, *clock, {}, session.stop());
  calibrate::recheck(points, *backend, *stream, stopwatch);
  const bool drifted = calibrate::drifted(points);
  fmt::print("{}\n{}: {} of {} points are off by more than a tenth\n", table(points),
             drifted ? "drifted" : "not drifted",
             std::count_if(points.begin(), points.end(), [](const Recheck& p) { return p.off(); }),
             points.size());
  return drifted ? core::ExitCode::drifted : core::ExitCode::done;
}

}  // namespace

void add_calibrate_verify(CLI::App& calibrate, Action& action) {
  auto* command = calibrate.add_subcommand(
      "verify", "Time a few points of a calibration again: exit code 22 when the device has drifted.");
  auto flags = std::make_shared<Flags>();
  command->add_option("FILE", flags->file, "the calibration")->required()->type_name("");
  command->add_option("--points", flags->points, "how many, evenly spaced from the shortest to the longest")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000).description(""))
      ->type_name("N");
  command->callback([flags, &action] { action = [flags](const Session& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
