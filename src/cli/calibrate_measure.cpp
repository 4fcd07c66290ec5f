// penstock calibrate: measures a device.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "calibrate_command.hpp"
#include "device_identity.hpp"
#include "models/catalogue.hpp"
#include "penstock/calibrate/survey.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/cost/leave_one_out.hpp"
#include "penstock/kernels/devices.hpp"

namespace penstock::cli {
namespace {

using calibrate::Job;
using cost::Calibration;

constexpr double kBudgetToSpend = 0.9;                  // estimates err; the rest of the budget absorbs it
constexpr std::size_t kMostRanks = 4, kMostPeers = 16;  ///< of collectives, on the host and elsewhere

struct Flags {
  std::string device = "host", number = "fp32", budget, output;
  std::vector<std::string> models;
  int threads = 0;
  std::size_t rounds = 3;
  bool plan = false;
};

std::vector<calibrate::NamedModel> load_models(const std::vector<std::string>& names) {
  std::vector<calibrate::NamedModel> out;
  for (const models::ModelInfo& info : models::catalogue())
    if (names.empty() || std::ranges::find(names, info.name) != names.end())
      out.push_back({info.name, {}, models::build(info.name)});
  return out;
}

/// What an earlier run of the same command has left, or nothing but the identity.
Calibration begin(const std::string& path, const cost::Identity& mine) {
  if (path.empty() || !std::filesystem::exists(path)) return {mine, {}, {}, {}, {}, {}, {}, {}, {}};
  Calibration found = cost::load_calibration(path);
  const cost::Identity& theirs = found.identity;
  if (theirs.device != mine.device || theirs.backend != mine.backend || theirs.threads != mine.threads)
    throw core::BadInput(
        {path, 0, "identity"},
        fmt::format("measured on {} ({}, {} threads), not on {} ({}, {} threads); choose another file",
                    theirs.device, theirs.backend, theirs.threads, mine.device, mine.backend, mine.threads));
  auto& details = found.identity.details;
  std::erase_if(details, [](const auto& detail) { return detail.first == "continued"; });
  details.emplace_back("continued", mine.date + " by " + mine.commit);
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
  void operator()(const calibrate::Progress& p) {
    const core::Seconds left = end_ ? std::clamp(*end_ - now(), core::Seconds(0), p.left) : p.left;
    const std::string what = fmt::format("[{}/{}] {}; {} left", p.done, p.all, p.name, core::show(left));
    if (terminal_) {
      fmt::print(stderr, "\r\033[K{}{}", what.substr(0, 100), p.done == p.all ? "\n" : "");
    } else if ((now() - last_).value() > kPause) {
      fmt::print(stderr, "{}\n", what);
      last_ = now();
    }
  }

 private:
  static constexpr double kPause = 10;  // s
  std::optional<core::Seconds> end_;    ///< of the budget
  bool terminal_ = isatty(STDERR_FILENO) != 0;
  core::Seconds last_ = now();
};

calibrate::Watch watch(const std::string& path, std::optional<core::Seconds> end) {
  const auto save = [path](const Calibration& calibration) {
    if (!path.empty() && calibration.ceilings.copy.value() > 0)
      core::write_file(path, cost::to_yaml(calibration));
  };
  return {now, save,
          [line = std::make_shared<ProgressLine>(end)](const calibrate::Progress& p) { (*line)(p); }};
}

core::ExitCode report(const calibrate::Outcome& outcome, const Flags& flags, std::int64_t rejected) {
  fmt::print("{} measured now, {} before, {} left out by the budget, {} refused\n", outcome.measured,
             outcome.known, outcome.unmeasured.size(), outcome.refused.size());
  for (const std::string& refusal : outcome.refused) fmt::print("  {}\n", refusal);
  if (rejected > 0) fmt::print("{} timings were thrown away: the clock was low\n", rejected);
  fmt::print("{}; penstock calibrate report {} shows it{}\n", flags.output, flags.output,
             outcome.interrupted || !outcome.unmeasured.empty() ? ", the same command goes on" : "");
  return outcome.interrupted ? core::ExitCode::interrupted : core::ExitCode::done;
}

core::ExitCode print_plan(const std::vector<Job>& jobs, const Calibration& calibration) {
  std::size_t open = 0;
  for (const Job& job : jobs) {
    if (job.done(calibration)) continue;
    fmt::print("{:>9}  {}\n", core::show(job.estimate), job.name);
    ++open;
  }
  fmt::print("{} measurements, about {}\n", open, core::show(time_left(jobs, calibration)));
  return core::ExitCode::done;
}

std::optional<core::Seconds> budget(const Flags& flags) {
  if (flags.budget.empty()) return std::nullopt;
  const auto time = core::parse_seconds(flags.budget.ends_with("m") ? flags.budget + "in" : flags.budget);
  if (!time)
    throw core::Error(core::ExitCode::usage,
                      "--budget: expected a time such as 5m, not '" + flags.budget + "'");
  return time;
}

/// One calibration from device to file.
class Measuring {
 public:
  Measuring(const Flags& flags, const Session& session)
      : flags_(flags),
        backend_(kernels::open_device(flags.device, flags.threads)),
        clock_(calibrate::open_clock(flags.device)),
        models_(load_models(flags.models)),
        calibration_(begin(flags.output, identity(*backend_, *clock_, session))),
        budget_(budget(flags)),
        start_(now()),
        stop_(session.stop()) {}

