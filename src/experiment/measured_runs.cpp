#include "penstock/experiment/measured_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "line_search.hpp"
#include "penstock/cluster/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/paths.hpp"
#include "penstock/core/statistics.hpp"
#include "penstock/cost/plausible.hpp"
#include "penstock/cost/utilisation.hpp"
#include "penstock/experiment/plan_input.hpp"
#include "penstock/report/csv_record.hpp"
#include "run_prediction.hpp"

namespace penstock::experiment {
namespace {

constexpr SearchRange kHost{0, 16e-6, 12, 1e8, 18};     // s; hundredths of a microsecond
constexpr SearchRange kSlowdown{0.5, 0.5, 7, 1e4, 20};  // searched for every host time
constexpr double kLeastSlowdown = kSlowdown.first - kSlowdown.step;
constexpr double kMostSlowdown = kSlowdown.first + kSlowdown.step * (kSlowdown.steps + 1);
constexpr double kLeastGain = 1e-3;  ///< minimum gain in mean error for a host time to be used
constexpr double kGib = 1024.0 * 1024 * 1024;

struct RunConstants {
  double slowdown = 1;
  std::optional<double> host{};  ///< none: as the cluster states
};

/// A run whose plan was read.
class ReadRun {
 public:
  ReadRun(const MeasuredRun& run, const std::string& file, const FitCosts& costs) : run_(run) {
    const std::string path = core::path_from(file, run.plan);
    if (!std::filesystem::exists(path))
      throw core::BadInput({file, run.line, "plan"}, "there is no file " + path);
    const std::string text = core::read_file(path);
    input_.emplace(read_plan(text, path, plan::parse_plan_head(text, path), costs));
    complete(input_->problem(), input_->plan, path, true);
  }

  const MeasuredRun& run() const { return run_; }
  const plan::Plan& plan() const { return input_->plan; }
  double stated_slowdown() const { return input_->cluster.types().front().slowdown(); }
  core::Bytes reserved() const { return input_->cluster.types().front().reserved; }

  /// Throws BadInput for impossible times or memory: probably a number in another unit.
  void check_plausible(const std::string& file) const {
    const double rate = static_cast<double>(input_->plan.training.mini_batch) / run_.seconds;
    const auto wrong = cost::above_whole(cost::utilisation(input_->graph, input_->cluster, rate).mfu);
    if (!wrong.empty())
      throw core::BadInput({file, run_.line, "iteration_s"},
                           fmt::format("{} s mean {}; expected seconds", run_.seconds, wrong));
    double most = 0;
    for (const auto& type : input_->cluster.types())
      most = std::max(most, static_cast<double>(type.memory.value()));
    if (run_.gib && *run_.gib * kGib > most)
      throw core::BadInput({file, run_.line, "memory_gib"},
                           fmt::format("{} GiB, of devices that have {:.4g} GiB", *run_.gib, most / kGib));
  }

  RunPrediction stated(core::StopToken stop) const {
    return run_prediction(input_->problem(), input_->plan, stop);
  }
  double seconds(const RunConstants& constants, core::StopToken stop) const {
    cluster::Cluster cluster = input_->cluster.slowed_by(constants.slowdown);
    if (constants.host) cluster = cluster.run_by({.per_kernel = core::Seconds(*constants.host)});
    const cost::Problem problem{input_->graph, cluster, *input_->costs, input_->plan.training};
    return run_prediction(problem, input_->plan, stop).seconds;
  }

 private:
  MeasuredRun run_;
  std::optional<PlanInput> input_;
};

using ReadRuns = std::vector<std::unique_ptr<ReadRun>>;

ReadRuns read_all(const std::vector<MeasuredRun>& runs, const std::string& file, const FitCosts& costs) {
  ReadRuns out;
  for (const MeasuredRun& run : runs) {
    out.push_back(std::make_unique<ReadRun>(run, file, costs));
    out.back()->check_plausible(file);
    const std::string &cluster = out.back()->plan().cluster.name, &first = out.front()->plan().cluster.name;
    if (cluster != first)
      throw core::BadInput(
          {file, run.line, "plan"},
          fmt::format("is for cluster {}, the first plan for {}: constants belong to one cluster", cluster,
                      first));
  }
  return out;
}

double mean_error(const ReadRuns& runs, const RunConstants& constants, core::StopToken stop) {
  std::vector<double> errors(runs.size());
  core::parallel_for(runs.size(), [&](std::size_t i) {
    stop.check();
    errors[i] = std::abs(runs[i]->seconds(constants, stop) / runs[i]->run().seconds - 1);
  });
  return std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(runs.size());
}

/// Best slow-down of kernels for every host time tried.
class TimeFit {
 public:
  TimeFit(const ReadRuns& runs, core::StopToken stop, const std::function<void(double)>& progress)
      : runs_(runs), stop_(stop), progress_(progress) {}

