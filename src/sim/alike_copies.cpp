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

/// Which points of a cluster do for one copy what others do for the first. Those that several reach are hubs:
/// the one switch of a network, or one for each rail.
class Correspondence {
 public:
  explicit Correspondence(const cluster::Cluster& cluster)
      : cluster_(cluster), leaving_(cluster, &Link::from), entering_(cluster, &Link::to) {}

  /// `copies` divides the replicas of every stage.
  bool holds(const plan::Plan& plan, std::size_t copies) {
    for (std::vector<std::size_t>* of : {&owner_, &origin_, &image_})
      of->assign(cluster_.points().size(), kNobody);
    hubs_.clear();
    mapped_.clear();
    for (std::size_t copy = 1; copy < copies; ++copy)
      if (!matches(plan, copies, copy)) return false;
    if (!std::ranges::all_of(hubs_, [&](std::size_t hub) { return same_order(hub, copies); })) return false;
    return hubs_.size() <= 1 || ways_stay_within();
  }

 private:
  static constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max(), kHub = kNobody - 1;
  static constexpr std::size_t kNoWay = kNobody;

  bool matches(const plan::Plan& plan, std::size_t copies, std::size_t copy) {
    copy_ = copy;
    for (const std::size_t p : mapped_) image_[p] = kNobody;
    mapped_.clear();
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

  /// Of ways of equal length the first listed counts (cluster::Cluster::route): every copy's links from a hub
  /// are listed as the first one's are.
  bool same_order(std::size_t hub, std::size_t copies) const {
    std::vector<std::size_t> first;
    for (const Link* link : leaving_.of(hub))
      if (owner_[link->to] == 0) first.push_back(link->to);
    std::vector<std::size_t> met(copies);
    for (const Link* link : leaving_.of(hub)) {
      const std::size_t copy = owner_[link->to];
      if (copy == 0 || copy >= copies) continue;
      if (met[copy] == first.size() || origin_[link->to] != first[met[copy]]) return false;
      ++met[copy];
    }
    return std::all_of(met.begin() + 1, met.end(), [&](std::size_t n) { return n == first.size(); });
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
    if (owner_[q] != kNobody || !alike(p, q) || !is_first(p)) return false;
    owner_[q] = copy_;
    origin_[q] = p;
    image_[p] = q;
    mapped_.push_back(p);
    open_.push_back(p);
    return true;
  }
  bool may_be_hub(std::size_t p) {
    if (p < cluster_.listed()) return false;
    if (owner_[p] == kNobody) {
      owner_[p] = kHub;
      hubs_.push_back(p);
    }
    return owner_[p] == kHub;
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

  /// Whether the shortest way between two devices of a copy leads over nobody else's points. It passes a hub
  /// once at most, so that one hub alone leads to no other copy and back. Of several, one may lead there and
  /// another back; not where a copy's own way from the point before the first to the second is shorter. All
  /// copies are alike, so that the first tells, beside what no copy reaches.
  bool ways_stay_within() {
    for (const std::size_t to : hubs_) {
      find_distances(to);
      for (const std::size_t by : hubs_) {
        if (by == to) continue;
        const std::size_t beyond = least_distance(leaving_.of(by), &Link::to);
        for (const Link* link : entering_.of(by)) {
          if (owner_[link->from] == kHub) return false;  // all copies share the link
          if (owner_[link->from] == 0 && beyond != kNoWay && distance_[link->from] >= beyond + 2)
            return false;
        }
      }
    }
    return true;
  }
  std::size_t least_distance(std::span<const Link* const> links, std::size_t Link::*end) const {
    std::size_t least = kNoWay;
    for (const Link* link : links) least = std::min(least, distance_[link->*end]);
    return least;
  }
  /// Links to a hub, through no other, from each point of the first copy and of nobody.
  void find_distances(std::size_t hub) {
    distance_.assign(cluster_.points().size(), kNoWay);
    distance_[hub] = 0;
    std::vector<std::size_t> queue{hub};
    for (std::size_t next = 0; next < queue.size(); ++next)
      for (const Link* link : entering_.of(queue[next]))
        if (const std::size_t owner = owner_[link->from];
            (owner == 0 || owner == kNobody) && distance_[link->from] == kNoWay) {
          distance_[link->from] = distance_[queue[next]] + 1;
          queue.push_back(link->from);
        }
  }

  const cluster::Cluster& cluster_;
  LinksAt leaving_, entering_;
  std::vector<std::size_t> owner_;  ///< [point] the copy that reaches it
  std::vector<std::size_t> hubs_;
  std::vector<std::size_t> origin_;    ///< [point of another copy] that of the first
  std::vector<std::size_t> image_;     ///< [point of the first copy] that of this one
  std::vector<std::size_t> mapped_;    ///< points of the first copy that have an image
  std::vector<std::size_t> open_;      ///< of these, whose links are to be matched
  std::vector<std::size_t> distance_;  ///< [point] links to a hub
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

/// Whether replicas of one number have one share of every micro-batch, whatever their order.
bool same_shares(const plan::Plan& plan) {
  const std::int64_t replicas = plan.stages.front().replicas();
  return std::ranges::all_of(plan.stages, [&](const plan::Stage& stage) {
    return stage.replicas() == replicas && stage.micro_batch % replicas == 0;
  });
}

/// The same plan, but for the order of replicas: of every `copies` the first, then of every the second.
plan::Plan dealt(std::size_t copies, plan::Plan plan) {
  for (plan::Stage& stage : plan.stages) {
    const auto replicas = static_cast<std::size_t>(stage.replicas());
    const std::size_t size = stage.devices.size() / replicas;
    std::vector<core::DeviceId> devices;
    for (std::size_t copy = 0; copy < copies; ++copy)
      for (std::size_t r = copy; r < replicas; r += copies)
        devices.insert(devices.end(), stage.devices.begin() + static_cast<std::ptrdiff_t>(r * size),
                       stage.devices.begin() + static_cast<std::ptrdiff_t>((r + 1) * size));
    stage.devices = std::move(devices);
  }
  return plan;
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

std::optional<Copy> one_copy(const cost::Problem& problem, const plan::Plan& plan,
                             const SimulationOptions& options) {
  const std::int64_t most = most_copies(plan);
  if (most == 1 || !nothing_else_counts(problem, plan, options)) return std::nullopt;
  Correspondence correspondence(problem.cluster);
  const bool any_order = same_shares(plan);
  for (std::int64_t copies = most; copies > 1; --copies) {
    if (most % copies != 0) continue;
    const auto count = static_cast<std::size_t>(copies);
    if (correspondence.holds(plan, count)) return Copy{first_of(copies, plan), {}};
    if (!any_order || plan.stages.front().replicas() == copies) continue;
    // Copies need not be replicas that follow each other: two stages that became one have theirs apart.
    plan::Plan whole = dealt(count, plan);
    if (correspondence.holds(whole, count)) return Copy{first_of(copies, whole), whole};
  }
  return std::nullopt;
}

}  // namespace penstock::sim
