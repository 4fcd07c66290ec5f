#include "validate_against.hpp"

#include <fmt/format.h>

#include <atomic>

#include "budget.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/experiment/against.hpp"
#include "penstock/report/published_scatter.hpp"
#include "penstock/report/table.hpp"

namespace penstock::cli {
namespace {

constexpr const char* kAsStated = "clusters as stated";

const char* title(experiment::Constant what) {
  constexpr const char* kTitles[] = {"and one host constant per cluster",
                                     "and one kernel constant per cluster",
                                     "and one memory constant per cluster"};
  return kTitles[static_cast<std::size_t>(what)];
}

/// Of a ground on which times differ.
std::optional<std::string> picture(experiment::Constant what) {
  if (what == experiment::Constant::reserved_memory) return std::nullopt;
  return what == experiment::Constant::host_launch ? "host.svg" : "kernels.svg";
}

std::string constant_text(experiment::Constant what, const experiment::FittedConstant& constant) {
  switch (what) {
    case experiment::Constant::host_launch:
      return fmt::format("host_launch of {}: {}", constant.cluster,
                         core::show(core::Seconds(constant.value)));
    case experiment::Constant::kernel_slowdown:
      return fmt::format("kernels of {}: {:.4g} times as long", constant.cluster, constant.value);
    default:
      return fmt::format("reserved on {}: {:.2f} GiB", constant.cluster, constant.value);
  }
}

/// "host_launch of a100: 7.31 us, fitted on 43 runs left out here", cluster by cluster.
std::string constants_text(const experiment::FittedRung& rung) {
  std::string out;
  for (const experiment::FittedConstant& c : rung.constants)
    out += fmt::format("{}, fitted on {} run{} left out here\n", constant_text(rung.what, c), c.runs,
                       c.runs == 1 ? "" : "s");
  return out;
}

std::string left_out_text(const experiment::Against& found) {
  std::string out;
  for (const auto& [what, runs] : found.left_out)
    out += fmt::format("{} run{} left out: {}\n", runs, runs == 1 ? "" : "s", what);
  return out;
}

std::string coverage_text(const char* of, const std::vector<experiment::SetCoverage>& coverage,
                          const report::Screen& screen) {
  if (coverage.empty()) return "";
  std::vector<report::Column> columns = {{of}};
  for (std::size_t o = 0; o < cost::kOrigins; ++o)
    columns.push_back({std::string(name(static_cast<cost::Origin>(o))), report::Align::right});
  report::Table table(columns);
  for (const experiment::SetCoverage& set : coverage) {
    std::vector<std::string> cells = {set.set};
    for (const double share : set.share) cells.push_back(core::show_share(share));
    table.add(std::move(cells));
  }
  return table.text(screen) + "\n";
}

std::string text(const experiment::Against& found, const report::Screen& screen) {
  std::string out = coverage_text("compute time of", found.coverage, screen) +
                    coverage_text("collectives of", found.collectives, screen) +
                    fmt::format("Costs: {}\n", kAsStated) +
                    report::published_errors_table(report::published_errors(found.as_stated), screen);
  for (const experiment::FittedRung& rung : found.fitted)
    out += fmt::format("\nCosts: {}\n", title(rung.what)) + constants_text(rung) +
           report::published_errors_table(report::published_errors(rung.predictions), screen);
  const std::string left_out = left_out_text(found);
  return left_out.empty() ? out : out + "\n" + left_out;
}

report::Rungs rungs(const experiment::Against& found) {
  report::Rungs out = {{kAsStated, found.as_stated}};
  for (const experiment::FittedRung& rung : found.fitted)
    out.emplace_back(title(rung.what), rung.predictions);
  return out;
}

/// A line per tenth of the work.
class AgainstProgress {
 public:
  void operator()(std::size_t done, std::size_t total) {
    if (done * 10 / total != (done - 1) * 10 / total)
      say(fmt::format("{} % predicted\n", done * 100 / total));
  }
};

}  // namespace

void AgainstFlags::add(CLI::App& command) {
  auto* against =
      command
          .add_option("--against", runs,
                      "predict, instead of replaying an experiment, training runs that others measured; "
                      "docs/formats/published_runs.md describes the form")
          ->type_name("CSV");
  command
      .add_option("--clusters", clusters, "with --against: the folder whose NAME.yaml is the cluster NAME")
      ->needs(against)
      ->capture_default_str()
      ->type_name("DIR");
}

core::ExitCode run_against(const AgainstFlags& flags, const CostFlags& costs, const std::string& folder,
                           const std::string& budget, const report::Screen& screen, const Session& session) {
  const auto runs = report::parse_published_runs(core::read_file(flags.runs), flags.runs);
  const Budget limit(budget, session.stop());
  experiment::AgainstOptions options;
  options.clusters = flags.clusters;
  options.allow_foreign = costs.allow_foreign;
  options.progress = AgainstProgress();
  const auto model = experiment::load_costs(costs.file);
  const experiment::Against found = experiment::against(runs, *model, options, limit.stop());
  print_page(text(found, screen), screen);
  if (!folder.empty()) {
    core::write_file(folder + "/errors.csv", report::published_errors_csv(rungs(found)));
    core::write_file(folder + "/predictions.csv", report::predictions_csv(rungs(found)));
    core::write_file(folder + "/table.txt", text(found, {}));
    core::write_file(folder + "/stated.svg", report::published_scatter_svg(found.as_stated, kAsStated));
    for (const experiment::FittedRung& rung : found.fitted)
      if (const auto file = picture(rung.what))
        core::write_file(folder + "/" + *file,
                         report::published_scatter_svg(rung.predictions,
                                                       fmt::format("{}, {}", kAsStated, title(rung.what))));
    core::write_file(folder + "/provenance.json", report::to_json(provenance(session)));
    say(fmt::format("\nresults in {}/ (errors.csv, predictions.csv, table.txt, *.svg, provenance.json)\n",
                    folder));
  }
  return core::ExitCode::done;
}

}  // namespace penstock::cli