  RunConstants best() {
    if (runs_.size() < 2) return with_host({});
    const RunConstants without = with_host(0);
    const double host = least_error(kHost, [&](double at) { return error(with_host(at)); });
    const RunConstants with = with_host(host);
    return error(with) < error(without) - kLeastGain ? with : without;
  }

 private:
  double error(const RunConstants& constants) const { return mean_error(runs_, constants, stop_); }
  RunConstants with_host(std::optional<double> host) {
    const double slowdown = least_error(kSlowdown, [&](double at) { return error({at, host}); });
    const double all = runs_.size() < 2 ? 1 : kHost.steps + kHost.rounds + 5;
    if (progress_) progress_(std::min(1.0, ++tried_ / all));
    return {slowdown, host};
  }

  const ReadRuns& runs_;
  core::StopToken stop_;
  const std::function<void(double)>& progress_;
  double tried_ = 0;
};

/// Doubts about constants that stopped where they cannot go further.
std::vector<std::string> doubts_about(const FittedCluster& fitted) {
  std::vector<std::string> out;
  constexpr double kEnd = 0.02;
  if (fitted.kernel_slowdown > kMostSlowdown - kEnd || fitted.kernel_slowdown < kLeastSlowdown + kEnd)
    out.push_back(
        fmt::format("kernel_slowdown {:.4f} is the end of what is searched: a device this far from its "
                    "costs needs other costs (penstock calibrate)",
                    fitted.kernel_slowdown));
  if (!fitted.reserved || fitted.reserved->value() > 0) return out;
  for (const RunFit& fit : fitted.runs)
    if (fit.run.gib && *fit.run.gib < fit.fitted_gib)
      out.push_back(
          fmt::format("{}: {:.2f} GiB measured, less than the {:.2f} GiB of the plan without any reserve",
                      fit.run.plan, *fit.run.gib, fit.fitted_gib));
  return out;
}

/// Median of measured memory minus the plans' memory, to a hundredth of a GiB.
std::optional<core::Bytes> fit_reserved(const ReadRuns& runs, const std::vector<RunFit>& fits) {
  std::vector<double> above;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (fits[i].run.gib)
      above.push_back(*fits[i].run.gib - fits[i].stated_gib +
                      static_cast<double>(runs[i]->reserved().value()) / kGib);
  if (above.empty()) return std::nullopt;
  std::sort(above.begin(), above.end());
  constexpr double kHalf = 0.5, kDigits = 100;
  const double gib = std::max(0.0, std::round(core::quantile(above, kHalf) * kDigits) / kDigits);
  return core::Bytes(std::llround(gib * kGib));
}

std::string options_of(const plan::Plan& plan) {
  std::string out = "--model " + plan.model.name;
  for (const auto& [key, value] : plan.model.parameters) out += fmt::format(" -p {}={}", key, value);
  return fmt::format("{} --devices {} --mini-batch {} --optimizer {}", out, plan.cluster.devices,
                     plan.training.mini_batch, name(plan.training.optimizer)) +
         (plan.training.precision ? " --precision " + plan::written(*plan.training.precision) : "");
}

}  // namespace

std::vector<MeasuredRun> parse_measured_runs(const std::string& text, const std::string& file) {
  std::vector<MeasuredRun> out;
  for (const report::CsvRecord& record : report::csv_records(text, file)) {
    MeasuredRun run{record.line(), record.text("plan"), record.positive("iteration_s"), {}};
    if (run.plan.empty()) record.fail("plan", "expected the plan file of what ran");
    if (record.has("memory_gib") && !record.text("memory_gib").empty())
      run.gib = record.positive("memory_gib");
    out.push_back(std::move(run));
  }
  if (out.empty()) throw core::BadInput({file, 1, ""}, "expected rows of measured runs below a header");
  return out;
}

FittedCluster fit_cluster(const std::vector<MeasuredRun>& runs, const std::string& file,
                          const FitCosts& costs, core::StopToken stop,
                          const std::function<void(double)>& progress) {
  const ReadRuns read = read_all(runs, file, costs);
  FittedCluster out;
  out.cluster = read.front()->plan().cluster.name;
  out.next = options_of(read.front()->plan());
  const RunConstants best = TimeFit(read, stop, progress).best();
  out.kernel_slowdown = best.slowdown;
  out.stated_slowdown = read.front()->stated_slowdown();
  if (best.host) out.host_launch = core::Seconds(*best.host);
  for (const auto& run : read) {
    const RunPrediction stated = run->stated(stop);
    out.runs.push_back({run->run(), stated.seconds, run->seconds(best, stop), stated.gib, stated.gib});
  }
  out.reserved = fit_reserved(read, out.runs);
  for (std::size_t i = 0; i < read.size() && out.reserved; ++i)
    out.runs[i].fitted_gib += static_cast<double>((*out.reserved - read[i]->reserved()).value()) / kGib;
  out.doubts = doubts_about(out);
  out.text = with_constants(cluster::cluster_text(out.cluster), out.cluster, out);
  return out;
}

}  // namespace penstock::experiment
