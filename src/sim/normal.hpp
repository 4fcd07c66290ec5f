#pragma once
// The standard normal distribution, the same on every platform.

namespace penstock::sim {

/// The value below which lies the share `p`; finite for 0 and 1 too.
double normal_quantile(double p);

double normal_share_below(double x);

}  // namespace penstock::sim
