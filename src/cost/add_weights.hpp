#pragma once
// Private to the room: what weights do to the load of the stage that holds them, its own or copies.

#include "penstock/cost/stage_load.hpp"

namespace penstock::cost {

inline bool is_table(const graph::Operator& op) {
  return op.gathered_parameters > 0;
}

/// `weights` of one operator; `table`: all that use them are tables.
void add_weights(StageLoad& load, core::Bytes weights, bool table);

}  // namespace penstock::cost
