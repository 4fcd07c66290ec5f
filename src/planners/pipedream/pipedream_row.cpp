#include "pipedream/pipedream_row.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"

namespace penstock::planners {
namespace {

constexpr int kEntriesBetweenChecks = 64;  // entries

}  // namespace

PipedreamRow::PipedreamRow(const RowContext& context, std::size_t first, std::size_t end)
    : context_(context), first_(first) {
  const auto machines = static_cast<std::size_t>(context.level.machines);
  for (int m = 1; m < context.level.machines; ++m)
    if (allowed(m)) replicas_.push_back(m);
  value_.assign(machines, std::vector<double>(end - first, kNever));
  least_ = value_;
  near_.assign(machines, std::vector<std::size_t>(replicas_.size(), first));
  for (std::size_t last = first; last < end; ++last)
    for (int used = 1; used <= context.level.machines; ++used) {
      if (used % kEntriesBetweenChecks == 1) context.stop.check();
      set(last, used, entry(last, used));
    }
}

bool PipedreamRow::allowed(int m) const {
  const auto& counts = context_.level.replicas;
  if (context_.rules.straight && m > 1) return false;
  return counts.empty() || std::binary_search(counts.begin(), counts.end(), m);
}

bool PipedreamRow::fits(std::size_t first, std::size_t last, int m, int used) const {
  const auto& rule = context_.rules.fits;
  return !rule || rule({context_.number, first, last, m, context_.level.machines - used});
}

double PipedreamRow::alone(std::size_t last, int m) const {
  const double compute = context_.times.whole.row(last)[first_];
  if (compute == kNever || !allowed(m) || !fits(first_, last, m, m)) return kNever;
  return context_.formula.alone(compute, context_.cuts.weights_of(first_, last), m);
}

/// Value of a split behind `cut`, with the last stage on m of the machines used. Does not check whether it
/// fits.
double PipedreamRow::candidate(std::size_t cut, std::size_t last, int m, int used) const {
  const double compute = context_.times.stage.row(last)[cut + 1];
  if (compute == kNever) return kNever;
  const auto& formula = context_.formula;
  const double stage = formula.last(compute, context_.cuts.weights_of(cut + 1, last), m);
  const double before = value_[machine(used - m)][cut - first_];
  return std::max({stage, before, formula.receiving(context_.cuts.output[cut], m)});
}

double PipedreamRow::entry(std::size_t last, int used) {
  double best = alone(last, used);
  if (context_.rules.fewer_machines && used > 1) best = std::min(best, seconds(last, used - 1));
  if (last == first_) return best;
  for (std::size_t i = 0; i < replicas_.size() && replicas_[i] < used; ++i)
    best = std::min(best, split(last, replicas_[i], used, near_[machine(used)][i], best));
  return best;
}

/// Entries behind `last` do not exist yet and are not needed.
void PipedreamRow::set(std::size_t last, int used, double seconds) {
  value_[machine(used)][last - first_] = seconds;
  auto& least = least_[machine(used)];
  for (std::size_t k = last - first_ + 1; k-- > 0 && least[k] > seconds;) least[k] = seconds;
}

/// `near` is where the bounds crossed for the last column; they cross nearby.
double PipedreamRow::split(std::size_t last, int m, int used, std::size_t& near, double best) const {
  const auto& cuts = context_.cuts;
  const double* at_least = context_.times.at_least.row(last);
  const double* least = least_[machine(used - m)].data();
  const double sending = last + 1 < cuts.size() ? context_.formula.sending(cuts.output[last], m) : 0;
  if (sending >= best) return best;
  const auto stage_bound = [&](std::size_t k) {  // for stages that start behind k or an earlier cut
    return context_.formula.last(at_least[k + 1], cuts.weights[last] - cuts.most_weights[k], m);
  };
  const auto head_bound = [&](std::size_t k) {
    return least[k - first_];
  };  // for pipelines that end at k or a later cut
  const auto look = [&](std::size_t k) {
    const double seconds = std::max(candidate(k, last, m, used), sending);
    if (seconds < best && fits(k + 1, last, m, used)) best = seconds;
  };
  near = std::clamp(near, first_, last - 1);
  while (near + 1 < last && head_bound(near + 1) < stage_bound(near + 1)) ++near;
  while (near > first_ && stage_bound(near) < head_bound(near)) --near;
  for (std::size_t k = near; k < last && head_bound(k) < best; ++k) look(k);
  for (std::size_t k = near; k-- > first_ && stage_bound(k) < best;) look(k);
  return best;
}

PipedreamStage PipedreamRow::last_stage(std::size_t last, int used) const {
  const double best = seconds(last, used);
  if (alone(last, used) == best) return {first_, last, used, {}};
  for (std::size_t cut = first_; cut < last; ++cut)
    for (int m : replicas_) {
      if (m >= used) break;
      const double sending =
          last + 1 < context_.cuts.size() ? context_.formula.sending(context_.cuts.output[last], m) : 0;
      if (std::max(candidate(cut, last, m, used), sending) == best && fits(cut + 1, last, m, used))
        return {cut + 1, last, m, {}};
    }
  throw core::Error(core::ExitCode::internal, "an entry of PipeDream's table has no cause");
}

std::vector<PipedreamStage> PipedreamRow::stages(std::size_t last) const {
  std::vector<PipedreamStage> out;
  for (int used = context_.level.machines;;) {
    while (context_.rules.fewer_machines && used > 1 && seconds(last, used - 1) == seconds(last, used))
      --used;
    out.push_back(last_stage(last, used));
    if (out.back().first == first_) break;
    used -= out.back().replicas;
    last = out.back().first - 1;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace penstock::planners
