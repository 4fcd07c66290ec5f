// penstock devices: what this machine measures and replays on.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "command.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/report/table.hpp"

namespace penstock::cli {
namespace {

using Json = nlohmann::ordered_json;

struct DevicesFlags {
  bool json = false;
  WideFlag wide;
};

/// "oneDNN 2.6.3, 2 threads": details that a backend reports beside what the device is.
std::string details_of(const std::vector<std::pair<std::string, std::string>>& identity) {
  std::string out;
  for (const auto& [key, value] : identity)
    if (key != "device") out += fmt::format("{}{} {}", out.empty() ? "" : ", ", key, value);
  return out;
}

std::vector<std::string> numbers_of(const kernels::Backend& backend) {
  using kernels::Precision;
  std::vector<std::string> out;
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16})
    if (backend.supports(precision)) out.emplace_back(kernels::name(precision));
  return out;
}

/// Reason why there is no device of a kind that this program supports; empty where there is one.
std::string missing_gpu(const std::vector<std::string>& present) {
  for (const std::string& name : present)
    if (name.starts_with("cuda")) return "";
  try {
    (void)kernels::open_device("cuda:0");
  } catch (const core::Error& e) {
    return e.what();
  }
  return "";
}

core::ExitCode run_devices(const DevicesFlags& flags) {
  const auto present = kernels::devices_present();
  Json all = Json::array();
  report::Table table({{"device"}, {"what it is"}, {"numbers"}, {.title = "measured with", .folds = true}});
  for (const std::string& name : present) {
    Json about = {{"name", name}};
    try {
      const auto backend = kernels::open_device(name);
      const auto identity = backend->identity();
      std::string what;
      for (const auto& [key, value] : identity) {
        about[key] = value;
        if (key == "device") what = value;
      }
      about["numbers"] = numbers_of(*backend);
      table.add({name, what, fmt::format("{}", fmt::join(numbers_of(*backend), ", ")), details_of(identity)});
    } catch (const core::Error& e) {  // one that is there and busy does not hide the others
      about["fault"] = e.what();
      table.add({name, "-", "-", e.what()});
    }
    all.push_back(about);
  }
  const std::string why = missing_gpu(present);
  if (flags.json) {
    if (!why.empty()) all.push_back({{"name", "cuda:0"}, {"fault", why}});
    print(all.dump(2) + "\n");
    return core::ExitCode::done;
  }
  const report::ScreenLimits screen = flags.wide.screen();
  std::string text = table.text(screen);
  if (!why.empty()) text += "\nno GPU: " + why + "\n";
  print_page(text + "\n--device takes these names; cuda:0/4 is one of four equal partitions of cuda:0\n",
             screen);
  return core::ExitCode::done;
}

}  // namespace

void add_devices(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "devices", "List the devices of this machine for calibrate and replay, and why a GPU is missing.");
  command->footer(
      "Examples:\n"
      "  penstock devices\n"
      "  penstock devices --json");
  auto flags = std::make_shared<DevicesFlags>();
  add_json(*command, flags->json);
  flags->wide.add(*command);
  command->callback(
      [flags, &action] { action = [flags](const CommandContext&) { return run_devices(*flags); }; });
}

}  // namespace penstock::cli
