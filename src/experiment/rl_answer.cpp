#include "penstock/experiment/rl_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "penstock/core/error.hpp"

namespace penstock::experiment {
namespace {

class PlacementStudy {
 public:
  PlacementStudy(const RlJob& job, const TrainingTime& planned, core::StopToken stop)
      : job_(job),
        planned_(planned),
        stop_(stop),
        setting_{.rates = job.rates,
                 .reward = job.reward,
                 .transfer = job.transfer,
                 .update = job.update,
                 .lengths = drawn_lengths(job, job.steps)} {}

  double mean_tokens() const {
    double sum = 0;
    for (const auto& batch : setting_.lengths)
      for (const std::int64_t tokens : batch) sum += static_cast<double>(tokens);
    return sum / static_cast<double>(job_.samples * job_.steps);
  }

  RlChoice choice(const RlPlacement& placement) {
    const core::Seconds training = training_time(placement.trainer);
    RlChoice out{placement, job_.log_probabilities.at(placement.trainer, training),
                 job_.critic.at(placement.trainer, training), training};
    setting_.instances = placement.generator / job_.instance_gpus;
    setting_.training = out.log_probabilities + out.critic + out.training;
    out.lag = static_cast<std::size_t>(placement.colocated ? 0 : job_.lag);
    for (int lag = 0; lag <= (placement.colocated ? 0 : std::max(1, job_.lag)); ++lag) {
      setting_.lag = lag;
      setting_.most_decoding = job_.most_decoding(lag);
      out.by_lag.push_back(jobs::rl_steps(setting_, job_.steps, stop_));
    }
    if (placement.colocated) share_idle(out.by_lag.front());
    return out;
  }

 private:
  core::Seconds training_time(int gpus) {
    if (!job_.planned) return job_.training.at(gpus, {});
    const auto known = times_.find(gpus);
    return known != times_.end() ? known->second : times_.emplace(gpus, planned_(gpus)).first->second;
  }

  /// GPUs of both sides are idle when neither works.
  void share_idle(jobs::RlOutcome& outcome) const {
    const double generating = 1 - outcome.generator_idle - job_.transfer / outcome.step;
    outcome.trainer_idle = outcome.generator_idle = std::max(0.0, outcome.trainer_idle - generating);
  }

  const RlJob& job_;
  const TrainingTime& planned_;
  core::StopToken stop_;
  jobs::RlSetting setting_;
  std::map<int, core::Seconds> times_;
};

std::vector<RlPlacement> splits(const RlJob& job) {
  if (job.placement) return {*job.placement};
  std::vector<RlPlacement> out;
  for (int generator = job.instance_gpus; generator < job.gpus; generator += job.instance_gpus)
    if ((job.gpus - generator) % job.trainer_gpus == 0)
      out.push_back({false, job.gpus - generator, generator});
  return out;
}

}  // namespace

RlAnswer rl_answer(const RlJob& job, const std::string& name, const TrainingTime& planned,
                   core::StopToken stop) {
  PlacementStudy study(job, planned, stop);
  RlAnswer out{
      .job = name, .tokens = study.mean_tokens(), .colocated = study.choice({true, job.gpus, job.gpus})};
  for (const RlPlacement& placement : splits(job)) {
    try {
      out.choices.push_back(study.choice(placement));
    } catch (const core::Infeasible& e) {
      out.left_out.push_back(
          fmt::format("{} + {} GPUs: {}", placement.trainer, placement.generator, e.what()));
    }
  }
  if (out.choices.empty())
    throw core::Infeasible(
        out.left_out.empty()
            ? fmt::format("{}: no split of {} GPUs has instances of {} and a trainer with a multiple of {}",
                          name, job.gpus, job.instance_gpus, job.trainer_gpus)
            : fmt::format("{}: {}", name, out.left_out.front()));
  std::ranges::stable_sort(out.choices, {}, [](const RlChoice& each) { return each.outcome().step; });
  return out;
}

}  // namespace penstock::experiment
