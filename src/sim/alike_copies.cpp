#include "alike_copies.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "penstock/plan/colocated.hpp"

namespace penstock::sim {
namespace {

using cluster::Link;

/// Links by the point at one of their ends, as they are listed.
class LinksAt {
 public:
  LinksAt(const cluster::Cluster& cluster, std::size_t Link::*end)
      : begin_(cluster.points().size() + 1), links_(cluster.links().size()) {
    for (const Link& link : cluster.links()) ++begin_[link.*end + 1];
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
    for (const Link& link : cluster.links()) links_[next[link.*end]++] = &link;
  }
  std::span<const Link* const> of(std::size_t point) const {
    return {links_.data() + begin_[point], begin_[point + 1] - begin_[point]};
  }

 private:
  std::vector<std::size_t> begin_;  ///< [point]
  std::vector<const Link*> links_;
};

/// Which points of a cluster do for one copy what others do for the first. The one that several reach is the
/// hub; the way between two devices of a copy passes it once, so that it takes none of another's links.
class Correspondence {
 public:
  explicit Correspondence(const cluster::Cluster& cluster)
      : cluster_(cluster), leaving_(cluster, &Link::from), entering_(cluster, &Link::to) {}

  /// `copies` divides the replicas of every stage.
  bool holds(const plan::Plan& plan, std::size_t copies) {
    owner_.assign(cluster_.points().size(), kNobody);
    hub_.reset();
    for (std::size_t copy = 1; copy < copies; ++copy)
      if (!matches(plan, copies, copy)) return false;
    return true;
  }

 private:
  static constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

  bool matches(const plan::Plan& plan, std::size_t copies, std::size_t copy) {
    copy_ = copy;
    image_.assign(cluster_.points().size(), kNobody);
    open_.clear();
    for (const plan::Stage& stage : plan.stages) {
      const std::size_t width = stage.devices.size() / copies;
      for (std::size_t d = 0; d < width; ++d)
        if (!match(stage.devices[d].index(), stage.devices[copy * width + d].index())) return false;
    }
    while (!open_.empty()) {
      const std::size_t p = open_.back();
      open_.pop_back();
      if (!match_ends(leaving_, p, &Link::to) || !match_ends(entering_, p, &Link::from)) return false;
    }
    return true;
  }

  bool match_ends(const LinksAt& at, std::size_t p, std::size_t Link::*end) {
    const auto ours = at.of(p), theirs = at.of(image_[p]);
    if (ours.size() != theirs.size()) return false;
    for (std::size_t k = 0; k < ours.size(); ++k)
      if (ours[k]->bandwidth != theirs[k]->bandwidth || ours[k]->latency != theirs[k]->latency ||
          !match(ours[k]->*end, theirs[k]->*end))
        return false;
    return true;
  }

  /// Whether the point `q` may be to this copy what `p` is to the first.
  bool match(std::size_t p, std::size_t q) {
    if (p == q) return may_be_hub(p);
    if (image_[p] != kNobody) return image_[p] == q;
    if (p == hub_ || q == hub_ || owner_[q] != kNobody || !alike(p, q) || !is_first(p)) return false;
    owner_[q] = copy_;
    image_[p] = q;
    open_.push_back(p);
    return true;
  }
  bool may_be_hub(std::size_t p) {
    if (p < cluster_.listed() || owner_[p] != kNobody) return false;
    if (!hub_) hub_ = p;
    return p == hub_;
  }
  /// Whether the point is the first copy's, or nobody's so far.
  bool is_first(std::size_t point) {
    if (owner_[point] == kNobody) owner_[point] = 0;
    return owner_[point] == 0;
  }
  bool alike(std::size_t p, std::size_t q) const {
    if (p >= cluster_.listed() || q >= cluster_.listed())
      return p >= cluster_.listed() && q >= cluster_.listed();
    if (p >= cluster_.size() || q >= cluster_.size()) return p >= cluster_.size() && q >= cluster_.size();
    return cluster_.devices()[p].type == cluster_.devices()[q].type;
  }

  const cluster::Cluster& cluster_;
  LinksAt leaving_, entering_;
  std::vector<std::size_t> owner_;  ///< [point] the copy that reaches it
  std::optional<std::size_t> hub_;
  std::vector<std::size_t> image_;  ///< [point of the first copy] that of this one
  std::vector<std::size_t> open_;   ///< points of the first copy whose links are to be matched
  std::size_t copy_ = 0;
};

/// As many copies as the samples allow.
std::int64_t most_copies(const plan::Plan& plan) {
  std::int64_t most = plan.stages.front().micro_batch;
  for (const plan::Stage& stage : plan.stages) {
    if (stage.micro_batch != plan.stages.front().micro_batch) return 1;
    most = std::gcd(most, stage.replicas());
  }
  return most;
}

plan::Plan first_of(std::int64_t copies, plan::Plan plan) {
  plan.training.mini_batch /= copies;
  for (plan::Stage& stage : plan.stages) {
    stage.micro_batch /= copies;
    stage.devices.resize(stage.devices.size() / static_cast<std::size_t>(copies));
  }
  return plan;
}

bool nothing_else_counts(const cost::Problem& problem, const plan::Plan& plan,
                         const SimulationOptions& options) {
  return !plan::asynchronous(plan) && !plan::has_colocated(plan) && options.perturbation == nullptr &&
         !options.collective.travels() && options.pass_collectives == PassCollectives::closed_form &&
         !(options.crowding && problem.costs.crowding() != nullptr) && problem.cluster.given_routes().empty();
}

}  // namespace

std::optional<plan::Plan> one_copy(const cost::Problem& problem, const plan::Plan& plan,
                                   const SimulationOptions& options) {
  const std::int64_t most = most_copies(plan);
  if (most == 1 || !nothing_else_counts(problem, plan, options)) return std::nullopt;
  Correspondence correspondence(problem.cluster);
  for (std::int64_t copies = most; copies > 1; --copies)
    if (most % copies == 0 && correspondence.holds(plan, static_cast<std::size_t>(copies)))
      return first_of(copies, plan);
  return std::nullopt;
}

}  // namespace penstock::sim
