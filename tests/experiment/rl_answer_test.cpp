#include "penstock/experiment/rl_answer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/yaml.hpp"
#include "support/checkout.hpp"
#include "support/near.hpp"
#include "support/reference_data.hpp"

using namespace penstock;
using core::Seconds;
using experiment::RlAnswer;
using experiment::RlChoice;
using experiment::RlJob;

namespace {

const experiment::TrainingTime kNoPlan;

/// 16 GPUs, instances of 2, sequences of 100 tokens: on m instances 32 / m of them decode at once, in 100 x 32 / m / rate.
RlJob constant_job(int lag) {
  return experiment::read_rl_job(core::Yaml::parse(
      "gpus: 16\nprompts: 4\nsamples_per_prompt: 8\nlag: " + std::to_string(lag) +
          "\ngenerator:\n  gpus_per_instance: 2\n  rates: {1: 40, 32: 320}\n  lengths: 100\n"
          "trainer:\n  training: {8: 10s}\n  log_probabilities: 50%\nreward: 1s\ntransfer: 2s\n",
      "job.yaml"));
}

RlAnswer answer(const RlJob& job) {
  return experiment::rl_answer(job, "job.yaml", kNoPlan, {});
}

/// Cells of a line of CSV.
std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (const char letter : line)
    if (letter == '"')
      quoted = !quoted;
    else if (letter == ',' && !quoted)
      out.emplace_back();
    else
      out.back() += letter;
  return out;
}

/// A published step of a whole job.
struct PublishedStep {
  std::string model;
  int gpus;
  double seconds;
  bool on_policy;
};

std::vector<PublishedStep> published_steps(const std::string& file) {
  std::istringstream in(core::read_file(file));
  std::vector<PublishedStep> out;
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> head = cells(line);
  const auto column = [&](const char* name) {
    return static_cast<std::size_t>(std::ranges::find(head, name) - head.begin());
  };
  while (std::getline(in, line)) {
    if (line.find("RL step") == line.npos) continue;
    const std::vector<std::string> row = cells(line);
    out.push_back({row.at(column("model")), std::stoi(row.at(column("gpus"))),
                   std::stod(row.at(column("step_time_s"))),
                   row.at(column("note")).find("On policy") != std::string::npos});
  }
  return out;
}

/// Predicts the ratio of one step off, with half of the GPUs on each side, to on-policy on as many GPUs. Uses on-policy steps
/// on `gpus` GPUs and on half of them, and no other measurement. The part of a step that halves with twice the GPUs is the
/// trainer's, since replicas share its tokens. The rest is generation. It lasts as long as its longest sequence, whatever the
/// number of instances.
double one_step_off(int gpus, double half_s, double all_s) {
  // step = generation + work / GPUs, so work / gpus is the difference of both steps.
  const double trainer = half_s - all_s, generation = all_s - trainer;
  std::ostringstream job;
  job << "gpus: " << gpus
      << "\nprompts: 1\nsamples_per_prompt: 512\nlag: 1\nsteps: 10\ngenerator:\n  gpus_per_instance: 8\n"
      << "  rates: {1: 1, 512: 512}\n  lengths: " << std::llround(generation) << "\ntrainer:\n  training: {"
      << gpus << ": " << trainer << "s}\ntransfer: 0s\nplacement: {trainer: " << gpus / 2
      << ", generator: " << gpus / 2 << "}\n";
  const RlAnswer found = answer(experiment::read_rl_job(core::Yaml::parse(job.str(), "nemo_rl.yaml")));
  CHECK(found.colocated.outcome().step.value() == support::near(all_s, 0.01));
  return found.choices.front().outcome().step / found.colocated.outcome().step;
}

}  // namespace

TEST_CASE("a colocated step is the sum of its parts, and its GPUs are idle only for the reward") {
  const RlAnswer found = answer(constant_job(0));
  // 8 instances with 4 sequences: a rate of 40 + 3 x 280 / 31. Training with 16 GPUs: 5 s, and log-probabilities 2.5 s.
  const double generation = 100 * 4 / (40 + 3 * 280.0 / 31), step = generation + 1 + 2.5 + 5 + 2;
  CHECK(found.colocated.outcome().step.value() == support::near(step));
  CHECK(found.colocated.outcome().generator_idle == support::near(1 / step, 1e-6));
  CHECK(found.colocated.outcome().trainer_idle == support::near(1 / step, 1e-6));
  CHECK(found.tokens == 100);
  // On-policy splits are compared, and each has its steps with one step off, too.
  for (const RlChoice& choice : found.choices) {
    CHECK(choice.by_lag.size() == 2);
    CHECK(choice.outcome().staleness == 0);
    CHECK(choice.by_lag[1].step < choice.by_lag[0].step);
  }
}

