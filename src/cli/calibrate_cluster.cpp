// penstock calibrate cluster: a cluster file of measured devices.
#include "calibrate_command.hpp"
#include "penstock/calibrate/as_cluster.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/quantity_text.hpp"

namespace penstock::cli {
namespace {

struct CalibrateClusterFlags {
  std::string file, bandwidth, latency, output, launches = "eager";
  int devices = 0;
};

core::Bandwidth bandwidth(const std::string& text) {
  const auto value = core::parse_bandwidth(text);
  if (!value || value->value() < 1)
    throw core::Error(core::ExitCode::usage, "--bandwidth: expected a bandwidth such as 10GB/s");
  return *value;
}

core::Seconds latency(const std::string& text) {
  const auto value = core::parse_seconds(text);
  if (!value) throw core::Error(core::ExitCode::usage, "--latency: expected a time such as 5us");
  return *value;
}

/// Link between devices: values of the flags; the rest as measured. A single device has no use for it.
cost::AffineTime link(const CalibrateClusterFlags& flags, const cost::Calibration& calibration) {
  const auto measured = calibrate::peer_line(calibration);
  if (flags.devices > 1 && !measured && (flags.bandwidth.empty() || flags.latency.empty()))
    throw core::BadInput({flags.file, 0, "links"},
                         "no copies between devices were measured: give --bandwidth and --latency");
  cost::AffineTime out = measured.value_or(cost::AffineTime{});
  if (!flags.bandwidth.empty()) out.per_byte = 1 / bandwidth(flags.bandwidth).value();
  if (!flags.latency.empty()) out.latency = latency(flags.latency).value();
  return out;
}

calibrate::LaunchMethod launching(const std::string& name) {
  using calibrate::LaunchMethod;
  return name == "eager" ? LaunchMethod::eager : name == "graph" ? LaunchMethod::graph : LaunchMethod::free;
}

core::ExitCode run(const CalibrateClusterFlags& flags) {
  const cost::Calibration calibration = cost::load_calibration(flags.file);
  core::write_file(flags.output, calibrate::cluster_yaml(calibration, flags.devices, link(flags, calibration),
                                                         launching(flags.launches)));
  return core::ExitCode::done;
}

}  // namespace

void add_calibrate_cluster(CLI::App& calibrate, Action& action) {
  auto* command = calibrate.add_subcommand(
      "cluster", "Write a cluster file of the measured device, several of it side by side.");
  command->footer(
      "The devices divide the measured memory among them. Messages take the time of the measured copies "
      "between\n"
      "devices, one line through all sizes, unless bandwidth or latency is given. A pass of a GPU lasts no "
      "shorter than\n"
      "its launches as they were measured (host_launch), eagerly or in a graph.\n\n"
      "Example:\n"
      "  penstock calibrate cluster host.yaml --devices 4 -o four.yaml\n"
      "  penstock plan --model bert --cluster four.yaml --costs host.yaml --mini-batch 16");
  auto flags = std::make_shared<CalibrateClusterFlags>();
  command->add_option("CALIBRATION", flags->file, "the calibration")->required()->type_name("FILE");
  command->add_option("--devices", flags->devices, "number of devices")
      ->required()
      ->check(CLI::Range(1, 4096).description(""))
      ->type_name("N");
  command
      ->add_option("--bandwidth", flags->bandwidth,
                   "bandwidth of the link of each of several devices, each way")
      ->type_name("B");
  command->add_option("--latency", flags->latency, "latency of a message between them")->type_name("T");
  command
      ->add_option("--launches", flags->launches,
                   "how hosts launch kernels on GPUs: eager, graph, or free (at no cost); no effect on hosts")
      ->capture_default_str()
      ->type_name("HOW")
      ->check(one_of({"eager", "graph", "free"}));
  command->add_option("-o,--output", flags->output, "the cluster file")->required()->type_name("FILE");
  command->callback([flags, &action] { action = [flags](const CommandContext&) { return run(*flags); }; });
}

}  // namespace penstock::cli
