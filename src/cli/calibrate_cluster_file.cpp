#include "calibrate_cluster_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "penstock/calibrate/as_cluster.hpp"
#include "penstock/core/files.hpp"

namespace penstock::cli {
namespace {

constexpr int kSamples = 16;  ///< of a device, in the command that is shown

/// True if a calibration may write the file: there is none, or a calibration wrote it.
bool is_ours(const std::string& file) {
  if (!std::filesystem::exists(file)) return true;
  const std::string text = core::read_file(file);
  return text.starts_with("# ") &&
         text.substr(0, text.find('\n')).find(" devices as measured ") != std::string::npos;
}

}  // namespace

std::string cluster_file_of(const std::string& calibration_file) {
  std::filesystem::path out(calibration_file);
  out.replace_extension();
  return out.string() + ".cluster.yaml";
}

std::string write_cluster_file(const cost::Calibration& calibration, const std::string& calibration_file,
                               int devices, const std::string& model) {
  const std::string file = cluster_file_of(calibration_file);
  if (!is_ours(file))
    return fmt::format("{} is a file of yours and stays; penstock calibrate cluster writes one elsewhere\n",
                       file);
  const auto line = calibrate::peer_line(calibration);
  const int count = line ? devices : 1;
  core::write_file(file, calibrate::cluster_yaml(calibration, count, line.value_or(cost::AffineTime{})));
  return fmt::format(
      "{}: a cluster of {}; penstock calibrate cluster {} makes others. Next:\n"
      "  penstock plan --model {} --cluster {} --costs {} --mini-batch {}\n",
      file, count == 1 ? "this device" : fmt::format("{} such devices", count), calibration_file, model, file,
      calibration_file, kSamples * count);
}

}  // namespace penstock::cli
