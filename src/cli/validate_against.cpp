#include "validate_against.hpp"

#include <fmt/format.h>

#include <atomic>

#include "budget.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/named_fault.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/experiment/against.hpp"
#include "penstock/report/published_scatter.hpp"
#include "penstock/report/table.hpp"

namespace penstock::cli {
namespace {

constexpr const char* kAsStated = "clusters as stated";

constexpr const char* kUnmeasured = "clusters as stated, not measured";
constexpr const char* kWithTime = "and one constant per cluster and set";
constexpr const char* kWithMemory = "and one memory constant per cluster and set";

std::string constant_text(const experiment::FittedConstant& c) {
  switch (c.what) {
    case experiment::ClusterConstant::host_launch:
      return fmt::format("host_launch of {} on {}: {}", c.set, c.cluster, core::show(core::Seconds(c.value)));
    case experiment::ClusterConstant::kernel_slowdown:
      return fmt::format("kernels of {} on {}: {:.4g} times as long", c.set, c.cluster, c.value);
    default:
      return fmt::format("reserved by {} on {}: {:.2f} GiB", c.set, c.cluster, c.value);
  }
}

/// ", 6.1 % off them (kernels: 24.2 %)": residual of a constant of time on the runs that it is fitted to.
std::string residual_text(const experiment::FittedConstant& c) {
  if (c.what == experiment::ClusterConstant::reserved_memory) return "";
  const char* other = c.what == experiment::ClusterConstant::host_launch ? "kernels" : "host_launch";
  return fmt::format(", {} off them", core::show_share(c.residual)) +
         (c.rejected ? fmt::format(" ({}: {})", other, core::show_share(*c.rejected)) : "");
}

/// A line for each constant.
std::string constants_text(const experiment::FittedRung& rung) {
  std::string out;
  for (const experiment::FittedConstant& c : rung.constants)
    out += fmt::format("{}, fitted on {} run{}{} left out here{}\n", constant_text(c), c.runs,
                       c.runs == 1 ? "" : "s", c.of_others ? " of other sets," : "", residual_text(c));
  return out;
}

std::string left_out_text(const experiment::PublishedComparison& found) {
  std::string out;
  for (const auto& [what, runs] : found.left_out)
    out += fmt::format("{} run{} left out: {}\n", runs, runs == 1 ? "" : "s", what);
  return out;
}

std::string coverage_text(const char* of, const std::vector<experiment::SetCoverage>& coverage,
                          const report::ScreenLimits& screen) {
  if (coverage.empty()) return "";
  std::vector<report::Column> columns = {{of}};
  for (std::size_t o = 0; o < cost::kOrigins; ++o)
    columns.push_back({std::string(name(static_cast<cost::TimeOrigin>(o))), report::Align::right});
  report::Table table(columns);
  for (const experiment::SetCoverage& set : coverage) {
    std::vector<std::string> cells = {set.set};
    for (const double share : set.share) cells.push_back(core::show_share(share));
    table.add(std::move(cells));
  }
  return table.text(screen) + "\n";
}

/// By title, those that have constants.
std::vector<std::pair<const char*, const experiment::FittedRung*>> fitted(
    const experiment::PublishedComparison& found) {
  std::vector<std::pair<const char*, const experiment::FittedRung*>> out = {{kWithTime, &found.time},
                                                                            {kWithMemory, &found.memory}};
  std::erase_if(out, [](const auto& rung) { return rung.second->constants.empty(); });
  return out;
}

std::string text(const experiment::PublishedComparison& found, const report::ScreenLimits& screen) {
  std::string out = coverage_text("compute time of", found.coverage, screen) +
                    coverage_text("collectives of", found.collectives, screen);
  if (!found.as_stated.empty())
    out += fmt::format("Costs: {}\n", kAsStated) +
           report::published_errors_table(report::published_errors(found.as_stated), screen);
  if (!found.unmeasured.empty())
    out += fmt::format("{}{} run{} without a measured time predicted (with -o DIR, in predictions.csv)\n",
                       out.empty() ? "" : "\n", found.unmeasured.size(),
                       found.unmeasured.size() == 1 ? "" : "s");
  for (const auto& [title, rung] : fitted(found))
    out += fmt::format("\nCosts: {}\n", title) + constants_text(*rung) +
           report::published_errors_table(report::published_errors(rung->predictions), screen);
  const std::string left_out = left_out_text(found);
  return left_out.empty() ? out : out + "\n" + left_out;
}

report::Rungs rungs(const experiment::PublishedComparison& found) {
  report::Rungs out = {{kAsStated, found.as_stated}};
  if (!found.unmeasured.empty()) out.emplace_back(kUnmeasured, found.unmeasured);
  for (const auto& [title, rung] : fitted(found)) out.emplace_back(title, rung->predictions);
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
                      "predict measured training runs from this table instead of replaying an experiment; "
                      "docs/formats/published_runs.md describes the format")
          ->type_name("CSV");
  command
      .add_option("--clusters", clusters,
                  "with --against: folder of cluster files; NAME.yaml is cluster NAME")
      ->needs(against)
      ->capture_default_str()
      ->type_name("DIR");
  command
      .add_option("--framework", framework,
                  "with --against: training framework of runs whose row names none; "
                  "default: from the cluster file, else megatron")
      ->needs(against)
      ->check(framework_name())
      ->type_name("NAME|TIME");
}

core::ExitCode run_against(const AgainstFlags& flags, const CostFlags& costs, const std::string& folder,
                           const std::string& budget, const report::ScreenLimits& screen,
                           const CommandContext& session) {
  const auto runs = report::parse_published_runs(core::read_file(flags.runs), flags.runs);
  const TimeBudget limit(budget, session.stop());
  experiment::AgainstOptions options;
  options.clusters = flags.clusters;
  options.framework = flags.framework;
  options.allow_foreign = costs.allow_foreign;
  options.progress = AgainstProgress();
  const auto model = experiment::load_costs(costs.file);
  const experiment::PublishedComparison found =
      core::naming(flags.runs, [&] { return experiment::against(runs, *model, options, limit.stop()); });
  for (const auto& [line, doubt] : found.doubts) warn(fmt::format("{}:{}: {}", flags.runs, line, doubt));
  print_page(text(found, screen), screen);
  if (!folder.empty()) {
    core::write_file(folder + "/errors.csv", report::published_errors_csv(rungs(found)));
    core::write_file(folder + "/predictions.csv", report::predictions_csv(rungs(found)));
    core::write_file(folder + "/table.txt", text(found, {}));
    if (!found.as_stated.empty())
      core::write_file(folder + "/stated.svg", report::published_scatter_svg(found.as_stated, kAsStated));
    if (!found.time.constants.empty())
      core::write_file(
          folder + "/constant.svg",
          report::published_scatter_svg(found.time.predictions, fmt::format("{}, {}", kAsStated, kWithTime)));
    core::write_file(folder + "/provenance.json", report::to_json(provenance(session)));
    say(fmt::format("\nresults in {}/ (errors.csv, predictions.csv, table.txt, *.svg, provenance.json)\n",
                    folder));
  }
  return core::ExitCode::done;
}

}  // namespace penstock::cli
