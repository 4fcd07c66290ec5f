#pragma once
// Every family makes its grid from a checked shape: ranks, chunks and micro-batches are at least 1.

#include "penstock/schedule/catalogue.hpp"

namespace penstock::schedule {

Grid gpipe(const GridShape& shape);
Grid one_f_one_b(const GridShape& shape);
Grid pipedream_2bw(const GridShape& shape);
Grid dapple(const GridShape& shape);
Grid kfkb(const GridShape& shape);
Grid sliced_1f1b(const GridShape& shape);
Grid list_order_grid(const GridShape& shape);
Grid bpipe(const GridShape& shape);
Grid hanayo(const GridShape& shape);
Grid looped_bfs(const GridShape& shape);
Grid interleaved_1f1b(const GridShape& shape);
Grid zb_h1(const GridShape& shape);
Grid zb_h2(const GridShape& shape);
Grid interleaved_zb(const GridShape& shape);
Grid zbv(const GridShape& shape);
Grid dualpipev(const GridShape& shape);
Grid dualpipe(const GridShape& shape);
Grid chimera(const GridShape& shape);
Grid zb_1p(const GridShape& shape);
Grid zb_2p(const GridShape& shape);
Grid v_half(const GridShape& shape);
Grid v_min(const GridShape& shape);
Grid v_zb(const GridShape& shape);
Grid v_1f1b(const GridShape& shape);

/// Throws BadInput with the constraint unless it holds.
void demand(bool holds, const char* constraint);

}  // namespace penstock::schedule
