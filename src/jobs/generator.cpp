#include "penstock/jobs/generator.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::jobs {
namespace {

constexpr double kPicosecond = 1e-12;
/// Ends this close are one moment: rounding must not decide on which instance the next sequence starts.
constexpr std::int64_t kTogether = 1000;  // ps

}  // namespace

DecodeRates::DecodeRates(const std::vector<std::pair<int, double>>& entries) : rates_{0} {
  std::pair<int, double> before{0, 0};
  for (const auto& [sequences, rate] : entries) {
    const double slope = (rate - before.second) / (sequences - before.first);
    for (int n = before.first + 1; n < sequences; ++n)
      rates_.push_back(before.second + slope * (n - before.first));
    rates_.push_back(rate);
    before = {sequences, rate};
  }
}

SequenceGenerator::SequenceGenerator(const DecodeRates& rates, int instances, std::int64_t most)
    : rates_(rates), instances_(static_cast<std::size_t>(instances)), most_(most) {
  for (std::size_t i = 0; i < instances_.size(); ++i) by_load_.emplace(0, i);
}

double SequenceGenerator::sequence_rate(const DecodingInstance& instance) const {
  const auto sequences = static_cast<int>(instance.running.size());
  return rates_.tokens_per_s(sequences) / sequences * kPicosecond;
}

void SequenceGenerator::advance(DecodingInstance& instance, std::int64_t now) {
  if (!instance.running.empty() && !paused_) {
    instance.gained += static_cast<double>(now - instance.since) * sequence_rate(instance);
    busy_ += now - instance.since;
  }
  instance.since = now;
}

void SequenceGenerator::schedule(std::size_t at) {
  DecodingInstance& instance = instances_[at];
  ++instance.version;
  if (instance.running.empty()) return void(instance.gained = 0);
  const double left = std::max(0.0, instance.running.top().end - instance.gained);
  ends_.push({instance.since + std::llround(left / sequence_rate(instance)), at, instance.version});
}

void SequenceGenerator::fill(core::Picoseconds now, const std::function<void(std::int64_t)>& started) {
  if (paused_ || closed_) return;
  std::set<std::size_t> changed;
  while (!queue_.empty() && decoding_ < most_ &&
         by_load_.begin()->first < static_cast<std::size_t>(rates_.most())) {
    const auto [load, at] = *by_load_.begin();
    by_load_.erase(by_load_.begin());
    by_load_.emplace(load + 1, at);
    DecodingInstance& instance = instances_[at];
    advance(instance, now.value());
    const QueuedSequence& next = queue_.front();
    instance.running.push({instance.gained + static_cast<double>(next.tokens), next.batch});
    ++decoding_;
    started(next.batch);
    queue_.pop_front();
    changed.insert(at);
  }
  for (const std::size_t at : changed) schedule(at);
}

std::optional<core::Picoseconds> SequenceGenerator::next_end() {
  while (!ends_.empty() && ends_.top().version != instances_[ends_.top().instance].version) ends_.pop();
  if (ends_.empty() || paused_) return std::nullopt;
  return core::Picoseconds(ends_.top().time);
}

std::vector<std::int64_t> SequenceGenerator::end_sequences() {
  const std::int64_t time = ends_.top().time;
  std::vector<std::int64_t> out;
  for (auto end = next_end(); end && end->value() <= time + kTogether; end = next_end())
    end_on(ends_.top().instance, time, out);
  decoding_ -= static_cast<std::int64_t>(out.size());
  return out;
}

void SequenceGenerator::end_on(std::size_t at, std::int64_t time, std::vector<std::int64_t>& ended) {
  DecodingInstance& instance = instances_[at];
  advance(instance, time);
  // The end is exact: rounding to picoseconds must not add up over the life of an instance.
  instance.gained = instance.running.top().end;
  by_load_.erase({instance.running.size(), at});
  while (!instance.running.empty() && instance.running.top().end == instance.gained) {
    ended.push_back(instance.running.top().batch);
    instance.running.pop();
  }
  by_load_.emplace(instance.running.size(), at);
  schedule(at);
}

void SequenceGenerator::pause(core::Picoseconds now) {
  for (DecodingInstance& instance : instances_) advance(instance, now.value());
  paused_ = true;
}

void SequenceGenerator::resume(core::Picoseconds now) {
  for (DecodingInstance& instance : instances_) instance.since = now.value();
  paused_ = false;
  for (std::size_t at = 0; at < instances_.size(); ++at) schedule(at);
}

core::Picoseconds SequenceGenerator::busy(core::Picoseconds now) const {
  std::int64_t out = busy_;
  for (const DecodingInstance& instance : instances_)
    if (!instance.running.empty() && !paused_) out += now.value() - instance.since;
  return core::Picoseconds(out);
}

}  // namespace penstock::jobs