  core::ExitCode run() {
    const calibrate::Watch keep = watch(flags_.plan ? "" : flags_.output, end());
    calibrate::Survey roofs(request({}));
    const auto first = run_jobs(roofs.ceilings(), calibration_, std::nullopt, keep, stop_);
    if (first.interrupted) return core::ExitCode::interrupted;
    if (!first.refused.empty()) throw core::BadInput(first.refused[0]);
    calibrate::Survey survey(request(rule()));
    const std::vector<Job> jobs = survey.jobs(roofline());
    return flags_.plan ? print_plan(jobs, calibration_) : measure(survey, jobs, keep);
  }

 private:
  core::ExitCode measure(const calibrate::Survey& survey, const std::vector<Job>& jobs,
                         const calibrate::Watch& keep) {
    const auto outcome = run_jobs(jobs, calibration_, left(), keep, stop_);
    calibrate::refresh_model_sums(calibration_, models_);
    calibration_.leave_one_out = cost::leave_one_out(calibration_);
    keep.save(calibration_);
    return report(outcome, flags_, survey.rejected());
  }

  cluster::Precision number() const { return cluster::precision(flags_.number); }
  calibrate::Roofline roofline() const { return calibrate::roofline(calibration_, number()); }

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

  /// As many threads of the host as it has processors for.
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
            .clock = *clock_,
            .models = models_,
            .number = number(),
            .memory = usable_memory(calibration_.identity),
            .rule = rule,
            .rounds = flags_.rounds,
            .stop = stop_};
  }

  /// Shorter timings where the budget asks for them.
  calibrate::SamplingRule rule() const {
    const calibrate::SamplingRule full = calibrate::divided({}, flags_.rounds);
    if (!budget_) return full;
    return calibrate::rule_within(
        *left() * kBudgetToSpend, full, [&](const calibrate::SamplingRule& shorter) {
          return time_left(calibrate::Survey(request(shorter)).jobs(roofline()), calibration_);
        });
  }

  Flags flags_;
  std::unique_ptr<kernels::Backend> backend_;
  std::unique_ptr<calibrate::Clock> clock_;
  std::vector<calibrate::NamedModel> models_;
  Calibration calibration_;
  std::optional<core::Seconds> budget_;
  core::Seconds start_;
  core::StopToken stop_;
};

core::ExitCode run(const Flags& flags, const Session& session) {
  if (flags.output.empty() && !flags.plan)
    throw core::Error(core::ExitCode::usage, "penstock calibrate: -o FILE says where the calibration goes");
  return Measuring(flags, session).run();
}

}  // namespace

void add_calibrate_measure(CLI::App& calibrate, Action& action) {
  auto flags = std::make_shared<Flags>();
  calibrate.footer(
      "Without a sub-command the device is measured: its ceilings, the kernels of the models at one sample, "
      "the models whole,\n"
      "links, then the kernels at other batch sizes, powers of two up to 64 as memory allows, and then all "
      "kernels again in\n"
      "further rounds, of whose medians the median counts. The file is whole at any time;\n"
      "after Ctrl-C, or when the budget is over, the same command goes on. Measure on a machine that does "
      "nothing else.\n\n"
      "Examples:\n"
      "  penstock calibrate --plan --models resnet50\n"
      "  penstock calibrate --budget 30m -o host.yaml\n"
      "  penstock calibrate verify host.yaml");
  calibrate
      .add_option("--device", flags->device,
                  "what to measure: host, cuda:0 and so on, or cuda:0/4: one of its four equal partitions")
      ->capture_default_str()
      ->type_name("NAME");
  calibrate.add_option("--models", flags->models, "whose kernels; default: the whole zoo")
      ->delimiter(',')
      ->type_name("NAME,...")
      ->check(one_of(model_names()));
  calibrate.add_option("--number", flags->number, "format of numbers: fp32, tf32, bf16, fp16")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of({"fp32", "tf32", "bf16", "fp16"}));
  calibrate.add_option("--threads", flags->threads, "of the host's kernels; default: one per processor")
      ->check(CLI::Range(1, 1 << 10).description(""))
      ->type_name("N");
  calibrate
      .add_option("--rounds", flags->rounds,
                  "how often each kernel is visited; the time of one visit is divided among them")
      ->check(CLI::Range(1, 100).description(""))
      ->capture_default_str()
      ->type_name("N");
  calibrate
      .add_option(
          "--budget", flags->budget,
          "how long it may take, such as 5m: timings get shorter, then the less valuable are left out")
      ->type_name("TIME");
  calibrate.add_flag("--plan", flags->plan, "only list what would be measured, and how long that takes");
  calibrate
      .add_option("-o,--output", flags->output,
                  "the calibration; measuring goes on where an earlier call left it")
      ->type_name("FILE");
  calibrate.callback([flags, &action, &calibrate] {
    if (calibrate.get_subcommands().empty()) action = [flags](const Session& s) { return run(*flags, s); };
  });
}

}  // namespace penstock::cli
