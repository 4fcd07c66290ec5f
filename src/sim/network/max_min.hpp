#pragma once
// Max-min fair rates of flows over links, updated as flows come and go.

#include <cstdint>
#include <span>
#include <vector>

namespace penstock::sim {

/// Progressive filling: all rates rise together until a link is full; its flows stop, the others continue to
/// rise (Bertsekas and Gallager, Data Networks, 2nd ed. 1992, section 6.5.2). As in SimGrid's LMM solver
/// (Casanova et al., JPDC 2014), only flows that a change can reach over links that may fill are recomputed.
/// Differs: there are neither weights nor bounds, and rates depend only on the set of flows. Links fill in
/// the order of (rate, index), so the order in which flows were added does not matter.
class MaxMin {
 public:
  using FlowId = std::uint32_t;
  using LinkId = std::uint32_t;

  explicit MaxMin(const std::vector<double>& capacity);

  /// `route`: at least one link, all distinct; outlives the flow. Ids of removed flows are reused.
  FlowId add(std::span<const LinkId> route);
  void remove(FlowId flow);
  void set_capacity(LinkId link, double capacity);              ///< zero: its flows stop
  double rate(FlowId flow) const { return flows_[flow].rate; }  ///< rate at the last update

  /// Recomputes the rates of every component touched since the last call (flows connected by links that may
  /// fill), and calls visit(flows) once for each.
  template <class F>
  void update(F&& visit) {
    ++round_;
    for (const LinkId link : touched_)
      for (const FlowId seed : links_[link].flows) {
        if (flows_[seed].reached == round_) continue;
        collect(seed);
        fill();
        visit(std::span<const FlowId>(reached_flows_));
      }
    touched_.clear();
  }

 private:
  struct FlowState {
    std::span<const LinkId> route;
    std::vector<LinkId> tight;  ///< links of the route that may fill
    double rate = 0;
    std::uint32_t reached = 0;  ///< round in which a component included it
    bool open = false;          ///< still rising
  };
  struct LinkState {
    double capacity = 0;
    double widest = 0;  ///< maximum of what any flow so far could take, given the narrowest link of its route
    bool tight = false;      ///< may fill: it cannot carry the maximum of every flow
    double left = 0;         ///< capacity not taken by stopped flows
    std::uint32_t open = 0;  ///< flows still rising
    std::uint32_t reached = 0;
    std::vector<FlowId> flows;
  };
  struct LinkLevel {
    double rate;  ///< rate at which the link is full, or a lower bound of it
    LinkId link;
    bool operator>(const LinkLevel& other) const {
      return rate != other.rate ? rate > other.rate : link > other.link;
    }
  };

  void widen(const FlowState& flow);
  void collect(FlowId seed);
  void reach_flow(FlowId flow);
  void reach_link(LinkId link);
  void tighten_or_slacken(LinkId link);
  void fill();
  void stop_flows(const LinkState& full, double rate);

  std::vector<LinkState> links_;
  std::vector<FlowState> flows_;
  std::vector<FlowId> free_;
  std::vector<LinkId> touched_;
  std::uint32_t round_ = 0;
  // Current component.
  std::vector<LinkId> reached_links_;
  std::vector<FlowId> reached_flows_;
  std::vector<LinkLevel> levels_;
  std::size_t open_ = 0;  ///< flows still rising
};

}  // namespace penstock::sim
