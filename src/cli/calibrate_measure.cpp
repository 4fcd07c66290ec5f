// penstock calibrate: measures a device.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "calibrate_cluster_file.hpp"
#include "calibrate_command.hpp"
#include "device_identity.hpp"
#include "penstock/calibrate/doubts.hpp"
#include "penstock/calibrate/survey.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/core/spelling.hpp"
#include "penstock/cost/leave_one_out.hpp"
#include "penstock/experiment/shapes.hpp"
#include "penstock/kernels/devices.hpp"

namespace penstock::cli {
namespace {

using calibrate::CalibrationJob;
using cost::Calibration;

constexpr double kBudgetToSpend = 0.9;                  // estimates err; the rest of the budget absorbs it
constexpr int kMostRepeats = 3;                         ///< of what is noisy
constexpr std::size_t kMostRanks = 4, kMostPeers = 16;  ///< of collectives, on the host and elsewhere

struct CalibrateMeasureFlags {
  std::string device = "host", precision = "fp32", budget, output;
  std::vector<std::string> models, parameters;
  std::string experiment;
  int threads = 0;
  std::size_t rounds = 3;
  bool plan = false;
};

calibrate::NamedModel named(const plan::ModelRef& ref) {
  return {ref.name, ref.parameters, experiment::load_model(ref)};
}

/// With all shapes that its plans may run.
std::vector<calibrate::NamedModel> models_of_experiment(const std::string& file) {
  std::vector<calibrate::NamedModel> out;
  for (const experiment::ModelShapes& shapes : experiment::shapes(experiment::load_grid(file))) {
    calibrate::NamedModel model = named(shapes.model);
    model.samples.assign(shapes.samples.begin(), shapes.samples.end());
    model.tensor_degrees.assign(shapes.tensor_degrees.begin(), shapes.tensor_degrees.end());
    out.push_back(std::move(model));
  }
  return out;
}

CLI::Validator model_or_file() {
  const std::vector<std::string> known = model_names();
  return CLI::Validator(
      [known](std::string& given) {
        if (experiment::is_model_file(given) || std::ranges::find(known, given) != known.end())
          return std::string();
        return "'" + given + "' is unknown; " + core::did_you_mean(given, known);
      },
      "", fmt::format("{}", fmt::join(known, " ")));  // what shells offer
}

/// The zoo in its own order where nothing is named.
std::vector<calibrate::NamedModel> load_models(const CalibrateMeasureFlags& flags) {
  if (!flags.experiment.empty()) return models_of_experiment(flags.experiment);
  if (!flags.parameters.empty() && flags.models.size() != 1)
    throw core::Error(core::ExitCode::usage, "-p needs exactly one model in --models");
  std::vector<calibrate::NamedModel> out;
  for (const std::string& name : flags.models.empty() ? model_names() : flags.models)
    out.push_back(named(ModelFlags{name, flags.parameters}.ref()));
  return out;
}

/// Without them no file is read again.
bool has_ceilings(const cost::DeviceCeilings& ceilings) {
  return ceilings.copy.value() > 0 &&
         std::ranges::any_of(ceilings.matmul, [](core::FlopRate rate) { return rate.value() > 0; });
}

/// Result of an earlier run of this command, or nothing but the identity.
Calibration begin(const std::string& path, const cost::MeasurementIdentity& mine) {
  if (path.empty() || !std::filesystem::exists(path)) return {mine, {}, {}, {}, {}, {}, {}, {}, {}};
  Calibration found = cost::load_calibration(path);
  const cost::MeasurementIdentity& theirs = found.identity;
  if (theirs.device != mine.device || theirs.backend != mine.backend || theirs.threads != mine.threads)
    throw core::BadInput(
        {path, 0, "identity"},
        fmt::format("measured on {} ({}, {} threads), not on {} ({}, {} threads); choose another file",
                    theirs.device, theirs.backend, theirs.threads, mine.device, mine.backend, mine.threads));
  auto& details = found.identity.details;
  std::erase_if(details, [](const auto& detail) { return detail.first == "continued"; });
  details.emplace_back("continued", mine.date + " by " + mine.commit);
  found.identity.load = std::max(theirs.load, mine.load);
  calibrate::refit_impossible(found);
  return found;
}

core::Seconds now() {
  return core::Seconds(
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

/// A line that redraws itself on a terminal, a line every ten seconds elsewhere; both on standard error.
class ProgressLine {
 public:
  explicit ProgressLine(std::optional<core::Seconds> end) : end_(end) {}
  void operator()(const calibrate::JobProgress& p) {
    const core::Seconds left = end_ ? std::clamp(*end_ - now(), core::Seconds(0), p.left) : p.left;
    const std::string what = fmt::format("[{}/{}] {}; {} left", p.done, p.all, p.name, core::show(left));
    if (terminal_) {
      say_in_place(what, p.done == p.all);
    } else if ((now() - last_).value() > kPause) {
      say(what + "\n");
      last_ = now();
    }
  }

 private:
  static constexpr double kPause = 10;  // s
  std::optional<core::Seconds> end_;    ///< of the budget
  bool terminal_ = terminal_hears();
  core::Seconds last_ = now();
};

calibrate::JobCallbacks watch(const std::string& path, std::optional<core::Seconds> end) {
  const auto save = [path](const Calibration& calibration) {
    if (!path.empty() && has_ceilings(calibration.ceilings))
      core::write_file(path, cost::to_yaml(calibration));
  };
  return {now, save,
          [line = std::make_shared<ProgressLine>(end)](const calibrate::JobProgress& p) { (*line)(p); }};
}

core::ExitCode report(const calibrate::JobOutcome& outcome, std::size_t repeated,
                      const CalibrateMeasureFlags& flags, std::int64_t rejected,
                      const std::vector<std::string>& doubts, const std::string& next) {
  std::string page = fmt::format(
      "{} measured now, {} before, {} left out by the budget, {} refused, {} repeated for their noise\n",
      outcome.measured, outcome.known, outcome.unmeasured.size(), outcome.refused.size(), repeated);
  for (const std::string& refusal : outcome.refused) page += "  " + refusal + "\n";
  if (rejected > 0) page += fmt::format("{} timings were dropped because the clock was low\n", rejected);
  for (const std::string& doubt : doubts) page += "warning: " + doubt + "\n";
  page +=
      fmt::format("{}; penstock calibrate report {} shows it{}\n", flags.output, flags.output,
                  outcome.interrupted || !outcome.unmeasured.empty() ? "; the same command resumes" : "") +
      next;
  print_page(page, screen());
  return outcome.interrupted ? core::ExitCode::interrupted : core::ExitCode::done;
}

core::ExitCode print_plan(const std::vector<CalibrationJob>& jobs, const Calibration& calibration,
                          std::optional<core::Seconds> budget) {
  const calibrate::JobsToRun plan = calibrate::jobs_to_run(jobs, calibration, budget);
  core::Seconds sum;
  for (const CalibrationJob* job : plan.fit) {
    print(fmt::format("{:>9}  {}\n", core::show(job->estimate), job->name));
    sum += job->estimate;
  }
  const std::string without =
      plan.left_out == 0 ? "" : fmt::format("; the budget leaves out {} more", plan.left_out);
  print(fmt::format("{} measurements, about {}{}\n", plan.fit.size(), core::show(sum), without));
  return core::ExitCode::done;
}

std::optional<core::Seconds> budget(const CalibrateMeasureFlags& flags) {
  if (flags.budget.empty()) return std::nullopt;
  const auto time = core::parse_seconds(flags.budget.ends_with("m") ? flags.budget + "in" : flags.budget);
  if (!time || !(*time > core::Seconds(0)))
    throw core::Error(core::ExitCode::usage,
                      "--budget: expected a time such as 5m, above zero, not '" + flags.budget + "'");
  return time;
}

/// One calibration from device to file.
class CalibrationRun {
 public:
  CalibrationRun(const CalibrateMeasureFlags& flags, const CommandContext& session)
      : flags_(flags),
        backend_(kernels::open_device(flags.device, flags.threads)),
        clock_(calibrate::open_clock(flags.device)),
        models_(load_models(flags)),
        calibration_(begin(flags.output, identity(*backend_, *clock_, session))),
        budget_(budget(flags)),
        start_(now()),
        stop_(session.stop()) {}

  core::ExitCode run() {
    for (const std::string& doubt : calibrate::doubts(calibration_)) warn(doubt);
    const calibrate::JobCallbacks keep = watch(flags_.plan ? "" : flags_.output, end());
    calibrate::DeviceSurvey roofs(request({}));
    const auto first = run_jobs(roofs.ceilings(), calibration_, std::nullopt, keep, stop_);
    if (first.interrupted) return core::ExitCode::interrupted;
    if (!first.refused.empty()) throw core::BadInput(first.refused[0]);
    calibrate::DeviceSurvey survey(request(rule()));
    const std::vector<CalibrationJob> jobs = survey.jobs(roofline());
    warn_of_budget();
    return flags_.plan ? print_plan(jobs, calibration_, left()) : measure(survey, jobs, keep);
  }

 private:
  /// Ceilings come first, and take as long as they take.
  void warn_of_budget() const {
    if (const auto time = left(); time && *time <= core::Seconds(0))
      warn(fmt::format(
          "measuring the device's ceilings took {}, all of the budget of {}; nothing else was measured",
          core::show(now() - start_), core::show(*budget_)));
  }

  core::ExitCode measure(calibrate::DeviceSurvey& survey, const std::vector<CalibrationJob>& jobs,
                         const calibrate::JobCallbacks& keep) {
    auto outcome = run_jobs(jobs, calibration_, left(), keep, stop_);
    std::size_t repeated = 0;
    for (int turn = 0; turn < kMostRepeats && !outcome.interrupted; ++turn) {
      const auto again =
          run_jobs(survey.repeats(calibration_, roofline()), calibration_, left(), keep, stop_);
      repeated += again.measured;
      outcome.interrupted = again.interrupted;
    }
    calibrate::refresh_model_sums(calibration_, models_);
    calibration_.leave_one_out = cost::leave_one_out(calibration_);
    keep.save(calibration_);
    return report(outcome, repeated, flags_, survey.rejected(), calibrate::doubts(calibration_),
                  write_cluster_file(calibration_, flags_.output, devices(), plan_options()));
  }

  /// Devices of the measured kind in this machine.
  int devices() const {
    const std::size_t all = flags_.device == "host"
                                ? processors() / static_cast<std::size_t>(calibration_.identity.threads)
                                : kernels::peers_of(flags_.device).size();
    return static_cast<int>(std::max<std::size_t>(1, all));
  }
  /// The first model, as options of `penstock plan`.
  std::string plan_options() const {
    const calibrate::NamedModel& first = models_.front();
    std::string out = first.name;
    for (const auto& [key, value] : first.parameters) out += fmt::format(" -p {}={}", key, value);
    return flags_.precision == "bf16" ? out + " --precision bf16" : out;
  }

  cluster::Precision precision() const { return cluster::precision(flags_.precision); }
  calibrate::Roofline roofline() const { return calibrate::roofline(calibration_, precision()); }

  std::optional<core::Seconds> end() const {
    return budget_ ? std::optional(start_ + *budget_) : std::nullopt;
  }
  std::optional<core::Seconds> left() const {
    return budget_ ? std::optional(*budget_ - (now() - start_)) : std::nullopt;
  }

  static std::size_t processors() { return std::max(1u, std::thread::hardware_concurrency()); }
  static calibrate::OpenDevice opener(const std::string& device) {
    return [device] { return kernels::open_device(device, 1); };
  }

  /// Peers of the device; for the host as many threads as it has processors for.
  std::vector<calibrate::OpenDevice> peers() const {
    if (flags_.device == "host") return std::vector(std::min(processors(), kMostRanks), opener("host"));
    std::vector<calibrate::OpenDevice> out;
    for (const std::string& device : kernels::peers_of(flags_.device))
      if (out.size() < kMostPeers) out.push_back(opener(device));
    return out;
  }

  calibrate::SurveyRequest request(const calibrate::SamplingRule& rule) const {
    const bool host = flags_.device == "host";
    return {.backend = *backend_,
            .open_view = host && processors() < 2 ? nullptr : opener(flags_.device),
            .peers = peers(),
            .host = host,
            .neighbours = !host || calibration_.identity.threads == 1,
            .clock = *clock_,
            .models = models_,
            .precision = precision(),
            .memory = usable_memory(calibration_.identity),
            .rule = rule,
            .rounds = flags_.rounds,
            .stop = stop_};
  }

  /// Shorter timings where the budget requires them.
  calibrate::SamplingRule rule() const {
    const calibrate::SamplingRule full = calibrate::divided({}, flags_.rounds);
    if (!budget_) return full;
    return calibrate::rule_within(
        *left() * kBudgetToSpend, full, [&](const calibrate::SamplingRule& shorter) {
          return time_left(calibrate::DeviceSurvey(request(shorter)).jobs(roofline()), calibration_);
        });
  }

  CalibrateMeasureFlags flags_;
  std::unique_ptr<kernels::Backend> backend_;
  std::unique_ptr<calibrate::DeviceClock> clock_;
  std::vector<calibrate::NamedModel> models_;
  Calibration calibration_;
  std::optional<core::Seconds> budget_;
  core::Seconds start_;
  core::StopToken stop_;
};

core::ExitCode run(const CalibrateMeasureFlags& flags, const CommandContext& session) {
  if (flags.output.empty() && !flags.plan)
    throw core::Error(core::ExitCode::usage, "penstock calibrate needs -o FILE for the calibration");
  return CalibrationRun(flags, session).run();
}

}  // namespace

void add_calibrate_measure(CLI::App& calibrate, Action& action) {
  auto flags = std::make_shared<CalibrateMeasureFlags>();
  calibrate.footer(
      "Without a sub-command, penstock measures the device in this order: its ceilings; the kernels of "
      "the models at one sample; whole models; a few kernels with computing neighbours (only with "
      "--threads 1); small messages; the kernels at other batch sizes (powers of two up to 64, as "
      "memory allows); large messages; all kernels again in further rounds (the median of the rounds "
      "counts); noisy ones up to three more times. With --experiment, models, batch sizes and "
      "tensor-parallel shards are those that its plans may run. The file is valid at any time: after "
      "Ctrl-C, or when the budget is used up, the same command resumes. Measure on an idle machine; "
      "the command warns of a load above 1, of noise and of poor predictions. At the end it also "
      "writes a cluster file, host.cluster.yaml for host.yaml, and prints how to plan with both.\n"
      "\n"
      "Examples:\n"
      "  penstock calibrate --plan --models resnet50\n"
      "  penstock calibrate --models gpt -p layers=2 --budget 5m -o host.yaml\n"
      "  penstock calibrate --experiment experiments/validation_host.yaml --threads 1 -o core.yaml\n"
      "  penstock calibrate --budget 30m -o host.yaml\n"
      "  penstock calibrate verify host.yaml");
  calibrate
      .add_option("--device", flags->device,
                  "device to measure: host, cuda:0 and so on, or cuda:0/4: one of its four equal partitions")
      ->capture_default_str()
      ->type_name("NAME");
  auto* models =
      calibrate
          .add_option(
              "--models", flags->models,
              "models whose kernels to measure: networks of the zoo, or model files; default: the whole zoo")
          ->delimiter(',')
          ->type_name("NAME|FILE,...")
          ->check(model_or_file());
  auto* parameters = calibrate
                         .add_option("-p,--parameter", flags->parameters,
                                     "parameter of the only model in --models; can be repeated")
                         ->type_name("KEY=VALUE")
                         ->allow_extra_args(false);
  calibrate
      .add_option("--experiment", flags->experiment,
                  "experiment file: measure the kernels that its plans may run, at their batch sizes")
      ->type_name("FILE")
      ->excludes(models)
      ->excludes(parameters);
  calibrate
      .add_option("--precision,--number", flags->precision, "precision of kernels: fp32, tf32, bf16, fp16")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of({"fp32", "tf32", "bf16", "fp16"}));
  calibrate
      .add_option("--threads", flags->threads, "threads of the host's kernels; default: one per processor")
      ->check(CLI::Range(1, 1 << 10).description(""))
      ->type_name("N");
  calibrate
      .add_option("--rounds", flags->rounds,
                  "visits of each kernel; the time of one visit is divided among them")
      ->check(CLI::Range(1, 100).description(""))
      ->capture_default_str()
      ->type_name("N");
  calibrate
      .add_option("--budget", flags->budget,
                  "time budget, such as 5m: timings get shorter, then the least useful ones are left out")
      ->type_name("TIME");
  calibrate.add_flag("--plan", flags->plan,
                     "only list the measurements, within --budget if given, and how long they take");
  calibrate.add_option("-o,--output", flags->output, "the calibration; an existing one is resumed")
      ->type_name("FILE");
  calibrate.callback([flags, &action, &calibrate] {
    if (calibrate.get_subcommands().empty())
      action = [flags](const CommandContext& s) { return run(*flags, s); };
  });
}

}  // namespace penstock::cli
