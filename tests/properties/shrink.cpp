#include "properties/shrink.hpp"

#include <algorithm>
#include <exception>

#include "penstock/core/error.hpp"

namespace penstock::properties {
namespace {

/// Without operator v; what read it reads what it read.
ProblemSpec without_operator(const ProblemSpec& spec, std::size_t v) {
  ProblemSpec out = spec;
  out.operators.clear();
  for (std::size_t i = 0; i < spec.operators.size(); ++i) {
    if (i == v) continue;
    OperatorSpec op = spec.operators[i];
    std::vector<std::size_t> inputs;
    const auto add = [&](std::size_t from) {
      const std::size_t renumbered = from > v ? from - 1 : from;
      if (std::ranges::find(inputs, renumbered) == inputs.end()) inputs.push_back(renumbered);
    };
    for (const std::size_t from : op.inputs)
      if (from != v)
        add(from);
      else
        for (const std::size_t before : spec.operators[v].inputs) add(before);
    op.inputs = std::move(inputs);
    out.operators.push_back(std::move(op));
  }
  return out;
}

template <class Change>
void offer(std::vector<ProblemSpec>& out, const ProblemSpec& from, const Change& change) {
  ProblemSpec next = from;
  change(next);
  out.push_back(std::move(next));
}

/// One step smaller each, the largest steps first.
std::vector<ProblemSpec> smaller(const ProblemSpec& s) {
  std::vector<ProblemSpec> out;
  if (s.cluster.nodes > 1) offer(out, s, [](auto& n) { n.cluster.nodes = 1; });
  if (s.cluster.devices > 1) offer(out, s, [](auto& n) { n.cluster.devices /= 2; });
  if (s.cluster.devices > 2) offer(out, s, [](auto& n) { --n.cluster.devices; });
  if (s.plan.ranks > 1) offer(out, s, [](auto& n) { n.plan.ranks /= 2; });
  if (s.cluster.nodes > 1 && s.plan.ranks > 1)
    offer(out, s, [](auto& n) { n.cluster.nodes = 1, n.plan.ranks /= 2; });
  if (s.cluster.devices > 1 && s.plan.ranks > 1)
    offer(out, s, [](auto& n) { n.cluster.devices /= 2, n.plan.ranks /= 2; });
  if (s.operators.size() > 1)
    for (std::size_t v = s.operators.size(); v-- > 0;) out.push_back(without_operator(s, v));
  if (const auto layers = s.zoo.parameters.find("layers");
      layers != s.zoo.parameters.end() && layers->second != "1")
    offer(out, s, [](auto& n) { n.zoo.parameters["layers"] = "1"; });
  if (s.training.mini_batch > 1)
    offer(out, s, [](auto& n) {
      n.training.mini_batch /= 2;
      n.plan.micro_batch = std::min(n.plan.micro_batch, n.training.mini_batch);
    });
  if (s.plan.micro_batch > 1) offer(out, s, [](auto& n) { n.plan.micro_batch /= 2; });
  if (!s.cluster.runtime.empty()) offer(out, s, [](auto& n) { n.cluster.runtime.clear(); });
  if (s.costs != CostsKind::analytic) offer(out, s, [](auto& n) { n.costs = CostsKind::analytic; });
  if (s.plan.tensor > 1) offer(out, s, [](auto& n) { n.plan.tensor = 1; });
  if (s.plan.zero > 0) offer(out, s, [](auto& n) { n.plan.zero = 0; });
  if (s.plan.recompute) offer(out, s, [](auto& n) { n.plan.recompute = {}; });
  if (s.plan.schedule != "1f1b" && s.plan.chunks == 1)
    offer(out, s, [](auto& n) { n.plan.schedule = "1f1b"; });
  if (s.training.precision) offer(out, s, [](auto& n) { n.training.precision.reset(); });
  if (s.training.optimizer != plan::Optimizer::sgd)
    offer(out, s, [](auto& n) { n.training.optimizer = plan::Optimizer::sgd; });
  if (s.training.bucket.value() > 0) offer(out, s, [](auto& n) { n.training.bucket = core::Bytes(0); });
  if (s.cluster.memory < 16e9) offer(out, s, [](auto& n) { n.cluster.memory = 16e9; });
  if (s.cluster.link_latency + s.cluster.uplink_latency > 0)
    offer(out, s, [](auto& n) { n.cluster.link_latency = n.cluster.uplink_latency = 0; });
  if (s.cluster.launch > 0) offer(out, s, [](auto& n) { n.cluster.launch = 0; });
  return out;
}

}  // namespace

std::string failure_of(const ProblemSpec& spec, const Property& property) {
  try {
    const BuiltProblem world(spec);
    return property.check(world);
  } catch (const NotConcerned&) {
    return "";
  } catch (const core::BadInput& e) {
    return std::string("bad input: ") + e.what();
  } catch (const std::exception& e) {
    return std::string("throws: ") + e.what();
  }
}

ProblemSpec shrunk(ProblemSpec failing, const Property& property, int tries) {
  for (bool changed = true; changed;) {
    changed = false;
    for (ProblemSpec& next : smaller(failing)) {
      if (--tries < 0) return failing;
      if (failure_of(next, property).empty()) continue;
      failing = std::move(next);
      changed = true;
      break;
    }
  }
  return failing;
}

}  // namespace penstock::properties
