#include "penstock/plan/strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "penstock/core/error.hpp"

namespace penstock::plan {
namespace {

/// Minimum and maximum of `of` over all stages.
template <class Of>
ValueRange extent(const Plan& plan, const Of& of) {
  ValueRange out{of(plan.stages.front()), of(plan.stages.front())};
  for (const Stage& stage : plan.stages)
    out = {std::min<std::int64_t>(out.least, of(stage)), std::max<std::int64_t>(out.most, of(stage))};
  return out;
}

std::array<ValueRange, kStatedDims.size()> divided(const Plan& plan) {
  std::array<ValueRange, kStatedDims.size()> out;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = extent(plan, [&](const Stage& stage) { return stage.*kStatedDims[i].size; });
  return out;
}

/// Returns "PP4 (8 stages, depth 6)"; empty if there is one device set with one stage.
std::string pipeline_words(const Strategy& s) {
  if (s.pipeline_parallel == 1 && s.stages == 1) return "";
  std::string notes = s.stages == s.pipeline_parallel ? "" : fmt::format("{} stages", s.stages);
  if (s.depth != s.stages) notes += fmt::format("{}depth {}", notes.empty() ? "" : ", ", s.depth);
  return fmt::format("PP{}{}", s.pipeline_parallel, notes.empty() ? "" : " (" + notes + ")");
}

std::string degree_words(const Strategy& s) {
  std::string out = pipeline_words(s);
  const auto add = [&out](std::string_view name, const ValueRange& degree) {
    if (degree.most > 1) out += fmt::format("{}{}{}", out.empty() ? "" : " x ", name, text(degree));
  };
  add("DP", s.data_parallel);
  for (std::size_t i = kStatedDims.size(); i-- > 0;) {  // the innermost first
    add(kStatedDims[i].letters, s.divided[i]);
    if (s.sequence_parallel && kStatedDims[i].dim == MeshDim::tensor) out += "+SP";
  }
  add("EP", s.expert_parallel);
  if (s.whole_experts) out += s.expert_parallel.most > 1 ? "+ETP1" : " x ETP1";
  return out.empty() ? "PP1" : out;
}

/// Kind of recomputation if all stages that recompute have the same; empty for whole stages or different
/// kinds.
std::string recomputed(const Plan& plan) {
  Recomputation all;
  for (const Stage& stage : plan.stages) {
    if (!stage.recompute) continue;
    if (all && !(stage.recompute == all)) return "";
    all = stage.recompute;
  }
  return all.of == Recomputation::SegmentScope::stage || !all ? "" : written(all);
}

bool read_number(std::string_view text, std::int64_t& out) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), out);
  return fault == std::errc() && end == text.data() + text.size() && out >= 0;
}

}  // namespace

std::string text(const ValueRange& extent) {
  return extent.least == extent.most ? std::to_string(extent.most)
                                     : fmt::format("{}-{}", extent.least, extent.most);
}

std::optional<ValueRange> parse_extent(std::string_view text) {
  ValueRange out;
  const std::size_t dash = text.find('-');
  if (!read_number(text.substr(0, dash), out.least)) return std::nullopt;
  if (dash == text.npos) return ValueRange{out.least, out.least};
  if (!read_number(text.substr(dash + 1), out.most) || out.most <= out.least) return std::nullopt;
  return out;
}

ValueRange tensor_parallel(const Strategy& strategy) {
  for (std::size_t i = 0; i < kStatedDims.size(); ++i)
    if (kStatedDims[i].dim == MeshDim::tensor) return strategy.divided[i];
  return {1, 1};
}

Strategy strategy(const Plan& plan, int depth) {
  core::require(!plan.stages.empty(), "a plan has stages");
  const auto ranks = rank_of_stage(plan);
  const auto whole = [](const Stage& stage) {
    return stage.part.before == 0;
  };  // a colocated one is one stage
  return {std::count_if(plan.stages.begin(), plan.stages.end(), whole),
          depth,
          *std::max_element(ranks.begin(), ranks.end()) + 1,
          extent(plan, [](const Stage& stage) { return stage.sharing_replicas(); }),
          divided(plan),
          std::ranges::any_of(plan.stages, &Stage::sequence_parallel),
          extent(plan, [](const Stage& stage) { return stage.expert_parallel; }),
          std::ranges::any_of(plan.stages, &Stage::whole_experts),
          extent(plan, [](const Stage& stage) { return stage.zero; }),
          extent(plan, [](const Stage& stage) { return stage.zero_over; }),
          extent(plan, [&](const Stage& stage) { return samples_per_device(plan, stage); }),
          extent(plan, [](const Stage& stage) { return stage.k; }),
          std::count_if(plan.stages.begin(), plan.stages.end(),
                        [&](const Stage& stage) { return whole(stage) && bool(stage.recompute); }),
          recomputed(plan),
          plan.schedule};
}

std::string schedule_words(const Strategy& s) {
  if (s.schedule != "1f1b") return s.schedule;
  return s.k.least == s.k.most ? fmt::format("{0}F{0}B", s.k.most) : "kFkB, k " + text(s.k);
}

std::string in_words(const Strategy& s) {
  std::string out = fmt::format("{}, {}, mb {}", degree_words(s), schedule_words(s), text(s.micro_batch));
  if (s.zero.most > 0) out += ", ZeRO " + text(s.zero);
  if (s.zero_over.most > 0) out += " over " + text(s.zero_over);
  if (s.recomputing > 0)
    out += fmt::format(", recompute {}{}{}/{}", s.recomputed, s.recomputed.empty() ? "" : " ", s.recomputing,
                       s.stages);
  return out;
}

}  // namespace penstock::plan
