#include "sim/network/max_min.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "support/near.hpp"
#include "support/water_filling.hpp"

using namespace penstock;
using sim::MaxMin;
using Route = std::vector<std::uint32_t>;

namespace {

/// Rates of all routes together.
std::vector<double> rates(const std::vector<double>& capacity, const std::vector<Route>& routes) {
  MaxMin sharing(capacity);
  std::vector<MaxMin::FlowId> ids;
  for (const Route& route : routes) ids.push_back(sharing.add(route));
  sharing.update([](auto) {});
  std::vector<double> out;
  for (const auto id : ids) out.push_back(sharing.rate(id));
  return out;
}

/// The max-min property: no link carries more than it can, and every flow crosses a full link on which no
/// flow is faster (Bertsekas and Gallager, section 6.5.2).
void check_fair(const std::vector<double>& capacity, const std::vector<Route>& routes,
                const std::vector<double>& rate) {
  std::vector<double> load(capacity.size(), 0), fastest(capacity.size(), 0);
  for (std::size_t f = 0; f < routes.size(); ++f)
    for (const auto l : routes[f]) {
      load[l] += rate[f];
      fastest[l] = std::max(fastest[l], rate[f]);
    }
  for (std::size_t l = 0; l < capacity.size(); ++l) CHECK(load[l] <= capacity[l] * (1 + 1e-12));
  for (std::size_t f = 0; f < routes.size(); ++f)
    CHECK(std::any_of(routes[f].begin(), routes[f].end(), [&](auto l) {
      return load[l] >= capacity[l] * (1 - 1e-12) && rate[f] >= fastest[l] * (1 - 1e-12);
    }));
}

}  // namespace

TEST_CASE("two flows on one link get half each") {
  CHECK(rates({1}, {{0}, {0}}) == std::vector<double>{0.5, 0.5});
}

TEST_CASE("the parking lot: a long flow shares each of three links with a short one") {
  // Links of 1, 1 and 0.5: on the third both get 0.25, so the short flows on the first two take the other
  // 0.75.
  CHECK(rates({1, 1, 0.5}, {{0, 1, 2}, {0}, {1}, {2}}) == std::vector<double>{0.25, 0.75, 0.75, 0.25});
}

TEST_CASE("a flow stopped elsewhere leaves its part to the others") {
  // Bertsekas and Gallager, Fig. 6.10 in small: flows 1 to 3 share link 0 of 1 with 1/3 each. Link 1 of 1 is
  // crossed by only flow 3 and flow 4: flow 4 gets 2/3.
  const auto rate = rates({1, 1}, {{0}, {0}, {0, 1}, {1}});
  CHECK(rate[2] == support::near(1.0 / 3));
  CHECK(rate[3] == support::near(2.0 / 3));
}

TEST_CASE("only the component that a change touches is visited") {
  MaxMin sharing({1, 1, 1});
  const Route left{0}, both{0, 1}, right{2};
  const auto a = sharing.add(left), b = sharing.add(right);
  int visits = 0;
  sharing.update([&](auto flows) { visits += static_cast<int>(flows.size()); });
  CHECK(visits == 2);
  const auto c = sharing.add(both);
  std::vector<MaxMin::FlowId> seen;
  sharing.update([&](auto flows) { seen.assign(flows.begin(), flows.end()); });
  std::sort(seen.begin(), seen.end());
  CHECK(seen == std::vector{a, c});
  CHECK(sharing.rate(a) == 0.5);
  CHECK(sharing.rate(b) == 1);
}

TEST_CASE("flows that meet on a link too wide to fill do not feel each other") {
  // Link 0 of 3 carries flows from links 1 and 2 of 1 each; a third such flow, from link 3, could fill it.
  MaxMin sharing({3, 1, 1, 1});
  const Route first{0, 1}, second{0, 2}, third{0, 3};
  std::vector<std::size_t> sizes;
  const auto update = [&] {
    sizes.clear();
    sharing.update([&](auto flows) { sizes.push_back(flows.size()); });
    return sizes;
  };
  sharing.add(first);
  sharing.add(second);
  CHECK(update() == std::vector<std::size_t>{1, 1});
  const auto last = sharing.add(third);
  CHECK(update() == std::vector<std::size_t>{3});
  CHECK(sharing.rate(last) == 1);
  sharing.remove(last);
  CHECK(update() == std::vector<std::size_t>{1, 1});
}

TEST_CASE(
    "rates on random networks are max-min fair, equal the slow twin's, and do not depend on the flows' "
    "order") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    const auto set = support::random_flow_set(seed);
    std::vector<Route> routes;
    for (const auto& flow : set.flows) routes.push_back(flow.route);
    const auto rate = rates(set.capacity, routes);
    check_fair(set.capacity, routes, rate);
    const auto twin = support::fair_rates(set.capacity, routes);
    for (std::size_t f = 0; f < rate.size(); ++f)
      CHECK(rate[f] == support::near(static_cast<double>(twin[f]), 1e-9));
    auto turned = routes;
    std::reverse(turned.begin(), turned.end());
    auto again = rates(set.capacity, turned);
    std::reverse(again.begin(), again.end());
    CHECK(again == rate);
  }
}

TEST_CASE("rates kept up to date as flows come and go and links change equal rates computed at once") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    auto set = support::random_flow_set(seed);
    core::Random random(seed);
    MaxMin sharing(set.capacity);
    std::vector<std::pair<MaxMin::FlowId, Route>> live;
    for (const auto& flow : set.flows) {
      live.emplace_back(sharing.add(flow.route), flow.route);
      if (random.chance(0.4)) {
        const auto leaves = live.begin() + random.between(0, static_cast<int>(live.size()) - 1);
        sharing.remove(leaves->first);
        live.erase(leaves);
      }
      if (random.chance(0.3)) {
        const auto link =
            static_cast<std::uint32_t>(random.between(0, static_cast<int>(set.capacity.size()) - 1));
        set.capacity[link] = random.between(0, 4) * 0.5;
        sharing.set_capacity(link, set.capacity[link]);
      }
      sharing.update([](auto) {});
      std::vector<Route> routes;
      for (const auto& [id, route] : live) routes.push_back(route);
      const auto fresh = rates(set.capacity, routes);
      for (std::size_t f = 0; f < live.size(); ++f) CHECK(sharing.rate(live[f].first) == fresh[f]);
    }
  }
}