TEST_CASE("every split is tried, and the best is that of a closed form") {
  const RlJob job = constant_job(1);
  const RlAnswer found = answer(job);
  REQUIRE(found.choices.size() == 7);
  double best = 1e9;
  for (int instances = 1; instances <= 7; ++instances) {
    const int sequences = static_cast<int>(std::ceil(32.0 / instances));
    const double generation = 100 * sequences / job.rates.tokens_per_s(sequences),
                 training = 1.5 * 80 / (16 - 2 * instances);
    // The reward's second is part of the cycle of two steps only.
    const auto choice = std::ranges::find(found.choices, 2 * instances,
                                          [](const RlChoice& each) { return each.placement.generator; });
    REQUIRE(choice != found.choices.end());
    const double step = std::max(generation, training) + 2, cycle = (generation + 1 + training + 4) / 2;
    CAPTURE(instances);
    CHECK(choice->outcome().step.value() <= std::max(step, cycle) * (1 + 1e-9));
    CHECK(choice->outcome().step.value() >= step * (1 - 1e-9));
    CHECK(choice->by_lag.front().step.value() == support::near(generation + 1 + training + 2));
    best = std::min(best, choice->outcome().step.value());
  }
  CHECK(found.choices.front().outcome().step.value() == best);
  CHECK(std::ranges::is_sorted(found.choices, {}, [](const RlChoice& each) { return each.outcome().step; }));
}

TEST_CASE("the trainer's unit limits the splits, and training is planned once per number of GPUs") {
  RlJob job = constant_job(2);
  job.trainer_gpus = 8;
  CHECK(answer(job).choices.size() == 1);
  job.trainer_gpus = 15;
  CHECK_THROWS_WITH_AS(answer(job), doctest::Contains("no split of 16 GPUs"), core::Infeasible);
  job.trainer_gpus = 4;
  job.planned = experiment::PlannedTraining{};
  int calls = 0;
  const auto planned = [&](int gpus) {
    ++calls;
    if (gpus == 4) throw core::Infeasible("no memory");
    return Seconds(80.0 / gpus);
  };
  const RlAnswer found = experiment::rl_answer(job, "job.yaml", planned, {});
  CHECK(calls == 4);  // 4, 8, 12 and 16
  CHECK(found.choices.size() == 2);
  CHECK(found.left_out == std::vector<std::string>{"4 + 12 GPUs: no memory"});
}

TEST_CASE("the text, the data and the picture of an answer") {
  const RlJob job = constant_job(1);
  const RlAnswer found = answer(job);
  const std::string table = experiment::rl_table(job, found);
  CHECK(table.find("colocated") != table.npos);
  CHECK(table.find("GPUs: lag 0 ") != table.npos);
  CHECK(experiment::rl_svg(job, found).find("colocated, on-policy") != std::string::npos);
  RlJob one = job;
  one.placement = experiment::RlPlacement{false, 8, 8};
  CHECK_THROWS_AS(experiment::rl_svg(one, answer(one)), core::BadInput);
}

TEST_CASE("published on-policy steps predict one step off: its sign, and the ratio within 15 %") {
  const std::string file = support::reference_data("published/runs_2026.csv");
  if (file.empty()) return;
  const auto steps = published_steps(file);
  int pairs = 0;
  for (const PublishedStep& all : steps) {
    const auto find = [&](int gpus, bool on_policy) {
      return std::ranges::find_if(steps, [&](const PublishedStep& each) {
        return each.model == all.model && each.gpus == gpus && each.on_policy == on_policy;
      });
    };
    const auto half = find(all.gpus / 2, true), off = find(all.gpus, false);
    if (!all.on_policy || half == steps.end()) continue;
    const double predicted = one_step_off(all.gpus, half->seconds, all.seconds);
    MESSAGE(all.model, " on ", all.gpus, " GPUs, one step off: ", predicted, " of on-policy");
    if (off == steps.end()) continue;
    ++pairs;
    const double published = off->seconds / all.seconds;
    CHECK(predicted == support::near(published, 0.15));
    CHECK((predicted < 1) == (published < 1));
  }
  CHECK(pairs >= 1);
}

TEST_CASE("the example's job is read, and its answer is better than colocated") {
  const RlJob job = experiment::read_rl_job(core::Yaml::load(support::checkout("/experiments/rl/grpo.yaml")));
  const RlAnswer found = answer(job);
  CHECK(found.choices.front().outcome().step < found.colocated.outcome().step);
}
