// penstock._core: the rooms as Python values. The package around it has the functions that people call.

#include "bind.hpp"

NB_MODULE(_core, m) {
  using namespace penstock::python;
  // Threads of an engine that runs cells (dask) may still hold values when the interpreter ends.
  nanobind::set_leak_warnings(false);
  m.doc() = "Penstock's C++ library as Python values; use it through the package penstock.";
  bind_errors(m);
  bind_rows(m);
  bind_inputs(m);
  bind_aims(m);
  bind_simulations(m);
  bind_plans(m);
  bind_planners(m);
  bind_stages(m);
  bind_schedules(m);
  bind_results(m);
  bind_experiments(m);
  bind_remote(m);
  bind_repeats(m);
}
