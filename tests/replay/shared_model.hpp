#pragma once
// Small models whose operators share parameters, cut so that these fall into different stages.

#include "cut_model.hpp"

namespace penstock::replay::test {

/// gpt or encoder_decoder, one layer; stage s of `cut` on `replicas[cut.rank[s]]` devices of its own rank.
/// Vocabulary 13, width 8: the table has 416 bytes.
CutModel shared_model(const std::string& name, const CutSetting& cut,
                      const std::vector<std::size_t>& replicas);

/// A chain of three stages of one operator: table, middle, and a head with the table's 5 x 4 numbers.
/// Passes take no time, updates neither; cables carry 1 kB/s. Stage s on so many replicas.
CutModel shared_chain(const std::vector<std::size_t>& replicas);

/// Four stages of one operator, interleaved on two ranks of 1 and 2 devices: table, up, down, head. Head and
/// table share a matrix, so do up and down. Rank 0 is done with its part of the second before the first, rank
/// 1 the other way round.
CutModel crossed_chain();

}  // namespace penstock::replay::test
