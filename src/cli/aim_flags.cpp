#include "aim_flags.hpp"

#include <memory>

#include "command.hpp"
#include "penstock/sim/perturbation.hpp"

namespace penstock::cli {

void AimFlags::add(CLI::App& command) {
  const auto& names = experiment::aim_names();
  command
      .add_option(
          "--aim", aim_,
          "objective to minimise: time (of an iteration), p95 (95th percentile of the time under "
          "--perturbation), memory (of the fullest device, among plans at most --slower), cost (dollars "
          "per sample; may leave devices unused; prices are in the cluster file)")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of({names.begin(), names.end()}));
  auto* perturbation =
      command.add_option("--perturbation", perturbation_,
                         "for --aim p95: file with stragglers, jitter and weak links, such as "
                         "experiments/imperfect/bad_day.yaml");
  perturbation->type_name("FILE");
  command.add_option("--seed", seed_, "for --aim p95: first seed; default: 0")
      ->check(seeds())
      ->type_name("N")
      ->needs(perturbation);
  command.add_option("--seeds", seeds_, "for --aim p95: number of seeds per plan")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, experiment::kMostSeeds).description(""))
      ->type_name("N")
      ->needs(perturbation);
  slower_option_ = command
                       .add_option("--slower", slower_,
                                   "for --aim memory: how much slower than the fastest plan a plan may be")
                       ->capture_default_str()
                       ->check(CLI::Range(0.0, experiment::kMostSlower).description(""))
                       ->type_name("PERCENT");
}

void AimFlags::check() const {
  const auto fail = [](const std::string& what) { throw core::Error(core::ExitCode::usage, what); };
  if (aim_ == "p95" && perturbation_.empty()) fail("--aim p95 needs --perturbation FILE");
  if (aim_ != "p95" && !perturbation_.empty()) fail("--perturbation goes with --aim p95");
  if (aim_ != "memory" && slower_option_->count() > 0) fail("--slower goes with --aim memory");
}

experiment::AimSetting AimFlags::setting(const cluster::Cluster& cluster) const {
  check();
  experiment::AimSetting out{experiment::aim(aim_), {}, slower_ / 100};
  if (!perturbation_.empty())
    out.seeds = {std::make_shared<const sim::Perturbation>(sim::load_perturbation(perturbation_, cluster)),
                 seed_, seeds_};
  return out;
}

}  // namespace penstock::cli
