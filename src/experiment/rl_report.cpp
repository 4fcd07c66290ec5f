// Answers about a reinforcement-learning job as text, data and picture.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "penstock/core/quantity_text.hpp"
#include "penstock/experiment/rl_answer.hpp"
#include "penstock/report/log_chart.hpp"
#include "penstock/report/table.hpp"

namespace penstock::experiment {
namespace {

using RlJson = nlohmann::ordered_json;
using report::Align;

/// "24 % less", "3 % more".
std::string compared(core::Seconds time, core::Seconds base) {
  const double share = time / base - 1;
  return fmt::format("{:.1f} % {}", std::abs(share) * 100, share <= 0 ? "less" : "more");
}

std::string placement_name(const RlPlacement& placement) {
  return placement.colocated ? "colocated" : fmt::format("{} + {}", placement.trainer, placement.generator);
}

void add_row(report::Table& table, const RlChoice& choice, core::Seconds base) {
  const jobs::RlOutcome& outcome = choice.outcome();
  table.add({placement_name(choice.placement), std::to_string(choice.lag), core::show(outcome.step),
             choice.placement.colocated ? "-" : compared(outcome.step, base),
             core::show_share(outcome.trainer_idle), core::show_share(outcome.generator_idle),
             fmt::format("{:.2f}", outcome.staleness), core::show(outcome.generation),
             core::show(choice.log_probabilities + choice.critic), core::show(choice.training)});
}

/// "lag 0: 312 s, lag 1: 231 s (26 % less), ..." of one split.
std::string lag_line(const RlChoice& choice) {
  std::string out = fmt::format("{} GPUs:", placement_name(choice.placement));
  const core::Seconds base = choice.by_lag.front().step;
  for (std::size_t lag = 0; lag < choice.by_lag.size(); ++lag) {
    const core::Seconds step = choice.by_lag[lag].step;
    out += fmt::format("{} lag {} {}", lag == 0 ? "" : ",", lag, core::show(step));
    if (lag > 0) out += fmt::format(" ({})", compared(step, base));
  }
  return out + "\n";
}

std::string job_line(const RlJob& job, const RlAnswer& answer) {
  return fmt::format(
      "{}: {} GPUs, {} samples per step of {:.0f} tokens on average, lag {}, weights {}; reward {}, transfer {}\n",
      answer.job, job.gpus, job.samples, answer.tokens, job.lag,
      job.update == jobs::WeightUpdate::in_flight ? "in flight" : "after running sequences",
      core::show(job.reward), core::show(job.transfer));
}

RlJson to_json(const RlChoice& choice) {
  RlJson out = {{"placement", choice.placement.colocated ? "colocated" : "split"},
                {"trainer_gpus", choice.placement.trainer},
                {"generator_gpus", choice.placement.generator},
                {"log_probabilities_s", choice.log_probabilities.value()},
                {"critic_s", choice.critic.value()},
                {"training_s", choice.training.value()},
                {"by_lag", RlJson::array()}};
  for (std::size_t lag = 0; lag < choice.by_lag.size(); ++lag) {
    const jobs::RlOutcome& outcome = choice.by_lag[lag];
    out["by_lag"].push_back({{"lag", lag},
                             {"step_s", outcome.step.value()},
                             {"generation_s", outcome.generation.value()},
                             {"trainer_idle", outcome.trainer_idle},
                             {"generator_idle", outcome.generator_idle},
                             {"staleness", outcome.staleness}});
  }
  return out;
}

}  // namespace

std::string rl_table(const RlJob& job, const RlAnswer& answer, const report::ScreenLimits& screen) {
  constexpr std::size_t kMostSplits = 10;
  report::Table table({{"trainer + generator"},
                       {"lag", Align::right},
                       {"step", Align::right},
                       {"to colocated", Align::right},
                       {"trainer idle", Align::right},
                       {"generator idle", Align::right},
                       {"staleness", Align::right},
                       {"generation", Align::right},
                       {"log-probs", Align::right},
                       {"training", Align::right}});
  const core::Seconds base = answer.colocated.outcome().step;
  add_row(table, answer.colocated, base);
  std::string lines;
  for (std::size_t at = 0; at < answer.choices.size(); ++at)
    if (!answer.choices[at].placement.colocated && at < kMostSplits) add_row(table, answer.choices[at], base);
  if (answer.choices.size() > kMostSplits)
    lines += fmt::format("{} slower splits are in --json\n", answer.choices.size() - kMostSplits);
  const RlChoice& best = answer.choices.front();
  if (!best.placement.colocated) lines += lag_line(best);
  for (const std::string& line : answer.left_out) lines += "no plan for " + line + "\n";
  return job_line(job, answer) + table.text(screen) + lines;
}

std::string rl_json(const RlJob& job, const RlAnswer& answer, const report::Provenance& provenance) {
  RlJson out = {{"provenance", RlJson::parse(report::to_json(provenance))},
                {"job", answer.job},
                {"gpus", job.gpus},
                {"samples", job.samples},
                {"tokens_per_sample", answer.tokens},
                {"lag", job.lag},
                {"update", std::string(name(job.update))},
                {"steps", job.steps},
                {"seed", job.seed},
                {"reward_s", job.reward.value()},
                {"transfer_s", job.transfer.value()},
                {"colocated", to_json(answer.colocated)},
                {"choices", RlJson::array()},
                {"left_out", answer.left_out}};
  for (const RlChoice& choice : answer.choices) out["choices"].push_back(to_json(choice));
  return out.dump(2) + "\n";
}

std::string rl_svg(const RlJob& job, const RlAnswer& answer) {
  if (answer.choices.size() < 2)
    throw core::BadInput("--svg draws several splits; the job has one (placement: any)");
  std::vector<RlChoice> ordered = answer.choices;
  std::ranges::sort(ordered, {}, [](const RlChoice& each) { return each.placement.trainer; });
  report::LogChart chart{answer.job, "GPUs of the trainer", "seconds per step", {}};
  for (const int lag : {0, std::max(1, job.lag)}) {
    report::ChartSeries series{fmt::format("lag {}", lag), {}, {}};
    for (const RlChoice& choice : ordered)
      series.points.emplace_back(choice.placement.trainer,
                                 choice.by_lag[static_cast<std::size_t>(lag)].step.value());
    series.line = series.points;
    chart.series.push_back(std::move(series));
  }
  const double colocated = answer.colocated.outcome().step.value();
  chart.series.push_back(
      {"colocated, on-policy",
       {},
       {{ordered.front().placement.trainer, colocated}, {ordered.back().placement.trainer, colocated}}});
  return report::log_chart_svg(chart);
}

}  // namespace penstock::experiment
