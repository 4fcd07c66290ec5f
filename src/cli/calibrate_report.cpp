// penstock calibrate report: a calibration file for people.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibrate_command.hpp"
#include "calibrate_page.hpp"
#include "calibration_json.hpp"
#include "penstock/calibrate/doubts.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/cost/cold_share.hpp"
#include "penstock/cost/crowding.hpp"
#include "penstock/cost/leave_one_out.hpp"
#include "penstock/report/difference.hpp"
#include "penstock/report/table.hpp"

namespace penstock::cli {
namespace {

using core::show;
using cost::Calibration;
using report::Align;
using report::Table;

std::string identity(const Calibration& c) {
  const cost::MeasurementIdentity& id = c.identity;
  std::string out =
      fmt::format("{} ({}), {}, {} threads, load {:.2f}\n{}, commit {}: {}\n", id.device, id.backend,
                  show(id.memory), id.threads, id.load, id.date, id.commit, id.command);
  for (const auto& [key, value] : id.details) out += fmt::format("{}: {}\n", key, value);
  return out;
}

std::string ceilings(const Calibration& c) {
  std::string out = fmt::format("\nlaunch overhead {}{}; copy {:.4g} GB/s", show(c.launch_overhead),
                                c.graph_launch ? fmt::format(", {} in a graph", show(*c.graph_launch)) : "",
                                c.ceilings.copy.value() / 1e9);
  if (const double rate = c.ceilings.add.value(); rate > 0)
    out += fmt::format("; add {:.4g} GB/s", rate / 1e9);
  if (const double rate = c.ceilings.update.value(); rate > 0)
    out += fmt::format("; update {:.4g} GB/s", rate / 1e9);
  for (std::size_t i = 0; i < cluster::kPrecisions; ++i)
    if (const double rate = c.ceilings.matmul[i].value(); rate > 0)
      out += fmt::format("; {} matmul {:.4g} TFLOP/s", name(static_cast<cluster::Precision>(i)), rate / 1e12);
  return out + "\n";
}

std::string kernels(const Calibration& c) {
  std::size_t points = 0;
  for (const auto& kernel : c.kernels) points += kernel.points.size();
  return fmt::format("{} kernels, {} points; estimates are {} of the way from back-to-back to cold times\n",
                     c.kernels.size(), points, core::show_share(cost::cold_share(c.models)));
}

std::string errors(const Calibration& c, const report::ScreenLimits& screen) {
  const auto rows = c.leave_one_out.empty() ? cost::leave_one_out(c) : c.leave_one_out;
  if (rows.empty()) return "";
  const Align right = Align::right;
  Table table({{"kind"}, {"left out"}, {"points", right}, {"median error", right}, {"p90", right}});
  for (const auto& row : rows)
    table.add({std::string(name(row.kind)), std::string(name(row.fold)), std::to_string(row.count),
               core::show_share(row.median), core::show_share(row.p90)});
  return fmt::format("\nleave-one-out{}\n{}",
                     c.leave_one_out.empty() ? ", computed now: the file has no table" : "",
                     table.text(screen));
}

std::string links(const Calibration& c, const report::ScreenLimits& screen) {
  if (c.links.empty()) return "";
  const Align right = Align::right;
  Table table(
      {{"link"}, {"ranks", right}, {"from", right}, {"to", right}, {"latency", right}, {"bandwidth", right}});
  for (const auto& link : c.links)
    for (const auto& segment : link.segments)
      table.add(
          {std::string(name(link.kind)), std::to_string(link.ranks), show(segment.from), show(segment.to),
           fmt::format("{:.3g} us", segment.latency.value * 1e6),
           segment.per_byte.value > 0 ? fmt::format("{:.3g} GB/s", 1e-9 / segment.per_byte.value) : "-"});
  return "\n" + table.text(screen);
}

std::string tests(const Calibration& c) {
  std::string out;
  for (const auto& test : c.sharing)
    out += fmt::format("two at once, {} of {}: {:.2f} times as long (fair sharing: 2)\n", name(test.kind),
                       show(test.bytes), test.together.median / test.alone.median);
  for (const auto& test : c.overlap)
    out += fmt::format("side by side, computing takes {:.2f} times as long, copying {:.2f} times\n",
                       test.compute_with.median / test.compute_alone.median,
                       test.copy_with.median / test.copy_alone.median);
  return out.empty() ? "" : "\n" + out;
}

/// Measured times of kernels under crowding, beside the times that a simulation would give them.
std::string crowding(const Calibration& c, const report::ScreenLimits& screen) {
  if (c.crowding.empty()) return "";
  const Align right = Align::right;
  Table table({{"kernel"},
               {"memory share", right},
               {"beside"},
               {"neighbours", right},
               {"alone", right},
               {"times as long", right},
               {"interval", right, 1},
               {"simulated", right}});
  const cost::CrowdingSlowdown rule = cost::crowding(c.crowding);
  for (const auto& test : c.crowding)
    table.add({test.kernel, fmt::format("{:.2f}", test.memory_share), test.beside,
               std::to_string(test.neighbours), show(test.alone.median),
               fmt::format("{:.3f}", test.slowdown.value),
               fmt::format("{:.3f} to {:.3f}", test.slowdown.low, test.slowdown.high),
               fmt::format("{:.3f}", cost::predicted_slowdown(rule, test))});
  return "\nbeside neighbours that compute\n" + table.text(screen);
}

std::string words(const cost::ModelSum& run) {
  std::string out = run.model;
  for (const auto& [key, value] : run.parameters) out += " " + key + "=" + value;
  return out;
}

/// Each whole run, and the sums of its kernels beside it; the last with the share of the other models.
std::string models(const Calibration& c, const report::ScreenLimits& screen) {
  if (c.models.empty()) return "";
  const Align right = Align::right;
  Table table({{.title = "model", .folds = true},
               {"samples", right},
               {"number", Align::left, 1},
               {"whole run", right},
               {"sum of kernels, cold", right},
               {"back to back", right, 2},
               {"estimated", right},
               {"by other models", right, 3}});
  const double share = cost::cold_share(c.models);
  const auto held_out = cost::held_out_sums(c.models);
  for (std::size_t i = 0; i < c.models.size(); ++i) {
    const cost::ModelSum& run = c.models[i];
    const auto beside = [&](core::Seconds sum) {
      return fmt::format("{} ({})", show(sum), report::difference(sum / run.whole.median - 1));
    };
    table.add({words(run), std::to_string(run.samples), std::string(name(run.precision)),
               show(run.whole.median), beside(run.cold_sum), beside(run.back_to_back_sum),
               beside(cost::at_share(run.cold_sum, run.back_to_back_sum, share)), beside(held_out[i].sum)});
  }
  return "\n" + table.text(screen);
}

struct CalibrateReportFlags {
  std::string file, page;
  bool json = false;
  WideFlag wide;
};

std::string warnings(const Calibration& c) {
  std::string out;
  for (const std::string& doubt : calibrate::doubts(c)) out += fmt::format("warning: {}\n", doubt);
  return out;
}

std::string text(const Calibration& c, const report::ScreenLimits& screen) {
  return identity(c) + warnings(c) + ceilings(c) + kernels(c) + errors(c, screen) + links(c, screen) +
         tests(c) + crowding(c, screen) + models(c, screen);
}

PageTexts page_texts(const Calibration& c) {
  const auto without_line = [](const std::string& text) {
    return text.substr(std::min<std::size_t>(text.size(), 1));
  };
  return {{"Where and how", identity(c)},
          {"Warnings", warnings(c)},
          {"Ceilings and kernels", without_line(ceilings(c)) + kernels(c)},
          {"Residuals", without_line(errors(c, {}))},
          {"Links", without_line(links(c, {}))},
          {"Two at once", without_line(tests(c))},
          {"Beside neighbours", without_line(crowding(c, {}))},
          {"Whole models", without_line(models(c, {}))}};
}

core::ExitCode report(const CalibrateReportFlags& flags) {
  Calibration c = cost::load_calibration(flags.file);
  calibrate::refit_impossible(c);
  const report::ScreenLimits screen = flags.wide.screen();
  if (!flags.page.empty()) core::write_file(flags.page, calibration_page(c, page_texts(c)));
  flags.json ? print(calibration_json(c)) : print_page(text(c, screen), screen);
  return core::ExitCode::done;
}

constexpr const char* kReportFooter =
    "Prints where and how it was measured, the two ceilings, the error of predicting each point from the "
    "others\n"
    "(one batch size left out, or a whole shape; inside the others or at their frontier), links with what "
    "was fitted,\n"
    "and whole models against the sums of their kernels: estimates lie between back-to-back and cold times, "
    "by a share\n"
    "fitted to whole models. Warnings tell of a loaded machine, noisy timings and poor predictions.\n\n"
    "In JSON names end in their unit, and a rate that was not measured is 0.\n\n"
    "JSON is one object; every key is always there:\n"
    "  identity          {device, backend, memory_bytes, threads, load, date, commit, command, details}\n"
    "  warnings\n"
    "  launch_overhead_s\n"
    "  graph_launch_s    of a launch in a CUDA graph, or null\n"
    "  ceilings          {copy_bytes_per_s, add_bytes_per_s, update_bytes_per_s, matmul_flop_per_s: {number: "
    "rate}}\n"
    "  kernels           {count, points, cold_share}\n"
    "  leave_one_out     {from_file, rows: [{kind, left_out, points, median_error, p90_error}]}\n"
    "  links             [{kind, ranks, segments: [{from_bytes, to_bytes, latency_s, bytes_per_s or "
    "null}]}]\n"
    "  sharing           [{kind, bytes, alone_s, together_s}]\n"
    "  overlap           [{compute_alone_s, compute_with_s, copy_alone_s, copy_with_s}]\n"
    "  crowding          [{kernel, memory_share, beside, neighbours, alone_s, crowded_s, slowdown, "
    "slowdown_low,\n"
    "                    slowdown_high}]\n"
    "  models            [{model, parameters, samples, number, whole_s, cold_sum_s, back_to_back_sum_s}]";

}  // namespace

void add_calibrate_report(CLI::App& calibrate, Action& action) {
  auto* command = calibrate.add_subcommand(
      "report", "Print the contents of a calibration: ceilings, kernels, messages, errors.");
  command->footer(kReportFooter);
  auto flags = std::make_shared<CalibrateReportFlags>();
  command->add_option("CALIBRATION", flags->file, "the calibration")->required()->type_name("FILE");
  command
      ->add_option("--page", flags->page,
                   "also write an HTML page: these tables, and pictures of kernels, messages and models")
      ->type_name("FILE");
  add_json(*command, flags->json);
  flags->wide.add(*command);
  command->callback([flags, &action] { action = [flags](const CommandContext&) { return report(*flags); }; });
}

}  // namespace penstock::cli
