#include "aims.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "penstock/sim/perturbation.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

[[noreturn]] void fail(const char* key, const std::string& what) {
  throw core::BadInput({"", 0, key}, what);
}

void check(const AimWords& words) {
  const bool p95 = words.name == "p95", given = words.perturbation.has_value();
  if (p95 && !given) fail("perturbation", "the aim p95 needs a perturbation file");
  if (!p95 && given) fail("perturbation", "goes with aim=\"p95\"");
  if (words.slower && words.name != "memory") fail("slower", "goes with aim=\"memory\"");
  if (words.slower && !(*words.slower >= 0 && *words.slower <= experiment::kMostSlower))
    fail("slower", "expected percent, 0 to 10000");
  if (words.seed < 0) fail("seed", "expected a number of 0 or more");
  if (words.seeds < 1 || words.seeds > experiment::kMostSeeds) fail("seeds", "expected 1 to 10000");
}

}  // namespace

experiment::AimSetting AimWords::setting(const cluster::Cluster& cluster) const {
  experiment::AimSetting out{experiment::aim(name), {}, slower.value_or(experiment::kUsuallySlower) / 100};
  check(*this);
  if (perturbation)
    out.seeds = {std::make_shared<const sim::Perturbation>(sim::load_perturbation(*perturbation, cluster)),
                 static_cast<std::uint64_t>(seed), static_cast<std::size_t>(seeds)};
  return out;
}

void bind_aims(nb::module_& m) {
  nb::class_<AimWords>(m, "Aim")
      .def(nb::init<>())
      .def_rw("name", &AimWords::name)
      .def_rw("perturbation", &AimWords::perturbation, nb::arg().none())
      .def_rw("seed", &AimWords::seed)
      .def_rw("seeds", &AimWords::seeds)
      .def_rw("slower", &AimWords::slower, nb::arg().none());
  nb::class_<experiment::AimResult>(m, "Reached", "Result of a search with another aim than time. Immutable.")
      .def_prop_ro("aim", [](const experiment::AimResult& r) { return std::string(name(r.aim)); })
      .def_ro("value", &experiment::AimResult::value,
              "Seconds for p95, bytes for memory, dollars per sample for cost.")
      .def("__str__", [](const experiment::AimResult& r) { return r.words; })
      .def("__repr__", [](const experiment::AimResult& r) {
        return "<penstock.Reached for " + std::string(name(r.aim)) + ": " + r.words + ">";
      });
}

}  // namespace penstock::python
