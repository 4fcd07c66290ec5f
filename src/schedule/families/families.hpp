#pragma once
// Constructors of all families. Shapes are already checked: ranks, chunks and micro-batches are at least 1.

#include "penstock/schedule/catalogue.hpp"

namespace penstock::schedule {

Schedule gpipe(const ScheduleShape& shape);
Schedule one_f_one_b(const ScheduleShape& shape);
Schedule pipedream_2bw(const ScheduleShape& shape);
Schedule dapple(const ScheduleShape& shape);
Schedule kfkb(const ScheduleShape& shape);
Schedule sliced_1f1b(const ScheduleShape& shape);
Schedule list_order_schedule(const ScheduleShape& shape);
Schedule bpipe(const ScheduleShape& shape);
Schedule hanayo(const ScheduleShape& shape);
Schedule looped_bfs(const ScheduleShape& shape);
Schedule interleaved_1f1b(const ScheduleShape& shape);
Schedule zb_h1(const ScheduleShape& shape);
Schedule zb_h2(const ScheduleShape& shape);
Schedule interleaved_zb(const ScheduleShape& shape);
Schedule zbv(const ScheduleShape& shape);
Schedule dualpipev(const ScheduleShape& shape);
Schedule dualpipe(const ScheduleShape& shape);
Schedule chimera(const ScheduleShape& shape);
Schedule zb_1p(const ScheduleShape& shape);
Schedule zb_2p(const ScheduleShape& shape);
Schedule v_half(const ScheduleShape& shape);
Schedule v_min(const ScheduleShape& shape);
Schedule v_zb(const ScheduleShape& shape);
Schedule v_1f1b(const ScheduleShape& shape);

/// Throws BadInput with `constraint` unless `holds`.
void demand(bool holds, const char* constraint);

}  // namespace penstock::schedule
